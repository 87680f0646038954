// SPDX-License-Identifier: MIT
//
// Checks text from a pipe, compressed or not. Where no streams are declared, they are inferred from the
// beginning of the text, which is held until then and checked together with the rest.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

#include "base/counted.h"
#include "base/saturate.h"
#include "compressed/pipe.h"
#include "formats/ctf/ctf.h"
#include "io/file.h"
#include "io/room.h"
#include "io/unfinished.h"
#include "tools/refuse.h"
#include "tools/tally.h"

namespace batchfeed {

namespace {

constexpr std::size_t kHead = 4u << 20, kMostHead = 64u << 20;
constexpr std::size_t kPiece = 1u << 16;

std::size_t read_some(int from, char* to, std::size_t bytes, const std::string& name) {
  for (;;) {
    const ssize_t n = ::read(from, to, bytes);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN) {  // the caller may have made the pipe non-blocking
      ::pollfd wait{.fd = from, .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      io::fail("read", name, errno);
    }
  }
}

// False if writing fails, as it does for a pipe that nobody reads any more.
bool write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(to, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// A temporary file that holds `text`; removed by the destructor.
class Scratch {
 public:
  explicit Scratch(std::string_view text) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/batchfeed-XXXXXX";
    unfinished_.emplace();
    const int fd = ::mkstemp(path_.data());
    if (fd < 0) io::fail("create", path_, errno);
    unfinished_->list(path_);
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
  std::optional<io::Unfinished> unfinished_;
};

// The reading end of a pipe that gives `head`, then what `rest` gives.
class Feed {
 public:
  Feed(const std::string& name, std::string head, compressed::Pipe& rest, const Limits& limits)
      : name_(name), limits_(limits), head_(std::move(head)), rest_(rest) {
    if (::pipe(ends_) != 0) io::fail("make a pipe for", "-", errno);
    try {
      writer_ = std::jthread([this] {
        try {
          pass_on();
        } catch (...) {
          broken_ = std::current_exception();
        }
        ::close(ends_[1]);
      });
    } catch (const std::system_error& error) {
      for (const int end : ends_) ::close(end);
      io::fail("start a thread for", "-", error.code().value());
    }
  }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed() {
    finish();
    ::close(ends_[0]);
  }
  int descriptor() const noexcept { return ends_[0]; }

  // Drains the pipe, so that the writing thread cannot block, and joins that thread. Returns what `rest` threw, if
  // it did.
  std::exception_ptr finish() noexcept {
    std::array<char, 4096> piece;
    while (::read(ends_[0], piece.data(), piece.size()) > 0) {
    }
    if (writer_.joinable()) writer_.join();
    return broken_;
  }

 private:
  void pass_on() {
    if (rest_.is_compressed()) expect_lines(head_);
    bool more = write_all(ends_[1], head_);
    while (more) {
      const std::size_t n = rest_.read(std::as_writable_bytes(std::span(piece_)));
      const std::string_view text = std::string_view(piece_).substr(0, n);
      if (rest_.is_compressed()) expect_lines(text);
      more = n > 0 && write_all(ends_[1], text);
    }
  }

  // Throws Error if the current line is too long: the pipe's reader holds whole lines, and unpacked, a line may be a
  // thousand times the compressed bytes read.
  void expect_lines(std::string_view text) {
    const std::size_t end = text.rfind('\n');
    line_ = end == text.npos ? line_ + text.size() : text.size() - end - 1;
    at_ += text.size();
    const std::uint64_t room = std::max(io::kAnyCompressed, mul_sat(rest_.taken(), limits_.unpack_held_ratio));
    if (line_ <= room) return;
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.line",
                      .at = {.file = name_, .byte = at_ - line_, .has_byte = true},
                      .what = "a line of more than " + counted(room, "byte") + " starts here",
                      .hint = "if you trust it, unpack it first"});
  }

