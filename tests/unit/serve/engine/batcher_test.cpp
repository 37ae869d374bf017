#include "serve/engine/batcher.h"

#include <future>
#include <thread>

#include "support/near.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

Tensor images(std::int64_t count, float first) {
    Tensor tensor = Tensor::empty(DType::f32, {count, 3, 16, 16});
    float value = first;
    for (float& one : tensor.mutable_floats()) one = std::sin(value += 0.37F);
    return tensor;
}

// What the model says of images that come alone.
std::vector<float> alone(const Tensor& tensor) {
    const Tensor logits = tiny_served()->session().run(tensor, {"logits"}).at("logits");
    return {logits.floats().begin(), logits.floats().end()};
}

// One that is thought to take so many seconds for one image and for four.
ServedModelPtr tiny_thought_slow(double one, double four) {
    auto model = std::make_shared<const ServedModel>(
        tiny_source(), EngineOptions{.threads = 1, .batch = 4, .bound = 1e6},
        std::make_shared<ModelStats>());
    model->time() = ServiceTime(one, four, 4);
    return model;
}

struct Asked {
    ServedModelPtr model = tiny_served();
    std::shared_ptr<std::promise<Outcome>> promise = std::make_shared<std::promise<Outcome>>();
    std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);

    Job job(Tensor tensor, double seconds = 60) {
        return {model,
                {"logits"},
                std::move(tensor),
                Clock::now() + std::chrono::milliseconds(std::int64_t(1e3 * seconds)),
                gone,
                [to = promise](Outcome outcome) { to->set_value(std::move(outcome)); }};
    }
    Outcome get() { return promise->get_future().get(); }
};

Refusal refusal(const Outcome& outcome) {
    return refusal_of([&] {
        if (outcome.error) std::rethrow_exception(outcome.error);
    });
}

TEST(Batcher, GivesEverybodyHisOwnAnswer) {
    std::vector<Asked> asked(20);
    std::vector<Tensor> inputs;
    Batcher batcher;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        inputs.push_back(images(1 + std::int64_t(i % 3), float(i)));
        batcher.submit(asked[i].job(inputs.back()));
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const Outcome outcome = asked[i].get();
        ASSERT_FALSE(outcome.error);
        const Tensor& logits = outcome.outputs.at("logits");
        EXPECT_EQ(logits.shape(), (Shape{1 + std::int64_t(i % 3), 3}));
        const std::vector<float> expected = alone(inputs[i]);
        for (std::size_t k = 0; k < expected.size(); ++k)
            EXPECT_NEAR(logits.floats()[k], expected[k], 1e-5) << i;
    }
}

TEST(Batcher, PutsRequestsTogether) {
    const std::uint64_t before = tiny_served()->stats().view().batches;
    std::vector<Asked> asked(16);
    {
        Batcher batcher(0.2);  // waits for company
        for (Asked& one : asked) batcher.submit(one.job(images(1, 1)));
        for (Asked& one : asked) EXPECT_FALSE(one.get().error);
    }
    const std::uint64_t batches = tiny_served()->stats().view().batches - before;
    EXPECT_GE(batches, 4U);  // of four images
    EXPECT_LE(batches, 8U);
}

TEST(Batcher, CutsALargeRequestIntoBatches) {
    Asked large, small;
    const Tensor many = images(11, 3), one = images(1, 9);
    Batcher batcher;
    batcher.submit(large.job(many));
    batcher.submit(small.job(one));
    const Outcome outcome = large.get();
    ASSERT_FALSE(outcome.error);
    const std::vector<float> expected = alone(many);
    ASSERT_EQ(outcome.outputs.at("logits").floats().size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k)
        EXPECT_NEAR(outcome.outputs.at("logits").floats()[k], expected[k], 1e-5);
    EXPECT_NEAR(small.get().outputs.at("logits").floats()[0], alone(one)[0], 1e-5);
}

TEST(Batcher, NobodyBeginsWhatIsTooLate) {
    Asked late, left, good;
    Batcher batcher(0.05);
    *left.gone = true;
    batcher.submit(late.job(images(1, 1), -1));
    batcher.submit(left.job(images(1, 1)));
    batcher.submit(good.job(images(1, 1)));
    EXPECT_EQ(refusal(late.get()).status, 503);
    EXPECT_EQ(refusal(left.get()).status, 503);
    EXPECT_EQ(refusal(good.get()).status, 0);
}

TEST(Batcher, ABatchIsAsLateAsTheLastOfIt) {
    const ServedModelPtr model = tiny_thought_slow(10, 40);
    std::vector<Asked> asked(4);
    for (Asked& one : asked) one.model = model;
    Batcher batcher(60);                                                 // until four are there
    for (Asked& one : asked) batcher.submit(one.job(images(1, 1), 35));  // three would be in time
    EXPECT_EQ(refusal(asked[0].get()).status, 503);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(refusal(asked[i].get()).status, 0);
}

