// Similar images over HTTP: what is found, which indexes are taken, and whose pictures are shown.
#include <gmock/gmock.h>

#include "e2e/served.h"
#include "image/codec/decode.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ServeSearch : public Served {
protected:
    ServeSearch() {
        for (int i = 0; i < 4; ++i) put_photo("photos/p" + std::to_string(i) + ".png", 60 * i);
    }
    void put_photo(const std::string& name, int number, std::int64_t width = 60,
                   std::int64_t height = 40) const {
        data_test::put(folder_ / name,
                       data_test::png(data_test::numbered_image(number, width, height)));
    }
    // By `cait embed` or `cait index`.
    void make(const std::string& command, const std::string& output, const Words& more = {}) const {
        const Finished run = cait(Words{command, "--weights", path("tiny.safetensors"),
                                        path("photos"), "--output", path(output)} +
                                  more);
        ASSERT_EQ(run.status, 0) << run.err;
    }
    json found(const std::string& photo, const std::string& query = "") const {
        const Answer answer = ask("POST", "/search" + query, read(path(photo)));
        EXPECT_EQ(answer.status, 200) << answer.body;
        EXPECT_THAT(answer.body, Not(HasSubstr(folder_.string())));
        return answer.json()["found"];
    }
    // The row of a name, in the whole index.
    std::string row_of(const std::string& name) const {
        for (const json& one : found("photos/p0.png"))
            if (one["name"] == name) return std::to_string(one["row"].get<int>());
        return "none";
    }
    Answer picture(const std::string& row) const { return ask("GET", "/search/images/" + row); }
};

Image decoded(const Answer& answer) {
    return decode_image(std::as_bytes(std::span(answer.body)), "picture");
}

TEST_F(ServeSearch, FindsSimilarImages) {
    make("embed", "x.safetensors");
    start({"--index", path("x.safetensors"), "--control"});
    const json two = found("photos/p2.png", "?k=2");
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0]["name"], "p2.png");
    EXPECT_NEAR(two[0]["similarity"], 1, 1e-5);
    EXPECT_FALSE(two[0].contains("picture"));
    const std::string photo = read(path("photos/p2.png"));
    EXPECT_EQ(ask("POST", "/search?k=5", photo).status, 400);
    EXPECT_EQ(ask("POST", "/embed", photo).json()["embedding"].size(), 16U);
    const Answer hidden = picture("0");  // nobody asked to show them
    EXPECT_EQ(hidden.status, 404);
    EXPECT_THAT(hidden.error(), HasSubstr("--pictures"));
    // Vectors of another model would find anything, also when it is exchanged meanwhile.
    model(5).save(path("tiny.safetensors"));
    ASSERT_EQ(ask("POST", "/v2/repository/models/tiny/load").status, 200);
    EXPECT_EQ(ask("POST", "/search", photo).status, 503);
    model(5).save(path("other.safetensors"));
    const Finished other =
        cait({"serve", path("other.safetensors"), "--port", "0", "--index", path("x.safetensors")});
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.err, HasSubstr("x.safetensors: was made by"));
}

TEST_F(ServeSearch, TakesWhatCaitIndexWrote) {
    make("embed", "x.safetensors");
    make("index", "x.faiss");
    start({"--index", path("x.safetensors")});
    const json expected = found("photos/p1.png");
    ASSERT_EQ(expected.size(), 4U);
    EXPECT_EQ(stop(), 0);
    start({"--index", path("x.faiss")});
    const json same = found("photos/p1.png");
    ASSERT_EQ(same.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(same[i]["name"], expected[i]["name"]);
        EXPECT_NEAR(same[i]["similarity"], expected[i]["similarity"], 1e-6);
    }
    EXPECT_EQ(stop(), 0);

    const auto refused = [&](const std::string& index, const std::vector<std::string>& words) {
        expect_refused(
            cait({"serve", path("tiny.safetensors"), "--port", "0", "--index", path(index)}), 1,
            words);
    };
    make("index", "graph.faiss", {"--factory", "HNSW4"});
    refused("graph.faiss", {"graph.faiss: expected a flat index", "found 'IHNf'"});
    const std::string bytes = read(path("x.faiss"));
    write("short.faiss", bytes.substr(0, bytes.size() - 1));
    fs::copy_file(path("x.faiss.safetensors"), path("short.faiss.safetensors"));
    refused("short.faiss", {"short.faiss", "sizes do not fit"});
    fs::remove(path("x.faiss.safetensors"));
    refused("x.faiss", {"x.faiss.safetensors", "cannot open"});
}

