// Published weights by name, from a mirror on loopback: this machine need not reach the publishers.
// A tiny CaiT stands in for the official file, whose name and path are the real ones.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "e2e/tiny_models.h"
#include "support/http_server.h"
#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFile = "XXS24_224.pth";
const std::string kPath = "/deit/" + kFile;

class Published : public InFolder {
protected:
    Published() {
        ::setenv("CAIT_CACHE", path("cache").c_str(), 1);
        ::setenv("CAIT_MIRROR", server_.address().c_str(), 1);
    }
    ~Published() override {
        ::unsetenv("CAIT_CACHE");
        ::unsetenv("CAIT_MIRROR");
    }

    void serve(const std::string& where, test::HttpServer::File file = {}) {
        if (file.content.empty()) file.content = weights_;
        server_.put(where, std::move(file));
    }
    Finished convert() const {
        return cait(Words{"convert", "official", path("out.safetensors")} + kTinyCait);
    }
    std::string cached(const std::string& name = kFile) const {
        return path("cache/weights/" + name);
    }

    const std::string weights_ = read(data("tiny_cait_zip.pth"));
    test::HttpServer server_;
};

TEST_F(Published, AreFetchedOnceAndThenTakenFromTheCache) {
    serve(kPath);
    const Finished first = convert();
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_EQ(read(cached()), weights_);
    ::setenv("CAIT_MIRROR", "http://127.0.0.1:1", 1);  // nobody is there
    const Finished second = convert();
    EXPECT_EQ(second.status, 0) << second.err;
    EXPECT_THAT(server_.requests(), ElementsAre(kPath));
    EXPECT_THAT(cait({"weights", "list", "cait_xxs24_224"}).out,
                AllOf(HasSubstr("cached"), HasSubstr(" ~47.8 MB "),
                      HasSubstr("https://dl.fbaipublicfiles.com" + kPath)));
}

