// SPDX-License-Identifier: MIT
#include "config/file_keys.h"

namespace batchfeed::config {

int bind_trace_level(Binder& binder, const Section& section, const PushedDown* pushed, bool any) {
  return binder.trace_level(pushed != nullptr && !section.has("traceLevel") ? *pushed->reader : section, any);
}

std::optional<Value> bind_alias(Binder& binder, const Section& stream) {
  auto alias = binder.value(stream, "alias", Reach::own);
  if (alias && alias->text.empty()) binder.missing(stream, "alias", alias->key_at);
  return alias;
}

const Section& bind_input(Binder& binder, const Section& owner, const Entry& entry) {
  const Section& input = owner.child("input");
  const std::uint64_t most = binder.doc().limits().streams;
  if (input.entries().size() > most)
    binder.doc().over_limit(entry.key_at, "streams", most, input.path() + ": too many streams");
  return input;
}

}  // namespace batchfeed::config
