// SPDX-License-Identifier: MIT
#include <batchfeed/source.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace batchfeed {
namespace {

// Two sequences of a dense and a sparse stream, and what a test changes of them.
class Given final : public Source, private RowReader {
 public:
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t /*chunk*/, std::vector<SequenceInfo>& out) const override { out = table_; }
  void read(std::uint32_t chunk, Chunk& out) const override { read(chunk, {0, 2}, out); }
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override { return this; }

  std::vector<StreamInfo> streams_ = {{.name = "x", .dim = 2}, {.name = "word", .dim = 10, .storage = Storage::sparse}};
  std::vector<ChunkInfo> chunks_ = {{.sequences = 2, .samples = 3}};
  std::vector<SequenceInfo> table_ = {{.key = 7, .row = 0, .samples = 2}, {.key = 8, .row = 1, .samples = 1}};
  std::function<void(Chunk&)> change_ = [](Chunk&) {};

 private:
  void sequences(std::uint32_t /*chunk*/, RowRange rows, std::vector<SequenceInfo>& out) const override {
    out.assign(table_.begin() + rows.first, table_.begin() + rows.last);
    for (SequenceInfo& s : out) s.row -= rows.first;
  }
  void read(std::uint32_t /*chunk*/, RowRange rows, Chunk& out) const override {
    out.reset(streams_);
    for (std::uint32_t r = rows.first; r < rows.last; ++r) {
      const std::uint32_t n = r == 0 ? 2 : 1;
      for (Column& c : out.columns) c.first_sample.push_back(c.first_sample.back() + n);
      Column &x = out.columns[0], &word = out.columns[1];
      x.begin.push_back(x.values.size() / 4);
      x.values.resize(x.values.size() + n * 8);
      for (std::uint32_t i = 0; i < n; ++i) {
        word.indices.push_back(9);
        word.values.resize(word.values.size() + 4);
        word.first_value.push_back(static_cast<std::uint32_t>(word.indices.size()));
      }
    }
    change_(out);
  }
};

// The fault that reading all of it in whole chunks, and then in rows, ends with.
std::string fault_of(const std::shared_ptr<Given>& given, bool by_rows = false) {
  std::vector<SequenceInfo> table;
  Chunk chunk;
  try {
    const auto source = checked(given);
    if (by_rows) {
      const RowReader* const rows = source->row_reader(0);
      rows->sequences(0, {1, 2}, table);
      rows->read(0, {1, 2}, chunk);
    } else {
      source->sequences(0, table);
      source->read(0, chunk);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().kind, FaultKind::usage);
    return error.fault().id + ": " + error.fault().what;
  }
  return "none";
}

TEST(CheckedSource, IsTheSameSource) {
  const auto given = std::make_shared<Given>();
  EXPECT_EQ(fault_of(given), "none");
  EXPECT_EQ(fault_of(given, true), "none");
  EXPECT_EQ(checked(given)->fingerprint(), given->fingerprint());
  EXPECT_EQ(checked(nullptr), nullptr);
}

TEST(CheckedSource, ATableIsThatOfItsChunk) {
  const auto with = [](std::vector<SequenceInfo> table) {
    const auto given = std::make_shared<Given>();
    given->table_ = std::move(table);
    return fault_of(given);
  };
  EXPECT_EQ(with({{.key = 1, .row = 0, .samples = 3}}),
            "source.table: chunk 0: 1 sequence in the table, expected 2 as in chunks()");
  EXPECT_EQ(with({{.key = 1, .row = 0, .samples = 1}, {.key = 2, .row = 1, .samples = 1}}),
            "source.table: chunk 0: 2 samples in the table, expected 3 as in chunks()");
  EXPECT_EQ(with({{.key = 1, .row = 0, .samples = 3}, {.key = 2, .row = 1, .samples = 0}}),
            "source.table: chunk 0: sequence 1 of the table has no samples");
  EXPECT_EQ(with({{.key = 1, .row = 0, .samples = 2}, {.key = 2, .row = 2, .samples = 1}}),
            "source.table: chunk 0: sequence 1 of the table is row 2 of 2");
}

TEST(CheckedSource, StreamsCanBeToldApartAndFit) {
  const auto with = [](std::vector<StreamInfo> streams) {
    const auto given = std::make_shared<Given>();
    given->streams_ = std::move(streams);
    return fault_of(given);
  };
  EXPECT_EQ(with({}), "source.streams: a source without streams");
  EXPECT_EQ(with({{.name = "x"}}), "source.streams: stream 'x': dim 0");
  EXPECT_EQ(with({{.name = "x", .dim = 1}, {.name = "x", .dim = 1}}),
            "source.streams: stream 'x': a second one of that name");
  EXPECT_EQ(with({{.name = "x", .dim = 1ull << 31, .storage = Storage::sparse}}),
            "source.streams: stream 'x': dim 2147483648, and a sparse one has at most 2147483647");
}

