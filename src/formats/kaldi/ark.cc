// SPDX-License-Identifier: MIT
#include "formats/kaldi/ark.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/counted.h"
#include "base/cursor.h"
#include "base/quoted.h"
#include "base/saturate.h"

namespace batchfeed::kaldi {
namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads a text object token by token, in bounded memory.
class Tokens {
 public:
  static constexpr std::size_t kLongest = 64;

  Tokens(const io::File& file, std::uint64_t at) : file_(file), at_(at) {}

  std::uint64_t at() const noexcept { return at_ + next_; }
  // One character, or 0 at the end of the file.
  char peek() {
    if (next_ == block_.size()) {
      at_ += next_;
      next_ = 0;
      block_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most_, file_.size() - at_)));
      most_ = std::min<std::size_t>(4 * most_, 1u << 16);
      file_.read(at_, std::as_writable_bytes(std::span(block_)));
    }
    return block_.empty() ? '\0' : block_[next_];
  }
  void skip() { ++next_; }
  // Skips blanks, and returns the run of other characters behind them. `line_end`: whether the blanks had a line end.
  // Valid until the next call.
  std::string_view token(bool& line_end) {
    line_end = false;
    for (char c = peek(); is_blank(c); skip(), c = peek()) line_end = line_end || c == '\n';
    size_ = 0;
    for (char c = peek(); c != '\0' && !is_blank(c); skip(), c = peek()) {
      if (size_ == kLongest) io::fail_at(file_, at(), "kaldi.text", "a word of more than 64 bytes, expected a number");
      word_[size_++] = c;
    }
    return {word_.data(), size_};
  }

 private:
  const io::File& file_;
  std::uint64_t at_;
  std::vector<char> block_;
  std::size_t next_ = 0, most_ = 256;  // the first reads are small: a file may have very many short texts
  std::array<char, kLongest> word_{};
  std::size_t size_ = 0;
};

template <class T>
T number(const io::File& file, std::uint64_t at, std::string_view word) {
  T value{};
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc() || end != word.data() + word.size())
    io::fail_at(file, at, "kaldi.text",
                quoted(word) + (std::is_integral_v<T> ? " is not an integer from -2147483648 to 2147483647 as Kaldi "
                                                        "writes it"
                                                      : " is not a number"));
  return value;
}

// Reads a text matrix, calls value(row, column, double) for each value, and returns the item with its sizes.
template <class Value>
Item text_matrix(Tokens& in, const io::File& file, std::uint64_t offset, Value value) {
  bool line_end = false;
  if (in.token(line_end) != "[")
    io::fail_at(file, offset, "kaldi.object", "expected \\0B or '[', where an object begins",
                "is this an archive of matrices?");
  Item item{.kind = Kind::text_matrix, .data = offset};
  std::uint64_t in_row = 0;
  const auto end_row = [&] {
    if (in_row == 0) return;
    if (item.rows != 0 && in_row != item.cols)
      io::fail_at(file, in.at(), "kaldi.text",
                  "a row of " + counted(in_row, "value") + ", the first has " + std::to_string(item.cols));
    item.cols = in_row;
    ++item.rows;
    in_row = 0;
  };
  for (;;) {
    const std::string_view word = in.token(line_end);
    if (line_end) end_row();
    if (word.empty()) io::fail_at(file, in.at(), "kaldi.short", "the file ends in a matrix of text, which ends in ']'");
    if (word == "]") break;
    value(item.rows, in_row++, number<double>(file, in.at() - word.size(), word));
  }
  end_row();
  if (in.peek() == '\r') in.skip();
  if (in.peek() == '\n') in.skip();
  item.end = in.at();
  return item;
}

template <class Value>
Item text_integers(Tokens& in, const io::File& file, std::uint64_t offset, Value value) {
  Item item{.kind = Kind::text_integers, .cols = 1, .data = offset};
  for (;;) {
    while (in.peek() == ' ' || in.peek() == '\t' || in.peek() == '\r') in.skip();
    if (in.peek() == '\n' || in.peek() == '\0') break;
    bool line_end = false;
    const std::string_view word = in.token(line_end);
    value(item.rows++, number<std::int32_t>(file, in.at() - word.size(), word));
  }
  if (in.peek() == '\n') in.skip();
  item.end = in.at();
  return item;
}

