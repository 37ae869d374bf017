#include "data/dataset_uri.h"

#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::HasSubstr;

TEST(DatasetUri, TakesTheTextApart) {
    const DatasetUri uri = parse_dataset_uri("cifar100:/d:ata?labels=coarse&split=test");
    EXPECT_EQ(uri.scheme, "cifar100");
    EXPECT_EQ(uri.path, "/d:ata");
    EXPECT_EQ(uri.option("labels"), "coarse");
    EXPECT_EQ(uri.option("other"), std::nullopt);
    EXPECT_EQ(uri.split(Split::train), Split::test);
    EXPECT_EQ(parse_dataset_uri("fashion-mnist:").path, "");
    EXPECT_EQ(parse_dataset_uri("folder:what?").path, "what?");
    EXPECT_EQ(parse_dataset_uri("folder:x").split(Split::val), Split::val);
    EXPECT_EQ(parse_dataset_uri("folder:a?b?split=val").path, "a?b");
}

TEST(DatasetUri, SaysWhatIsWrong) {
    const auto message = [](const char* text) {
        const Failure failure = failure_of([&] { open_dataset(text); });
        EXPECT_EQ(failure.kind, ErrorKind::usage) << failure.message;
        return failure.message;
    };
    EXPECT_THAT(message("/some/path"), HasSubstr("expected scheme:PATH, for example folder:/some"));
    EXPECT_THAT(message(""), HasSubstr("folder:PATH"));
    EXPECT_THAT(message("foler:x"), HasSubstr("unknown scheme; did you mean 'folder'? There are "));
    EXPECT_THAT(message("foler:x"), HasSubstr("imagenet-v2, inaturalist"));
    EXPECT_THAT(message("folder:"), HasSubstr("expected folder:PATH"));
    EXPECT_THAT(message("cifar100:x?label=fine"), HasSubstr("did you mean 'labels'?"));
    EXPECT_THAT(message("cifar100:x?labels=fien"), HasSubstr("expected fine or coarse"));
    EXPECT_THAT(message("folder:x?split=dev"), HasSubstr("split: expected train, val or test"));
    EXPECT_THAT(message("folder:x?split=val&split=val"), HasSubstr("given twice"));
    EXPECT_THAT(message("folder:x?=1"), HasSubstr("expected option=value"));
}

}  // namespace
}  // namespace cait::data_test
