// SPDX-License-Identifier: MIT
//
// Where faults and warnings point, what they say, and the bounds on hostile text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "config/schema.h"
#include "config/testing.h"

namespace batchfeed::config {
namespace {

using testing::outcome;
using testing::World;

std::string error_of(World& world, const std::string& section = {}) {
  try {
    world.bind(section);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string error_of(std::string_view text, const std::string& section = {}) {
  World world(text);
  return error_of(world, section);
}

std::string reader(const std::string& more, const std::string& stream = "dim=1;format=dense") {
  return "reader=[ | file=t | " + more + " | input=[A=[" + stream + "]] | ]";
}

TEST(ConfigMessages, PointAtTheValue) {
  EXPECT_EQ(error_of(reader("randomize = maybe")),
            "c.cntk:3:13: reader.randomize: expected true or false, found 'maybe'; hint: write true or false");
  EXPECT_EQ(error_of(reader("", "dim = \"ten\" ; format=dense")),
            "c.cntk:4:18: reader.input.A.dim: expected a whole number, found 'ten'; hint: write decimal digits only: "
            "no blanks, "
            "no fraction, no exponent, no unit");
}

// The places of all faults, "line:column" each, in the order in which they are told.
std::string all_faults_of(std::string_view text) {
  World world(text);
  world.all_faults = true;
  EXPECT_THROW(world.bind(), Error);
  std::string out;
  for (const Notice& notice : world.notices) {
    if (notice.severity != Severity::error) continue;
    const Position& at = notice.fault.at;
    out += (out.empty() ? "" : " ") + std::to_string(at.line) + ':' + std::to_string(at.column);
  }
  return out;
}

TEST(ConfigMessages, AllFaultsOfASectionInOneGo) {
  EXPECT_EQ(all_faults_of(reader("randomize = maybe | maxErrors = -4 | traceLevel = loud", "dim=0;format=dens")),
            "6:24 6:15 4:13 5:14 3:13");
}

TEST(ConfigMessages, AllFaultsOfACompositeReader) {
  EXPECT_EQ(
      all_faults_of("reader=[ frameMode=true ; truncated=true ; randomizationSeed=seven | deserializers=( "
                    "[type=Text;module=Text] | : [type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader] ) ]"),
      "2:23 1:37 1:62 3:3 3:3");
}

TEST(ConfigMessages, AllFaultsOfASpeechReader) {
  EXPECT_EQ(
      all_faults_of("reader=[ readerType=HTKDeserializers ; readMethod=none2 ; frameMode=x | f=[dim=0;scpFile=\"\"]"
                    " | l=[labelDim=-1;mlfFile=m] ]"),
      "1:69 1:51 2:8 2:10 3:13");
}

TEST(ConfigMessages, AVariableThatIsUnknownIsOneFault) {
  EXPECT_EQ(all_faults_of(reader("maxErrors = $nope$", "dim=$none$;format=dens")), "3:13 4:15 4:29");
}

// Every use of a variable whose text holds an unknown one is told as an unknown variable, and not as a loop.
TEST(ConfigMessages, AVariableThatHoldsAnUnknownOneIsNoLoop) {
  std::string text = "reader=[file=f;input=[";
  for (int i = 0; i < 40; ++i)
    text += " | s" + std::to_string(i) + "=[dim=$v" + std::to_string(i % 39) + "$;format=dense]";
  text += " ]]";
  for (int i = 0; i < 39; ++i) text += " | v" + std::to_string(i) + "=$nope$";
  World world(text);
  world.all_faults = true;
  EXPECT_THROW(world.bind(), Error);
  EXPECT_EQ(world.notices.size(), 40u);
  for (const Notice& notice : world.notices) EXPECT_EQ(notice.fault.id, "config.unknown-variable") << notice.fault.what;
  EXPECT_EQ(all_faults_of("v=$nope$ | reader=[file=f;input=[a=[dim=$v$$v$;format=dense]]]"), "2:30 2:33");
}

TEST(ConfigMessages, FaultsOfOneLineAreToldEach) {
  EXPECT_EQ(all_faults_of("reader=[file=f;input=[a=[alias=x;dim=1;format=dense];b=[alias=x;dim=1;format=dense];"
                          "c=[alias=y;dim=1;format=dense];d=[alias=y;dim=1;format=dense]]]"),
            "1:54 1:116");
}

// Whatever bytes are quoted, a message has no line end or control character, and is cut to a length.
TEST(ConfigMessages, QuoteWhatIsNoText) {
  EXPECT_NE(error_of(reader(std::string("randomize = \"a\x01\x7f\xc3\xa4\""))).find("'a\\x01\\x7f\xc3\xa4'"),
            std::string::npos)
      << error_of(reader(std::string("randomize = \"a\x01\x7f\xc3\xa4\"")));
  const std::string far = error_of(reader("randomize = " + std::string(5000, 'y')));
  EXPECT_NE(far.find("y...'"), std::string::npos);
  EXPECT_LT(far.size(), 600u);
}

TEST(ConfigMessages, PointThroughCommentsAndJoins) {
  World world("# one |    x=1   # two | include=d.cntk | reader=[maxErrors=bad]");
  world.files["d.cntk"] = testing::lines("# three | reader=[file=t;input=[A=[dim=0;format=dense]]]");
  EXPECT_EQ(error_of(world), "d.cntk:2:30: reader.input.A.dim: expected at least 1, found 0");
  world.files["d.cntk"] = testing::lines("# three | reader=[file=t;input=[A=[dim=1;format=dense]]]");
  EXPECT_EQ(error_of(world).substr(0, 41), "c.cntk:4:19: reader.maxErrors: expected a");
  world.files.erase("d.cntk");
  EXPECT_EQ(error_of(world), "c.cntk:3:9: included file 'd.cntk': no such file");
  world.files.erase("c.cntk");
  EXPECT_EQ(error_of(world), "c.cntk: no such file");
  world.files["c.cntk"] = "\xEF\xBB\xBFx=1\rreader=[]";
  EXPECT_EQ(error_of(world).substr(0, 14), "c.cntk:1:4: a ") << "the mark is no column";
}

TEST(ConfigMessages, PointIntoTheCommandLine) {
  World world(reader(""));
  world.set = {"x=1", "reader=[input=[A=[dim=0]]]"};
  EXPECT_EQ(error_of(world), "set#2:1:23: reader.input.A.dim: expected at least 1, found 0");
}

TEST(ConfigMessages, TellThatAPathIsNoWayToOverride) {
  World world(reader(""));
  world.set = {"reader.input.A.dim=2"};
  EXPECT_EQ(error_of(world), "none");
  ASSERT_EQ(world.notices.size(), 1u);
  EXPECT_EQ(world.notices[0].fault.id, "config.dotted-key");
  EXPECT_EQ(world.notices[0].fault.text(),
            "set#1:1:1: 'reader.input.A.dim' is one key, whose name has dots; it is nothing in section 'reader'; hint: "
            "write 'reader=[input=[A=[dim=...]]]'");
}

TEST(ConfigMessages, TellThatASectionOfTheCommandLineIsMisspelt) {
  World world(reader(""));
  world.set = {"raeder=[randomize=false]", "other=[randomize=false]", "reader=[randomize=false]"};
  EXPECT_EQ(error_of(world), "none");
  ASSERT_EQ(world.notices.size(), 1u);
  EXPECT_EQ(world.notices[0].fault.id, "config.dead-section");
  EXPECT_EQ(world.notices[0].fault.text(),
            "set#1:1:1: raeder: no file of the configuration has such a section, and nothing reads it; hint: did you "
            "mean 'reader'?");
  World both(reader("") + " | raeder=[ ]");  // a section that a file has, too, may be for another program
  both.set = {"raeder=[randomize=false]"};
  EXPECT_EQ(error_of(both), "none");
  EXPECT_TRUE(both.notices.empty());
}

TEST(ConfigMessages, TellThatAnIncludeIsNone) {
  for (const char* line : {"include = \"d.cntk\"", "Include=d.cntk", " include=d.cntk"}) {
    World world(std::string(line) + " | " + reader(""));
    EXPECT_EQ(error_of(world), "none");
    ASSERT_EQ(world.notices.size(), 1u) << line;
    EXPECT_EQ(world.notices[0].fault.id, "config.not-included");
    EXPECT_EQ(world.notices[0].fault.hint, "write 'include=d.cntk' from the first column on, without blanks or quotes");
  }
}

TEST(ConfigMessages, TellThatSetTakesNoArgumentsOfTheCommandLine) {
  World world(reader(""));
  world.set = {"configFile=d.cntk", "currentdirectory=/data"};
  EXPECT_EQ(error_of(world), "none");
  ASSERT_EQ(world.notices.size(), 2u);
  EXPECT_EQ(world.notices[0].fault.text(),
            "set#1:1:1: 'configFile': no file is read for it here; hint: name it beside the other configuration files, "
            "from left to right");
  EXPECT_EQ(world.notices[1].fault.text(),
            "set#2:1:1: 'currentdirectory': paths count from where the program runs all the same; hint: change to that "
            "folder before");
  World file("currentDirectory=/data | " + reader(""));
  EXPECT_EQ(error_of(file), "none");
  EXPECT_TRUE(file.notices.empty());
}

TEST(ConfigMessages, SayThatABracketBelongsOnTheLineOfItsName) {
  EXPECT_EQ(
      error_of("Test | [ | " + reader("") + " | ]", "Test.reader"),
      "c.cntk:1:1: Test is no section; hint: put its bracket on the line of its name; reader sections here: reader");
  EXPECT_EQ(error_of("Test | x=1", "Test.reader"),
            "c.cntk:1:1: Test is no section; hint: put its bracket on the line of its name");
}

TEST(ConfigMessages, PointAtADefaultThatIsNone) {
  EXPECT_EQ(error_of("reader=[ | file = default | input=[A=[dim=1;format=dense]] | ]"),
            "c.cntk:2:8: reader.file: a value is required, it has no default; hint: write the value that is meant");
  EXPECT_EQ(error_of("reader=[deserializers=([type=default;module=CNTKTextFormatReader])]"),
            "c.cntk:1:30: reader.deserializers[0].type: a value is required, it has no default; hint: write type = "
            "\"CNTKTextFormatDeserializer\"");
}

TEST(ConfigMessages, PointAtTheUseOfAVariable) {
  EXPECT_EQ(error_of("N=0 | " + reader("", "format=dense;dim=$N$")),
            "c.cntk:5:28: reader.input.A.dim: expected at least 1, found 0");
  EXPECT_EQ(error_of("N=\"12345\" | " + reader("x=$N$;maxErrors=bad")).substr(0, 32),
            "c.cntk:4:17: reader.maxErrors: e");
}

TEST(ConfigMessages, PointAtTheSectionThatLacksAKey) {
  EXPECT_EQ(error_of("t=[ |   reader=[readerType=CNTKBinaryReader] | ]"),
            "c.cntk:2:3: t.reader.file: a value is required; hint: add file = ... to t.reader");
}

TEST(ConfigMessages, PointAtBrackets) {
  EXPECT_EQ(error_of("a=1 | r=[ | x=(1 | ]"),
            "c.cntk:4:1: ']' closes the '(' of line 3, which needs ')'; hint: balance the brackets; '//' does not "
            "start a comment in "
            "this language, '#' does");
  EXPECT_EQ(error_of("a=1 | r = { x=1").substr(0, 56), "c.cntk:2:5: the bracket '{' is never closed: no '}' foll");
}

TEST(ConfigMessages, NameTheSectionsThatExist) {
  const std::string text = "Train=[" + reader("") + "] | Test=[" + reader("") + "]";
  EXPECT_EQ(error_of(text),
            "c.cntk:1:1: the configuration has several reader sections: Train.reader, Test.reader; hint: choose one: "
            "`section = Train.reader`");
  EXPECT_EQ(error_of(text, "Tset.reader"),
            "c.cntk:1:1: no section 'Tset.reader': the configuration has no 'Tset'; hint: did you mean 'Test'? reader "
            "sections here: "
            "Train.reader, Test.reader");
}

TEST(ConfigMessages, SaysHowSeveralReadersInOneSectionAreRead) {
  const std::string inner = "[readerType=CNTKBinaryReader;file=b]";
  const std::string text = "r=[readers=( a : b );a=" + inner + ";b=" + inner + "]";
  EXPECT_EQ(error_of(text, "r"),
            "c.cntk:1:12: r.readers: several readers in one section are not supported; hint: read them one by one: "
            "`section = r.a` or `section = r.b`");
  EXPECT_EQ(error_of(text, "r.b"), "none");
}

// The first warning of an id, as text.
std::string warning(std::string_view text, std::string_view id, const std::string& section = {}) {
  World world(text);
  outcome([&] { return world.bind(section).section; });
  for (const Notice& notice : world.notices) {
    if (notice.fault.id == id) return notice.fault.text();
  }
  return "none";
}

TEST(ConfigMessages, WarnOfUnknownAndDeadKeys) {
  EXPECT_EQ(warning(reader("randomise = true"), "config.unknown-key"),
            "c.cntk:3:1: reader.randomise: no such key in a section of kind CNTKTextFormatReader; hint: did you mean "
            "'randomize'?");
  EXPECT_EQ(warning(reader("", "dim=1;format=dense;alais=x"), "config.unknown-key"),
            "c.cntk:4:30: reader.input.A.alais: no such key in a section of kind CNTKTextFormatReader.input.STREAM; "
            "hint: did you mean "
            "'alias'?");
  EXPECT_EQ(warning(reader("epochSize=5"), "config.dead-key"),
            "c.cntk:3:1: reader.epochSize: has no effect here: belongs to the SGD or command section; hint: remove it");
  EXPECT_EQ(warning(reader("definesMBSize=true"), "config.unknown-key"), "none");
  EXPECT_EQ(warning(reader("definesMBSize=true"), "config.dead-key"),
            "c.cntk:3:1: reader.definesMBSize: has no effect outside the section of a stream; hint: move it into the "
            "stream it belongs to");
  EXPECT_EQ(warning("maxErrors=5 | " + reader(""), "config.inherited-key").substr(0, 25), "c.cntk:1:1: key 'maxError");
  EXPECT_EQ(warning(reader("traceLevel=1;verbosity=0"), "config.dead-key"), "none");
}

TEST(ConfigMessages, WarnOfKeysOfTheOtherSpeechReader) {
  const auto speech = [](const std::string& kind, const std::string& keys, const std::string& feature) {
    return "reader=[readerType=" + kind + ";useMersenneTwisterRand=true;frameMode=false | f=[dim=2;scpFile=a;" +
           feature + "] | l=[labelDim=2;mlfFile=b | " + keys + " | ]]";
  };
  for (const char* key : {"phoneBoundaries=true", "chunkSizeInBytes=9", "cacheIndex=true"}) {
    EXPECT_EQ(warning(speech("HTKMLFReader", key, ""), "config.dead-key").substr(0, 19), "c.cntk:4:1: reader.") << key;
    EXPECT_EQ(warning(speech("HTKDeserializers", key, ""), "config.dead-key"), "none") << key;
  }
  EXPECT_NE(warning(speech("HTKMLFReader", "", "maxSequenceSize=9"), "config.dead-key")
                .find("reader.f.maxSequenceSize: has no effect here: HTKDeserializers only"),
            std::string::npos);
  EXPECT_NE(warning(speech("HTKDeserializers", "targetDim=2", ""), "config.dead-key").find("HTKMLFReader only"),
            std::string::npos);
  EXPECT_NE(
      warning(speech("HTKDeserializers", "phoneBoundaries=true;frameMode=true", "") + " | reader=[frameMode=true]",
              "config.dead-key")
          .find("reader.l.phoneBoundaries: has no effect in frame mode"),
      std::string::npos);
}

TEST(ConfigMessages, WarnOfKeysThatLabelsOfADeserializerDoNotHave) {
  const auto labels = [](const std::string& kind, const std::string& key) {
    return "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[f=[dim=4;scpFile=s]]]: "
           "| "
           "[type=HTKMLF" +
           kind + "Deserializer;module=HTKDeserializers;input=[l=[dim=3;mlfFile=m | " + key + " | ]]])]";
  };
  EXPECT_EQ(warning(labels("", "chunkSizeInBytes=banana"), "config.dead-key"),
            "c.cntk:3:1: reader.deserializers[1].input.l.chunkSizeInBytes: has no effect in the section of the stream; "
            "hint: move it into reader.deserializers[1]");
  EXPECT_EQ(warning(labels("", "labelMappingFile=s.list"), "config.dead-key"), "none");
  EXPECT_EQ(warning(labels("Binary", "labelMappingFile=s.list"), "config.dead-key"),
            "c.cntk:3:1: reader.deserializers[1].input.l.labelMappingFile: has no effect on binary label files, which "
            "have class numbers; hint: remove it");
  EXPECT_EQ(warning(labels("Binary", "labelMappingFile=\"\""), "config.dead-key"), "none");
}

TEST(ConfigMessages, NameWhatOnlyLooksLikeASCII) {
  EXPECT_EQ(error_of(reader("", "dim=\xEF\xBC\x93;format=dense")),
            "c.cntk:4:15: reader.input.A.dim: expected a whole number, found '\xEF\xBC\x93'; hint: U+FF13 is a "
            "full-width character; write '3'; write decimal digits only: no blanks, no fraction, no exponent, no unit");
  EXPECT_NE(warning(reader("randomize\xC2\xA0=false"), "config.unknown-key").find("U+00A0 is a no-break space"),
            std::string::npos);
}

TEST(ConfigMessages, WarnWhereTrainingWouldNotTakeTruncation) {
  const auto train = [](const std::string& sgd, const std::string& root = "") {
    return root + "t=[ | SGD=[ " + sgd +
           " ] | reader=[ | truncated=true;truncationLength=3 | deserializers=([type=CNTKTextFormatDeserializer | "
           "module=CNTKTextFormatReader | file=a.ctf | input=[A=[dim=1;format=dense]]]) | ] | ]";
  };
  EXPECT_EQ(warning(train("minibatchSize=4"), "config.truncated-not-in-sgd"),
            "c.cntk:4:1: t.reader.truncated: is not in t.SGD too, and CNTK does not train with it in one place alone; "
            "hint: add truncated = true to the SGD section, if CNTK is to read this configuration");
  EXPECT_EQ(warning(train("minibatchSize=4;truncated=true"), "config.truncated-not-in-sgd"), "none");
  EXPECT_EQ(warning(train("x="), "config.truncated-not-in-sgd"), "none");  // an SGD section that does not parse
  EXPECT_EQ(warning(train("minibatchSize=4", "truncated=true | "), "config.truncated-not-in-sgd"), "none");
}

TEST(ConfigMessages, WarnOfSloppyText) {
  struct {
    const char* id;
    std::string text;
  } const cases[] = {
      {"config.duplicate-key", reader("randomize=true;randomize=false")},
      {"config.merge-braces",
       "reader={file=x} | " + reader("").replace(7, 1, "{").replace(reader("").rfind(']'), 1, "}")},
      {"config.merge-odd", reader("x=5;x=[y=1]")},
      {"config.glued-records", reader("maxErrors=3 x=1")},
      {"config.custom-delimiter", "reader=[deserializers=( -1);x=1] | reader=[.5;file=t]"},
      {"config.odd-flag", reader("") + " | }"},
      {"config.negative-size", reader("randomizationSeed=-1")},
      {"config.array-semicolon", "t=[minibatchSize=( {1} ; 2 );" + reader("") + "]"},
      {"config.star-without-count", "t=[minibatchSize=256:512*;" + reader("") + "]"},
      {"config.odd-key", reader("") + " | }x=1"},
      {"config.quoted-key", reader("\"a b\" = 1")},
      {"config.array-of-sections", "reader=[deserializers=[type=x]:[type=y]]"},
  };
  for (const auto& c : cases) EXPECT_NE(warning(c.text, c.id), "none") << c.id;
  for (const auto& c : cases) EXPECT_EQ(warning(reader(""), c.id), "none") << c.id;
}

TEST(ConfigMessages, StopRepeatingThemselves) {
  std::string flags;
  for (int i = 0; i < 1000; ++i) flags += " | (" + std::to_string(i) + ")=1;a" + std::to_string(i) + "=\"\"x&";
  World world(reader("") + flags);
  world.bind();
  std::size_t odd = 0;
  for (const Notice& notice : world.notices) odd += notice.fault.id == "config.odd-flag" ? 1u : 0u;
  EXPECT_EQ(odd, 100u);
}

TEST(ConfigMessages, ResolvedValuesSayWhereTheyComeFrom) {
  World world("precision=double | " + reader("randomize=false"));
  std::string found;
  for (const ResolvedValue& value : world.bind().resolved) {
    if (value.path == "reader.randomize" || value.path == "reader.precision" || value.path == "reader.maxErrors") {
      found += value.path + '=' + value.value + '@' + std::to_string(value.at.line) + ':' +
               std::to_string(value.at.column) +
               (value.from == ResolvedValue::From::section     ? " own; "
                : value.from == ResolvedValue::From::enclosing ? " inherited; "
                                                               : " default; ");
    }
  }
  EXPECT_EQ(
      found,
      "reader.precision=double@1:11 inherited; reader.maxErrors=0@2:1 default; reader.randomize=false@4:11 own; ");
}

TEST(ConfigLimits, BoundHostileText) {
  EXPECT_NE(error_of("a=" + std::string(100'000, '[')).find("config_depth"), std::string::npos);
  std::string laughs = "v0=haha";
  for (int i = 1; i < 20; ++i) {
    laughs += " | v" + std::to_string(i) + '=';
    for (int j = 0; j < 10; ++j) laughs += "$v" + std::to_string(i - 1) + '$';
  }
  EXPECT_NE(error_of(laughs + " | reader=[file=$v19$;input=[]]").find("above the limit config_"), std::string::npos);
  std::string chain = "v0=1";
  for (int i = 1; i < 1000; ++i) chain += " | v" + std::to_string(i) + "=$v" + std::to_string(i - 1) + '$';
  EXPECT_NE(error_of(chain + " | reader=[file=$v999$;input=[]]").find("config_depth"), std::string::npos);

  // With the limit raised, the depth is still bounded, for the stack's sake.
  for (int i = 1000; i < 100'000; ++i) chain += " | v" + std::to_string(i) + "=$v" + std::to_string(i - 1) + '$';
  World raised(chain + " | reader=[file=$v99999$;input=[]]");
  raised.limits.config_depth = raised.limits.config_expansions = raised.limits.config_bytes = 1'000'000'000;
  try {
    raised.bind("");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "config.variable-depth");
  }

  World swelling("a=" + std::string(60, 'x') + " | b=$a$$a$$a$ | reader=[file=$b$;input=[]]");
  swelling.limits.config_bytes = 150;
  EXPECT_NE(error_of(swelling).find("config_bytes"), std::string::npos);

  World big("a=1");
  big.limits.config_bytes = 100;
  big.files["c.cntk"] = std::string(200, 'x');
  EXPECT_NE(error_of(big).find("config_bytes"), std::string::npos);

  // A few bytes of an array or a section can take far more memory: their elements, keys and sections are limited.
  EXPECT_EQ(error_of("reader=[files=f*99999:f;input=[a=[dim=1;format=dense]]]"), "none");
  EXPECT_NE(error_of("reader=[files=f*100000:f;input=[a=[dim=1;format=dense]]]").find("too many elements"),
            std::string::npos);
  EXPECT_NE(error_of("reader=[deserializers=(x*1025)]").find("above the limit streams"), std::string::npos);
  std::string keys, streams;
  for (int i = 0; i <= 100'000; ++i) keys += 'k' + std::to_string(i) + ';';
  for (int i = 0; i <= 1024; ++i) streams += 'f' + std::to_string(i) + "=[dim=1;scpFile=s];";
  EXPECT_NE(error_of("reader=[" + keys + "]", "reader").find("too many keys"), std::string::npos);
  EXPECT_NE(error_of("reader=[readerType=HTKMLFReader;" + streams + "]").find("above the limit streams"),
            std::string::npos);

  const std::string source = "[type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader;files=(f*60000);input=[";
  EXPECT_NE(
      error_of("reader=[deserializers=(" + source + "a=[dim=1;format=dense]]]:" + source + "b=[dim=1;format=dense]]])]")
          .find("too many elements"),
      std::string::npos)
      << "of all arrays together";
  EXPECT_NE(error_of("reader=[readerType=HTKDeserializers;prefixPathInSCP=" + std::string(1 << 20, 'p') +
                     ";a=[scpFile=s;dim=1];b=[scpFile=s;dim=1];c=[scpFile=s;dim=1];d=[scpFile=s;dim=1]"
                     ";e=[scpFile=s;dim=1]]")
                .find("above the limit config_bytes"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(1025, 'k') + "=[reader=[readerType=x;file=f]]").find("above the limit name_bytes"),
            std::string::npos);
  EXPECT_EQ(error_of(std::string(1025, 'k') + "=[a=[]] | " + reader("", "dim=0;format=dense")),
            "c.cntk:5:15: reader.input.A.dim: expected at least 1, found 0")
      << "of a section that nobody asks for";

  std::string readers;
  for (int i = 0; i <= 1024; ++i) readers += "R" + std::to_string(i) + "=[reader=[file=f;input=[]]] | ";
  EXPECT_NE(error_of(readers).find("too many reader sections"), std::string::npos);

  // Where all faults are collected, their number is bounded, too.
  std::string deep = "v0=x";
  for (int i = 1; i < 64; ++i) {
    const std::string inner = "$v" + std::to_string(i - 1) + '$';
    deep += " | v" + std::to_string(i) + '=' + inner + inner;
  }
  EXPECT_EQ(all_faults_of(deep + " | reader=[file=$v63$;input=[]]"), "65:14");
  std::string unknown = "reader=[ | input=[";
  for (int i = 0; i < 3000; ++i) unknown += "s" + std::to_string(i) + "=[dim=$x$;format=dense] | ";
  const std::string told = all_faults_of(unknown + "]]");
  EXPECT_EQ(std::count(told.begin(), told.end(), ':'), 1000);

  World many("include=i0");
  for (int i = 0; i < 100; ++i) many.files["i" + std::to_string(i)] = "include=i" + std::to_string(i + 1);
  EXPECT_NE(error_of(many).find("config_includes"), std::string::npos);
}

TEST(ConfigSchema, EveryKeyIsThereOnce) {
  for (const ConfigKey& a : schema()) {
    int same = 0;
    for (const ConfigKey& b : schema()) same += a.section == b.section && same_word(a.key, b.key) ? 1 : 0;
    EXPECT_EQ(same, 1) << a.section << ' ' << a.key;
    EXPECT_FALSE(a.note.empty()) << a.section << ' ' << a.key;
  }
  EXPECT_EQ(config_keys().size(), schema().size());
}

TEST(ConfigSchema, EditDistanceCountsSwaps) {
  EXPECT_EQ(edit_distance("alias", "alais", 3), 1u);
  EXPECT_EQ(edit_distance("Dim", "dim", 3), 0u);
  EXPECT_EQ(edit_distance("dim", "format", 3), 4u);
  EXPECT_EQ(nearest_key("CNTKTextFormatReader", "randomisationwindow"), "randomizationWindow");
  EXPECT_EQ(nearest_key("CNTKTextFormatReader", "x"), "");
}

// docs/reference/config.md is the output of config_reference(). BATCHFEED_REGENERATE=1 writes it anew.
TEST(ConfigSchema, ReferencePageIsUpToDate) {
  constexpr const char* kPage = "docs/reference/config.md";
  if (std::getenv("BATCHFEED_REGENERATE") != nullptr) {
    std::ofstream(kPage, std::ios::binary) << config_reference();
  }
  std::ifstream file(kPage, std::ios::binary);
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(page == config_reference())
      << kPage << " is stale; regenerate it: BATCHFEED_REGENERATE=1 ctest -R '^config$'";
}

}  // namespace
}  // namespace batchfeed::config
