// SPDX-License-Identifier: MIT
//
// Chunks of a header that fits them, built from the bytes. A slow decoder that
// is obviously right judges the fast one: both refuse a chunk, or both find the
// same samples in it.
#include <batchfeed/error.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/cursor.h"
#include "formats/cbf/cbf.h"
#include "formats/cbf/fuzz_build_testing.h"
#include "support/fuzz_file.h"

namespace {

using batchfeed::Cursor;
using batchfeed::Element;
using batchfeed::Storage;
using batchfeed::cbf::FileStream;
using batchfeed::testing::require;

// An index and a value; dense samples have the indices 0, 1, 2 ...
using Sample = std::vector<std::pair<std::int32_t, double>>;
using Sequences = std::vector<std::vector<Sample>>;  // of one stream

std::optional<double> value(Cursor& in, Element element) {
  if (element == Element::f64) return in.field<double>();
  const auto v = in.field<float>();
  return v ? std::optional<double>(*v) : std::nullopt;
}

std::optional<std::vector<Sample>> dense(Cursor& in, const FileStream& stream) {
  const auto n = in.field<std::uint32_t>();
  if (!n) return {};
  std::vector<Sample> out;
  for (std::uint32_t i = 0; i < *n; ++i) {
    Sample& sample = out.emplace_back();
    for (std::uint32_t k = 0; k < stream.dim; ++k) {
      const auto v = value(in, stream.element);
      if (!v) return {};
      sample.emplace_back(static_cast<std::int32_t>(k), *v);
    }
  }
  return out;
}

std::optional<std::vector<Sample>> sparse(Cursor& in, const FileStream& stream) {
  const auto n = in.field<std::uint32_t>();
  const auto nnz = in.field<std::int32_t>();
  if (!n || !nnz || *nnz < 0) return {};
  std::vector<double> values;
  for (std::int32_t i = 0; i < *nnz; ++i) {
    const auto v = value(in, stream.element);
    if (!v) return {};
    values.push_back(*v);
  }
  std::vector<std::int32_t> indices;
  for (std::int32_t i = 0; i < *nnz; ++i) {
    const auto index = in.field<std::int32_t>();
    if (!index || *index < 0 || static_cast<std::uint32_t>(*index) >= stream.dim) return {};
    indices.push_back(*index);
  }
  std::vector<Sample> out;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < *n; ++i) {
    const auto entries = in.field<std::int32_t>();
    if (!entries || *entries < 0 || static_cast<std::size_t>(*entries) > values.size() - next) return {};
    Sample& sample = out.emplace_back();
    for (std::int32_t k = 0; k < *entries; ++k, ++next) sample.emplace_back(indices[next], values[next]);
  }
  return next == values.size() ? std::optional(out) : std::nullopt;
}

// All streams of a chunk, or nothing if it is damaged.
std::optional<std::vector<Sequences>> slow(const std::string& chunk, const std::vector<FileStream>& streams,
                                           std::uint32_t sequences) {
  Cursor in(std::as_bytes(std::span(chunk)));
  if (!in.take(sequences, 4)) return {};
  std::vector<Sequences> out;
  for (const FileStream& stream : streams) {
    Sequences& all = out.emplace_back();
    for (std::uint32_t s = 0; s < sequences; ++s) {
      auto one = stream.storage == Storage::dense ? dense(in, stream) : sparse(in, stream);
      if (!one) return {};
      all.push_back(*std::move(one));
    }
  }
  return out;
}

bool same(double a, double b) { return a == b || (a != a && b != b); }

double number(const batchfeed::Column& column, std::size_t i) {
  return column.element == Element::f32 ? static_cast<double>(column.as<float>()[i]) : column.as<double>()[i];
}

void compare(const batchfeed::Column& column, const Sequences& wanted) {
  require(column.first_sample.size() == wanted.size() + 1);
  for (std::uint32_t s = 0; s < wanted.size(); ++s) {
    require(column.samples(s) == wanted[s].size());
    for (std::uint32_t n = 0; n < column.samples(s); ++n) {
      const Sample& sample = wanted[s][n];
      const std::uint32_t k = column.first_sample[s] + n;
      const bool is_dense = column.storage == Storage::dense;
      const std::size_t first = is_dense ? column.begin[s] + n * column.step : column.first_value[k];
      if (!is_dense) require(column.first_value[k + 1] - first == sample.size());
      for (std::size_t i = 0; i < sample.size(); ++i) {
        const double v = column.element == Element::f32 ? static_cast<double>(static_cast<float>(sample[i].second))
                                                        : sample[i].second;
        require(same(number(column, first + i), v));
        if (!is_dense) require(column.indices[first + i] == sample[i].first);
      }
    }
  }
}

