// Commands that take any number of photographs in constant memory.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "e2e/command.h"
#include "unit/data/support.h"

namespace cait::e2e {

// The same photograph many times over: memory that grew with their number would show. `words` make
// a command out of a list of photographs.
inline void expect_memory_stays(
    const std::filesystem::path& folder, int few, int many,
    const std::function<std::vector<std::string>(const std::string& list)>& words) {
    const std::filesystem::path photograph = folder / "large.png", list = folder / "list.txt";
    data_test::put(photograph, data_test::png(data_test::numbered_image(7, 320, 240)));
    const auto peak = [&](int count) {
        std::string names;
        for (int i = 0; i < count; ++i) names += photograph.string() + "\n";
        data_test::put(list, names);
        const Finished run = cait(words(list.string()));
        EXPECT_EQ(run.status, 0) << run.err;
        return run.peak_kilobytes;
    };
    const long before = peak(few);
    EXPECT_LT(peak(many) - before, 5 * 1024);
}

}  // namespace cait::e2e
