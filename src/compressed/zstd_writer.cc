// SPDX-License-Identifier: MIT
#include "compressed/zstd_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#if BATCHFEED_WITH_ZSTD
#include <zstd.h>
#endif

namespace batchfeed::compressed {

namespace {
#if BATCHFEED_WITH_ZSTD
constexpr int kLevel = 6;  // makes text a tenth smaller than level 3 does, and is still faster than parsing text

void compress(std::span<const std::byte> from, std::vector<std::byte>& out) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  if (!context) fail_memory();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compressBound(from.size()));
  const std::size_t n = ZSTD_compress2(context.get(), out.data(), out.size(), from.data(), from.size());
  if (ZSTD_isError(n)) fail_memory();
  out.resize(n);
}
#else
void compress(std::span<const std::byte>, std::vector<std::byte>&) { fail_unsupported({}, Codec::zstd); }
#endif
}  // namespace

ZstdWriter::ZstdWriter(Put put) : put_(std::move(put)) { pending_.reserve(kFrame); }

void ZstdWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kFrame - pending_.size());
    pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    if (pending_.size() == kFrame) write_frame();
  }
}

void ZstdWriter::finish() {
  if (!pending_.empty() || frames_.empty()) write_frame();
  put_(seek_table_bytes(frames_));
}

void ZstdWriter::write_frame() {
  compress(pending_, compressed_);
  put_(compressed_);
  frames_.push_back({static_cast<std::uint32_t>(compressed_.size()), static_cast<std::uint32_t>(pending_.size())});
  pending_.clear();
}

}  // namespace batchfeed::compressed
