// SPDX-License-Identifier: MIT
#include "config/schema.h"

#include <algorithm>
#include <vector>

#include "config/parse.h"

namespace batchfeed::config {
namespace {

// clang-format off
constexpr std::string_view kOrderNote = "read for its form only: the reader's own key decides";
constexpr std::string_view kNoMessages = "CNTK prints messages by it; batchfeed has traceLevel";

constexpr ConfigKey kTable[] = {
  // Every reader section.
  {"reader", "readerType", "string", "CNTKTextFormatReader", "sources", "exact case; the composite reader if `deserializers` is there"},
  {"reader", "precision", "string", "float", "element", "float or double; inherited; what the caller asks for wins"},
  {"reader", "prefetch", "bool", "true", "reader.prefetch", "inherited"},
  {"reader", "nbruttsineachrecurrentiter", "array", "1", "reader.rows_per_epoch", "shapes minibatches of the speech readers only", true},
  {"reader", "verbosity", "int", "0", "", kNoMessages, true},
  {"reader", "action", "string", "", "reader.order.kind", "usually of the command; `write` reads in file order, and so do `test` and `eval` where randomize is not given"},
  {"reader", "minibatchSize", "array", "256", "", "belongs to the SGD or command section", false},
  {"reader", "epochSize", "size", "0", "", "belongs to the SGD or command section", false},

  // CNTKTextFormatReader
  {"CNTKTextFormatReader", "file", "string", "required", "CtfOptions::files", "relative to the working directory; may hold `*`"},
  {"CNTKTextFormatReader", "files", "array", "", "CtfOptions::files", "extension: shards of one corpus instead of `file`"},
  {"CNTKTextFormatReader", "input", "section", "required", "CtfOptions::streams", "one section for each stream, in alphabetical order; this section only"},
  {"CNTKTextFormatReader", "randomize", "bool or none", "true", "reader.order.kind", "false or none: the order of the file"},
  {"CNTKTextFormatReader", "randomizationWindow", "size", "4 GiB / chunkSizeInBytes", "reader.order.window", "0: no randomization; everything if in samples and not given"},
  {"CNTKTextFormatReader", "sampleBasedRandomizationWindow", "bool", "false", "reader.order.window_in_samples", "unit of the window: samples, not chunks"},
  {"CNTKTextFormatReader", "randomizationSeed", "size", "0", "reader.order.seed", "added to the number of the sweep"},
  {"CNTKTextFormatReader", "skipSequenceIds", "bool", "false", "CtfOptions::skip_sequence_ids", "every line is a sequence"},
  {"CNTKTextFormatReader", "maxErrors", "int", "0", "CtfOptions::max_errors", "damaged samples tolerated, in each file"},
  {"CNTKTextFormatReader", "traceLevel", "int", "1", "CtfOptions::trace_level", "0 failures, 1 warnings, 2 notes; inherited"},
  {"CNTKTextFormatReader", "chunkSizeInBytes", "size", "33554432", "CtfOptions::chunk_bytes", "at least 1"},
  {"CNTKTextFormatReader", "keepDataInMemory", "bool", "false", "reader.keep_in_memory", "every chunk once read is kept"},
  {"CNTKTextFormatReader", "frameMode", "bool", "false", "reader.pack.kind", "packs every sequence as a frame"},
  {"CNTKTextFormatReader", "cacheIndex", "bool", "false", "CtfOptions::cache_index", "keep the index beside the data"},
  {"CNTKTextFormatReader.input.STREAM", "dim", "size", "required", "StreamSpec::dim", "this section only; at least 1"},
  {"CNTKTextFormatReader.input.STREAM", "format", "string", "required", "StreamSpec::storage", "dense or sparse, any case; this section only"},
  {"CNTKTextFormatReader.input.STREAM", "alias", "string", "the stream's name", "StreamSpec::alias", "its name in the data file, case matters"},
  {"CNTKTextFormatReader.input.STREAM", "definesMBSize", "bool", "false", "StreamSpec::defines_mb_size", "at most one stream"},
  {"CNTKTextFormatReader.input.STREAM", "transforms", "array", "", "refused", "text streams have no transforms; an empty list is allowed", true},

  // CNTKTextFormatDeserializer, an element of `deserializers`
  {"CNTKTextFormatDeserializer", "type", "string", "required", "sources", "exact case"},
  {"CNTKTextFormatDeserializer", "module", "string", "required", "sources", "CNTKTextFormatReader"},
  {"CNTKTextFormatDeserializer", "composable", "bool", "true", "checked", "false only if it is the one deserializer"},
  {"CNTKTextFormatDeserializer", "file", "string", "required", "CtfOptions::files", "relative to the working directory; may hold `*`"},
  {"CNTKTextFormatDeserializer", "files", "array", "", "CtfOptions::files", "extension: shards of one corpus instead of `file`"},
  {"CNTKTextFormatDeserializer", "input", "section", "required", "CtfOptions::streams", "one section for each stream, in alphabetical order"},
  {"CNTKTextFormatDeserializer", "skipSequenceIds", "bool", "false", "CtfOptions::skip_sequence_ids", "every line is a sequence; this section only"},
  {"CNTKTextFormatDeserializer", "maxErrors", "int", "0", "CtfOptions::max_errors", "the reader section's own value is the default"},
  {"CNTKTextFormatDeserializer", "traceLevel", "int", "1", "CtfOptions::trace_level", "the reader's or an outer value is the default"},
  {"CNTKTextFormatDeserializer", "chunkSizeInBytes", "size", "33554432", "CtfOptions::chunk_bytes", "at least 1; this section only"},
  {"CNTKTextFormatDeserializer", "cacheIndex", "bool", "false", "CtfOptions::cache_index", "the reader section's own value is the default"},
  {"CNTKTextFormatDeserializer", "precision", "string", "float", "", "the reader section's precision is used for every deserializer", false},
  {"CNTKTextFormatDeserializer", "keepDataInMemory", "bool", "false", "reader.keep_in_memory", "the reader section's own value is the default; CNTK ignores it here"},
  {"CNTKTextFormatDeserializer", "frameMode", "bool", "false", "", kOrderNote, false},
  {"CNTKTextFormatDeserializer", "randomize", "bool or none", "true", "", kOrderNote, false},
  {"CNTKTextFormatDeserializer", "randomizationWindow", "size", "", "", kOrderNote, false},
  {"CNTKTextFormatDeserializer", "sampleBasedRandomizationWindow", "bool", "false", "", kOrderNote, false},
  {"CNTKTextFormatDeserializer", "randomizationSeed", "size", "0", "", kOrderNote, false},
  {"CNTKTextFormatDeserializer", "verbosity", "int", "0", "", kNoMessages, true},

  // CNTKBinaryReader
  {"CNTKBinaryReader", "file", "string", "required", "CbfOptions::files", "relative to the working directory; may hold `*`"},
  {"CNTKBinaryReader", "files", "array", "", "CbfOptions::files", "extension: several files instead of `file`"},
  {"CNTKBinaryReader", "input", "section", "", "CbfOptions::renames", "optional; a section for each stream to be renamed; this section only"},
  {"CNTKBinaryReader", "randomize", "bool or none", "true", "reader.order.kind", "false or none: the order of the file"},
  {"CNTKBinaryReader", "randomizationWindow", "size", "128", "reader.order.window", "0: no randomization; everything if in samples and not given"},
  {"CNTKBinaryReader", "sampleBasedRandomizationWindow", "bool", "false", "reader.order.window_in_samples", "unit of the window: samples, not chunks"},
  {"CNTKBinaryReader", "randomizationSeed", "size", "0", "reader.order.seed", "added to the number of the sweep"},
  {"CNTKBinaryReader", "keepDataInMemory", "bool", "false", "reader.keep_in_memory", "every chunk once read is kept"},
  {"CNTKBinaryReader", "traceLevel", "int", "1", "CbfOptions::trace_level", "inherited"},
  {"CNTKBinaryReader", "frameMode", "bool", "false", "", "binary readers always pack sequences", false},
  {"CNTKBinaryReader.input.STREAM", "alias", "string", "the stream's name", "CbfOptions::Rename::alias", "its name in the file"},

  // CNTKBinaryFormatDeserializer
  {"CNTKBinaryFormatDeserializer", "type", "string", "required", "sources", "exact case"},
  {"CNTKBinaryFormatDeserializer", "module", "string", "required", "sources", "CNTKBinaryReader"},
  {"CNTKBinaryFormatDeserializer", "composable", "bool", "true", "checked", "false only if it is the one deserializer"},
  {"CNTKBinaryFormatDeserializer", "file", "string", "required", "CbfOptions::files", "relative to the working directory; may hold `*`"},
  {"CNTKBinaryFormatDeserializer", "files", "array", "", "CbfOptions::files", "extension: several files instead of `file`"},
  {"CNTKBinaryFormatDeserializer", "input", "section", "", "CbfOptions::renames", "optional; a section for each stream to be renamed"},
  {"CNTKBinaryFormatDeserializer", "traceLevel", "int", "1", "CbfOptions::trace_level", "the reader's or an outer value is the default"},
  {"CNTKBinaryFormatDeserializer", "precision", "string", "float", "", "the reader section's precision is used for every deserializer", false},
  {"CNTKBinaryFormatDeserializer", "keepDataInMemory", "bool", "false", "", kOrderNote, false},
  {"CNTKBinaryFormatDeserializer", "frameMode", "bool", "false", "", kOrderNote, false},
  {"CNTKBinaryFormatDeserializer", "randomize", "bool or none", "true", "", kOrderNote, false},
  {"CNTKBinaryFormatDeserializer", "randomizationWindow", "size", "", "", kOrderNote, false},
  {"CNTKBinaryFormatDeserializer", "sampleBasedRandomizationWindow", "bool", "false", "", kOrderNote, false},
  {"CNTKBinaryFormatDeserializer", "randomizationSeed", "size", "0", "", kOrderNote, false},
  {"CNTKBinaryFormatDeserializer", "verbosity", "int", "0", "", kNoMessages, true},

  // The composite reader: a section with `deserializers`
  {"CompositeDataReader", "deserializers", "array", "required", "sources", "a list of sections in ( ), ':' between them"},
  {"CompositeDataReader", "randomize", "bool", "true", "reader.order.kind", "true or false only"},
  {"CompositeDataReader", "randomizationWindow", "size", "everything", "reader.order.window", "with a text deserializer and no window: 4 GiB / chunkSizeInBytes chunks"},
  {"CompositeDataReader", "sampleBasedRandomizationWindow", "bool", "true", "reader.order.window_in_samples", "a given window counts samples unless this is false"},
  {"CompositeDataReader", "randomizationSeed", "size", "0", "reader.order.seed", "added to the number of the sweep"},
  {"CompositeDataReader", "frameMode", "bool", "false", "reader.pack.kind", "not together with truncated"},
  {"CompositeDataReader", "truncated", "bool", "false", "reader.pack.kind", "truncated sequences"},
  {"CompositeDataReader", "truncationLength", "size", "required if truncated", "reader.pack.truncation_length", "steps of a minibatch"},
  {"CompositeDataReader", "rightSplice", "size", "0", "reader.pack.right_splice", "below truncationLength; 0 without truncated"},
  {"CompositeDataReader", "useNumericSequenceKeys", "bool", "true without speech", "reader.keys", "false if an HTK feature or MLF deserializer is listed"},
  {"CompositeDataReader", "hashSequenceKeys", "bool", "false", "reader.keys", "not together with numeric keys"},
  {"CompositeDataReader", "checkData", "bool", "true", "", "no effect: a sequence that a source lacks is left out in any case", true},
  {"CompositeDataReader", "maxErrors", "int", "0", "reader.max_invalid", "invalid sequences tolerated, in frame mode frames; also the default of the text deserializers' maxErrors"},
  {"CompositeDataReader", "multiThreadedDeserialization", "bool", "false", "", "threads never change what is delivered; see reader.threads", true},
  {"CompositeDataReader", "localTimeline", "bool", "true", "reader.local_timeline", "false: every worker counts all samples"},
  {"CompositeDataReader", "traceLevel", "int", "1", "trace_level", "default for every deserializer"},
  {"CompositeDataReader", "skipSequenceIds", "bool", "false", "", "it counts only in the deserializer's section", false},
  {"CompositeDataReader", "chunkSizeInBytes", "size", "33554432", "reader.order.window", "only the size of the default window; chunks are cut by the deserializer's own key"},
  {"CompositeDataReader", "cacheIndex", "bool", "false", "cache_index", "default of the deserializers"},
  {"CompositeDataReader", "keepDataInMemory", "bool", "false", "reader.keep_in_memory", "default of the text deserializers; CNTK ignores it here"},

  // Speech: deserializers
  {"HTKFeatureDeserializer", "type", "string", "required", "sources", "exact case"},
  {"HTKFeatureDeserializer", "module", "string", "required", "sources", "HTKDeserializers"},
  {"HTKFeatureDeserializer", "composable", "bool", "true", "checked", "false only if it is the one deserializer"},
  {"HTKFeatureDeserializer", "input", "section", "required", "HtkOptions", "only its alphabetically first entry is used"},
  {"HTKFeatureDeserializer", "maxSequenceSize", "size", "unlimited", "HtkOptions::max_sequence_frames", "longer utterances are left out"},
  {"HTKFeatureDeserializer", "definesMBSize", "bool", "false", "HtkOptions::defines_mb_size", "minibatches are counted in its frames"},
  {"HTKFeatureDeserializer", "dim", "size", "required", "HtkOptions::dim", "usually of the stream"},
  {"HTKFeatureDeserializer", "scpFile", "string", "required", "HtkOptions::scp_files", "usually of the stream"},
  {"HTKFeatureDeserializer", "contextWindow", "array", "1", "HtkOptions::context", "usually of the stream"},
  {"HTKFeatureDeserializer", "prefixPathInSCP", "string", "", "HtkOptions::prefix", "usually of the stream"},
  {"HTKFeatureDeserializer", "expandToUtterance", "bool", "false", "HtkOptions::expand_to_utterance", "not for the first deserializer"},
  {"HTKFeatureDeserializer", "traceLevel", "int", "1", "HtkOptions::trace_level", "the reader's or an outer value is the default"},
  {"HTKFeatureDeserializer", "frameMode", "bool", "true", "", "the reader section's frameMode is used for every deserializer", false},
  {"HTKFeatureDeserializer", "precision", "string", "float", "", "the reader section's precision is used for every deserializer", false},
  {"HTKFeatureDeserializer", "verbosity", "int", "0", "", kNoMessages, true},
  {"HTKFeatureDeserializer.input.STREAM", "dim", "size", "required", "HtkOptions::dim", "of one frame, before the context window"},
  {"HTKFeatureDeserializer.input.STREAM", "scpFile", "string", "required", "HtkOptions::scp_files", "a list of feature files"},
  {"HTKFeatureDeserializer.input.STREAM", "contextWindow", "array", "1", "HtkOptions::context", "an odd width, or left:right"},
  {"HTKFeatureDeserializer.input.STREAM", "prefixPathInSCP", "string", "", "HtkOptions::prefix", "put before the paths of the list"},
  {"HTKFeatureDeserializer.input.STREAM", "expandToUtterance", "bool", "false", "HtkOptions::expand_to_utterance", "one frame stands for a whole utterance"},
  {"HTKFeatureDeserializer.input.STREAM", "type", "string", "real", "", "not looked at", true},
  {"HTKFeatureDeserializer.input.STREAM", "maxSequenceSize", "size", "", "", "it is read in the deserializer's section, not in the stream's", false},
  {"HTKFeatureDeserializer.input.STREAM", "definesMBSize", "bool", "", "", "it is read in the deserializer's section, not in the stream's", false},
  {"HTKFeatureDeserializer.input.STREAM", "maxSequenceLength", "size", "", "", "nobody reads it; write maxSequenceSize in the deserializer's section", false},

  {"HTKMLFDeserializer", "type", "string", "required", "sources", "HTKMLFDeserializer or HTKMLFBinaryDeserializer"},
  {"HTKMLFDeserializer", "module", "string", "required", "sources", "HTKDeserializers"},
  {"HTKMLFDeserializer", "composable", "bool", "true", "checked", "false only if it is the one deserializer"},
  {"HTKMLFDeserializer", "input", "section", "required", "MlfOptions", "only its alphabetically first entry is used"},
  {"HTKMLFDeserializer", "chunkSizeInBytes", "size", "67108864", "MlfOptions::chunk_bytes", "at least 1"},
  {"HTKMLFDeserializer", "cacheIndex", "bool", "false", "MlfOptions::cache_index", "CNTK needs hashSequenceKeys for it"},
  {"HTKMLFDeserializer", "dim", "size", "required", "MlfOptions::dim", "usually of the stream"},
  {"HTKMLFDeserializer", "labelDim", "size", "required", "MlfOptions::dim", "usually of the stream"},
  {"HTKMLFDeserializer", "labelMappingFile", "string", "", "MlfOptions::mapping_file", "usually of the stream"},
  {"HTKMLFDeserializer", "phoneBoundaries", "bool", "false", "MlfOptions::phone_boundaries", "usually of the stream"},
  {"HTKMLFDeserializer", "traceLevel", "int", "1", "MlfOptions::trace_level", "the reader's or an outer value is the default"},
  {"HTKMLFDeserializer", "frameMode", "bool", "true", "", "the reader section's frameMode is used for every deserializer", false},
  {"HTKMLFDeserializer", "precision", "string", "float", "", "the reader section's precision is used for every deserializer", false},
  {"HTKMLFDeserializer", "verbosity", "int", "0", "", kNoMessages, true},
  {"HTKMLFDeserializer.input.STREAM", "dim", "size", "required", "MlfOptions::dim", "number of classes, if labelDim is not given"},
  {"HTKMLFDeserializer.input.STREAM", "labelDim", "size", "required", "MlfOptions::dim", "number of classes, at most 65535"},
  {"HTKMLFDeserializer.input.STREAM", "mlfFile", "string", "required", "MlfOptions::files", "one file; wins over mlfFileList"},
  {"HTKMLFDeserializer.input.STREAM", "mlfFileList", "string or array", "", "MlfOptions::files", "paths with ':' between them, or a file that lists them"},
  {"HTKMLFDeserializer.input.STREAM", "labelMappingFile", "string", "", "MlfOptions::mapping_file", "state names, one a line; not for binary label files"},
  {"HTKMLFDeserializer.input.STREAM", "phoneBoundaries", "bool", "false", "MlfOptions::phone_boundaries", "not in frame mode"},
  {"HTKMLFDeserializer.input.STREAM", "chunkSizeInBytes", "size", "67108864", "", "a warning: it belongs to the deserializer's section", true},
  {"HTKMLFDeserializer.input.STREAM", "cacheIndex", "bool", "false", "MlfOptions::cache_index", "CNTK needs hashSequenceKeys for it"},
  {"HTKMLFDeserializer.input.STREAM", "labelType", "string", "category", "", "not looked at", true},
  {"HTKMLFDeserializer.input.STREAM", "type", "string", "category", "", "not looked at", true},
  {"HTKMLFDeserializer.input.STREAM", "scpFile", "string", "", "", "labels are found by the keys of the features", false},

  // Speech: the two readers of the old shape
  {"HTKDeserializers", "frameMode", "bool", "true", "reader.pack.kind", "not together with truncated"},
  {"HTKDeserializers", "truncated", "bool", "false", "reader.pack.kind", "truncated sequences"},
  {"HTKDeserializers", "truncationLength", "size", "0", "reader.pack.truncation_length", "0 with truncated: the minibatch size is the length"},
  {"HTKDeserializers", "randomize", "auto, none or size", "auto", "reader.order.window", "a number is the window in samples"},
  {"HTKDeserializers", "readMethod", "string", "blockRandomize", "reader.order.kind", "blockRandomize or none"},
  {"HTKDeserializers", "randomizationSeed", "size", "0", "reader.order.seed", "added to the number of the sweep"},
  {"HTKDeserializers", "checkData", "bool", "true", "", "no effect: an utterance that a stream lacks is left out in any case", true},
  {"HTKDeserializers", "useNumericSequenceKeys", "bool", "false", "reader.keys", "keys are numbers"},
  {"HTKDeserializers", "traceLevel", "int", "1", "trace_level", "inherited"},
  {"HTKDeserializers", "miniBatchMode", "string", "partial", "", "of HTKMLFReader only", false},
  {"HTKDeserializers", "useMersenneTwisterRand", "bool", "false", "", "the shuffle is always the Mersenne twister's", true},
  {"HTKDeserializers", "pageFilePath", "string", "", "", "of HTKMLFReader only", true},
  {"HTKDeserializers", "maxUtteranceLength", "int", "10000", "", "of HTKMLFReader only; write maxSequenceSize", false},
  {"HTKDeserializers", "minimizeReaderMemoryFootprint", "bool", "", "", "nobody reads it", true},
  {"HTKDeserializers", "maxErrors", "int", "0", "", "damaged utterances are never tolerated by this reader", false},

  {"HTKMLFReader", "readMethod", "string", "blockRandomize", "reader.rolling_window", "blockRandomize or rollingWindow"},
  {"HTKMLFReader", "randomize", "auto, none or size", "auto", "reader.order.window", "a number is the window in frames"},
  {"HTKMLFReader", "frameMode", "bool", "true", "reader.pack.kind", "not together with truncated"},
  {"HTKMLFReader", "truncated", "bool", "false", "reader.pack.kind", "minibatches of a fixed number of steps"},
  {"HTKMLFReader", "miniBatchMode", "string", "partial", "reader.full_minibatches", "any word but partial means full"},
  {"HTKMLFReader", "maxUtteranceLength", "int", "10000", "HtkOptions::max_utterance_frames", "longer utterances are left out; not in frame mode or truncated"},
  {"HTKMLFReader", "traceLevel", "int", "1", "trace_level", "inherited"},
  {"HTKMLFReader", "pageFilePath", "string", "", "", "batchfeed needs no page files", true},
  {"HTKMLFReader", "useMersenneTwisterRand", "bool", "false", "", "the shuffle is always the Mersenne twister's", true},
  {"HTKMLFReader", "unigram", "string", "", "", "word scores for sequence training are no data of minibatches", false},
  {"HTKMLFReader", "legacyMode", "", "", "refused", "an error in CNTK, too"},
  {"HTKMLFReader", "minimizeReaderMemoryFootprint", "bool", "", "", "nobody reads it", true},

  {"speech.FEATURES", "dim", "size", "required", "HtkOptions::dim", "of one frame, before the context window"},
  {"speech.FEATURES", "scpFile", "string", "required", "HtkOptions::scp_files", "a list of feature files"},
  {"speech.FEATURES", "contextWindow", "array", "1", "HtkOptions::context", "an odd width, or left:right"},
  {"speech.FEATURES", "prefixPathInSCP", "string", "", "HtkOptions::prefix", "put before the paths of the list"},
  {"speech.FEATURES", "expandToUtterance", "bool", "false", "HtkOptions::expand_to_utterance", "not for the alphabetically first feature"},
  {"speech.FEATURES", "type", "string", "real", "checked", "real"},
  {"speech.FEATURES", "maxSequenceSize", "size", "unlimited", "HtkOptions::max_sequence_frames", "HTKDeserializers only"},
  {"speech.FEATURES", "definesMBSize", "bool", "false", "HtkOptions::defines_mb_size", "HTKDeserializers only"},
  {"speech.FEATURES", "rollingWindow", "string", "", "", "nobody reads it", true},
  {"speech.LABELS", "labelDim", "size", "required", "MlfOptions::dim", "number of classes, at most 65535"},
  {"speech.LABELS", "dim", "size", "required", "MlfOptions::dim", "number of classes, if labelDim is not given"},
  {"speech.LABELS", "labelType", "string", "category", "checked", "category"},
  {"speech.LABELS", "type", "string", "category", "checked", "category, if labelType is not given"},
  {"speech.LABELS", "mlfFile", "string", "required", "MlfOptions::files", "one file; wins over mlfFileList"},
  {"speech.LABELS", "mlfFileList", "string", "", "MlfOptions::files", "a file that lists paths; for HTKDeserializers also paths with ':' between them"},
  {"speech.LABELS", "labelMappingFile", "string", "", "MlfOptions::mapping_file", "state names, one a line"},
  {"speech.LABELS", "labelToTargetMappingFile", "string", "", "MlfOptions::target_mapping_file", "HTKMLFReader only"},
  {"speech.LABELS", "targetDim", "size", "0", "MlfOptions::target_dim", "HTKMLFReader only; required with labelToTargetMappingFile"},
  {"speech.LABELS", "phoneBoundaries", "bool", "false", "MlfOptions::phone_boundaries", "HTKDeserializers only, not in frame mode"},
  {"speech.LABELS", "chunkSizeInBytes", "size", "67108864", "MlfOptions::chunk_bytes", "HTKDeserializers only"},
  {"speech.LABELS", "cacheIndex", "bool", "false", "MlfOptions::cache_index", "HTKDeserializers only"},
};
// clang-format on

bool is_reader(std::string_view section) {
  return section == "CNTKTextFormatReader" || section == "CNTKBinaryReader" || section == "CompositeDataReader" ||
         section == "HTKDeserializers" || section == "HTKMLFReader";
}

bool applies(const ConfigKey& row, std::string_view section) {
  return row.section == section || (row.section == "reader" && is_reader(section));
}

}  // namespace

std::span<const ConfigKey> schema() { return kTable; }

const ConfigKey* find_key(std::string_view section, std::string_view key) {
  for (const ConfigKey& row : kTable) {
    if (applies(row, section) && same_word(row.key, key)) return &row;
  }
  return nullptr;
}

std::string_view nearest_key(std::string_view section, std::string_view key) {
  Nearest nearest(key, std::min<std::size_t>(4, key.size() / 3) + 1);
  for (const ConfigKey& row : kTable)
    if (applies(row, section)) nearest.offer(row.key);
  return nearest.best();
}

}  // namespace batchfeed::config

namespace batchfeed {

std::vector<ConfigKey> config_keys() {
  const std::span<const ConfigKey> rows = config::schema();
  return {rows.begin(), rows.end()};
}

}  // namespace batchfeed
