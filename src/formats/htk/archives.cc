// SPDX-License-Identifier: MIT
#include "formats/htk/archives.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "formats/htk/archive.h"
#include "io/path_policy.h"

namespace batchfeed::htk {
namespace {

constexpr std::uint64_t kChecksumBytes = 2;
constexpr std::uint64_t kNamed = 4;  // of files that are not there

// Throws Error if a file does not have the kind, dimension and period of the first.
void check_same(const Header& first, const std::string& first_path, const Header& header, const std::string& path) {
  std::string what;
  if (header.dim != first.dim) {
    what = "frames of " + counted(header.dim, "value") + ", those of '" + first_path + "' have " +
           std::to_string(first.dim);
  } else if (header.kind != first.kind) {
    what = "kind " + header.kind + ", that of '" + first_path + "' is " + first.kind;
  } else if (header.period != first.period) {
    what = "a frame period of " + std::to_string(header.period) + " (in 100 ns), that of '" + first_path + "' is " +
           std::to_string(first.period);
  } else {
    return;
  }
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "htk.mixed",
                    .at = {.file = path, .byte = 0, .has_byte = true},
                    .what = std::move(what),
                    .hint = "the files of one stream must agree in kind, dimension and period"});
}

// Damage that can be lived with.
void warn_of_end(const Archive& archive, const HtkOptions& options, FaultSink& faults) {
  const Header& h = archive.header();
  const std::uint64_t size = archive.file().size();
  const Position end{.file = archive.file().path(), .byte = size, .has_byte = true};
  if (h.held < h.frames) {
    faults.warning(
        {.kind = FaultKind::format,
         .id = "htk.cut-short",
         .at = end,
         .what = "the header counts " + counted(h.frames, "frame") + ", the file ends after " + std::to_string(h.held),
         .hint = "it may have been cut off",
         .stream = options.name});
  } else if (const std::uint64_t sum = (h.kind_code & kChecksum) != 0 ? kChecksumBytes : 0;
             h.held > h.frames && size - h.data >= (h.frames + 1) * h.frame_bytes + sum) {
    faults.warning({.kind = FaultKind::format,
                    .id = "htk.more-frames",
                    .at = {.file = end.file, .byte = h.data + h.frames * h.frame_bytes, .has_byte = true},
                    .what = "the header counts " + counted(h.frames, "frame") + ", the file goes on behind them",
                    .hint = "what follows is not read; was the header written before the last frames?",
                    .stream = options.name});
  } else if ((h.kind_code & kChecksum) != 0 && size < h.data + h.frames * h.frame_bytes + kChecksumBytes) {
    faults.warning({.kind = FaultKind::format,
                    .id = "htk.no-checksum",
                    .at = end,
                    .what = "its kind says that a checksum follows the frames (_K), the file ends before it",
                    .hint = "it may have been cut off",
                    .stream = options.name});
  }
}

// Of files that are not there, as far as they are named.
[[noreturn]] void fail_for(const std::vector<Fault>& missing, std::uint64_t all, const Index& index,
                           const HtkOptions& options) {
  Fault fault = missing.front();
  fault.stream = options.name;
  if (all > 1) {
    fault.what += "; so it is with " + std::to_string(all - 1) + " more of the " + counted(index.paths.size(), "file") +
                  " listed";
    for (std::size_t i = 1; i < missing.size(); ++i) fault.what += (i == 1 ? ": " : ", ") + missing[i].at.file;
  }
  throw Error(std::move(fault));
}

}  // namespace

Fault listed(Fault fault, const Position& at, const std::string& key, const FileSystem& file_system) {
  if (at.line == 0) return fault;
  fault.what += " (listed at " + at.file + ':' + std::to_string(at.line) + ", key '" + key + "')";
  if (fault.id != "io.open") return fault;
  if (const std::string rule = io::map_beside(fault.at.file, at.file, file_system); !rule.empty())
    fault.hint = "a file of that name lies beside the list: `path_map = " + rule + "`";
  return fault;
}

std::vector<Held> look_at_archives(Index& index, const HtkOptions& options, const OpenContext& context,
                                   FaultSink& faults) {
  std::vector<Held> held(index.paths.size());
  index.identities.resize(index.paths.size());
  const std::string* first = nullptr;  // the archive that the others are compared with
  std::vector<Fault> missing;          // the first few
  std::uint64_t gone = 0;
  std::uint64_t in_a_row = 0;  // files one behind the other that could not be opened
  std::vector<std::uint8_t> seen(index.paths.size(), 0);
  // In the order of first use, so that the first utterance's archive is the model.
  for (std::size_t i = 0; i < index.utterances.size(); ++i) {
    const Utterance& u = index.utterances[i];
    if (std::exchange(seen[u.file], 1) != 0) continue;
    const std::string& path = index.paths[u.file];
    const auto told = [&](const Fault& fault) {
      return listed(fault, index.place(i, options), context.keys->text(u.key), context.file_system);
    };
    // An exception for each of many that are not there would take longest.
    if (context.check && in_a_row >= 16) {
      if (const std::optional<Fault> missing_one = io::cannot_open(path, context.file_system)) {
        faults.error(missing_one->id, [&] {
          Fault fault = told(*missing_one);
          fault.stream = options.name;
          return fault;
        });
        held[u.file].damaged = true;
        continue;
      }
    }
    try {
      const Archive archive(path, true, context.file_system);
      const Header& h = archive.header();
      index.identities[u.file] = archive.file().identity();
      if (first == nullptr) {
        first = &path;
        index.header = h;
      } else {
        check_same(index.header, *first, h, path);
      }
      held[u.file].frames = std::min(h.frames, h.held);
      in_a_row = 0;
      warn_of_end(archive, options, faults);
    } catch (const Error& e) {
      in_a_row = e.fault().id == "io.open" ? in_a_row + 1 : 0;
      Fault fault = told(e.fault());
      if (fault.kind == FaultKind::io && !context.check) {
        if (++gone <= kNamed) missing.push_back(std::move(fault));
        continue;
      }
      fault.stream = options.name;
      if (index.damage.empty()) index.damage = fault.at.file + ": " + fault.what;
      faults.error(std::move(fault));
      held[u.file].damaged = true;
    }
  }
  if (!missing.empty()) fail_for(missing, gone, index, options);
  return held;
}

}  // namespace batchfeed::htk
