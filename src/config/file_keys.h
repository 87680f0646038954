// SPDX-License-Identifier: MIT
//
// What the text and the binary reader have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "config/binder.h"
#include "config/order_keys.h"

namespace batchfeed::config {

// `traceLevel` of a reader; of a deserializer that has none, its reader's.
// `any`: as Binder::trace_level() says.
int bind_trace_level(Binder& binder, const Section& section, const PushedDown* pushed, bool any);

// The name a stream has in the file, if it is another; an empty one is a fault.
std::optional<Value> bind_alias(Binder& binder, const Section& stream);

// The section `input` of `owner`, which `entry` holds. Throws Error (limit): too many streams.
const Section& bind_input(Binder& binder, const Section& owner, const Entry& entry);

// Keys of a reader that is no deserializer, besides those of its source; `window` is the default in chunks.
template <class Options>
void bind_own_reader(Binder& binder, const Section& reader, std::uint64_t window, Options source, Setup& setup) {
  setup.reader.local_timeline = false;
  binder.expect(Binder::Form::size, reader, "nbruttsineachrecurrentiter");
  setup.reader.keep_in_memory = binder.flag(reader, "keepDataInMemory", false, Reach::surprising);
  bind_old_order(binder, reader, window, setup.reader.order);
  setup.sources.emplace_back(std::move(source));
}

}  // namespace batchfeed::config
