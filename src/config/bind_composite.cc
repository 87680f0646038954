// SPDX-License-Identifier: MIT
//
// The composite reader: deserializers = ( [...] : [...] ).
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "config/binder.h"
#include "config/order_keys.h"
#include "config/parse.h"
#include "config/schema.h"

namespace batchfeed::config {
namespace {

enum class Kind : std::uint8_t { text, binary, htk, mlf, mlf_binary };

struct Type {
  std::string_view name;
  std::string_view module;
  std::string_view other_module;
  Kind kind;
};
constexpr std::array kTypes = {
    Type{"CNTKTextFormatDeserializer", "CNTKTextFormatReader", "Cntk.Deserializers.TextFormat", Kind::text},
    Type{"CNTKBinaryFormatDeserializer", "CNTKBinaryReader", "Cntk.Deserializers.Binary", Kind::binary},
    Type{"HTKFeatureDeserializer", "HTKDeserializers", "Cntk.Deserializers.HTK", Kind::htk},
    Type{"HTKMLFDeserializer", "HTKDeserializers", "Cntk.Deserializers.HTK", Kind::mlf},
    Type{"HTKMLFBinaryDeserializer", "HTKDeserializers", "Cntk.Deserializers.HTK", Kind::mlf_binary},
};

// What to advise where an element lacks `key`: "write ...", or the key of it that was misspelt.
std::string hint_of_missing(const Section& element, std::string_view key, std::string_view value) {
  Nearest nearest(key, 3);
  if (!element.has(key))
    for (const auto& [_, entry] : element.entries()) nearest.offer(entry.key);
  const std::string write = "write " + std::string(key) + " = \"" + std::string(value) + '"';
  return nearest.best().empty() ? write : write + "; " + quoted(nearest.best()) + " is no key of it";
}

const Type& type_of(Binder& binder, const Section& element) {
  Document& doc = binder.doc();
  const std::string name =
      binder.required(element, "type", Reach::own, hint_of_missing(element, "type", kTypes[0].name));
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == name; });
  const std::string module =
      binder.required(element, "module", Reach::own,
                      hint_of_missing(element, "module", (type == kTypes.end() ? kTypes.begin() : type)->module));
  const Value value = *element.own("type");
  if (type == kTypes.end()) {
    std::string hint =
        "known are CNTKTextFormatDeserializer, CNTKBinaryFormatDeserializer, HTKFeatureDeserializer, "
        "HTKMLFDeserializer and HTKMLFBinaryDeserializer";
    Nearest nearest(name, 5);
    for (const Type& t : kTypes) {
      if (same_word(t.name, name)) {
        hint = "case matters: write " + std::string(t.name);
        break;
      }
      if (nearest.offer(t.name)) hint = "did you mean '" + std::string(t.name) + "'?";
    }
    if (name == "ImageDeserializer" || name == "Base64ImageDeserializer" || name == "LatticeDeserializer") {
      binder.fail(value, "unsupported", value.path + ": " + quoted(name) + " is not one of batchfeed's formats", hint);
    }
    binder.fail(value, "unknown-type", value.path + ": no deserializer is called " + quoted(name), hint);
  }
  if (module != type->module && module != type->other_module) {
    const Value at = *element.own("module");
    doc.fail(at.at(), "unknown-module", at.path + ": " + quoted(name) + " is not in a module " + quoted(module),
             "write module = \"" + std::string(type->module) + '"');
  }
  return *type;
}

void bind_window(Binder& binder, const Section& reader, bool has_text, OrderOptions& order) {
  Document& doc = binder.doc();
  const auto own = binder.value(reader, "randomizationWindow", Reach::own);
  const auto own_unit = binder.value(reader, "sampleBasedRandomizationWindow", Reach::own);
  if (has_text && !own) {
    if (own_unit && binder.flag(reader, "sampleBasedRandomizationWindow", true, Reach::own)) {
      binder.fail(*own_unit, "conflict", own_unit->path + ": a window in samples needs its size",
                  "add randomizationWindow = the number of samples");
    }
    order.window_in_samples = false;
    order.window = (4ull << 30) / chunk_bytes(binder, reader, 32ull << 20, Reach::outwards);
    binder.fallback(reader, "randomizationWindow", std::to_string(order.window));
    if (const auto outer = reader.find("randomizationWindow"); outer && outer->inherited) {
      doc.warn(outer->key_at, "dead-key", outer->path + ": has no effect outside the section of the reader",
               "move it into " + reader.path());
    }
    if (order.window == 0) {
      doc.warn(reader.at(), "no-window",
               reader.path() + ": chunkSizeInBytes is above 4 GiB, so the default window is 0 chunks",
               "write randomizationWindow");
    }
    return;
  }
  order.window = std::min(binder.maybe_size(reader, "randomizationWindow").value_or(kWholeSet), kWholeSet);
  if (order.window == kWholeSet) binder.fallback(reader, "randomizationWindow", "everything");
  order.window_in_samples = binder.flag(reader, "sampleBasedRandomizationWindow", true);
  if (has_text && own && !reader.find("sampleBasedRandomizationWindow")) {
    doc.note(own->key_at, "window-unit", own->path + ": the window counts samples, not chunks",
             "write sampleBasedRandomizationWindow = false for chunks");
  }
}

