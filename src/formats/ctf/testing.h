// SPDX-License-Identifier: MIT
//
// What the tests of this folder share.
#pragma once

#include <batchfeed/options.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/open_context.h"

namespace batchfeed::ctf {

// "A:d3", "B=x:s10!": dense or sparse, dim, alias, defines the minibatch size.
inline StreamSpec parse_stream(std::string text) {
  StreamSpec spec;
  if (text.back() == '!') {
    spec.defines_mb_size = true;
    text.pop_back();
  }
  const std::size_t colon = text.rfind(':');
  spec.storage = text[colon + 1] == 's' ? Storage::sparse : Storage::dense;
  spec.dim = std::stoull(text.substr(colon + 2));
  const std::string name = text.substr(0, colon);
  const std::size_t equals = name.find('=');
  spec.name = name.substr(0, equals);
  if (equals != std::string::npos) spec.alias = name.substr(equals + 1);
  return spec;
}

inline CtfOptions options_for(const std::vector<std::string>& streams, std::uint64_t max_errors = 0) {
  CtfOptions options;
  for (const std::string& s : streams) options.streams.push_back(parse_stream(s));
  options.element = Element::f64;
  options.max_errors = max_errors;
  return options;
}

// Tells nobody.
inline OpenContext quiet_context(KeyMode keys = KeyMode::numeric) {
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(keys);
  return context;
}

// Keeps what is told, by whatever thread.
struct Collector {
  std::mutex mutex;
  std::vector<Notice> notices;
  OpenContext context(KeyMode keys = KeyMode::numeric) {
    OpenContext c;
    c.keys = std::make_shared<KeyTable>(keys);
    c.report = [this](const Notice& n) {
      const std::lock_guard lock(mutex);
      notices.push_back(n);
    };
    return c;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> out;
    for (const Notice& n : notices) out.push_back(n.fault.id);
    return out;
  }
};

// \n \r \t \xHH
inline std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'x':
        out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
        i += 2;
        break;
      default: out += text[i];
    }
  }
  return out;
}

}  // namespace batchfeed::ctf
