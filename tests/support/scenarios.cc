// SPDX-License-Identifier: MIT
#include "support/scenarios.h"

#include <batchfeed/convert.h>
#include <batchfeed/reader.h>
#include <batchfeed/source.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "base/hash.h"
#include "formats/cbf/cbf.h"
#include "formats/ctf/ctf.h"
#include "io/atomic_file.h"
#include "support/batch_hash.h"
#include "support/speech.h"

namespace batchfeed::testing {
namespace {

std::string text_corpus() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const std::string n = std::to_string(i);
    text += n + " |a " + n + ".5 -1e" + std::to_string(i % 5) + " |b " + std::to_string(i % 7) + ":2\n";
    if (i % 3 == 0) text += n + " |b 6:" + n + '\n';
  }
  return text;
}

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// Two chunks of dense sequences; the layout stands in docs/reference/formats/cbf.md.
std::string binary_corpus() {
  constexpr std::uint64_t kMagic = 0x636E746B5F62696E;
  std::string out, table;
  put(out, kMagic);
  put(out, std::uint32_t{1});
  for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
    put(table, static_cast<std::int64_t>(out.size()));
    put(table, std::uint32_t{2});
    put(table, std::uint32_t{3});
    for (const std::uint32_t samples : {1u, 2u}) put(out, samples);
    for (const std::uint32_t samples : {1u, 2u}) {
      put(out, samples);
      for (std::uint32_t i = 0; i < 3 * samples; ++i) put(out, static_cast<float>(chunk * 100 + i));
    }
  }
  const auto header = static_cast<std::int64_t>(out.size());
  put(out, kMagic);
  put(out, std::uint32_t{2});
  put(out, std::uint32_t{1});
  put(out, std::uint8_t{0});
  put(out, std::uint32_t{1});
  out += 'x';
  put(out, std::uint8_t{0});
  put(out, std::uint32_t{3});
  out += table;
  put(out, header);
  return out;
}

CtfOptions text_options(const std::string& file) {
  CtfOptions options;
  options.files = {file};
  options.streams = {{.name = "a", .dim = 2}, {.name = "b", .storage = Storage::sparse, .dim = 7}};
  options.chunk_bytes = 500;
  return options;
}

OpenContext context() {
  OpenContext out;
  out.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  return out;
}

template <class T>
void add(Fingerprint& print, const Buffer<T>& values) {
  print.add(hash_bytes(values.data(), values.size() * sizeof(T)));
}

// The fingerprint of all tables and chunks of a source.
std::uint64_t all_of(const Source& source) {
  Fingerprint print;
  std::vector<SequenceInfo> table;
  Chunk chunk;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    for (const SequenceInfo& s : table) print.add(s.key).add(s.row).add(s.samples);
    source.read(c, chunk);
    for (const Column& column : chunk.columns) {
      add(print, column.first_sample);
      add(print, column.begin);
      add(print, column.first_value);
      add(print, column.values);
      add(print, column.indices);
    }
  }
  return print.value();
}

// A conversion that replaces an existing target; the fingerprint is of the files it wrote. Both the
// input and the output have several chunks.
Scenario conversion(const std::string& name, const std::string& target, const std::string& input,
                    ConvertOptions options) {
  options.jobs = 1;
  options.force = true;
  options.chunk_bytes = 300;
  return {name,
          [=](const ScratchFolder& f) {
            f.write("in.ctf", input);
            f.write(target, "old");
          },
          [=](const ScratchFolder& f) {
            convert(*ctf::open(text_options(f / "in.ctf"), f / "in.ctf", context()), f / target, options);
            Fingerprint print;
            for (const std::string& file : {f / target, f / target + ".keys"}) {
              if (::access(file.c_str(), F_OK) == 0) print.add(hash_text(content_of(file)));
            }
            return print.value();
          }};
}

// Sequences of one sample each: in the legacy layout of CBF, a dense stream cannot have more.
std::string single_samples() {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i) + " |a " + std::to_string(i) + " 1 |b " + std::to_string(i % 7) + ":2\n";
  return text;
}

