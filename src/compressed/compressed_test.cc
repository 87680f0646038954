// SPDX-License-Identifier: MIT
#include "compressed/compressed.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "compressed/parked.h"
#include "compressed/pipe.h"
#include "compressed/seek_table.h"
#include "compressed/unpacked.h"
#include "compressed/zstd_writer.h"

namespace batchfeed::compressed {
namespace {

// Text that compresses about as well as corpora do, and has no two equal parts.
std::string corpus(std::size_t size, unsigned seed = 1) {
  std::mt19937 draw(seed);
  std::string out;
  while (out.size() < size) {
    out += std::to_string(out.size()) + " |features " + std::to_string(draw() % 1000) + " 0.5 |labels " +
           std::to_string(draw() % 10) + ":1\n";
  }
  out.resize(size);
  return out;
}

std::string gzip(const std::string& text, int level = 6) {
  z_stream z{};
  deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string seekable(const std::string& text) {
  std::string out;
  ZstdWriter writer(
      [&](std::span<const std::byte> part) { out.append(reinterpret_cast<const char*>(part.data()), part.size()); });
  for (std::size_t at = 0; at < text.size(); at += 100'000) {
    writer.append(std::as_bytes(std::span(text).subspan(at, std::min<std::size_t>(100'000, text.size() - at))));
  }
  writer.finish();
  return out;
}

struct Opened {
  explicit Opened(std::string compressed, const Limits& limits = {}, Spacing spacing = {})
      : bytes(std::move(compressed)),
        stored{path, bytes.size(),
               [this](std::uint64_t offset, std::span<std::byte> out) {
                 ASSERT_LE(offset + out.size(), bytes.size());
                 std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()) + offset, out.size(), out.data());
               }},
        unpacked(stored, codec_of(std::as_bytes(std::span(bytes))), limits, 0, spacing) {}

  std::string read(std::uint64_t offset, std::size_t size) const {
    std::string out(size, '\0');
    unpacked.read(stored, offset, std::as_writable_bytes(std::span(out)));
    return out;
  }

  std::string path = "x.ctf.gz", bytes;
  Stored stored;
  Unpacked unpacked;
};

Fault fault_of(const std::string& compressed, const Limits& limits = {}) {
  try {
    const Opened opened(compressed, limits);
    (void)opened.read(0, static_cast<std::size_t>(opened.unpacked.size()));
  } catch (const Error& error) {
    return error.fault();
  }
  return {};
}

const std::string& text() {
  static const std::string all = corpus(4'500'000);
  return all;
}

struct Case {
  const char* name;
  std::string bytes;
};

std::vector<Case> cases() {
  const std::string& t = text();
  const std::size_t third = t.size() / 3;
  return {
      {"gzip", gzip(t)},
      {"gzip stored", gzip(t, 0)},
      {"gzip members", gzip(t.substr(0, third)) + gzip("") + gzip(t.substr(third, third)) + gzip(t.substr(2 * third))},
      {"gzip and zeros", gzip(t) + std::string(1000, '\0')},
      {"zstd", zstd(t)},
      {"zstd frames", zstd(t.substr(0, third)) + zstd("") + zstd(t.substr(third))},
      {"seekable", seekable(t)},
      {"seekable twice", seekable(t.substr(0, third)) + seekable(t.substr(third))},
      {"zstd and seekable", zstd(t.substr(0, third)) + seekable(t.substr(third))}};
}

Codec told(std::string_view bytes) { return codec_of(std::as_bytes(std::span(bytes))); }

TEST(Compressed, IsToldByContent) {
  EXPECT_EQ(told(gzip("x")), Codec::gzip);
  EXPECT_EQ(told(zstd("x")), Codec::zstd);
  for (const char* plain : {"", "|f", "0 |f 1\n", "\x1f\x8b", "#!MLF!#", "\x1f\x8b\x08\xff"}) {
    EXPECT_EQ(told(plain), Codec::none) << plain;
  }
}

TEST(Compressed, EveryPartReadsAsInThePlainFile) {
  for (const Case& c : cases()) {
    const Opened opened(c.bytes);
    ASSERT_EQ(opened.unpacked.size(), text().size()) << c.name;
    std::mt19937 draw(3);
    for (int i = 0; i < 60; ++i) {
      const std::size_t offset = draw() % text().size();
      const std::size_t size = std::min<std::size_t>(draw() % 300'000, text().size() - offset);
      ASSERT_EQ(opened.read(offset, size), text().substr(offset, size)) << c.name << " at " << offset;
    }
    EXPECT_EQ(opened.read(0, text().size()), text()) << c.name;
    EXPECT_EQ(opened.read(text().size(), 0), "") << c.name;
  }
}

// What a Pipe unpacks from `compressed`, read `most` bytes at a time at most.
std::string piped(const std::string& compressed, std::size_t most, const Limits& limits = {}) {
  std::size_t at = 0;
  Pipe pipe(
      "-",
      [&](std::span<std::byte> to) {
        const std::size_t n = std::min({to.size(), most, compressed.size() - at});
        std::memcpy(to.data(), compressed.data() + at, n);
        at += n;
        return n;
      },
      limits);
  std::string out, piece(100'000, '\0');
  for (std::size_t n = 1; n != 0;) {
    n = pipe.read(std::as_writable_bytes(std::span(piece)));
    out.append(piece, 0, n);
  }
  return out;
}

TEST(Compressed, WhatIsKeptReadsAsInThePlainFileAndWhatIsTooLongIsNot) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Opened file(c.bytes);
    const Codec codec = codec_of(std::as_bytes(std::span(c.bytes)));
    const Unpacked kept(file.stored, codec, {}, text().size());
    EXPECT_EQ(kept.kept(), text().size());
    EXPECT_EQ(kept.longest_way(), 0u);
    std::string out(3'000'000, '\0');
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1'048'575}, text().size() - out.size()}) {
      kept.read(file.stored, offset, std::as_writable_bytes(std::span(out)));
      EXPECT_TRUE(out == text().substr(offset, out.size())) << offset;
    }
    EXPECT_EQ(Unpacked(file.stored, codec, {}, text().size() - 1).kept(), 0u);
  }
}

TEST(Compressed, AFrameSaysWhatItUnpacksTo) {
  const auto told = [](const std::string& compressed) {
    return stated_frame_size(std::as_bytes(std::span(compressed)).first(std::min<std::size_t>(18, compressed.size())));
  };
  EXPECT_EQ(told(zstd(text())), text().size());
  EXPECT_EQ(told("no frame at all is here"), 0u);
}

TEST(Compressed, ThePipeGivesThePlainText) {
  for (const Case& c : cases()) {
    for (const std::size_t most : {std::size_t{777}, std::size_t{4} << 20})
      EXPECT_TRUE(piped(c.bytes, most) == text()) << c.name << ' ' << most;
  }
  EXPECT_EQ(piped("", 10), "");
  EXPECT_EQ(piped("|f", 10), "|f");
  EXPECT_TRUE(piped(text(), 5000) == text());
}

TEST(Compressed, DamageInAPipe) {
  const auto fault = [](const std::string& compressed, const Limits& limits = {}) {
    try {
      (void)piped(compressed, 5000, limits);
    } catch (const Error& error) {
      return error.fault();
    }
    return Fault{};
  };
  for (const Case& c : cases()) {
    if (std::string_view(c.name) == "gzip and zeros") continue;
    const Fault cut = fault(c.bytes.substr(0, c.bytes.size() / 2));
    EXPECT_EQ(cut.id, "compressed.truncated") << c.name;
    EXPECT_EQ(cut.at.file, "-");
    EXPECT_EQ(fault(c.bytes + "|f 1\n").id, "compressed.trailing") << c.name;
    EXPECT_EQ(fault(c.bytes, {.unpacked_bytes = 1'000'000}).id, "limit.unpacked") << c.name;
  }
}

TEST(Compressed, ThreadsReadAtTheSameTime) {
  for (const Case& c : cases()) {
    const Opened opened(c.bytes);
    std::vector<std::thread> threads;
    std::array<bool, 4> right{};
    for (std::size_t k = 0; k < right.size(); ++k) {
      threads.emplace_back([&, k] {
        right[k] = true;
        for (std::size_t at = k * 250'000; at + 250'000 <= text().size(); at += 4 * 250'000) {
          right[k] = right[k] && opened.read(at, 250'000) == text().substr(at, 250'000);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(right[0] && right[1] && right[2] && right[3]) << c.name;
  }
}

TEST(Compressed, WhoHasComeToTheEndLeavesNoDecoderBehind) {
  for (const Case& c : cases()) {
    const Opened opened(c.bytes);
    EXPECT_TRUE(opened.read(0, 1000) == text().substr(0, 1000));
    EXPECT_GT(parked_bytes(), 64u << 10) << c.name;
    EXPECT_TRUE(opened.read(0, text().size()) == text());
    EXPECT_EQ(parked_bytes(), 0u) << c.name;
    (void)opened.read(0, 1000);
  }
  EXPECT_EQ(parked_bytes(), 0u) << "nor does a file that is closed";
}

TEST(Compressed, TheWayToAByteIsShortWhereThereArePoints) {
  EXPECT_LT(Opened(gzip(text())).unpacked.longest_way(), 1'500'000u);
  EXPECT_LE(Opened(seekable(text())).unpacked.longest_way(), ZstdWriter::kFrame);
  EXPECT_EQ(Opened(zstd(text())).unpacked.longest_way(), text().size());  // one frame
}

TEST(Compressed, PointsGetThinnerWhereThereWouldBeTooMany) {
  std::string frames;
  for (std::size_t at = 0; at < text().size(); at += 50'000) frames += zstd(text().substr(at, 50'000));
  for (const std::string& bytes : {gzip(text()), gzip(text(), 1), frames}) {
    const Opened opened(bytes, {}, {.bytes = 1000, .most = 9});
    EXPECT_GT(opened.unpacked.longest_way(), text().size() / 20);
    EXPECT_LT(opened.unpacked.longest_way(), text().size() / 2);
    for (std::size_t at = text().size() - 1000; at > 200'000; at -= 190'000) {
      ASSERT_EQ(opened.read(at, 1000), text().substr(at, 1000)) << at;
    }
  }
}

TEST(Compressed, TheHeadIsReadWithoutTheRest) {
  for (const Case& c : cases()) {
    const Opened opened(c.bytes);
    const auto head = unpacked_head(opened.stored, opened.unpacked.codec(), 5000, {});
    ASSERT_EQ(head.size(), 5000u) << c.name;
    EXPECT_EQ(std::memcmp(head.data(), text().data(), head.size()), 0) << c.name;
  }
  EXPECT_EQ(unpacked_head(Opened(gzip("ab")).stored, Codec::gzip, 9, {}).size(), 2u);
}

TEST(Compressed, AFileThatEndsEarlyIsToldWithHowFarItGoes) {
  for (const Case& c : cases()) {
    for (const std::size_t keep : {c.bytes.size() / 2, c.bytes.size() - 3}) {
      if (std::string(c.name) == "gzip and zeros" && keep == c.bytes.size() - 3) continue;
      const Fault fault = fault_of(c.bytes.substr(0, keep));
      EXPECT_EQ(fault.id, "compressed.truncated") << c.name << ": " << fault.what;
      EXPECT_EQ(fault.at.byte, keep) << c.name;
    }
  }
}

TEST(Compressed, DamageIsTold) {
  for (const Case& c : cases()) {
    std::string bytes = c.bytes;
    for (std::size_t i = 0; i < 64; ++i) bytes[bytes.size() / 2 + i] ^= 0x55;
    const Fault fault = fault_of(bytes);
    EXPECT_TRUE(fault.id == "compressed.damaged" || fault.id == "compressed.truncated") << c.name << ": " << fault.what;
    EXPECT_TRUE(fault.at.has_byte) << c.name;
  }
}

TEST(Compressed, AWrongChecksumIsTold) {
  std::string bytes = gzip(text());
  bytes[bytes.size() - 6] ^= 1;
  EXPECT_EQ(fault_of(bytes).id, "compressed.damaged");
}

TEST(Compressed, WhatFollowsBehindIsTold) {
  for (const std::string& bytes : {gzip("0 |v 1\n"), zstd("0 |v 1\n")}) {
    const Fault fault = fault_of(bytes + "and more text");
    EXPECT_EQ(fault.id, "compressed.trailing") << fault.what;
    EXPECT_EQ(fault.at.byte, bytes.size()) << fault.what;
  }
}

// A skippable frame of so many bytes in all.
std::string skippable(std::size_t bytes) {
  std::string frame("\x50\x2A\x4D\x18", 4);
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>((bytes - 8) >> shift & 0xFF);
  return frame + std::string(bytes - 8, 'x');
}

// One read for each frame or member would be slow: a file may have millions.
TEST(Compressed, ManySmallFramesAndMembersAreReadInPieces) {
  for (const Codec codec : {Codec::zstd, Codec::gzip}) {
    std::string bytes = codec == Codec::zstd ? zstd(corpus(100)) : gzip(corpus(100));
    const std::string small = codec == Codec::zstd ? skippable(8) : gzip("");
    while (bytes.size() < 400'000) bytes += small;
    std::size_t reads = 0;
    const std::string path = "x.ctf.zst";
    const Stored stored{path, bytes.size(), [&](std::uint64_t offset, std::span<std::byte> out) {
                          ++reads;
                          std::memcpy(out.data(), bytes.data() + offset, out.size());
                        }};
    EXPECT_EQ(Unpacked(stored, codec, {}, 0).size(), 100u);
    EXPECT_LT(reads, 30u) << name(codec);
  }
}

// Also where the frame's magic begins in one 64 KiB piece of the file and ends in the next.
TEST(Compressed, AFrameOfOldZstdIsToldWhereverItBegins) {
  const std::string first = zstd(corpus(100));
  for (std::size_t at = 65'530; at < 65'540; ++at) {
    const std::string bytes = first + skippable(at - first.size()) + std::string("\x25\xB5\x2F\xFD\0\0\0\0", 8);
    const Fault fault = fault_of(bytes);
    EXPECT_EQ(fault.id, "compressed.damaged");
    EXPECT_EQ(fault.at.byte, at);
    EXPECT_NE(fault.what.find("a frame of zstd before version 0.8"), std::string::npos) << fault.what;
  }
}

// Tapes fill up their blocks with zeros; more than 64 MiB of them is a file that was made as large as it should become
// and never written to its end.
TEST(Compressed, ZerosBehindGzipAreNoMoreThanABlock) {
  const std::string bytes = gzip("0 |v 1\n");
  EXPECT_EQ(fault_of(bytes + std::string(64u << 20, '\0')).id, "");
  const Fault fault = fault_of(bytes + std::string((64u << 20) + 1, '\0'));
  EXPECT_EQ(fault.id, "compressed.trailing");
  EXPECT_EQ(fault.at.byte, bytes.size());
}

// A pipe holds only its last bytes, so the zeros have to be checked in one pass.
TEST(Compressed, ZerosBehindGzipMayComeThroughAPipe) {
  const std::string bytes = gzip("0 |v 1\n");
  for (const std::size_t zeros : {300u << 10, 10u << 20, 64u << 20})
    EXPECT_EQ(piped(bytes + std::string(zeros, '\0'), 1 << 20), "0 |v 1\n") << zeros;
  EXPECT_THROW(piped(bytes + std::string((64u << 20) + 1, '\0'), 1 << 20), Error);
  EXPECT_THROW(piped(bytes + std::string(10u << 20, '\0') + "1", 1 << 20), Error);
}

TEST(Compressed, BombsMeetALimit) {
  const std::string zeros(80 << 20, '0');
  const std::string bomb = zstd(zeros);
  EXPECT_EQ(fault_of(bomb).id, "limit.unpacked");
  EXPECT_NE(fault_of(bomb).hint.find("unpack_ratio"), std::string::npos);
  EXPECT_EQ(fault_of(bomb, {.unpack_ratio = 1'000'000}).id, "");
  EXPECT_NE(fault_of(gzip(text()), {.unpacked_bytes = 1 << 20}).hint.find("unpacked_bytes"), std::string::npos);
  EXPECT_NE(fault_of(seekable(text()), {.unpacked_bytes = 1 << 20}).hint.find("unpacked_bytes"), std::string::npos);
  EXPECT_NE(fault_of(zstd(text()), {.unpack_window_bytes = 1 << 16}).hint.find("unpack_window_bytes"),
            std::string::npos);
}

TEST(Compressed, WhatThisBuildCannotReadIsSaidByName) {
  EXPECT_TRUE(supported(Codec::gzip) && supported(Codec::zstd));  // without both, these tests are not built
  try {
    fail_unsupported("x.ctf.zst", Codec::zstd);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "compressed.unsupported");
    EXPECT_NE(error.fault().hint.find("libzstd-dev"), std::string::npos);
  }
}

TEST(SeekTable, ThatDoesNotFitIsTold) {
  const std::string good = seekable(text());
  const std::size_t rows = good.size() - 9 - 3 * 8;  // three frames
  const auto with = [&](std::size_t at, char value) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ value);
    const Fault fault = fault_of(bytes);
    EXPECT_EQ(fault.hint.find("zstd -t"), std::string::npos) << "which finds nothing wrong";
    return fault.id;
  };
  EXPECT_EQ(with(good.size() - 6, 1), "compressed.damaged");  // number of frames, its highest byte
  EXPECT_EQ(with(good.size() - 5, 4), "compressed.damaged");  // reserved bit
  EXPECT_EQ(with(rows + 4, 1), "compressed.damaged");         // unpacked size
  EXPECT_EQ(with(rows + 8 + 4, 1), "compressed.damaged");
}

TEST(SeekTable, ThatIsNotOfTheWholeFileIsNotUsed) {
  const std::string good = seekable(text());
  const std::size_t rows = good.size() - 9 - 3 * 8;
  for (const std::size_t at :
       {good.size() - 9, rows, rows - 8}) {  // number of frames, compressed size, skippable magic
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    const Opened opened(bytes);
    ASSERT_EQ(opened.unpacked.size(), text().size()) << at;
    EXPECT_TRUE(opened.read(1000, 3'000'000) == text().substr(1000, 3'000'000)) << at;
  }
}

TEST(SeekTable, StandsInAFrameOfItsOwn) {
  std::string bytes = seekable(text());
  const std::string path = "x.ctf.zst";
  const Stored stored{path, bytes.size(), [&](std::uint64_t offset, std::span<std::byte> out) {
                        std::memcpy(out.data(), bytes.data() + offset, out.size());
                      }};
  EXPECT_TRUE(read_seek_table(stored));
  const std::size_t rows = bytes.size() - 9 - 3 * 8;
  for (const std::size_t at : {rows - 8, rows - 4}) {  // the frame's magic, its size
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    EXPECT_FALSE(read_seek_table(stored)) << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
  }
}

TEST(SeekTable, IsWrittenAsTheFormatSays) {
  const std::vector<std::byte> bytes = seek_table_bytes({{10, 20}});
  const unsigned char want[] = {0x5E, 0x2A, 0x4D, 0x18, 17, 0, 0, 0, 10,   0,    0,    0,   20,
                                0,    0,    0,    1,    0,  0, 0, 0, 0xB1, 0xEA, 0x92, 0x8F};
  ASSERT_EQ(bytes.size(), sizeof want);
  EXPECT_EQ(std::memcmp(bytes.data(), want, sizeof want), 0);
}

TEST(ZstdWriter, MakesWhatZstdUnpacks) {
  const std::string bytes = seekable(text());
  std::string out(text().size(), '\0');
  EXPECT_EQ(ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()), text().size());
  EXPECT_EQ(out, text());
  EXPECT_EQ(Opened(seekable("")).unpacked.size(), 0u);
}

// Whatever frames or members the text is cut into, and wherever reading begins.
RC_GTEST_PROP(CompressedProperty, ReadsAreSlicesOfTheText, ()) {
  std::string all, bytes;
  const bool gz = *rc::gen::arbitrary<bool>();
  for (int parts = *rc::gen::inRange(1, 5); parts > 0; --parts) {
    const std::string part = corpus(*rc::gen::inRange<std::size_t>(0, 200'000), *rc::gen::arbitrary<unsigned>());
    all += part;
    bytes += gz ? gzip(part, *rc::gen::inRange(0, 10)) : zstd(part);
  }
  const Opened opened(bytes);
  RC_ASSERT(opened.unpacked.size() == all.size());
  for (int i = 0; i < 5; ++i) {
    const auto offset = *rc::gen::inRange<std::size_t>(0, all.size() + 1);
    const auto size = *rc::gen::inRange<std::size_t>(0, all.size() - offset + 1);
    RC_ASSERT(opened.read(offset, size) == all.substr(offset, size));
  }
}

}  // namespace
}  // namespace batchfeed::compressed
