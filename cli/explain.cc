// SPDX-License-Identifier: MIT
#include "explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.h"
#include "format.h"
#include "jsonl.h"
#include "sequences.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

ordered_json place_json(const Place& place) {
  ordered_json out;
  if (place.file.empty()) return out;
  out["file"] = place.file;
  out["bytes"] = {place.begin, place.end};
  const auto known = [](std::uint64_t line) { return line == 0 ? ordered_json() : ordered_json(line); };
  out["lines"] =
      place.first_line == 0 ? ordered_json() : ordered_json::array({known(place.first_line), known(place.last_line)});
  return out;
}

// "N sequences, N samples from chunks 3, 5"
std::string summary(const BatchPlan& plan) {
  std::uint64_t samples = 0;
  std::vector<std::uint32_t> chunks;
  for (const BatchPlan::Item& item : plan.items) {
    samples += item.samples;
    if (std::find(chunks.begin(), chunks.end(), item.chunk) == chunks.end()) chunks.push_back(item.chunk);
  }
  std::sort(chunks.begin(), chunks.end());
  std::string out = fmt::format("{}, {}", plural(plan.items.size(), "sequence"), plural(samples, "sample"));
  if (chunks.empty()) return out;
  out += chunks.size() == 1 ? " from chunk" : " from chunks";
  for (std::size_t i = 0; i < chunks.size() && i < 12; ++i) out += fmt::format("{} {}", i == 0 ? "" : ",", chunks[i]);
  if (chunks.size() > 12) out += fmt::format(" and {} more", chunks.size() - 12);
  return out;
}

void rank_text(const Reader& reader, std::uint64_t rank, const BatchPlan& plan, std::string& out) {
  out += fmt::format("rank {}: {}{}{}\n", rank, summary(plan), plan.end_of_sweep ? ", end of sweep" : "",
                     plan.end_of_epoch ? ", end of epoch" : "");
  for (const BatchPlan::Item& item : plan.items) {
    out += fmt::format("  key {}{}  {}", printable(reader.key_text(item.key)),
                       item.frame ? fmt::format(" frame {}", *item.frame) : "", plural(item.samples, "sample"));
    const char* before = "  ";
    for (const Place& place : reader.source().places(item.chunk, item.row)) {
      out += before + place_text(place);
      before = ", ";
    }
    out += "\n";
  }
}

ordered_json rank_json(const Reader& reader, std::uint64_t rank, const BatchPlan& plan) {
  ordered_json out;
  out["rank"] = rank;
  out["position"] = plan.position;
  out["eoe"] = plan.end_of_epoch;
  out["eos"] = plan.end_of_sweep;
  out["sequences"] = ordered_json::array();
  for (const BatchPlan::Item& item : plan.items) {
    ordered_json one;
    one["key"] = reader.key_text(item.key);
    one["chunk"] = item.chunk;
    one["samples"] = item.samples;
    if (item.frame) one["frame"] = *item.frame;
    const std::vector<Place> places = reader.source().places(item.chunk, item.row);
    one["place"] = place_json(places.front());
    one["joined"] = ordered_json::array();
    for (std::size_t i = 1; i < places.size(); ++i) one["joined"].push_back(place_json(places[i]));
    out["sequences"].push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::string explain(Reader& reader, std::uint64_t k, bool json) {
  const std::uint64_t workers = reader.options().workers, own = reader.options().rank;
  const std::string state = reader.state();
  std::string text = fmt::format("minibatch {} of {} workers\n", k, workers);
  ordered_json all;
  all["minibatch"] = k;
  all["workers"] = workers;
  all["ranks"] = ordered_json::array();
  std::uint64_t most = 0;
  for (std::uint64_t rank = 0; rank < workers; ++rank) {
    if (workers > 1) reader.set_workers(workers, rank);
    if (rank == own && rank != 0) reader.restore(state);  // set_workers() for the ranks before dropped waiting rows
    BatchPlan wanted;
    std::uint64_t seen = 0;
    reader.plan(std::max(k + 1, k), [&](const BatchPlan& plan) {
      if (seen++ == k) wanted = plan;
    });
    most = std::max(most, seen);
    // With Shard::chunk, ranks have different numbers of minibatches.
    if (seen <= k) {
      text += fmt::format("rank {}: nothing, its epoch has only {}\n", rank, plural(seen, "minibatch"));
      continue;
    }
    rank_text(reader, rank, wanted, text);
    all["ranks"].push_back(rank_json(reader, rank, wanted));
  }
  if (most <= k) throw UsageError(fmt::format("--explain {}: the epoch has only {}", k, plural(most, "minibatch")));
  if (workers == 1) text.erase(0, text.find('\n') + 1).replace(0, 7, fmt::format("minibatch {}:", k));
  return json ? dump(all) + "\n" : text;
}

}  // namespace batchfeed::cli
