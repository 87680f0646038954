// SPDX-License-Identifier: MIT
//
// The two readers whose section holds its streams directly: HTKDeserializers and
// the legacy HTKMLFReader.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/order_keys.h"
#include "config/parse.h"
#include "config/speech.h"

namespace batchfeed::config {
namespace {

struct Streams {
  std::vector<SpeechStream> features, labels;
  std::vector<std::string> keys;  // of streams of all kinds, in lower case
};

// Options of the reader's section that apply to all of its streams.
struct Common {
  Element element = Element::f32;
  int trace_level = 0;
  bool frames = false, legacy = false;

  const char* reader() const { return legacy ? "HTKMLFReader" : "HTKDeserializers"; }
  template <class Options>
  void set(Options& out) const {
    out.element = element;
    out.trace_level = trace_level;
    out.frame_mode = frames;
    out.legacy = legacy;
  }
};

Streams sort_streams(Binder& binder, const Section& reader) {
  Streams out;
  for (const auto& [key, entry] : reader.entries()) {  // an empty value is a fault: each entry is tried as a section
    if (entry.value.empty()) binder.missing(reader, entry.key, entry.key_at);
  }
  for (SpeechStream& stream : classify(reader)) {
    out.keys.push_back(lower(stream.key));
    if (stream.kind == StreamKind::feature) {
      out.features.push_back(std::move(stream));
    } else if (stream.kind == StreamKind::label) {
      out.labels.push_back(std::move(stream));
    } else {
      binder.doc().warn(stream.section->at(), "dead-key",
                        stream.section->path() + ": " + (stream.kind == StreamKind::hmm ? "an HMM" : "a lattice") +
                            " section; batchfeed delivers features and labels only");
    }
  }
  return out;
}

// Features must have type = real; labels labelType = category, or type where labelType is missing.
void check_type(Binder& binder, const Section& stream, bool label) {
  auto value = label ? binder.value(stream, "labelType", Reach::own) : std::nullopt;
  if (!value) value = binder.value(stream, "type");
  const std::string_view expected = label ? "category" : "real";
  if (!value || same_word(value->text.bytes(), expected)) return;
  binder.fail(*value, "bad-value",
              value->path + ": expected " + std::string(expected) + ", found " + quoted(value->text.bytes()));
}

// An expanded stream takes its frames from the alphabetically first one, so that one cannot be expanded itself.
void check_expansion(Binder& binder, const Section& stream, const HtkOptions& feature, bool first, bool legacy) {
  if (!feature.expand_to_utterance) return;
  const Value value = *stream.find("expandToUtterance");
  if (first) {
    binder.fail(value, "conflict",
                value.path + ": not for the alphabetically first feature stream, which gives the frames",
                "rename the streams so that another comes first");
  }
  if (legacy && feature.context && *feature.context != std::pair<std::uint32_t, std::uint32_t>{0, 0}) {
    binder.fail(value, "conflict", value.path + ": not together with a contextWindow");
  }
}

bool bind_modes(Binder& binder, const Section& reader, PackOptions& pack) {
  const bool frames = binder.flag(reader, "frameMode", true);
  const bool truncated = binder.flag(reader, "truncated", false);
  if (frames && truncated) {
    const Origin at = reader.find("truncated")->at();
    binder.doc().fail(
        at, "conflict",
        reader.path() + ": truncated is true, and so is frameMode" + (reader.find("frameMode") ? "" : ", its default"),
        "add frameMode = false");
  }
  pack.kind = frames ? Packing::frames : truncated ? Packing::truncated : Packing::sequences;
  return frames;
}

std::vector<std::uint64_t> bind_rows(Binder& binder, const Section& reader) {
  std::vector<std::uint64_t> out;
  for (const std::int32_t rows : binder.integers(reader, "nbruttsineachrecurrentiter", 1)) {
    if (rows < 1) {
      const Value value = *reader.find("nbruttsineachrecurrentiter");
      binder.fail(value, "bad-value", value.path + ": expected at least 1, found " + std::to_string(rows));
    }
    out.push_back(static_cast<std::uint64_t>(rows));
  }
  return out;
}

[[noreturn]] void no_window(Binder& binder, const Section& reader, std::string_view method) {
  const auto given = reader.own("randomize");
  const Command command = command_of(reader);
  binder.doc().fail(
      given ? given->at() : reader.at(), "conflict",
      reader.path_of("randomize") + ": no randomization" +
          (!given && command.forces_file_order ? ", as in every command with action " + quoted(command.action) : "") +
          ", but readMethod = blockRandomize",
      "write readMethod = \"" + std::string(method) + "\", or randomize = \"auto\"");
}

// In a command with action 'write' prefixPathInSCP is ignored: paths in lists are used unchanged (htk.md 2.5).
void drop_prefix(Binder& binder, const Section& stream, HtkOptions& feature) {
  if (std::exchange(feature.prefix, {}).empty()) return;
  const Value given = *stream.find("prefixPathInSCP");
  binder.doc().warn(given.key_at, "dead-key",
                    given.path + ": has no effect in a command with action 'write', as in CNTK",
                    "write it into the paths of the list");
}

void add_features(Binder& binder, const Section& reader, const Streams& streams, const Common& common, Setup& setup) {
  const std::uint64_t longest = common.legacy ? binder.small_count(reader, "maxUtteranceLength", 10000) : 0;
  binder.each(streams.features, [&](const SpeechStream& one) {
    const Section& section = *one.section;
    binder.check_keys(section, "speech.FEATURES", {}, common.reader());
    HtkOptions out = bind_feature(binder, section, one.key);
    check_type(binder, section, false);
    check_expansion(binder, section, out, &one == streams.features.data(), common.legacy);
    if (out.expand_to_utterance && setup.reader.rolling_window) {
      const Value expands = *section.find("expandToUtterance");
      binder.fail(expands, "conflict", expands.path + ": not together with readMethod = rollingWindow");
    }
    common.set(out);
    if (!common.legacy) {
      out.max_sequence_frames = binder.size(section, "maxSequenceSize", ~0ull);
      out.defines_mb_size = binder.flag(section, "definesMBSize", false);
    } else if (setup.reader.one_sequence) {
      out.max_utterance_frames = ~0ull;
      drop_prefix(binder, section, out);
    } else if (setup.reader.pack.kind == Packing::sequences) {
      out.max_utterance_frames = std::min(out.max_utterance_frames, longest);
    }
    setup.sources.emplace_back(std::move(out));
  });
}

void bind_targets(Binder& binder, const Section& section, MlfOptions& out) {
  out.target_mapping_file = binder.text(section, "labelToTargetMappingFile", "");
  if (out.target_mapping_file.empty()) return;
  out.target_dim = binder.count(section, "targetDim", 0);
  if (out.target_dim == 0)
    binder.missing(section, "targetDim", {}, "add targetDim = the number of bits in a line of that file");
}

void add_labels(Binder& binder, const Streams& streams, const Common& common, Setup& setup) {
  binder.each(streams.labels, [&](const SpeechStream& one) {
    const Section& section = *one.section;
    binder.check_keys(section, "speech.LABELS", {}, common.reader());
    MlfOptions out = bind_label(binder, section, one.key, common.legacy);
    check_type(binder, section, true);
    common.set(out);
    if (common.legacy) {
      bind_targets(binder, section, out);
    } else {
      out.phone_boundaries = binder.flag(section, "phoneBoundaries", false);
      if (common.frames && std::exchange(out.phone_boundaries, false)) {
        const Value boundaries = *section.find("phoneBoundaries");
        binder.doc().warn(boundaries.key_at, "dead-key", boundaries.path + ": has no effect in frame mode",
                          "add frameMode = false, or remove it");
      }
      out.chunk_bytes = chunk_bytes(binder, section, 64ull << 20, Reach::outwards);
      out.cache_index = binder.flag(section, "cacheIndex", false);
    }
    setup.sources.emplace_back(std::move(out));
  });
}

void add_streams(Binder& binder, const Section& reader, const Streams& streams, bool legacy, Setup& setup) {
  const Common common{.element = binder.precision(reader, true),
                      .trace_level = binder.unread_trace_level(reader),
                      .frames = setup.reader.pack.kind == Packing::frames,
                      .legacy = legacy};
  add_features(binder, reader, streams, common, setup);
  add_labels(binder, streams, common, setup);
}

void bind_shim_order(Binder& binder, const Section& reader, OrderOptions& order) {
  const std::string method = binder.text(reader, "readMethod", "blockRandomize");
  const bool none = same_word(method, "none");
  if (!none && !same_word(method, "blockRandomize")) {
    const Value given = *reader.find("readMethod");
    binder.fail(given, "bad-value",
                reader.path_of("readMethod") + ": expected blockRandomize or none, found " + quoted(method),
                same_word(method, "rollingWindow") ? "rollingWindow is of readerType = \"HTKMLFReader\"" : "");
  }
  const auto action = reader.find("action");
  if (action && action->text.bytes() == "write" && !none) {
    const auto given = reader.find("readMethod");
    binder.doc().fail(given ? given->at() : reader.at(), "conflict",
                      reader.path_of("readMethod") + ": a command with action 'write' needs none",
                      "write readMethod = \"none\"");
  }
  order.window = bind_frames_window(binder, reader);
  order.window_in_samples = true;
  // Case matters: for another spelling of blockRandomize the reference gives no error, and shuffles inside each chunk.
  if (method == "blockRandomize" && order.window == 0) no_window(binder, reader, "none");
  order.seed = binder.size(reader, "randomizationSeed", 0);
  order.kind = none ? OrderKind::file : OrderKind::cntk;
}

void bind_legacy_order(Binder& binder, const Section& reader, ReaderOptions& out) {
  OrderOptions& order = out.order;
  const std::string method = binder.text(reader, "readMethod", "blockRandomize");
  out.rolling_window = same_word(method, "rollingWindow");
  if (!out.rolling_window && !same_word(method, "blockRandomize")) {
    const Value given = *reader.find("readMethod");
    binder.fail(given, "bad-value",
                reader.path_of("readMethod") + ": expected blockRandomize or rollingWindow, found " + quoted(method));
  }
  order.window = bind_frames_window(binder, reader);
  order.window_in_samples = true;
  if (order.window == 0 && !out.rolling_window) no_window(binder, reader, "rollingWindow");
  order.kind = order.window == 0 ? OrderKind::file : OrderKind::cntk;
  if (order.kind == OrderKind::cntk && !binder.flag(reader, "useMersenneTwisterRand", false)) {
    binder.doc().warn(reader.at(), "legacy-order",
                      reader.path() +
                          ": CNTK shuffles with the C library's random numbers here, in an order that depends "
                          "on the system; batchfeed gives the order of useMersenneTwisterRand = true, the same "
                          "everywhere",
                      "write useMersenneTwisterRand = true");
  }
}

void bind_legacy_minibatches(Binder& binder, const Section& reader, ReaderOptions& out) {
  out.legacy_speech = true;
  bool frames = false;
  binder.attempt([&] { frames = bind_modes(binder, reader, out.pack); });
  out.rows_per_epoch = bind_rows(binder, reader);
  binder.attempt([&] {
    if (frames && std::any_of(out.rows_per_epoch.begin(), out.rows_per_epoch.end(),
                              [](std::uint64_t rows) { return rows != 1; })) {
      const Value rows = *reader.find("nbruttsineachrecurrentiter");
      binder.fail(rows, "conflict", reader.path_of("nbruttsineachrecurrentiter") + ": must be 1 in frame mode",
                  "add frameMode = false");
    }
  });
  out.full_minibatches = !same_word(binder.text(reader, "miniBatchMode", "partial"), "partial");
  binder.attempt([&] { bind_legacy_order(binder, reader, out); });
}

// A command that writes relies on the list's order: its output for an utterance goes by the number in the list, so
// every minibatch is one whole utterance in that order (htk.md 14.4).
void bind_writing(const Streams& streams, Document& doc, ReaderOptions& out) {
  out.order.kind = OrderKind::file;
  out.pack.kind = Packing::sequences;
  out.one_sequence = true;
  if (streams.labels.empty()) return;
  const Section& label = *streams.labels.front().section;
  doc.fail(label.at(), "conflict", label.path() + ": a command with action 'write' reads features only",
           "remove the labels");
}

}  // namespace

void bind_speech_shim(Binder& binder, const Section& reader, Setup& setup) {
  Document& doc = binder.doc();
  const Streams streams = sort_streams(binder, reader);
  if (streams.features.empty()) {
    doc.fail(reader.at(), "no-features", reader.path() + ": no section of it has an scpFile, so there are no features",
             "add features = [ dim = 40 ; scpFile = \"...\" ]");
  }
  setup.reader.local_timeline = false;
  binder.attempt([&] { bind_modes(binder, reader, setup.reader.pack); });
  if (setup.reader.pack.kind == Packing::truncated) {
    setup.reader.pack.truncation_length = binder.count(reader, "truncationLength", 0);
  }
  const std::vector<std::uint64_t> rows = bind_rows(binder, reader);
  if (setup.reader.pack.kind == Packing::truncated && setup.reader.pack.truncation_length == 0) {
    setup.reader.rows_per_epoch = rows;
  }
  static_cast<void>(binder.flag(reader, "checkData", true));  // form only: no effect in the reference either
  setup.reader.keys = binder.flag(reader, "useNumericSequenceKeys", false) ? KeyMode::numeric : KeyMode::text;

  binder.attempt([&] { bind_shim_order(binder, reader, setup.reader.order); });
  add_streams(binder, reader, streams, false, setup);
  binder.check_keys(reader, "HTKDeserializers", streams.keys);
}

void bind_speech_legacy(Binder& binder, const Section& reader, Setup& setup) {
  Document& doc = binder.doc();
  if (const auto mode = reader.find("legacyMode")) {
    binder.fail(*mode, "unsupported", mode->path + ": this key is refused, as in CNTK", "remove it");
  }
  const Streams streams = sort_streams(binder, reader);
  const bool writes = command_of(reader).writes;
  if (streams.features.empty() || (!writes && streams.features.size() + streams.labels.size() < 2)) {
    doc.fail(reader.at(), "no-features",
             reader.path() + ": this reader needs at least two streams, one of them with an scpFile; it has " +
                 std::to_string(streams.features.size()) + " of features and " + std::to_string(streams.labels.size()) +
                 " of labels",
             "use readerType = \"HTKDeserializers\" for one stream");
  }
  setup.reader.local_timeline = false;
  setup.reader.keys = KeyMode::text;
  if (writes) {
    bind_writing(streams, doc, setup.reader);
  } else {
    bind_legacy_minibatches(binder, reader, setup.reader);
  }
  add_streams(binder, reader, streams, true, setup);
  binder.check_keys(reader, "HTKMLFReader", streams.keys);
}

}  // namespace batchfeed::config
