// SPDX-License-Identifier: MIT
#include "reader/state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/saturate.h"

namespace batchfeed::reader {
namespace {

constexpr std::uint64_t kVersion = 1;

// Fields in the order in which they are written and checksummed. Whoever stores a state may reorder them.
constexpr const char* kFields[] = {"batchfeed_state",
                                   "data",
                                   "epoch",
                                   "minibatch",
                                   "position",
                                   "begun",
                                   "ended",
                                   "follows",
                                   "none_yet",
                                   "invalid",
                                   "tolerated",
                                   "skipped",
                                   "padding",
                                   "past",
                                   "queue",
                                   "order",
                                   "window",
                                   "seed",
                                   "pack",
                                   "minibatch_size",
                                   "size_unit",
                                   "epoch_samples",
                                   "epoch_sweeps",
                                   "driver",
                                   "cross_sweeps",
                                   "long_sequence",
                                   "last_minibatch",
                                   "shard",
                                   "truncation_length",
                                   "right_splice",
                                   "bucket_minibatches",
                                   "mix_weights",
                                   "legacy",
                                   "rows_per_epoch",
                                   "local_timeline",
                                   "workers",
                                   "rank"};

Fault state_fault(std::string id, std::string what, std::string hint) {
  return {.kind = FaultKind::state, .id = "state." + std::move(id), .what = std::move(what), .hint = std::move(hint)};
}

[[noreturn]] void damaged(std::string_view why) {
  throw Error(state_fault("damaged", "the saved state is damaged: " + std::string(why), "use another saved state"));
}

// Other writers of JSON put blanks between its tokens.
std::string without_blanks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (const char c : text) {
    quoted ^= c == '"';
    if (quoted || (c != ' ' && c != '\t' && c != '\r' && c != '\n')) out += c;
  }
  return out;
}

// The JSON this file writes: one flat object of numbers, flags, plain strings and
// arrays of numbers. Anything else is damage.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(without_blanks(text)), rest_(text_) {
    expect('{');
    while (true) {
      const std::string name = string();
      expect(':');
      const std::string_view before = rest_;
      if (!values_.emplace(name, value()).second) damaged("field '" + name + "' stands in it twice");
      if (values_.size() > kMostFields) damaged("it has more than " + std::to_string(kMostFields) + " fields");
      written_[name] = before.substr(0, before.size() - rest_.size());
      if (peek() == '}') break;
      expect(',');
    }
    expect('}');
    if (!rest_.empty()) damaged("text behind the object");
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  // The object as it was written, up to the checksum; empty if it has other fields than kFields.
  std::string in_order() const {
    std::string out;
    std::size_t found = 0;
    for (const char* const name : kFields) {
      const auto field = written_.find(name);
      if (field == written_.end()) continue;
      ++found;
      (((out += out.empty() ? "{\"" : ",\"") += name) += "\":") += field->second;
    }
    return found + 1 == written_.size() ? out : std::string();
  }
  const std::string* find(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  const std::string& text(const std::string& name) const {
    if (const std::string* found = find(name)) return *found;
    damaged("no field '" + name + "'");
  }
  std::uint64_t number(const std::string& name) const {
    expect_kind(name, '0', "a number");
    return to_number(text(name));
  }
  bool flag(const std::string& name) const {
    const std::uint64_t value = number(name);
    if (value > 1) damaged(name + " is 0 or 1, found " + std::to_string(value));
    return value != 0;
  }
  std::vector<std::uint64_t> numbers(const std::string& name) const {
    expect_kind(name, '[', "a list of numbers");
    return to_numbers(text(name));
  }

 private:
  static constexpr std::size_t kMostFields = 100;

  // No leading zeros, as in JSON.
  static std::uint64_t to_number(std::string_view text) {
    if (text.size() > 1 && text[0] == '0') damaged("not a number: '" + std::string(text) + '\'');
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) damaged("not a number: '" + std::string(text) + '\'');
    return value;
  }
  static std::vector<std::uint64_t> to_numbers(std::string_view list) {
    std::vector<std::uint64_t> out;
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      out.push_back(to_number(list.substr(0, comma)));
      list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return out;
  }
  void expect_kind(const std::string& name, char begin, const char* kind) const {
    const auto field = written_.find(name);
    if (field == written_.end()) damaged("no field '" + name + "'");
    const char first = field->second.front();
    if (begin == '0' ? first < '0' || first > '9' : first != begin) damaged(name + " is not " + kind);
  }
  char peek() const {
    if (rest_.empty()) damaged("it ends too early");
    return rest_.front();
  }
  void expect(char c) {
    if (peek() != c) damaged(std::string("expected '") + c + '\'');
    rest_.remove_prefix(1);
  }
  std::string until(std::string_view stops) {
    const std::size_t n = rest_.find_first_of(stops);
    if (n == std::string_view::npos) damaged("it ends too early");
    std::string out(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return out;
  }
  std::string string() {
    expect('"');
    std::string out = until("\"");
    expect('"');
    if (std::any_of(out.begin(), out.end(), [](char c) { return c < ' ' || c > '~' || c == '\\'; }))
      damaged("text with a mark that none of its texts has");
    return out;
  }
  std::string value() {
    if (peek() == '"') return string();
    if (peek() != '[') {
      std::string out = until(",}");
      static_cast<void>(to_number(out));
      return out;
    }
    expect('[');
    std::string out = until("]");
    expect(']');
    static_cast<void>(to_numbers(out));
    return out;
  }

  const std::string text_;
  std::string_view rest_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string_view> written_;  // the values with their quotes and brackets
};

std::string list(const std::vector<std::uint64_t>& values, char between) {
  std::string out;
  for (const std::uint64_t v : values) out += (out.empty() ? "" : std::string(1, between)) + std::to_string(v);
  return out;
}

// Shortest numbers that read back the same.
std::string list(const std::vector<double>& values) {
  std::string out;
  for (const double v : values) {
    std::array<char, 32> text{};
    const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), v);
    out.append(out.empty() ? "" : ":").append(text.data(), code == std::errc{} ? end : text.data());
  }
  return out;
}