// A size is a byte 4 and an int32.
std::optional<std::int32_t> size_field(Cursor& in) {
  if (in.field<std::uint8_t>() != std::uint8_t{4}) return std::nullopt;
  return in.field<std::int32_t>();
}

std::uint64_t bytes_of(const Item& item) {
  const std::uint64_t values = item.rows * item.cols;  // both below 2^31
  switch (item.kind) {
    case Kind::f32: return mul_sat(values, 4);
    case Kind::f64: return mul_sat(values, 8);
    case Kind::cm1: return add_sat(values, item.cols * 8);
    case Kind::cm2: return mul_sat(values, 2);
    case Kind::cm3: return values;
    case Kind::integers: return item.rows * 5;
    default: return 0;
  }
}

void expect_within(const Limits& limits, const Item& item, const io::File& file, std::uint64_t offset) {
  const auto expect = [&](const char* id, std::uint64_t n, const char* unit, std::uint64_t most, const char* limit) {
    if (n <= most) return;
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = id,
                      .at = {.file = file.path(), .byte = offset, .has_byte = true},
                      .what = "the object has " + counted(n, unit) + ", the limit is " + std::to_string(most),
                      .hint = std::string("raise limits.") + limit});
  };
  expect("limit.sequence", item.rows, "row", limits.sequence_samples, "sequence_samples");
  expect("limit.dim", item.cols, "column", limits.dim, "dim");
}

using Size = std::optional<std::int32_t>;

void take_sizes(Size rows, Size cols, const io::File& file, std::uint64_t at, Item& item) {
  if (!rows || !cols) io::fail_at(file, at, "kaldi.short", "no size of 4 bytes where one is due");
  if (*rows < 0 || *cols < 0)
    io::fail_at(file, at, "kaldi.size", "a size of " + std::to_string(std::min(*rows, *cols)));
  item.rows = static_cast<std::uint64_t>(*rows);
  item.cols = static_cast<std::uint64_t>(*cols);
}

// Reads the fields between \0B and the values. `offset` is that of the object, whose first bytes are in `in`.
Item integers_head(Cursor& in, const io::File& file, std::uint64_t offset) {
  Item item{.kind = Kind::integers};
  const Size rows = size_field(in);
  take_sizes(rows, 1, file, offset + in.at(), item);
  return item;
}

Item matrix_head(Cursor& in, const io::File& file, std::uint64_t offset) {
  std::string token;
  while (token.size() < 4 && !token.ends_with(' ')) {
    const auto c = in.field<char>();
    if (!c) break;
    token += *c;
  }
  Item item;
  if (token == "FM " || token == "DM ") {
    item.kind = token == "FM " ? Kind::f32 : Kind::f64;
    const Size rows = size_field(in), cols = size_field(in);
    take_sizes(rows, cols, file, offset + in.at(), item);
  } else if (token == "FV " || token == "DV ") {
    item.kind = token == "FV " ? Kind::f32 : Kind::f64;
    const Size cols = size_field(in);
    take_sizes(1, cols, file, offset + in.at(), item);
  } else if (token == "CM " || token == "CM2 " || token == "CM3 ") {
    item.kind = token == "CM " ? Kind::cm1 : token == "CM2 " ? Kind::cm2 : Kind::cm3;
    const auto least = in.field<float>(), range = in.field<float>();
    const Size rows = in.field<std::int32_t>(), cols = in.field<std::int32_t>();
    take_sizes(rows, cols, file, offset + in.at(), item);
    item.least = *least;
    item.range = *range;
  } else {
    io::fail_at(file, offset + 2, "kaldi.object", "an object of a kind that is no matrix",
                "known are FM, DM, FV, DV, CM, CM2 and CM3; set alignment for integers");
  }
  return item;
}

}  // namespace

