// What the program says and how: full and closed outputs, readers that leave, names that would
// write to the terminal, and messages without end.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kEscape = "\x1b[31m\u009b2J\u202e\x7f";  // colour, clear, turn, delete

class Output : public InFolder {
protected:
    Output() {
        for (const std::string name : {"one", "two", "three"}) {
            image("photos/" + name + "/a.png");
            image("photos/" + name + "/b.png");
        }
    }

    void image(const std::string& name) const {
        std::filesystem::create_directories((folder_ / name).parent_path());
        data_test::put(folder_ / name, data_test::png(data_test::numbered_image(7, 20, 16)));
    }

    // A tiny model whose file says what `metadata` says in addition.
    Words model(const std::map<std::string, std::string>& metadata = {}) const {
        const Model tiny = Model::create("cait_xxs24_224", {{"image_size", "16"},
                                                            {"patch", "8"},
                                                            {"dim", "16"},
                                                            {"depth", "1"},
                                                            {"heads", "2"},
                                                            {"class_layers", "1"},
                                                            {"classes", "3"}});
        std::vector<NamedTensor> tensors;
        for (const auto& [name, tensor] : tiny.weights()) tensors.push_back({name, tensor});
        auto all = tiny.metadata();
        for (const auto& [key, value] : metadata) all[key] = value;
        all.try_emplace("cait.classes", R"(["one","two","three"])");
        write_safetensors(folder_ / "model.safetensors", tensors, all);
        return {"--weights", path("model.safetensors")};
    }

    std::string photos() const { return "folder:" + path("photos"); }
};

// Nothing but what may stand on a terminal.
void expect_printable(const Finished& run) {
    for (const std::string& text : {run.out, run.err})
        EXPECT_EQ(text, printable_lines(text)) << run.status;
}

TEST_F(Output, AFullOrClosedStderrChangesNoExitCode) {
    for (const char* script : {R"("$@" 2>/dev/full)", R"("$@" 2>&-)"}) {
        EXPECT_EQ(by_shell(script, {"inspect", path("none.safetensors")}).status, 1) << script;
        EXPECT_EQ(by_shell(script, {"modles"}).status, 2) << script;
        EXPECT_EQ(by_shell(script, {"train", "small", "--set", "x"}).status, 2) << script;
        const Finished good =
            by_shell(script, Words{"predict", path("photos/one/a.png")} + model());
        EXPECT_EQ(good.status, 0) << script;
        EXPECT_THAT(good.out, HasSubstr("a.png  "));
    }
}

// One mistake for each command.
TEST_F(Output, EveryCommandFailsAlikeWhetherItIsHeardOrNot) {
    const Words with = model(), none{"--weights", path("none.safetensors")};
    const std::string image = path("photos/one/a.png"), set = "folder:" + path("nowhere");
    for (const Words& words :
         {Words{"predict", image} + none, Words{"predict", path("none.png")} + with,
          Words{"attend", image, "--output", path("o.png")} + none,
          Words{"eval", "--data", set} + with,
          Words{"forward", "--input", path("none.npy"), "--output", path("o.npy")} + with,
          Words{"preprocess", path("none.png"), "--output", path("o.npy")} + with,
          Words{"convert", path("none.pth"), path("o.safetensors")},
          Words{"bench", path("none.safetensors")}, Words{"data", "stats", set},
          Words{"data", "verify", set}, Words{"data", "preview", set, "--output", path("o.png")},
          Words{"data", "split", set, "--output", path("a.csv") + "," + path("b.csv")},
          Words{"data", "pack", set, path("shards")}, Words{"data", "get", "nothing"},
          Words{"weights", "get", "nothing"}, Words{"models", "nothing"},
          Words{"completion", "nothing"}, Words{"train", "--resume", path("nowhere")},
          Words{"inspect", "--graph", path("none.safetensors")}}) {
        const int heard = cait(words).status;
        EXPECT_THAT(heard, testing::AnyOf(1, 2)) << words[0];
        for (const char* script : {R"("$@" 2>/dev/full)", R"("$@" 2>&-)", R"("$@" >&- 2>&-)"})
            EXPECT_EQ(by_shell(script, words).status, heard) << words[0] << ": " << script;
    }
}

TEST_F(Output, OutputThatIsLostIsAnErrorInEveryCommand) {
    const Words with = model();
    for (const Words& words :
         {Words{"models"}, Words{"models", "--json"}, Words{"models", "--help"}, Words{"--version"},
          Words{"machine"}, Words{"completion", "bash"}, Words{"train", "--list"},
          Words{"train", "small", "--print"}, Words{"inspect", path("model.safetensors")},
          Words{"inspect", "--graph", path("model.safetensors")}, Words{"data", "stats", photos()},
          Words{"data", "verify", photos(), "--json"}, Words{"data", "get", "--list"},
          Words{"weights", "list"}, Words{"predict", path("photos")} + with,
          Words{"predict", "--json", path("photos")} + with,
          Words{"predict", "--csv", path("photos")} + with,
          Words{"eval", "--data", photos(), "--json"} + with,
          Words{"eval", "--data", photos()} + with}) {
        const Finished run = by_shell(R"("$@" >/dev/full)", words);
        EXPECT_EQ(run.status, 1) << words[0];
        EXPECT_THAT(run.err, EndsWith("cait: cannot write the output to stdout: No space left on "
                                      "device\n"))
            << words[0];
    }
}