// The options that decide which sequences come when, as name and value. Threads,
// prefetch and memory are not among them; workers and rank only where the place
// is a worker's own (Shard::chunk).
std::vector<std::pair<std::string, std::string>> identity(const ReaderOptions& o) {
  const auto number = [](auto value) { return std::to_string(static_cast<std::uint64_t>(value)); };
  const auto word = [](auto value) { return std::string(name(value)); };
  std::vector<std::pair<std::string, std::string>> out = {
      {"order", word(o.order.kind)},
      {"window", number(o.order.window) + (o.order.window_in_samples ? " samples" : " chunks")},
      {"seed", number(o.order.seed)},
      {"pack", word(o.pack.kind)},
      {"minibatch_size", list(o.minibatch_size, ':')},
      {"size_unit", word(o.size_unit)},
      {"epoch_samples", number(o.epoch_samples)},
      {"epoch_sweeps", number(o.epoch_sweeps)},
      {"driver", word(o.driver)},
      {"cross_sweeps", o.cross_sweeps ? (*o.cross_sweeps ? "yes" : "no") : "default"},
      {"long_sequence", word(o.long_sequence)},
      {"last_minibatch", word(o.last_minibatch)},
      {"shard", word(o.shard)},
  };
  if (o.order.kind == OrderKind::file) {
    // Bucketing and mixing draw numbers of their own, whatever the order.
    const bool draws = o.bucket_minibatches != 0 || !o.mix_weights.empty();
    std::erase_if(out, [&](const auto& f) { return f.first == "window" || (f.first == "seed" && !draws); });
  }
  if (o.pack.kind == Packing::truncated) {
    out.emplace_back("truncation_length", number(o.pack.truncation_length));
    out.emplace_back("right_splice", number(o.pack.right_splice));
  }
  out.emplace_back("bucket_minibatches", number(o.bucket_minibatches));
  out.emplace_back("mix_weights", o.mix_weights.empty() ? "none" : list(o.mix_weights));
  out.emplace_back("legacy", o.one_sequence     ? "one"
                             : !o.legacy_speech ? "no"
                                                : std::string(o.full_minibatches ? "full" : "partial") +
                                                      (o.rolling_window ? " rolling" : ""));
  if (!o.rows_per_epoch.empty()) out.emplace_back("rows_per_epoch", list(o.rows_per_epoch, ':'));
  if (o.shard == Shard::chunk) {
    out.emplace_back("local_timeline", o.local_timeline ? "yes" : "no");
    out.emplace_back("workers", number(o.workers));
    out.emplace_back("rank", number(o.rank));
  }
  return out;
}

}  // namespace