void bind_order(Binder& binder, const Section& reader, bool has_text, OrderOptions& order) {
  const Command command = command_of(reader);
  order.kind = OrderKind::cntk;
  if (command.writes) {
    order.kind = OrderKind::file;
  } else if (command.forces_file_order && !reader.has("randomize")) {
    binder.doc().fail(reader.at(), "bad-bool",
                      reader.path_of("randomize") + ": a command with action " + quoted(command.action) +
                          " sets it to None, which a composite reader does not take for a boolean",
                      "write randomize = false in " + reader.path());
  } else if (!binder.flag(reader, "randomize", true)) {
    order.kind = OrderKind::file;
  }
  order.seed = binder.size(reader, "randomizationSeed", 0);
  bind_window(binder, reader, has_text, order);
}

void bind_packing(Binder& binder, const Section& reader, PackOptions& pack) {
  Document& doc = binder.doc();
  const bool frames = binder.flag(reader, "frameMode", false);
  const bool truncated = binder.flag(reader, "truncated", false);
  if (frames && truncated) {
    const Origin at = reader.find("truncated")->at();
    doc.fail(at, "conflict", reader.path() + ": frameMode and truncated are both true", "keep one of them");
  }
  if (truncated) {
    pack.truncation_length = binder.count(reader, "truncationLength", 0);
  } else {
    binder.expect(Binder::Form::size, reader, "truncationLength");
  }
  if (truncated && pack.truncation_length == 0) {
    const auto given = reader.find("truncationLength");
    const Origin at = given ? given->at() : reader.find("truncated")->key_at;
    doc.fail(at, "missing-required", reader.path_of("truncationLength") + ": truncated = true needs a length above 0",
             "add truncationLength = 20");
  }
  pack.right_splice = binder.count(reader, "rightSplice", 0);
  if (pack.right_splice != 0 && pack.right_splice >= pack.truncation_length) {
    const Value splice = *reader.find("rightSplice");
    const std::string found = ", found " + std::to_string(pack.right_splice);
    if (!truncated)
      binder.fail(splice, "conflict", splice.path + ": expected 0 without truncated" + found, "add truncated = true");
    // why: the reference accepts rightSplice = truncationLength, but then each minibatch repeats the one before it.
    binder.fail(
        splice, "conflict",
        splice.path + ": expected less than truncationLength (" + std::to_string(pack.truncation_length) + ')' + found,
        "every minibatch must bring a new sample of each row");
  }
  pack.kind = frames ? Packing::frames : truncated ? Packing::truncated : Packing::sequences;
  if (command_of(reader).writes) pack.kind = Packing::sequences;
}

void bind_keys(Binder& binder, const Section& reader, bool has_speech, ReaderOptions& out) {
  const bool numeric = binder.flag(reader, "useNumericSequenceKeys", !has_speech);
  const bool hashed = binder.flag(reader, "hashSequenceKeys", false);
  if (numeric && hashed) {
    const Origin at = reader.find("hashSequenceKeys")->at();
    binder.doc().fail(at, "conflict", reader.path() + ": hashSequenceKeys = true, but keys are numbers",
                      "add useNumericSequenceKeys = false");
  }
  out.keys = numeric ? KeyMode::numeric : hashed ? KeyMode::hashed : KeyMode::text;
}

// Stream names must be unique over all deserializers, and at most one stream may have definesMBSize.
class Names {
 public:
  Names(Document& doc) : doc_(doc) {}
  void add(const Section& element, const std::string& name, bool sizing) {
    if (!names_.insert(name).second) {
      doc_.fail(element.at(), "duplicate-stream",
                element.path() + ": another deserializer has a stream " + quoted(name) + " too",
                "give one of them another name");
    }
    if (!sizing) return;
    if (sizing_ != nullptr && sizing_ != &element) {
      doc_.fail(element.at(), "conflict", element.path() + " and " + sizing_->path() + " both say definesMBSize",
                "keep it for one of them");
    }
    sizing_ = &element;
  }

