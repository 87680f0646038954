// SPDX-License-Identifier: MIT
//
// For tests: the example files of docs/reference/formats/cbf.md, byte for byte,
// and small helpers to change and to open such bytes.
#pragma once

#include <batchfeed/source.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "formats/cbf/cbf.h"

namespace batchfeed::cbf::golden {

using Bytes = std::vector<std::uint8_t>;

inline Bytes from_hex(const char* text) {
  Bytes out;
  std::istringstream in(text);
  for (unsigned byte = 0; in >> std::hex >> byte;) out.push_back(static_cast<std::uint8_t>(byte));
  return out;
}

// Two sequences, streams feat (dense 2) and lab (sparse 5).
inline Bytes modern() {
  return from_hex(
      "6e 69 62 5f 6b 74 6e 63 01 00 00 00 03 00 00 00 01 00 00 00 02 00 00 00 00 00 80 3f 00 00 00 40"
      " 00 00 40 40 00 00 80 40 01 00 00 00 00 00 a0 40 00 00 c0 40 03 00 00 00 04 00 00 00 00 00 00 3f"
      " 00 00 00 40 00 00 80 3f 00 00 80 bf 01 00 00 00 03 00 00 00 00 00 00 00 02 00 00 00 02 00 00 00"
      " 01 00 00 00 01 00 00 00 01 00 00 00 01 00 00 00 00 00 00 41 04 00 00 00 01 00 00 00 6e 69 62 5f"
      " 6b 74 6e 63 01 00 00 00 02 00 00 00 00 04 00 00 00 66 65 61 74 00 02 00 00 00 01 03 00 00 00 6c"
      " 61 62 00 05 00 00 00 0c 00 00 00 00 00 00 00 02 00 00 00 04 00 00 00 7c 00 00 00 00 00 00 00");
}

// The older layout; lab's first sequence has two samples.
inline Bytes legacy() {
  return from_hex(
      "01 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 04 00 00 00 66 65 61 74 00 00 00 00"
      " 00 00 00 00 02 00 00 00 03 00 00 00 6c 61 62 01 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 05"
      " 00 00 00 00 00 00 00 00 00 00 00 02 00 00 00 03 00 00 00 00 00 80 3f 00 00 00 40 00 00 a0 40 00"
      " 00 c0 40 04 00 00 00 00 00 00 3f 00 00 00 40 00 00 80 3f 00 00 00 41 01 00 00 00 03 00 00 00 05"
      " 00 00 00 04 00 00 00 00 00 00 00 03 00 00 00 04 00 00 00");
}

// A sparse sequence of doubles, dim 10: {}, {7: 1.5}, {2: -1, 9: 4}.
inline Bytes sparse_sequence() {
  return from_hex(
      "03 00 00 00 03 00 00 00 00 00 00 00 00 00 f8 3f 00 00 00 00 00 00 f0 bf 00 00 00 00 00 00 10 40"
      " 07 00 00 00 02 00 00 00 09 00 00 00 00 00 00 00 01 00 00 00 02 00 00 00");
}

template <class T>
void put(Bytes& bytes, T value) {
  std::uint8_t raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
}
template <class T>
Bytes with(Bytes bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
  return bytes;
}

// A file that is gone with its object.
class TempFile {
 public:
  explicit TempFile(const Bytes& bytes = {}) {
    char pattern[] = "/tmp/batchfeed_cbf_XXXXXX";
    const int fd = ::mkstemp(pattern);
    path_ = pattern;
    if (fd >= 0) ::close(fd);
    write(bytes);
  }
  ~TempFile() { ::unlink(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  void write(const Bytes& bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    for (const std::uint8_t b : bytes) out.put(static_cast<char>(b));
  }
  Bytes bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Opens a file and keeps what it reports.
struct Opened {
  std::vector<Notice> notices;
  std::unique_ptr<Source> source;

  explicit Opened(const std::string& path, CbfOptions options = {}, bool check = false) {
    OpenContext context;
    context.report = [this](const Notice& n) { notices.push_back(n); };
    context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
    context.check = check;
    source = open(options, path, context);
  }
  bool reported(const std::string& id) const {
    for (const Notice& n : notices) {
      if (n.fault.id == id) return true;
    }
    return false;
  }
};

}  // namespace batchfeed::cbf::golden
