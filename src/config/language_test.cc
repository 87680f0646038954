// SPDX-License-Identifier: MIT
//
// The language itself: cases 1-74 of the catalogue the language is described by.
// " | " in a text is a line break; "!config.id" an error.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "config/testing.h"
#include "config/value.h"

namespace batchfeed::config {
namespace {

using testing::outcome;
using testing::World;

struct TextCase {
  const char* id;
  const char* text;
  const char* path;      // section to look at; "" = root
  const char* expected;  // its entries
};

void run_text(const TextCase& c) {
  SCOPED_TRACE(std::string(c.id) + ": " + c.text);
  World world(c.text);
  EXPECT_EQ(outcome([&] {
              const Section& root = world.load().keep(std::make_unique<Section>(*world.doc));
              return testing::dump(testing::at(root, c.path));
            }),
            c.expected);
}

TEST(ConfigLanguage, CutsTextIntoRecords) {
  constexpr TextCase kCases[] = {
      {"1", "a=1 | b = \"two words\" | c = three words here # x | d=x#y", "",
       "a='1' b='two words' c='three words here' d='x#y'"},
      {"2", "# full |    # indented | e", "", "e='true'"},
      {"3", "a=1 | f= | g=2", "", "!config.no-value"},
      {"4", "a=1;f=;g=2", "", "!config.no-value"},
      {"5", "a=\"\"", "", "a=''"},
      {"6", "a = 1 b = 2", "", "a='1 b = 2'"},
      {"7", "a=1,b=2;c=3", "", "a='1' b='2' c='3'"},
      {"8", "r [ a=1 ] | q{b=2} | t ( 1:2 )", "", "q='{b=2}' r='[ a=1 ]' t='( 1:2 )'"},
      {"9", "Foo=1 | foo=2 | FOO=3", "", "Foo='3'"},
      {"10", "a = x\"y z\"w | b=\"q\"tail", "", "a='x\"y z\"' b='q' tail='true' w='true'"},
      {"11", "reader = | [ a=1 ]", "", "!config.no-value"},
      {"12", "reader | [ a=1 ]", "", "a='1' reader='true'"},
      {"13", "a=\"x # y\" | b=1", "", "!config.unclosed"},
      {"14", "a=c#  # real | b=2", "", "a='c#  # real' b='2'"},
      {"15", "r=[ # open [ | a=1 # close ] | ]", "r", "a='1'"},
      {"16", "r=[ a=1", "", "!config.unclosed"},
      {"17", "r=[ a=1 )", "", "!config.unmatched"},
      {"18", "s={a=1} | } | t=5", "", "s='{a=1}' t='5' }='true'"},
      {"19", "a=\"x\\\"y\"", "", "!config.unclosed"},
      {"20", "[ a=1 ; b=[c=1] ] | y=2", "", "a='1' b='[c=1]' y='2'"},
      {"21", "[[a=1;b=2];c=3]", "", "c='3'"},
      {"23", "a=b=c | d=x=[y]", "", "a='b=c' d='x=[y]'"},
      {"24", "a = foo [x=1] bar", "", "a='foo [x=1]' bar='true'"},
      {"25a", "file=c:\\data (1)\\x.txt", "", "\\x.txt='true' file='c:\\data (1)'"},
      {"25b", "file=\"c:\\data (1)\\x.txt\"", "", "file='c:\\data (1)\\x.txt'"},
      {"26", "a=1 // no | u=http://x/y;z=1", "", "a='1 // no' u='http://x/y' z='1'"},
      {"27", "x='a;b'", "", "b'='true' x=''a'"},
      {"28", "r=[ type=\"A\" module=\"B\" ; dim=3 format=\"x\" ]", "r", "dim='3 format=\"x\"' module='B' type='A'"},
      {"29", "1x1=[a=1] | my key = 2 | a:b=3", "", "1x1='[a=1]' a:b='3' my key='2'"},
      {"30a", "r=[-a=1-b=2] | t=[_a=1;b=2]", "r", "a='1' b='2'"},
      {"30b", "r=[-a=1-b=2] | t=[_a=1;b=2]", "t", "a='1;b=2'"},
      {"32", "\"a b\" = 1 | c=2", "", "!config.quoted-key"},
      {"114", "# only a comment |  | ", "", ""},
      {"113", "b={ x=1 // :)  | }", "", "!config.unmatched"},
      {"the last byte is '='", "a=1 | b=", "", "!config.no-value"},
      {"quoted values are trimmed", "a=\" 5 \"", "", "a='5'"},
      {"a parenthesis stays", "a = f(x)", "", "a='f(x)'"},
      {"quoted text of no key", "\"b\" | a=1", "", "!config.unclosed"},
      {"empty quotes of no key", "a=1 | \"\"", "", "!config.unclosed"},
      {"a quote further on takes it for its own", "\"\";a=\"x\"", "", "!config.no-value"},
      {"inside of a group they are nothing", "r=[\"\";a=1 \"\" ]", "r", "a='1 \"\"'"},
      {"commas cut", "a=1,2,3", "", "2='true' 3='true' a='1'"},
  };
  for (const TextCase& c : kCases) run_text(c);
}

TEST(ConfigLanguage, ReadsBytesAsTheyCome) {
  World marked("a=1");
  marked.files["c.cntk"] =
      "\xEF\xBB\xBF"
      "a=1\r\nb=2\r\n";
  EXPECT_EQ(testing::dump(Section(marked.load())), "a='1' b='2'");  // 22
  World bare("a=1");
  bare.files["c.cntk"] = "a=1\rb=2";
  EXPECT_EQ(outcome([&] { return testing::dump(Section(bare.load())); }), "!config.lone-cr");  // 31
  World wide("a=1");
  wide.files["c.cntk"] = std::string(
      "\xFF\xFE"
      "a\0=\0",
      6);
  EXPECT_EQ(outcome([&] { return testing::dump(Section(wide.load())); }), "!config.utf16");
  World nul("a=1");
  nul.files["c.cntk"] = std::string("a=1\0junk\nb=2", 12);
  EXPECT_EQ(testing::dump(Section(nul.load())), "a='1' b='2'");
}

TEST(ConfigLanguage, MergesWhatIsGivenAgain) {
  constexpr TextCase kCases[] = {
      {"33a", "p=[a=1;b=2] | p=[b=3;c=4]", "p", "a='1' b='3' c='4'"},
      {"33b", "p={a=1;b=2} | p={c=5}", "p", "c='5'"},
      {"33c", "p={a=1} | p=[c=5]", "p", "a='1' c='5'"},
      {"33d", "p=[a=1] | p={c=5}", "p", "c='5'"},
      {"33e", "p=[r=[a=1;b=2];k=3] | p=[r=[b=7]]", "p.r", "a='1' b='7'"},
      {"33f", "p=[r=[a=1;b=2]] | p=[r={b=7}]", "p.r", "b='7'"},
      {"33g", "p=1:2:3 | p=4", "", "p='4'"},
      {"33h", "p=5 | p=[x=1]", "p", "5='[x=1]'"},
      {"33i", "p=[x=1] | p=5", "", "p='5'"},
      {"46", "input=[f=[dim=1;format=\"dense\"] | f=[dim=2]]", "input.f", "dim='2' format='dense'"},
      {"47", "input=[zeta=1;Alpha=2;beta=3;_u=4;B2=5;1a=6]", "input",
       "1a='6' _u='4' Alpha='2' B2='5' beta='3' zeta='1'"},
  };
  for (const TextCase& c : kCases) run_text(c);
}

TEST(ConfigLanguage, LetsTheCommandLineWin) {
  constexpr const char* kSquare = "train=[reader=[file=\"a\";n=1]]";
  constexpr const char* kCurly = "train={reader={file=\"a\";n=1}}";
  struct {
    const char* id;
    const char* text;
    const char* set;
    const char* path;
    const char* expected;
  } const kCases[] = {
      {"34", kSquare, "train=[reader=[n=5]]", "train.reader", "file='a' n='5'"},
      {"35", kSquare, "train={reader={n=5}}", "train.reader", "n='5'"},
      {"36", kCurly, "train=[reader=[n=5]]", "train.reader", "file='a' n='5'"},
      {"37", kCurly, "train=[reader={n=5}]", "train.reader", "n='5'"},
      {"39a", "a=1", "train.a=2", "", "a='1' train.a='2'"},
      {"39b", "a=1", "verbose", "", "a='1' verbose='true'"},
      {"39c", "a=1", "b=1;c=2", "", "a='1' b='1' c='2'"},
      {"comments in it go when a section is read", "a=1", "r=[x=1 # y=2\nz=3]", "r", "x='1' z='3'"},
      {"and with them the blank before them", "a=1", "x=double # y", "", "a='1' x='double'"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.id);
    World world(c.text);
    world.set = {c.set};
    const Section root(world.load());
    EXPECT_EQ(testing::dump(testing::at(root, c.path)), c.expected);
    EXPECT_FALSE(world.reported("config.duplicate-key")) << "an override is no slip";
  }
}

TEST(ConfigLanguage, TextBeforeAFileIsOverriddenByIt) {  // 38
  Document doc({}, {});
  doc.load({{.name = "set#1", .text = "n=9", .is_file = false}, {.name = "c.cntk", .text = {}, .is_file = true}},
           [](const std::string&) { return std::string("n=1"); });
  EXPECT_EQ(testing::dump(Section(doc)), "n='1'");
}

TEST(ConfigLanguage, RefusesAFileGivenTwice) {  // 45
  Document doc({}, {});
  const Input file{.name = "a", .text = {}, .is_file = true};
  EXPECT_EQ(outcome([&] {
              doc.load({file, file}, [](const std::string&) { return std::string("n=1"); });
              return std::string();
            }),
            "!config.same-file-twice");
}

// A given file overrides the files given before it, even if one of them includes it: the include is passed over.
TEST(ConfigLanguage, AFileThatIsGivenStandsWhereItIsGiven) {
  for (const auto& [first, second, x] : {std::tuple{"a", "b", "x='5'"}, std::tuple{"b", "a", "x='1'"}}) {
    std::vector<Notice> notices;
    Document doc({}, [&](const Notice& notice) { notices.push_back(notice); });
    doc.load({{.name = first, .text = {}, .is_file = true}, {.name = second, .text = {}, .is_file = true}},
             [](const std::string& path) { return std::string(path == "a" ? "include=b\nx=1\n" : "x=5\n"); });
    EXPECT_EQ(testing::dump(Section(doc)), x);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].fault.id, "config.include-repeated");
    EXPECT_EQ(notices[0].fault.at.file, "a");
  }
}

