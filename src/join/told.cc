// SPDX-License-Identifier: MIT
#include "join/told.h"

#include <utility>

#include "base/counted.h"

namespace batchfeed::join {
namespace {

constexpr std::size_t kNamed = 3;  // keys in a notice

// Of each kind: its fault, what the notice of many says, with % for the other source's streams, and how the fault of a
// single sequence ends.
struct Words {
  const char* id;
  const char* what;
  const char* one_ends = "";
};
constexpr Words kWords[] = {
    {.id = "join.no-partner", .what = "have no partner in % and were left out", .one_ends = "; left out"},
    {.id = "join.other-length", .what = "have another length in % and were left out", .one_ends = "; left out"},
    {.id = "join.shorter",
     .what = "have fewer samples in % and are not delivered; they count against maxErrors",
     .one_ends = "; not delivered"},
    {.id = "join.longer", .what = "have more samples in %, of which the last are not used"},
    {.id = "join.unequal-length", .what = "have another length in % and are joined as they are"},
};

std::string fill(std::string_view words, const std::string& names) {
  const std::size_t at = words.find('%');
  return std::string(words.substr(0, at)) + names + std::string(words.substr(at + 1));
}

Notice warning(std::string id, std::string what, std::string hint) {
  return {Severity::warning,
          Fault{.kind = FaultKind::format, .id = std::move(id), .what = std::move(what), .hint = std::move(hint)}};
}

std::string list(const Source& source, const std::vector<std::uint64_t>& keys) {
  std::string out;
  for (const std::uint64_t key : keys) out += (out.empty() ? "" : ", ") + source.key_text(key);
  return out;
}

Fault of_sequence(const Source& source, std::string id, std::uint64_t key, std::uint32_t chunk, std::uint32_t row,
                  const std::string& what) {
  return {.kind = FaultKind::format,
          .id = std::move(id),
          .at = source.place(chunk, row).position(),
          .what = "sequence '" + source.key_text(key) + "' " + what};
}

}  // namespace

std::string names_of(const Source& source) {
  std::string out;
  for (const StreamInfo& s : source.streams()) out += (out.empty() ? "'" : ", '") + s.name + '\'';
  return out;
}

std::string grouped(std::uint64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

Error refused(std::string_view id, std::string what, std::string hint) {
  return Error(Fault{
      .kind = FaultKind::config, .id = "join." + std::string(id), .what = std::move(what), .hint = std::move(hint)});
}

Told::Told(const Sources& sources, std::function<void(const Fault&)> each)
    : sources_(sources), each_(std::move(each)), kinds_(sources.size()) {}

void Told::add(Odd odd, std::size_t k, const SequenceInfo& own, std::uint32_t chunk, std::uint32_t samples) {
  Kind& kind = kinds_[k][static_cast<std::size_t>(odd)];
  if (kind.n++ < kNamed) kind.first.push_back(own.key);
  if (!each_) return;
  const Words& words = kWords[static_cast<std::size_t>(odd)];
  const std::string names = names_of(*sources_[k]);
  const std::string what = odd == Odd::missing
                               ? "of " + names_of(primary()) + " has no partner in " + names
                               : "has " + counted(own.samples, "sample") + " in " + names_of(primary()) + " and " +
                                     std::to_string(samples) + " in " + names;
  each_(of_sequence(primary(), words.id, own.key, chunk, own.row, what + words.one_ends));
}

std::uint64_t Told::left_out(std::size_t k) const {
  return kinds_[k][static_cast<std::size_t>(Odd::missing)].n + kinds_[k][static_cast<std::size_t>(Odd::other)].n;
}

void Told::sum_up(std::size_t k, std::uint64_t total, const KeyIndex& index, std::vector<Notice>& out) const {
  for (std::size_t i = 0; !each_ && i < kinds_[k].size(); ++i) {
    const Kind& kind = kinds_[k][i];
    if (kind.n == 0) continue;
    const Words& words = kWords[i];
    out.push_back(warning(words.id,
                          grouped(kind.n) + " of " + grouped(total) + " sequences of " + names_of(primary()) + ' ' +
                              fill(words.what, names_of(*sources_[k])) + ", first: " + list(primary(), kind.first),
                          "`check()` lists them"));
  }
  sum_up_unused(k, index, out);
}

// Sequences of source k that nobody asked for, and keys that it has twice.
void Told::sum_up_unused(std::size_t k, const KeyIndex& index, std::vector<Notice>& out) const {
  const Source& source = *sources_[k];
  std::vector<KeyIndex::Unused> unused;
  const std::uint64_t n = index.unused(each_ ? ~std::size_t{0} : kNamed, unused);
  const std::string no_partner = " no partner in " + names_of(primary());
  std::vector<std::uint64_t> first;
  for (const KeyIndex::Unused& one : unused) {
    first.push_back(one.key);
    if (!each_) continue;
    each_(of_sequence(source, "join.no-partner", one.key, one.at.chunk, one.at.row,
                      "of " + names_of(source) + " has" + no_partner));
  }
  if (n != 0 && !each_) {
    out.push_back(warning("join.no-partner",
                          grouped(n) + " of " + grouped(index.sequences()) + " sequences of " + names_of(source) +
                              " have" + no_partner + ", first: " + list(source, first),
                          "`check()` lists them"));
  }
  if (index.repeated() == 0) return;
  out.push_back(warning("join.repeated-key",
                        "a key comes back in " + names_of(source) + " (" + grouped(index.repeated()) +
                            " times, first: " + source.key_text(index.first_repeated()) +
                            "); its first sequence is used",
                        "give each sequence a key of its own"));
}

}  // namespace batchfeed::join
