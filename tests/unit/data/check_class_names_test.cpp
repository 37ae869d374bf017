#include "data/class_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

TEST(CheckClassNames, RefusesWhatIsNotUtf8) {
    EXPECT_NO_THROW(check_class_names({"cat", "grün", "日本"}, "folder:x"));
    try {
        check_class_names({"cat", "gr\xfcn"}, "folder:x");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(),
                    testing::HasSubstr("folder:x: class 'gr\\xfcn': expected a name"));
    }
}

TEST(CheckClassNames, CutsWhatIsLongerThanAHundredBytes) {
    const auto message = [](std::size_t bytes) -> std::string {
        try {
            check_class_names({std::string(bytes - 1, 'a') + '\xff'}, "folder:x");
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(message(100), testing::HasSubstr("a\\xff':"));
    EXPECT_THAT(message(101), testing::HasSubstr("a...':"));
}

}  // namespace
}  // namespace cait