TEST(ConfigLanguage, IncludesFiles) {
  const auto read = [](const char* text, const char* included, const char* path) {
    World world(text);
    world.files["d.cntk"] = testing::lines(included);
    return outcome([&] {
      const Section root(world.load());
      return testing::dump(testing::at(root, path)) + (world.reported("config.include-repeated") ? " repeated" : "");
    });
  };
  EXPECT_EQ(read("a=1 | include=d.cntk | b=2", "a=5 | c=7", ""), "a='5' b='2' c='7'");          // 40
  EXPECT_EQ(read("include = d.cntk", "a=1", ""), "include='d.cntk'");                           // 41
  EXPECT_EQ(read("Include=d.cntk", "a=1", ""), "Include='d.cntk'");                             // 41
  EXPECT_EQ(read("include=$D$/d.cntk", "a=1", ""), "!config.include-variable");                 // 42
  EXPECT_EQ(read("include=d.cntk", "a=1 | include=d.cntk | b=2", ""), "a='1' b='2' repeated");  // 43
  EXPECT_EQ(read("include=d.cntk", "a=1 | include=c.cntk", ""), "a='1' repeated");  // 43, the other way round
  EXPECT_EQ(read("r=[ | include=d.cntk | z=1 | ]", "y=2", "r"), "y='2' z='1'");     // 44
  EXPECT_EQ(read("include=none.cntk", "", ""), "!io.open");
  EXPECT_EQ(read("include=\"d.cntk\"", "a=1", ""), "!io.open");
}

