// SPDX-License-Identifier: MIT
//
// Writes HTK features and MLF labels, utterance by utterance.
//
//   batchfeed::HtkWriter features("out.scp", {.dim = 40});       // and out.htk beside it
//   features.append("speaker/utt1", frames, values);
//   features.commit();
//
//   batchfeed::MlfWriter labels("out.mlf", {.names = {"sil", "a"}});
//   const batchfeed::MlfSegment segments[] = {{.label = 0, .frames = 3}, {.label = 1, .frames = 2}};
//   labels.append("speaker/utt1", segments);
//   labels.commit();
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

enum class HtkLayout : std::uint8_t {
  archive,  // PATH is an scp; all frames are in one file beside it, PATH with the extension .htk
  files,    // PATH is an scp; one file an utterance, in a folder of that name, as KEY.htk
  single,   // PATH is a parameter file of one utterance, whose key is not kept
};

struct HtkWriterOptions {
  std::uint64_t dim = 0;           // values of a frame, 1 to 16383
  std::uint32_t period = 100'000;  // of a frame, in 100 ns; 1 to 10'000'000
  std::uint16_t kind = 9;          // the parameter kind, as htk_kind() gives it; 9 is USER
  HtkLayout layout = HtkLayout::archive;
  bool replace = true;  // else what exists is refused, list or companion, also by commit()
};

// Big-endian float32, as HTK writes. The list names `KEY.htk=.../FILE[first,last]`,
// where `...` is the folder of the list: the two can be moved together. The same
// utterances give the same bytes. Everything appears at commit(), or nothing.
// All functions throw Error. Not thread-safe.
class HtkWriter {
 public:
  HtkWriter(std::string path, HtkWriterOptions options);
  HtkWriter(HtkWriter&&) noexcept;
  HtkWriter& operator=(HtkWriter&&) noexcept;
  ~HtkWriter();

  // frames x dim values, one frame after the other; at least one frame.
  void append(std::string_view key, std::uint64_t frames, const float* values);
  // Does all of commit() that is likely to fail, so that of several files all or none get their names. Afterwards only
  // commit() may be called.
  void seal();
  void commit();

  std::uint64_t utterances() const noexcept;
  std::uint64_t frames() const noexcept;
  std::uint64_t bytes() const noexcept;

  // What stands beside the list, a file or a folder; empty for HtkLayout::single.
  static std::string companion(const std::string& path, HtkLayout layout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The kind of a parameter file as HTK spells it ("MFCC_0_D_A") as the number of
// the header. Throws Error for what batchfeed cannot read back, compressed kinds
// and checksums among them.
std::uint16_t htk_kind(std::string_view text);

// A run of frames of one class.
struct MlfSegment {
  std::uint32_t label = 0;
  std::uint32_t frames = 0;  // 0: nothing is written
};

struct MlfWriterOptions {
  bool binary = false;
  // Of the classes, in order. Empty: text gets the number of the class as name and
  // in a fourth column, which is how files without a list of states are read.
  // Binary files hold numbers only.
  std::vector<std::string> names = {};
  bool replace = true;  // else a file that exists is refused, also by commit()
};

// Text: times in 100 ns, a frame being 10 ms; keys as "*/KEY.lab". Binary:
// version 2; runs of more than 65535 frames are cut. A repeated key is refused; to find
// it, 11 to 22 bytes of memory are kept for each key. The file appears at commit() or
// not at all. All functions throw Error. Not thread-safe.
class MlfWriter {
 public:
  MlfWriter(std::string path, MlfWriterOptions options);
  MlfWriter(MlfWriter&&) noexcept;
  MlfWriter& operator=(MlfWriter&&) noexcept;
  ~MlfWriter();

  void append(std::string_view key, std::span<const MlfSegment> segments);
  void seal();  // as HtkWriter
  void commit();

  std::uint64_t utterances() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace batchfeed
