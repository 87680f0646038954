// SPDX-License-Identifier: MIT
//
// Reader sections to options: cases S1-S8 and 75-112 of the catalogue the
// configuration language is described by, and others. Each expectation is a list
// of words that the summary holds, "!config.id" for an error, "~config.id" for a warning.
#include <gtest/gtest.h>

#include "config/testing.h"

namespace batchfeed::config {
namespace {

using testing::check;
using testing::composite;
using testing::run;
using testing::text_reader;
using testing::World;
using Case = testing::BindCase;

TEST(ConfigReaders, ReadTheDocumentationsSnippets) {
  run({"S1",
       "... | reader = [ | readerType = \"CNTKTextFormatReader\" | file = \"c:\\mydata\\SampleInput.txt\" # x | # y | "
       "input = [ | Apples = [ | dim = 10 | format = \"dense\" | ] | Oranges = [ | dim = 1000000 | format = \"sparse\" "
       "| ] | "
       "Bananas = [ | dim = 1 | format = \"dense\" | ] | ] | ] | # rest",
       "file=c:\\mydata\\SampleInput.txt f32 errors=0 trace=1 chunk=33554432 Apples:10d Bananas:1d Oranges:1000000s | "
       "cntk window=128 chunks seed=0 | sequences numeric global"});
  run({"S2", text_reader("", "C=[dim=1;format=dense];A=[dim=5;format=dense];B=[dim=1000000;format=sparse]"),
       "A:5d B:1000000s C:1d"});
  run({"S3",
       "precision=\"double\" | reader = [ | readerType=\"CNTKTextFormatReader\" | "
       "file=\"/home/mydata/SampleInput.txt\" | "
       "randomize=true | randomizationWindow=30 | skipSequenceIds=false | maxErrors=100 | traceLevel=2 | "
       "chunkSizeInBytes=1024 | keepDataInMemory=true | frameMode=false | input=[ | "
       "Some_very_long_input_name=[ | alias=\"a\" | dim=3 | format=\"dense\" | ] | "
       "Some_other_also_very_long_input_name=[ | alias=\"b\" | dim=2 | format=\"dense\" | ] | ] | ]",
       "f64 errors=100 trace=2 chunk=1024 Some_other_also_very_long_input_name<b:2d Some_very_long_input_name<a:3d, "
       "window=30 chunks, keep"});
  run({"S4",
       "reader = { verbosity = 0 ; | randomize = true; | randomizationWindow=30 | deserializers = ({ "
       "type = \"CNTKTextFormatDeserializer\" ; module = \"CNTKTextFormatReader\" | file = "
       "\"/home/mydata/SampleInput.txt\" | "
       "maxErrors = 100 | skipSequenceIds = false | traceLevel = 2 | input = { | qu1fea = {alias = \"qui\"; dim = "
       "95589; "
       "format = \"sparse\"} | qu2fea = {alias = \"quj\"; dim = 95589; format = \"sparse\"} | pairweight = {alias = "
       "\"wij\"; "
       "dim = 1; format = \"dense\"} | } }) }",
       "errors=100 trace=2, pairweight<wij:1d qu1fea<qui:95589s qu2fea<quj:95589s, window=30 samples, numeric local, "
       "~config.window-unit"});
  const std::string s5 =
      "reader = [ | readerType=\"HTKMLFReader\" | readMethod=\"blockRandomize\" | miniBatchMode=\"partial\" | "
      "randomize=\"17280000\" | features=[ | dim=792 | scpFile=\"$ScpDir$\\TIMIT.train.scp.fbank.fullpath\" | ] | "
      "labels=[ | "
      "mlfFile=\"$MlfDir$\\x.mlf\" | labelDim=183 | labelMappingFile=\"$MlfDir$\\TIMIT.statelist\" | ] | ]";
  run({"S5", "ScpDir=/s | MlfDir=/m | " + s5,
       "htk features scp=/s\\TIMIT.train.scp.fbank.fullpath f32 dim=792, "
       "mlf labels file=/m\\x.mlf f32 dim=183 map=/m\\TIMIT.statelist, window=17280000 samples, legacy"});
  run({"S6", s5, "!config.unknown-variable"});
  for (const char* type : {"HTKMLFReader", "HTKDeserializers"}) {
    run({"S7",
         std::string("reader=[readerType=") + type +
             ";nbruttsineachrecurrentiter = 32;frameMode=false;randomize = \"auto\" | "
             "features=[dim=363 | type=\"real\" | scpFile=f.scp] | labels=[mlfFile=l.mlf | labelMappingFile=m | "
             "labelDim=132 | "
             "labelType=\"category\"]]",
         "window=everything samples, dim=363, dim=132"});
  }
  run({"S8",
       "reader=[deserializers=([type=\"HTKFeatureDeserializer\" | module=\"HTKDeserializers\" | "
       "input=[features=[dim=363 | "
       "scpFile=f.scp]]]:[type=\"HTKMLFDeserializer\" | module=\"HTKDeserializers\" | input=[labels=[dim=132 | "
       "mlfFile=l.mlf | "
       "labelMappingFile=m | phoneBoundaries=false]]])]",
       "htk features scp=f.scp f32 dim=363 whole | mlf labels file=l.mlf f32 dim=132 map=m whole | cntk "
       "window=everything samples, "
       "text local"});
}

TEST(ConfigReaders, BindBinaryReaders) {
  const auto binary = [](const std::string& more) {
    return "reader=[readerType=CNTKBinaryReader;file=b;" + more + "]";
  };
  run({"75",
       "Simple=[precision=\"float\" | reader=[readerType=\"CNTKBinaryReader\" | file=\"Simple_dense.bin\" | "
       "randomize=false]]",
       "file=Simple_dense.bin f32, in order"});
  run({"76", binary("input=[features1=[alias=\"a\"] features2=[alias=\"b\"]]"),
       "a->features1 b->features2, window=128 chunks"});
  run({"77", "precision=double | " + binary("keepDataInMemory=true"), "f64, keep"});
  run({"78", binary("input=[x=[alias=\"a\"];y=[alias=\"a\"];z=[]]"), "a->y z->z, ~config.duplicate-alias"});
  run({"79", binary("input=[a=[alias=\"\"]]"), "!config.missing-required"});
  run({"80a", "reader=[readerType=CNTKBinaryReader]", "!config.missing-required"});
  run({"80b", binary("precision=int"), "!config.bad-precision"});
  run({"frame mode is not for it", binary("frameMode=true"), "sequences, ~config.dead-key"});
  run({"a trace below 0", binary("traceLevel=-1"), "file=b"});
  run({"a trace above 2", binary("traceLevel=3"), "file=b"});
  run({"a trace that is no number", binary("traceLevel=loud"), "!config.bad-int"});
}

TEST(ConfigReaders, BindTextReaders) {
  const Case kCases[] = {
      {"81", "defMBSize=false | " + text_reader("", "A=[dim=1;format=dense;definesMbSize=$defMBSize$]"), "A:1d"},
      {"82a", "reader=[file=t;readerType=CNTKTextFormatReader]", "!config.no-input"},
      {"82b", text_reader("", ""), "!config.empty-input"},
      {"82c", "reader=[file=t;input=\"\"]", "!config.missing-required"},
      {"82d", "reader=[file=t;input=5]", "!config.missing-required"},
      {"83a", text_reader("", "A=[dim=1]"), "!config.missing-required"},
      {"83b", text_reader("dim=1", "A=[format=dense]"), "!config.missing-required"},
      {"83c", text_reader("", "A=[dim=\"\";format=dense]"), "!config.missing-required"},
      {"83d", text_reader("", "A=[dim=1;format=\"\"]"), "!config.missing-required"},
      {"83e", text_reader("", "A=[alias=x]"), "!config.missing-required"},
      {"84a", text_reader("", "A=[dim=1;format=Dense]"), "A:1d"},
      {"a name beyond the limit", text_reader("", "A=[dim=1;format=dense;alias=" + std::string(1025, 'x') + "]"),
       "!config.limit"},
      {"a key beyond the limit", text_reader("", std::string(1025, 'x') + "=[dim=1;format=dense]"), "!config.limit"},
      {"84b", text_reader("", "A=[dim=1;format=csr]"), "!config.bad-format"},
      {"85a", text_reader("", "A=[dim=2147483647;format=sparse]"), "A:2147483647s"},
      {"85b", text_reader("", "A=[dim=2147483648;format=sparse]"), "!config.bad-dim"},
      {"86a", text_reader("", "A=[dim=1;format=dense;alias=x];B=[dim=1;format=dense;alias=x]"),
       "!config.duplicate-alias"},
      {"86b", text_reader("", "A=[dim=1;format=dense;alias=B];B=[dim=1;format=dense]"), "!config.duplicate-alias"},
      {"87a", text_reader("randomize=None"), "in order"},
      {"87b", text_reader("randomize=\"none\""), "in order"},
      {"87c", text_reader("randomize=1"), "cntk window=128 chunks"},
      {"87d", text_reader("randomize=auto"), "!config.bad-bool"},
      {"87e", text_reader("randomize=17280000"), "!config.bad-bool"},
      {"88a", text_reader("randomizationWindow=0"), "in order"},
      {"88b", text_reader("randomizationWindow=5"), "cntk window=5 chunks"},
      {"88c", text_reader("randomizationWindow=auto"), "!config.bad-int"},
      {"89", text_reader("sampleBasedRandomizationWindow=true"), "window=everything samples"},
      {"90a", text_reader("chunkSizeInBytes=1024"), "window=4194304 chunks"},
      {"90b", text_reader("chunkSizeInBytes=5000000000"), "in order window=0 chunks, ~config.no-window"},
      {"90c", text_reader("chunkSizeInBytes=1e6"), "!config.bad-int"},
      {"90d", text_reader("chunkSizeInBytes=\"32 MB\""), "!config.bad-int"},
      {"91a: negative is refused, not unlimited", text_reader("maxErrors=-1"), "!config.bad-value"},
      {"91b", text_reader("maxErrors=3000000000"), "!config.int-range"},
      {"92a", text_reader("skipSequenceIds"), "skip-ids"},
      {"92b", text_reader("frameMode=yes"), "!config.bad-bool"},
      {"93", text_reader("unknownKey=5"), "A:1d, ~config.unknown-key"},
      {"94a", text_reader("precision=DOUBLE"), "f64"},
      {"94b", text_reader("precision=half"), "!config.bad-precision"},
      {"94c", "precision=double | " + text_reader("precision=default"), "f32"},
      {"95", "precision=double | traceLevel=0 | frameMode=true | randomize=false | maxErrors=7 | " + text_reader(""),
       "f64 errors=7 trace=0, in order, frames, ~config.inherited-key"},
      {"96: refused, not one stream", text_reader("", "ALPHA=[dim=1;format=dense];alpha=[dim=2]"),
       "!config.stream-case"},
      {"D14: traces", text_reader("traceLevel=2"), "trace=2"},
      {"D14: a trace below 0", text_reader("traceLevel=-1"), "!config.bad-value"},
      {"D14: a trace above 2", text_reader("traceLevel=3"), "!config.bad-value"},
      {"the trace of a whole command", "traceLevel=5 | " + text_reader(""), "trace=2"},
      {"verbosity is a number", text_reader("verbosity=3"), "A:1d"},
      {"verbosity that is none", text_reader("verbosity=x"), "!config.bad-int"},
      {"verbosity with a fraction", text_reader("verbosity=1.5"), "!config.bad-int"},
      {"verbosity without a value", text_reader("verbosity=\"\""), "!config.bad-int"},
      {"rows are one number", text_reader("nbruttsineachrecurrentiter=4"), "A:1d"},
      {"111", text_reader("nbruttsineachrecurrentiter=2:4"), "!config.bad-int"},
      {"the seed", text_reader("randomizationSeed=7"), "seed=7"},
      {"the index cache", text_reader("cacheIndex=true"), "cache"},
      {"prefetch", text_reader("prefetch=false"), "no-prefetch"},
      {"several files", "reader=[files=(a.ctf:b.ctf);input=[A=[dim=1;format=dense]]]", "file=a.ctf file=b.ctf"},
      {"a pattern stays text", "reader=[file=\"d/*.ctf\";input=[A=[dim=1;format=dense]]]", "file=d/*.ctf"},
      {"file and files", text_reader("files=(a:b)"), "!config.conflict"},
      {"a write command", "t=[action=write;" + text_reader("randomize=true") + "]", "in order"},
      {"a test command", "t=[action=test;" + text_reader("") + "]", "in order"},
      {"a test command that says it", "t=[action=test;" + text_reader("randomize=true") + "]", "cntk"},
      {"a train command", "t=[action=train;" + text_reader("") + "]", "cntk"},
  };
  for (const Case& c : kCases) run(c);
}

TEST(ConfigReaders, BindComposites) {
  constexpr const char* kTwo =
      "reader=[ | MORE | "
      "deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;E1;input=[f=[dim=4;scpFile=s;F1]]]:"
      "[type=HTKFeatureDeserializer;module=HTKDeserializers;E2;input=[i=[dim=9;scpFile=i]]]:"
      "[type=HTKMLFDeserializer;module=HTKDeserializers;input=[l=[labelDim=3;mlfFile=m;L1]]]) | ]";
  const auto speech = [&](const std::string& more, const std::string& e1 = "", const std::string& e2 = "",
                          const std::string& f1 = "", const std::string& l1 = "") {
    std::string out = kTwo;
    for (const auto& [mark, text] :
         {std::pair<std::string, std::string>{"MORE", more}, {"E1", e1}, {"E2", e2}, {"F1", f1}, {"L1", l1}}) {
      out.replace(out.find(mark), mark.size(), text);
    }
    return out;
  };
  const Case kCases[] = {
      {"104", "shouldExpand=true | " + speech("", "", "expandToUtterance = $shouldExpand$") + " | }",
       "expand, ~config.odd-flag"},
      {"106a", "reader=[deserializers = ()]", "!config.no-deserializers"},
      {"106b", "reader=[deserializers=([module=CNTKTextFormatReader])]", "!config.missing-required"},
      {"106c", "reader=[deserializers=([type=CNTKTextFormatDeserializer])]", "!config.missing-required"},
      {"107", "t=[action=eval;" + composite("") + "]", "!config.bad-bool"},
      {"107, as it must be", "t=[action=eval;" + composite("randomize=false") + "]", "in order"},
      {"a write command", "t=[action=write;" + composite("truncated=true;truncationLength=3") + "]",
       "in order, sequences"},
      {"108", composite("sampleBasedRandomizationWindow=true"), "!config.conflict"},
      {"109a", composite("frameMode=true;truncated=true"), "!config.conflict"},
      {"109b", composite("truncated=true"), "!config.missing-required"},
      {"109c", composite("truncated=true;truncationLength=7;rightSplice=2"), "truncated=7+2"},
      {"splice too long", composite("truncated=true;truncationLength=7;rightSplice=8"), "!config.conflict"},
      {"splice of all", composite("truncated=true;truncationLength=7;rightSplice=7"), "!config.conflict"},
      {"splice without truncation", composite("rightSplice=1"), "!config.conflict"},
      {"a length without truncation", composite("truncationLength=x"), "!config.bad-int"},
      {"threads are a boolean", composite("multiThreadedDeserialization=x"), "!config.bad-bool"},
      {"a check of data is a boolean", speech("checkData=x"), "!config.bad-bool"},
      {"a check of one source is nobody's", composite("checkData=x"), "A:1d"},
      {"a trace of all that is none", composite("traceLevel=3", ""), "!config.bad-value"},
      {"a trace of one that is none", composite("", "traceLevel=-2"), "!config.bad-value"},
      {"verbosity of one that is none", composite("", "verbosity=x"), "!config.bad-int"},
      {"110",
       "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[definesMBSize=true;features="
       "[dim=4;"
       "scpFile=s]]])]",
       "!config.missing-required, ~config.key-as-stream"},
      {"an unknown key", speech("colour=red"), "htk f, ~config.unknown-key"},
      {"one stream only",
       "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=["
       "b=[dim=4;scpFile=s];a=[dim=4;scpFile=t]]])]",
       "htk a scp=t, ~config.dead-key"},
      {"only booleans", composite("randomize=none"), "!config.bad-bool"},
      {"window by default", composite(""), "cntk window=128 chunks"},
      {"window by chunk size", composite("chunkSizeInBytes=1073741824"), "window=4 chunks, chunk=33554432"},
      {"an inherited window does not count", "randomizationWindow=5 | " + composite(""),
       "window=128 chunks, ~config.dead-key"},
      {"window in chunks", composite("randomizationWindow=5;sampleBasedRandomizationWindow=false"), "window=5 chunks"},
      {"window without text", speech(""), "window=everything samples, text"},
      {"string keys", composite("useNumericSequenceKeys=false"), "text"},
      {"hashed keys", composite("useNumericSequenceKeys=false;hashSequenceKeys=true"), "hashed"},
      {"numeric speech keys", speech("useNumericSequenceKeys=true"), "numeric"},
      {"global", composite("localTimeline=false"), "global"},
      {"frames", speech("frameMode=true"), "frames text, htk f scp=s f32 dim=4 frames"},
      {"invalid sequences", speech("maxErrors=1000"), "invalid=1000"},
      {"the limit is of the deserializer", speech("", "maxSequenceSize=10"), "max=10"},
      {"the limit is not of the stream", speech("", "", "", "maxSequenceSize=10"),
       "htk f scp=s f32 dim=4 whole, ~config.dead-key"},
      {"two that size minibatches", speech("", "definesMBSize=true", "definesMBSize=true"), "!config.conflict"},
      {"boundaries", speech("", "", "", "", "phoneBoundaries=true"), "boundaries"},
      {"boundaries of frames", speech("frameMode=true", "", "", "", "phoneBoundaries=true"), "!config.conflict"},
      {"the first cannot be expanded", speech("", "", "", "expandToUtterance=true"), "!config.conflict"},
      {"precision in lower case", "reader=[precision=Double;" + composite("", "").substr(8), "!config.bad-precision"},
      {"precision is the reader's", "reader=[precision=double;" + composite("", "precision=float").substr(8), "f64"},
      {"not composable but alone", composite("", "composable=false"), "A:1d"},
      {"not composable", speech("", "composable=false"), "!config.conflict"},
      {"labels first",
       "reader=[deserializers=([type=HTKMLFDeserializer;module=HTKDeserializers;input=[l=[dim=3;mlfFile=m]]])]",
       "!config.conflict"},
      {"no input", "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers])]",
       "!config.missing-required"},
      {"no stream", "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[]])]",
       "!config.empty-input"},
      {"two streams in one",
       "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[a=[dim=1;scpFile=s];b=[dim="
       "1;scpFile=s]]])]",
       "htk a, ~config.dead-key"},
      {"a stream in braces",
       "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[a={dim=1;scpFile=s}]])]",
       "htk a"},
      {"a limit of no length", speech("", "maxSequenceSize=-1"), "htk f scp=s f32 dim=4 whole, ~config.negative-size"},
      {"invalid sequences beyond 32 bits", speech("maxErrors=3000000000"), "!config.int-range"},
      {"fewer than none", speech("maxErrors=-1"), "!config.bad-value"},
      {"verbosity of features", speech("", "verbosity=x"), "!config.bad-int"},
      {"a trace that no one reads", speech("traceLevel=3"), "trace=2 whole, trace=2 whole"},
      {"a trace that is no number", speech("traceLevel=loud"), "htk f scp=s f32 dim=4 whole, ~config.dead-key"},
      {"traces of a deserializer", speech("traceLevel=2", "traceLevel=0"), "trace=0 whole, trace=2 whole"},
      {"chunks of labels", speech("", "", "", "", "chunkSizeInBytes=banana"),
       "mlf l file=m f32 dim=3 whole, ~config.dead-key"},
      {"caches of a stream", speech("", "", "", "", "cacheIndex=true"), "cache"},
      {"binary labels",
       "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[f=[dim=4;scpFile=s]]]:"
       "[type=HTKMLFBinaryDeserializer;module=HTKDeserializers;traceLevel=0;input=[l=[dim=3;mlfFile=m;labelMappingFile="
       "x]]])]",
       "mlf l file=m f32 dim=3 binary trace=0, ~config.dead-key"},
      {"boundaries of binary labels",
       "reader=[deserializers=([type=HTKFeatureDeserializer;module=HTKDeserializers;input=[f=[dim=4;scpFile=s]]]:"
       "[type=HTKMLFBinaryDeserializer;module=HTKDeserializers;input=[l=[dim=3;mlfFile=m;phoneBoundaries=true]]])]",
       "!config.conflict"},
      {"a slip of the pen", "reader=[deserializers=([type=CNTKTextFormatDeserialiser;module=CNTKTextFormatReader])]",
       "!config.unknown-type"},
      {"lattices", "reader=[deserializers=([type=LatticeDeserializer;module=HTKDeserializers])]",
       "!config.unsupported"},
      {"images in base64", "reader=[deserializers=([type=Base64ImageDeserializer;module=ImageReader])]",
       "!config.unsupported"},
      {"chunks too large for a window", composite("chunkSizeInBytes=5000000000"), "window=0 chunks, ~config.no-window"},
      {"deserializers by default", "reader=[deserializers=default]", "!config.missing-required"},
      {"images", "reader=[deserializers=([type=ImageDeserializer;module=ImageReader])]", "!config.unsupported"},
      {"another module", "reader=[deserializers=([type=CNTKTextFormatDeserializer;module=ImageReader])]",
       "!config.unknown-module"},
      {"binary alone", "reader=[deserializers=([type=CNTKBinaryFormatDeserializer;module=CNTKBinaryReader;file=b])]",
       "window=everything samples"},
  };
  for (const Case& c : kCases) run(c);
  run({"the array of a reader is named", "reader=[readers=a:b;a=[readerType=x];b=[readerType=y]]",
       "!config.unsupported"});
}

TEST(ConfigReaders, FindTheSection) {
  const std::string two =
      "Train=[action=train;" + text_reader("") + " ] | Eval=[" + text_reader("randomize=false") + "]";
  run({"one of two must be named", two, "!config.several-readers"});
  run({"by its path", two, "cntk"}, "Train.reader");
  run({"in any case", two, "in order"}, "EVAL.Reader");
  run({"by its command", two, "in order"}, "Eval");
  run({"not there", two, "!config.no-section"}, "Tran.reader");
  run({"no section", "x=1", "!config.no-reader"});
  run({"a plain value", "x=1", "!config.no-section"}, "x");
  const std::string unbracketed = "Test= " + text_reader("");
  run({"a section without its brackets", unbracketed, "A:1d"});
  run({"the same by its name", unbracketed, "A:1d"}, "Test.reader");
  run({"the same by the name around it", unbracketed, "A:1d"}, "Test");
  run({"a value where a reader was expected", "a=[reader=5] | " + text_reader(""), "A:1d"});
  run({"sizes by default",
       "t=[ | action=train | SGD=[minibatchSize=default;epochSize=default] | " + text_reader("") + " | ]", "A:1d"});
  run({"an epoch that says nothing", "t=[ | action=train | SGD=[epochSize=\"\"] | " + text_reader("") + " | ]",
       "A:1d"});
  run({"training that is a word", "t=[ | action=train | SGD=5 | " + text_reader("") + " | ]", "A:1d"});
  run({"another type", "reader=[readerType=ImageReader]", "!config.unknown-reader"});
  run({"the type has a case", "reader=[readerType=cntktextformatreader;file=t]", "!config.unknown-reader"});
  run({"the section is the file", "readerType=CNTKTextFormatReader;file=t;input=[A=[dim=1;format=dense]]", "A:1d"});
  const std::string inside = "file=t;input=(A=(dim=1;format=dense))";
  run({"in round brackets", "Test=( | reader=( | " + inside + " | ) | )", "A:1d"}, "Test.reader");
  run({"in round brackets, found", "Test=(reader=(" + inside + "))", "A:1d"});
  run({"a variable at the top", "R=[reader=[" + inside + "]] | Test=$R$", "A:1d"}, "Test.reader");
  run({"a variable for the reader", "R=[" + inside + "] | Test=[reader=$R$]", "A:1d"}, "Test");
  run({"a variable that is unknown", "Test=$R$", "!config.unknown-variable"}, "Test.reader");
  run({"a variable that is a word", "R=5 | Test=$R$", "!config.no-section"}, "Test.reader");
  const std::string broken = "Train=[reader=[file=t;randomize= | input=[]]]";
  run({"a reader that does not parse", broken, "!config.no-value"});
  run({"a reader that does not parse, beside one that does", broken + " | Eval=[" + text_reader("") + "]",
       "!config.several-readers"});
  run({"what is around a reader does not parse", "Train=[action= | r=[READERTYPE=x]]", "!config.no-value"});
  run({"a network that does not parse", "Train=[N=[action= | x=1] ; " + text_reader("") + "]", "A:1d"});
  run({"a key with dots", "a.b=[" + text_reader("") + "]", "A:1d"}, "a.b.reader");
  World world(two);
  EXPECT_EQ(find_readers(world.load()), (std::vector<std::string>{"Train.reader", "Eval.reader"}));
}

// A caller with sizes of its own is not bothered by wrong ones; a check reports them.
TEST(ConfigReaders, SizesThatCannotBeUsedAreFaultsOfTheirUser) {
  const auto sgd = [](const std::string& keys) {
    return "t=[ | action=train | SGD=[" + keys + "] | " + text_reader("") + " | ]";
  };
  for (const auto& [keys, id] : {std::pair{"minibatchSize=many;epochSize=9", "config.bad-int"},
                                 {"minibatchSize=0;epochSize=9", "config.bad-value"},
                                 {"minibatchSize=256:-1;epochSize=9", "config.bad-value"},
                                 {"minibatchSize=4:0;epochSize=9", "config.bad-value"},
                                 {"minibatchSize=1e3;epochSize=9", "config.bad-int"}}) {
    World world(sgd(keys));
    const LoadedConfig loaded = world.bind();
    ASSERT_TRUE(loaded.wrong_minibatch_size) << keys;
    EXPECT_EQ(loaded.wrong_minibatch_size->id, id);
    EXPECT_TRUE(loaded.minibatch_size.empty());
    EXPECT_EQ(loaded.epoch_size, 9u);
    EXPECT_TRUE(world.notices.empty());
    world.all_faults = true;
    EXPECT_TRUE(world.bind().wrong_minibatch_size);
    EXPECT_TRUE(world.reported(id));
  }
  World world(sgd("minibatchSize=4;epochSize=ten"));
  const LoadedConfig loaded = world.bind();
  EXPECT_TRUE(loaded.wrong_epoch_size);
  EXPECT_FALSE(loaded.wrong_minibatch_size);
  EXPECT_EQ(loaded.minibatch_size, std::vector<std::uint64_t>{4});
}

TEST(ConfigReaders, TakeSizesFromTheCommand) {  // 112
  World world(
      "train=[ | action=train | BrainScriptNetworkBuilder={ | x = f(a, [b]) | } | NDLNetworkBuilder=[run=ndl] | SGD=[ "
      "| "
      "epochSize=1000 | minibatchSize=256:512*3 | learningRatesPerMB=0.1*5:0.01 | ] | " +
      text_reader("") + " | ]");
  const LoadedConfig loaded = world.bind();
  EXPECT_EQ(loaded.section, "train.reader");
  EXPECT_EQ(loaded.minibatch_size, (std::vector<std::uint64_t>{256, 512, 512, 512}));
  EXPECT_EQ(loaded.epoch_size, 1000u);
  const Section root(*world.doc);
  const Value rates = *root.child("train").child("SGD").find("learningRatesPerMB");
  EXPECT_EQ(scan_array(*world.doc, rates.text).size(), 6u);
}

TEST(ConfigReaders, TransformsAreAnArrayOfSections) {  // 105
  World world("features = { transforms ( {type=\"Crop\"} : {type=\"Scale\"; width=4} ) } | empty={transforms = ()}");
  const Section root(world.load());
  EXPECT_EQ(testing::dump(testing::at(root, "features.transforms[1]")), "type='Scale' width='4'");
  EXPECT_TRUE(scan_array(*world.doc, root.child("empty").find("transforms")->text).empty());
}

TEST(ConfigReaders, PrecisionOfTheRequestWins) {
  World world(text_reader("precision=float"));
  world.precision = Element::f64;
  check({"", "", "f64"}, world, "");
}

TEST(ConfigReaders, BindABinaryDeserializerAnywhere) {
  run({"binary second",
       "reader=[deserializers=([type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader;file=t;input=[A=[dim=1;"
       "format=dense]]]:[type=CNTKBinaryFormatDeserializer;module=CNTKBinaryReader;file=b])]",
       "| cbf file=b f32 |"});
}

}  // namespace
}  // namespace batchfeed::config
