// SPDX-License-Identifier: MIT
#include "config/binder.h"
namespace batchfeed::config {
namespace {
[[noreturn]] void not_yet(Binder& binder, const Section& s) {
  binder.doc().fail(s.at(), "unsupported", s.path() + ": speech readers cannot be configured yet");
}
}  // namespace
void bind_speech_shim(Binder& b, const Section& s, Setup&) { not_yet(b, s); }
void bind_speech_legacy(Binder& b, const Section& s, Setup&) { not_yet(b, s); }
HtkOptions bind_htk_source(Binder& b, const Section& s, const PushedDown&) { not_yet(b, s); }
MlfOptions bind_mlf_source(Binder& b, const Section& s, const PushedDown&, bool) { not_yet(b, s); }
}  // namespace batchfeed::config
