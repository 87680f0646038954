// SPDX-License-Identifier: MIT
//
// CNTKBinaryReader and CNTKBinaryFormatDeserializer.
#include <algorithm>
#include <utility>

#include "config/binder.h"
#include "config/order_keys.h"

namespace batchfeed::config {

CbfOptions bind_cbf_source(Binder& binder, const Section& section, const PushedDown* pushed) {
  CbfOptions out;
  const Reach reach = pushed != nullptr ? Reach::own : Reach::surprising;
  binder.attempt([&] { out.files = binder.files(section, reach); });
  out.element = binder.precision(pushed != nullptr ? *pushed->reader : section);
  out.trace_level = pushed != nullptr && !section.has("traceLevel") ? binder.trace_level(*pushed->reader, 1)
                                                                    : binder.trace_level(section, 1);
  if (const Entry* entry = section.entry("input"); entry != nullptr && !entry->value.empty()) {
    const Section& input = section.child("input");
    if (input.entries().size() > binder.doc().limits().streams) {
      binder.doc().over_limit(entry->key_at, "streams", binder.doc().limits().streams,
                              input.path() + ": too many streams");
    }
    for (const auto& [key, stream] : input.entries()) {
      const Section& one = input.child(key);
      const auto alias = binder.value(one, "alias", Reach::own);
      if (alias && alias->text.empty()) binder.missing(one, "alias", alias->key_at);
      CbfOptions::Rename rename{.name = stream.key, .alias = alias ? std::string(alias->text.bytes()) : stream.key};
      binder.check_keys(one, "CNTKBinaryReader.input.STREAM");
      // Of several names for one stream of the file the last wins.
      const auto same = [&](const CbfOptions::Rename& other) { return other.alias == rename.alias; };
      if (const auto old = std::find_if(out.renames.begin(), out.renames.end(), same); old != out.renames.end()) {
        binder.doc().warn(stream.key_at, "duplicate-alias",
                          input.path() + ": streams " + quoted(old->name) + " and " + quoted(rename.name) +
                              " both read " + quoted(rename.alias) + "; it is delivered as " + quoted(rename.name),
                          "give each stream its own alias");
        out.renames.erase(old);
      }
      out.renames.push_back(std::move(rename));
    }
  }
  if (pushed != nullptr) {
    check_ignored_order_keys(binder, section);
    binder.check_keys(section, "CNTKBinaryFormatDeserializer");
  }
  return out;
}

void bind_cbf_reader(Binder& binder, const Section& reader, Setup& setup) {
  CbfOptions source = bind_cbf_source(binder, reader, nullptr);
  setup.reader.local_timeline = false;
  setup.reader.keep_in_memory = binder.flag(reader, "keepDataInMemory", false, Reach::surprising);
  bind_old_order(binder, reader, 128, setup.reader.order);
  setup.sources.emplace_back(std::move(source));
  binder.check_keys(reader, "CNTKBinaryReader");
}

}  // namespace batchfeed::config
