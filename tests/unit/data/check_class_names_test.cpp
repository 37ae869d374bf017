#include "data/check_class_names.h"

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

}  // namespace
}  // namespace cait