Item read_item(const io::File& file, std::uint64_t offset, bool integers, const Limits& limits, const io::Block& block,
               std::uint64_t* looked_at) {
  if (offset >= file.size())
    io::fail_at(file, offset, "kaldi.short", "the file ends before the object at byte " + std::to_string(offset));
  std::array<std::byte, 32> raw;
  const std::size_t have = static_cast<std::size_t>(std::min<std::uint64_t>(raw.size(), file.size() - offset));
  block.read(file, offset, std::span(raw).first(have));
  Cursor in(std::span<const std::byte>(raw).first(have));
  if (have < 2 || raw[0] != std::byte{0}) {
    struct Count {
      std::uint64_t from, *bytes;
      const Tokens& in;
      ~Count() {
        if (bytes != nullptr) *bytes = in.at() - from;
      }
    };
    Tokens text(file, offset);
    const Count count{offset, looked_at, text};
    const auto ignore = [](auto&&...) {};
    Item item = integers ? text_integers(text, file, offset, ignore) : text_matrix(text, file, offset, ignore);
    expect_within(limits, item, file, offset);
    return item;
  }
  if (raw[1] != std::byte{'B'}) io::fail_at(file, offset, "kaldi.object", "\\0 without B where an object begins");
  (void)in.take(2, 1);
  Item item = integers ? integers_head(in, file, offset) : matrix_head(in, file, offset);
  item.data = offset + in.at();
  if (item.rows > 0 && item.cols == 0)
    io::fail_at(file, offset, "kaldi.size", counted(item.rows, "row") + " of no values");
  expect_within(limits, item, file, offset);
  const std::uint64_t bytes = bytes_of(item);
  if (bytes > file.size() - item.data) {
    io::fail_at(file, item.data, "kaldi.short",
                counted(bytes, "byte") + " needed for " + counted(item.rows, "row") + " of " +
                    counted(item.cols, "value") + ", the file ends after " + std::to_string(file.size() - item.data),
                "was the file cut off?");
  }
  item.end = item.data + bytes;
  return item;
}

namespace {

// The bytes at `at`: in the block, or else read into `scratch`.
const std::byte* bytes_at(const io::File& file, const io::Block& block, std::uint64_t at, std::size_t bytes,
                          Buffer<std::byte>& scratch) {
  if (const std::byte* const there = block.find({at, at + bytes})) return there;
  scratch.resize(bytes);
  file.read(at, {scratch.data(), bytes});
  return scratch.data();
}

// Factors are doubles where Kaldi's are, so that each value is its value to the last bit.
float step_of(float range, double part) noexcept { return static_cast<float>(static_cast<double>(range) * part); }

// CM: for each column four 16-bit marks in the range of values; behind these, by columns, one byte
// for each row, which interpolates between two marks of its column.
template <class T>
void expand_cm1(const std::byte* data, const Item& item, std::uint64_t first, std::uint64_t count, T* out) {
  const std::byte* codes = data + item.cols * 8;
  for (std::uint64_t c = 0; c < item.cols; ++c) {
    std::array<float, 4> mark;
    for (std::size_t i = 0; i < 4; ++i) {
      mark[i] = item.least +
                item.range * 1.52590218966964e-05F * static_cast<float>(load<std::uint16_t>(data + c * 8 + i * 2));
    }
    for (std::uint64_t r = 0; r < count; ++r) {
      const int code = std::to_integer<int>(codes[c * item.rows + first + r]);
      float value = 0;
      if (code <= 64) {
        value = mark[0] + (mark[1] - mark[0]) * static_cast<float>(code) * (1 / 64.0F);
      } else if (code <= 192) {
        value = mark[1] + (mark[2] - mark[1]) * static_cast<float>(code - 64) * (1 / 128.0F);
      } else {
        const double part = static_cast<double>((mark[3] - mark[2]) * static_cast<float>(code - 192)) * (1 / 63.0);
        value = static_cast<float>(static_cast<double>(mark[2]) + part);
      }
      out[r * item.cols + c] = static_cast<T>(value);
    }
  }
}

}  // namespace

