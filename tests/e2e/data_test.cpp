// `cait data` on tiny data sets: what each sub-command does, and what it answers to broken ones.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "data/data_source.h"
#include "e2e/command.h"
#include "image/codec/decode.h"
#include "support/http_server.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Data : public InFolder {
protected:
    Finished run(std::vector<std::string> words) const {
        words.insert(words.begin(), "data");
        return cait(words);
    }
    nlohmann::json json(std::vector<std::string> words) const {
        words.emplace_back("--json");
        const Finished finished = run(words);
        EXPECT_EQ(finished.status, 0) << finished.err;
        return nlohmann::json::parse(finished.out);
    }
    // class0 … with `each` images of 6x4 pixels.
    std::string folders(int classes, int each) const {
        data_test::put_class_folders(folder_ / "set", classes, each);
        return "folder:" + path("set");
    }
    void corrupt(const std::string& name, const std::string& content = "not an image") const {
        data_test::put(folder_ / "set" / name, content);
    }
};

TEST_F(Data, HelpListsEveryDataSet) {
    const Finished help = run({"--help"});
    EXPECT_EQ(help.status, 0);
    for (const DataSource& source : data_sources())
        EXPECT_THAT(help.out, AllOf(HasSubstr("  " + source.form + "\n"), HasSubstr(source.help)));
}

TEST_F(Data, StatsCountsAndMeasures) {
    const std::string uri = folders(3, 4);
    corrupt("class1/text.jpg");
    corrupt("class1/empty.png", "");
    const Finished text = run({"stats", uri});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out,
                AllOf(HasSubstr("14 images in 3 classes of 4 to 6"), HasSubstr("text.jpg"),
                      HasSubstr("empty.png"), HasSubstr("class2"), HasSubstr("####")));
    EXPECT_EQ(text.err, "");

    const nlohmann::json found = json({"stats", uri, "--threads", "2"});
    EXPECT_EQ(found["images"], 14);
    EXPECT_EQ(found["classes"][1]["name"], "class1");
    EXPECT_EQ(found["classes"][1]["images"], 6);
    EXPECT_EQ(found["width"]["median"], 6);
    EXPECT_EQ(found["height"]["most"], 4);
    EXPECT_EQ(found["unreadable"].size(), 2U);
    EXPECT_NEAR(found["mean"][0].get<double>(), 5.5 / 255, 1e-9);  // numbered 0 to 11 in red
    EXPECT_NEAR(found["mean"][1].get<double>(), 2.5 / 255, 1e-9);
}

TEST_F(Data, StatsShowsTheEndsOfALongClassList) {
    const std::string uri = folders(40, 1);
    corrupt("class17/more.png", data_test::png(data_test::numbered_image(1)));
    const Finished text = run({"stats", uri});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, AllOf(HasSubstr("class17"), HasSubstr("smallest of 40 classes")));
    EXPECT_EQ(std::ranges::count(text.out, '\n'), 10 + 2 + 21 + 1);
}

TEST_F(Data, PreviewDrawsASheet) {
    const std::string uri = folders(2, 3);
    for (const std::string recipe : {"none", "deit", "deit3-1k", "deit3-21k",
                                     "rand-m9-mstd0.5-inc1", "original", "trivial", "three"}) {
        const nlohmann::json made =
            json({"preview", uri, "--augment", recipe, "--output", path("sheet.png"), "--count",
                  "8", "--columns", "4", "--size", "12"});
        const Image sheet = read_image(path("sheet.png"));
        EXPECT_EQ(made["width"], sheet.width) << recipe;
        EXPECT_EQ(made["height"], sheet.height) << recipe;
        EXPECT_EQ(made["tiles"], recipe == "none" ? 6 : 8) << recipe;
        EXPECT_EQ(made["images"], recipe == "none" ? 6 : 2) << recipe;
    }
}

