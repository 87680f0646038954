// SPDX-License-Identifier: MIT
#include "io/file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/hash.h"
#include "base/lookalike.h"
#include "base/working_folder.h"
#include "compressed/unpacked.h"
#include "io/descriptor.h"
#include "io/path_policy.h"
#include "io/sys.h"
#include "io/unpacked_files.h"

namespace batchfeed::io {
namespace {

// The folder of the configuration, if it is another one and a relative path leads to a file from there; else empty.
std::string beside_configuration(const std::string& path, const FileSystem& files) {
  if (path.starts_with('/') || files.configuration.empty() || is_url(files.configuration)) return {};
  const std::string_view folder = directory_of(files.configuration);
  std::error_code none;
  return folder != "." && std::filesystem::exists(located(std::string(folder) + '/' + path, files), none)
             ? std::string(folder)
             : std::string();
}

// The first of the folders of a path that is not there. Nothing is below it, so few are looked for.
std::string missing_folder(const std::string& path, const FileSystem& files) {
  std::vector<std::size_t> slashes;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    slashes.push_back(slash);
  const auto first = std::ranges::partition_point(slashes, [&](std::size_t slash) {
    std::error_code none;
    return std::filesystem::exists(located(path.substr(0, slash), files), none);
  });
  return first == slashes.end() ? std::string() : path.substr(0, *first);
}

std::string from_where(const std::string& path, const FileSystem& files) {
  std::string out;
  if (!path.starts_with('/'))
    out = "relative paths count from " + (files.folder.empty() ? std::string("the working directory") : files.folder);
  if (!files.roots.empty()) return out;  // what exists outside the roots is not told
  if (const std::string there = beside_configuration(path, files); !there.empty())
    return out + "; it is there from '" + there + "', where the configuration is: run this there";
  const std::string folder = missing_folder(path, files);
  if (folder.empty()) return out;
  return out + (out.empty() ? "" : "; ") + "there is no folder '" + folder + "'";
}

std::string who_names(const std::string& path, const FileSystem& files) {
  if (!files.named_at) return {};
  const auto named = std::ranges::lower_bound(*files.named_at, path, {}, &NamedFile::path);
  if (named == files.named_at->end() || named->path != path) return {};
  return "it is named at " + *named->where + ':' + std::to_string(named->line) +
         (named->column == 0 ? "" : ':' + std::to_string(named->column));
}

// A hint for a path as Windows writes it, if it leads to a file with / in place of \.
std::string with_slashes(const std::string& path, const FileSystem& files) {
  if (path.find('\\') == std::string::npos || !files.roots.empty()) return {};
  std::string ours = path;
  std::replace(ours.begin(), ours.end(), '\\', '/');
  std::error_code none;
  return std::filesystem::exists(located(ours, files), none) ? "did you mean '" + ours + "'? Folders end with /, not \\"
                                                             : std::string();
}

std::string not_there(const std::string& path, const FileSystem& files) {
  if (std::string ours = with_slashes(path, files); !ours.empty()) return ours;
  const std::string who = who_names(path, files), where = from_where(path, files);
  return who + (who.empty() || where.empty() ? "" : "; ") + where;
}

std::string hint_for(int error, const std::string& path, const FileSystem& files) {
  switch (error) {
    case ENOENT:
      if (path.empty()) return "the name is empty; is a variable of the shell not set?";
      if (path == "-")
        return "data must be in a file that can be read at any offset; of all commands `check()` alone reads a pipe";
      if (std::string found = lookalike(path); !found.empty()) return found;
      if (is_url(path))
        return "URLs are read by the Python package, those in a local list with storage_options=, and by C++ with a "
               "file_system";
      return not_there(path, files);
    case EMFILE:
    case ENFILE: return "raise the limit (ulimit -n)";
    case ENOSPC:
    case EDQUOT: return "free some space, or write elsewhere";
    case EROFS: return "write elsewhere";
    case ENXIO: return "data must be in a file that can be read at any offset";  // a socket
    default: return {};
  }
}

[[noreturn]] void ends_early(const std::string& path, std::uint64_t at, std::uint64_t missing) {
  throw Error(Fault{.kind = FaultKind::stale,
                    .id = "io.ends-early",
                    .at = {.file = path, .byte = at, .has_byte = true},
                    .what = "file ends " + counted(missing, "byte") + " before it should",
                    .hint = "it was truncated or replaced while it was being read"});
}

compressed::Codec codec_of(const File& file) {
  std::array<std::byte, compressed::kHeadBytes> head{};
  if (file.identity().size < head.size()) return compressed::Codec::none;
  file.read_stored(0, head);
  return compressed::codec_of(head);
}

[[noreturn]] void fail_in(const FileSystem& files, const char* action, const std::string& path, int error) {
  const bool gone = error == ENOENT && action == std::string_view("rename");
  throw Error(Fault{.kind = FaultKind::io,
                    .id = std::string("io.") + action,
                    .at = {.file = path},
                    .what = std::string("cannot ") + action + ": " + std::strerror(error),
                    .hint = gone ? "what was written, or its folder, was removed meanwhile: write it again"
                                 : hint_for(error, path, files),
                    .system_error = error});
}

}  // namespace

void fail(const char* action, const std::string& path, int error) { fail_in({}, action, path, error); }

std::optional<Fault> cannot_open(const std::string& path, const FileSystem& files) {
  if (!files.roots.empty() || (files.open && is_url(path))) return std::nullopt;
  const Opening opening;
  const int fd = open_to_read(located(path, files), 0, opening);
  if (fd >= 0) {
    sys().close(fd);
    return std::nullopt;
  }
  const int error = errno;
  return Fault{.kind = FaultKind::io,
               .id = "io.open",
               .at = {.file = path},
               .what = std::string("cannot open: ") + std::strerror(error),
               .hint = hint_for(error, path, files),
               .system_error = error};
}

File::File(const std::string& path) : File(path, 0, path) {}

File File::open_without_following(const std::string& path) { return File(path, O_NOFOLLOW, path); }

File::File(std::string path, const FileSystem& file_system) {
  if (!file_system.open || !is_url(path)) {
    // With roots, the path that was checked is opened, and no link at its end is followed.
    const bool anywhere = file_system.roots.empty();
    *this = File(anywhere ? located(path, file_system) : resolve_in_roots(path, file_system, {.file = path}),
                 anywhere ? 0 : O_NOFOLLOW, path, file_system);
    return;
  }
  if (!file_system.roots.empty()) resolve_in_roots(path, file_system, {.file = path});
  path_ = std::move(path);
  remote_ = file_system.open(path_);
  if (remote_ == nullptr || !remote_->read) {
    throw Error(Fault{
        .kind = FaultKind::usage,
        .id = "io.no-remote-file",
        .at = {.file = path_},
        .what = remote_ ? "the file system gives a file without a read function" : "the file system gives no file",
        .hint = "what opens URLs returns a RemoteFile with a read function, or throws an Error"});
  }
  identity_ = {.size = remote_->size, .mtime_ns = static_cast<std::int64_t>(hash_text(remote_->version))};
  size_ = remote_->size;
}

File::File(std::string path, const FileSystem& file_system, const Limits& limits) : File(std::move(path), file_system) {
  const compressed::Codec codec = codec_of(*this);
  if (codec == compressed::Codec::none) return;
  const auto unpack = [&](std::size_t keep) {
    will_read(0, size_);
    return std::make_shared<const compressed::Unpacked>(stored(), codec, limits, keep);
  };
  // A remote file whose version is not known cannot be recognised when it is opened again.
  const bool known = file_system.unpacked != nullptr && (!remote_ || !remote_->version.empty());
  unpacked_ = known ? file_system.unpacked->open({path_, identity_, limits}, unpack) : unpack(0);
  size_ = unpacked_->size();
}

File::File(const std::string& place, int flags, std::string path, const FileSystem& files) : path_(std::move(path)) {
  const Opening opening;
  const int fd = open_to_read(place, flags, opening);
  if (fd < 0) fail_in(files, "open", path_, errno);
  try {
    identity_ = identify(fd, path_);
    size_ = identity_.size;
    local_ = std::make_unique<const Descriptor>(fd, from_anywhere(place), flags, path_, identity_);
  } catch (...) {
    sys().close(fd);
    throw;
  }
}

File File::reopened() const { return File(local_->place(), local_->flags(), path_); }

File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

compressed::Stored File::stored() const {
  return {path_, identity_.size, [this](std::uint64_t at, std::span<std::byte> out) { read_stored(at, out); }};
}

void File::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (unpacked_ == nullptr) return read_stored(offset, out);
  const std::uint64_t left = size_ - std::min(size_, offset);
  if (out.size() > left) ends_early(path_, size_, out.size() - left);
  unpacked_->read(stored(), offset, out);
}