TEST(CheckedSource, AChunkHoldsWhatItsOffsetsSay) {
  const auto with = [](std::function<void(Chunk&)> change, bool by_rows = false) {
    const auto given = std::make_shared<Given>();
    given->change_ = std::move(change);
    return fault_of(given, by_rows);
  };
  const auto x = [&](const std::function<void(Column&)>& change) {
    return with([&](Chunk& c) { change(c.columns[0]); });
  };
  const auto word = [&](const std::function<void(Column&)>& change) {
    return with([&](Chunk& c) { change(c.columns[1]); });
  };
  EXPECT_EQ(with([](Chunk& c) { c.columns.pop_back(); }), "source.chunk: chunk 0: 1 column for 2 streams");
  EXPECT_EQ(with([](Chunk& c) { c.invalid = {1}; }), "source.chunk: chunk 0: invalid has 1 entry, expected none or 2");
  EXPECT_EQ(with([](Chunk& c) {
              c.invalid = {0, 255};
            }),
            "source.chunk: chunk 0: invalid[1] is 255, expected kValid, kPaid or kUnpaid");
  EXPECT_EQ(with([](Chunk& c) { c.columns[0].first_sample.clear(); }),
            "source.chunk: chunk 0, stream 'x': first_sample has 0 entries, expected 1");
  EXPECT_EQ(x([](Column& c) { c.dim = 3; }),
            "source.chunk: chunk 0, stream 'x': storage, element or dim are not the stream's");
  EXPECT_EQ(x([](Column& c) { c.first_sample[0] = 1; }),
            "source.chunk: chunk 0, stream 'x': first_sample[0] is 1, expected 0");
  EXPECT_EQ(x([](Column& c) { c.first_sample[1] = 4; }),
            "source.chunk: chunk 0, stream 'x': first_sample[2] is 3, less than the 4 before it");
  EXPECT_EQ(x([](Column& c) { c.begin.push_back(0); }),
            "source.chunk: chunk 0, stream 'x': begin has 3 entries, expected 2");
  EXPECT_EQ(x([](Column& c) { c.values.resize(20); }),
            "source.chunk: chunk 0, stream 'x': row 1 ends with value 6 of 5");
  EXPECT_EQ(x([](Column& c) { c.begin[1] = ~0ull; }),
            "source.chunk: chunk 0, stream 'x': row 1 ends with value 18446744073709551615 of 6");
  EXPECT_EQ(x([](Column& c) { c.step = 0; }), "none");  // one stored sample for all of a row
  EXPECT_EQ(word([](Column& c) { c.first_sample.push_back(3); }),
            "source.chunk: chunk 0, stream 'word': first_sample has 4 entries, expected 3");
  EXPECT_EQ(word([](Column& c) { c.first_value.push_back(3); }),
            "source.chunk: chunk 0, stream 'word': first_value has 5 entries, expected 4");
  EXPECT_EQ(word([](Column& c) { c.indices.push_back(1); }),
            "source.chunk: chunk 0, stream 'word': 3 values and 4 indices, expected 3 of both");
  EXPECT_EQ(word([](Column& c) { c.indices[2] = 10; }),
            "source.chunk: chunk 0, stream 'word': index 10 in row 1 is not below dim 10");
  EXPECT_EQ(word([](Column& c) { c.indices[0] = -1; }),
            "source.chunk: chunk 0, stream 'word': index -1 in row 0 is not below dim 10");
  // A damaged row is not delivered: what its indices are is nobody's matter.
  EXPECT_EQ(with([](Chunk& c) {
              c.columns[1].indices[2] = 10;
              c.invalid = {Chunk::kValid, Chunk::kUnpaid};
            }),
            "none");
  EXPECT_EQ(with(
                [](Chunk& c) {
                  for (Column& column : c.columns) {
                    column.first_sample.resize(1);
                    column.begin.clear();
                    column.first_value.resize(1);
                    column.values.clear();
                    column.indices.clear();
                  }
                },
                true),
            "source.chunk: chunk 0, rows [1, 2): 0 rows, expected 1");
}

}  // namespace
}  // namespace batchfeed
