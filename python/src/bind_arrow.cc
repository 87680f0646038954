// SPDX-License-Identifier: MIT
//
// Streams through Arrow's C data interface, without a copy: a row is a sequence,
//   dense   large_list<fixed_size_list<float or double>[dim]>
//   sparse  large_list<large_list<struct<index: int32, value>>>
// Two trees of structs (types and buffers) that the taker releases; the buffers
// live as long as their arrays do.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bindings.h"

namespace batchfeed::python {

namespace {

// As the interface's specification lays them out.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

// One column: what it is called, what it consists of, and who keeps its memory.
struct Node {
  std::string name = {}, format = {};
  std::int64_t length = 0;
  std::vector<const void*> buffers = {};  // the first tells which are null: none
  std::vector<Node> children = {};
};

// What a struct points to; children may have been taken out by then.
struct SchemaParts {
  std::string format = {}, name = {};
  std::vector<ArrowSchema> children = {};
  std::vector<ArrowSchema*> pointers = {};
};
struct ArrayParts {
  Held owner;
  std::vector<const void*> buffers = {};
  std::vector<ArrowArray> children = {};
  std::vector<ArrowArray*> pointers = {};
};
SchemaParts* parts_of(const ArrowSchema& given) { return static_cast<SchemaParts*>(given.private_data); }
ArrayParts* parts_of(const ArrowArray& given) { return static_cast<ArrayParts*>(given.private_data); }

template <class Struct>
void release(Struct* given) {
  auto* parts = parts_of(*given);
  for (Struct& child : parts->children) {
    if (child.release != nullptr) child.release(&child);
  }
  given->release = nullptr;
  delete parts;
}

template <class Parts>
void point_to_children(Parts& parts) {
  for (auto& child : parts.children) parts.pointers.push_back(&child);
}

ArrowSchema schema_of(const Node& node) {
  auto* parts = new SchemaParts{.format = node.format, .name = node.name};
  for (const Node& child : node.children) parts->children.push_back(schema_of(child));
  point_to_children(*parts);
  return {.format = parts->format.c_str(),
          .name = parts->name.c_str(),
          .metadata = nullptr,
          .flags = 0,
          .n_children = static_cast<std::int64_t>(parts->children.size()),
          .children = parts->pointers.data(),
          .dictionary = nullptr,
          .release = release<ArrowSchema>,
          .private_data = parts};
}

ArrowArray array_of(const Node& node, const Held& owner) {
  auto* parts = new ArrayParts{.owner = owner, .buffers = node.buffers};
  for (const Node& child : node.children) parts->children.push_back(array_of(child, owner));
  point_to_children(*parts);
  return {.length = node.length,
          .null_count = 0,
          .offset = 0,
          .n_buffers = static_cast<std::int64_t>(parts->buffers.size()),
          .n_children = static_cast<std::int64_t>(parts->children.size()),
          .buffers = parts->buffers.data(),
          .children = parts->pointers.data(),
          .dictionary = nullptr,
          .release = release<ArrowArray>,
          .private_data = parts};
}

// A capsule, as PyCapsule's part of the interface wants it: what was not taken is released.
template <class Struct>
nb::object capsule(Struct made, const char* name) {
  const auto drop = [](PyObject* object) {
    auto* kept = static_cast<Struct*>(PyCapsule_GetPointer(object, PyCapsule_GetName(object)));
    if (kept->release != nullptr) kept->release(kept);
    delete kept;
  };
  return nb::steal(PyCapsule_New(new Struct(made), name, drop));
}

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// `stream`: offsets, values, and of sparse ones indices and indptr.
Node column(nb::handle stream) {
  stream.attr("expect_inside")();
  const auto array = [&](const char* name) { return nb::cast<Array>(stream.attr(name)); };
  const Array offsets = array("offsets"), values = array("values");
  const std::string number = nb::cast<std::string>(stream.attr("element")) == "float64" ? "g" : "f";
  Node out{.name = to_string(stream.attr("name")),
           .format = "+L",
           .length = static_cast<std::int64_t>(offsets.size()) - 1,
           .buffers = {nullptr, offsets.data()}};
  Node numbers{.name = "value",
               .format = number,
               .length = static_cast<std::int64_t>(values.size()),
               .buffers = {nullptr, values.data()}};
  if (!nb::cast<bool>(stream.attr("is_sparse"))) {
    numbers.name = "item";
    const auto dim = nb::cast<std::int64_t>(stream.attr("dim"));
    out.children = {{.name = "item",
                     .format = "+w:" + std::to_string(dim),
                     .length = numbers.length / dim,
                     .buffers = {nullptr},
                     .children = {numbers}}};
    return out;
  }
  const Array indices = array("indices"), indptr = array("indptr");
  Node entry{
      .name = "item",
      .format = "+s",
      .length = numbers.length,
      .buffers = {nullptr},
      .children = {{.name = "index", .format = "i", .length = numbers.length, .buffers = {nullptr, indices.data()}},
                   numbers}};
  out.children = {{.name = "item",
                   .format = "+L",
                   .length = static_cast<std::int64_t>(indptr.size()) - 1,
                   .buffers = {nullptr, indptr.data()},
                   .children = {entry}}};
  return out;
}

nb::tuple capsules(const Node& node, nb::handle owner) {
  return nb::make_tuple(capsule(schema_of(node), "arrow_schema"), capsule(array_of(node, Held(owner)), "arrow_array"));
}

}  // namespace

void bind_arrow(nb::module_& m) {
  m.def(
      "arrow_of_stream", [](nb::handle stream) { return capsules(column(stream), stream); }, "stream"_a,
      nb::sig("def arrow_of_stream(stream: object) -> tuple[object, object]"));
  m.def(
      "arrow_of_batch",
      [](const std::vector<nb::object>& streams, std::int64_t sequences, nb::handle batch) {
        Node all{.format = "+s", .length = sequences, .buffers = {nullptr}};
        for (const nb::object& stream : streams) all.children.push_back(column(stream));
        return capsules(all, batch);
      },
      "streams"_a, "sequences"_a, "batch"_a,
      nb::sig("def arrow_of_batch(streams: list[object], sequences: int, batch: object) -> tuple[object, object]"));
}

}  // namespace batchfeed::python