TEST(ConfigLanguage, ReplacesVariables) {
  constexpr TextCase kCases[] = {
      {"48", "Root=/data | f=\"$ROOT$/x\" | A=1 | B=$A$ | C=$B$x", "", "A='1' B='1' C='1x' f='/data/x' Root='/data'"},
      {"49", "Dir=/d | train=[reader=[file=\"$Dir$/a\"]]", "train.reader", "file='/d/a'"},
      {"50", "train=[Dir=/d | reader=[file=\"$Dir$/a\"]]", "train", "!config.unknown-variable"},
      {"51", "D=/a | train=[D=/b | reader=[file=\"$D$/x\"]]", "train.reader", "file='/a/x'"},
      {"52", "f=\"$5 a$ $ x $ $a b$ $$\"", "", "f='$5 a$ $ x $ $a b$ $$'"},
      {"53", "A=$B$ | B=$A$", "", "!config.variable-loop"},
      {"54", "S=[a=1;b=2] | q=[inner=$S$]", "q.inner", "a='1' b='2'"},
      {"55", "S=[ | a=1 | ] | r=$S$", "r", "!config.multiline-variable"},
      {"56a", "K=foo | r=[$K$=1] | N=3 | s=[dim=$N$;f=$N$$N$]", "r", "foo='1'"},
      {"56b", "K=foo | r=[$K$=1] | N=3 | s=[dim=$N$;f=$N$$N$]", "s", "dim='3' f='33'"},
      {"an empty variable yields nothing", "E=\"\" | f=a$E$b", "", "E='' f='ab'"},
      {"an unused section may hold unknown variables", "x=[f=$No$] | y=[a=1]", "y", "a='1'"},
      {"definitions may come later", "f=$V$ | V=1 | V=2", "", "f='2' V='2'"},
  };
  for (const TextCase& c : kCases) run_text(c);
}

