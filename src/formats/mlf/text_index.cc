// SPDX-License-Identifier: MIT
//
// The indexing pass over a text MLF. It interprets key lines, end lines, and of the labels only
// the last line, which has the utterance's length.

#include <array>
#include <span>

#include "base/byte_order_mark.h"
#include "base/lookalike.h"
#include "base/quoted.h"
#include "formats/mlf/index.h"
#include "io/lines.h"

namespace batchfeed::mlf {
namespace {

constexpr std::string_view kHeader = "#!MLF!#";

class TextIndexer {
 public:
  TextIndexer(const io::File& file, const LabelRules& rules, IndexBuilder& builder)
      : file_(file),
        rules_(rules),
        builder_(builder),
        lines_(file, io::LineEnd::lf, builder.context().limits.list_line_bytes, "list_line_bytes") {}

  void run() {
    header();
    std::uint64_t reported = 0;
    while (lines_.next()) {
      const std::string_view text = lines_.text();
      if (is_blank_line(text)) continue;
      if (!inside_) {
        if (text != kHeader) begin(text);
      } else if (is_end_line(text)) {
        end(lines_.end());
      } else {
        last_.assign(text);
        move_to_line(last_at_);
        last_is_whole_ = lines_.terminated();
        last_end_ = lines_.end();
      }
      if (builder_.context().progress && lines_.end() - reported > (16u << 20)) {
        reported = lines_.end();
        builder_.context().progress(reported, file_.size());
      }
    }
    if (inside_) cut_short();
  }

 private:
  Position here() const {
    return {.file = file_.path(), .byte = lines_.begin(), .line = lines_.number(), .column = 1, .has_byte = true};
  }

  // Sets `at` to here(), without making a new string.
  void move_to_line(Position& at) const {
    at.byte = lines_.begin();
    at.line = lines_.number();
  }

  static bool is_blank_line(std::string_view text) { return text.find_first_not_of(" \t") == text.npos; }

  // The first line that is not blank; false if there is none.
  bool first_line() {
    try {
      bool any = lines_.next();
      while (any && is_blank_line(lines_.text())) any = lines_.next();
      return any;
    } catch (const Error&) {
      expect_lf(file_);
      throw;
    }
  }

  void header() {
    const bool any = first_line();
    std::string_view text = any ? lines_.text() : std::string_view();
    text.remove_prefix(utf8_mark_bytes(text));
    if (text == kHeader) return;
    expect_lf(file_);
    const bool is_binary = text.starts_with("MLF");
    throw Error(Fault{
        .kind = FaultKind::format,
        .id = "mlf.header",
        .at = any ? here() : Position{.file = file_.path(), .line = 1, .column = 1, .has_byte = true},
        .what = any ? "the first line is '" + std::string(text.substr(0, 40)) + "', expected " + std::string(kHeader)
                    : "the file is empty, expected " + std::string(kHeader),
        .hint = is_binary ? "a binary MLF is read by `HTKMLFBinaryDeserializer`"
                          : lookalike_or(text.substr(0, 40), "is this a text MLF?")});
  }

  void begin(std::string_view line) {
    inside_ = true;
    last_.clear();
    move_to_line(key_at_);
    const auto key = utterance_key(line);
    named_ = key.has_value();
    key_.assign(named_ ? *key : clipped(line));
    if (!named_)
      builder_.skip({.kind = FaultKind::format,
                     .id = "mlf.unquoted-key",
                     .at = key_at_,
                     .what = "'" + key_ + "' is no key in quotes; the entry is left out",
                     .hint = lookalike_or(key_, "keys are written \"name\"")});
  }

  void end(std::uint64_t behind) {
    inside_ = false;
    if (!named_) return;
    const auto skip = [&](const char* id, const char* why) {
      builder_.skip({.kind = FaultKind::format,
                     .id = id,
                     .at = key_at_,
                     .what = "utterance '" + key_ + "' " + why + "; left out"});
    };
    if (last_.empty()) return skip("mlf.no-labels", "has no labels");
    Times t;
    try {
      t = parse_times(last_, last_at_, key_, rules_);
    } catch (const Error& e) {
      if (!builder_.context().check) throw;
      builder_.skip({.kind = FaultKind::format,
                     .id = "mlf.damaged",
                     .at = key_at_,
                     .what = "utterance '" + key_ + "' is left out"});
      return builder_.faults().error(e.fault());
    }
    if (t.stop == 0) return skip("mlf.no-frames", "has labels for no frame");
    builder_.add(key_, key_at_, key_at_.byte, behind - key_at_.byte, t.stop);
  }

  // For a file that ends without an end line: the last utterance is kept if its last line is complete.
  void cut_short() {
    builder_.ends_open();
    if (named_ && !last_.empty() && last_is_whole_) {
      builder_.faults().warning({.kind = FaultKind::format,
                                 .id = "mlf.no-end-line",
                                 .at = last_at_,
                                 .what = "the file ends without '.' behind the labels of utterance '" + key_ +
                                         "', which are taken as complete",
                                 .hint = "was the file cut off?"});
      return end(last_end_);
    }
    builder_.skip({.kind = FaultKind::format,
                   .id = "mlf.cut-short",
                   .at = key_at_,
                   .what = "the file ends in utterance '" + key_ + "'; left out",
                   .hint = "was the file cut off?"});
  }

  const io::File& file_;
  const LabelRules& rules_;
  IndexBuilder& builder_;
  io::LineReader lines_;
  bool inside_ = false, named_ = false;
  std::string key_;
  Position key_at_{.file = file_.path(), .column = 1, .has_byte = true};
  std::string last_;  // the last label line
  Position last_at_ = key_at_;
  std::uint64_t last_end_ = 0;
  bool last_is_whole_ = true;
};

}  // namespace

void expect_lf(const io::File& file) {
  std::array<char, kHeader.size() + 2> head;
  if (file.size() < head.size()) return;
  file.read(0, std::as_writable_bytes(std::span(head)));
  const char behind = head[kHeader.size()], next = head.back();
  if (std::string_view(head.data(), kHeader.size()) != kHeader || behind != '\r' || next == '\n' || next == '\r')
    return;
  throw Error(Fault{
      .kind = FaultKind::format,
      .id = "mlf.header",
      .at = {.file = file.path(), .byte = kHeader.size(), .line = 1, .column = kHeader.size() + 1, .has_byte = true},
      .what = "the line ends in CR alone, expected LF or CR LF",
      .hint = "convert it, for example with mac2unix"});
}

void index_text(const io::File& file, const LabelRules& rules, IndexBuilder& builder) {
  builder.begin_file(file);
  TextIndexer(file, rules, builder).run();
}

}  // namespace batchfeed::mlf