template <class T>
void read_text(const io::File& file, const Item& item, const std::vector<Wanted<T>>& wanted) {
  std::vector<const Wanted<T>*> here;  // the ranges that have the current row
  std::size_t next = 0;
  std::uint64_t current = ~std::uint64_t{0};
  const auto take = [&](std::uint64_t row, std::uint64_t column, auto value) {
    if (row != current) {
      current = row;
      std::erase_if(here, [&](const Wanted<T>* one) { return row - one->first >= one->count; });
      for (; next < wanted.size() && wanted[next].first <= row; ++next) here.push_back(&wanted[next]);
    }
    if (here.empty()) return;
    if (column >= item.cols)
      io::fail_at(file, item.data, "kaldi.text", "a row of more than " + counted(item.cols, "value"));
    for (const Wanted<T>* one : here) one->out[(row - one->first) * item.cols + column] = static_cast<T>(value);
  };
  Tokens in(file, item.data);
  if constexpr (std::is_same_v<T, std::int32_t>) {
    text_integers(in, file, item.data, [&](std::uint64_t row, std::int32_t value) { take(row, 0, value); });
  } else {
    text_matrix(in, file, item.data, take);
  }
}

template void read_text<float>(const io::File&, const Item&, const std::vector<Wanted<float>>&);
template void read_text<double>(const io::File&, const Item&, const std::vector<Wanted<double>>&);
template void read_text<std::int32_t>(const io::File&, const Item&, const std::vector<Wanted<std::int32_t>>&);

template <class T>
void read_rows(const io::File& file, const io::Block& block, const Item& item, std::uint64_t first, std::uint64_t count,
               T* out, Buffer<std::byte>& scratch) {
  const std::size_t width = item.kind == Kind::f64 ? 8 : item.kind == Kind::f32 ? 4 : item.kind == Kind::cm2 ? 2 : 1;
  const std::size_t values = static_cast<std::size_t>(count * item.cols);
  const bool all = item.kind == Kind::cm1;  // stored by columns, so rows cannot be read apart
  const std::uint64_t at = all ? item.data : item.data + first * item.cols * width;
  const std::size_t bytes = all ? static_cast<std::size_t>(bytes_of(item)) : values * width;
  if (width == sizeof(T) && std::endian::native == std::endian::little)
    return block.read(file, at, {reinterpret_cast<std::byte*>(out), bytes});
  const std::byte* const from = bytes_at(file, block, at, bytes, scratch);
  switch (item.kind) {
    case Kind::f32:
      for (std::size_t i = 0; i < values; ++i) out[i] = static_cast<T>(load<float>(from + 4 * i));
      break;
    case Kind::f64:
      for (std::size_t i = 0; i < values; ++i) out[i] = static_cast<T>(load<double>(from + 8 * i));
      break;
    case Kind::cm1: expand_cm1(from, item, first, count, out); break;
    case Kind::cm2: {
      const float step = step_of(item.range, 1.0 / 65535.0);
      for (std::size_t i = 0; i < values; ++i)
        out[i] = static_cast<T>(item.least + static_cast<float>(load<std::uint16_t>(from + 2 * i)) * step);
      break;
    }
    case Kind::cm3: {
      const float step = step_of(item.range, 1.0 / 255.0);
      for (std::size_t i = 0; i < values; ++i)
        out[i] = static_cast<T>(item.least + static_cast<float>(std::to_integer<int>(from[i])) * step);
      break;
    }
    default: break;
  }
}

template void read_rows<float>(const io::File&, const io::Block&, const Item&, std::uint64_t, std::uint64_t, float*,
                               Buffer<std::byte>&);
template void read_rows<double>(const io::File&, const io::Block&, const Item&, std::uint64_t, std::uint64_t, double*,
                                Buffer<std::byte>&);

void read_integers(const io::File& file, const io::Block& block, const Item& item, std::uint64_t first,
                   std::uint64_t count, std::int32_t* out, Buffer<std::byte>& scratch) {
  const std::uint64_t at = item.data + first * 5;
  const std::size_t bytes = static_cast<std::size_t>(count) * 5;
  const std::byte* const raw = bytes_at(file, block, at, bytes, scratch);
  for (std::size_t i = 0; i < bytes; i += 5) {
    if (raw[i] != std::byte{4})
      io::fail_at(file, at + i, "kaldi.integer",
                  "an integer of " + counted(std::to_integer<int>(raw[i]), "byte") + ", expected 4");
    *out++ = load<std::int32_t>(raw + i + 1);
  }
}

}  // namespace batchfeed::kaldi