TEST_F(Data, PreviewShowsAllViewsOfAnImage) {
    const std::string uri = folders(2, 3);
    const auto made = [&](std::vector<std::string> more) {
        more.insert(more.begin(),
                    {"preview", uri, "--augment", "dino-small", "--set", "views.locals=4",
                     "--output", path("sheet.png")});
        return json(more);
    };
    const nlohmann::json whole = made({});
    EXPECT_EQ(whole["tiles"], 4 * (1 + 2 + 4));
    EXPECT_EQ(whole["images"], 4);
    EXPECT_EQ(whole["size"], "32");
    const Image sheet = read_image(path("sheet.png"));
    EXPECT_EQ(whole["width"], sheet.width);
    EXPECT_EQ(made({"--set", "views.locals=0"})["tiles"], 4 * (1 + 2));
    EXPECT_EQ(made({"--columns", "3", "--count", "6"})["images"], 2);
    const Finished resmlp =
        run({"preview", uri, "--augment", "dino", "--set", "model.name=resmlp_12_224", "--count",
             "4", "--output", path("sheet.png")});
    EXPECT_EQ(resmlp.status, 0) << resmlp.err;
    EXPECT_THAT(resmlp.err, HasSubstr("resmlp_12_224 mixes a fixed number of patches: all views "
                                      "are shown at 224x224"));
}

// Two images, one black and one white, and nothing but mixup or CutMix.
TEST_F(Data, PreviewMixesAsTrainingDoes) {
    for (const auto& [name, level] : {std::pair("black", 0), std::pair("white", 255)}) {
        Image image = Image::blank(16, 16, 3);
        std::ranges::fill(image.pixels, std::uint8_t(level));
        data_test::put(folder_ / "two" / name / "x.png", data_test::png(image));
    }
    // The levels of red that fill a fifth of a tile or more, and how many pixels each.
    const auto levels = [&](const std::vector<std::string>& settings) {
        std::vector<std::string> words = {"preview",   "folder:" + path("two"),
                                          "--augment", "none",
                                          "--output",  path("sheet.png"),
                                          "--count",   "2",
                                          "--columns", "1",
                                          "--size",    "112"};
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        const nlohmann::json made = json(words);
        EXPECT_EQ(made["tiles"], 2);
        const Image sheet = read_image(path("sheet.png"));
        std::map<int, int> counts;
        for (std::size_t i = 0; i < sheet.pixels.size(); i += 3) ++counts[sheet.pixels[i]];
        std::erase_if(counts, [](const auto& level) { return level.second < 112 * 20; });
        return counts;
    };
    const auto is_grey = [](const auto& level) { return level.first > 60 && level.first < 200; };
    const auto mixed = levels({"augment.mixup=50", "augment.crop=squash"});
    EXPECT_TRUE(std::ranges::any_of(mixed, is_grey));
    EXPECT_TRUE(std::ranges::none_of(levels({"augment.crop=squash"}), is_grey));
}

TEST_F(Data, PreviewHasTheSizeOfTheRecipesModel) {
    const std::string uri = folders(2, 8);
    const auto size = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"preview", uri, "--output", path("sheet.png"), "--count", "4"});
        return json(more)["size"];
    };
    EXPECT_EQ(size({"--augment", "small"}), "32");
    EXPECT_EQ(size({"--augment", "small", "--set", "model.image_size=48"}), "48");
    EXPECT_EQ(size({"--augment", "small", "--size", "20"}), "20");
    EXPECT_EQ(size({"--augment", "trivial"}), "6");  // no model: tiny images as they are
    const Finished wrong =
        run({"preview", uri, "--output", path("a.png"), "--set", "augment.flp=1"});
    expect_refused(wrong, 2, {"augment.flp", "augment.flip"});
}

// What `cait train --data` takes, the commands that look at data take as well.
TEST_F(Data, AFolderOfTrainAndValIsShownPartByPart) {
    data_test::put_class_folders(folder_ / "set/train", 2, 4);
    data_test::put_class_folders(folder_ / "set/val", 2, 1);
    const std::string uri = "folder:" + path("set");
    EXPECT_THAT(run({"stats", uri}).out, AllOf(HasSubstr("split=train\n8 images in 2 classes"),
                                               HasSubstr("split=val\n2 images in 2 classes")));
    const nlohmann::json stats = json({"stats", uri});
    EXPECT_EQ(stats["parts"][0]["images"], 8);
    EXPECT_EQ(stats["parts"][1]["dataset"], uri + "?split=val");
    EXPECT_EQ(json({"stats", uri + "?split=val"})["images"], 2);

    EXPECT_THAT(run({"verify", uri}).out, AllOf(HasSubstr("all 8 images"), HasSubstr("all 2")));
    corrupt("val/class1/text.jpg");
    const Finished bad = run({"verify", uri});
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.out, AllOf(HasSubstr("all 8 images"), HasSubstr("text.jpg")));

    const Finished made = run({"preview", uri, "--output", path("sheet.png"), "--size", "16"});
    EXPECT_EQ(made.status, 0);
    EXPECT_THAT(made.err, AllOf(HasSubstr("note: the training part"), HasSubstr("set/train")));
}

