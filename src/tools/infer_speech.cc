// SPDX-License-Identifier: MIT
//
// Infers the sources of speech files that come without a configuration: features first, then labels,
// one source for all files of a kind.
#include <batchfeed/tools.h>

#include <algorithm>

#include "assemble/open.h"
#include "formats/kaldi/infer.h"
#include "formats/mlf/infer.h"
#include "formats/mlf/states.h"
#include "tools/refuse.h"

namespace batchfeed {

namespace {

std::string unused_name(const char* wish, const std::vector<std::string>& taken) {
  std::string out = wish;
  for (int n = 2; std::find(taken.begin(), taken.end(), out) != taken.end(); ++n) out = wish + std::to_string(n);
  return out;
}

}  // namespace

std::vector<SourceOptions> infer_speech(const std::vector<std::string>& files, const std::string& state_list,
                                        Element element, const Limits& limits, const FileSystem& file_system,
                                        const Report& report) {
  Setup setup;
  setup.limits = limits;
  setup.file_system = file_system;
  setup.reader.keys = KeyMode::text;
  OpenContext context = assemble::context_of(setup);
  context.check = true;  // damage is passed over here, and reported when the files are opened
  HtkOptions htk{.element = element};
  MlfOptions mlf{.mapping_file = state_list, .element = element};
  KaldiOptions matrices{.element = element}, alignments{.alignment = true, .element = element};
  for (const std::string& file : assemble::expand(files, file_system, limits, report)) {
    switch (const Format format = detect_format(file, file_system, limits)) {
      case Format::scp: htk.scp_files.push_back(file); break;
      case Format::htk: htk.files.push_back(file); break;
      case Format::mlf: mlf.files.push_back(file); break;
      case Format::kaldi: (kaldi::holds_alignments(file, context) ? alignments : matrices).files.push_back(file); break;
      default:
        refuse(
            "infer.mixed", file, "a file of format " + std::string(name(format)) + " together with speech",
            "a .cntk configuration joins them by key: deserializers = ( [ type = \"HTKFeatureDeserializer\" ; module "
            "= \"HTKDeserializers\" ... ] : [ type = \"CNTKTextFormatDeserializer\" ; module = "
            "\"CNTKTextFormatReader\" ... ] )");
    }
  }
  std::vector<SourceOptions> out;
  std::vector<std::string> names;
  const auto add = [&](auto& options, const char* name) {
    options.name = names.emplace_back(unused_name(name, names));
    out.emplace_back(options);
  };
  if (!htk.scp_files.empty() || !htk.files.empty()) add(htk, "features");
  if (!matrices.files.empty()) add(matrices, "features");
  if (!mlf.files.empty()) {
    mlf::infer(mlf, context);
    add(mlf, "labels");
  }
  if (!alignments.files.empty()) {
    alignments.dim = kaldi::count_classes(alignments, context);
    add(alignments, "labels");
  }
  return out;
}

std::vector<std::string> read_state_list(const std::string& path, const Limits& limits, const FileSystem& file_system) {
  const mlf::StateList states(path, limits, file_system);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < states.size(); ++i) out.emplace_back(states.name(i));
  return out;
}

}  // namespace batchfeed
