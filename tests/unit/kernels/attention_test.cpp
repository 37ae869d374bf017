// Attention in all its kinds against the plain formulas, and its gradients along random directions.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include "kernels/train/attention_backward.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;
using test::widen;

struct AttentionCase {
    std::string name;
    Index queries, keys, heads, head_dim;
    bool before, after;
};

class AttentionKernels : public testing::TestWithParam<AttentionCase> {
protected:
    AttentionKernels() {
        if (c_.before) {
            shape_.before_weight = weight_[0].data();
            shape_.before_bias = bias_[0].data();
            before_ = {widen(weight_[0]), widen(bias_[0])};
        }
        if (c_.after) {
            shape_.after_weight = weight_[1].data();
            shape_.after_bias = bias_[1].data();
            after_ = {widen(weight_[1]), widen(bias_[1])};
        }
    }

    Doubles reference() const {
        return test::attention(wide_[0], wide_[1], wide_[2], std::size_t(c_.heads),
                               std::size_t(dim_), double(0.3F), before_, after_);
    }

    AttentionCase c_ = GetParam();
    Index dim_ = c_.heads * c_.head_dim, ld_ = dim_ + 3;  // rows that lie apart
    AttentionShape shape_{.queries = c_.queries,
                          .keys = c_.keys,
                          .heads = c_.heads,
                          .head_dim = c_.head_dim,
                          .scale = 0.3F};
    Floats weight_[2] = {random_floats(c_.heads * c_.heads, 11),
                         random_floats(c_.heads* c_.heads, 12)};
    Floats bias_[2] = {random_floats(c_.heads, 13), random_floats(c_.heads, 14)};
    test::Mix before_, after_;
    Floats dense_[3] = {random_floats(c_.queries * dim_, 1), random_floats(c_.keys* dim_, 2),
                        random_floats(c_.keys* dim_, 3)};
    Doubles wide_[3] = {widen(dense_[0]), widen(dense_[1]), widen(dense_[2])};

    // q, k or v with a gap behind each row.
    Floats apart(int which) const {
        Floats rows;
        for (std::size_t i = 0; i < dense_[which].size(); i += std::size_t(dim_)) {
            rows.insert(rows.end(), dense_[which].begin() + std::ptrdiff_t(i),
                        dense_[which].begin() + std::ptrdiff_t(i) + dim_);
            rows.insert(rows.end(), 3, 1e30F);
        }
        return rows;
    }
};

TEST_P(AttentionKernels, ForwardAndBackward) {
    const Floats q = apart(0), k = apart(1), v = apart(2);
    const Floats d_output = random_floats(c_.queries * dim_, 4);
    const Buffer workspace(
        std::max(attention_workspace(shape_), attention_backward_workspace(shape_)));
    Floats output(std::size_t(c_.queries * dim_)), dq(output.size()), dk(dense_[1].size()),
        dv(dense_[1].size());
    attention_forward(shape_, rows_of(q.data(), ld_), rows_of(k.data(), ld_),
                      rows_of(v.data(), ld_), rows_of(output.data(), dim_), workspace.data());
    const Doubles expected = reference();
    const double tolerance = 5e-6 * (test::largest(expected) + 10);
    for (std::size_t i = 0; i < output.size(); ++i)
        ASSERT_NEAR(output[i], expected[i], tolerance) << "element " << i;

    const auto square = std::size_t(c_.heads * c_.heads), heads = std::size_t(c_.heads);
    Floats d_weight[2] = {Floats(square), Floats(square)},
           d_bias[2] = {Floats(heads), Floats(heads)};
    attention_backward(
        shape_, rows_of(q.data(), ld_), rows_of(k.data(), ld_), rows_of(v.data(), ld_),
        rows_of(d_output.data(), dim_),
        {rows_of(dq.data(), dim_), rows_of(dk.data(), dim_), rows_of(dv.data(), dim_)},
        {d_weight[0].data(), d_bias[0].data(), d_weight[1].data(), d_bias[1].data()},
        workspace.data());
    const auto loss = [&] { return test::dot(reference(), widen(d_output)); };
    const auto check = [&](Doubles& at, const Floats& gradient, const char* what) {
        const test::Slopes s = test::slopes(at, gradient, loss, 9);
        EXPECT_NEAR(s.by_gradient, s.by_difference, 1e-5 * (s.size + 10)) << what;
    };
    check(wide_[0], dq, "q");
    check(wide_[1], dk, "k");
    check(wide_[2], dv, "v");
    if (c_.before) check(before_.weight, d_weight[0], "weight before");
    if (c_.before) check(before_.bias, d_bias[0], "bias before");
    if (c_.after) check(after_.weight, d_weight[1], "weight after");
    if (c_.after) check(after_.bias, d_bias[1], "bias after");
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, AttentionKernels,
    testing::Values(AttentionCase{"plain", 9, 9, 3, 5, false, false},
                    AttentionCase{"talking", 16, 16, 4, 12, true, true},
                    // As many as CaiT XXS, XS, S and M have, and one more.
                    AttentionCase{"talking_4", 11, 19, 4, 3, true, true},
                    AttentionCase{"talking_6", 11, 19, 6, 3, true, true},
                    AttentionCase{"talking_8", 11, 19, 8, 3, true, true},
                    AttentionCase{"talking_8_before", 11, 19, 8, 3, true, false},
                    AttentionCase{"talking_8_after", 11, 19, 8, 3, false, true},
                    AttentionCase{"talking_9", 11, 19, 9, 3, true, true},
                    AttentionCase{"talking_16", 11, 19, 16, 3, true, true},
                    AttentionCase{"before", 7, 7, 2, 4, true, false},
                    AttentionCase{"after", 7, 7, 2, 4, false, true},
                    AttentionCase{"one_query", 1, 23, 3, 7, false, false},
                    // More queries than one block of maps holds.
                    AttentionCase{"blocks", 40, 2100, 4, 3, true, true}),
    [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait::kernels
