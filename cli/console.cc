// SPDX-License-Identifier: MIT
#include "console.h"

#include <batchfeed/writer.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "format.h"
#include "hints.h"

namespace batchfeed::cli {

namespace {

// Progress is drawn only for work that takes longer than kPatience, and at most once in kRedraw.
constexpr auto kPatience = std::chrono::milliseconds(400);
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kFlushBytes = 1u << 16;
constexpr auto kFlushAfter = std::chrono::milliseconds(50);

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // the pipe may have been made non-blocking by whoever started the program
      ::pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&wait, 1, -1);
      continue;
    }
    if (n <= 0) {
      if (fd == STDOUT_FILENO && errno == EPIPE) {
        remove_unfinished_files();
        std::_Exit(128 + SIGPIPE);
      }
      if (fd == STDERR_FILENO) return;  // there is nowhere to report it
      throw Error(Fault{.kind = FaultKind::io,
                        .id = "io.write",
                        .what = fmt::format("cannot write standard output: {}", std::strerror(errno))});
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::sig_atomic_t volatile interrupts = 0;
std::sig_atomic_t volatile wait_for_step = 0;
std::sig_atomic_t volatile last_signal = SIGINT;

extern "C" void on_interrupt(int signal) {
  interrupts = interrupts + 1;
  last_signal = signal;
  if (wait_for_step == 0 || interrupts > 1) {
    remove_unfinished_files();
    ::_exit(128 + signal);
  }
}

}  // namespace

Console::Console() {
  terminal_out_ = ::isatty(STDOUT_FILENO) != 0;
  terminal_err_ = ::isatty(STDERR_FILENO) != 0;
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  const bool colour = !is_set("NO_COLOR") && !dumb;
  colour_out_ = colour && terminal_out_;
  colour_err_ = colour && terminal_err_;
  no_progress = dumb;
}

void Console::say(std::string_view line) {
  const std::lock_guard lock(mutex_);
  erase();
  write_all(STDERR_FILENO, fmt::format("{}\n", line));
}

void Console::fail(const Fault& fault) {
  const std::string text = message_text(fault);
  say(colour_err_ ? fmt::format("\033[31m{}\033[0m", text) : text);
}

void Console::notice(const Notice& notice) {
  if (quiet || (notice.severity == Severity::info && !verbose)) return;
  const std::string text = message_text(notice.fault);
  {
    const std::lock_guard lock(mutex_);
    if (told_.size() < 10'000 && !told_.insert(text).second) return;
  }
  const bool warning = notice.severity == Severity::warning;
  say(colour_err_ && warning ? fmt::format("\033[33m{}\033[0m", text) : text);
}

void Console::warn(Fault fault) { notice({.severity = Severity::warning, .fault = std::move(fault)}); }

Report Console::report() {
  return [this](const Notice& n) { notice(n); };
}

Progress Console::progress(std::string what) {
  if (!terminal_err_ || no_progress) return {};
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  began_ = last_ = std::chrono::steady_clock::now();
  return [this](std::uint64_t done, std::uint64_t total) { draw(done, total); };
}

void Console::clear_progress() {
  const std::lock_guard lock(mutex_);
  erase();
}

void Console::draw(std::uint64_t done, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - began_ < kPatience || now - last_ < kRedraw) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double rate = static_cast<double>(done) / seconds;
  std::string line = fmt::format("\r\033[K{} {}", what_, bytes_text(done));
  if (total != 0) {
    const double part = static_cast<double>(done) / static_cast<double>(total);
    const auto cells = static_cast<std::size_t>(part * 24);
    line = fmt::format("\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f}%", what_, "", cells, "",
                       24 - std::min<std::size_t>(cells, 24), part * 100);
  }
  line += fmt::format("  {}/s", bytes_text(static_cast<std::uint64_t>(rate)));
  if (total > done && rate > 0)
    line += fmt::format("  {} left", seconds_text(static_cast<double>(total - done) / rate));
  write_all(STDERR_FILENO, line);
  drawn_ = true;
}

void Console::erase() {
  if (drawn_) write_all(STDERR_FILENO, "\r\033[K");
  drawn_ = false;
}

std::size_t Console::width() const {
  winsize size{};
  if (terminal_out_ && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

void Output::append(std::string_view text) { pending_.append(text); }

void Output::breathe() {
  if (pending_.size() >= kFlushBytes || std::chrono::steady_clock::now() - last_ >= kFlushAfter) flush();
}

void Output::flush() {
  write_all(STDOUT_FILENO, pending_);
  pending_.clear();
  last_ = std::chrono::steady_clock::now();
}

namespace interrupt {
void install() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)  // nohup lets SIGHUP be ignored
      ::sigaction(signal, &action, nullptr);
  }
  // So that a write to a closed pipe fails with EPIPE: on standard output that ends the run, which removes its
  // unfinished files; on standard error it does not.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // at a limit of file size (ulimit -f) a write fails, as on a full disk
}
void deferred(bool on) { wait_for_step = on ? 1 : 0; }
void check() {
  if (interrupts != 0) throw Interrupted();
}
Progress at_steps(Progress bar) {
  return [bar = std::move(bar)](std::uint64_t done, std::uint64_t total) {
    check();
    if (bar) bar(done, total);
  };
}
int status() noexcept { return 128 + last_signal; }
}  // namespace interrupt

}  // namespace batchfeed::cli
