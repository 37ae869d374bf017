// What the settings say of their readers, held against the models themselves: a setting that is
// read changes what training records, one that is not changes nothing.
#include "models/setting_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "models/catalogue.h"

namespace cait {
namespace {

std::string init_text(const Init& init) {
    std::string text = fmt::format("{} {} {}", int(init.kind), init.a, init.b);
    for (const Init& part : init.parts) text += " (" + init_text(part) + ")";
    return text;
}

// All that training knows of a model.
std::string recorded(const std::string& model, const SettingList& settings) {
    const Graph graph = record(configure(model, settings), {.mode = Mode::train});
    std::string text = print(graph);
    for (const ParamSpec& spec : graph.params)
        text += fmt::format("{} {} {} {} {}\n", spec.name, spec.shape.to_string(),
                            init_text(spec.init), spec.trainable, int(spec.role.rule));
    return text;
}

// Values to try in place of the one that a setting has; not all of them fit the model.
std::vector<std::string> other_values(const SettingFacts& facts, Settings::Kind kind) {
    std::vector<std::string> values;
    if (facts.name == "image_size") return {"64", "96"};
    if (facts.name == "longest") return {"8"};  // shorter than what a graph is recorded for
    if (facts.name == "residual_init") return {"0.5", "0.25"};
    if (kind == Settings::Kind::integer)
        for (const int more : {1, 2, 4, 16, -1, -8}) {
            const std::int64_t value = parse_integer(facts.value) + more;
            if (value > 0) values.push_back(std::to_string(value));
        }
    if (kind == Settings::Kind::number) values = {"0.5", "0.25", "2"};
    if (kind == Settings::Kind::word || kind == Settings::Kind::flag) {
        std::istringstream words(facts.expected);
        for (std::string word; words >> word;)
            values.push_back(word.ends_with(',') ? word.substr(0, word.size() - 1) : word);
    }
    std::erase(values, facts.value);
    return values;
}

Settings::Kind kind_of(const ModelSpec& spec, const std::string& name) {
    Settings keys;
    spec.architecture->bind(keys);
    return std::ranges::find(keys.keys(), name, &Settings::Key::name)->kind;
}

bool is_configuration(const std::string& model, const SettingList& settings) {
    try {
        configure(model, settings);
        return true;
    } catch (const UsageError&) {
        return false;
    }
}

// Holds every setting of one configuration against its graph; returns how many have no effect.
int expect_readers(const std::string& model, const SettingList& settings) {
    const ModelSpec spec = configure(model, settings);
    const std::string before = recorded(model, settings);
    int unread = 0;
    for (const SettingFacts& facts : setting_facts(spec)) {
        bool tried = false, read = false;
        for (const std::string& value : other_values(facts, kind_of(spec, facts.name))) {
            SettingList changed = settings;
            changed.emplace_back(facts.name, value);
            if (!is_configuration(model, changed)) continue;
            tried = true;
            read = read || recorded(model, changed) != before;
            if (read) break;
        }
        if (!tried) continue;
        EXPECT_EQ(facts.unread.empty(), read) << facts.name << " " << facts.unread;
        unread += read ? 0 : 1;
    }
    return unread;
}

// A few small blocks of the first preset of each family, and every single choice in them changed.
TEST(SettingFacts, KnowWhichSettingsTheModelReads) {
    int configurations = 0, unread = 0;
    for (const Family& family : families()) {
        const std::string& model = family.presets.front().name;
        SettingList small{{"classes", "5"}, {"drop_path", "0.1"}};
        if (family.takes_text) small = {{"encoder_depth", "2"}, {"decoder_depth", "2"}};
        for (const auto& [key, value] : {std::pair<std::string, std::string>{"depth", "3"},
                                         {"depths", "1,1,1,1"},
                                         {"blocks", "1,1,2,1"},
                                         {"layers", "1,1,1,1"}})
            if (configure(model).settings().contains(key)) small.emplace_back(key, value);
        std::vector<SettingList> all{small};
        for (const SettingFacts& facts : setting_facts(configure(model, small))) {
            const Settings::Kind kind = kind_of(configure(model), facts.name);
            if (kind != Settings::Kind::word && kind != Settings::Kind::flag) continue;
            for (const std::string& value : other_values(facts, kind)) {
                SettingList changed = small;
                changed.emplace_back(facts.name, value);
                if (is_configuration(model, changed)) all.push_back(std::move(changed));
            }
        }
        SettingList still = small;
        still.emplace_back(family.takes_text ? "dropout" : "drop_path", "0");
        all.push_back(still);
        for (const SettingList& settings : all) {
            SCOPED_TRACE(model + " " + settings.back().first + "=" + settings.back().second);
            unread += expect_readers(model, settings);
            ++configurations;
        }
    }
    EXPECT_GT(configurations, 60);
    EXPECT_GT(unread, 60);
}

TEST(SettingFacts, SayWhenASettingWouldBeRead) {
    const auto unread = [](const SettingList& settings, const std::string& name) {
        for (const SettingFacts& facts : setting_facts(configure("cait_xxs24_224", settings)))
            if (facts.name == name) return facts.unread;
        return std::string("no such setting");
    };
    EXPECT_EQ(unread({}, "class_insert"), "model.class_stage=token");
    EXPECT_EQ(unread({{"class_stage", "token"}}, "class_insert"), "");
    EXPECT_EQ(unread({{"class_stage", "average"}}, "class_layers"), "model.class_stage=attention");
    EXPECT_EQ(unread({{"residual", "none"}}, "residual_init"), "a model.residual other than none");
    EXPECT_EQ(unread({{"drop_path", "0"}}, "drop_path_rule"), "model.drop_path above 0");
}

// CaiT's paper: 0.1 up to 18 blocks, 1e-5 up to 24, 1e-6 beyond.
TEST(SettingFacts, TheBranchesStartByTheDepth) {
    const auto start = [](const std::string& model, const SettingList& settings) {
        return configure(model, settings).settings().at("residual_init");
    };
    EXPECT_EQ(start("cait_xxs24_224", {}), "1e-05");
    EXPECT_EQ(start("cait_xxs24_224", {{"depth", "18"}}), "0.1");
    EXPECT_EQ(start("cait_xxs24_224", {{"depth", "19"}}), "1e-05");
    EXPECT_EQ(start("cait_xxs24_224", {{"depth", "25"}}), "1e-06");
    EXPECT_EQ(start("cait_xxs24_224", {{"depth", "12"}, {"residual_init", "1e-4"}}), "0.0001");
    EXPECT_EQ(start("cait_xxs24_224", {{"residual_init", "uniform"}}), "uniform:1e-05");
    EXPECT_EQ(start("resmlp_36_224", {{"depth", "12"}}), "0.1");
    // These have values of their own.
    EXPECT_EQ(start("resmlp_big_24_224", {{"depth", "12"}}), "1e-06");
    EXPECT_EQ(start("patchconvnet_s60", {{"depth", "12"}}), "0.0001");
    EXPECT_EQ(start("deit3_small_patch16_224", {{"depth", "24"}}), "0.0001");
}

}  // namespace
}  // namespace cait
