// The two fused branches against the plain formulas, gradients along random directions, with and
// without everything that is optional; the same bits in every run; bfloat16 near float32.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/packed_matrix.h"
#include "kernels/train/attention_branch_backward.h"
#include "kernels/train/mlp_branch_backward.h"
#include "support/all_formats.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;
using test::widen;

struct BranchCase {
    std::string name;
    Index batch, tokens, dim, hidden, heads;
    bool gain, biases, drop, talking;
    int threads;
};

#if defined(__SANITIZE_THREAD__)
constexpr int kBranchThreads = 1;  // the sanitizer does not know OpenMP's barriers
#else
constexpr int kBranchThreads = 2;
#endif

// Parameters of both branches by name, as floats and as what the reference moves.
struct Params {
    std::vector<std::string> names;
    std::vector<Floats> floats;
    std::vector<Doubles> doubles;
    std::vector<Floats> gradients;

    void add(const std::string& name, Index count, double deviation, bool present = true) {
        names.push_back(name);
        floats.push_back(present ? random_floats(count, unsigned(20 + names.size()), deviation)
                                 : Floats());
        doubles.push_back(widen(floats.back()));
        gradients.emplace_back(floats.back().size());
    }
    std::size_t index(const std::string& name) const {
        return std::size_t(std::ranges::find(names, name) - names.begin());
    }
    const float* data(const std::string& name) const {
        const Floats& values = floats[index(name)];
        return values.empty() ? nullptr : values.data();
    }
    float* gradient(const std::string& name) {
        Floats& values = gradients[index(name)];
        return values.empty() ? nullptr : values.data();
    }
    const Doubles& wide(const std::string& name) const { return doubles[index(name)]; }
};

class Branches : public testing::TestWithParam<BranchCase> {
protected:
    Branches() {
        if (c_.drop)
            for (Index i = 0; i < c_.batch; ++i) factors_.push_back(i % 3 == 1 ? 0.0F : 1.5F);
        p_.add("x", c_.batch * c_.tokens * c_.dim, 1);
        p_.add("norm_weight", c_.dim, 1);
        p_.add("norm_bias", c_.dim, 1);
        p_.add("gain", c_.dim, 1, c_.gain);
    }

    void fill(BranchOptions& b, Format format) {
        b.batch = c_.batch;
        b.tokens = c_.tokens;
        b.dim = c_.dim;
        b.norm_weight = p_.data("norm_weight");
        b.norm_bias = p_.data("norm_bias");
        b.epsilon = 1e-3F;
        b.gain = p_.data("gain");
        b.factors = factors_.empty() ? nullptr : factors_.data();
        b.format = format;
        b.threads = c_.threads;
    }

    // Forward or, with the gain, backward: weight [outputs, inputs].
    PackedView packed(PackedMatrix& matrix, const char* name, Index outputs, Format format,
                      bool forward, const float* gain = nullptr) {
        const Index inputs = Index(p_.wide(name).size()) / outputs;
        const float* weight = p_.data(name);
        matrix.pack(forward ? forward_source(weight, outputs, inputs)
                            : backward_source(weight, outputs, inputs, gain),
                    format);
        return matrix.view();
    }

    void fill_mlp(MlpBranch& b, Format format, bool forward) {
        fill(b, format);
        b.hidden = c_.hidden;
        b.weight1 = packed(packed_[0], "weight1", c_.hidden, format, forward);
        b.bias1 = p_.data("bias1");
        b.weight2 = packed(packed_[1], "weight2", c_.dim, format, forward, b.gain);
        b.bias2 = p_.data("bias2");
    }
    void fill_attention(AttentionBranch& b, Format format, bool forward) {
        fill(b, format);
        b.attention = {.queries = c_.tokens,
                       .keys = c_.tokens,
                       .heads = c_.heads,
                       .head_dim = c_.dim / c_.heads,
                       .scale = 0.4F,
                       .before_weight = p_.data("before_weight"),
                       .before_bias = p_.data("before_bias"),
                       .after_weight = p_.data("after_weight"),
                       .after_bias = p_.data("after_bias"),
                       .format = companion(format)};
        b.weight_qkv = packed(packed_[0], "weight1", 3 * c_.dim, format, forward);
        b.bias_qkv = p_.data("bias1");
        b.weight_proj = packed(packed_[1], "weight2", c_.dim, format, forward, b.gain);
        b.bias_proj = p_.data("bias2");
    }

