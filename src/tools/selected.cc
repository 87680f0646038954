// SPDX-License-Identifier: MIT
#include "tools/selected.h"

#include "base/hash.h"
#include "tools/refuse.h"

namespace batchfeed {
namespace {

std::size_t find(const std::vector<StreamInfo>& streams, const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].name == name) return i;
    known += (known.empty() ? "'" : ", '") + streams[i].name + "'";
  }
  refuse("convert.no-stream", {}, "no stream '" + name + "', there are " + known, "names are compared with their case",
         name);
}

}  // namespace

Selected::Selected(std::shared_ptr<const Source> from, const std::vector<std::string>& keep,
                   const std::vector<std::pair<std::string, std::string>>& renames)
    : SharedSource(std::move(from)) {
  const std::vector<StreamInfo>& all = source().streams();
  for (const std::string& name : keep) from_.push_back(find(all, name));
  for (std::size_t i = 0; keep.empty() && i < all.size(); ++i) from_.push_back(i);
  for (const std::size_t i : from_) streams_.push_back(all[i]);
  for (const auto& [old_name, new_name] : renames) {
    const std::size_t number = find(all, old_name);
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (from_[i] == number) streams_[i].name = new_name;
    }
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (streams_[i].name != streams_[k].name) continue;
      refuse("convert.same-name", {}, "two streams would be named '" + streams_[i].name + "'",
             "name each stream once, and rename to different names", streams_[i].name);
    }
  }
}

void Selected::read(std::uint32_t chunk, Chunk& out) const {
  source().read(chunk, out);
  std::vector<Column> kept(from_.size());
  for (std::size_t i = 0; i < from_.size(); ++i) kept[i] = std::move(out.columns[from_[i]]);
  out.columns = std::move(kept);
}

std::uint64_t Selected::fingerprint() const {
  const std::uint64_t own = Source::fingerprint();  // NOLINT(bugprone-parent-virtual-call): what every source has
  return Fingerprint().add(source().fingerprint()).add(own).value();
}

}  // namespace batchfeed
