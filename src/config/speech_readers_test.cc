// SPDX-License-Identifier: MIT
//
// As readers_test.cc, for the sections of the two older speech readers.
#include <gtest/gtest.h>

#include <algorithm>

#include "config/speech.h"
#include "config/testing.h"

namespace batchfeed::config {
namespace {

using testing::check;
using testing::run;
using testing::World;
using Case = testing::BindCase;

TEST(ConfigReaders, BindOldSpeechReaders) {
  const auto speech = [](const std::string& more, const std::string& feature = "", const std::string& label = "") {
    return "reader=[readerType=HTKDeserializers;" + more + ";f=[dim=40;scpFile=f.scp;" + feature +
           "];l=[labelDim=9;mlfFile=l.mlf;" + label + "]]";
  };
  const auto legacy = [](const std::string& more, const std::string& feature = "", const std::string& label = "") {
    return "reader=[readerType=HTKMLFReader;" + more + ";f=[dim=40;scpFile=f.scp;" + feature +
           "];l=[labelDim=9;mlfFile=l.mlf;" + label + "]]";
  };
  const Case kCases[] = {
      {"97a", speech("randomize=none"), "!config.conflict"},
      {"97b", speech("randomize=AUTO"), "window=everything samples, frames text global"},
      {"97c", speech("randomize=true"), "!config.bad-int"},
      {"97d", speech("randomize=0"), "!config.conflict"},
      {"97e", speech("randomize=500"), "cntk window=500 samples"},
      {"98a", speech("randomize=none;readMethod=none"), "in order"},
      {"98b", speech("action=write"), "!config.conflict"},
      {"98c", speech("action=Write"), "cntk"},
      {"98d", speech("readMethod=rollingWindow"), "!config.bad-value"},
      {"none beside its method", speech("randomize=none;readMethod=blockRandomize"), "!config.conflict"},
      {"none beside its method in another spelling", speech("randomize=none;readMethod=blockrandomize"),
       "cntk window=0 samples"},
      {"frame mode and truncated", speech("truncated=true"), "!config.conflict"},
      {"the old length is the minibatch size",
       speech("frameMode=false;truncated=true;nbruttsineachrecurrentiter=1:2:3"), "truncated=0+0, rows=1:2:3"},
      {"a length", speech("frameMode=false;truncated=true;truncationLength=5"), "truncated=5+0"},
      {"100a", speech("", "contextWindow=5"), "context=2,2"},
      {"100b", speech("", "contextWindow=4"), "!config.bad-value"},
      {"100: an integer written as a float", speech("", "contextWindow=3.0"), "context=1,1"},
      {"100: a fraction", speech("", "contextWindow=1.5:2"), "!config.bad-int"},
      {"100c", speech("", "contextWindow=1:2"), "context=1,2"},
      {"100d", speech("", "contextWindow=3*2"), "context=3,3"},
      {"100e", speech("", "contextWindow=1:2:3"), "!config.bad-value"},
      {"a context below zero", speech("", "contextWindow=( -1:2)"), "!config.bad-value"},
      {"a prefix", speech("", "prefixPathInSCP=\"c:\\d\\\""), "prefix=c:/d/"},
      {"a limit in the stream", speech("", "maxSequenceSize=99"), "max=99"},
      {"102a", speech("", "", "dim=3"), "mlf l file=l.mlf f32 dim=9"},
      {"102b", "reader=[readerType=HTKDeserializers;f=[dim=40;scpFile=f];l=[mlfFile=l.mlf]]",
       "!config.missing-required"},
      {"102d", "reader=[readerType=HTKDeserializers;f=[dim=40;scpFile=f];l=[labelDim=2;mlfFileList=a:b:c]]",
       "file=a file=b file=c"},
      {"102e", "reader=[readerType=HTKDeserializers;f=[dim=40;scpFile=f];l=[labelDim=2;mlfFileList=list]]", "!io.open"},
      {"too many classes", speech("", "", "labelDim=65536"), "!config.bad-dim"},
      {"a dimension that says nothing", speech("", "dim=\"\""), "!config.missing-required"},
      {"a default dimension", speech("", "dim=default"), "!config.missing-required"},
      {"a default number of classes", speech("", "", "labelDim=default"), "!config.missing-required"},
      {"a dimension below zero", speech("", "dim=-4"), "!config.bad-dim"},
      {"a dimension beyond the limit", speech("", "dim=2147483648"), "!config.limit"},
      {"a label file without a name", speech("", "", "mlfFile=\"\""), "!config.missing-required"},
      {"a list without a name",
       "reader=[readerType=HTKDeserializers;f=[dim=40;scpFile=f];l=[labelDim=2;mlfFileList=\"\"]]",
       "!config.missing-required"},
      {"neither file nor list",
       "reader=[readerType=HTKDeserializers;f=[dim=40;scpFile=f];l=[labelDim=2;phoneFile=x;mlfFile=default]]",
       "!config.missing-required"},
      {"an entry without a value", speech("zz=\"\""), "!config.missing-required"},
      {"a window below zero", speech("randomize=-5"), "window=everything samples, ~config.negative-size"},
      {"the longest utterance is a number",
       "reader=[readerType=HTKMLFReader;maxUtteranceLength=x;f=[dim=40;scpFile=f.scp];l=[labelDim=9;mlfFile=l.mlf]]",
       "!config.bad-int"},
      {"sections in braces",
       "reader=[readerType=HTKDeserializers;f={dim=40;scpFile=f.scp};l={labelDim=9;mlfFile=l.mlf}]", "htk f, mlf l"},
      {"numeric keys", speech("useNumericSequenceKeys=true"), "numeric"},
      {"said twice", speech("frameMode=true;truncated=true"), "!config.conflict"},
      {"boundaries of frames are left out", speech("frameMode=true", "", "phoneBoundaries=true"), "dim=9 frames"},
      {"boundaries", speech("frameMode=false", "", "phoneBoundaries=true"), "boundaries"},
      {"writing without an order", speech("action=write;readMethod=none"), "in order"},
      {"writing in an order", speech("action=write;readMethod=blockRandomize"), "!config.conflict"},
      {"103a", speech("", "", "labelType=Category"), "dim=9"},
      {"103b", speech("", "", "labelType=regression"), "!config.bad-value"},
      {"103c", legacy("", "", "type=real"), "!config.bad-value"},
      {"no features", "reader=[readerType=HTKDeserializers;l=[labelDim=2;mlfFile=l]]", "!config.no-features"},
      {"the first feature cannot be expanded", speech("", "expandToUtterance=true"), "!config.conflict"},
      {"legacy: frames by default", legacy(""),
       "htk f scp=f.scp f32 dim=40 legacy frames | mlf l, window=everything samples, frames, rows=1"},
      {"legacy: whole utterances", legacy("frameMode=false;nbruttsineachrecurrentiter=2"),
       "max-utterance=10000 legacy whole, rows=2"},
      {"legacy: truncated", legacy("frameMode=false;truncated=true;nbruttsineachrecurrentiter=4"),
       "truncated=0+0, rows=4"},
      {"legacy: rows in frame mode", legacy("nbruttsineachrecurrentiter=2"), "!config.conflict"},
      {"legacy: no rows", legacy("frameMode=false;nbruttsineachrecurrentiter=0"), "!config.bad-value"},
      {"legacy: rolling window", legacy("readMethod=RollingWindow;randomize=none"), "in order, rolling"},
      {"legacy: full", legacy("miniBatchMode=full"), "full"},
      {"legacy: another method", legacy("readMethod=shuffle"), "!config.bad-value"},
      {"legacy: block randomization of nothing", legacy("randomize=none"), "!config.conflict"},
      {"legacy: targets", legacy("", "", "labelToTargetMappingFile=m;targetDim=7"), "mlf l"},
      {"legacy: a context and an expanded stream",
       "reader=[readerType=HTKMLFReader;f=[dim=4;scpFile=f];g=[dim=4;scpFile=g;expandToUtterance=true;contextWindow=1:"
       "1]]",
       "!config.conflict"},
      {"legacy: an expanded stream with no context to speak of",
       "reader=[readerType=HTKMLFReader;f=[dim=4;scpFile=f];g=[dim=4;scpFile=g;expandToUtterance=true;contextWindow=0:"
       "0]]",
       "htk g"},
      {"legacy: an expanded stream",
       "reader=[readerType=HTKMLFReader;f=[dim=4;scpFile=f];g=[dim=4;scpFile=g;expandToUtterance=true]]", "expand"},
      {"legacy: an expanded stream in a rolling window",
       "reader=[readerType=HTKMLFReader;readMethod=rollingWindow;f=[dim=4;scpFile=f];g=[dim=4;scpFile=g;"
       "expandToUtterance=true]]",
       "!config.conflict"},
      {"precision is written in lower case", "precision=DOUBLE | " + speech(""), "!config.bad-precision"},
      {"legacy: writing reads features only", "t=[action=write;" + legacy("readMethod=rollingWindow") + "]",
       "!config.conflict"},
      {"legacy: writing", "t=[action=write;reader=[readerType=HTKMLFReader;f=[dim=4;scpFile=f];g=[dim=4;scpFile=g]]]",
       "in order"},
      {"legacy: writing gives one utterance after the other, whatever is said of order and minibatches",
       "t=[action=write;reader=[readerType=HTKMLFReader;f=[dim=4;scpFile=f];readMethod=rollingWindow;randomize=1000;"
       "frameMode=true;nbruttsineachrecurrentiter=7;maxUtteranceLength=3]]",
       "one-sequence"},
      {"legacy: writing leaves out no utterance",
       "t=[action=write;reader=[readerType=HTKMLFReader;f=[dim=4;scpFile=f]]]", "max-utterance=any"},
      {"legacy: writing puts nothing before the paths of a list",
       "t=[action=write;reader=[readerType=HTKMLFReader;f=[dim=4;scpFile=f;prefixPathInSCP=/d]]]",
       "htk f scp=f f32 dim=4 max-utterance=any, ~config.dead-key"},
      {"legacy: one stream", "reader=[readerType=HTKMLFReader;f=[dim=40;scpFile=f]]", "!config.no-features"},
      {"legacy: legacyMode", legacy("legacyMode=true"), "!config.unsupported"},
      {"legacy: targets need a dimension", legacy("", "", "labelToTargetMappingFile=m"), "!config.missing-required"},
      {"legacy: test without randomize", "t=[action=test;" + legacy("") + "]", "!config.conflict"},
  };
  for (const Case& c : kCases) run(c);

  World empty("reader=[readerType=HTKDeserializers;f=[dim=40;scpFile=f];l=[labelDim=2;mlfFileList=list]]");
  empty.files["list"] = "\r\n  \n";
  check({"102: a list of nothing", "", "!config.bad-value"}, empty, "");
  World list("reader=[readerType=HTKDeserializers;f=[dim=40;scpFile=f];l=[labelDim=2;mlfFileList=list]]");
  list.files["list"] = "a.mlf\r\nb.mlf\n";
  check({"102: a list", "", "file=a.mlf file=b.mlf"}, list, "");
  list.files["list"] =
      "\xEF\xBB\xBF"
      "a.mlf\r\r\n b.mlf\t\rc.mlf";
  check({"as other lists", "", "file=a.mlf file=b.mlf file=c.mlf"}, list, "");
  list.files["list"] = std::string(
      "\xFF\xFE"
      "a\0\n\0",
      6);
  check({"of wide characters", "", "!io.utf16"}, list, "");
  list.files["list"] = "a\na\na\n";
  list.limits.config_expansions = 2;
  check({"of more lines than there may be", "", "!config.limit"}, list, "");
}

TEST(ConfigReaders, KnowKeysOfStreamsInTheSectionOfTheirReader) {
  const auto unknown = [](const std::string& more) {
    World world("reader=[readerType=HTKDeserializers;" + more +
                ";f=[dim=40;scpFile=f.scp];l=[labelDim=9;mlfFile=l.mlf]]");
    world.bind("");
    return std::count_if(world.notices.begin(), world.notices.end(),
                         [](const Notice& n) { return n.fault.id == "config.unknown-key"; });
  };
  EXPECT_EQ(unknown("prefixPathInSCP=p;labelMappingFile=m;maxSequenceSize=9"), 0);
  EXPECT_EQ(unknown("prefixPathInScps=p"), 1);
}

TEST(ConfigReaders, TellThatTheLegacyOrderIsAnother) {
  const auto warnings = [](const std::string& more, const std::string& type = "HTKMLFReader") {
    World world("reader=[readerType=" + type + ";" + more + ";f=[dim=40;scpFile=f.scp];l=[labelDim=9;mlfFile=l.mlf]]");
    world.bind("");
    return std::count_if(world.notices.begin(), world.notices.end(),
                         [](const Notice& n) { return n.fault.id == "config.legacy-order"; });
  };
  EXPECT_EQ(warnings("randomize=auto"), 1);
  EXPECT_EQ(warnings("readMethod=rollingWindow"), 1);
  EXPECT_EQ(warnings("useMersenneTwisterRand=true"), 0);
  EXPECT_EQ(warnings("readMethod=rollingWindow;randomize=none"), 0);
  EXPECT_EQ(warnings("randomize=auto", "HTKDeserializers"), 0);
}

TEST(ConfigReaders, KnowSpeechStreamsByTheirKeys) {  // 99
  World world(
      "r=[z=[scpFile=1;dim=2];A=[scpFile=1;mlfFile=2];q=[dim=3];lat=[denLatTocFile=x];h=(phoneFile=y);w=(1:2)\n"
      "t=\"dim=1;SCPFile=a\"\nu=\"dim=1\"\nv=scpFile]");
  const Section root(world.load());
  std::string found;
  for (const SpeechStream& stream : classify(root.child("r"))) {
    found += stream.key + std::string(stream.kind == StreamKind::feature ? ":feature "
                                      : stream.kind == StreamKind::label ? ":label "
                                      : stream.kind == StreamKind::hmm   ? ":hmm "
                                                                         : ":lattice ");
  }
  EXPECT_EQ(found, "A:feature h:hmm lat:lattice t:feature z:feature ");
}

TEST(ConfigReaders, NormaliseThePrefixOfPaths) {  // 101
  EXPECT_EQ(normal_prefix("c:\\d\\"), "c:/d/");
  EXPECT_EQ(normal_prefix("/d//"), "/d/");
  EXPECT_EQ(normal_prefix("/"), "");
}

}  // namespace
}  // namespace batchfeed::config