    // x + factor * gain * branch, from the branch's values.
    Doubles with_residual(const Doubles& branch) const {
        Doubles y = p_.wide("x");
        const auto dim = std::size_t(c_.dim), image = std::size_t(c_.tokens * c_.dim);
        for (std::size_t i = 0; i < y.size(); ++i)
            y[i] += (c_.drop ? double(factors_[i / image]) : 1) *
                    (c_.gain ? p_.wide("gain")[i % dim] : 1) * branch[i];
        return y;
    }
    Doubles normed() const {
        return test::layer_norm(p_.wide("x"), p_.wide("norm_weight"), p_.wide("norm_bias"),
                                double(1e-3F));
    }

    void check(const Floats& y, const std::function<Doubles()>& reference, const Floats& dy) {
        const Doubles expected = reference();
        const double tolerance = 1e-6 * (test::largest(expected) + 10);
        for (std::size_t i = 0; i < y.size(); ++i)
            ASSERT_NEAR(y[i], expected[i], tolerance) << "element " << i;
        for (std::size_t i = 0; i < p_.names.size(); ++i) {
            const test::Slopes s = test::slopes(
                p_.doubles[i], p_.gradients[i], [&] { return test::dot(reference(), widen(dy)); },
                5);
            EXPECT_NEAR(s.by_gradient, s.by_difference, 2e-5 * (s.size + 10)) << p_.names[i];
        }
    }

    BranchCase c_ = GetParam();
    Floats factors_;
    Params p_;
    PackedMatrix packed_[2];
    Workspace workspace_;
};

class MlpBranches : public Branches {
protected:
    MlpBranches() {
        p_.add("weight1", c_.hidden * c_.dim, 0.3);
        p_.add("bias1", c_.hidden, 1, c_.biases);
        p_.add("weight2", c_.dim * c_.hidden, 0.3);
        p_.add("bias2", c_.dim, 1, c_.biases);
    }

    Floats run(const Floats& dy, Format format = Format::f32) {
        Floats y(dy.size());
        const Buffer kept(c_.batch * c_.tokens * c_.hidden * 4);
        MlpBackward b;
        fill_mlp(b, format, true);
        mlp_branch_forward(b, p_.data("x"), y.data(), kept.data(), workspace_);
        fill_mlp(b, format, false);
        b.weight2_values = p_.data("weight2");
        mlp_branch_backward(b, p_.data("x"), kept.data(), dy.data(),
                            {p_.gradient("x"),
                             p_.gradient("norm_weight"),
                             p_.gradient("norm_bias"),
                             p_.gradient("weight1"),
                             p_.gradient("bias1"),
                             {p_.gradient("weight2"), p_.gradient("bias2"), p_.gradient("gain")}},
                            workspace_);
        return y;
    }

    // As evaluation runs it: nothing is kept.
    Floats forward_only(Format format, int threads) {
        Floats y(p_.floats[0].size());
        MlpBranch b;
        fill_mlp(b, format, true);
        b.threads = threads;
        mlp_branch_forward(b, p_.data("x"), y.data(), nullptr, workspace_);
        return y;
    }
};

class AttentionBranches : public Branches {
protected:
    AttentionBranches() {
        p_.add("weight1", 3 * c_.dim * c_.dim, 0.3);
        p_.add("bias1", 3 * c_.dim, 1, c_.biases);
        p_.add("weight2", c_.dim * c_.dim, 0.3);
        p_.add("bias2", c_.dim, 1, c_.biases);
        p_.add("before_weight", c_.heads * c_.heads, 0.7, c_.talking);
        p_.add("before_bias", c_.heads, 1, c_.talking);
        p_.add("after_weight", c_.heads * c_.heads, 0.7, c_.talking);
        p_.add("after_bias", c_.heads, 1, c_.talking);
    }

