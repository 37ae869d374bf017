// The test vectors of RFC 1321 and FIPS 180-4, and all lengths around the end of a block.
#include "system/digest.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

std::string digest(DigestKind kind, std::string_view text) {
    Digest result(kind);
    result.add(std::as_bytes(std::span(text)));
    return result.hex();
}

TEST(Digest, Md5Vectors) {
    EXPECT_EQ(digest(DigestKind::md5, ""), "d41d8cd98f00b204e9800998ecf8427e");
    EXPECT_EQ(digest(DigestKind::md5, "a"), "0cc175b9c0f1b6a831c399e269772661");
    EXPECT_EQ(digest(DigestKind::md5, "abc"), "900150983cd24fb0d6963f7d28e17f72");
    EXPECT_EQ(digest(DigestKind::md5, "message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    EXPECT_EQ(digest(DigestKind::md5,
                     "1234567890123456789012345678901234567890123456789012345678901"
                     "2345678901234567890"),
              "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Digest, Sha256Vectors) {
    EXPECT_EQ(digest(DigestKind::sha256, ""),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(digest(DigestKind::sha256, "abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(
        digest(DigestKind::sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(digest(DigestKind::sha256, std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// However a message is cut up, the digest is that of the whole.
TEST(Digest, PiecesMakeNoDifference) {
    for (const DigestKind kind : {DigestKind::md5, DigestKind::sha256})
        for (std::size_t length = 0; length < 200; ++length) {
            const std::string text(length, 'x');
            Digest pieces(kind);
            for (std::size_t i = 0; i < length; i += 7)
                pieces.add(std::as_bytes(
                    std::span(text).subspan(i, std::min<std::size_t>(7, length - i))));
            EXPECT_EQ(pieces.hex(), digest(kind, text)) << length;
        }
}

TEST(Digest, OfAFile) {
    const TemporaryFolder folder;
    write_file(folder / "abc", "abc");
    EXPECT_EQ(file_digest(folder / "abc", DigestKind::md5), "900150983cd24fb0d6963f7d28e17f72");
    EXPECT_THROW(file_digest(folder / "none", DigestKind::md5), Error);
}

}  // namespace
}  // namespace cait
