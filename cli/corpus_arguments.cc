// SPDX-License-Identifier: MIT
//
// The options of every command that reads a corpus.
#include <fmt/format.h>

#include "corpus.h"
#include "format.h"
#include "raise.h"
#include "word_option.h"

namespace batchfeed::cli {

namespace {

std::vector<std::pair<std::string, std::string>> path_map(const std::vector<std::string>& rules) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& rule : rules) {
    const std::size_t equals = rule.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("--map-path {}: expected FROM=TO", printable(rule)));
    out.emplace_back(rule.substr(0, equals), rule.substr(equals + 1));
  }
  return out;
}

}  // namespace

void CorpusArguments::overlay(Setup& setup) const {
  OrderOptions& out = setup.reader.order;
  if (order) out.kind = *order;
  if (seed) out.seed = *seed;
  if (window == 0u || window_samples == 0u) {
    throw UsageError(fmt::format("{} 0: nothing can be shuffled in it, expected at least 1; hint: --order file",
                                 window ? "--window-chunks" : "--window-samples"));
  }
  if (window) {
    out.window = *window;
    out.window_in_samples = false;
  }
  if (window_samples) {
    out.window = *window_samples;
    out.window_in_samples = true;
  }
  if (shard) setup.reader.shard = *shard;
  if (threads) setup.reader.threads = *threads;
  const auto mapped = path_map(map_path);
  for (SourceOptions* source : sources_of(setup)) {
    const auto cache = [&](auto& options) {
      options.cache_index = options.cache_index || cache_index || !cache_dir.empty();
      if constexpr (requires { options.cache_dir; }) {
        if (!cache_dir.empty()) options.cache_dir = cache_dir;
      }
    };
    if (auto* htk = std::get_if<HtkOptions>(source)) {
      htk->path_map.insert(htk->path_map.end(), mapped.begin(), mapped.end());
    }
    if (auto* ctf = std::get_if<CtfOptions>(source)) cache(*ctf);
    if (auto* mlf = std::get_if<MlfOptions>(source)) cache(*mlf);
  }
}

const char* CorpusArguments::given_of_shuffle() const {
  return seed ? "--seed" : window ? "--window-chunks" : window_samples ? "--window-samples" : nullptr;
}

void CorpusArguments::add_to(CLI::App& app, bool with_order) {
  app.add_option("file", files, "A .cntk configuration (several: later ones override), or a corpus file")
      ->required()
      ->type_name("CONFIG|FILE");
  add_configuration(app);
  add_index(app);
  add_limits(app);
  if (with_order) add_order(app);
}

void CorpusArguments::add_configuration(CLI::App& app) {
  const char* const config = "Configuration";
  app.add_option("--section", section, "Reader section to use, such as Train.reader (default: the only one)")
      ->type_name("A.B")
      ->group(config);
  app.add_option("--set", set,
                 "Configuration text that overrides, such as 'Train=[reader=[randomize=false]]'; repeatable")
      ->type_name("TEXT")
      ->take_all()
      ->allow_extra_args(false)
      ->group(config);
  app.add_option_function<std::string>(
         "--precision", [this](const std::string& word) { precision = word == "double" ? Element::f64 : Element::f32; },
         "float or double, instead of every precision key")
      ->check(CLI::IsMember({"float", "double"}))
      ->type_name("TYPE")
      ->group(config);
  app.add_option("--state-list", state_list, "Names of the classes of an MLF, one a line (default: those that occur)")
      ->type_name("FILE")
      ->group(config);
  app.add_option(
         "--map-path", map_path,
         "In paths of HTK lists, replace FROM at the beginning by TO, such as '//host/share/=/data/'; \\ and / are "
         "the same; repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FROM=TO")
      ->group(config);
  app.add_option("--root", roots,
                 "Read files in this folder only, whatever a configuration or a list names; repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("DIR")
      ->group(config);
}

void CorpusArguments::add_index(CLI::App& app) {
  const char* const index = "Index";
  app.add_flag("--cache-index", cache_index,
               "Keep the index, and inferred streams, beside the data, or in the user's cache folder")
      ->group(index);
  app.add_option("--cache-dir", cache_dir, "Keep them in this folder")->type_name("DIR")->group(index);
  app.add_option("--threads", threads, "Threads that index and parse (default: one per core)")
      ->type_name("N")
      ->group(index);
}

void CorpusArguments::add_limits(CLI::App& app) {
  add_raise(app, raise);
  const char* const compressed = "Compressed files";
  const auto bytes = [&](const char* name, std::optional<std::uint64_t>& field, const char* what) {
    app.add_option(name, field, what)->type_name("BYTES")->group(compressed);
  };
  bytes("--unpacked-bytes", unpacked_bytes, "What a compressed file may unpack to, such as 2T (default 1T)");
  app.add_option("--unpack-ratio", unpack_ratio,
                 "How many times its size a compressed file may unpack to (default 2000)")
      ->type_name("N")
      ->group(compressed);
  bytes("--unpack-window-bytes", unpack_window_bytes, "Memory that unpacking a zstd file may need (default 128M)");
}

void CorpusArguments::add_order(CLI::App& app) {
  const char* const group = "Order";
  add_word_option(app, "--order", order, "file, cntk (as CNTK did) or uniform, instead of what the configuration says")
      ->type_name("KIND")
      ->group(group);
  app.add_option("--seed", seed, "Seed of the shuffle")->type_name("N")->group(group);
  auto* chunks =
      app.add_option("--window-chunks", window, "Shuffle among this many chunks")->type_name("N")->group(group);
  app.add_option("--window-samples", window_samples, "Shuffle among this many samples instead")
      ->type_name("N")
      ->excludes(chunks)
      ->group(group);
  add_word_option(app, "--shard", shard, "chunk (as CNTK did) or even: how work is split among workers")
      ->type_name("KIND")
      ->group(group);
  app.add_option("--mix-weights", mix_weights,
                 "Each file is a corpus of its own, and gives this share of the samples (3,1: three of four)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("W[,W...]")
      ->group(group);
}

Limits CorpusArguments::limits() const {
  Limits out;
  if (unpacked_bytes) out.unpacked_bytes = *unpacked_bytes;
  if (unpack_ratio) out.unpack_ratio = *unpack_ratio;
  if (unpack_window_bytes) out.unpack_window_bytes = *unpack_window_bytes;
  return raised(raise, out);
}

}  // namespace batchfeed::cli
