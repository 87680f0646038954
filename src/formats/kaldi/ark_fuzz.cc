// SPDX-License-Identifier: MIT
//
// Input: a byte that chooses the options, a byte with the length of the list, the list, and
// a Kaldi archive. "@" in the list stands for the path of the archive. Without a list the
// archive is read by itself.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "formats/kaldi/infer.h"
#include "formats/kaldi/kaldi.h"
#include "support/fuzz_file.h"

using namespace batchfeed;

namespace {

// A link with the extension .scp to a file in memory, as a list is recognised by its extension.
class Link {
 public:
  explicit Link(const std::string& to)
      : path_((std::filesystem::temp_directory_path() / ("fuzz" + std::to_string(::getpid()) + ".scp")).string()) {
    std::filesystem::remove(path_);
    std::filesystem::create_symlink(to, path_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    std::error_code none;
    std::filesystem::remove(path_, none);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > (1u << 16)) return 0;
  const unsigned choice = data[0];
  const testing::ListedFile file(data, size);
  std::optional<Link> link;
  if (file.has_list()) link.emplace(file.scp());
  KaldiOptions options{.name = "x", .files = {link ? link->path() : file.archive()}};
  options.alignment = (choice & 1) != 0;
  if (options.alignment) options.dim = 5;
  if ((choice & 2) != 0 && !options.alignment) options.context = {{1, 2}};
  options.expand_to_utterance = (choice & 4) != 0 && !options.alignment;
  if ((choice & 16) != 0) options.element = Element::f64;
  options.chunk_frames = 5;
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  context.check = (choice & 8) != 0;
  context.limits.label_frames = 100'000;
  context.limits.dim = 1 << 16;
  try {
    testing::read_everything(kaldi::open(options, context));
  } catch (const Error& error) {
    testing::check_fault(error);
  }
  try {
    if (kaldi::holds_alignments(options.files.front(), context) && options.alignment)
      testing::require(kaldi::count_classes(options, context) >= 1);
  } catch (const Error& error) {
    testing::check_fault(error);
  }
  return 0;
}
