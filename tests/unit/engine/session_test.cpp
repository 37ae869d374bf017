#include "cait/session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "cait/error.h"
#include "engine/packed_file.h"
#include "support/near.h"
#include "support/small_models.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::AllOf;
using testing::HasSubstr;

Model tiny(const std::string& name = "cait_xxs24_224") {
    return Model::create(name, test::kSmall, 5);
}

bool same_bits(const Tensor& a, const Tensor& b) {
    return std::ranges::equal(a.floats(), b.floats());
}

TEST(Session, GivesTheLogitsOfAnyNumberOfImages) {
    const Model model = tiny();
    const Session session(model, {.threads = 2, .batch = 2});
    const Tensor images = test::random_images(model.spec(), 7);
    const Tensor logits = session.run(images).at("logits");
    EXPECT_EQ(logits.shape(), (Shape{7, 5}));
    EXPECT_TRUE(same_bits(logits, session.run(images).at("logits")));  // twice, the same bits
}

TEST(Session, OtherTapsShareThePackedWeights) {
    const Model model = tiny();
    const Session session(model, {.threads = 1});
    const Tensor images = test::random_images(model.spec(), 2);
    session.run(images);
    const std::size_t before = session.memory().weights;
    const auto both = session.run(images, {"logits", "self_attention.0"});
    EXPECT_EQ(both.size(), 2U);
    EXPECT_EQ(session.memory().weights, before);
}

TEST(Session, KeepsOnePlanForASetOfTaps) {
    const Model model = tiny();
    const Session session(model, {.threads = 1});
    const Tensor images = test::random_images(model.spec(), 2);
    const auto found = session.run(images, {"logits", "tokens"});
    EXPECT_EQ(session.plans(), 1U);
    const std::size_t bytes = session.memory({"tokens", "logits"}).activations;
    EXPECT_GT(bytes, 0U);
    EXPECT_EQ(session.memory().activations, bytes);
    for (const std::vector<std::string>& taps :
         {std::vector<std::string>{"tokens", "logits"}, {"tokens", "logits", "tokens", "tokens"}}) {
        const auto again = session.run(images, taps);
        ASSERT_EQ(again.size(), 2U);
        EXPECT_TRUE(same_bits(again.at("tokens"), found.at("tokens")));
        EXPECT_TRUE(same_bits(again.at("logits"), found.at("logits")));
    }
    EXPECT_EQ(session.plans(), 1U);
    session.run(images);
    session.run(images, {"logits"});  // what it gives by itself
    EXPECT_EQ(session.plans(), 2U);
    session.forget({"tokens", "tokens", "logits"});
    EXPECT_EQ(session.plans(), 1U);
}

TEST(Session, TakesImagesByName) {
    const Model model = tiny();
    const Session session(model, {.threads = 1});
    const Tensor images = test::random_images(model.spec(), 2);
    EXPECT_TRUE(same_bits(session.run({{"images", images}}).at("logits"),
                          session.run(images).at("logits")));
    EXPECT_THAT(error_of([&] {
                    session.run({{"pictures", images}});
                }),
                HasSubstr("expected float32 images [B, 3, 16, 16], found none"));
}

TEST(Session, RunsAtOtherSizesWhereNoWeightsAreForPositions) {
    const test::SmallPreset preset = test::distinct_small_presets("resnet").front();
    const Model model = Model::create(preset.name, preset.settings, 5);
    SettingList larger = preset.settings;
    larger.emplace_back("image_size", preset.other_size);
    const Model other = Model::create(preset.name, larger, 5).with_weights(model.weights());
    const Tensor images = test::random_images(other.spec(), 2);
    const Session session(model, {.threads = 1});
    const Tensor own = test::random_images(model.spec(), 2);
    const Tensor before = session.run(own).at("logits");
    EXPECT_TRUE(
        same_bits(session.run(images).at("logits"), Session(other).run(images).at("logits")));
    EXPECT_EQ(session.plans(), 2U);
    EXPECT_TRUE(same_bits(session.run(own).at("logits"), before));
    EXPECT_EQ(session.plans(), 2U);
    session.forget({});
    EXPECT_EQ(session.plans(), 0U);
}