TEST_F(Data, PreviewIsAFunctionOfTheSeed) {
    const std::string uri = folders(2, 8);
    const auto sheet = [&](const std::string& seed) {
        json({"preview", uri, "--output", path("sheet.png"), "--seed", seed, "--size", "16",
              "--augment", "trivial"});
        return read_image(path("sheet.png"));
    };
    const Image first = sheet("1");
    EXPECT_EQ(sheet("1"), first);
    EXPECT_NE(sheet("2"), first);
}

TEST_F(Data, PreviewLeavesOutWhatCannotBeRead) {
    const std::string uri = folders(1, 2);
    corrupt("class0/text.jpg");
    const Finished made = run({"preview", uri, "--augment", "none", "--output", path("sheet.png")});
    EXPECT_EQ(made.status, 0);
    EXPECT_THAT(made.err, AllOf(HasSubstr("left out"), HasSubstr("text.jpg")));
}

TEST_F(Data, PreviewRefusesWrongOptions) {
    const std::string uri = folders(1, 1);
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"preview", uri});
        return run(more);
    };
    expect_refused(with({"--output", path("a.png"), "--augment", "rand-m9-x3"}), 2, {"rand-m9-x3"});
    expect_refused(with({"--output", path("a.png"), "--augment", "diet"}), 2, {"diet", "deit"});
    expect_refused(with({"--output", path("a.png"), "--count", "0"}), 2, {"--count"});
    expect_refused(with({"--output", path("a.png"), "--columns", "x"}), 2, {"--columns"});
    expect_refused(with({}), 2, {"--output"});
    EXPECT_EQ(with({"--output", path("a.gif")}).status, 2);
    EXPECT_EQ(with({"--output", path("none/a.png")}).status, 1);
}

TEST_F(Data, VerifyListsWhatCannotBeRead) {
    const std::string uri = folders(2, 2);
    const Finished good = run({"verify", uri});
    EXPECT_EQ(good.status, 0);
    EXPECT_THAT(good.out, HasSubstr("all 4 images can be read"));

    corrupt("class0/text.jpg");
    corrupt("class1/empty.png", "");
    corrupt("class1/cut.png", data_test::png(data_test::numbered_image(1)).substr(0, 50));
    const Finished bad = run({"verify", uri});
    EXPECT_EQ(bad.status, 1);
    EXPECT_EQ(std::ranges::count(bad.out, '\n'), 3) << bad.out;
    EXPECT_THAT(bad.out,
                AllOf(HasSubstr("text.jpg"), HasSubstr("empty.png"), HasSubstr("cut.png")));
    EXPECT_THAT(bad.err, HasSubstr("3 of 7 images cannot be read"));

    const Finished listed = run({"verify", uri, "--json"});
    EXPECT_EQ(listed.status, 1);
    EXPECT_EQ(nlohmann::json::parse(listed.out)["unreadable"].size(), 3U);
}

TEST_F(Data, SplitWritesListsThatCanBeReadBack) {
    const std::string uri = folders(3, 10);
    const std::string lists = path("train.csv") + "," + path("val.csv");
    const nlohmann::json made = json({"split", uri, "--fraction", "0.2", "--output", lists});
    EXPECT_EQ(made["parts"][0]["images"], 24);
    EXPECT_EQ(made["parts"][1]["dataset"], "csv:" + path("val.csv"));
    const nlohmann::json val = json({"stats", "csv:" + path("val.csv")});
    EXPECT_EQ(val["images"], 6);
    for (const nlohmann::json& entry : val["classes"]) EXPECT_EQ(entry["images"], 2);
    const std::string before = read(path("val.csv"));
    run({"split", uri, "--fraction", "0.2", "--output", lists});
    EXPECT_EQ(read(path("val.csv")), before);
    run({"split", uri, "--fraction", "0.2", "--seed", "1", "--output", lists});
    EXPECT_NE(read(path("val.csv")), before);
}

