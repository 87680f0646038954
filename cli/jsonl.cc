// SPDX-License-Identifier: MIT
#include "jsonl.h"

#include <nlohmann/json.hpp>

#include "hints.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

template <class T>
const T* as(const Buffer<std::byte>& bytes) {
  return reinterpret_cast<const T*>(bytes.data());
}

template <class T>
void dense_columns(const CntkDenseView& view, Text& out) {
  const T* value = as<T>(view.values);
  for (std::uint64_t c = 0; c < view.columns; ++c) {
    out.add(c == 0 ? std::string_view("[") : std::string_view(",["));
    for (std::uint64_t d = 0; d < view.dim; ++d) {
      if (d != 0) out.add(',');
      out.real(*value++);
    }
    out.add(']');
  }
}

template <class T>
void reals(const Buffer<std::byte>& bytes, std::size_t n, Text& out) {
  const T* value = as<T>(bytes);
  for (std::size_t i = 0; i < n; ++i) {
    if (i != 0) out.add(',');
    out.real(value[i]);
  }
}

template <class T>
void integers(const Buffer<T>& values, Text& out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out.add(',');
    out.integer(values[i]);
  }
}

void layout(const StreamBatch& stream, const Minibatch& batch, const Reader& reader, Text& out) {
  bool first = true;
  for (const LayoutEntry& entry : stream.layout.entries) {
    if (!first) out.add(',');
    first = false;
    if (entry.sequence == LayoutEntry::kGap) {
      out.add("{\"gap\":1");
    } else {
      out.add("{\"id\":");
      out.integer(entry.sequence);
      out.add(",\"key\":");
      append_string(reader.key_text(batch.keys.at(entry.sequence)), out);
    }
    out.field("s", entry.row);
    out.field("b", entry.begin);
    out.field("e", entry.end);
    out.add('}');
  }
}

void stream_object(const StreamBatch& stream, const Minibatch& batch, const Reader& reader, Text& out) {
  const bool sparse = stream.storage == Storage::sparse;
  const bool single = stream.element == Element::f32;
  out.add("{\"name\":");
  append_string(stream.name, out);
  out.add(sparse ? ",\"storage\":\"sparse_csc\",\"shape\":[" : ",\"storage\":\"dense\",\"shape\":[");
  out.integer(stream.dim);
  out.add(']');
  out.field("S", stream.layout.rows);
  out.field("T", stream.layout.steps);
  out.add(",\"layout\":[");
  layout(stream, batch, reader, out);
  if (sparse) {
    const CntkSparseView view = stream.cntk_sparse();
    out.add("],\"nnz\":");
    out.integer(view.indices.size());
    out.add(",\"values\":[");
    single ? reals<float>(view.values, view.indices.size(), out) : reals<double>(view.values, view.indices.size(), out);
    out.add("],\"rows\":[");
    integers(view.indices, out);
    out.add("],\"cols\":[");
    integers(view.columns, out);
  } else {
    const CntkDenseView view = stream.cntk_dense();
    out.add("],\"columns\":[");
    single ? dense_columns<float>(view, out) : dense_columns<double>(view, out);
  }
  out.add("]}");
}

}  // namespace

void append_jsonl(const Minibatch& batch, const Reader& reader, Text& out) {
  out.add("{\"epoch\":");
  out.integer(batch.epoch);
  out.add(",\"mb\":");
  out.integer(batch.index);
  out.add(batch.end_of_epoch ? ",\"eoe\":true" : ",\"eoe\":false");
  out.add(batch.end_of_sweep ? ",\"eos\":true" : ",\"eos\":false");
  out.add(",\"position\":");
  out.integer(batch.position);
  out.add(",\"streams\":[");
  for (std::size_t i = 0; i < batch.streams.size(); ++i) {
    if (i != 0) out.add(',');
    stream_object(batch.streams[i], batch, reader, out);
  }
  out.add("]}\n");
}

void append_string(std::string_view text, Text& out) {
  bool plain = true;
  for (const char c : text) plain = plain && c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
  if (plain) {
    out.add('"');
    out.add(text);
    out.add('"');
  } else {
    out.add(dump(ordered_json(text)));
  }
}

ordered_json fault_json(const Fault& fault) {
  const auto known = [](std::uint64_t n) { return n == 0 ? ordered_json() : ordered_json(n); };
  const auto text = [](const std::string& s) { return s.empty() ? ordered_json() : ordered_json(s); };
  ordered_json out;
  out["kind"] = name(fault.kind);
  out["file"] = text(fault.at.file);
  out["line"] = known(fault.at.line);
  out["column"] = known(fault.at.column);
  out["byte"] = fault.at.has_byte ? ordered_json(fault.at.byte) : ordered_json();
  out["what"] = fault.what;
  out["hint"] = text(in_flags(fault).hint);
  return out;
}

ordered_json notice_json(const Notice& notice) {
  ordered_json out = fault_json(notice.fault);
  out["id"] = notice.fault.id;
  out["stream"] = notice.fault.stream.empty() ? ordered_json() : ordered_json(notice.fault.stream);
  out["severity"] = name(notice.severity);
  return out;
}

std::string dump(const ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace batchfeed::cli
