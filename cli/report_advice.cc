// SPDX-License-Identifier: MIT
//
// Rules of thumb for advice. Each says what the figures show, and what to do about it.
#include <fmt/format.h>

#include <algorithm>

#include "class_names.h"
#include "format.h"
#include "report_facts.h"

namespace batchfeed::cli {

namespace {

constexpr std::uint64_t kMostJudged = 200;  // more classes are a vocabulary, and uneven by nature

using Add = void (*)(const Facts&, std::vector<Advice>&);

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

void faults(const Facts& f, std::vector<Advice>& out) {
  const CheckResult& check = f.survey.check;
  if (check.faults != 0) {
    out.push_back({true, fmt::format("{} found. batchfeed check lists all of them, each with its place and cure.",
                                     plural(check.faults, "fault"))});
  }
  if (f.survey.invalid != 0) {
    out.push_back({true, fmt::format("{} damaged and would be left out of training, if maxErrors allows it at all.",
                                     plural(f.survey.invalid, "sequence") + (f.survey.invalid == 1 ? " is" : " are"))});
  }
}

void uneven(const Facts& f, const StreamSurvey& s, std::vector<Advice>& out) {
  const auto rarer = [&](std::uint64_t a, std::uint64_t b) { return s.by_index[a] < s.by_index[b]; };
  std::vector<std::uint64_t> used;
  for (std::uint64_t i = 0; i < s.by_index.size(); ++i) {
    if (s.by_index[i] != 0) used.push_back(i);
  }
  const auto [least, most] = std::minmax_element(used.begin(), used.end(), rarer);
  const std::uint64_t few = s.by_index[*least], many = s.by_index[*most];
  if (many < 10 * few) return;
  const std::vector<std::string>& names = f.class_names.at(s.stream.name);
  out.push_back({false, fmt::format("Classes of '{}' are uneven: '{}' has {}, '{}' {}.", printable(s.stream.name),
                                    class_text(*most, names), plural(many, "sample"), class_text(*least, names),
                                    count_text(few))});
}

void values(const Facts& f, std::vector<Advice>& out) {
  for (const StreamSurvey& s : f.survey.streams) {
    if (s.samples == 0) continue;
    const std::string name = printable(s.stream.name);
    if (s.nans + s.infinities != 0) {
      std::string what = s.nans == 0 ? "" : count_text(s.nans) + " NaN";
      if (s.infinities != 0) what += (what.empty() ? "" : " and ") + count_text(s.infinities) + " infinite";
      out.push_back({true, fmt::format("Stream '{}' has {} {}: one of them spoils a gradient.", name, what,
                                       s.nans + s.infinities == 1 ? "value" : "values")});
    }
    if (s.constants != 0 && !s.one_hot) {
      out.push_back({false, fmt::format("{} of {} columns of '{}' never change; a model learns nothing from them.",
                                        count_text(s.constants), count_text(s.stream.dim), name)});
    }
    if (s.stream.storage == Storage::dense && s.density() < 0.1 && s.stream.dim >= 100) {
      out.push_back(
          {false, fmt::format("Only {:.2g} % of the dense stream '{}' is not zero: written as sparse it would be "
                              "several times smaller and faster to read.",
                              100 * s.density(), name)});
    }
    if (!s.by_index.empty() && s.stream.storage == Storage::sparse && s.used * 2 < s.stream.dim) {
      out.push_back({false, fmt::format("'{}' uses {} of its {} indices; is its dim meant so?", name,
                                        count_text(s.used), count_text(s.stream.dim))});
    }
    if (s.one_hot && s.used > 1 && s.used <= kMostJudged) uneven(f, s, out);
  }
}

void sequences(const Facts& f, std::vector<Advice>& out) {
  if (share(f.survey.duplicates, f.survey.sequences) > 0.001) {
    out.push_back(
        {false, fmt::format("{}{} ({:.1f} %) repeat the data of another one. Make sure that none is in both the "
                            "training and the test set.",
                            f.survey.duplicates_estimated ? "About " : "", plural(f.survey.duplicates, "sequence"),
                            100 * share(f.survey.duplicates, f.survey.sequences))});
  }
  const double saved =
      Padding{.samples = f.cells.samples, .cells = f.bucketed.cells, .unbucketed = f.cells.cells}.saved();
  if (f.cells.padding() > 0.15 && saved > 0.3) {
    out.push_back({false, fmt::format("{:.0f} % of padded minibatches would be padding. Bucketing by length "
                                      "(bucket_minibatches = 16) saves {:.0f} % of it; packed minibatches have none.",
                                      100 * f.cells.padding(), 100 * saved)});
  }
}

void order(const Facts& f, std::vector<Advice>& out) {
  if (f.mixing && f.mixing->full > 1.2 && f.mixing->configured < 0.8 * f.mixing->full) {
    out.push_back(
        {true, fmt::format("Minibatches are poorly mixed: {:.1f} classes in one on average, {:.1f} after a full "
                           "shuffle. Shuffle with a larger window, or once for all: batchfeed convert --shuffle.",
                           f.mixing->configured, f.mixing->full)});
  } else if (f.shuffle && f.shuffle->spread < 0.5 && f.survey.sequences > 1000) {
    out.push_back({false, fmt::format("Neighbours in the file stay near each other ({:.0f} % as far apart as in a full "
                                      "shuffle); a larger window or smaller chunks mix better.",
                                      100 * f.shuffle->spread)});
  }
}

void speed(const Facts& f, std::vector<Advice>& out) {
  if (f.format == "ctf" && f.survey.bytes > 50'000'000) {
    out.push_back(
        {false,
         "As text it has to be parsed in every epoch. The binary format takes half to three quarters of the time: "
         "batchfeed convert."});
  }
  if (f.about.chunks < 4 && !f.in_parts && f.survey.bytes > 50'000'000) {
    out.push_back({false, fmt::format("With {} few threads can share the work; a smaller chunkSizeInBytes helps.",
                                      plural(f.about.chunks, "chunk"))});
  }
}

constexpr Add kRules[] = {faults, values, sequences, order, speed};

}  // namespace

std::vector<Advice> advice_for(const Facts& facts) {
  std::vector<Advice> out;
  for (const Add rule : kRules) rule(facts, out);
  std::stable_partition(out.begin(), out.end(), [](const Advice& advice) { return advice.serious; });
  return out;
}

}  // namespace batchfeed::cli
