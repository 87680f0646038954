// SPDX-License-Identifier: MIT
#include "speech.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "format.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShown = 8;  // labels shown, of thousands that there may be

double hours(const SpeechStream& s) { return static_cast<double>(s.frames) * s.frame_seconds / 3600; }

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.4g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string label_name(const SpeechStream& s, std::size_t label) {
  return s.labels[label].name.empty() ? std::to_string(label) : printable(s.labels[label].name);
}

// The indices of the labels that occur, the most frequent first.
std::vector<std::size_t> by_frequency(const SpeechStream& s) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < s.labels.size(); ++i) {
    if (s.labels[i].frames > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return s.labels[a].frames > s.labels[b].frames; });
  return order;
}

std::string labels_text(const SpeechStream& s) {
  if (s.labels.empty())
    return fmt::format("\n  {}: {} classes, too many to count each\n", printable(s.stream), count_text(s.classes));
  const std::vector<std::size_t> order = by_frequency(s);
  std::string out;
  Table table({"label", "class", "frames", "share", "segments"});
  const auto row = [&](std::size_t i) {
    const SpeechStream::Label& label = s.labels[i];
    table.row({label_name(s, i), std::to_string(i), count_text(label.frames),
               fmt::format("{:.2f} %", 100.0 * static_cast<double>(label.frames) / static_cast<double>(s.frames)),
               count_text(label.segments)});
  };
  const bool all = order.size() <= 2 * kShown;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!all && i == kShown) table.row({fmt::format("... {} more", order.size() - 2 * kShown), "", "", "", ""});
    if (all || i < kShown || i >= order.size() - kShown) row(order[i]);
  }
  out += fmt::format("\n  {}: {} of {} classes occur\n\n{}", printable(s.stream), order.size(), s.labels.size(),
                     table.text());
  std::string never;
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < s.labels.size(); ++i) {
    if (s.labels[i].frames > 0) continue;
    if (n++ < kShown) never += (never.empty() ? "" : ", ") + label_name(s, i);
  }
  if (n > 0)
    out += fmt::format("\n  never seen: {}{}\n", never, n > kShown ? fmt::format(" and {} more", n - kShown) : "");
  return out;
}

}  // namespace

std::string speech_text(const std::vector<SpeechStream>& streams, const Description& about) {
  std::string out = "\n";
  for (const SpeechStream& s : streams) {
    out +=
        fmt::format("  {}: {}, {} of {:g} ms ({}), {} in {}\n", printable(s.stream), s.kind, plural(s.frames, "frame"),
                    s.frame_seconds * 1000, duration_text(static_cast<double>(s.frames) * s.frame_seconds),
                    plural(s.utterances, "utterance"), plural(s.files, "file"));
  }
  const double second = streams.front().frame_seconds;
  Table table({"utterances", "number"});
  std::uint64_t from = 0;
  for (const Description::Step& step : about.steps) {
    const std::string upto = duration_text(static_cast<double>(step.most) * second);
    if (step.sequences > 0) {
      table.row({from == 0 ? "up to " + upto : duration_text(static_cast<double>(from) * second) + " to " + upto,
                 count_text(step.sequences)});
    }
    from = step.most;
  }
  out += "\n" + table.text();
  for (const SpeechStream& s : streams) {
    if (s.has_labels) out += labels_text(s);
  }
  return out;
}

ordered_json speech_json(const std::vector<SpeechStream>& streams) {
  ordered_json out = ordered_json::array();
  for (const SpeechStream& s : streams) {
    ordered_json one = {{"stream", s.stream},         {"kind", s.kind},     {"files", s.files},
                        {"utterances", s.utterances}, {"frames", s.frames}, {"frame_seconds", s.frame_seconds},
                        {"hours", hours(s)}};
    if (s.has_labels) {
      one["classes"] = s.classes;
      one["labels"] = ordered_json::array();
      one["never_seen"] = ordered_json::array();
      for (std::size_t i = 0; i < s.labels.size(); ++i) {
        const SpeechStream::Label& label = s.labels[i];
        const std::string name = label.name.empty() ? std::to_string(i) : label.name;
        one["labels"].push_back({{"name", name}, {"class", i}, {"frames", label.frames}, {"segments", label.segments}});
        if (label.frames == 0) one["never_seen"].push_back(name);
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace batchfeed::cli