    Floats run(const Floats& dy, Format format = Format::f32) {
        Floats y(dy.size());
        AttentionBackward b;
        fill_attention(b, format, true);
        const Buffer qkv(kept_qkv(b) * 4), mixed(kept_mixed(b) * 4);
        const AttentionKept kept{qkv.data(), mixed.data()};
        attention_branch_forward(b, p_.data("x"), y.data(), kept, workspace_);
        fill_attention(b, format, false);
        b.weight_proj_values = p_.data("weight2");
        attention_branch_backward(
            b, p_.data("x"), kept, dy.data(),
            {p_.gradient("x"),
             p_.gradient("norm_weight"),
             p_.gradient("norm_bias"),
             p_.gradient("weight1"),
             p_.gradient("bias1"),
             {p_.gradient("before_weight"), p_.gradient("before_bias"), p_.gradient("after_weight"),
              p_.gradient("after_bias")},
             {p_.gradient("weight2"), p_.gradient("bias2"), p_.gradient("gain")}},
            workspace_);
        return y;
    }

    Floats forward_only(Format format, int threads) {
        Floats y(p_.floats[0].size());
        AttentionBranch b;
        fill_attention(b, format, true);
        b.threads = threads;
        attention_branch_forward(b, p_.data("x"), y.data(), {}, workspace_);
        return y;
    }

    Doubles reference() const {
        const Doubles qkv = test::linear(normed(), p_.wide("weight1"), p_.wide("bias1"), c_.dim);
        const auto dim = std::size_t(c_.dim), tokens = std::size_t(c_.tokens);
        Doubles mixed;
        for (std::size_t image = 0; image < std::size_t(c_.batch); ++image) {
            Doubles parts[3];
            for (std::size_t row = image * tokens; row < (image + 1) * tokens; ++row)
                for (std::size_t part = 0; part < 3; ++part) {
                    const auto begin = qkv.begin() + std::ptrdiff_t((row * 3 + part) * dim);
                    parts[part].insert(parts[part].end(), begin, begin + std::ptrdiff_t(dim));
                }
            const Doubles one =
                test::attention(parts[0], parts[1], parts[2], std::size_t(c_.heads), dim,
                                double(0.4F), {p_.wide("before_weight"), p_.wide("before_bias")},
                                {p_.wide("after_weight"), p_.wide("after_bias")});
            mixed.insert(mixed.end(), one.begin(), one.end());
        }
        return with_residual(test::linear(mixed, p_.wide("weight2"), p_.wide("bias2"), c_.dim));
    }
};

TEST_P(MlpBranches, ForwardAndBackward) {
    const Floats dy = random_floats(c_.batch * c_.tokens * c_.dim, 2);
    const auto reference = [&] {
        const Doubles hidden = test::linear(normed(), p_.wide("weight1"), p_.wide("bias1"), c_.dim);
        return with_residual(
            test::linear(test::gelu(hidden), p_.wide("weight2"), p_.wide("bias2"), c_.hidden));
    };
    check(run(dy), reference, dy);
}

TEST_P(AttentionBranches, ForwardAndBackward) {
    const Floats dy = random_floats(c_.batch * c_.tokens * c_.dim, 2);
    check(
        run(dy), [&] { return reference(); }, dy);
}

// Root mean square of the difference over that of the values.
double distance(const Floats& a, const Floats& b) {
    double difference = 0, size = 1e-12;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference += std::pow(double(a[i]) - double(b[i]), 2);
        size += std::pow(double(b[i]), 2);
    }
    return std::sqrt(difference / size);
}