TEST_F(Output, AReaderThatLeavesEndsItQuietly) {
    for (const Words& words : {Words{"models"}, Words{"data", "stats", photos()}}) {
        const Finished run = by_shell(R"({ sleep 0.2; "$@"; echo "code $?" >&2; } | true)", words);
        EXPECT_EQ(run.err, "code 141\n") << words[0];
    }
    const Finished first = by_shell(R"("$@" | head -n 1)", {"models"});
    EXPECT_THAT(first.out, testing::StartsWith("model "));
    EXPECT_EQ(first.err, "");
}

// Whoever closes stdout does not want to hear; the files of the command must not be taken for it.
TEST_F(Output, ClosedDescriptorsAreNoFiles) {
    const Words words =
        Words{"predict", path("photos/one/a.png"), "--csv", "--output", path("answers.csv")} +
        model();
    const Finished run = by_shell(R"("$@" <&- >&- 2>&-)", words);
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(read(path("answers.csv")), testing::StartsWith("image,label,class1,score1"));
    EXPECT_EQ(by_shell(R"("$@" <&- >&- 2>&-)", {"inspect", path("none")}).status, 1);
}

TEST_F(Output, NamesCannotWriteToTheTerminal) {
    const std::string name = kEscape + std::string("\nx\xff");
    std::filesystem::rename(folder_ / "photos/one", folder_ / "photos" / name);
    write("photos/" + name + "/c.png", "no image");
    const Words with = model();
    const std::string file = path("photos/" + name + "/a.png");
    for (const Words& words :
         {Words{"data", "stats", photos()},
          Words{"data", "stats", photos(), "--json"},
          Words{"data", "verify", photos()},
          Words{"data", "verify", photos(), "--json"},
          Words{"data", "stats", "folder:" + name},
          Words{"inspect", name},
          Words{"inspect", path("model.safetensors"), "--model", name},
          Words{"inspect", path("model.safetensors"), "--set", "model." + name + "=1"},
          Words{"predict", file} + with,
          Words{"predict", "--json", file} + with,
          Words{"predict", "--csv", file} + with,
          Words{"predict", path("photos/" + name + "/c.png")} + with,
          Words{"eval", "--data", photos(), "--weights", path(name)},
          Words{"train", name},
          Words{"train", "small", "--print", "--data", kEscape},
          Words{"train", "small", "--set", name + "=1"},
          Words{name},
          Words{"data", name},
          Words{"models", name},
          Words{"weights", "get", name}})
        expect_printable(cait(words));
}