void File::read_stored(std::uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return;
  if (remote_) {
    const std::uint64_t left = identity_.size - std::min(identity_.size, offset);
    if (out.size() > left) ends_early(path_, identity_.size, out.size() - left);
    return remote_->read(offset, out);
  }
  const Descriptor::Use local = local_->use();
  std::size_t done = 0;
  while (done < out.size()) {
    const ::ssize_t n =
        sys().pread(local.fd(), out.data() + done, out.size() - done, static_cast<::off_t>(offset + done));
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path_, errno);
    ends_early(path_, offset + done, out.size() - done);
  }
}

void File::will_read(std::uint64_t begin, std::uint64_t end) const noexcept {
  if (!remote_ || !remote_->will_read || unpacked_ || begin >= end) return;
  try {
    remote_->will_read(begin, end);
  } catch (...) {  // read() will report it
  }
}

void File::expect_unchanged() const {
  const char* const when = "while it was being read";
  if (remote_) {
    if (remote_->unchanged && !remote_->unchanged()) fail_changed(path_, when, identity_, identity_);
    return;
  }
  const Identity now = identify(local_->use().fd(), path_);
  if (now != identity_) fail_changed(path_, when, identity_, now);
}

void File::expect_same(const Identity& before) const {
  if (before != identity_) fail_changed(path_, "or was replaced since it was looked at", before, identity_);
}