std::string write_state(const Mark& mark, std::uint64_t data, const ReaderOptions& options) {
  std::string out = "{\"batchfeed_state\":" + std::to_string(kVersion) + ",\"data\":\"" + hex(data) + '"';
  const auto number = [&](const char* name, std::uint64_t value) {
    out += ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  number("epoch", mark.epoch);
  number("minibatch", mark.index);
  number("position", mark.position);
  number("begun", mark.begun ? 1 : 0);
  number("ended", mark.ended ? 1 : 0);
  if (mark.follows) number("follows", 1);
  if (mark.none_yet) number("none_yet", 1);
  number("invalid", mark.invalid);
  if (mark.tolerated != 0) number("tolerated", mark.tolerated);
  number("skipped", mark.skipped);
  if (mark.padding.unbucketed != 0)
    out += ",\"padding\":[" +
           list(std::vector<std::uint64_t>{mark.padding.samples, mark.padding.cells, mark.padding.unbucketed}, ',') +
           ']';
  if (const order::Past& past = mark.past; past != order::Past{}) {
    std::vector<std::uint64_t> numbers = {past.reordered ? 1u : 0u, past.let_go};
    if (past.renumbered != 0) numbers.push_back(past.renumbered);
    out += ",\"past\":[" + list(numbers, ',') + ']';
  }
  if (!mark.queue.empty()) out += ",\"queue\":[" + list(mark.queue, ',') + ']';
  for (const auto& [name, value] : identity(options)) out += ",\"" + name + "\":\"" + value + '"';
  out += ",\"check\":\"" + hex(hash_text(out)) + "\"}";
  return out;
}

namespace {

// Throws unless a state is undamaged, and of these options and data.
void check_binding(const Fields& fields, std::string_view text, std::uint64_t data, const ReaderOptions& options) {
  const std::uint64_t version = fields.number("batchfeed_state");
  if (version == 0) damaged("there is no state version 0");
  if (version > kVersion) {
    throw Error(state_fault("newer",
                            "the state was saved by a newer batchfeed (state version " + std::to_string(version) +
                                ", known: " + std::to_string(kVersion) + ')',
                            "use that version to go on"));
  }
  const std::string& check = fields.text("check");
  const std::string end = ",\"check\":\"" + check + "\"}";  // of newer fields, too, which in_order() does not know
  text = text.substr(0, text.find_last_of('}') + 1);
  const bool as_written = text.ends_with(end) && check == hex(hash_text(text.substr(0, text.size() - end.size())));
  if (!as_written && check != hex(hash_text(fields.in_order()))) damaged("its checksum does not fit");
  for (const auto& [name, value] : identity(options)) {
    const std::string* saved = fields.find(name);
    if (saved != nullptr && *saved == value) continue;
    throw Error(state_fault("other-options",
                            "the state was saved with " + name + " = " + (saved == nullptr ? "(not set)" : *saved) +
                                ", the reader has " + value,
                            "open the reader with the options of the saved run"));
  }
  if (fields.text("data") != hex(data)) {
    throw Error(
        state_fault("other-data",
                    "the state belongs to other data: fingerprint " + fields.text("data") + ", these have " + hex(data),
                    "restore it with the corpus, the streams and the joins it was saved with"));
  }
}

}  // namespace

Mark read_state(std::string_view text, std::uint64_t data, const ReaderOptions& options, const Limits& limits) {
  if (text.size() > limits.state_bytes) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.state",
                      .what = "the saved state has " + counted(text.size(), "byte") + ", the limit is " +
                              std::to_string(limits.state_bytes),
                      .hint = "raise limits.state_bytes"});
  }
  const Fields fields(text);
  check_binding(fields, text, data, options);
  Mark mark;
  mark.epoch = fields.number("epoch");
  mark.index = fields.number("minibatch");
  mark.position = fields.number("position");
  mark.begun = fields.flag("begun");
  mark.ended = fields.flag("ended");
  mark.follows = fields.find("follows") != nullptr && fields.flag("follows");
  if (mark.follows && (mark.begun || mark.ended || mark.epoch == 0)) damaged("an epoch that follows one has begun");
  mark.none_yet = fields.find("none_yet") != nullptr && fields.flag("none_yet");
  mark.invalid = fields.number("invalid");
  if (fields.find("tolerated") != nullptr) mark.tolerated = fields.number("tolerated");
  mark.skipped = fields.number("skipped");
  if (fields.find("padding") != nullptr) {
    const std::vector<std::uint64_t> padding = fields.numbers("padding");
    if (padding.size() != 3 || padding[0] > padding[1] || padding[0] > padding[2] || padding[2] == 0)
      damaged("padding is three numbers, of samples and of the cells that hold them");
    mark.padding = {.samples = padding[0], .cells = padding[1], .unbucketed = padding[2]};
  }
  if (fields.find("past") != nullptr) {
    const std::vector<std::uint64_t> past = fields.numbers("past");
    if (past.size() < 2 || past.size() > 3 || past[0] > 1)
      damaged("past is two or three numbers, the first of them 0 or 1");
    mark.past = {
        .reordered = past[0] != 0, .let_go = past[1], .renumbered = past.size() == 3 ? past[2] : std::uint64_t{0}};
  }
  if (fields.find("queue") != nullptr) mark.queue = fields.numbers("queue");
  return mark;
}

