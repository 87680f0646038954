// SPDX-License-Identifier: MIT
#include "resume/configs.h"

#include <fstream>

#include "base/rng.h"
#include "support/memory_source.h"

namespace batchfeed::resume {
namespace {

using Driver = ReaderOptions::Driver;

ReaderOptions base(OrderKind order, std::uint64_t minibatch) {
  ReaderOptions o;
  o.order = {.kind = order, .window = 3, .window_in_samples = false, .seed = 11};
  o.minibatch_size = {minibatch};
  o.threads = 2;
  return o;
}

void add_orders(std::vector<Config>& out) {
  static constexpr const char* kOrders[] = {"file", "cntk", "uniform"};
  for (const OrderKind order : {OrderKind::file, OrderKind::cntk, OrderKind::uniform}) {
    const std::string name = kOrders[static_cast<int>(order)];
    Config c{name + " even", base(order, 24), Config::Data::text};
    out.push_back(c);
    c.name = name + " chunk rank 1 of 3, epochs inside sweeps";
    c.options.shard = Shard::chunk;
    c.options.workers = 3;
    c.options.rank = 1;
    c.options.epoch_samples = 301;
    out.push_back(c);
    c.name = name + " chunk, timeline over sweeps";
    c.options.workers = 2;
    c.options.epoch_samples = 0;
    c.options.driver = Driver::timeline;
    c.options.epoch_sweeps = 3;
    out.push_back(c);
    c = {name + " truncated with splice", base(order, 36), Config::Data::text};
    c.options.pack = {Packing::truncated, 6, 2};
    c.options.shard = Shard::chunk;
    out.push_back(c);
    c.name = name + " truncated even rank 1 of 2, over sweeps";
    c.options.shard = Shard::even;
    c.options.pack = {Packing::truncated, 5, 0};
    c.options.workers = 2;
    c.options.rank = 1;
    c.options.driver = Driver::timeline;
    c.options.epoch_samples = 1500;
    out.push_back(c);
    c = {name + " frames of text", base(order, 10), Config::Data::frames};
    c.options.pack.kind = Packing::frames;
    out.push_back(c);
    c = {name + " frames of utterances, crossing", base(order, 17), Config::Data::utterances};
    c.options.pack.kind = Packing::frames;
    c.options.shard = Shard::chunk;
    c.options.cross_sweeps = true;
    c.options.epoch_sweeps = 2;
    out.push_back(c);
  }
}

void add_others(std::vector<Config>& out) {
  Config c{"sequences counted", base(OrderKind::uniform, 7), Config::Data::text};
  c.options.size_unit = SizeUnit::sequences;
  out.push_back(c);
  c.name = "cells counted, chunk";
  c.options.size_unit = SizeUnit::cells;
  c.options.minibatch_size = {40};
  c.options.shard = Shard::chunk;
  out.push_back(c);
  c = {"bucketed", base(OrderKind::uniform, 30), Config::Data::text};
  c.options.bucket_minibatches = 4;
  out.push_back(c);
  c.name = "bucketed cells";
  c.options.size_unit = SizeUnit::cells;
  out.push_back(c);
  c = {"mixture", base(OrderKind::uniform, 25), Config::Data::mixture};
  c.options.mix_weights = {2, 1};
  out.push_back(c);
  c.name = "mixture bucketed, timeline";
  c.options.bucket_minibatches = 3;
  c.options.driver = Driver::timeline;
  c.options.epoch_samples = 1200;
  out.push_back(c);
  c = {"split and skipped", base(OrderKind::cntk, 5), Config::Data::text};
  c.options.long_sequence = LongSequence::split;
  c.options.last_minibatch = LastMinibatch::drop;
  out.push_back(c);
  c.options.long_sequence = LongSequence::skip;
  c.name = "long ones skipped";
  out.push_back(c);
  c = {"sizes by epoch", base(OrderKind::cntk, 24), Config::Data::text};
  c.options.minibatch_size = {24, 50};
  out.push_back(c);
  for (const Packing packing : {Packing::sequences, Packing::frames, Packing::truncated}) {
    c = {"legacy speech " + std::to_string(static_cast<int>(packing)), base(OrderKind::cntk, 20),
         Config::Data::utterances};
    c.options.legacy_speech = true;
    c.options.local_timeline = false;
    c.options.shard = Shard::chunk;
    c.options.pack.kind = packing;
    c.options.rows_per_epoch = {3};
    out.push_back(c);
  }
}

CtfOptions text(const std::string& file, std::vector<StreamSpec> streams) {
  CtfOptions o;
  o.files = {file};
  o.streams = std::move(streams);
  o.chunk_bytes = 600;
  return o;
}

const std::vector<StreamSpec> kDense = {{.name = "v", .dim = 2}};
const std::vector<StreamSpec> kSparse = {{.name = "t", .storage = Storage::sparse, .dim = 20}};

}  // namespace

std::vector<Config> configs() {
  std::vector<Config> out;
  add_orders(out);
  add_others(out);
  return out;
}

void write_data(const std::string& folder) {
  CounterRng rng(3);
  std::ofstream v(folder + "/v.ctf"), t(folder + "/t.ctf"), ones(folder + "/ones.ctf"), other(folder + "/other.ctf");
  for (int key = 0; key < 160; ++key) {
    const auto length = 1 + static_cast<int>(rng.below(9));
    for (int i = 0; i < length; ++i) {
      v << key << " |v " << key << ' ' << i << ".5\n";
      t << key << " |t " << (key + i) % 20 << ":1 " << (key * 3) % 20 << ":2.5\n";
      other << key + 1000 << " |v " << key << ' ' << -i << '\n';
    }
    ones << key << " |v " << key << " 1\n";
  }
}

Reader open(const Config& config, const std::string& folder) {
  if (config.data == Config::Data::utterances) {
    std::vector<std::vector<std::uint32_t>> chunks(9);
    for (std::size_t i = 0; i < 70; ++i) chunks[i % 9].push_back(static_cast<std::uint32_t>(1 + i * 7 % 11));
    return Reader(std::make_shared<reader::MemorySource>(chunks, true), config.options);
  }
  Setup setup;
  setup.reader = config.options;
  switch (config.data) {
    case Config::Data::text: setup.sources = {text(folder + "/v.ctf", kDense), text(folder + "/t.ctf", kSparse)}; break;
    case Config::Data::frames: setup.sources = {text(folder + "/ones.ctf", kDense)}; break;
    case Config::Data::mixture:
      setup.mix = {{text(folder + "/v.ctf", kDense)}, {text(folder + "/other.ctf", kDense)}};
      break;
    case Config::Data::utterances: break;
  }
  return Reader(setup);
}

}  // namespace batchfeed::resume
