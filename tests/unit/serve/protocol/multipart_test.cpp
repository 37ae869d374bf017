#include "serve/protocol/multipart.h"

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

const std::string kType = "multipart/form-data; boundary=AaB";
const std::string kFile =
    "--AaB\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a;\\\"b.jpg\"\r\n"
    "Content-Type: image/jpeg\r\n\r\nby\r\n--Aates\r\n--AaB--\r\n";

TEST(Multipart, FindsFilesAndFields) {
    EXPECT_TRUE(is_multipart(kType));
    EXPECT_TRUE(is_multipart("Multipart/Form-Data; boundary=x"));
    EXPECT_FALSE(is_multipart("multipart/mixed; boundary=x"));
    const auto one = parse_multipart(kType, kFile);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].name, "image");
    EXPECT_TRUE(one[0].is_file);
    EXPECT_EQ(one[0].content, "by\r\n--Aates");  // only the whole boundary ends it
    const std::string body =
        "before it\r\n--AaB\r\ncontent-disposition: form-data; name=top\r\n\r\n5\r\n" + kFile;
    const auto two = parse_multipart("multipart/form-data; charset=x; boundary=\"AaB\"", body);
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0].name, "top");
    EXPECT_FALSE(two[0].is_file);
    EXPECT_EQ(two[0].content, "5");
}

TEST(Multipart, APartMayBeEmpty) {
    const auto parts = parse_multipart(
        kType, "--AaB\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n--AaB--");
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].content, "");
}

TEST(Multipart, RefusesWhatHasNoEnd) {
    const auto status = [](const std::string& type, const std::string& body) {
        return refusal_of([&] { parse_multipart(type, body); }).status;
    };
    EXPECT_EQ(status("multipart/form-data", kFile), 400);
    EXPECT_EQ(status("multipart/form-data; boundary=\"\"", kFile), 400);
    EXPECT_EQ(status("multipart/form-data; boundary=" + std::string(71, 'x'), kFile), 400);
    EXPECT_EQ(status("multipart/form-data; boundary=other", kFile), 400);
    EXPECT_EQ(status(kType, ""), 400);
    for (std::size_t end = 0; end + 4 < kFile.size(); ++end)  // CR LF after the end may be missing
        EXPECT_EQ(status(kType, kFile.substr(0, end)), 400) << end;
    EXPECT_EQ(status(kType, "--AaB\r\nContent-Type: image/jpeg\r\n\r\nx\r\n--AaB--"), 400);
    std::string many;
    for (int i = 0; i < 65; ++i)
        many += "--AaB\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
    EXPECT_EQ(status(kType, many + "--AaB--"), 400);
}

}  // namespace
}  // namespace cait::serve
