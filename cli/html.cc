// SPDX-License-Identifier: MIT
#include "html.h"

#include <fmt/format.h>

#include <algorithm>

namespace batchfeed::cli {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --paper: #ffffff; --line: #d8dee4; --bar: #2f6fb5;
  --card: #f6f8fa; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9aa5b1; --paper: #12161b; --line: #333b44;
  --bar: #6fb1f5; --card: #1a2027; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .8rem; }
h3 { font-size: 1.05rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
p { margin: .4rem 0; } .dim { color: var(--dim); } .bad { color: var(--bad); font-weight: 600; }
nav { display: flex; flex-wrap: wrap; gap: 0 1rem; } a { color: var(--bar); } a:focus-visible, summary:focus-visible { outline: 2px solid var(--bar); }
.glance { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(9rem, 100%), 1fr)); gap: .8rem; margin: 1.2rem 0; }
.glance div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.glance b { display: block; font-size: 1.3rem; overflow-wrap: anywhere; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 0 0 1rem; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: 1.2rem; }
.two > * { min-width: 0; } .two > :empty { display: none; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; } dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
caption { text-align: left; color: var(--dim); padding-bottom: .3rem; }
th, td { padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th.n, td.n { text-align: right; white-space: nowrap; }
.found { list-style: none; padding: 0; } .found li { display: grid; grid-template-columns: 4.5rem minmax(8rem, 1fr) 3fr; gap: 0 .8rem;
  margin: 0; padding: .35rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; } .found li > * { min-width: 0; }
.found em { font-style: normal; } .found span span { display: block; }
@media (max-width: 40rem) { .found li { grid-template-columns: 4.5rem 1fr; } .found li > span { grid-column: 1 / -1; } }
figure { margin: 0; } figcaption { color: var(--dim); font-size: .9rem; } svg { width: 100%; height: auto; display: block; }
svg rect { fill: var(--bar); } svg text { fill: var(--dim); font: 11px system-ui, sans-serif; } svg line { stroke: var(--line); }
.rank th { font-weight: 400; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; max-width: 11rem; } .rank td, .rank th { border: 0; padding: .1rem .6rem .1rem 0;
  vertical-align: middle; } .rank .bar { width: 100%; }
.rank i { display: block; height: .8rem; background: var(--bar); border-radius: 2px; min-width: 1px; }
ul { padding-left: 1.2rem; } li { margin: .35rem 0; } footer { margin-top: 3rem; font-size: .9rem; }
@media print { body { max-width: none; padding: 0; } .card, tr, li { break-inside: avoid; } h2, h3 { break-after: avoid; } nav { display: none; }
  .rank i { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string table(std::string_view caption, const Row& head, const std::vector<Row>& rows) {
  const auto line = [&](const Row& cells, const char* tag) {
    std::string out = "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      out += fmt::format("<{0}{2}{3}>{1}</{0}>", tag, cells[i], tag[1] == 'h' ? " scope=\"col\"" : "",
                         i != 0 ? " class=\"n\"" : "");
    }
    return out + "</tr>\n";
  };
  std::string out = fmt::format("<div class=\"wide\"><table><caption>{}</caption>\n<thead>{}</thead><tbody>\n", caption,
                                line(head, "th"));
  for (const Row& row : rows) out += line(row, "td");
  return out + "</tbody></table></div>\n";
}

std::string facts_list(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<dl>\n";
  for (const auto& [what, value] : facts) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", what, value);
  return out + "</dl>\n";
}

std::string histogram(std::string_view title, const std::vector<Bar>& bars, std::string_view from,
                      std::string_view to) {
  if (bars.empty()) return "";
  constexpr double kWidth = 460, kHeight = 110, kFoot = 16;
  double most = 0;
  for (const Bar& bar : bars) most = std::max(most, bar.value);
  const double width = kWidth / static_cast<double>(bars.size());
  std::string out = fmt::format("<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}, from {} to {}\">\n",
                                kWidth, kHeight + kFoot, title, from, to);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    // A value above 0 is at least one pixel high.
    const double height = bars[i].value == 0 || most == 0 ? 0 : std::max(1.0, kHeight * bars[i].value / most);
    out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>{}</title></rect>\n",
                       width * static_cast<double>(i), kHeight - height, std::max(0.5, width - (width > 4 ? 1 : 0)),
                       height, bars[i].label);
  }
  out += fmt::format(
      "<line x1=\"0\" y1=\"{0}\" x2=\"{1}\" y2=\"{0}\"/><text x=\"0\" y=\"{2}\">{3}</text>"
      "<text x=\"{1}\" y=\"{2}\" text-anchor=\"end\">{4}</text></svg>\n<figcaption>{5}</figcaption></figure>\n",
      kHeight + 0.5, kWidth, kHeight + kFoot - 3, from, to, title);
  return out;
}

std::string ranking(std::string_view title, const std::vector<Bar>& bars, const std::vector<std::string>& figures) {
  double most = 0;
  for (const Bar& bar : bars) most = std::max(most, bar.value);
  std::string out = fmt::format("<table class=\"rank\"><caption>{}</caption><tbody>\n", title);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"bar\"><i style=\"width:{:.1f}%\"></i></td><td "
        "class=\"n\">{}</td></tr>\n",
        bars[i].label, most == 0 ? 0 : 100 * bars[i].value / most, figures[i]);
  }
  return out + "</tbody></table>\n";
}

std::string page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} - batchfeed report</title>\n"
      "<style>{}</style></head>\n<body>\n{}</body></html>\n",
      title, kStyle, body);
}

}  // namespace batchfeed::cli
