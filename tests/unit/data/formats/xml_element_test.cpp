#include "data/formats/xml_element.h"

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::HasSubstr;

std::string xml_error(const std::string& text) {
    return error_of([&] { read_xml(text, "a.xml"); });
}

TEST(XmlElement, ReadsElementsAndTheirTexts) {
    const XmlElement root = read_xml(
        "\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a > b -->\n<a x=\"1>2\" y = '\"'>\n"
        "  one<b/>  two <c> 3 </c>\n<c>4</c><!-- <d> --></a>\n<!-- end -->\n",
        "a.xml");
    EXPECT_EQ(root.name, "a");
    EXPECT_EQ(root.text, "one  two");
    EXPECT_EQ(root.line, 3U);
    ASSERT_EQ(root.children.size(), 3U);
    EXPECT_EQ(root.children[0].name, "b");
    EXPECT_EQ(root.text_of("c"), "3");
    EXPECT_EQ(root.children[2].text, "4");
    EXPECT_EQ(root.children[2].line, 5U);
    EXPECT_EQ(root.text_of("d"), "");
    EXPECT_EQ(root.child("d"), nullptr);
}

TEST(XmlElement, ReadsReferencesAndRawText) {
    EXPECT_EQ(
        read_xml("<a>&lt;b&gt; &amp;&quot;&apos;&#65;&#xe9;&#x20AC;&#x1F600;</a>", "a.xml").text,
        "<b> &\"'A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(read_xml("<a><![CDATA[<b>&amp;]]></a>", "a.xml").text, "<b>&amp;");
}

TEST(XmlElement, NamesTheLineOfWhatIsWrong) {
    EXPECT_THAT(xml_error(""), HasSubstr("a.xml:1: expected an element"));
    EXPECT_THAT(xml_error("text"), HasSubstr("expected an element"));
    EXPECT_THAT(xml_error("<>"), HasSubstr("expected an element"));
    EXPECT_THAT(xml_error("</a>"), HasSubstr("expected an element"));
    EXPECT_THAT(xml_error("<a>\n<b></a>"), HasSubstr("a.xml:2: expected </'b'>, found </'a'>"));
    EXPECT_THAT(xml_error("<a>\n\n"), HasSubstr("a.xml:3: expected </'a'>"));
    EXPECT_THAT(xml_error("<a></a><b/>"), HasSubstr("expected the end after the outermost"));
    EXPECT_THAT(xml_error("<a x=1/>"), HasSubstr("in quotes"));
    EXPECT_THAT(xml_error("<a x='1/>"), HasSubstr("expected the end of the value"));
    EXPECT_THAT(xml_error("<a x"), HasSubstr("expected '='"));
    EXPECT_THAT(xml_error("<a><!-- "), HasSubstr("expected the end of a comment"));
    EXPECT_THAT(xml_error("<a><![CDATA[ "), HasSubstr("expected the end of CDATA"));
    EXPECT_THAT(xml_error("<?xml"), HasSubstr("expected the end of an instruction"));
    for (const char* name : {"&x;", "&#0;", "&#xD800;", "&#x110000;", "&#;", "&;", "&#-1;"})
        EXPECT_THAT(xml_error(std::string("<a>") + name + "</a>"),
                    HasSubstr("expected a character such as"))
            << name;
    EXPECT_THAT(xml_error("<a>&amplifier</a>"), HasSubstr("expected ';' after '&'"));
    EXPECT_THAT(xml_error(std::string("<a>\0</a>", 8)), HasSubstr("found a zero byte"));
}

// Entities that grow to gigabytes come from a document type.
TEST(XmlElement, HasLimits) {
    EXPECT_THAT(xml_error("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"),
                HasSubstr("found a document type, which is not read"));
    std::string deep;
    for (int i = 0; i < 32; ++i) deep += "<a>";
    std::string closed = deep;
    for (int i = 0; i < 32; ++i) closed += "</a>";
    EXPECT_EQ(read_xml(closed, "a.xml").name, "a");
    EXPECT_THAT(xml_error("<a>" + deep), HasSubstr("expected at most 32 elements in each other"));
    std::string many = "<a>";
    for (std::size_t i = 0; i < kMostXmlElements; ++i) many += "<b/>";
    EXPECT_THAT(xml_error(many), HasSubstr("expected at most 500000 elements"));
    EXPECT_THAT(xml_error(std::string(kLargestXml + 1, ' ')), HasSubstr("expected at most"));
}

}  // namespace
}  // namespace cait::data_test