// A plan for each combination of lengths, of which those that were used last stay.
TEST(Session, KeepsThePlansOfSixtyFourLengths) {
    const test::SmallPreset preset = test::small_translators().front();
    const Model model = Model::create(preset.name, preset.settings, 5);
    const Session session(model, {.threads = 1});
    const auto run = [&](std::int64_t source, std::int64_t target) {
        const TextSize size{.source = source, .target = target};
        const Graph graph = record(model.spec(), {.text_size = size, .taps = {"logits"}});
        return session.run(test::text_inputs(graph, 2)).at("logits");
    };
    const Tensor first = run(1, 1);
    for (std::int64_t i = 1; i < 80; ++i) {
        run(1 + i % 16, 1 + i / 16);
        EXPECT_EQ(session.plans(), std::min<std::size_t>(64, std::size_t(i + 1))) << i;
    }
    EXPECT_TRUE(same_bits(run(1, 1), first));  // which was made again
    EXPECT_EQ(session.plans(), 64U);
    session.forget({"logits"});
    EXPECT_EQ(session.plans(), 0U);
}

TEST(Session, SaysWhichInputOfATranslatorIsWrong) {
    const test::SmallPreset preset = test::small_translators().front();
    const Model model = Model::create(preset.name, preset.settings, 5);
    const Session session(model, {.threads = 1});
    const Graph graph = record(model.spec(), {.taps = {"logits"}});
    const NamedInputs<Tensor> inputs = test::text_inputs(graph, 2);
    const auto without = [&](const std::string& name) {
        NamedInputs<Tensor> fewer = inputs;
        fewer.erase(name);
        return error_of([&] { session.run(fewer); });
    };
    EXPECT_THAT(without("target"), HasSubstr("unknown tap 'logits'"));
    EXPECT_THAT(without("source_mask"), HasSubstr("expected float32 source_mask [B, 16]"));
    EXPECT_THAT(without("source"), HasSubstr("expected int64 source [B, 16], found none"));
    EXPECT_THAT(error_of([&] { session.run(test::random_images(tiny().spec(), 1)); }),
                HasSubstr("expected pieces of sentences"));
    EXPECT_THAT(error_of([&] {
                    session.run({{"source", Tensor::zeros(DType::i64, {0, 8})},
                                 {"source_mask", Tensor::zeros(DType::f32, {0, 8})},
                                 {"target", Tensor::zeros(DType::i64, {0, 8})}});
                }),
                HasSubstr("at least one sentence"));
}

TEST(Session, KeepsThePlansOfAFewOtherSizesAndOfItsOwn) {
    const test::SmallPreset preset = test::distinct_small_presets("resnet").front();
    const Model model = Model::create(preset.name, preset.settings, 5);
    const Session session(model, {.threads = 1});
    const Tensor own = test::random_images(model.spec(), 1);
    session.run(own);
    const std::int64_t side = own.shape()[2];
    const auto run = [&](std::int64_t number) {
        const Shape shape{1, 3, side, side + 32 * number};
        std::vector<float> values(std::size_t(shape.count()));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i % 17) / 17;
        return session.run(Tensor::of(shape, values)).at("logits");
    };
    const Tensor first = run(1);
    for (std::int64_t number = 2; number <= 20; ++number) {
        run(number);
        EXPECT_EQ(session.plans(), 1 + std::min<std::size_t>(8, std::size_t(number))) << number;
    }
    EXPECT_TRUE(same_bits(run(1), first));  // which was made again
    EXPECT_EQ(session.plans(), 9U);
    session.run(own);
    EXPECT_EQ(session.plans(), 9U);
    session.forget({});
    EXPECT_EQ(session.plans(), 0U);
    run(2);
    EXPECT_EQ(session.plans(), 1U);
}

TEST(Session, ForgetsWhatIsNotNeededAndPreparesItAgain) {
    const Model model = tiny();
    const Session session(model, {.threads = 1});
    const Tensor images = test::random_images(model.spec(), 2);
    const Tensor tokens = session.run(images, {"tokens"}).at("tokens");
    EXPECT_GT(session.memory({"tokens"}).activations, 0U);
    session.forget({"tokens"});
    session.forget({"features"});  // never there
    EXPECT_EQ(session.memory({"tokens"}).activations, 0U);
    EXPECT_TRUE(same_bits(tokens, session.run(images, {"tokens"}).at("tokens")));
    EXPECT_THAT(error_of([&] { session.prepare({"features"}, 1000); }), HasSubstr("MiB"));
    EXPECT_EQ(session.memory({"features"}).activations, 0U);
}

