// CAIT_ISA reaches the program with LibTorch in it. Built only with LibTorch.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "e2e/tiny_models.h"
#include "support/near.h"
#include "weights/npy.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class IsaForward : public InFolder {
protected:
    Finished forward(const char* cap, const Words& more = {}) {
        ::setenv("CAIT_ISA", cap, 1);
        const Finished run = cait(Words{"forward", "--weights", data("tiny_cait_zip.pth"),
                                        "--input", data("images.npy"), "--output", path("y.npy")} +
                                  kTinyCait + more);
        ::unsetenv("CAIT_ISA");
        return run;
    }
};

TEST_F(IsaForward, LowerSetsGiveTheSameLogits) {
    for (const char* cap : {"portable", "avx2"}) {
        const Finished run = forward(cap);
        ASSERT_EQ(run.status, 0) << run.err;
        test::expect_close(read_npy(path("y.npy")), read_npy(data("tiny_cait_logits.npy")), 1e-5,
                           cap);
        ASSERT_EQ(forward(cap, {"--precision", "bf16"}).status, 0);
        test::expect_close(read_npy(path("y.npy")), read_npy(data("tiny_cait_logits.npy")), 0.05,
                           cap);
        ASSERT_EQ(forward(cap, {"--precision", "int8"}).status, 0);
        test::expect_close(read_npy(path("y.npy")), read_npy(data("tiny_cait_logits.npy")), 0.1,
                           cap);
    }
}

// Sets that only multiply bytes otherwise: sums of whole numbers are the same by any instruction.
// Where the processor lacks one, the set before it is used twice.
TEST_F(IsaForward, ProductsOfBytesHaveTheSameBitsByAnyInstruction) {
    for (const auto& [plain, dot] :
         {std::pair("avx2", "avx_vnni"), std::pair("avx512", "avx512_vnni")}) {
        ASSERT_EQ(forward(plain, {"--precision", "int8"}).status, 0);
        const Tensor expected = read_npy(path("y.npy"));
        const Finished run = forward(dot, {"--precision", "int8"});
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_TRUE(std::ranges::equal(read_npy(path("y.npy")).floats(), expected.floats())) << dot;
    }
}

TEST_F(IsaForward, AskingForMoreThanThereIsIsSaidAtMostOnce) {
    const Finished run = forward("amx");
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_LE(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_TRUE(run.err.empty() || run.err.find("CAIT_ISA=amx") != std::string::npos) << run.err;
}

TEST_F(IsaForward, NonsenseIsRefused) {
    expect_refused(forward("avx3"), 2, {"CAIT_ISA", "'avx3'", "avx512_bf16"});
}

}  // namespace
}  // namespace cait::e2e