TEST_F(Output, WhatAModelFileSaysCannotWriteToTheTerminal) {
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"cait.model", kEscape},
             {"cait.name", kEscape},
             {"cait.settings", R"({"depth":"\u001b[31m\u009b"})"},
             {"cait.settings", R"({"\u001b[31m":"1"})"},
             {"cait.classes", R"(["\u001b[31m","\u009b2J","\u202e\u007f\n"])"},
             {"cait.preprocess", R"({"crop_mode":"\u001b[31m\u202e"})"},
             {"note", kEscape}}) {
        const Words with = model({{key, value}});
        for (const Words& words : {Words{"inspect", path("model.safetensors")},
                                   Words{"inspect", path("model.safetensors"), "--json"},
                                   Words{"predict", path("photos/two/a.png")} + with,
                                   Words{"predict", "--csv", path("photos/two/a.png")} + with}) {
            SCOPED_TRACE(key);
            expect_printable(cait(words));
        }
        const Finished json = cait(Words{"predict", "--json", path("photos/two/a.png")} + with);
        expect_printable(json);
        EXPECT_TRUE(json.status != 0 || nlohmann::json::accept(json.out)) << key;
    }
}

// Names of tensors, columns, labels, keys and arrays.
TEST_F(Output, WhatOtherFilesSayCannotWriteToTheTerminal) {
    const Words with = model();
    const std::string evil = kEscape;
    const std::vector<float> values{1, 2};
    const std::vector<NamedTensor> tensors{{evil, Tensor::of({2}, values)}};
    write_safetensors(folder_ / "named.safetensors", tensors, {});
    write("labels.csv", "path,label\nphotos/one/a.png," + evil + "\nnone.png,x\n");
    write("columns.csv", evil + "," + evil + "\n");
    write("raw.toml", evil + " = 1\n");
    write("quoted.toml", "\"\\u001b[31m\" = 1\n");
    write("value.toml", "[train]\ndevice = \"\\u001b[31m\\u009b\"\n");
    write("names.txt", evil + "\n" + evil + "2\n" + evil + "3\n");
    std::string array = read(data("images.npy"));
    array.replace(array.find("'descr'"), 7, "'\x1b[31m'");
    write("array.npy", array);
    for (const Words& words :
         {Words{"inspect", "--tensors", path("named.safetensors")},
          Words{"inspect", "--json", path("named.safetensors")},
          Words{"predict", "--weights", path("named.safetensors"), "--model", "cait_xxs24_224",
                path("photos/one/a.png")},
          Words{"data", "stats", "csv:" + path("labels.csv")},
          Words{"data", "verify", "csv:" + path("labels.csv")},
          Words{"data", "stats", "csv:" + path("columns.csv")},
          Words{"data", "stats", "idx:" + evil + "?labels=" + evil},
          Words{"train", path("raw.toml"), "--print"},
          Words{"train", path("quoted.toml"), "--print"},
          Words{"train", path("value.toml"), "--print"},
          Words{"predict", "--classes", path("names.txt"), path("photos/one/a.png")} + with,
          Words{"forward", "--input", path("array.npy"), "--output", path("o.npy")} + with}) {
        const Finished run = cait(words);
        EXPECT_NE(run.out + run.err, "") << words[0];
        expect_printable(run);
    }
}

TEST_F(Output, KeysOfAShardCannotWriteToTheTerminal) {
    const auto entry = [](const std::string& name, const std::string& content) {
        std::string header(512, '\0');
        header.replace(0, name.size(), name);
        header.replace(100, 7, "0000644");
        header.replace(124, 11, fmt::format("{:011o}", content.size()));
        header[156] = '0';
        header.replace(257, 5, "ustar");
        header.replace(148, 8, "        ");
        unsigned sum = 0;
        for (const char c : header) sum += static_cast<unsigned char>(c);
        header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
        return header + content + std::string((512 - content.size() % 512) % 512, '\0');
    };
    const std::string key = "\x1b[31mkey";
    write("a.tar",
          entry(key + ".png", "no image") + entry(key + ".cls", "0") + std::string(1024, '\0'));
    for (const char* command : {"verify", "stats"}) {
        const Finished run = cait({"data", command, "tar:" + path("a.tar")});
        EXPECT_EQ(run.status, 1);
        EXPECT_THAT(run.out + run.err, HasSubstr("\\x1b[31mkey"));
        expect_printable(run);
    }
}

TEST_F(Output, AMessageHasAnEnd) {
    const std::string huge(8'000'000, 'x');  // more is refused already
    for (const std::string key : {"cait.model", "cait.settings", "cait.preprocess", "note"}) {
        model({{key, huge}});
        const Finished run = cait({"inspect", path("model.safetensors")});
        EXPECT_LT(run.out.size() + run.err.size(), 10'000U) << key;
        EXPECT_LT(run.err.size(), 2100U) << key;
    }
    model({{"cait.model", huge}});
    EXPECT_THAT(cait({"inspect", path("model.safetensors")}).err,
                EndsWith("... (cut after 2000 characters)\n"));
}

TEST_F(Output, TwentyMegabytesOfMetadataAreRefusedInALine) {
    const std::string huge(20'000'000, 'x');
    for (const std::string key : {"cait.model", "cait.settings", "cait.classes", "cait.preprocess",
                                  "cait.name", "note", "K@"}) {
        const Words with = model({{key, "V@"}});
        write("model.safetensors",
              with_text(read(path("model.safetensors")), key == "K@" ? "K@" : "V@", huge));
        for (const Words& words :
             {Words{"inspect", path("model.safetensors")},
              Words{"predict", path("photos/one/a.png")} + with,
              Words{"convert", path("model.safetensors"), path("o.safetensors")}}) {
            const Finished run = cait(words);
            expect_refused(run, 1, {path("model.safetensors")});
            EXPECT_LT(run.err.size(), 2100U) << key;
            if (!kSanitized) {
                EXPECT_LT(run.peak_kilobytes, 200'000) << key;
            }
        }
    }
}

TEST_F(Output, MoreThreadsThanProcessorsAreNotStarted) {
    const Words with = model();
    for (const Words& words : {Words{"predict", path("photos")} + with,
                               Words{"eval", "--data", photos()} + with, Words{"machine"}}) {
        const Finished run = by_shell(R"(OMP_NUM_THREADS=10000 timeout -k 1 100 "$@")", words);
        EXPECT_EQ(run.status, 0) << run.err;
        EXPECT_THAT(run.err, HasSubstr("cait: OMP_NUM_THREADS=10000: "));
        EXPECT_LT(run.seconds, kSanitized ? 100 : 10) << words[0];
    }
}

TEST_F(Output, NonsenseInCaitIsaIsRefusedByWhateverComputes) {
    const Words with = model();
    for (const Words& words :
         {Words{"predict", path("photos")} + with, Words{"eval", "--data", photos()} + with,
          Words{"attend", path("photos"), "--output", path("a.png")} + with,
          Words{"forward", "--input", data("images.npy"), "--output", path("y.npy")} + with,
          Words{"preprocess", path("photos/one/a.png"), "--output", path("x.npy")},
          Words{"bench", path("model.safetensors")}, Words{"data", "stats", photos()},
          Words{"data", "preview", photos(), "--output", path("p.png")}})
        expect_refused(by_shell(R"(CAIT_ISA=foo "$@")", words), 2, {"CAIT_ISA", "'foo'"});
}

}  // namespace
}  // namespace cait::e2e
