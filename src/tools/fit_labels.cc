// SPDX-License-Identifier: MIT
//
// Makes the labels of several corpora agree: a class gets the same number in all of them.
#include <batchfeed/tools.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/quoted.h"
#include "formats/mlf/states.h"

namespace batchfeed {

namespace {

// The sources of labels that have one stream name.
struct Alike {
  std::vector<MlfOptions*> inferred;
  std::vector<const MlfOptions*> listed;  // each with a list of its own, from a file or in memory
  std::uint64_t dim = 0;
};

struct List {
  const MlfOptions* of;
  mlf::StateList states;

  const std::string& file() const { return of->mapping_file.empty() ? of->files.front() : of->mapping_file; }
  std::uint64_t line(std::size_t i) const { return of->mapping_file.empty() ? 0 : states.line(i); }
};

std::unique_ptr<List> list_of(const MlfOptions& o, const Limits& limits, const FileSystem& file_system) {
  if (o.mapping_file.empty()) return std::unique_ptr<List>(new List{&o, {o.labels, o.files.front(), limits}});
  return std::unique_ptr<List>(new List{&o, {o.mapping_file, limits, file_system}});
}

void expect_same(const List& known, const List& list) {
  for (std::size_t i = 0; i < std::min(known.states.size(), list.states.size()); ++i) {
    if (known.states.name(i) == list.states.name(i)) continue;
    const std::uint64_t line = list.line(i), other = known.line(i);
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "mlf.other-states",
                      .at = {.file = list.file(), .line = line, .column = line == 0 ? 0u : 1u},
                      .what = "class " + std::to_string(i) + " of " + quoted(list.of->name) + " is " +
                              quoted(list.states.name(i)) + " here and " + quoted(known.states.name(i)) + " in " +
                              known.file() + (other == 0 ? "" : ":" + std::to_string(other)),
                      .hint = "corpora that are put side by side need one state list: name the same for all of them",
                      .stream = list.of->name});
  }
}

// The names of the classes: those of the longest list; without a list, all names that were inferred.
std::vector<std::string> names_of(const Alike& alike, const Limits& limits, const FileSystem& file_system) {
  std::set<std::string> names;
  if (alike.listed.empty()) {
    for (const MlfOptions* o : alike.inferred) names.insert(o->labels.begin(), o->labels.end());
    return {names.begin(), names.end()};
  }
  std::unique_ptr<List> longest;
  for (const MlfOptions* o : alike.listed) {
    std::unique_ptr<List> list = list_of(*o, limits, file_system);
    if (longest != nullptr) expect_same(*longest, *list);
    if (longest == nullptr || list->states.size() > longest->states.size()) longest = std::move(list);
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < longest->states.size(); ++i) out.emplace_back(longest->states.name(i));
  return out;
}

}  // namespace

void fit_labels(std::vector<std::vector<SourceOptions>>& corpora, const Limits& limits, const FileSystem& file_system) {
  std::map<std::string, Alike> all;
  for (std::vector<SourceOptions>& corpus : corpora) {
    for (SourceOptions& source : corpus) {
      auto* const o = std::get_if<MlfOptions>(&source);
      if (o == nullptr || !o->target_mapping_file.empty()) continue;
      Alike& alike = all[o->name];
      alike.dim = std::max(alike.dim, o->dim);
      if (o->inferred) {
        alike.inferred.push_back(o);
      } else if (!o->binary && !(o->mapping_file.empty() && o->labels.empty()) &&
                 std::none_of(alike.listed.begin(), alike.listed.end(), [&](const MlfOptions* other) {
                   return other->mapping_file == o->mapping_file && other->labels == o->labels;
                 })) {
        alike.listed.push_back(o);
      }
    }
  }
  for (auto& [name, alike] : all) {
    if (alike.listed.size() + alike.inferred.size() < 2) continue;
    const std::vector<std::string> names = names_of(alike, limits, file_system);
    for (MlfOptions* o : alike.inferred) {
      o->dim = std::max<std::uint64_t>(alike.dim, names.size());
      if (!o->labels.empty()) o->labels = names;
    }
  }
}

}  // namespace batchfeed
