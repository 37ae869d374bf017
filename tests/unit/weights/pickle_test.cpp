#include "weights/pickle.h"

#include <limits>

#include "unit/weights/support.h"

namespace cait::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using PickleKind = PickleValue::Kind;

// Text refers to the input, so the two are kept together.
struct Parsed {
    std::shared_ptr<const std::string> bytes;
    PickleDocument document;

    const PickleValue& root() const { return document[document.root()]; }
    const PickleValue& item(std::size_t i) const {
        return document[document.items(document.root())[i]];
    }
};

Parsed pickle_parse(std::string text) {
    auto bytes = std::make_shared<const std::string>(std::move(text));
    PickleDocument document = parse_pickle(as_bytes(*bytes), "file");
    return {bytes, std::move(document)};
}

template <std::size_t N>
Parsed pickle_parse(const char (&literal)[N]) {  // with the zero bytes that it holds
    return pickle_parse(std::string(literal, N - 1));
}

std::string pickle_parse_error(const std::string& text) {
    return error_of([&] { pickle_parse(text); });
}

TEST(Pickle, ReadsNumbersOfEveryNotation) {
    EXPECT_EQ(pickle_parse("K\x07.").root().integer, 7);
    EXPECT_EQ(pickle_parse("M\xe8\x03.").root().integer, 1000);
    EXPECT_EQ(pickle_parse("J\xff\xff\xff\xff.").root().integer, -1);
    EXPECT_EQ(pickle_parse("I-42\n.").root().integer, -42);
    EXPECT_EQ(pickle_parse("L123L\n.").root().integer, 123);
    EXPECT_EQ(pickle_parse("\x8a\x01\xfe.").root().integer, -2);
    EXPECT_EQ(pickle_parse("\x8a\x00.").root().integer, 0);
    EXPECT_EQ(pickle_parse("\x8b\x02\x00\x00\x00\x00\x80.").root().integer, -32768);
    EXPECT_EQ(pickle_parse("\x8a\x09"
                           "123456789.")
                  .root()
                  .kind,
              PickleKind::big_integer);
    EXPECT_EQ(pickle_parse("I99999999999999999999\n.").root().kind, PickleKind::big_integer);
    EXPECT_EQ(pickle_parse("G\x3f\xf8\x00\x00\x00\x00\x00\x00.").root().real, 1.5);
    EXPECT_EQ(pickle_parse("F-2.5e3\n.").root().real, -2500);
    EXPECT_EQ(pickle_parse("I01\n.").root().kind, PickleKind::boolean);
    EXPECT_EQ(pickle_parse("\x88.").root().integer, 1);
    EXPECT_EQ(pickle_parse("N.").root().kind, PickleKind::none);
}

TEST(Pickle, ReadsTextOfEveryNotation) {
    EXPECT_EQ(pickle_parse("S'abc'\n.").root().text, "abc");
    EXPECT_EQ(pickle_parse("V\\u00e9\xe9\\U0001f600\n.").root().text, "\u00e9\u00e9\U0001f600");
    EXPECT_EQ(pickle_parse("U\x02"
                           "ab.")
                  .root()
                  .text,
              "ab");
    EXPECT_EQ(pickle_parse("X\x02\x00\x00\x00"
                           "ab.")
                  .root()
                  .text,
              "ab");
    EXPECT_EQ(pickle_parse("\x8c\x02"
                           "ab.")
                  .root()
                  .text,
              "ab");
    EXPECT_EQ(pickle_parse("\x8d\x02\x00\x00\x00\x00\x00\x00\x00"
                           "ab.")
                  .root()
                  .text,
              "ab");
    EXPECT_EQ(pickle_parse("C\x02"
                           "ab.")
                  .root()
                  .kind,
              PickleKind::bytes);
    EXPECT_EQ(pickle_parse("\x96\x02\x00\x00\x00\x00\x00\x00\x00"
                           "ab.")
                  .root()
                  .kind,
              PickleKind::bytes);
}