 private:
  Document& doc_;
  std::set<std::string> names_;
  const Section* sizing_ = nullptr;
};

void bind_element(Binder& binder, const Section& element, const Type& type, bool first, const PushedDown& pushed,
                  Names& names, Setup& setup) {
  Document& doc = binder.doc();
  switch (type.kind) {
    case Kind::text: {
      CtfOptions source = bind_ctf_source(binder, element, &pushed);
      // keep_in_memory is an option of the reader: if one source asks for it, the data of all sources are kept.
      const Section& keeper = element.has("keepDataInMemory") ? element : *pushed.reader;
      if (binder.flag(keeper, "keepDataInMemory", false, Reach::own)) setup.reader.keep_in_memory = true;
      for (const StreamSpec& stream : source.streams) names.add(element, stream.name, stream.defines_mb_size);
      setup.sources.emplace_back(std::move(source));
      return;
    }
    case Kind::binary: setup.sources.emplace_back(bind_cbf_source(binder, element, &pushed)); return;
    case Kind::htk: {
      HtkOptions source = bind_htk_source(binder, element, pushed);
      if (first && source.expand_to_utterance) {
        doc.fail(element.at(), "conflict", element.path() + ": expandToUtterance is not for the first deserializer",
                 "put the features that have every frame first");
      }
      names.add(element, source.name, source.defines_mb_size);
      setup.sources.emplace_back(std::move(source));
      return;
    }
    case Kind::mlf:
    case Kind::mlf_binary: {
      if (first) {
        doc.fail(element.at(), "conflict", element.path() + ": labels cannot be the first deserializer",
                 "put the features first");
      }
      MlfOptions source = bind_mlf_source(binder, element, pushed, type.kind == Kind::mlf_binary);
      names.add(element, source.name, false);
      setup.sources.emplace_back(std::move(source));
      return;
    }
  }
}

}  // namespace

void bind_composite(Binder& binder, const Section& reader, Setup& setup) {
  Document& doc = binder.doc();
  const auto list = binder.value(reader, "deserializers");
  if (!list) binder.missing(reader, "deserializers");
  const std::vector<const Section*> elements = reader.elements("deserializers", *list);
  if (elements.empty()) {
    binder.fail(*list, "no-deserializers", list->path + ": the list of deserializers is empty",
                "add [ type = \"CNTKTextFormatDeserializer\" ; module = \"CNTKTextFormatReader\" ; ... ]");
  }
  std::vector<const Type*> types;
  binder.each(elements, [&](const Section* element) {
    types.push_back(nullptr);
    types.back() = &type_of(binder, *element);
    if (!binder.flag(*element, "composable", true, Reach::own) && elements.size() > 1) {
      const Value composable = *element->own("composable");
      binder.fail(composable, "conflict",
                  element->path() + ": a deserializer with composable = false must be the only one", "remove it");
    }
  });
  const auto has = [&](auto... kinds) {
    return std::any_of(types.begin(), types.end(),
                       [&](const Type* t) { return t != nullptr && ((t->kind == kinds) || ...); });
  };
  const bool has_text = has(Kind::text);

  setup.reader.local_timeline = binder.flag(reader, "localTimeline", true);
  // Checked for its form only; it has no effect in the reference either, which reads it only where sources are joined.
  if (elements.size() > 1) static_cast<void>(binder.flag(reader, "checkData", true));
  setup.reader.max_invalid = binder.small_count(reader, "maxErrors", 0);
  binder.expect(Binder::Form::flag, reader, "multiThreadedDeserialization");
  binder.expect(Binder::Form::size, reader, "nbruttsineachrecurrentiter");
  binder.attempt([&] { bind_packing(binder, reader, setup.reader.pack); });
  binder.attempt([&] { bind_keys(binder, reader, has(Kind::htk, Kind::mlf), setup.reader); });
  binder.attempt([&] { bind_order(binder, reader, has_text, setup.reader.order); });

  if (const Entry* entry = reader.entry("chunkSizeInBytes")) {
    doc.warn(
        entry->key_at, "dead-key",
        reader.path_of(entry->key) + ": here it only sets the size of the default window; chunks are cut as before",
        "move it into the deserializer's section");
  }

  const PushedDown pushed{.reader = &reader, .frame_mode = setup.reader.pack.kind == Packing::frames};
  Names names(doc);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (types[i] == nullptr) continue;  // its type is wrong, and that fault is held already
    binder.attempt([&] { bind_element(binder, *elements[i], *types[i], i == 0, pushed, names, setup); });
  }
  binder.check_keys(reader, "CompositeDataReader");
}

}  // namespace batchfeed::config