TEST_F(Data, SplitAndPackTakeTheTrainingPartAndSaySo) {
    data_test::put_class_folders(folder_ / "set/train", 2, 4);
    data_test::put_class_folders(folder_ / "set/val", 2, 1);
    const std::string uri = "folder:" + path("set");
    const Finished split =
        run({"split", uri, "--fraction", "0.25", "--output", path("a.csv") + "," + path("b.csv")});
    EXPECT_EQ(split.status, 0) << split.err;
    EXPECT_THAT(split.err, HasSubstr("note: the training part"));
    EXPECT_THAT(split.out, AllOf(HasSubstr("a.csv: 6 images"), HasSubstr("b.csv: 2 images")));
    const Finished packed = run({"pack", uri, path("shards")});
    EXPECT_EQ(packed.status, 0) << packed.err;
    EXPECT_THAT(packed.err, HasSubstr("note: the training part"));
    EXPECT_THAT(packed.out, HasSubstr("8 images"));
}

TEST_F(Data, SplitRefusesWhatItCannotDo) {
    const std::string uri = folders(2, 2);
    const std::string lists = path("a.csv") + "," + path("b.csv");
    expect_refused(run({"split", uri, "--fraction", "1.5", "--output", lists}), 2, {"1.5"});
    expect_refused(run({"split", uri, "--fraction", "nan", "--output", lists}), 2, {"nan"});
    expect_refused(run({"split", uri, "--output", path("a.csv")}), 2, {"--output"});
    expect_refused(run({"split", uri, "--output", path("a.csv") + "," + path("a.csv")}), 2,
                   {"twice"});
    // Images that are not files of their own.
    run({"pack", uri, path("shards")});
    expect_refused(run({"split", "tar:" + path("shards/shard-000000.tar"), "--fraction", "0.5",
                        "--output", lists}),
                   2, {"not files"});
    EXPECT_FALSE(std::filesystem::exists(path("a.csv")));
}

TEST_F(Data, PackedImagesAreTheSame) {
    const std::string uri = folders(2, 5);
    const nlohmann::json made = json({"pack", uri, path("shards"), "--shard-size", "5kB"});
    EXPECT_EQ(made["images"], 10);
    EXPECT_GT(made["shards"].get<int>(), 1);
    const auto without_name = [](nlohmann::json stats) {
        stats.erase("dataset");
        return stats;
    };
    EXPECT_EQ(without_name(json({"stats", made["dataset"].get<std::string>()})),
              without_name(json({"stats", uri})));
    expect_refused(run({"pack", uri, path("shards")}), 1, {"shards", "empty folder"});
    expect_refused(run({"pack", uri, path("more"), "--shard-size", "many"}), 2, {"--shard-size"});
    expect_refused(run({"pack", uri, path("more"), "--shard-size", "0"}), 2, {"--shard-size"});
    EXPECT_EQ(run({"pack", uri, path("plain") + "/", "--no-shuffle"}).status, 0);
    EXPECT_TRUE(std::filesystem::exists(path("plain/shard-000000.tar")));
}

TEST_F(Data, GetListsWhatItKnows) {
    const Finished text = run({"get", "--list"});
    EXPECT_EQ(text.status, 0);
    EXPECT_THAT(text.out, AllOf(HasSubstr("cifar100"), HasSubstr("fashion-mnist")));
    EXPECT_EQ(json({"get", "--list"})[0]["files"][0]["bytes"], 170'052'171);
    expect_refused(run({"get", "cifar-10"}), 2, {"did you mean 'cifar10'"});
    expect_refused(run({"get"}), 2, {"NAME", "--list"});
}

// The mirror has a file of the right size with wrong bytes, and loses the connection once.
TEST_F(Data, GetResumesAndChecks) {
    constexpr std::size_t kSize = 9'912'422;
    test::HttpServer server;
    server.put("/m/train-images-idx3-ubyte.gz",
               {.content = std::string(kSize, 'x'), .cut_after = 4'000'000, .cuts = 1});
    const Finished got =
        run({"get", "mnist", "--to", path("mnist"), "--base", server.address("/m/")});
    expect_refused(got, 1, {"train-images-idx3-ubyte.gz", "MD5: expected f68b3c2dcbeaaa9f"});
    EXPECT_THAT(server.requests(), ElementsAre("/m/train-images-idx3-ubyte.gz",
                                               "/m/train-images-idx3-ubyte.gz from 4000000"));
    EXPECT_TRUE(std::filesystem::is_empty(path("mnist")));
}