TEST(Pickle, ReadsContainers) {
    EXPECT_EQ(pickle_parse("(K\x01K\x02t.").item(1).integer, 2);
    EXPECT_EQ(pickle_parse("](K\x01K\x02"
                           "eK\x03"
                           "a.")
                  .item(2)
                  .integer,
              3);
    EXPECT_EQ(pickle_parse("}(K\x01K\x02uK\x03K\x04s.").item(3).integer, 4);
    EXPECT_EQ(pickle_parse("(K\x01K\x02"
                           "d.")
                  .item(1)
                  .integer,
              2);
    EXPECT_EQ(pickle_parse("\x8f(K\x01\x90.").root().kind, PickleKind::set);
    EXPECT_EQ(pickle_parse("(K\x01\x91.").root().kind, PickleKind::set);
    EXPECT_EQ(pickle_parse("K\x01K\x02K\x03\x87.").item(2).integer, 3);
}

TEST(Pickle, FollowsMemoAndStack) {
    EXPECT_EQ(pickle_parse("K\x01q\x05"
                           "0h\x05.")
                  .root()
                  .integer,
              1);
    EXPECT_EQ(pickle_parse("K\x01p300\n0g300\n.").root().integer, 1);
    EXPECT_EQ(pickle_parse("K\x01r\x00\x01\x00\x00"
                           "0j\x00\x01\x00\x00.")
                  .root()
                  .integer,
              1);
    EXPECT_EQ(pickle_parse("\x80\x04\x95\x06\x00\x00\x00\x00\x00\x00\x00K\x01\x94"
                           "0h\x00.")
                  .root()
                  .integer,
              1);
    EXPECT_EQ(pickle_parse("K\x01"
                           "2\x86.")
                  .item(1)
                  .integer,
              1);
    EXPECT_EQ(pickle_parse("K\x01(K\x02"
                           "1.")
                  .root()
                  .integer,
              1);
    EXPECT_EQ(pickle_parse("K\x01(0.").root().integer, 1);
}

TEST(Pickle, StopsAtTheEndOfTheFirstPickle) {
    EXPECT_EQ(pickle_parse("\x80\x02N.rest").document.consumed(), 4U);
}

TEST(Pickle, UnknownObjectsStayOpaqueWhateverIsDoneToThem) {
    // Made by a call, filled with items and attributes, called again.
    EXPECT_EQ(pickle_parse("cargparse\nNamespace\n)R}b.").root().text, "argparse.Namespace");
    EXPECT_EQ(pickle_parse("cargparse\nNamespace\n)\x81}b.").root().kind, PickleKind::opaque);
    EXPECT_EQ(pickle_parse("cmylib\nBag\n)RK\x01"
                           "a(K\x01K\x02u.")
                  .root()
                  .kind,
              PickleKind::opaque);
    EXPECT_EQ(pickle_parse("cmylib\nmake\n)R)R.").root().kind, PickleKind::opaque);
    EXPECT_EQ(pickle_parse("\x8c\x05mylib\x8c\x03"
                           "Bag\x93)}\x92.")
                  .root()
                  .text,
              "mylib.Bag");
    EXPECT_EQ(pickle_parse("(imylib\nBag\n.").root().kind, PickleKind::opaque);
    EXPECT_EQ(pickle_parse("(cmylib\nBag\no.").root().kind, PickleKind::opaque);
    EXPECT_EQ(pickle_parse("cnumpy.core.multiarray\nscalar\n(K\x01K\x02tR.").root().kind,
              PickleKind::opaque);
}

TEST(Pickle, UnderstandsOrderedDictionaries) {
    EXPECT_EQ(pickle_parse("ccollections\nOrderedDict\n)R(K\x01K\x02u.").item(1).integer, 2);
    EXPECT_EQ(pickle_parse("ccollections\nOrderedDict\n]](K\x01K\x02"
                           "ea\x85R.")
                  .item(1)
                  .integer,
              2);
    EXPECT_EQ(pickle_parse("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R.").root().kind,
              PickleKind::dict);
}

TEST(Pickle, ReadsStoragesAndTensors) {
    const std::string storage =
        "(U\x07storagectorch\nHalfStorage\nU\x01"
        "7U\x03"
        "cpuK\x04tQ";
    const Parsed parsed = pickle_parse("ctorch._utils\n_rebuild_tensor\n(" + storage +
                                       std::string("K\x00K\x04\x85K\x01\x85tR.", 12));
    ASSERT_EQ(parsed.root().kind, PickleKind::tensor);
    EXPECT_EQ(parsed.item(0).kind, PickleKind::storage);
    EXPECT_EQ(parsed.item(0).dtype, DType::f16);
    EXPECT_EQ(pickle_parse("ctorch\nSize\n(K\x02K\x03t\x85R.").item(1).integer, 3);
}