template <class Test>
void expect_repeatable_and_near_in_bfloat16(Params& params, const Floats& dy, const Test& run) {
    const Floats first = run(dy, Format::f32);
    const std::vector<Floats> gradients = params.gradients;
    EXPECT_EQ(run(dy, Format::f32), first);
    EXPECT_EQ(params.gradients, gradients);
    EXPECT_LT(distance(run(dy, Format::bf16), first), 0.02);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (gradients[i].empty() || params.names[i] == "before_bias") continue;  // only rounding
        EXPECT_LT(distance(params.gradients[i], gradients[i]), 0.06) << params.names[i];
    }
}

TEST_P(MlpBranches, RepeatsAndBfloat16IsNear) {
    const Floats dy = random_floats(c_.batch * c_.tokens * c_.dim, 2);
    expect_repeatable_and_near_in_bfloat16(
        p_, dy, [&](const Floats& d, Format format) { return run(d, format); });
}

TEST_P(AttentionBranches, RepeatsAndBfloat16IsNear) {
    const Floats dy = random_floats(c_.batch * c_.tokens * c_.dim, 2);
    expect_repeatable_and_near_in_bfloat16(
        p_, dy, [&](const Floats& d, Format format) { return run(d, format); });
}

// One image cut over several threads, whole images and a batch on one thread: the same bits.
template <class Test>
void expect_independent_of_threads(const Test& forward) {
    if (kBranchThreads == 1) GTEST_SKIP() << "the sanitizer does not know OpenMP's barriers";
    for (const Format format : test::all_formats()) {
        const Floats one = forward(format, 1);
        for (const int threads : {2, 5, 16}) EXPECT_EQ(forward(format, threads), one) << threads;
    }
}

TEST_P(MlpBranches, DoNotDependOnTheNumberOfThreads) {
    expect_independent_of_threads(
        [&](Format format, int threads) { return forward_only(format, threads); });
}

TEST_P(AttentionBranches, DoNotDependOnTheNumberOfThreads) {
    expect_independent_of_threads(
        [&](Format format, int threads) { return forward_only(format, threads); });
}

// What int8 loses of the branch itself, beside the residual stream.
template <class Test>
void expect_int8_near(const Test& forward) {
    const Floats exact = forward(Format::f32, 1), found = forward(Format::s8, 1);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        error += std::pow(double(found[i]) - double(exact[i]), 2);
        size += std::pow(double(exact[i]), 2);
    }
    EXPECT_GT(error, 0);
    EXPECT_LT(std::sqrt(error / size), 0.03);
}

TEST_P(MlpBranches, Int8IsNear) {
    expect_int8_near([&](Format format, int threads) { return forward_only(format, threads); });
}

TEST_P(AttentionBranches, Int8IsNear) {
    expect_int8_near([&](Format format, int threads) { return forward_only(format, threads); });
}

const BranchCase kBranchCases[] = {
    {"small", 2, 5, 12, 30, 3, true, true, false, true, 1},
    {"bare", 3, 4, 10, 17, 2, false, false, false, false, kBranchThreads},
    {"dropped", 7, 9, 24, 96, 4, true, true, true, true, kBranchThreads},
    {"slices", 2, 3, 20, 401, 2, true, true, false, false, 1},
    {"six_heads", 2, 17, 18, 24, 6, true, true, false, true, kBranchThreads},
    {"eight_heads", 2, 17, 24, 24, 8, true, true, false, true, kBranchThreads},
    {"sixteen_heads", 2, 17, 32, 24, 16, true, true, false, true, kBranchThreads},
    // More rows than one chunk holds.
    {"chunks", 9, 90, 16, 48, 4, true, true, true, true, kBranchThreads},
};
INSTANTIATE_TEST_SUITE_P(Kernels, MlpBranches, testing::ValuesIn(kBranchCases),
                         [](const auto& i) { return i.param.name; });
INSTANTIATE_TEST_SUITE_P(Kernels, AttentionBranches, testing::ValuesIn(kBranchCases),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait::kernels
