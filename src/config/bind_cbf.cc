// SPDX-License-Identifier: MIT
//
// CNTKBinaryReader and CNTKBinaryFormatDeserializer.
#include <algorithm>
#include <utility>

#include "config/file_keys.h"

namespace batchfeed::config {

CbfOptions bind_cbf_source(Binder& binder, const Section& section, const PushedDown* pushed) {
  CbfOptions out;
  const Reach reach = pushed != nullptr ? Reach::own : Reach::surprising;
  binder.attempt([&] { out.files = binder.files(section, reach); });
  out.element = binder.precision(pushed != nullptr ? *pushed->reader : section, pushed != nullptr);
  out.trace_level = bind_trace_level(binder, section, pushed, true);
  if (const Entry* entry = section.entry("input"); entry != nullptr && !entry->value.empty()) {
    const Section& input = bind_input(binder, section, *entry);
    for (const auto& [key, stream] : input.entries()) {
      const Section& one = input.child(key);
      const auto alias = bind_alias(binder, one);
      CbfOptions::Rename rename{.name = stream.key, .alias = alias ? std::string(alias->text.bytes()) : stream.key};
      binder.check_keys(one, "CNTKBinaryReader.input.STREAM");
      // If several entries read the same stream of the file, the last one names it.
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
  bind_own_reader(binder, reader, 128, bind_cbf_source(binder, reader, nullptr), setup);
  binder.check_keys(reader, "CNTKBinaryReader");
}

}  // namespace batchfeed::config