TEST(Session, BadImagesAreNamedAndTheSessionStaysUsable) {
    const Model model = tiny();
    const Session session(model);
    Tensor images = test::random_images(model.spec(), 2);
    const Tensor expected = session.run(images).at("logits");
    const auto problem = [&](const Tensor& with, std::vector<std::string> taps = {}) {
        return error_of([&] { session.run(with, taps); });
    };
    EXPECT_THAT(problem(Tensor::zeros(DType::f32, {1, 3, 8, 16})),
                AllOf(HasSubstr("[B, 3, 16, 16]"), HasSubstr("[1, 3, 8, 16]")));
    EXPECT_THAT(problem(Tensor::zeros(DType::f64, {1, 3, 16, 16})), HasSubstr("float64"));
    EXPECT_THAT(problem(Tensor::zeros(DType::f32, {0, 3, 16, 16})), HasSubstr("at least one"));
    EXPECT_THAT(problem({}), HasSubstr("found none"));
    EXPECT_THAT(problem(images, {"logit"}), HasSubstr("logit"));
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
        Tensor broken = Tensor::of(images.shape(), images.floats());
        broken.mutable_floats()[800] = bad;
        EXPECT_THAT(problem(broken), AllOf(HasSubstr("image 1"), HasSubstr("finite")));
    }
    EXPECT_TRUE(same_bits(session.run(images).at("logits"), expected));
}

TEST(Session, APlanBeyondTheMemoryLimitIsRefused) {
    const Model model = tiny();
    const Session session(model, {.threads = 2, .batch = 8, .memory_limit = 100});
    EXPECT_THAT(error_of([&] { session.run(test::random_images(model.spec(), 1)); }),
                AllOf(HasSubstr("cait_xxs24_224"), HasSubstr("MiB")));
    EXPECT_THAT(error_of([&] { Session(model, {.threads = -1}); }), HasSubstr("threads"));
}

