// Lines of text through the batcher: together where they may go together, in turns with others.
#include <future>

#include "serve/engine/batcher.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::ElementsAre;

// One of its own, whose statistics and times are not those of other tests.
ServedModelPtr fresh_translator(double one = 0.001, double four = 0.004) {
    auto model = std::make_shared<const ServedModel>(
        translator_source(), EngineOptions{.threads = 1, .batch = 4, .bound = 1e6},
        std::make_shared<ModelStats>());
    model->time() = ServiceTime(one, four, 4);
    return model;
}

struct AskedText {
    ServedModelPtr model;
    std::shared_ptr<TranslationWork> work;
    std::shared_ptr<std::promise<Outcome>> promise = std::make_shared<std::promise<Outcome>>();
    std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);

    AskedText(ServedModelPtr by, std::vector<std::string> lines, const TranslateWish& wish = {})
        : model(std::move(by)),
          work(std::make_shared<TranslationWork>(*model->translator(), wish, std::move(lines))) {}

    Job job(double seconds = 60) {
        Job job{model, {},
                {},    Clock::now() + std::chrono::milliseconds(std::int64_t(1e3 * seconds)),
                gone,  [to = promise](Outcome outcome) { to->set_value(std::move(outcome)); }};
        job.text = work;
        return job;
    }
    Refusal get() {
        const Outcome outcome = promise->get_future().get();
        return refusal_of([&] {
            if (outcome.error) std::rethrow_exception(outcome.error);
        });
    }
    std::vector<std::string> texts() const {
        std::vector<std::string> all;
        for (const auto& best : work->found()) all.push_back(best.at(0).text);
        return all;
    }
};

std::vector<std::string> alone(const ServedModelPtr& model, const std::vector<std::string>& lines) {
    std::vector<std::string> texts;
    for (const std::string& line : lines)
        texts.push_back(model->translator()->translator().translate({&line, 1}).at(0).at(0).text);
    return texts;
}

// Keeps the batcher busy until all that a test submits is there.
class Gate {
public:
    Gate(Batcher& batcher, const ServedModelPtr& model) : asked_(model, {"a"}, {.beam = 1}) {
        Job job = asked_.job();
        job.done = [this](Outcome) { open_.get_future().wait(); };
        batcher.submit(std::move(job));
    }
    void open() { open_.set_value(); }

private:
    AskedText asked_;
    std::promise<void> open_;
};

TEST(TextBatcher, GivesEverybodyHisOwnLines) {
    const ServedModelPtr model = fresh_translator();
    const std::vector<std::vector<std::string>> lines{
        {"a dog runs"}, {"the cat", "", "snow"}, {"two old trees", "a man and a woman ."}};
    std::vector<AskedText> asked;
    for (const auto& some : lines) asked.emplace_back(model, some);
    {
        Batcher batcher(0.2);  // waits for company
        for (AskedText& one : asked) batcher.submit(one.job());
        for (AskedText& one : asked) EXPECT_EQ(one.get().status, 0);
    }
    for (std::size_t i = 0; i < lines.size(); ++i)
        EXPECT_EQ(asked[i].texts(), alone(model, lines[i])) << i;
    const StatsView view = model->stats().view();
    ASSERT_EQ(view.batches, 2U);  // of at most four lines
    EXPECT_THAT(view.by_batch, ElementsAre(testing::Key(2U), testing::Key(4U)));
}

TEST(TextBatcher, OnlyThoseThatWantTheSameGoTogether) {
    const ServedModelPtr model = fresh_translator();
    AskedText first(model, {"a dog"}), wide(model, {"a dog"}, {.beam = 6}), third(model, {"snow"});
    {
        Batcher batcher(0.2);
        for (AskedText* one : {&first, &wide, &third}) batcher.submit(one->job());
        for (AskedText* one : {&first, &wide, &third}) EXPECT_EQ(one->get().status, 0);
    }
    EXPECT_THAT(model->stats().view().by_batch, ElementsAre(testing::Key(1U), testing::Key(2U)));
}

// A line is as much of a batch as it is long.
TEST(TextBatcher, LongLinesFillABatch) {
    const ServedModelPtr model = fresh_translator();
    std::string long_line = "dog";
    for (int i = 0; i < 20; ++i) long_line += " dog";
    AskedText asked(model, {long_line, long_line, long_line}, {.beam = 10});  // two units each
    ASSERT_EQ(asked.work->units(0), 2U);
    {
        Batcher batcher;
        batcher.submit(asked.job());
        EXPECT_EQ(asked.get().status, 0);
    }
    EXPECT_THAT(model->stats().view().by_batch, ElementsAre(testing::Key(1U), testing::Key(2U)));
    EXPECT_EQ(asked.texts().size(), 3U);
}