TEST(Pickle, RefusesDangerousGlobalsByName) {
    EXPECT_THAT(pickle_parse_error("cos\nsystem\n(S'id'\ntR."),
                HasSubstr("global 'os.system' not allowed"));
    EXPECT_THAT(pickle_parse_error("\x8c\x02os\x8c\x06system\x93."),
                HasSubstr("global 'os.system' not allowed"));
    EXPECT_THAT(pickle_parse_error("(ios\nsystem\n."), HasSubstr("global 'os.system' not allowed"));
    EXPECT_THAT(pickle_parse_error("cbuiltins\neval\n."),
                HasSubstr("global 'builtins.eval' not allowed"));
}

TEST(Pickle, RefusesNonsense) {
    EXPECT_THAT(pickle_parse_error(""), HasSubstr("truncated"));
    EXPECT_THAT(pickle_parse_error("."), HasSubstr("the stack is empty"));
    EXPECT_THAT(pickle_parse_error("K\x01(0"
                                   "0"
                                   "0."),
                HasSubstr("the stack is empty"));
    EXPECT_THAT(pickle_parse_error("t."), HasSubstr("no mark"));
    EXPECT_THAT(pickle_parse_error("K\x01K\x02K\x03s."), HasSubstr("expected a dictionary"));
    EXPECT_THAT(pickle_parse_error("}(K\x01u."), HasSubstr("a key has no value"));
    EXPECT_THAT(pickle_parse_error("h\x01."), HasSubstr("memo has no entry"));
    EXPECT_THAT(pickle_parse_error("N)R."), HasSubstr("expected a class or function"));
    EXPECT_THAT(pickle_parse_error("N\x82\x01."), HasSubstr("opcode 0x82"));
    EXPECT_THAT(pickle_parse_error("\x80\x09N."), HasSubstr("protocol 9"));
    EXPECT_THAT(pickle_parse_error("Ix\n."), HasSubstr("'x' is not an integer"));
    EXPECT_THAT(pickle_parse_error("X\xff\xff\xff\xff"
                                   "abc."),
                HasSubstr("truncated"));
    EXPECT_THAT(pickle_parse_error("U\x03xyzQ."), HasSubstr("persistent id"));
    EXPECT_THAT(pickle_parse_error("ctorch._utils\n_rebuild_tensor_v2\n)R."),
                HasSubstr("not built from a storage"));
    EXPECT_THAT(pickle_parse_error("K\x01r\xff\xff\xff\xff."), HasSubstr("memo index"));
}

TEST(Pickle, DeepNestingNeitherRecursesNorLeaks) {
    std::string deep;
    for (int i = 0; i < 500'000; ++i) deep += "]";
    for (int i = 0; i < 499'999; ++i) deep += "a";
    EXPECT_EQ(pickle_parse(deep + ".").root().kind, PickleKind::list);
    std::string tuples = "N";
    for (int i = 0; i < 500'000; ++i) tuples += "\x85";
    EXPECT_EQ(pickle_parse(tuples + ".").root().kind, PickleKind::tuple);
}

TEST(Pickle, MemoryAndWorkAreBounded) {
    EXPECT_THAT(pickle_parse_error(std::string(3'000'000, ']')), HasSubstr("values"));
    EXPECT_THAT(pickle_parse_error(std::string(9'000'000, 'N')),
                HasSubstr("the stack is too deep"));
    EXPECT_THAT(pickle_parse_error(std::string(9'000'000, '(')),
                HasSubstr("the stack is too deep"));
    // Copies of one long list: each call is a few bytes but would cost the whole list.
    std::string copies =
        "ccollections\nOrderedDict\nq\x01"
        "0](";
    for (int i = 0; i < 10'000; ++i) copies += "K\x01K\x02\x86";
    copies +=
        "eq\x02"
        "0";
    for (int i = 0; i < 10'000; ++i) copies += "h\x01h\x02\x85R";
    EXPECT_THAT(pickle_parse_error(copies), HasSubstr("references"));
    EXPECT_THAT(pickle_parse_error("c" + std::string(1000, 'x') + "\ny\n."), HasSubstr("too long"));
}

}  // namespace
}  // namespace cait::test