void put_value(std::string& out, Element element, std::uint8_t v) {
  element == Element::f32 ? batchfeed::cbf::fuzz::put(out, static_cast<float>(v) / 8)
                          : batchfeed::cbf::fuzz::put(out, static_cast<double>(v) / 8);
}

void put_sequence(std::string& out, const FileStream& stream, std::uint32_t samples, batchfeed::cbf::fuzz::Draw& draw) {
  using batchfeed::cbf::fuzz::put;
  put(out, draw.field(samples));
  if (stream.storage == Storage::dense) {
    for (std::uint32_t i = 0; i < samples * stream.dim; ++i) put_value(out, stream.element, draw.byte());
    return;
  }
  std::string indices, counts;
  std::uint32_t nnz = 0;
  for (std::uint32_t i = 0; i < samples; ++i) {
    const std::uint32_t entries = draw.below(4);
    for (std::uint32_t k = 0; k < entries; ++k) put(indices, draw.field(draw.below(stream.dim)));
    put(counts, draw.field(entries));
    nnz += entries;
  }
  put(out, draw.field(nnz));
  for (std::uint32_t i = 0; i < nnz; ++i) put_value(out, stream.element, draw.byte());
  out += indices + counts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace batchfeed::cbf;
  constexpr std::array kTiers = {"scalar", "avx2", "avx512"};
  ::setenv("BATCHFEED_CPU", kTiers[size % kTiers.size()], 1);
  fuzz::Draw draw(data, size);
  fuzz::Table table;
  for (std::uint32_t i = 0, n = 1 + draw.below(3); i < n; ++i) {
    table.streams.push_back({.name = std::string(1, static_cast<char>('a' + i)),
                             .storage = draw.below(2) == 0 ? Storage::dense : Storage::sparse,
                             .element = draw.below(4) != 0 ? Element::f32 : Element::f64,
                             .dim = 1 + draw.below(6)});
  }
  const batchfeed::CbfOptions options{.element = draw.below(4) != 0 ? Element::f32 : Element::f64,
                                      .convert_element = true};
  const std::uint32_t cut = draw.below(4) == 0 ? draw.below(24) : 0;  // bytes that are missing at the end
  const std::uint32_t sequences = 1 + draw.below(12);
  std::vector<std::uint32_t> lengths;
  std::string chunk;
  for (std::uint32_t s = 0; s < sequences; ++s) lengths.push_back(draw.below(5));
  std::uint32_t samples = 0;
  for (const std::uint32_t length : lengths) {
    const std::uint32_t told = 1 + length % 8;
    fuzz::put(chunk, told);
    samples += told;
  }
  for (const FileStream& stream : table.streams) {
    for (const std::uint32_t length : lengths) put_sequence(chunk, stream, 1 + length, draw);
  }
  chunk.resize(chunk.size() - cut % chunk.size());
  if (chunk.size() < std::size_t{sequences} * 4) return 0;
  table.rows.push_back({.begin = kPrefixBytes, .sequences = sequences, .samples = samples});
  std::string file = fuzz::prefix() + chunk;
  fuzz::finish(file, table);
  const batchfeed::testing::MemoryFile memory(file);
  batchfeed::OpenContext context;
  context.keys = std::make_shared<batchfeed::KeyTable>(batchfeed::KeyMode::numeric);
  const auto source = open(options, memory.path(), context);
  const auto wanted = slow(chunk, table.streams, sequences);
  batchfeed::Chunk out;
  try {
    source->read(0, out);
  } catch (const batchfeed::Error& error) {
    require(!wanted);
    require(error.fault().kind == batchfeed::FaultKind::format && error.fault().at.byte <= file.size());
    return 0;
  }
  require(wanted.has_value());
  for (std::size_t i = 0; i < out.columns.size(); ++i) compare(out.columns[i], (*wanted)[i]);
  return 0;
}