TEST(TextBatcher, ALargeRequestLetsOthersPass) {
    const ServedModelPtr model = fresh_translator();
    AskedText large(model, std::vector<std::string>(40, "a dog runs")),
        small(model, {"snow"}, {.beam = 2});
    std::vector<std::string> order;  // by the batcher's thread alone
    const auto noted = [&](Job job, const char* name) {
        job.done = [&order, name, done = job.done](Outcome outcome) {
            order.emplace_back(name);
            done(std::move(outcome));
        };
        return job;
    };
    Batcher batcher;
    Gate gate(batcher, model);
    batcher.submit(noted(large.job(), "large"));
    batcher.submit(noted(small.job(), "small"));
    gate.open();
    EXPECT_EQ(large.get().status, 0);
    EXPECT_EQ(small.get().status, 0);
    EXPECT_THAT(order, ElementsAre("small", "large"));
    EXPECT_EQ(large.texts().size(), 40U);
}

TEST(TextBatcher, NobodyTranslatesWhatNobodyWaitsFor) {
    const ServedModelPtr model = fresh_translator();
    AskedText left(model, {"a dog"}), late(model, {"a cat"}), good(model, {"snow"});
    *left.gone = true;
    Batcher batcher(0.05);
    batcher.submit(left.job());
    batcher.submit(late.job(-1));
    batcher.submit(good.job());
    EXPECT_EQ(left.get().status, 503);
    EXPECT_EQ(late.get().status, 503);
    EXPECT_EQ(good.get().status, 0);
    EXPECT_TRUE(left.work->found()[0].empty());
    EXPECT_TRUE(late.work->found()[0].empty());
}

// In the middle of a request, too.
TEST(TextBatcher, EndsWhereTheClientLeaves) {
    const ServedModelPtr model = fresh_translator();
    AskedText large(model, std::vector<std::string>(128, "a dog runs")),
        small(model, {"snow"}, {.beam = 2});
    Batcher batcher;
    Gate gate(batcher, model);
    batcher.submit(large.job());
    Job job = small.job();  // answered after the first batch of the other one
    job.done = [&, done = job.done](Outcome outcome) {
        *large.gone = true;
        done(std::move(outcome));
    };
    batcher.submit(std::move(job));
    gate.open();
    EXPECT_EQ(small.get().status, 0);
    EXPECT_EQ(large.get().status, 503);
    EXPECT_TRUE(large.work->found().back().empty());
    EXPECT_EQ(batcher.waiting(), 0U);
}

// What a request would take is known by how long its lines are.
TEST(TextBatcher, NobodyBeginsWhatWouldBeLate) {
    const ServedModelPtr model = fresh_translator(1, 4);
    std::string long_line = "dog";
    for (int i = 0; i < 20; ++i) long_line += " dog";
    AskedText short_one(model, {"dog"}, {.beam = 10}), long_one(model, {long_line}, {.beam = 10});
    Batcher batcher(60);  // until four units are there
    batcher.submit(short_one.job(3.5));
    AskedText more(model, {long_line}, {.beam = 10});
    batcher.submit(long_one.job(3.5));
    batcher.submit(more.job(100));
    EXPECT_EQ(short_one.get().status, 503);  // a batch of four units takes four seconds
    EXPECT_EQ(long_one.get().status, 503);
    EXPECT_EQ(more.get().status, 0);
}

TEST(TextBatcher, GoesBesideImages) {
    const ServedModelPtr model = fresh_translator();
    AskedText text(model, {"a dog"});
    std::promise<Outcome> image;
    Job job{tiny_served(),
            {"logits"},
            Tensor::zeros(DType::f32, {2, 3, 16, 16}),
            Clock::now() + std::chrono::seconds(60),
            std::make_shared<std::atomic<bool>>(false),
            [&](Outcome outcome) { image.set_value(std::move(outcome)); }};
    Batcher batcher(0.05);
    batcher.submit(std::move(job));
    batcher.submit(text.job());
    const Outcome outcome = image.get_future().get();
    EXPECT_FALSE(outcome.error);
    EXPECT_EQ(outcome.outputs.at("logits").shape(), (Shape{2, 3}));
    EXPECT_EQ(text.get().status, 0);
}

}  // namespace
}  // namespace cait::serve