bool File::is_slow_out_of_order() const noexcept {
  constexpr std::uint64_t kLongWay = 64u << 20;
  return unpacked_ != nullptr && unpacked_->longest_way() > kLongWay;
}

void File::warn_if_slow(const Report& report) const {
  if (!report || !is_slow_out_of_order()) return;
  report({.severity = Severity::warning,
          .fault = {.kind = FaultKind::io,
                    .id = "compressed.slow",
                    .at = {.file = path_},
                    .what = "reading it out of order is slow: up to " + counted(unpacked_->longest_way(), "byte") +
                            " unpacked before the first that is wanted",
                    .hint = "`convert()` writes it as .zst with a seek table"}});
}

Head read_head(const std::string& path, std::size_t most, const FileSystem& file_system, const Limits& limits) {
  const File file(path, file_system);
  const compressed::Codec codec = codec_of(file);
  if (codec != compressed::Codec::none) {
    const auto read = [&](std::uint64_t at, std::span<std::byte> out) { file.read(at, out); };
    return {.bytes = compressed::unpacked_head({path, file.size(), read}, codec, most, limits)};
  }
  Head head{.bytes = std::string(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), most)), '\0'),
            .size = file.size()};
  file.read(0, std::as_writable_bytes(std::span(head.bytes)));
  return head;
}

void fail_at(const File& file, std::uint64_t byte, const char* id, std::string what, std::string hint) {
  throw Error(Fault{.kind = FaultKind::format,
                    .id = id,
                    .at = {.file = file.path(), .byte = byte, .has_byte = true},
                    .what = std::move(what),
                    .hint = std::move(hint)});
}

Fault of_archive(Fault fault, const File& file) {
  if (fault.kind != FaultKind::format && fault.kind != FaultKind::limit) return fault;
  const compressed::Codec codec = codec_of(file);
  if (codec == compressed::Codec::none) return fault;
  fault.hint =
      std::string("this is a ") + compressed::name(codec) + " file; unpack it: archives are not read compressed";
  return fault;
}

std::string read_whole(const std::string& path, std::uint64_t limit, const char* limit_name,
                       const FileSystem& file_system, const Limits* unpack) {
  const File file = unpack != nullptr ? File(path, file_system, *unpack) : File(path, file_system);
  if (file.size() > limit) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.file",
                      .at = {.file = path},
                      .what = "has " + counted(file.size(), "byte") + ", the limit is " + std::to_string(limit),
                      .hint = std::string("raise limits.") + limit_name});
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace batchfeed::io