void add_conversions(std::vector<Scenario>& out) {
  using Keys = ConvertOptions::Keys;
  out.push_back(conversion("convert_modern", "x.cbf", text_corpus(), {.keys = Keys::none}));
  out.push_back(conversion("convert_keys", "x.cbf", text_corpus(), {.keys = Keys::keep}));
  out.push_back(conversion("convert_legacy", "x.cbf", single_samples(), {.legacy = true, .keys = Keys::keep}));
  out.push_back(conversion("convert_text", "x.ctf", text_corpus(), {.to = Format::ctf}));
  ConvertOptions shuffle{.keys = Keys::keep};
  shuffle.shuffle = 3;
  shuffle.shuffle_memory = 8000;
  out.push_back(conversion("convert_shuffle", "x.cbf", text_corpus(), shuffle));
}

// A shuffled epoch: one reader delivers three minibatches, another restores its state and delivers the rest.
std::uint64_t minibatches(Setup setup, bool ahead) {
  setup.reader.order.kind = OrderKind::uniform;
  setup.reader.order.window = 2;
  setup.reader.minibatch_size = {7};
  setup.reader.prefetch = ahead;
  setup.reader.threads = ahead ? 2 : 1;
  Fingerprint print;
  std::string state;
  {
    Reader reader(setup);
    for (int i = 0; i < 3; ++i) {
      if (const auto batch = reader.next()) print.add(hash_of(*batch));
    }
    state = reader.state();
  }
  Reader reader(setup);
  reader.restore(state);
  Minibatch batch;
  while (reader.next(batch)) print.add(hash_of(batch));
  return print.value();
}

// Two utterances in two archives, and their labels.
void write_speech(const ScratchFolder& f) {
  f.write("a.htk", htk_file(ramp(12), {.dim = 2}));
  f.write("b.htk", htk_file(ramp(8), {.dim = 2}));
  f.write("x.scp", "u.mfc=" + (f / "a.htk") + "[0,3]\nv.mfc=" + (f / "b.htk") + "[1,3]\n");
  f.write("x.mlf", "#!MLF!#\n\"*/u.lab\"\n0 200000 s 0\n200000 400000 t 1\n.\n\"*/v.lab\"\n0 300000 t 1\n.\n");
  f.write("states", "s\nt\n");
}

Setup speech_setup(const ScratchFolder& f) {
  Setup setup;
  HtkOptions features;
  features.name = "features";
  features.scp_files = {f / "x.scp"};
  features.dim = 2;
  features.chunk_frames = 4;
  MlfOptions labels;
  labels.name = "labels";
  labels.files = {f / "x.mlf"};
  labels.mapping_file = f / "states";
  labels.dim = 2;
  setup.sources = {features, labels};
  setup.reader.keys = KeyMode::text;
  return setup;
}

void add_readers(std::vector<Scenario>& out) {
  for (const bool ahead : {false, true}) {
    const std::string suffix = ahead ? "_ahead" : "";
    out.push_back({"minibatches" + suffix, [](const ScratchFolder& f) { f.write("c.ctf", text_corpus()); },
                   [=](const ScratchFolder& f) {
                     Setup setup;
                     setup.sources = {text_options(f / "c.ctf")};
                     return minibatches(setup, ahead);
                   }});
    out.push_back(
        {"speech" + suffix, write_speech, [=](const ScratchFolder& f) { return minibatches(speech_setup(f), ahead); }});
  }
}

std::vector<Scenario> list() {
  std::vector<Scenario> out;
  out.push_back(
      {"ctf", [](const ScratchFolder& f) { f.write("c.ctf", text_corpus()); },
       [](const ScratchFolder& f) { return all_of(*ctf::open(text_options(f / "c.ctf"), f / "c.ctf", context())); }});
  out.push_back(
      {"cbf", [](const ScratchFolder& f) { f.write("c.cbf", binary_corpus()); },
       [](const ScratchFolder& f) { return all_of(*cbf::open({.files = {f / "c.cbf"}}, f / "c.cbf", context())); }});
  out.push_back({"atomic_file", [](const ScratchFolder&) {},
                 [](const ScratchFolder& f) {
                   io::AtomicFile file(f / "out");
                   for (int i = 0; i < 5; ++i) file.append(std::string(1000, 'x'));
                   file.commit();
                   return hash_text(content_of(f / "out"));
                 }});
  add_readers(out);
  add_conversions(out);
  return out;
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = list();
  return all;
}

}  // namespace batchfeed::testing
