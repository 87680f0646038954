// SPDX-License-Identifier: MIT
//
// Any bytes as a configuration: it is read, or refused with a located fault. The text
// behind a NUL byte is passed as --set, so that overriding is tried too.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/load.h"

namespace {

using namespace batchfeed;

// A fault that names a line of the text must have a byte and a column inside it.
void check(const Fault& fault, const std::string& text) {
  if (fault.what.empty()) std::abort();
  if (fault.at.file != "c.cntk") return;
  if (fault.at.line == 0) return;
  if (fault.at.byte > text.size() || fault.at.column == 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > (1u << 16)) return 0;
  std::string text(reinterpret_cast<const char*>(data), size);
  std::string set;
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {
    set = text.substr(nul + 1);
    text.resize(nul);
  }
  ConfigRequest request;
  request.limits.config_bytes = 1u << 20;
  request.limits.config_expansions = 10'000;
  const config::Open open = [&](const std::string& path) -> std::string {
    if (path == "c.cntk") return text;
    if (path == "d.cntk") return "d=1\nreader=[traceLevel=1]\n";
    throw Error({.kind = FaultKind::io, .id = "io.open", .at = {.file = path}, .what = "no such file"});
  };
  try {
    config::Document doc(request.limits, [&](const Notice& notice) { check(notice.fault, text); });
    std::vector<config::Input> inputs{{.name = "c.cntk", .text = {}, .is_file = true}};
    if (!set.empty()) inputs.push_back({.name = "set#1", .text = set, .is_file = false});
    doc.load(inputs, open);
    for (const std::string& path : config::find_readers(doc)) {
      request.section = path;
      try {
        const LoadedConfig loaded = config::load(doc, request);
        for (const ResolvedValue& value : loaded.resolved) {
          if (value.at.file == "c.cntk" && value.at.byte > text.size()) std::abort();
        }
      } catch (const Error& error) {
        check(error.fault(), text);
      }
    }
    request.section.clear();
    config::load(doc, request);
  } catch (const Error& error) {
    check(error.fault(), text);
  }
  return 0;
}