TEST(ConfigLanguage, LooksOutwards) {
  const auto find = [](const char* text, const char* path, const char* key) {
    World world(text);
    const Section root(world.load());
    const auto value = testing::at(root, path).find(key);
    return value ? std::string(value->text.bytes()) + (value->inherited ? " inherited" : "") : "none";
  };
  EXPECT_EQ(find("D=/a | train=[D=/b | reader=[file=\"$D$/x\"]]", "train.reader", "d"), "/b inherited");  // 51
  EXPECT_EQ(find("n=1 | train=[n=2 | reader=[x=1]]", "train.reader", "n"), "2 inherited");                // 57
  constexpr const char* kArray = "trace=3 | reader=[frameMode=true | deserializers=([type=\"A\"]:[type=\"B\"])]";
  EXPECT_EQ(find(kArray, "reader.deserializers[0]", "frameMode"), "none");  // 59
  EXPECT_EQ(find(kArray, "reader.deserializers[0]", "trace"), "none");
  EXPECT_EQ(find(kArray, "reader.deserializers[1]", "type"), "B");
  EXPECT_EQ(find("reader={deserializers=({type=\"A\" | input={f={dim=1}}}:{type=\"B\"})}",
                 "reader.deserializers[0].input.f", "type"),
            "A inherited");  // 60
}

std::string array(std::string_view text) {
  World world("");
  Document& doc = world.load();
  return outcome([&] {
    std::string out;
    for (const Text& element : scan_array(doc, Text(std::string(text), 0)))
      out += '<' + std::string(element.bytes()) + '>';
    return out;
  });
}

