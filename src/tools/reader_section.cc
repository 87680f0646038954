// SPDX-License-Identifier: MIT
//
// Writes options as the text of a configuration: a reader section that reads the files that were
// given without one.
#include <batchfeed/tools.h>

#include <algorithm>

#include "base/words.h"
#include "text/trim.h"
#include "tools/refuse.h"

namespace batchfeed {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The name in quotes. Throws Error if it cannot be quoted: the language has no escapes
// (docs/reference/config-language.md).
std::string in_quotes(const std::string& name) {
  const bool comment = name.find(" #") != name.npos || name.find("\t#") != name.npos;
  const bool blank_end = text::trimmed(name).size() != name.size();
  if (name.find_first_of(std::string_view("\"$\r\n\0", 5)) != name.npos || comment || blank_end) {
    refuse("infer.no-section", {}, "a configuration cannot quote the name '" + name + '\'',
           "quotes, '$', ends of lines, '#' behind a blank and blanks at an end cannot be in it");
  }
  return "\"" + name + "\"";
}

// Throws Error for a name that an array cannot hold: `*` repeats an element even in quotes, and ':' separates the
// elements where the whole array is in one pair of quotes.
const std::string& list_element(const std::string& file, const char* cannot) {
  if (file.find_first_of(cannot) != file.npos) {
    refuse("infer.no-section", file, "this name cannot stand in a list: '*' and ':' are taken for more than themselves",
           "rename it");
  }
  return file;
}

// file = "a", or files = ( "a" : "b" )
std::string files_line(const std::vector<std::string>& files) {
  if (files.size() == 1) return "    file = " + in_quotes(files.front()) + "\n";
  std::string out = "    files = (\n";
  for (std::size_t i = 0; i < files.size(); ++i)
    out += "        " + in_quotes(list_element(files[i], "*")) + (i + 1 < files.size() ? " :\n" : "\n");
  return out + "    )\n";
}

std::string precision_line(Element element) {
  return element == Element::f64 ? "    precision = \"double\"\n" : std::string();
}

std::string input_of(const CtfOptions& options) {
  std::string out = options.skip_sequence_ids ? "    skipSequenceIds = true\n" : "";
  out += "    input = [\n";
  std::vector<std::string> used;
  for (const StreamSpec& stream : options.streams) {
    // The key of a section can have only letters, digits and _; the stream's name in the file becomes the alias.
    std::string section;
    for (const char c : stream.name) section += is_digit(c) || is_letter(c) ? c : '_';
    if (is_digit(section[0])) section.insert(0, 1, '_');
    while (std::any_of(used.begin(), used.end(), [&](const std::string& other) { return same_word(other, section); }))
      section += '_';  // keys are compared without case
    used.push_back(section);
    out += "        " + section + " = [ ";
    const std::string& in_file = stream.alias.empty() ? stream.name : stream.alias;
    if (section != in_file) out += "alias = " + in_quotes(in_file) + " ; ";
    out += "dim = " + std::to_string(stream.dim) + " ; format = \"" + std::string(name(stream.storage)) + "\" ]\n";
  }
  return out + "    ]\n";
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = text.find('\n', at) + 1;
    out += by + text.substr(at, next - at);
    at = next;
  }
  return out;
}

// CNTKTextFormatReader takes numeric ids only; text ids need a deserializer.
std::string of(const CtfOptions& options, bool ids_are_words) {
  const std::string common = "    randomize = true\n" + precision_line(options.element);
  if (!ids_are_words || options.skip_sequence_ids) {
    return "    readerType = \"CNTKTextFormatReader\"\n" + files_line(options.files) + common + input_of(options);
  }
  return common + "    useNumericSequenceKeys = false\n    deserializers = (\n        [\n" +
         "            type = \"CNTKTextFormatDeserializer\" ; module = \"CNTKTextFormatReader\"\n" +
         indented(files_line(options.files) + input_of(options), "        ") + "        ]\n    )\n";
}

