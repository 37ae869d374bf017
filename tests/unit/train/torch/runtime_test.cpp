#include "train/torch/runtime.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <omp.h>

namespace cait {
namespace {

TEST(Runtime, LibTorchAndOurKernelsHaveTheSameThreads) {
    const int before = at::get_num_threads();
    set_threads(3);
    EXPECT_EQ(at::get_num_threads(), 3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    set_threads(0);  // one at least
    EXPECT_EQ(at::get_num_threads(), 1);
    EXPECT_EQ(omp_get_max_threads(), 1);
    set_threads(before);
}

}  // namespace
}  // namespace cait
