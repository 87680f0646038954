// SPDX-License-Identifier: MIT
//
// Some streams of a source, in another order and under other names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/shared_source.h"

namespace batchfeed {

class Selected final : public SharedSource {
 public:
  // `keep` in this order, all if empty; then `renames` (from, to). Throws
  // Error(usage) for names that are not there or not unique afterwards.
  Selected(std::shared_ptr<const Source> source, const std::vector<std::string>& keep,
           const std::vector<std::pair<std::string, std::string>>& renames);

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  void read(std::uint32_t chunk, Chunk& out) const override;
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override { return nullptr; }
  std::uint64_t fingerprint() const override;

 private:
  std::vector<std::size_t> from_;
  std::vector<StreamInfo> streams_;
};

}  // namespace batchfeed