std::string of(const CbfOptions& options) {
  return "    readerType = \"CNTKBinaryReader\"\n" + files_line(options.files) + "    randomize = true\n" +
         precision_line(options.element);
}

std::string deserializer(const char* type, const std::string& stream, const std::string& keys) {
  return "        [\n            type = \"" + std::string(type) +
         "\" ; module = \"HTKDeserializers\"\n            input = [ " + stream + " = [ " + keys + " ] ]\n        ]";
}

std::string of(const HtkOptions& options, std::uint64_t dim) {
  if (options.scp_files.size() != 1 || !options.files.empty()) {
    refuse("infer.no-section", options.first_file(), "a reader section names one list of feature files",
           "write the paths of all files into one scp list");
  }
  return deserializer("HTKFeatureDeserializer", options.name,
                      "dim = " + std::to_string(dim) + " ; scpFile = " + in_quotes(options.scp_files.front()));
}

std::string of(const MlfOptions& options, std::uint64_t dim) {
  if (options.mapping_file.empty() && !options.labels.empty()) {
    refuse("infer.no-section", options.files.front(),
           "its classes have names, which a reader section takes from a list", "give a state list", options.name);
  }
  std::string files = options.files.front();
  if (options.files.size() > 1) {
    files.clear();
    for (const std::string& file : options.files) files += (files.empty() ? "" : ":") + list_element(file, "*:");
  }
  std::string keys = "dim = " + std::to_string(dim) + " ; " +
                     (options.files.size() == 1 ? "mlfFile = " : "mlfFileList = ") + in_quotes(files);
  if (!options.mapping_file.empty()) keys += " ; labelMappingFile = " + in_quotes(options.mapping_file);
  return deserializer(options.binary ? "HTKMLFBinaryDeserializer" : "HTKMLFDeserializer", options.name, keys);
}

}  // namespace

std::string reader_section(const std::vector<std::string>& files, const Inferred& inferred) {
  CtfOptions options;
  options.files = files;
  options.skip_sequence_ids = !inferred.has_ids;
  for (const Inferred::Stream& stream : inferred.streams) options.streams.push_back(stream.spec);
  return "reader = [\n" + of(options, inferred.text_ids) + "]\n";
}

std::string reader_section(const Setup& setup, const std::vector<StreamInfo>& streams) {
  if (!setup.sources.empty()) {
    const auto* const ctf = std::get_if<CtfOptions>(&setup.sources.front());
    const auto* const cbf = std::get_if<CbfOptions>(&setup.sources.front());
    if ((ctf != nullptr || cbf != nullptr) && setup.sources.size() > 1) {
      refuse("infer.no-section", (ctf != nullptr ? ctf->files : cbf->files).front(),
             "no reader section is written for several sources that are joined", "write one for each, and join them");
    }
    if (ctf != nullptr) return "reader = [\n" + of(*ctf, setup.reader.keys != KeyMode::numeric) + "]\n";
    if (cbf != nullptr) return "reader = [\n" + of(*cbf) + "]\n";
  }
  if (!setup.sources.empty() && std::holds_alternative<MlfOptions>(setup.sources.front())) {
    refuse("infer.no-section", std::get<MlfOptions>(setup.sources.front()).files.front(),
           "labels alone cannot be a reader section: features give the order", "name the list of features too");
  }
  std::string list;
  for (std::size_t i = 0; i < setup.sources.size(); ++i) {
    const SourceOptions& source = setup.sources[i];
    if (!list.empty()) list += " :\n";
    if (const auto* htk = std::get_if<HtkOptions>(&source)) {
      list += of(*htk, streams.at(i).dim);
    } else if (const auto* mlf = std::get_if<MlfOptions>(&source)) {
      list += of(*mlf, streams.at(i).dim);
    } else {
      refuse("infer.no-section", {}, "no reader section can name this kind of file",
             "convert it to the text or the binary format first");
    }
  }
  const std::string precision = streams.empty() ? "" : precision_line(streams.front().element);
  return "reader = [\n    randomize = true\n" + precision + "    deserializers = (\n" + list + "\n    )\n]\n";
}

}  // namespace batchfeed
