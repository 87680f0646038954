// SPDX-License-Identifier: MIT
#include "look.h"

#include <fmt/format.h>

#include "convert.h"
#include "format.h"

namespace batchfeed::cli {

Report Damage::report() {
  return [this](const Notice& notice) {
    Notice told = notice;
    if (told.severity != Severity::info) {
      const std::lock_guard lock(mutex_);
      if (told.fault.id == "io.outside-roots" && !refused_) refused_ = told.fault;
      if (refused_) return;
      const bool is_sum = told.fault.hint.find("`check()`") != std::string::npos;
      if (!is_sum && seen_[told.fault.id]++ != 0) return;
      told.severity = Severity::warning;
    }
    console_.notice(told);
  };
}

void Damage::expect_allowed() const {
  if (refused_) throw Error(*refused_);
}

void Damage::tell_rest() {
  std::uint64_t more = 0;
  for (const auto& [id, n] : seen_) more += n - 1;
  seen_.clear();
  if (more != 0 && !console_.quiet)
    console_.say(fmt::format("batchfeed: {} more like {}; hint: batchfeed check lists them all", count_text(more),
                             more == 1 ? "it" : "these"));
}

Looked look_at(const CorpusArguments& arguments, Console& console, bool in_order) {
  Looked out;
  out.damage = std::make_shared<Damage>(console);
  CorpusArguments looking = arguments;
  looking.unpacked_text = kLookedAtText;
  out.corpus = load_corpus(looking, console, out.damage->report());
  if (in_order) cut_small(out.corpus.setup);
  out.source = open_to_look(out.corpus.setup);
  out.damage->expect_allowed();
  return out;
}

}  // namespace batchfeed::cli
