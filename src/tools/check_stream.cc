// SPDX-License-Identifier: MIT
//
// Checks text from a pipe. Where no streams are declared, its beginning is kept
// for a moment to infer them, and then passed on in front of the rest.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "formats/ctf/ctf.h"
#include "io/file.h"
#include "tools/tally.h"

namespace batchfeed {

namespace {

constexpr std::size_t kHead = 4u << 20;
constexpr std::size_t kPiece = 1u << 16;

std::size_t read_some(int from, char* to, std::size_t bytes, const std::string& name) {
  for (;;) {
    const ssize_t n = ::read(from, to, bytes);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) io::fail("read", name, errno);
  }
}

// False once nobody reads any more.
bool write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(to, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// A file of its own for the text to look at; gone with this.
class Scratch {
 public:
  explicit Scratch(std::string_view text) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/batchfeed-XXXXXX";
    const int fd = ::mkstemp(path_.data());
    if (fd < 0) io::fail("create", path_, errno);
    const bool whole = write_all(fd, text);
    const int error = errno;
    ::close(fd);
    if (!whole) {
      ::unlink(path_.c_str());
      io::fail("write", path_, error);
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::unlink(path_.c_str()); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// The reading end of a pipe that gives `head`, then what `rest` gives.
class Feed {
 public:
  Feed(std::string head, int rest) : head_(std::move(head)), rest_(rest) {
    if (::pipe(ends_) != 0) io::fail("make a pipe for", "-", errno);
    writer_ = std::jthread([this] {
      bool more = write_all(ends_[1], head_);
      std::string piece(kPiece, '\0');
      while (more) {
        const ssize_t n = ::read(rest_, piece.data(), piece.size());
        if (n < 0 && errno == EINTR) continue;
        more = n > 0 && write_all(ends_[1], std::string_view(piece).substr(0, static_cast<std::size_t>(n)));
      }
      ::close(ends_[1]);
    });
  }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed() {
    // Read on to the end, so that the writer never waits for room.
    std::string piece(kPiece, '\0');
    while (::read(ends_[0], piece.data(), piece.size()) > 0) {
    }
    writer_.join();
    ::close(ends_[0]);
  }
  int descriptor() const noexcept { return ends_[0]; }

 private:
  std::string head_;
  int rest_;
  int ends_[2] = {-1, -1};
  std::jthread writer_;
};

// Indices may grow behind the beginning, so nothing is said against large ones.
void declare(CtfOptions& options, KeyMode& keys, const Inferred& inferred) {
  for (const Inferred::Stream& stream : inferred.streams) {
    options.streams.push_back(stream.spec);
    if (stream.spec.storage == Storage::sparse && !inferred.whole_file) options.streams.back().dim = (1ull << 31) - 1;
  }
  options.skip_sequence_ids = !inferred.has_ids;
  if (inferred.text_ids) keys = KeyMode::text;
}

}  // namespace

CheckResult check_stream(int descriptor, const std::string& name, const CtfOptions& options, const CheckOptions& check,
                         const Report& report) {
  const Limits limits;
  if (!options.streams.empty()) return ctf::check_stream(descriptor, name, options, limits, check, report);
  std::string head(kHead, '\0');
  std::size_t filled = 0;
  while (filled < head.size()) {
    const std::size_t n = read_some(descriptor, head.data() + filled, head.size() - filled, name);
    if (n == 0) break;
    filled += n;
  }
  const bool whole = filled < head.size();
  head.resize(filled);
  if (head.starts_with("\x1F\x8B") || head.starts_with("\x28\xB5\x2F\xFD")) {
    const bool gzip = head[0] == '\x1F';
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "check.packed-input",
                      .at = {.file = name},
                      .what = std::string("it is compressed with ") + (gzip ? "gzip" : "zstd") + ", expected text",
                      .hint = std::string("unpack it on the way (") + (gzip ? "gzip" : "zstd") +
                              " -dc FILE | batchfeed check -), or name the file"});
  }
  CtfOptions declared = options;
  KeyMode keys = KeyMode::numeric;
  try {
    const Scratch scratch(whole ? head : head.substr(0, head.rfind('\n') + 1));
    Inferred inferred = ctf::infer(scratch.path());
    inferred.whole_file = whole;
    declare(declared, keys, inferred);
  } catch (const Error& error) {
    Fault fault = error.fault();
    fault.at.file = name;
    throw Error(fault);
  }
  if (declared.streams.empty()) {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "check.no-stream",
                      .at = {.file = name},
                      .what = "no stream (|name ...) found in it",
                      .hint = "text in CNTK's format is expected"});
  }
  const Feed feed(std::move(head), descriptor);
  return ctf::check_stream(feed.descriptor(), name, declared, limits, check, report, keys);
}

}  // namespace batchfeed
