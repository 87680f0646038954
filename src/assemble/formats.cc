// SPDX-License-Identifier: MIT
//
// The list of formats. Each has a row in Opener, which opens it, and one in NatureOf, which describes it; deleting
// these rows and the format's folder deletes the format.
#include "assemble/open.h"
#include "formats/cbf/cbf.h"
#include "formats/ctf/ctf.h"
#include "formats/htk/htk.h"
#include "formats/kaldi/kaldi.h"
#include "formats/mlf/mlf.h"
#include "join/join.h"
#include "model/shared_source.h"

namespace batchfeed::assemble {

namespace {

template <class Open>
std::unique_ptr<Source> shards(const std::vector<std::string>& files, const OpenContext& context, join::Keys keys,
                               Open&& open) {
  std::vector<std::unique_ptr<Source>> out;
  for (const std::string& file : expand(files, context.file_system, context.limits, context.report))
    out.push_back(open(file));
  return join::concatenate(std::move(out), keys);
}

struct Opener {
  const OpenContext& context;

  std::unique_ptr<Source> operator()(const CtfOptions& o) const {
    return shards(o.files, context, join::Keys::shared,
                  [&](const std::string& file) { return ctf::open(o, file, context); });
  }
  std::unique_ptr<Source> operator()(const CbfOptions& o) const {
    return shards(o.files, context, join::Keys::numbered,
                  [&](const std::string& file) { return cbf::open(o, file, context); });
  }
  std::unique_ptr<Source> operator()(const HtkOptions& o) const { return htk::open(o, context); }
  std::unique_ptr<Source> operator()(const MlfOptions& o) const { return mlf::open(o, context); }
  std::unique_ptr<Source> operator()(const KaldiOptions& o) const { return kaldi::open(o, context); }
  std::unique_ptr<Source> operator()(const std::shared_ptr<const Source>& source) const {
    if (source) return std::make_unique<SharedSource>(source);
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "open.null-source",
                      .what = "a source of the setup is null",
                      .hint = "give one, or leave it out"});
  }
};

struct NatureOf {
  Nature operator()(const CtfOptions&) const { return {}; }
  Nature operator()(const CbfOptions&) const { return {.is_numbered = true}; }
  Nature operator()(const HtkOptions&) const {
    return {.is_speech = true, .leave_out = htk::leave_out, .too_long = htk::too_long};
  }
  Nature operator()(const MlfOptions&) const { return {.is_speech = true, .may_be_first = false}; }
  Nature operator()(const KaldiOptions&) const { return {.is_speech = true}; }
  Nature operator()(const std::shared_ptr<const Source>&) const { return {.has_numbers = true}; }
};

}  // namespace

Nature nature_of(const SourceOptions& options) { return std::visit(NatureOf{}, options); }

std::unique_ptr<Source> open_one(const SourceOptions& options, const OpenContext& context) {
  return std::visit(Opener{context}, options);
}

}  // namespace batchfeed::assemble