TEST(ConfigLanguage, CutsArrays) {
  EXPECT_EQ(array("256:512*3:1024"), "<256><512><512><512><1024>");  // 61
  for (const char* same : {"(1:2)", "[1:2]", "{1:2}", "1:2", "( 1 , 2 )", "1::2", "1\n2"}) {
    EXPECT_EQ(array(same), "<1><2>") << same;  // 62
  }
  EXPECT_EQ(array("(1;2;3)"), "<1;2;3>");  // 63
  EXPECT_EQ(array("(-1:2)"), "<1:2>");     // 64
  EXPECT_EQ(array("( -1:2)"), "<-1><2>");
  EXPECT_EQ(array("1*"), "");  // 65
  EXPECT_EQ(array("1*:2"), "");
  EXPECT_EQ(array("1*0:2"), "<2>");
  EXPECT_EQ(array("1*x"), "!config.bad-int");
  EXPECT_EQ(array("*3"), "<><><>");
  EXPECT_EQ(array("(\"c:\\a\":\"d:\\b\")"), "<c:\\a><d:\\b>");  // 66
  EXPECT_EQ(array("(;c:\\a;d:\\b)"), "<c:\\a><d:\\b>");
  EXPECT_EQ(array("c:\\a"), "<c><\\a>");
  EXPECT_EQ(array("(\"x*2\")"), "<x><x>");                                                // 67
  EXPECT_EQ(array("((1:2):(3:4))"), "<(1:2)><(3:4)>");                                    // 68
  EXPECT_EQ(array("( {type=\"A\"} ; {type=\"B\"} )"), "<{type=\"A\"}><; {type=\"B\"}>");  // 69
  EXPECT_EQ(array("1*2000000000"), "!config.limit");
  EXPECT_EQ(array("(.5:1.5)"), "<5:1><5>");
  EXPECT_EQ(array("(../a:../b)"), "<../a><../b>");
  run_text({"68", "p=(1:2):(3:4)", "", ":='(3:4)' p='(1:2)'"});
}

TEST(ConfigLanguage, ConvertsValues) {
  World world("");
  Document& doc = world.load();
  const auto text = [](std::string_view bytes) { return Text(std::string(bytes), 0); };
  const auto as_bool = [&](std::string_view t) {
    return outcome([&] { return std::string(parse_bool(doc, text(t), "k") ? "true" : "false"); });
  };
  const auto as_int = [&](std::string_view t) {
    return outcome([&] { return std::to_string(parse_int(doc, text(t), "k")); });
  };
  const auto as_size = [&](std::string_view t) {
    return outcome([&] { return std::to_string(parse_size(doc, text(t), "k")); });
  };
  const auto as_double = [&](std::string_view t) {
    return outcome([&] { return std::to_string(parse_double(doc, text(t), "k")); });
  };
  for (const char* yes : {"true", "True", "TRUE", "t", "T", "1"}) EXPECT_EQ(as_bool(yes), "true") << yes;  // 71
  for (const char* no : {"false", "False", "FALSE", "f", "F", "0", ""}) EXPECT_EQ(as_bool(no), "false") << no;
  for (const char* bad : {"yes", "tRue", "2", "on"}) EXPECT_EQ(as_bool(bad), "!config.bad-bool") << bad;
  EXPECT_EQ(as_int("010"), "10");
  EXPECT_EQ(as_int("+3"), "3");
  for (const char* bad : {"1e3", "0x10", "1.0", "3 4", "", "-", "abc"})
    EXPECT_EQ(as_int(bad), "!config.bad-int") << bad;  // 72
  EXPECT_EQ(as_int("3000000000"), "!config.int-range");
  EXPECT_EQ(as_int("-2147483648"), "-2147483648");
  EXPECT_EQ(as_int("-2147483649"), "!config.int-range");
  EXPECT_EQ(as_int("-5"), "-5");  // 73
  EXPECT_EQ(as_size("-5"), "18446744073709551611");
  EXPECT_TRUE(world.reported("config.negative-size"));
  EXPECT_EQ(as_size("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(as_size("18446744073709551616"), "!config.int-range");
  EXPECT_EQ(as_double("1e3"), "1000.000000");
  EXPECT_EQ(as_double("0x10"), "16.000000");
  EXPECT_EQ(as_double("1#INF"), "inf");  // 74
  EXPECT_EQ(as_double("-1#inf"), "inf");
  EXPECT_EQ(as_double("1.5x"), "!config.bad-double");
  for (const char* bad : {"--1", "+-1", "", "+", " ", "0z", "0x", "1e999999"})
    EXPECT_EQ(as_double(bad), "!config.bad-double") << bad;
  EXPECT_EQ(as_double(" \t-1.5"), "-1.500000");
  EXPECT_EQ(as_double("+2"), "2.000000");
  EXPECT_EQ(as_double("1#inx"), "!config.bad-double");
  EXPECT_EQ(as_int("\t 7"), "7");
  EXPECT_EQ(as_size("-0"), "0");
}

}  // namespace
}  // namespace batchfeed::config
