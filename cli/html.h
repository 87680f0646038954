// SPDX-License-Identifier: MIT
//
// The few pieces of HTML and SVG that the report is made of. Texts from outside
// go through escape().
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchfeed::cli {

std::string escape(std::string_view text);

using Row = std::vector<std::string>;  // cells, escaped already
// Columns behind the first stand right.
std::string table(std::string_view caption, const Row& head, const std::vector<Row>& rows);

// A list of names and what is to say of them.
std::string facts_list(const std::vector<std::pair<std::string, std::string>>& facts);

// One bar of a chart; `label` is read out and shown under the pointer.
struct Bar {
  std::string label;
  double value = 0;
};
// Upright bars side by side, for histograms; `from` and `to` stand below the ends.
std::string histogram(std::string_view title, const std::vector<Bar>& bars, std::string_view from, std::string_view to);
// Bars lying one below the other, each with its label and `figures[i]`.
std::string ranking(std::string_view title, const std::vector<Bar>& bars, const std::vector<std::string>& figures);

// The page around `body`.
std::string page(std::string_view title, std::string_view body);

}  // namespace batchfeed::cli
