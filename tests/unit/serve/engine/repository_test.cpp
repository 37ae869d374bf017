#include "serve/engine/repository.h"

#include <set>

#include "models/catalogue.h"
#include "support/small_models.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Repository, ServesTheHighestVersionUnlessOneIsNamed) {
    Repository models({tiny_source("a", "1", 1), tiny_source("a", "10", 2), tiny_source("a", "9"),
                       tiny_source("b")},
                      tiny_options());
    EXPECT_FALSE(models.ready());
    EXPECT_EQ(refusal_of([&] { models.get("a"); }).status, 400);  // not loaded yet
    models.load_all();
    EXPECT_TRUE(models.ready());
    EXPECT_EQ(models.get("a")->version(), "10");
    EXPECT_EQ(models.get("a", "9")->version(), "9");
    EXPECT_EQ(models.standard()->name(), "a");
    EXPECT_THAT(models.versions("a"), ElementsAre("1", "10", "9"));
    EXPECT_EQ(refusal_of([&] { models.get("a", "2"); }).status, 404);
    EXPECT_EQ(refusal_of([&] { models.get("c"); }).status, 404);
    EXPECT_EQ(refusal_of([&] { models.load("c"); }).status, 404);
    EXPECT_EQ(refusal_of([&] { models.unload("c"); }).status, 404);
}

TEST(Repository, UnloadedModelsAreNotServedUntilTheyAreLoadedAgain) {
    Repository models({tiny_source("a"), tiny_source("b")}, tiny_options());
    models.load_all();
    const ServedModelPtr used = models.get("a");  // somebody still works with it
    models.unload("a");
    EXPECT_EQ(refusal_of([&] { models.get("a"); }).status, 400);
    EXPECT_EQ(models.standard()->name(), "b");
    EXPECT_EQ(models.index()[0].reason, "unloaded");
    EXPECT_EQ(used->label(1), "dog");
    models.load("a");
    EXPECT_NE(models.get("a"), used);
}

TEST(Repository, ABadFileLeavesTheOldModelServing) {
    int loads = 0;
    ModelSource source = tiny_source("a");
    source.load = [&]() -> Model {
        if (++loads > 1) throw Error("/secret/place/a.safetensors: truncated header");
        return tiny_model();
    };
    Repository models({source}, tiny_options());
    models.load_all();
    const ServedModelPtr old = models.get("a");
    std::string text;
    try {
        models.load("a");
    } catch (const Error& error) {
        text = error.what();
    }
    EXPECT_EQ(text, "/secret/place/a.safetensors: truncated header");  // for the log
    EXPECT_EQ(models.without_paths(text), "its file: truncated header");
    EXPECT_EQ(models.get("a"), old);
    EXPECT_TRUE(models.ready());
}

TEST(ServedModel, KnowsItsOutputs) {
    const ServedModelPtr model = tiny_served();
    EXPECT_EQ(model->outputs().front().name, "logits");
    EXPECT_EQ(model->tap("features")->shape, (Shape{-1, 16}));
    EXPECT_THAT(model->attention_taps(), ElementsAre("class_attention.0"));
    EXPECT_EQ(model->tap("nonsense"), nullptr);
    EXPECT_EQ(model->label(0), "cat");
    EXPECT_EQ(model->label(7), "class 7");
    EXPECT_GT(model->time().expected(1), 0);
    EXPECT_GE(model->bound(), 5);
}

// A model with class layers, one with a distillation token and a projection, and one without
// tokens.
TEST(ServedModel, OffersAndAnswersEveryTapOfTheCatalogue) {
    SettingList with_head = test::kSmall;
    with_head.insert(with_head.end(),
                     {{"head.kind", "mlp"}, {"head.hidden", "12"}, {"head.outputs", "6"}});
    const std::vector<Model> models{
        tiny_model(), Model::create("deit_tiny_distilled_patch16_224", with_head),
        Model::create("resnet18", {{"image_size", "32"}, {"classes", "3"}})};
    std::set<std::string> seen;
    for (const Model& model : models) {
        SCOPED_TRACE(model.spec().name);
        const ServedModel served({"one", "1", "one.safetensors", [&] { return model; }},
                                 tiny_options(), std::make_shared<ModelStats>());
        EXPECT_EQ(served.outputs().front().name, "logits");
        const std::set<std::string> expected = offered_taps(model.spec());
        std::set<std::string> found;
        for (const TapInfo& tap : served.outputs()) {
            found.insert(tap.name);
            const auto held = served.prepare({tap.name});
            const auto outputs =
                served.session().run(test::random_images(model.spec(), 2), {tap.name});
            EXPECT_EQ(outputs.at(tap.name).shape(), tap.shape.with_batch(2)) << tap.name;
        }
        EXPECT_EQ(found, expected);
        seen.insert(found.begin(), found.end());
    }
    for (const char* tap : {"projection", "token_logits", "class_tokens.0", "logits_dist"})
        EXPECT_TRUE(seen.contains(tap)) << tap;
}

// One client must not close a way that others take (prepared_sets_test.cpp has the details).
TEST(ServedModel, AnyNumberOfSetsOfOutputsMayBeAskedFor) {
    const ServedModel model(tiny_source(), tiny_options(), std::make_shared<ModelStats>());
    const std::vector<std::string> names{"features", "logits", "tokens", "class_attention.0",
                                         "self_attention.0"};
    for (int set = 1; set < 32; ++set) {
        std::vector<std::string> taps;
        for (std::size_t i = 0; i < names.size(); ++i)
            if ((set >> i & 1) != 0) taps.push_back(names[i]);
        EXPECT_EQ(refusal_of([&] { model.prepare(taps); }).status, 0) << set;
    }
}

}  // namespace
}  // namespace cait::serve
