#include "data/data_source.h"

#include <set>

#include "data/open_dataset.h"
#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::HasSubstr;

TEST(DataSources, EachHasItsOwnSchemeAndTellsHowItIsNamed) {
    std::set<std::string> schemes;
    bool layouts = true;
    std::string before;
    for (const DataSource& row : data_sources()) {
        EXPECT_TRUE(schemes.insert(row.scheme).second) << row.scheme;
        EXPECT_TRUE(row.form.starts_with(row.scheme + ":")) << row.form;
        EXPECT_GT(row.help.size(), 5U) << row.scheme;
        EXPECT_NE(row.open, nullptr) << row.scheme;
        for (const std::string& option : row.options)
            EXPECT_TRUE(row.form.find("?" + option + "=") != std::string::npos ||
                        row.form.find("&" + option + "=") != std::string::npos)
                << row.form << " without " << option;
        EXPECT_EQ(row.form.find("trainval") != std::string::npos, row.has_trainval) << row.scheme;
        if (layouts && !row.is_layout) before.clear();
        EXPECT_TRUE(layouts || !row.is_layout) << row.scheme << ": layouts come first";
        EXPECT_LT(before, row.scheme);
        layouts = row.is_layout;
        before = row.scheme;
    }
}

// A file that is not listed would be dropped by the linker without a word.
TEST(DataSources, EveryFileHasRows) {
    std::size_t files = 0;
    const fs::path folder = test::source_path(__FILE__).parent_path() / "../../../src/data/sources";
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        files += entry.path().extension() == ".cpp" ? 1 : 0;
    EXPECT_GE(files, 13U);
    EXPECT_GE(data_sources().size(), files);
}

TEST(DataSources, EachNamesWhatItLookedFor) {
    for (const DataSource& row : data_sources()) {
        EXPECT_THAT(error_of([&] { open_dataset(row.scheme + ":/nowhere/at/all"); }),
                    HasSubstr("/nowhere/at/all"))
            << row.scheme;
        if (row.needs_path) {
            EXPECT_THAT(error_of([&] { open_dataset(row.scheme + ":"); }),
                        HasSubstr("expected " + row.form));
        }
    }
}

}  // namespace
}  // namespace cait::data_test
