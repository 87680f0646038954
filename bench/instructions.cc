// SPDX-License-Identifier: MIT
//
// The work of each stage on a small input, for scripts/instructions to count with
// callgrind: their number does not depend on what else the machine does.
//
//   valgrind --tool=callgrind --callgrind-out-file=OUT ./instructions FOLDER
//
// Writes its inputs into FOLDER, which must exist. Each row runs once to warm up, then once
// counted; a line of JSON gives the number of units of work in it.
#include <batchfeed/batchfeed.h>
#include <valgrind/callgrind.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "draws.h"

namespace {

using namespace batchfeed;

template <class... Args>
void append(std::string& text, const char* format, Args... args) {
  char piece[64];
  text.append(piece, static_cast<std::size_t>(std::snprintf(piece, sizeof piece, format, args...)));
}

// 0.0000 to 0.9999
std::string decimals() {
  std::string text;
  Draws draws;
  for (int line = 0; line < 200; ++line) {
    text += "|features";
    for (int i = 0; i < 784; ++i) append(text, " 0.%04d", static_cast<int>(draws.below(10'000)));
    text += " |labels 0 0 0 1 0 0 0 0 0 0\n";
  }
  return text;
}

// Integers 0 to 255, four in five of them 0
std::string integers() {
  std::string text;
  Draws draws;
  for (int line = 0; line < 300; ++line) {
    text += "|labels 0 0 0 1 0 0 0 0 0 0 |features";
    for (int i = 0; i < 784; ++i) append(text, " %d", draws.below(5) == 0 ? static_cast<int>(1 + draws.below(255)) : 0);
    text += '\n';
  }
  return text;
}

// 6 to 9 digits with signs, now and then an exponent
std::string digits() {
  std::string text;
  Draws draws;
  for (int line = 0; line < 600; ++line) {
    text += "|labels 1 |features";
    for (int i = 0; i < 100; ++i) {
      const double value = (static_cast<double>(draws.below(1u << 30)) - (1u << 29)) / (1u << 28);
      const double scaled = draws.below(200) == 0 ? value * 1e-7 : value;
      append(text, " %.*g", static_cast<int>(6 + draws.below(4)), scaled);
    }
    text += '\n';
  }
  return text;
}

std::string pairs() {
  std::string text;
  Draws draws;
  for (int line = 0; line < 1500; ++line) {
    text += "|x";
    for (std::uint64_t i = 0; i < 50; ++i)
      append(text, " %d:0.%04d", static_cast<int>(i * 20'000 + draws.below(20'000)),
             static_cast<int>(draws.below(10'000)));
    append(text, " |y %d\n", static_cast<int>(draws.below(2)));
  }
  return text;
}

std::string lines() {
  std::string text;
  Draws draws;
  for (int sequence = 0; sequence < 700; ++sequence) {
    for (std::uint64_t row = 10 + draws.below(41); row > 0; --row) {
      const int word = static_cast<int>(draws.below(69'290)), tag = static_cast<int>(draws.below(44));
      append(text, "%d\t|S0 %d:1 |# word%d", sequence, word, word);
      append(text, "\t|S1 %d:1 |# tag%d\n", tag, tag);
    }
  }
  return text;
}

// Three numbers and a label, lines without ids that end with CR LF
std::string few() {
  std::string text;
  Draws draws;
  for (int line = 0; line < 20'000; ++line) {
    text += "|x";
    for (int i = 0; i < 3; ++i) append(text, " 0.%04d", static_cast<int>(draws.below(10'000)));
    append(text, " |y %d:1\r\n", static_cast<int>(draws.below(10)));
  }
  return text;
}

// Two numbers, a comment, a label: some lines to a sequence.
std::string commented() {
  std::string text;
  Draws draws;
  for (int line = 0; line < 20'000; ++line) {
    append(text, "%d |x 0.%04d", line / 8, static_cast<int>(draws.below(10'000)));
    append(text, " 0.%04d |# word%d", static_cast<int>(draws.below(10'000)), static_cast<int>(draws.below(69'290)));
    append(text, " |y %d:1\n", static_cast<int>(draws.below(10)));
  }
  return text;
}

// Each line is a sequence; its id is a text, and the ids are not sorted.
std::string named() {
  std::string text;
  for (int line = 0; line < 20'000; ++line)
    append(text, "utt-%07d |x 0.5 |y 1:1\n", static_cast<int>(line * 7919LL % 20'000));
  return text;
}

CtfOptions text_options(const std::string& file, std::vector<StreamSpec> streams) {
  return {.files = {file}, .streams = std::move(streams), .chunk_bytes = 1 << 18};
}

// The values in all chunks; of sparse streams, those of their entries.
std::uint64_t values_of(const Source& source) {
  Chunk chunk;
  std::uint64_t values = 0;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.read(c, chunk);
    for (const Column& column : chunk.columns) values += column.values.size() / size_of(column.element);
  }
  return values;
}

std::uint64_t samples_of(const Source& source) {
  std::uint64_t samples = 0;
  for (const ChunkInfo& chunk : source.chunks()) samples += chunk.samples;
  return samples;
}

// Runs `work` twice, counts the second run, and prints the row's line of JSON.
void row(const char* name, const char* unit, std::uint64_t units, const std::function<void()>& work) {
  work();
  CALLGRIND_ZERO_STATS;
  work();
  CALLGRIND_DUMP_STATS_AT(name);
  std::printf("{\"row\": \"%s\", \"unit\": \"%s\", \"units\": %llu}\n", name, unit,
              static_cast<unsigned long long>(units));
}

void read_row(const char* name, const char* unit, const Source& source) {
  const auto chunk = std::make_shared<Chunk>();
  row(name, unit, values_of(source), [&, chunk] {
    for (std::uint32_t c = 0; c < source.chunks().size(); ++c) source.read(c, *chunk);
  });
}

void index_row(const char* name, const char* unit, std::uint64_t units, const CtfOptions& options) {
  row(name, unit, units, [&] { (void)open_source(options); });
}

// An epoch of packed minibatches, all in this thread. The chunks are read in the run that warms
// up and stay in memory, so only ordering and packing are counted.
void epoch_row(const char* name, const char* unit, std::uint64_t units, const std::shared_ptr<const Source>& source,
               std::uint64_t minibatch, Packing packing = Packing::sequences, OrderKind order = OrderKind::cntk) {
  ReaderOptions options;
  options.order.kind = order;
  options.pack.kind = packing;
  options.minibatch_size = {minibatch};
  options.prefetch = false;
  options.keep_in_memory = true;
  const auto reader = std::make_shared<Reader>(source, options);
  const auto batch = std::make_shared<Minibatch>();
  const auto epoch = std::make_shared<std::uint64_t>(0);
  row(name, unit, units, [=] {
    reader->begin_epoch((*epoch)++);
    while (reader->next(*batch)) {
    }
  });
}

void write_cbf(const std::string& path, const Source& source) {
  CbfWriter writer(path, {.streams = source.streams(), .chunk_bytes = 1 << 22, .durable = false});
  Chunk chunk;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.read(c, chunk);
    for (std::uint32_t r = 0; r + 1 < chunk.columns[0].first_sample.size(); ++r) writer.append(chunk, r);
  }
  writer.commit();
}

std::string write_features(const std::string& folder) {
  std::string list = folder + "/features.scp";
  HtkWriter writer(list, {.dim = 40});
  Draws draws;
  std::vector<float> values;
  for (int u = 0; u < 40; ++u) {
    const std::uint64_t frames = 100 + draws.below(200);
    values.resize(static_cast<std::size_t>(frames) * 40);
    for (float& v : values) v = static_cast<float>(draws.below(65'536)) / 8192.0f - 4.0f;
    writer.append("utt" + std::to_string(u), frames, values.data());
  }
  writer.commit();
  return list;
}

void run(const std::string& folder) {
  const auto text = [&](const char* name, const std::string& bytes, std::vector<StreamSpec> streams) {
    const std::string path = folder + '/' + name + ".ctf";
    save_file(path, bytes);
    return text_options(path, std::move(streams));
  };
  const StreamSpec features = {.name = "features", .dim = 784}, labels = {.name = "labels", .dim = 10};
  const CtfOptions dense = text("dense", decimals(), {features, labels});
  const CtfOptions small = text("integers", integers(), {features, labels});
  const CtfOptions long_ones =
      text("digits", digits(), {{.name = "features", .dim = 100}, {.name = "labels", .dim = 1}});
  const CtfOptions sparse =
      text("sparse", pairs(), {{.name = "x", .storage = Storage::sparse, .dim = 1'000'000}, {.name = "y", .dim = 1}});
  const CtfOptions short_lines = text("lines", lines(),
                                      {{.name = "words", .alias = "S0", .storage = Storage::sparse, .dim = 69'290},
                                       {.name = "tags", .alias = "S1", .storage = Storage::sparse, .dim = 44}});

  const CtfOptions few_values =
      text("few", few(), {{.name = "x", .dim = 3}, {.name = "y", .storage = Storage::sparse, .dim = 10}});
  const CtfOptions comments =
      text("comments", commented(), {{.name = "x", .dim = 2}, {.name = "y", .storage = Storage::sparse, .dim = 10}});
  const CtfOptions text_ids =
      text("named", named(), {{.name = "x", .dim = 1}, {.name = "y", .storage = Storage::sparse, .dim = 10}});

  const std::shared_ptr<const Source> dense_text = open_source(dense), digits_text = open_source(long_ones),
                                      sparse_text = open_source(sparse), lines_text = open_source(short_lines);
  read_row("text, 4 decimals", "value", *dense_text);
  read_row("text, small integers", "value", *open_source(small));
  read_row("text, 6 to 9 digits", "value", *digits_text);
  read_row("text, sparse", "value", *sparse_text);
  read_row("text, short lines", "value", *lines_text);
  read_row("text, few values", "value", *open_source(few_values));
  read_row("text, comments", "value", *open_source(comments));
  std::uint64_t bytes = 0;
  for (const ChunkInfo& chunk : dense_text->chunks()) bytes += chunk.bytes;
  index_row("index, long lines", "64 bytes", bytes / 64, dense);
  index_row("index, short lines", "line", samples_of(*lines_text), short_lines);
  index_row("index, no ids", "line", 20'000, few_values);
  row("index, text ids", "line", 20'000, [&] { (void)open_source(text_ids, {}, {}, KeyMode::text); });

  write_cbf(folder + "/dense.cbf", *digits_text);
  write_cbf(folder + "/sparse.cbf", *sparse_text);
  const std::shared_ptr<const Source> dense_cbf = open_source(CbfOptions{.files = {folder + "/dense.cbf"}}),
                                      sparse_cbf = open_source(CbfOptions{.files = {folder + "/sparse.cbf"}});
  // Dense values are read straight into place; the remaining work is per sequence.
  row("binary, dense", "sequence", samples_of(*dense_cbf), [&, chunk = std::make_shared<Chunk>()] {
    for (std::uint32_t c = 0; c < dense_cbf->chunks().size(); ++c) dense_cbf->read(c, *chunk);
  });
  read_row("binary, sparse", "value", *sparse_cbf);

  HtkOptions htk{.name = "features", .scp_files = {write_features(folder)}, .dim = 40, .context = {{0, 0}}};
  read_row("HTK", "value", *open_source(htk, {}, {}, KeyMode::text));
  htk.context = {{5, 5}};
  htk.frame_mode = true;
  const std::shared_ptr<const Source> windows = open_source(htk, {}, {}, KeyMode::text);

  epoch_row("packing, dense", "sequence", samples_of(*dense_cbf), dense_cbf, 64);
  epoch_row("packing, sparse", "value", values_of(*sparse_cbf), sparse_cbf, 64);
  epoch_row("packing, sequences", "sequence", 700, lines_text, 512);
  epoch_row("packing, frames", "frame", samples_of(*windows), windows, 256, Packing::frames);
  epoch_row("a minibatch", "minibatch", samples_of(*sparse_cbf), sparse_cbf, 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: instructions FOLDER\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const batchfeed::Error& error) {
    std::fprintf(stderr, "instructions: %s\n", error.what());
    return 1;
  }
}
