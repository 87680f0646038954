// SPDX-License-Identifier: MIT
#include "golden/streams.h"

#include <batchfeed/convert.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/rng.h"
#include "resume/configs.h"
#include "support/batch_hash.h"
#include "support/speech.h"

namespace batchfeed::golden {
namespace {

constexpr std::size_t kMost = 80;  // minibatches of a run

// A number of text that is hard to read right: up to 25 digits, exponents.
std::string hard_number(CounterRng& rng) {
  std::string out = rng.below(2) == 0 ? "" : "-";
  const std::uint64_t digits = 1 + rng.below(25), point = rng.below(digits + 1);
  for (std::uint64_t i = 0; i < digits; ++i) {
    if (i == point && i != 0) out += '.';
    out += static_cast<char>('0' + rng.below(10));
  }
  if (rng.below(3) == 0) {
    out += rng.below(2) == 0 ? "e-" : "e+";
    out += std::to_string(rng.below(12));
  }
  return out;
}

void write_corpora(const std::string& folder) {
  resume::write_data(folder);
  CounterRng rng(9);
  std::ofstream numbers(folder + "/numbers.ctf"), texts(folder + "/texts.ctf");
  for (int key = 0; key < 120; ++key) {
    for (std::uint64_t row = 0, rows = 1 + rng.below(5); row < rows; ++row) {
      numbers << key << " |v";
      for (int i = 0; i < 3; ++i) numbers << ' ' << hard_number(rng);
      numbers << " |t " << rng.below(1000) << ':' << hard_number(rng) << '\n';
      texts << "utt" << key % 97 << '-' << key << " |v " << key << ' ' << row << " 0.1\n";
    }
  }
  std::ofstream list(folder + "/f.scp"), labels(folder + "/l.mlf");
  labels << "#!MLF!#\n";
  std::vector<float> frames;
  for (int u = 0; u < 40; ++u) {
    const std::size_t first = frames.size() / 2, count = 2 + rng.below(20), half = count / 2;
    for (std::size_t i = 0; i < 2 * count; ++i) frames.push_back(static_cast<float>(rng.below(100'000)) / 7);
    list << "d/u" << u << ".mfc=" << folder << "/f.htk[" << first << ',' << first + count - 1 << "]\n";
    labels << "\"*/d/u" << u << ".lab\"\n0 " << half * 100'000 << " a " << u % 5 << '\n'
           << half * 100'000 << ' ' << count * 100'000 << " b " << (u + 1) % 5 << "\n.\n";
  }
  std::ofstream(folder + "/f.htk", std::ios::binary) << testing::htk_file(frames, {.dim = 2});
}

CtfOptions numbers(const std::string& file, Element element) {
  CtfOptions o;
  o.files = {file};
  o.streams = {{.name = "v", .dim = 3}, {.name = "t", .storage = Storage::sparse, .dim = 1000}};
  o.element = element;
  o.chunk_bytes = 3000;
  return o;
}

ReaderOptions shuffled(OrderKind order) {
  ReaderOptions o;
  o.order = {.kind = order, .window = 3, .seed = 5};
  o.minibatch_size = {31};
  return o;
}

void add_formats(std::vector<Line>& out, const std::string& folder) {
  const auto add = [&](const std::string& name, const ReaderOptions& options,
                       const std::vector<SourceOptions>& sources) {
    out.push_back({name, [options, sources](unsigned threads, bool cached) {
                     Setup setup;
                     setup.sources = sources;
                     setup.reader = options;
                     setup.reader.threads = threads;
                     for (SourceOptions& source : setup.sources) {
                       if (auto* ctf = std::get_if<CtfOptions>(&source)) ctf->cache_index = cached;
                       if (auto* mlf = std::get_if<MlfOptions>(&source)) mlf->cache_index = cached;
                     }
                     return Reader(setup);
                   }});
  };
  for (const Element element : {Element::f32, Element::f64}) {
    const std::string bits = element == Element::f32 ? "f32" : "f64";
    const CtfOptions text = numbers(folder + "/numbers.ctf", element);
    add("numbers " + bits, shuffled(OrderKind::cntk), {text});
    CbfOptions binary{.files = {folder + "/" + bits + ".cbf"}, .element = element};
    convert(*open_source(text), binary.files[0], {.chunk_bytes = 2000});
    add("binary " + bits, shuffled(OrderKind::uniform), {binary});
    binary.element = element == Element::f32 ? Element::f64 : Element::f32;
    binary.convert_element = true;
    add("binary " + bits + " as the other", shuffled(OrderKind::file), {binary});
  }
  ReaderOptions texts = shuffled(OrderKind::uniform);
  texts.keys = KeyMode::text;
  CtfOptions keyed = numbers(folder + "/texts.ctf", Element::f32);
  keyed.streams.pop_back();
  add("text keys", texts, {keyed});
  const HtkOptions features{
      .name = "f", .scp_files = {folder + "/f.scp"}, .dim = 2, .context = {{1, 2}}, .chunk_frames = 60};
  const MlfOptions labels{.name = "l", .files = {folder + "/l.mlf"}, .dim = 5, .chunk_bytes = 200};
  CbfOptions windows{.files = {folder + "/windows.cbf"}};
  convert(*open_source(features, {}, {}, KeyMode::text), windows.files[0], {.chunk_bytes = 2000});
  add("windows as binary", shuffled(OrderKind::file), {windows});
  for (const Packing packing : {Packing::sequences, Packing::frames, Packing::truncated}) {
    ReaderOptions o = texts;
    o.order.kind = OrderKind::cntk;
    o.pack = {packing, 7, 0};
    HtkOptions f = features;
    MlfOptions l = labels;
    f.frame_mode = l.frame_mode = packing == Packing::frames;
    add("speech " + std::to_string(static_cast<int>(packing)), o, {f, l});
  }
}

}  // namespace

std::vector<Line> runs(const std::string& folder) {
  std::vector<Line> out;
  for (const resume::Config& config : resume::configs()) {
    out.push_back({config.name + ", " + std::to_string(out.size()), [config, folder](unsigned threads, bool) {
                     resume::Config c = config;
                     c.options.threads = threads;
                     return resume::open(c, folder);
                   }});
  }
  add_formats(out, folder);
  return out;
}

std::string hash_of(Reader reader) {
  std::uint64_t hash = 0;
  Minibatch batch;
  for (std::size_t i = 0; i < kMost && reader.read(batch); ++i) hash = testing::fold(hash, testing::hash_of(batch));
  char text[17] = {};
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

Folder::Folder()
    : path_((std::filesystem::temp_directory_path() / ("batchfeed_golden_" + std::to_string(::getpid()))).string()) {
  std::filesystem::create_directories(path_);
  write_corpora(path_);
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

}  // namespace batchfeed::golden
