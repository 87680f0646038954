// SPDX-License-Identifier: MIT
//
// What the bind_*.cc files share: typed look-ups in sections that record what
// was found where, and the checks of keys against the table (schema.h).
#pragma once

#include <batchfeed/config.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/section.h"

namespace batchfeed::config {

// How far a key is looked for.
enum class Reach : std::uint8_t {
  own,         // the section itself
  outwards,    // the enclosing sections too
  surprising,  // outwards, with a warning if it is found there: the key belongs to the section
};

class Binder {
 public:
  Binder(Document& doc, std::optional<Element> precision, std::vector<ResolvedValue>& resolved)
      : doc_(doc), precision_(precision), resolved_(resolved) {}

  Document& doc() noexcept { return doc_; }

  // Runs `work`. If faults are collected (ConfigRequest::all_faults), an Error of it is
  // held and binding goes on; else it is thrown. The look-ups below, but for `value` and
  // `required`, run so themselves.
  template <class Work>
  void attempt(Work work) {
    try {
      work();
    } catch (const Error& error) {
      doc_.hold(error);
    }
  }

  template <class Range, class Work>
  void each(Range&& range, Work work) {
    for (auto&& one : range) attempt([&] { work(one); });
  }

  // The raw value, or nothing if the key is absent or says `default`.
  std::optional<Value> value(const Section& section, std::string_view key, Reach reach = Reach::outwards);
  // Records `text` as the value that holds for a key that is absent.
  void fallback(const Section& section, std::string_view key, std::string text);

  bool flag(const Section& section, std::string_view key, bool otherwise, Reach reach = Reach::outwards);
  std::int32_t integer(const Section& section, std::string_view key, std::int32_t otherwise,
                       Reach reach = Reach::outwards);
  std::uint64_t size(const Section& section, std::string_view key, std::uint64_t otherwise,
                     Reach reach = Reach::outwards);
  std::optional<std::uint64_t> maybe_size(const Section& section, std::string_view key, Reach reach = Reach::outwards);
  std::string text(const Section& section, std::string_view key, std::string otherwise);
  // A minus sign is a fault. The second: of 32 bits.
  std::uint64_t count(const Section& section, std::string_view key, std::uint64_t otherwise,
                      Reach reach = Reach::outwards);
  std::uint64_t small_count(const Section& section, std::string_view key, std::int32_t otherwise,
                            Reach reach = Reach::outwards, std::string hint = {});
  // Absent, empty or `default`: Error missing-required.
  std::string required(const Section& section, std::string_view key, Reach reach = Reach::outwards,
                       std::string hint = {});
  // A boolean, true where nothing is said; nullopt = the word `none`.
  std::optional<bool> randomize(const Section& section);

  // `float` or `double` in any case; ConfigRequest.precision wins.
  // `exact`: in lower case only, as all but the readers of text and binary data on their own want it.
  Element precision(const Section& section, bool exact);
  // 0, 1 or 2, the nearest one to the number given. If the section itself gives another, it is a
  // fault, unless `any`: the reference's binary reader takes all numbers, as it compares with 2 only.
  int trace_level(const Section& section, bool any);
  // The same where the reference does not read the key: no value of it is a fault.
  int unread_trace_level(const Section& section);
  // Checks that the value of a key without effect here has this form, as the reference does.
  enum class Form : std::uint8_t { flag, integer, size };
  void expect(Form form, const Section& section, std::string_view key);
  // Whole numbers of an array, at least one.
  std::vector<std::int32_t> integers(const Section& section, std::string_view key, std::int32_t otherwise);

  // Notes a file and where the configuration names it, for take_named().
  void name_file(std::string path, const Position& at);
  std::vector<NamedFile> take_named() noexcept { return std::move(named_); }
  // The elements of an array of paths.
  std::vector<std::string> paths(const Value& array);

  // Files of a source: `file`, which may hold a '*', or the array `files`.
  std::vector<std::string> files(const Section& section, Reach reach);

  [[noreturn]] void missing(const Section& section, std::string_view key, std::optional<Origin> at = {},
                            std::string hint = {});
  [[noreturn]] void fail(const Value& value, std::string id, std::string what, std::string hint = {});

  // Warns of keys of `section` that the table `name` does not know or knows to be
  // without effect, for this `reader`. Entries for which `skip` says true are not keys but streams.
  void check_keys(const Section& section, std::string_view name, const std::vector<std::string>& skip = {},
                  std::string_view reader = {});

 private:
  template <class T, class Convert>
  std::optional<T> converted(const Section& section, std::string_view key, Reach reach, Convert convert);

  Document& doc_;
  std::optional<Element> precision_;
  std::vector<ResolvedValue>& resolved_;
  std::vector<NamedFile> named_;
};

// The binders: each turns a reader section into a Setup; they look up what they need of the sections around it.
void bind_ctf_reader(Binder& binder, const Section& reader, Setup& setup);
void bind_cbf_reader(Binder& binder, const Section& reader, Setup& setup);
void bind_composite(Binder& binder, const Section& reader, Setup& setup);
void bind_speech_shim(Binder& binder, const Section& reader, Setup& setup);
void bind_speech_legacy(Binder& binder, const Section& reader, Setup& setup);

// What a reader section passes on to the elements of its `deserializers`.
struct PushedDown {
  const Section* reader = nullptr;
  bool frame_mode = false;
};
CtfOptions bind_ctf_source(Binder& binder, const Section& section, const PushedDown* pushed);
CbfOptions bind_cbf_source(Binder& binder, const Section& section, const PushedDown* pushed);
HtkOptions bind_htk_source(Binder& binder, const Section& element, const PushedDown& pushed);
MlfOptions bind_mlf_source(Binder& binder, const Section& element, const PushedDown& pushed, bool binary);

// What a command does to its reader section (docs/reference/config.md, "commands").
struct Command {
  std::string action;  // lower case; empty if none is known
  bool writes = false;
  bool forces_file_order = false;  // test, eval without `randomize`; write always
};
Command command_of(const Section& reader);

}  // namespace batchfeed::config