TEST(Session, EightThreadsAtOnceGetTheirOwnAnswers) {
    const Model model = tiny();
    const Session session(model, {.threads = 2, .batch = 4});
    const Tensor images = test::random_images(model.spec(), 8);
    const Tensor expected = session.run(images).at("logits");
    const auto size = images.count() / 8, classes = expected.count() / 8;
    std::vector<std::thread> callers;
    std::atomic<int> wrong = 0;
    for (std::int64_t i = 0; i < 8; ++i)
        callers.emplace_back([&, i] {
            const Tensor one = Tensor::of(
                {1, 3, 16, 16}, images.floats().subspan(std::size_t(i * size), std::size_t(size)));
            for (int round = 0; round < 20; ++round) {
                const Tensor logits = session.run(one).at("logits");
                if (!std::ranges::equal(
                        logits.floats(),
                        expected.floats().subspan(std::size_t(i * classes), std::size_t(classes))))
                    ++wrong;
            }
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Session, TwoModelsInOneProcessDoNotMix) {
    const Model first = tiny(), second = tiny("deit_tiny_patch16_224");
    const Session a(first, {.threads = 2}), b(second, {.threads = 2});
    const Tensor images = test::random_images(first.spec(), 3);
    const Tensor from_a = a.run(images).at("logits"), from_b = b.run(images).at("logits");
    EXPECT_FALSE(same_bits(from_a, from_b));
    EXPECT_TRUE(same_bits(a.run(images).at("logits"), from_a));
}

TEST(Session, AForkedProcessCanGoOn) {
    const Model model = tiny();
    const Session session(model, {.threads = 2, .batch = 4});
    const Tensor images = test::random_images(model.spec(), 5);
    const Tensor expected = session.run(images).at("logits");
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        ::_exit(same_bits(session.run(images).at("logits"), expected) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(same_bits(session.run(images).at("logits"), expected));
}

TEST(Session, PackedWeightsAreKeptOnDiskAndCheckedAgainstTheModel) {
    const auto file =
        std::filesystem::path(testing::TempDir()) / fmt::format("packed_{}.bin", ::getpid());
    std::filesystem::remove(file);
    const Model model = tiny();
    const Tensor images = test::random_images(model.spec(), 2);
    const Tensor expected = Session(model).run(images).at("logits");
    const auto run = [&](const Model& with) {
        return Session(with, {.cache = file}).run(images).at("logits");
    };
    EXPECT_TRUE(same_bits(run(model), expected));
    ASSERT_TRUE(std::filesystem::exists(file));
    const auto written = std::filesystem::last_write_time(file);
    EXPECT_TRUE(same_bits(run(model), expected));  // mapped
    EXPECT_EQ(std::filesystem::last_write_time(file), written);
    // Other weights find none of theirs in it.
    const Model other = Model::create("cait_xxs24_224", test::kSmall, 6);
    EXPECT_TRUE(same_bits(run(other), Session(other).run(images).at("logits")));
    // Rubbish, and a file that was cut off, are replaced.
    for (const std::uintmax_t size :
         {std::uintmax_t{10}, std::uintmax_t{70}, std::filesystem::file_size(file) - 64}) {
        std::filesystem::resize_file(file, size);
        EXPECT_TRUE(same_bits(run(model), expected)) << size;
        EXPECT_TRUE(same_bits(run(model), expected)) << size;
    }
    std::filesystem::remove(file);
}

// Kernels would read beyond them.
TEST(Session, PackedWeightsOfAnotherSizeAreNotUsed) {
    const TemporaryFolder folder;
    const auto file = folder / "packed";
    const Model model = tiny();
    const Tensor images = test::random_images(model.spec(), 2);
    const Tensor expected = Session(model, {.cache = file}).run(images).at("logits");
    const std::string whole = read_file(file);
    std::uint64_t length = 0;
    std::memcpy(&length, whole.data() + 16, sizeof length);
    const nlohmann::json index = nlohmann::json::parse(whole.substr(64, length));
    ASSERT_FALSE(index["matrices"].empty());
    const std::vector<float> values(16, 0.7F);
    for (const auto& [outputs, inputs, format] :
         {std::tuple(1, 1, kernels::Format::f32), std::tuple(1, 1, kernels::Format::bf16),
          std::tuple(16, 1, kernels::Format::f32), std::tuple(1, 16, kernels::Format::f32)}) {
        kernels::PackedMatrix other;
        other.pack(kernels::forward_source(values.data(), outputs, inputs), format);
        std::map<std::string, engine::PackedEntry> matrices;
        for (const auto& entry : index["matrices"])
            matrices[entry["key"]] = engine::PackedEntry::of(other.view());
        engine::PackedFile::write(file, matrices);
        const Session session(model, {.cache = file});
        EXPECT_THAT(session.notes(), testing::IsEmpty());  // it is whole
        EXPECT_TRUE(same_bits(session.run(images).at("logits"), expected));
    }
}

TEST(Session, DamagedPackedWeightsArePackedAgainWithANote) {
    const TemporaryFolder folder;
    const auto file = folder / "packed";
    const Model model = tiny();
    const Tensor images = test::random_images(model.spec(), 2);
    const Tensor expected = Session(model).run(images).at("logits");
    EXPECT_THAT(Session(model, {.cache = file}).notes(), testing::IsEmpty());
    Session(model, {.cache = file}).run(images);
    const std::string whole = read_file(file);
    constexpr std::size_t kPlaces = 60;  // over the whole file
    for (std::size_t place = 0; place < kPlaces; ++place) {
        std::string bytes = whole;
        const std::size_t at = place * (whole.size() - 1) / (kPlaces - 1);
        bytes[at] = char(bytes[at] ^ 64);
        write_file(file, bytes);
        const Session session(model, {.cache = file});
        ASSERT_EQ(session.notes().size(), 1U) << at;
        EXPECT_THAT(session.notes()[0], AllOf(HasSubstr(file.string()), HasSubstr("damaged")));
        EXPECT_TRUE(same_bits(session.run(images).at("logits"), expected)) << at;
        EXPECT_EQ(read_file(file), whole) << at;
    }
}

}  // namespace
}  // namespace cait
