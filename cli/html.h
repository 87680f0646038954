// SPDX-License-Identifier: MIT
//
// The few pieces of HTML and SVG that the report is made of. Text from files or users must go
// through escape().
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchfeed::cli {

std::string escape(std::string_view text);

using Row = std::vector<std::string>;  // cells, escaped already
// Columns behind the first are aligned to the right.
std::string table(std::string_view caption, const Row& head, const std::vector<Row>& rows);

// A list of names, each with a text.
std::string facts_list(const std::vector<std::pair<std::string, std::string>>& facts);

// One bar of a chart; `label` is for screen readers and shown under the pointer.
struct Bar {
  std::string label;
  double value = 0;
};
// Vertical bars side by side; `from` and `to` stand below the first and the last.
std::string histogram(std::string_view title, const std::vector<Bar>& bars, std::string_view from, std::string_view to);
// Horizontal bars one below the other, bar i with its label and `figures[i]`.
std::string ranking(std::string_view title, const std::vector<Bar>& bars, const std::vector<std::string>& figures);

// The page around `body`.
std::string page(std::string_view title, std::string_view body);

}  // namespace batchfeed::cli
