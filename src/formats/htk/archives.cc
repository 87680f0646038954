// SPDX-License-Identifier: MIT
#include "formats/htk/archives.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "formats/htk/archive.h"
#include "formats/htk/missing_files.h"
#include "io/path_policy.h"

namespace batchfeed::htk {
namespace {

constexpr std::uint64_t kChecksumBytes = 2;

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

// Damage at the end of a file that does not keep its frames from being read; reported as a warning.
std::optional<Fault> odd_end(const Archive& archive) {
  const Header& h = archive.header();
  const std::uint64_t size = archive.file().size();
  const Position end{.file = archive.file().path(), .byte = size, .has_byte = true};
  if (h.held < h.frames) {
    return Fault{
        .kind = FaultKind::format,
        .id = "htk.cut-short",
        .at = end,
        .what = "the header counts " + counted(h.frames, "frame") + ", the file ends after " + std::to_string(h.held),
        .hint = "it may have been cut off"};
  }
  if (const std::uint64_t sum = (h.kind_code & kChecksum) != 0 ? kChecksumBytes : 0;
      h.held > h.frames && size - h.data >= (h.frames + 1) * h.frame_bytes + sum) {
    return Fault{.kind = FaultKind::format,
                 .id = "htk.more-frames",
                 .at = {.file = end.file, .byte = h.data + h.frames * h.frame_bytes, .has_byte = true},
                 .what = "the header counts " + counted(h.frames, "frame") + ", the file goes on behind them",
                 .hint = "what follows is not read; was the header written before the last frames?"};
  }
  if ((h.kind_code & kChecksum) != 0 && size < h.data + h.frames * h.frame_bytes + kChecksumBytes) {
    return Fault{.kind = FaultKind::format,
                 .id = "htk.no-checksum",
                 .at = end,
                 .what = "its kind says that a checksum follows the frames (_K), the file ends before it",
                 .hint = "it may have been cut off"};
  }
  return std::nullopt;
}

class Look {
 public:
  Look(Index& index, const HtkOptions& options, const OpenContext& context, FaultSink& faults, std::vector<Held> known)
      : index_(index), options_(options), context_(context), faults_(faults), held_(std::move(known)) {
    held_.resize(index.paths.size());
  }

  // Looks at each archive once, in the order of first use: the others must agree with that of the first utterance.
  std::vector<Held> run() {
    index_.identities.resize(index_.paths.size());
    std::vector<std::uint8_t> seen(index_.paths.size(), 0);
    for (std::size_t i = 0; i < index_.utterances.size(); ++i) {
      if (std::exchange(seen[index_.utterances[i].file], 1) == 0) look(i);
    }
    missing_files_.refuse(index_.paths.size());
    return std::move(held_);
  }

 private:
  void look(std::size_t utterance) {
    const std::uint32_t file = index_.utterances[utterance].file;
    if (model_is_usual_ && held_[file].usual) return missing_files_.opened();
    if (const Fault* const gone = context_.check ? missing_files_.expected(index_.paths[file]) : nullptr) {
      faults_.error(gone->id, [&] { return told(utterance, *gone); });
      held_[file].damaged = true;
      return;
    }
    try {
      open(file);
    } catch (const Error& e) {
      missing_files_.failed(e.fault());
      fail(file, told(utterance, e.fault()));
    }
  }

  void open(std::uint32_t file) {
    const std::string& path = index_.paths[file];
    const Archive archive(io::File(path, context_.file_system));
    const Header& h = archive.header();
    index_.identities[file] = archive.file().identity();
    if (model_ == nullptr) {
      model_ = &path;
      model_is_usual_ = held_[file].usual;
      index_.header = h;
    } else {
      check_same(index_.header, *model_, h, path);
    }
    held_[file].frames = std::min(h.frames, h.held);
    missing_files_.opened();
    if (std::optional<Fault> odd = odd_end(archive)) {
      odd->stream = options_.name;
      faults_.warning(std::move(*odd));
    }
  }

  void fail(std::uint32_t file, Fault fault) {
    if (fault.kind == FaultKind::io && !context_.check) return missing_files_.keep(std::move(fault));
    if (index_.damage.empty()) index_.damage = fault.at.file + ": " + fault.what;
    faults_.error(std::move(fault));
    held_[file].damaged = true;
  }

  Fault told(std::size_t utterance, const Fault& fault) const {
    Fault out = listed(fault, index_.place(utterance, options_), context_.keys->text(index_.utterances[utterance].key),
                       options_, context_.file_system);
    out.stream = options_.name;
    return out;
  }

  Index& index_;
  const HtkOptions& options_;
  const OpenContext& context_;
  FaultSink& faults_;
  std::vector<Held> held_;
  const std::string* model_ = nullptr;  // path of the archive that the others are compared with
  bool model_is_usual_ = false;
  MissingFiles missing_files_{context_.file_system};
};

}  // namespace

bool is_usual(const Archive& archive, const Header& first) {
  const Header& h = archive.header();
  return h.dim == first.dim && h.kind == first.kind && h.period == first.period && !odd_end(archive);
}

Fault listed(Fault fault, const Position& at, const std::string& key, const HtkOptions& options,
             const FileSystem& file_system) {
  if (at.line == 0) return fault;
  fault.what += " (listed at " + at.file + ':' + std::to_string(at.line) + ", key '" + key + "')";
  // `path_map` applies to paths of the list, so no rule is proposed for a path that a rule has already changed.
  const bool is_made = std::any_of(options.path_map.begin(), options.path_map.end(),
                                   [&](const auto& rule) { return fault.at.file.starts_with(rule.second); });
  if (fault.id != "io.open" || is_made) return fault;
  if (const std::string rule = io::map_beside(fault.at.file, at.file, file_system); !rule.empty())
    fault.hint = "a file of that name lies beside the list: `path_map = " + rule + "`";
  return fault;
}

std::vector<Held> look_at_archives(Index& index, const HtkOptions& options, const OpenContext& context,
                                   FaultSink& faults, std::vector<Held> known) {
  return Look(index, options, context, faults, std::move(known)).run();
}

}  // namespace batchfeed::htk