// Otherwise nobody would ever see that the machine is fast again.
TEST(Batcher, TriesWhatComesAloneHoweverSlowItWas) {
    Asked alone{.model = tiny_thought_slow(100, 400)};
    Batcher batcher;
    batcher.submit(alone.job(images(1, 1), 60));
    EXPECT_EQ(refusal(alone.get()).status, 0);
    EXPECT_LT(alone.model->time().expected(1), 100);
}

TEST(Batcher, AMistakeOfOneSetOfOutputsIsToldToItsOwners) {
    Asked wrong, right;
    Batcher batcher(0.05);
    Job job = wrong.job(images(1, 1));
    job.taps = {"nonsense"};
    batcher.submit(std::move(job));
    batcher.submit(right.job(images(1, 1)));
    EXPECT_THROW(std::rethrow_exception(wrong.get().error), UsageError);
    EXPECT_FALSE(right.get().error);
}

TEST(Batcher, WhatRemainsIsDoneImageByImageBetweenOthers) {
    Asked large, small;
    std::vector<std::string> order;  // by the batcher's thread alone
    std::promise<void> begun, both_there;
    Batcher batcher;
    Job job = large.job(images(3, 3));
    const Tensor expected = images(3, 3);
    job.then = [&](const std::map<std::string, Tensor>& outputs, std::int64_t image) {
        if (image == 0) {
            begun.set_value();
            both_there.get_future().wait();
        }
        EXPECT_EQ(outputs.at("logits").shape(), (Shape{3, 3}));
        EXPECT_NEAR(outputs.at("logits").floats()[0], alone(expected)[0], 1e-5);
        order.push_back(std::to_string(image));
    };
    batcher.submit(std::move(job));
    begun.get_future().wait();
    Job other = small.job(images(1, 9));
    other.done = [&, done = other.done](Outcome outcome) {
        order.push_back("other");
        done(std::move(outcome));
    };
    batcher.submit(std::move(other));
    EXPECT_EQ(batcher.waiting(), 2U);
    both_there.set_value();
    const Outcome outcome = large.get();
    EXPECT_FALSE(outcome.error);
    EXPECT_TRUE(outcome.outputs.empty());  // nobody needs them any more
    EXPECT_FALSE(small.get().error);
    EXPECT_THAT(order, testing::ElementsAre("0", "other", "1", "2"));
}

TEST(Batcher, WhatRemainsEndsWhereNobodyWaitsForIt) {
    Asked left, late, wrong;
    int seen = 0;
    Batcher batcher;
    Job job = left.job(images(3, 1));
    job.then = [&](const auto&, std::int64_t) {
        ++seen;
        *left.gone = true;
    };
    batcher.submit(std::move(job));
    EXPECT_EQ(refusal(left.get()).status, 503);
    EXPECT_EQ(seen, 1);
    job = late.job(images(2, 1), 0.5);
    job.then = [&](const auto&, std::int64_t) {
        ++seen;
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
    };
    batcher.submit(std::move(job));
    EXPECT_EQ(refusal(late.get()).status, 503);
    EXPECT_EQ(seen, 2);
    job = wrong.job(images(2, 1));
    job.then = [&](const auto&, std::int64_t) {
        ++seen;
        throw Error("wrong");
    };
    batcher.submit(std::move(job));
    EXPECT_THROW(std::rethrow_exception(wrong.get().error), Error);
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(batcher.waiting(), 0U);
}

// What remains counts when somebody asks whether there is time.
TEST(Batcher, NobodyBeginsWhatWouldNotEnd) {
    const ServedModelPtr model = tiny_thought_slow(0.001, 0.004);
    model->rest_time() = ServiceTime(100, 100, 1);
    Asked plain{.model = model}, more{.model = model};
    Batcher batcher(60);
    Job job = more.job(images(1, 1), 30);
    job.then = [](const auto&, std::int64_t) { ADD_FAILURE() << "begun"; };
    batcher.submit(plain.job(images(3, 1), 30));
    batcher.submit(std::move(job));  // four images: the batch is full
    EXPECT_EQ(refusal(more.get()).status, 503);
    EXPECT_EQ(refusal(plain.get()).status, 0);
}

TEST(Batcher, EndsWhatItHasBeforeItEnds) {
    std::vector<Asked> asked(30);
    {
        Batcher batcher;
        for (Asked& one : asked) batcher.submit(one.job(images(1, 1)));
    }
    for (Asked& one : asked) EXPECT_FALSE(one.get().error);
}

}  // namespace
}  // namespace cait::serve