// What a small file becomes is charged before it is decoded, and given back.
TEST_F(ServeSearch, PicturesCountAsMemoryOfTheServer) {
    put_photo("photos/wide.png", 90, 4000, 3000);  // 36 MB of pixels
    make("embed", "x.safetensors");
    start({"--index", path("x.safetensors"), "--pictures", path("photos")},
          "export CAIT_MEMORY=40M; ");
    const Answer wide = picture(row_of("wide.png"));
    EXPECT_THAT(wide.status, testing::AnyOf(413, 503)) << wide.body;
    EXPECT_THAT(wide.error(), HasSubstr("picture"));
    EXPECT_EQ(picture(row_of("p2.png")).status, 200);
    EXPECT_EQ(stop(), 0);
}

// An index says where images lie, and may come from somebody else: the folder decides.
TEST_F(ServeSearch, ShowsSmallPicturesOfOneFolder) {
    put_photo("photos/large.png", 90, 600);
    put_photo("photos/moved.png", 99);
    put_photo("elsewhere/secret.png", 200);
    fs::create_symlink(folder_ / "elsewhere/secret.png", folder_ / "photos/link.png");
    make("embed", "x.safetensors", {path("elsewhere/secret.png")});
    write("token", "correct-horse");
    start({"--index", path("x.safetensors"), "--pictures", path("photos")});
    fs::remove(path("photos/moved.png"));

    const json first = found("photos/p2.png", "?k=1")[0];
    EXPECT_EQ(first["picture"], "/search/images/" + row_of("p2.png"));
    const Answer small = picture(row_of("p2.png"));
    ASSERT_EQ(small.status, 200) << small.body;
    EXPECT_EQ(small.fields.at("content-type"), "image/jpeg");
    EXPECT_EQ(small.fields.at("cross-origin-resource-policy"), "same-origin");
    EXPECT_EQ(decoded(small).width, 180);  // grown by whole numbers
    EXPECT_NEAR(decoded(small).pixels[0], 120, 12);
    const Image large = decoded(picture(row_of("large.png")));
    EXPECT_EQ(large.width, 224);
    EXPECT_EQ(large.height, 15);

    for (const char* name : {"secret.png", "link.png", "moved.png"}) {
        const std::string row = row_of(name);
        ASSERT_NE(row, "none") << name;
        const Answer refused = picture(row);
        EXPECT_EQ(refused.status, 404) << name;
        EXPECT_EQ(refused.error(), "row " + row + ": its picture cannot be shown");
    }
    for (const char* row : {"8", "-1", "x", "0x1", "1.5", "%2e%2e", "..%2f..%2fetc%2fpasswd",
                            "99999999999999999999999", "0%00"}) {
        const Answer refused = picture(row);
        EXPECT_THAT(refused.status, testing::AnyOf(400, 404)) << row;
        EXPECT_FALSE(refused.error().empty());
        EXPECT_THAT(refused.body, Not(HasSubstr(folder_.string()))) << row;
    }
    EXPECT_EQ(stop(), 0);

    start({"--index", path("x.safetensors"), "--pictures", path("photos"), "--token-file",
           path("token")});
    EXPECT_EQ(picture("0").status, 401);
    EXPECT_EQ(ask("GET", "/search/images/0", "", "Authorization: Bearer correct-horse\r\n").status,
              200);
    EXPECT_EQ(stop(), 0);
    expect_refused(cait({"serve", path("tiny.safetensors"), "--port", "0", "--index",
                         path("x.safetensors"), "--pictures", path("none")}),
                   1, {"none: expected the folder"});
}

// Nor does one file with all images lead out of the folder.
TEST_F(ServeSearch, ShowsNoRecordsBehindLinks) {
    data_test::put(folder_ / "elsewhere/train-images-idx3-ubyte",
                   data_test::uniform_idx({4, 28, 28}, 1));
    data_test::put(folder_ / "elsewhere/train-labels-idx1-ubyte", data_test::uniform_idx({4}, 1));
    fs::create_directory(folder_ / "shown");
    for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"})
        fs::create_symlink(folder_ / "elsewhere" / name, folder_ / "shown" / name);
    const std::string data = "mnist:" + path("shown") + "?split=train";
    const Finished made = cait({"embed", "--weights", path("tiny.safetensors"), "--data", data,
                                "--output", path("x.safetensors")});
    ASSERT_EQ(made.status, 0) << made.err;
    const Words words{"--index", path("x.safetensors"), "--pictures", path("shown")};
    start(words);
    EXPECT_THAT(read(path("stderr")), HasSubstr("note: --pictures can show none"));
    EXPECT_EQ(found("photos/p0.png").size(), 4U);
    EXPECT_EQ(picture("0").status, 404);
    EXPECT_EQ(stop(), 0);
    for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"})
        fs::rename(folder_ / "elsewhere" / name, folder_ / "shown" / name);
    start(words);
    EXPECT_EQ(picture("0").status, 200);
}

}  // namespace
}  // namespace cait::e2e