  std::uint64_t line_ = 0, at_ = 0;  // bytes of the unfinished line, and of all text so far
  const std::string& name_;
  const Limits& limits_;
  std::string head_, piece_ = std::string(kPiece, '\0');
  compressed::Pipe& rest_;
  int ends_[2] = {-1, -1};
  std::exception_ptr broken_;
  std::jthread writer_;
};

// Whether a complete line names a stream (|name). It may come late: lines may be long, or empty, or comments.
bool has_row(std::string_view head) {
  head = head.substr(0, head.rfind('\n') + 1);
  for (std::size_t at = head.find('|'); at != head.npos; at = head.find('|', at + 1)) {
    if (head[at + 1] != '#') return true;
  }
  return false;
}

// Declares the inferred streams. Unless they come from the whole text, larger indices may follow, so the dim of a
// sparse stream is the largest there may be.
void declare(CtfOptions& options, KeyMode& keys, const Inferred& inferred) {
  for (const Inferred::Stream& stream : inferred.streams) {
    options.streams.push_back(stream.spec);
    if (stream.spec.storage == Storage::sparse && !inferred.whole_file) options.streams.back().dim = (1ull << 31) - 1;
  }
  options.skip_sequence_ids = !inferred.has_ids;
  if (inferred.text_ids) keys = KeyMode::text;
}

// The beginning of the text: as much as is needed to have a row, up to kMostHead.
struct Head {
  std::string text;
  bool whole = false;  // `text` is the whole text
};

Head head_of(compressed::Pipe& input) {
  Head out;
  std::size_t filled = 0;
  for (std::size_t most = kHead; !out.whole && most <= kMostHead && !has_row(out.text); most *= 2) {
    out.text.resize(most);
    for (std::size_t n = 1; filled < out.text.size() && n != 0; filled += n)
      n = input.read(std::as_writable_bytes(std::span(out.text).subspan(filled)));
    out.whole = filled < out.text.size();
  }
  out.text.resize(filled);
  return out;
}

// Infers the streams from the head and declares them. Returns warnings about rare streams.
std::vector<Notice> infer(const Head& head, const std::string& name, CtfOptions& options, KeyMode& keys) {
  if (!head.whole && !has_row(head.text)) {
    refuse_data("check.no-row", name,
                "no line with a stream (|name ...) ends in its first " + std::to_string(head.text.size() >> 20) +
                    " MiB, of which the streams are inferred",
                "check a file of it, or with a configuration");
  }
  std::vector<Notice> odd;
  try {
    const Scratch scratch(head.whole ? head.text : head.text.substr(0, head.text.rfind('\n') + 1));
    Inferred inferred = infer_ctf(scratch.path());
    inferred.whole_file = head.whole;
    declare(options, keys, inferred);
    odd = rare_streams(inferred);
  } catch (const Error& error) {
    Fault fault = error.fault();
    fault.at.file = name;
    throw Error(fault);
  }
  if (options.streams.empty())
    refuse_data("check.no-stream", name, "no stream (|name ...) found in it", "text in CNTK's format is expected");
  for (Notice& notice : odd) notice.fault.at.file = name;
  return odd;
}

}  // namespace

CheckResult check_stream(int descriptor, const std::string& name, const CtfOptions& options, const CheckOptions& check,
                         const Report& report, const Limits& limits) {
  compressed::Pipe input(
      name,
      [&](std::span<std::byte> out) {
        return read_some(descriptor, reinterpret_cast<char*>(out.data()), out.size(), name);
      },
      limits);
  Head head = head_of(input);
  CtfOptions declared = options;
  KeyMode keys = KeyMode::numeric;
  std::vector<Notice> odd;
  if (declared.streams.empty()) odd = infer(head, name, declared, keys);
  for (const Notice& notice : odd) {
    if (report) report(notice);
  }
  Feed feed(name, std::move(head.text), input, limits);
  CheckResult result = ctf::check_stream(feed.descriptor(), name, declared, limits, check, report, keys);
  result.sources = 1;
  for (const Notice& notice : odd) {
    ++result.warnings;
    ++result.by_id[notice.fault.id];
  }
  try {
    if (const std::exception_ptr broken = feed.finish()) std::rethrow_exception(broken);
  } catch (const Error& error) {
    ++result.faults;
    ++result.by_id[error.fault().id];
    result.complete = false;
    if (report) report({.severity = Severity::error, .fault = error.fault()});
  }
  return result;
}

}  // namespace batchfeed
