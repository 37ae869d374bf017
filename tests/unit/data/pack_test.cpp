#include "data/pack.h"

#include "data/open_dataset.h"
#include "data/sources/tar_shards.h"
#include "unit/data/memory_dataset.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(Pack, ShardsHoldTheSameImagesLabelsAndClasses) {
    const TemporaryFolder folder;
    for (const char* name : {"10", "2", "cat"})
        for (int i = 0; i < 5; ++i)
            put_image(folder / "set" / name / (std::to_string(i) + ".png"),
                      std::atoi(name) * 5 + i);
    const DatasetPtr original = open_dataset("folder:" + (folder / "set").string());
    PackOptions options;
    options.shard_bytes = 6000;  // five images of three blocks each or so
    options.shuffle = false;
    const PackResult result = pack(*original, folder / "shards", options);
    EXPECT_EQ(result.images, 15U);
    EXPECT_GT(result.shards, 2U);
    const DatasetPtr packed = open_dataset("tar:" + (folder / "shards").string());
    EXPECT_EQ(packed->classes(), original->classes());
    EXPECT_EQ(labels_of(*packed), labels_of(*original));
    EXPECT_EQ(numbers_of(*packed), numbers_of(*original));
    EXPECT_EQ(packed->stretches().size(), result.shards);
    EXPECT_EQ(packed->encoded(7)->bytes, original->encoded(7)->bytes);
    EXPECT_EQ(folder.file_count(), 2);  // no temporary is left
}

TEST(Pack, IsShuffledAndReproducible) {
    const TemporaryFolder folder;
    put_class_folders(folder / "set", 2, 10);
    const DatasetPtr original = open_dataset("folder:" + (folder / "set").string());
    pack(*original, folder / "a");
    pack(*original, folder / "b");
    EXPECT_EQ(read_file(folder / "a/shard-000000.tar"), read_file(folder / "b/shard-000000.tar"));
    const DatasetPtr packed = open_dataset("tar:" + (folder / "a").string());
    std::vector<int> numbers = numbers_of(*packed);
    EXPECT_FALSE(std::ranges::is_sorted(numbers));
    std::ranges::sort(numbers);
    EXPECT_EQ(numbers, numbers_of(*original));
}

TEST(Pack, TurnsBarePixelsIntoPng) {
    const TemporaryFolder folder;
    PackOptions options;
    options.shuffle = false;
    pack(MemoryDataset(3), folder / "shards", options);
    const DatasetPtr packed = open_dataset("tar:" + (folder / "shards").string());
    EXPECT_THAT(numbers_of(*packed), ElementsAre(0, 1, 2));
    EXPECT_THAT(packed->classes(), ElementsAre("even", "odd"));
}

TEST(Pack, AppearsWholeOrNotAtAll) {
    const TemporaryFolder folder;
    EXPECT_THAT(error_of([&] { pack(MemoryDataset(9, {5}), folder / "shards"); }),
                HasSubstr("image5: truncated"));
    EXPECT_EQ(folder.file_count(), 0);
    put(folder / "full/x", "");
    EXPECT_THAT(error_of([&] { pack(MemoryDataset(3), folder / "full"); }),
                HasSubstr("expected a new or empty folder"));
    fs::create_directory(folder / "empty");
    EXPECT_EQ(pack(MemoryDataset(3), folder / "empty/").images, 3U);
    EXPECT_THAT(error_of([&] { pack(MemoryDataset(3), folder / "no/such/place"); }),
                HasSubstr("cannot create"));
}

// What a killed program has left is not taken for a part of the result.
TEST(Pack, ClearsTheFolderThatAKilledOneHasLeft) {
    const TemporaryFolder folder;
    put(folder / "shards.tmp.0/shard-000000.tar", "half of it");
    put(folder / "shards.tmp.0/shard-000009.tar", "of more images");
    put(folder / "shards.tmp.0/deeper/file", "");
    PackOptions options;
    options.shuffle = false;
    pack(MemoryDataset(3), folder / "shards", options);
    EXPECT_EQ(folder.file_count(), 1);
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "shards"))
        names.insert(entry.path().filename().string());
    EXPECT_THAT(names, UnorderedElementsAre("shard-000000.tar", kShardClassFile));
    EXPECT_THAT(numbers_of(*open_dataset("tar:" + (folder / "shards").string())),
                ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace cait::data_test