void check_place(const Mark& mark, const EpochTable& epochs, std::uint64_t sweep_samples,
                 const ReaderOptions& options) {
  if (!epochs.reaches(mark.epoch)) damaged("there is no epoch " + std::to_string(mark.epoch));
  if (!mark.queue.empty() && options.pack.kind != Packing::truncated && !options.legacy_speech)
    damaged("a queue, where no sequence waits");
  if (!mark.begun && !mark.follows) {
    if (mark.position != 0 || mark.index != 0 || mark.ended || !mark.queue.empty() || mark.past != order::Past{})
      damaged("an epoch that has not begun, and a place in it");
    return;
  }
  // The last sequence may go beyond the end of the epoch. With full_minibatches epochs change with the minibatch size.
  const std::uint64_t epoch = mark.follows ? mark.epoch - 1 : mark.epoch;
  const std::uint64_t begin = options.full_minibatches ? 0 : epochs.begin(epoch);
  const std::uint64_t end =
      options.full_minibatches ? EpochTable::kEndless : add_sat(add_sat(begin, epochs.size(epoch)), sweep_samples);
  if (mark.position < begin || mark.position > end)
    damaged("position " + std::to_string(mark.position) + " lies outside epoch " + std::to_string(epoch));
  if (mark.past.let_go > sweep_samples || mark.past.renumbered > 1 + mark.position / sweep_samples)
    damaged("its past lies ahead");
}

}  // namespace batchfeed::reader
