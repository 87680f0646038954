// SPDX-License-Identifier: MIT
//
// Configurations of text corpora: cases F01-F44 of the catalogue the format is
// described by.
#include <gtest/gtest.h>

#include "config/testing.h"

namespace batchfeed::config {
namespace {

using testing::composite;
using testing::run;
using testing::text_reader;
using Case = testing::BindCase;

TEST(ConfigReaders, FollowTheTextFormatsCatalogue) {
  constexpr const char* kDense = "A=[dim=1;format=dense];";
  const Case kCases[] = {
      {"F01", "reader=[file=t]", "!config.no-input"},
      {"F02", text_reader("", ""), "!config.empty-input"},
      {"F03", text_reader("", "A=[format=dense]"), "!config.missing-required"},
      {"F04", text_reader("", "A=[dim=1;format=foo]"), "!config.bad-format"},
      {"F05", text_reader("", "A=[dim=1;format=Dense];B=[dim=10;format=SPARSE]"), "A:1d B:10s"},
      {"F06a", text_reader("", "A=[dim=1.5;format=dense]"), "!config.bad-int"},
      {"F06b", text_reader("", "A=[dim=abc;format=dense]"), "!config.bad-int"},
      {"F07", text_reader("", "A=[dim=-1;format=dense]"), "!config.bad-dim"},
      {"F08", text_reader("", "A=[dim=0;format=dense]"), "!config.bad-dim"},
      {"a shape", text_reader("", "A=[dim=28:28;format=dense]"), "!config.bad-int"},
      {"F10", text_reader("", "A=[dim=1;format=dense;alias=\"\"]"), "!config.missing-required"},
      {"F13", text_reader("", "A=[dim=1;format=dense;alias=a];B=[dim=1;format=dense;alias=A]"), "A<a:1d B<A:1d"},
      {"F14",
       text_reader(
           "",
           "zeta=[dim=1;format=dense];Beta=[dim=1;format=dense];alpha=[dim=1;format=dense];_x=[dim=1;format=dense]"
           ";1n=[dim=1;format=dense]"),
       "1n:1d _x:1d alpha:1d Beta:1d zeta:1d"},
      {"F15", text_reader("", std::string(kDense) + "a=[dim=1;format=dense]"), "!config.stream-case"},
      {"F16a", "reader=[input=[A=[dim=1;format=dense]]]", "!config.missing-required"},
      {"F16b", "reader=[file=\"\";input=[A=[dim=1;format=dense]]]", "!config.missing-required"},
      {"F20", text_reader("maxErrors=-1"), "!config.bad-value"},
      {"F21", text_reader("maxErrors=1.5"), "!config.bad-int"},
      {"F22", text_reader("maxErrors=default"), "errors=0"},
      {"F23", text_reader("skipSequenceIds=yes"), "!config.bad-bool"},
      {"F25", text_reader("chunkSizeInBytes=0"), "!config.bad-value"},
      {"F26", text_reader("chunkSizeInBytes=-5"), "!config.bad-value"},
      {"F27", text_reader("definesMBSize=true", std::string(kDense) + "B=[dim=1;format=dense]"),
       "A:1d B:1d, ~config.dead-key"},
      {"F28", text_reader("", "A=[dim=1;format=dense;definesMBSize=true];B=[dim=1;format=dense;definesMBSize]"),
       "!config.conflict"},
      {"F29", "D=t | reader=[file=\"$D$.txt\";input=[A=[dim=1;format=dense]]]", "file=t.txt"},
      {"F30", "reader=[file=\"$NoSuch$.txt\";input=[A=[dim=1;format=dense]]]", "!config.unknown-variable"},
      {"F31", "reader=[file=\".../t.txt\";input=[A=[dim=1;format=dense]]]", "file=.../t.txt"},
      {"F32a", text_reader("", "A=[dim=1;format=dense;alias=\"A B\"]"), "!config.bad-alias"},
      {"F32b", text_reader("", "A=[dim=1;format=dense;alias=\"A|B\"]"), "!config.bad-alias"},
      {"1.1: 7F is printable", text_reader("", "A=[dim=1;format=dense;alias=\"A\x7f\"]"), "A<A\x7f:1d"},
      {"F32c", text_reader("", "A=[dim=1;format=dense;alias=\"#A\"]"), "!config.bad-alias"},
      {"F32: a name is an alias", text_reader("", "my stream=[dim=1;format=dense]"), "!config.bad-alias"},
      {"F33a", text_reader("randomize=NONE"), "in order"},
      {"F33b", text_reader("randomize=maybe"), "!config.bad-bool"},
      {"F34", text_reader("", "A=[dim=1;format=dense;colour=red]"), "A:1d, ~config.unknown-key"},
      {"F35", "traceLevel=2 | t=[" + text_reader("") + "]", "trace=2"},
      {"F36", composite("maxErrors=5"), "errors=5, invalid=5"},
      {"F36: the inner one wins", composite("maxErrors=5", "maxErrors=1"), "errors=1"},
      {"F37", composite("traceLevel=2", "traceLevel=0"), "trace=0"},
      {"F38", composite("cacheIndex=true"), "cache"},
      {"D13: kept in memory, by the reader", composite("keepDataInMemory=true"), "keep"},
      {"D13: kept in memory, by the deserializer", composite("", "keepDataInMemory=true"), "keep"},
      {"D13: the inner one wins", composite("keepDataInMemory=true", "keepDataInMemory=false"),
       "A:1d | cntk window=128 chunks seed=0 | sequences numeric local ."},
      {"D13: not kept where nobody asks for it", composite(""), "numeric local ."},
      {"D13: chunks are not the reader's", composite("chunkSizeInBytes=1024"), "chunk=33554432, ~config.dead-key"},
      {"a window above everything", text_reader("randomizationWindow=18446744073709551615"),
       "window=everything chunks"},
      {"sizes that cannot be used do not stop it", "t=[SGD=[minibatchSize=many];" + text_reader("") + "]", "A:1d"},
      {"F39", "reader=[deserializers=([type=cntktextformatdeserializer;module=CNTKTextFormatReader])]",
       "!config.unknown-type"},
      {"F40", composite("randomizationWindow=30"), "window=30 samples, ~config.window-unit"},
      {"F41", composite("sampleBasedRandomizationWindow=true"), "!config.conflict"},
      {"F42a", composite("", "", "A=[dim=1;format=dense;transforms=([type=x])]"), "!config.unsupported"},
      {"F42b", composite("", "", "A=[dim=1;format=dense;transforms=()]"), "A:1d"},
      {"F43",
       "reader=[deserializers=([type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader;file=t;input=[A=[dim=1;"
       "format=dense]]]:"
       "[type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader;file=u;input=[A=[dim=1;format=dense]]])]",
       "!config.duplicate-stream"},
      {"F44", composite("hashSequenceKeys=true"), "!config.conflict"},
      {"keys that change chunks count inside only", composite("skipSequenceIds=true"), "A:1d, ~config.dead-key"},
      {"a bad value without effect is bad", composite("", "randomize=auto"), "!config.bad-bool"},
  };
  for (const Case& c : kCases) run(c);
}

}  // namespace
}  // namespace batchfeed::config
