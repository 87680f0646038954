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
  for (const Notice& notice : world.notices)
    if (notice.severity == Severity::warning) out += '~' + notice.fault.text() + '\n';
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

// `config show` gave one key two values, that of the reader and the default of a deserializer that did not take it
// over, and defaults of keys that a deserializer has no use for.
TEST(ConfigHints, WhatIsShownOfAKeyIsTheValueThatIsUsed) {
  const auto shown = [](const std::string& around, const std::string& inside, const std::string& element) {
    World world(
        "maxErrors=" + around + " | reader=[ | randomize=false | " + inside +
        " | deserializers=([type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader;file=a;" + element +
        "; input=[A=[dim=1;format=dense]]]:[type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader;file=b; "
        "input=[B=[dim=1;format=dense]]])]");
    const LoadedConfig config = world.bind();
    std::string out;
    for (const ResolvedValue& value : config.resolved) {
      for (const char* key : {".maxErrors", ".traceLevel", ".randomize", ".keepDataInMemory"})
        if (value.path.ends_with(key)) out += value.path.substr(7) + '=' + value.value + ' ';
    }
    for (const SourceOptions& source : config.setup.sources)
      out += std::to_string(std::get<CtfOptions>(source).max_errors) + ' ';
    return out;
  };
  EXPECT_EQ(shown("4", "", "maxErrors=1"),
            "maxErrors=4 randomize=false deserializers[0].maxErrors=1 traceLevel=1 keepDataInMemory=false "
            "deserializers[1].maxErrors=0 1 0 ");
  EXPECT_EQ(shown("4", "maxErrors=5;keepDataInMemory=true", "randomize=true"),
            "maxErrors=5 randomize=false traceLevel=1 deserializers[0].randomize=true keepDataInMemory=true 5 5 ");
}

// Half of the files, of the sizes or of the digits were lost: some silently, some with the advice to remove the rest.
TEST(ConfigHints, RestsOfListsAndNumbersAreToldAsSuch) {
  const auto one = [](const std::string& keys, const std::string& dim = "1") {
    return told("t=[ | " + keys + " | reader=[ | input=[A=[format=dense;dim=" + dim + "]] | ] | ]");
  };
  const std::string advice =
      "; hint: ',' and ';' end a value, and so do quotes and brackets: put a list in ( ), with ':' between its "
      "elements, and no separator into a number\n";
  const auto rest = [&](const std::string& place, const std::string& key) {
    return "~c.cntk:" + place + ": this belongs to no value any more and is taken as a key of its own: '" + key + "'" +
           advice;
  };
  EXPECT_EQ(one("reader=[file=a];minibatchSize=256,512"), rest("2:35", "512"));
  EXPECT_EQ(one("reader=[file=a]", "2,000"), rest("4:30", "000"));
  EXPECT_EQ(one("reader=[files=\"a\":\"b\"]"), rest("2:18", ":"));
  EXPECT_EQ(one("reader=[files=\"a\" : b]"), rest("2:19", ": b"));
  EXPECT_EQ(one("reader=[files=(\"a\":\"b\")]"), "");
  EXPECT_EQ(one("reader=[file=a];1x1=[2=3];a:b=4;minibatchSize=256:512*3"), "");
}

// A reader that has the key itself went on as before, and nothing was said.
TEST(ConfigHints, AValueSetAroundAReaderThatHasItsOwnIsTold) {
  const auto one = [](const std::string& set, const std::string& own) {
    World world("DataDir=d | Train=[reader=[file=\"$DataDir$/a\" | input=[A=[dim=1;format=dense]] | " + own + "]]");
    world.set = {set};
    return told(world);
  };
  EXPECT_EQ(one("Randomize=false", "randomize=true"),
            "~set#1:1:1: 'Randomize': section Train.reader has its own, which counts; hint: write "
            "'Train=[reader=[Randomize=...]]'\n");
  EXPECT_EQ(one("Train=[randomize=false]", "randomize=true"),
            "~set#1:1:8: 'randomize': section Train.reader has its own, which counts; hint: write "
            "'Train=[reader=[randomize=...]]'\n");
  EXPECT_EQ(one("randomize=false", ""), "");
  EXPECT_EQ(one("randomize=false", "randomize=$RANDOMIZE$"), "");
  EXPECT_EQ(one("randomize=false;Train=[reader=[randomize=false]]", "randomize=true"), "");
  EXPECT_EQ(one("DataDir=e", ""), "");
}

// The last '"' of the file was told, lines behind the place where one was missing.
TEST(ConfigHints, AMissingQuoteIsLookedForWhereATextSpansLines) {
  const std::string fault = "a '\"' is never closed; hint: ";
  EXPECT_EQ(
      told("a=\"x\" | reader=[ | b=\"y | file=\"f\" | c=\"z\"]"),
      "c.cntk:5:5: " + fault + "the quoted text that begins in line 3 ends in line 4: is a '\"' missing there?\n");
  World world("a=\"x | reader=[] | ");
  world.set = {"b=\"y\""};
  EXPECT_EQ(told(world), "set#1:1:5: " + fault +
                             "the quoted text that begins in c.cntk, line 1 ends in line 1: is a "
                             "'\"' missing there?\n");
  EXPECT_EQ(told("a=\"x | reader=[]"),
            "c.cntk:1:3: " + fault +
                "there is no escape for '\"', and a '#' after a blank starts a comment even inside quotes\n");
}

// Where a required key was misspelt it was told as missing, and not which word was no key.
TEST(ConfigHints, AMisspeltKeyIsToldWhereItIsMissed) {
  const auto expect = [](const std::string& text, const char* fault, const char* word) {
    const std::string all = told(text);
    EXPECT_NE(all.find(fault), std::string::npos) << all;
    EXPECT_NE(all.find(std::string("hint: did you mean '") + word + "'?"), std::string::npos) << all;
  };
  expect("reader=[file=a;input=[A=[dim=1;fromat=dense]]]", "'format' is missing", "format");
  const auto element = [](const std::string& kind, const std::string& keys) {
    return "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[f=[dim=4;scpFile=s]]]: "
           "[type=" +
           kind + "Deserializer;module=HTKDeserializers;" + keys + "])]";
  };
  expect(element("HTKFeature", "inptu=[g=[dim=4;scpFile=s]]"), "[1].input: a value", "input");
  expect(element("HTKFeature", "input=[g=[dim=4;scpFlie=s]]"), "g.scpFile: a value", "scpFile");
  expect(element("HTKMLF", "inptu=[l=[dim=4;mlfFile=s]]"), "[1].input: a value", "input");
  expect(element("HTKMLF", "input=[l=[dim=4;mlfFlie=s]]"), "l.mlfFile: a value", "mlfFile");
  for (const char* kind : {"HTKMLFReader", "HTKDeserializers"}) {
    const std::string begin = "reader=[readerType=" + std::string(kind) + ";useMersenneTwisterRand=true | ";
    expect(begin + "f=[dmi=2;scpFile=a];l=[labelDim=2;mlfFile=b]]", "f.dim: a value", "dim");
    expect(begin + "f=[dim=2;scpFile=a];l=[lableDim=2;mlfFile=b]]", "l.labelDim: a value", "labelDim");
  }
}

}  // namespace
}  // namespace batchfeed::config