TEST_F(Data, GetRefusesAMirrorThatHasOtherFiles) {
    test::HttpServer server;
    server.put("/cifar-10-binary.tar.gz", {.content = "<html>moved</html>"});
    expect_refused(run({"get", "cifar10", "--to", path("c"), "--base", server.address()}), 1,
                   {"expected 170052171 bytes, found 18"});
    expect_refused(run({"get", "cifar100", "--to", path("c"), "--base", server.address()}), 1,
                   {"cifar-100-binary.tar.gz", "404"});
    expect_refused(run({"get", "mnist", "--to", path("c"), "--base", "file:///etc"}), 1,
                   {"file:///etc"});
    write("plain", "");
    expect_refused(run({"get", "mnist", "--to", path("plain/c"), "--base", server.address()}), 1,
                   {"cannot create"});
}

TEST_F(Data, EmptySetsAreRefused) {
    std::filesystem::create_directories(folder_ / "none");
    std::filesystem::create_directories(folder_ / "empty" / "class0");
    const std::string uri = folders(2, 1);
    std::filesystem::create_directories(folder_ / "set" / "class2");
    write("header.csv", "path,label\n");
    for (const std::string command : {"stats", "verify"}) {
        expect_refused(run({command, "folder:" + path("missing")}), 1, {"missing"});
        expect_refused(run({command, "folder:" + path("none")}), 1, {"none"});
        expect_refused(run({command, "folder:" + path("empty")}), 1, {"class0"});
        expect_refused(run({command, uri}), 1, {"class2"});
        expect_refused(run({command, "csv:" + path("header.csv")}), 1, {"header.csv"});
    }
}

TEST_F(Data, SetsWithoutAReadableImageAreRefused) {
    corrupt("class0/text.jpg");
    corrupt("class1/empty.png", "");
    const std::string uri = "folder:" + path("set");
    expect_refused(run({"stats", uri}), 1,
                   {"2 of 2 images cannot be read", "text.jpg", "empty.png"});
    expect_refused(run({"preview", uri, "--output", path("sheet.png")}), 1,
                   {"2 of 2 images cannot be read"});
    EXPECT_EQ(run({"verify", uri}).status, 1);
    EXPECT_FALSE(std::filesystem::exists(path("sheet.png")));
}

TEST_F(Data, ClassesAreMappedByName) {
    const std::string uri = folders(2, 1);
    write("more.txt", "class1\nother\nclass0\n");
    const nlohmann::json found = json({"stats", uri + "?classes=" + path("more.txt")});
    EXPECT_EQ(found["classes"][0]["name"], "class1");
    EXPECT_EQ(found["classes"][1]["images"], 0);
    write("fewer.txt", "class1\n");
    expect_refused(run({"stats", uri + "?classes=" + path("fewer.txt")}), 1, {"class0"});
}

TEST_F(Data, WrongNamesAreUsageErrors) {
    const std::string uri = folders(1, 1);
    expect_refused(run({"stats", "foldr:" + path("set")}), 2, {"foldr", "did you mean 'folder'"});
    expect_refused(run({"stats", path("set")}), 2, {"set"});
    expect_refused(run({"stats", uri + "?colour=red"}), 2, {"colour"});
    expect_refused(run({"stats"}), 2, {"dataset"});
    expect_refused(run({"stats", uri, "--threads", "0"}), 2, {"--threads"});
    expect_refused(run({"stats", uri, "--what"}), 2, {"--what"});
    expect_refused(run({"count", uri}), 2, {});
    expect_refused(run({}), 2, {});
}

TEST_F(Data, EveryCommandHasAnExample) {
    for (const std::string command : {"stats", "preview", "verify", "split", "pack", "get"}) {
        const Finished help = run({command, "--help"});
        EXPECT_EQ(help.status, 0);
        EXPECT_THAT(help.out, HasSubstr("Example:\n  cait data " + command));
    }
    EXPECT_THAT(run({"--help"}).out, AllOf(HasSubstr("preview"), HasSubstr("cifar100:PATH")));
}

}  // namespace
}  // namespace cait::e2e
