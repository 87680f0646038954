// SPDX-License-Identifier: MIT
//
// What a fault or warning advises leads to a configuration that does what was meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "config/testing.h"

namespace batchfeed::config {
namespace {

using testing::World;

// What binding tells, one a line: warnings with "~" in front, and the fault that ends it.
std::string told(World& world) {
  std::string out, fault;
  try {
    world.bind();
  } catch (const Error& error) {
    fault = error.fault().text() + '\n';
  }
  for (const Notice& notice : world.notices) out += '~' + notice.fault.text() + '\n';
  return out + fault;
}

std::string told(std::string_view text) {
  World world(text);
  return told(world);
}

// "randomize=true" is what the other readers take.
TEST(ConfigHints, SpeechReadersNameTheWordsThatRandomizeTakes) {
  for (const char* kind : {"HTKMLFReader", "HTKDeserializers"}) {
    for (const char* word : {"true", "false", "yes"}) {
      EXPECT_EQ(told("reader=[readerType=" + std::string(kind) + " | randomize=" + word +
                     " | f=[dim=2;scpFile=a] | l=[labelDim=2;mlfFile=b]]"),
                "c.cntk:2:11: reader.randomize: expected auto, none or a number of samples, found '" +
                    std::string(word) + "'; hint: what is true elsewhere is \"auto\" here, and false is \"none\"\n");
    }
  }
}

// The module of the text format was advised for every type, and refused in the next run.
TEST(ConfigHints, ALackingModuleIsThatOfTheType) {
  const auto element = [](const char* keys) {
    return told("reader=[ | deserializers=([ | " + std::string(keys) + "]) ]");
  };
  EXPECT_EQ(element("type=HTKMLFDeserializer"),
            "c.cntk:2:16: reader.deserializers[0].module: a value is required; hint: write module = "
            "\"HTKDeserializers\"\n");
  EXPECT_EQ(element("type=CNTKBinaryFormatDeserializer;modul=CNTKBinaryReader"),
            "c.cntk:2:16: reader.deserializers[0].module: a value is required; hint: write module = "
            "\"CNTKBinaryReader\"; 'modul' is no key of it\n");
  EXPECT_EQ(element("module=CNTKTextFormatReader;tpye=CNTKTextFormatDeserializer"),
            "c.cntk:2:16: reader.deserializers[0].type: a value is required; hint: write type = "
            "\"CNTKTextFormatDeserializer\"; 'tpye' is no key of it\n");
}

}  // namespace
}  // namespace batchfeed::config