TEST_F(Published, GoOnWhenTheConnectionBreaks) {
    serve(kPath, {.cut_after = 5'000, .cuts = 1});
    const Finished run = cait({"weights", "get", "cait_xxs24_224"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, cached() + "\n");
    EXPECT_THAT(server_.requests(), ElementsAre(kPath, kPath + " from 5000"));
    EXPECT_EQ(read(cached()), weights_);
}

TEST_F(Published, AMirrorMayHaveTheFilesByNameOrBeAFolder) {
    serve("/" + kFile);
    EXPECT_EQ(cait({"weights", "get", "cait_xxs24_224", "--out", path("a.pth")}).status, 0);
    EXPECT_EQ(read(path("a.pth")), weights_);
    // The cache of another machine is a mirror; so is a copy of the publisher's folders.
    fs::create_directories(path("usb/timm/resnet18.tv_in1k/resolve/main"));
    write("usb/" + kFile, weights_);
    write("usb/timm/resnet18.tv_in1k/resolve/main/model.safetensors",
          read(data("tiny_deit3_timm.safetensors")));
    ::setenv("CAIT_MIRROR", path("usb").c_str(), 1);
    EXPECT_EQ(convert().status, 0);
    EXPECT_EQ(read(cached()), weights_);
    ::setenv("CAIT_MIRROR", ("file://" + path("usb")).c_str(), 1);
    const Finished hub = cait({"weights", "get", "resnet18"});
    EXPECT_EQ(hub.status, 0) << hub.err;
    EXPECT_TRUE(fs::exists(cached("resnet18.tv_in1k.safetensors")));
}

TEST_F(Published, WrongChecksumsAndPagesAreRefusedAndRemoved) {
    const std::string name = "deit_tiny_patch16_224-a1311bcf.pth";
    serve("/deit/" + name);
    expect_refused(cait({"weights", "get", "deit_tiny_patch16_224"}), 1,
                   {name, "SHA-256: expected a1311bcf, found "});
    serve(kPath, {.content = "<!DOCTYPE html><html>please log in</html>"});
    expect_refused(cait({"weights", "get", "cait_xxs24_224"}), 1, {kFile, "HTML"});
    EXPECT_TRUE(fs::is_empty(path("cache/weights")));
}

TEST_F(Published, WithoutANetworkTheWayByHandIsNamed) {
    ::setenv("CAIT_MIRROR", "http://127.0.0.1:1", 1);
    expect_refused(convert(), 1,
                   {"http://127.0.0.1:1/" + kFile, "get https://dl.fbaipublicfiles.com" + kPath,
                    "put it at " + cached()});
    expect_refused(cait({"weights", "get", "deepvit_s"}), 1,
                   {"no direct address", "https://github.com/", cached("deepvit_s.pth")});
    write("cache/weights/" + kFile, weights_);  // by hand
    EXPECT_EQ(convert().status, 0);
}

TEST_F(Published, TwoAtOnceGetOneFile) {
    serve(kPath);
    const Words words = {"weights", "get", "cait_xxs24_224"};
    std::vector<std::unique_ptr<Running>> runs;
    for (int i = 0; i < 4; ++i) runs.push_back(std::make_unique<Running>(words));
    for (auto& run : runs) {
        const Finished done = run->wait();
        EXPECT_EQ(done.status, 0) << done.err;
        EXPECT_EQ(done.out, cached() + "\n");
    }
    EXPECT_THAT(server_.requests(), ElementsAre(kPath));
    EXPECT_EQ(read(cached()), weights_);
    EXPECT_FALSE(fs::exists(cached() + ".part"));
}

TEST_F(Published, WrongNamesAreExplained) {
    expect_refused(cait({"weights", "get", "cait_xxs24"}), 2,
                   {"no published weights are known for 'cait_xxs24'", "cait_xxs24_224"});
    expect_refused(cait({"weights", "get", "deit3_base_patch16_224:22k"}), 2,
                   {"'22k'", "official, official:21k"});
    expect_refused(cait({"weights", "list", "xyz"}), 2, {"'xyz'", "nearest"});
    expect_refused(cait({"convert", "official", path("out.safetensors")}), 2,
                   {"--weights official: expected --model NAME"});
    expect_refused(cait({"weights", "lst"}), 2, {"'list'"});
}

// A model has an entry or stands in the documentation's list of those without one.
TEST_F(Published, EveryModelIsListedOrSaidToHaveNone) {
    const fs::path docs = test::source_path(__FILE__).parent_path() / "../../docs/weights.md";
    const std::string text = read(docs.string());
    std::set<std::string> published, models;
    const Finished listed = cait({"weights", "list", "--json"});
    ASSERT_EQ(listed.status, 0) << listed.err;
    for (const auto& entry : nlohmann::json::parse(listed.out)) published.insert(entry["model"]);
    for (const auto& model : nlohmann::json::parse(cait({"models", "--json"}).out))
        models.insert(model["name"]);
    for (const std::string& name : published) EXPECT_TRUE(models.contains(name)) << name;
    for (const std::string& name : models) {
        const bool said = text.find("| `" + name + "`") != std::string::npos ||
                          text.find(", `" + name + "`") != std::string::npos;
        EXPECT_NE(published.contains(name), said) << name;
    }
}

// What is to be compared is fetched as well before the sandbox is entered.
TEST_F(Published, TheOtherSideOfAComparisonIsFetchedToo) {
    serve(kPath);
    Model::create("cait_xxs24_224", {{"classes", "3"}, {"depth", "1"}, {"image_size", "32"}})
        .save(folder_ / "own.safetensors");
    data_test::put_class_folders(folder_ / "set", 3, 1);
    const Finished run = cait({"eval", "--weights", path("own.safetensors"), "--data",
                               "folder:" + path("set"), "--compare", "cait_xxs24_224=official"});
    // The stand-in does not fit, which is known only once it is there.
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr(cached()));
    EXPECT_EQ(read(cached()), weights_);
    EXPECT_THAT(server_.requests(), ElementsAre(kPath));
}

TEST_F(Published, AVariantIsFetchedBeforeTheSandboxIsEntered) {
    serve("/deit/deit_3_small_224_21k.pth");
    data_test::put(folder_ / "photo.png", data_test::png(data_test::numbered_image(1, 40, 30)));
    const Finished run = cait({"preprocess", "--model", "deit3_small_patch16_224", "--weights",
                               "official:21k", path("photo.png"), "--output", path("x.npy")});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(read(cached("deit_3_small_224_21k.pth")), weights_);
}

TEST_F(Published, AFolderMeansTheBestWeightsOfItsRun) {
    fs::create_directories(path("run"));
    expect_refused(cait({"inspect", path("run")}), 1, {"run: expected", "best.safetensors"});
    write("run/last.safetensors", read(data("tiny_deit3_timm.safetensors")));
    const Finished last = cait({"inspect", path("run")});
    EXPECT_THAT(last.out, HasSubstr("run/last.safetensors, safetensors"));
    EXPECT_THAT(last.err, HasSubstr("note: " + path("run") + ": no best.safetensors yet"));
    write("run/best.safetensors", read(data("tiny_deit3_timm.safetensors")));
    const Finished best = cait({"inspect", path("run")});
    EXPECT_THAT(best.out, HasSubstr("run/best.safetensors, safetensors"));
    EXPECT_EQ(best.err, "note: " + path("run/best.safetensors") +
                            " is the best epoch, chosen on the validation data; the final one is " +
                            path("run/last.safetensors") + "\n");
    EXPECT_THAT(cait({"inspect", path("run:last")}).out,
                HasSubstr("run/last.safetensors, safetensors"));
    expect_refused(cait({"inspect", path("run:last_ema")}), 1,
                   {"run:last_ema: expected last_ema.safetensors"});
}

}  // namespace
}  // namespace cait::e2e
