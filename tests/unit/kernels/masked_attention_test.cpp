// Attention of texts, packed and by rows, against the plain formula, and the gradients of the
// former.
#include <gtest/gtest.h>

#include "kernels/row_attention.h"
#include "kernels/train/attention_backward.h"
#include "support/all_formats.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;
using test::widen;

struct MaskedCase {
    std::string name;
    Index queries, keys;
    test::Seen seen;
};

class MaskedKernels : public testing::TestWithParam<MaskedCase> {
protected:
    static constexpr Index kHeads = 3, kHeadDim = 5, kDim = kHeads * kHeadDim;

    MaskedKernels() {
        if (!c_.seen.mask.empty()) shape_.key_mask = c_.seen.mask.data();
    }

    Doubles expected() const {
        return test::attention(q_, k_, v_, std::size_t(kHeads), std::size_t(kDim), double(0.3F), {},
                               {}, c_.seen);
    }
    Floats packed(Format format) const {
        AttentionShape shape = shape_;
        shape.format = format;
        const Buffer workspace(attention_workspace(shape));
        Floats output(narrow_[0].size());
        attention_forward(shape, rows(0), rows(1), rows(2), rows_of(output.data(), kDim),
                          workspace.data());
        return output;
    }
    Rows rows(std::size_t which) const { return rows_of(narrow_[which].data(), kDim); }

    MaskedCase c_ = GetParam();
    AttentionShape shape_{.queries = c_.queries,
                          .keys = c_.keys,
                          .heads = kHeads,
                          .head_dim = kHeadDim,
                          .scale = 0.3F,
                          .causal = c_.seen.causal,
                          .first_query = Index(c_.seen.first)};
    Floats narrow_[3] = {random_floats(c_.queries * kDim, 1), random_floats(c_.keys* kDim, 2),
                         random_floats(c_.keys* kDim, 3)};
    Doubles q_ = widen(narrow_[0]), k_ = widen(narrow_[1]), v_ = widen(narrow_[2]);
};

TEST_P(MaskedKernels, EqualThePlainFormula) {
    const Doubles wanted = expected();
    Floats by_rows(wanted.size());
    for (Index head = 0; head < kHeads; ++head) {
        Floats scores(std::size_t(c_.queries * c_.keys));
        row_attention(shape_, head, rows(0), rows(1), rows(2), rows_of(by_rows.data(), kDim),
                      scores.data());
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(by_rows[i], wanted[i], 1e-5) << i;
    for (const Format format : test::float_formats()) {
        const Floats found = packed(format);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            ASSERT_NEAR(found[i], wanted[i], format == Format::f32 ? 1e-5 : 0.05) << i;
    }
}

// What padding holds does not count.
TEST_P(MaskedKernels, DoNotDependOnHiddenKeys) {
    if (c_.seen.mask.empty()) return;
    for (Index query = 0; query < c_.queries; ++query) {
        bool any = false;
        for (Index key = 0; key < c_.keys; ++key)
            any = any || c_.seen.sees(std::size_t(query), std::size_t(key));
        if (!any) return;
    }
    const Floats before = packed(Format::f32);
    for (Index key = 0; key < c_.keys; ++key)
        if (c_.seen.mask[std::size_t(key)] == 0)
            for (Index i = 0; i < kDim; ++i)
                narrow_[1][std::size_t(key * kDim + i)] = narrow_[2][std::size_t(key * kDim + i)] =
                    1e3F;
    EXPECT_EQ(packed(Format::f32), before);
}

TEST_P(MaskedKernels, HaveTheGradientsOfTheFormula) {
    const Floats d_output = random_floats(c_.queries * kDim, 4);
    Floats dq(narrow_[0].size()), dk(narrow_[1].size()), dv(narrow_[2].size());
    const Buffer workspace(attention_backward_workspace(shape_));
    attention_backward(
        shape_, rows(0), rows(1), rows(2), rows_of(d_output.data(), kDim),
        {rows_of(dq.data(), kDim), rows_of(dk.data(), kDim), rows_of(dv.data(), kDim)}, {},
        workspace.data());
    const auto loss = [&] { return test::dot(expected(), widen(d_output)); };
    const auto check = [&](Doubles& at, const Floats& gradient, const char* what) {
        const test::Slopes s = test::slopes(at, gradient, loss, 9);
        EXPECT_NEAR(s.by_gradient, s.by_difference, 1e-5 * (s.size + 10)) << what;
    };
    check(v_, dv, "v");
    check(q_, dq, "q");
    check(k_, dk, "k");
}

Floats ones_but(Index keys, std::initializer_list<Index> hidden) {
    Floats mask(std::size_t(keys), 1.0F);
    for (const Index key : hidden) mask[std::size_t(key)] = 0;
    return mask;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, MaskedKernels,
    testing::Values(MaskedCase{"causal", 21, 21, {{}, true, 0}},
                    MaskedCase{"causal_from_the_middle", 4, 21, {{}, true, 9}},
                    MaskedCase{"padded", 7, 19, {ones_but(19, {16, 17, 18}), false, 0}},
                    MaskedCase{"gaps", 5, 19, {ones_but(19, {0, 7, 18}), false, 0}},
                    MaskedCase{"padded_causal", 19, 19, {ones_but(19, {17, 18}), true, 0}},
                    MaskedCase{"gaps_causal", 19, 19, {ones_but(19, {3, 4, 18}), true, 0}},
                    // More queries than one block of maps holds.
                    MaskedCase{"blocks", 40, 8000, {ones_but(8000, {5, 7999}), true, 7900}}),
    [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait::kernels
