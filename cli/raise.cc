// SPDX-License-Identifier: MIT
#include "raise.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "command.h"
#include "format.h"

namespace batchfeed::cli {

namespace {

struct Field {
  std::string_view name;
  std::uint64_t Limits::*value;
};
constexpr Field kFields[] = {{"line_bytes", &Limits::line_bytes},
                             {"list_line_bytes", &Limits::list_line_bytes},
                             {"dim", &Limits::dim},
                             {"streams", &Limits::streams},
                             {"name_bytes", &Limits::name_bytes},
                             {"key_bytes", &Limits::key_bytes},
                             {"sequence_samples", &Limits::sequence_samples},
                             {"label_frames", &Limits::label_frames},
                             {"label_ratio", &Limits::label_ratio},
                             {"chunk_values", &Limits::chunk_values},
                             {"implied_samples", &Limits::implied_samples},
                             {"scp_entries", &Limits::scp_entries},
                             {"mlf_states", &Limits::mlf_states},
                             {"config_bytes", &Limits::config_bytes},
                             {"config_depth", &Limits::config_depth},
                             {"config_expansions", &Limits::config_expansions},
                             {"config_includes", &Limits::config_includes},
                             {"state_bytes", &Limits::state_bytes},
                             {"pattern_bytes", &Limits::pattern_bytes},
                             {"unpacked_bytes", &Limits::unpacked_bytes},
                             {"unpack_ratio", &Limits::unpack_ratio},
                             {"unpack_window_bytes", &Limits::unpack_window_bytes},
                             {"unpack_held_ratio", &Limits::unpack_held_ratio}};

void raise(Limits& limits, const std::string& rule) {
  const std::size_t equals = rule.find('=');
  const std::string_view name = std::string_view(rule).substr(0, equals);
  for (const Field& field : kFields) {
    if (field.name != name || equals == std::string::npos) continue;
    const char* const end = rule.data() + rule.size();
    std::uint64_t value = 0;
    const auto [stop, code] = std::from_chars(rule.data() + equals + 1, end, value);
    if (code != std::errc() || stop != end) break;
    limits.*field.value = value;
    return;
  }
  std::string names;
  for (const Field& field : kFields) (names += names.empty() ? "" : ", ") += field.name;
  throw UsageError(fmt::format("--raise {}: expected FIELD=N, a whole number for one of {}", printable(rule), names));
}

}  // namespace

void add_raise(CLI::App& app, std::vector<std::string>& rules) {
  app.add_option("--raise", rules,
                 "Raise the limit that a message names, such as implied_samples=100000000; repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FIELD=N");
}

Limits raised(const std::vector<std::string>& rules, Limits limits) {
  for (const std::string& rule : rules) raise(limits, rule);
  return limits;
}

}  // namespace batchfeed::cli
