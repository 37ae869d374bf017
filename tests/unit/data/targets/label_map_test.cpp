// Label maps beside images whose pixels tell where they were: both have to show the same part.
#include "data/targets/label_map.h"

#include <cmath>

#include "data/augment/train_transform.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "data/random.h"
#include "unit/data/support.h"
#include "weights/npy.h"

namespace cait::data_test {
namespace {

constexpr ImageSize kGrid{.height = 5, .width = 7};
constexpr LabelMapSize kMapSize{.count = 1, .height = 3, .width = 4};

// Red and green tell where a pixel was, in shares of the image.
Image coordinates(std::int64_t width, std::int64_t height) {
    Image image = Image::blank(width, height, 3);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            image.row(y)[3 * x] = std::uint8_t(255 * (double(x) + 0.5) / double(width));
            image.row(y)[3 * x + 1] = std::uint8_t(255 * (double(y) + 0.5) / double(height));
        }
    return image;
}

class LabelMapTarget : public ::testing::Test {
protected:
    LabelMapTarget() {
        for (const auto& [name, width, height] :
             {std::tuple{"a/0", 250, 190}, {"a/1", 120, 300}, {"b/2", 90, 90}}) {
            const fs::path image = folder_ / "images" / name, map = folder_ / "maps" / name;
            fs::create_directories(image.parent_path());
            fs::create_directories(map.parent_path());
            write_image(image.string() + ".png", coordinates(width, height));
            write_npy(map.string() + ".npy", Tensor::of({2, 1, 3, 4}, map_of(name[2] - '0')));
        }
        images_ = open_dataset("folder:" + (folder_ / "images").string(), Split::train);
    }

    // Logits that tell the image and the place, then class 1 everywhere.
    static std::vector<float> map_of(int image) {
        std::vector<float> map(24, 1);
        for (std::size_t i = 0; i < 12; ++i) map[i] = float(100 * image) + float(i);
        return map;
    }

    std::unique_ptr<Loader> loader(const TrainSettings& settings) const {
        LoaderOptions options;
        options.height = settings.height;
        options.width = settings.width;
        options.epochs = 8;
        options.targets.push_back(
            label_map_target(std::make_shared<LabelMaps>(folder_ / "maps", images_), kGrid));
        return std::make_unique<Loader>(
            images_, Sampler({.size = 3, .batch = 2, .tail = Tail::keep, .stretches = {}}),
            FloatTransform(
                [transform = TrainTransform(settings), workspace = TrainWorkspace()](
                    const Image& image, const SampleKey& key, std::span<float> out) mutable {
                    return transform.apply(image, key, workspace, out);
                }),
            options);
    }

    TemporaryFolder folder_;
    DatasetPtr images_;
};

TEST_F(LabelMapTarget, ShowsThePartThatTheImageShows) {
    const auto floats = std::size_t(label_map_floats(kMapSize, kGrid.height * kGrid.width));
    for (const CropKind kind : {CropKind::random_resized, CropKind::simple, CropKind::padded,
                                CropKind::squash, CropKind::evaluation})
        for (const double flip : {0.0, 0.5, 1.0}) {
            TrainSettings settings;
            settings.crop = kind;
            settings.flip = flip;
            settings.height = 60;
            settings.width = 84;
            settings.mean.fill(0);
            settings.std.fill(1);
            std::size_t images = 0, mirrored = 0;
            const auto run = loader(settings);
            while (const Batch* batch = run->next())
                for (std::size_t i = 0; i < batch->size; ++i, ++images) {
                    const LabelMapRow row = label_map_row(
                        batch->targets.at(kLabelMaps).floats().subspan(i * floats, floats),
                        kMapSize);
                    EXPECT_THAT(row.map,
                                ::testing::ElementsAreArray(map_of(int(batch->keys[i].sample))));
                    mirrored += row.mirrored ? 1 : 0;
                    const std::span<const float> pixels =
                        batch->images().floats().subspan(i * 3 * 60 * 84, 3 * 60 * 84);
                    for (std::int64_t n = 0; n < 35; ++n) {
                        EXPECT_EQ(row.sources[std::size_t(n)], float(n));  // nothing was turned
                        const std::int64_t y = (n / 7) * 12 + 6, x = (n % 7) * 12 + 6;
                        const double across = (double(x) + 0.5) / 84, down = (double(y) + 0.5) / 60;
                        const double share = row.mirrored ? 1 - across : across;
                        const auto at = std::size_t(y * 84 + x);
                        EXPECT_NEAR(pixels[at],
                                    row.part.left + share * (row.part.right - row.part.left), 0.015)
                            << crop_kind_name(kind) << " x of " << n;
                        EXPECT_NEAR(pixels[60 * 84 + at],
                                    row.part.top + down * (row.part.bottom - row.part.top), 0.015)
                            << crop_kind_name(kind) << " y of " << n;
                    }
                }
            EXPECT_EQ(images, 24U);
            if (flip == 0.5) {
                EXPECT_GT(mirrored, 3U);
                EXPECT_LT(mirrored, 21U);
            } else {
                EXPECT_EQ(mirrored, flip == 1 ? 24U : 0U);
            }
        }
}

// A rotation of the image turns its places, too: what is in the picture's corner tells where from.
TEST_F(LabelMapTarget, PlacesFollowARotation) {
    const auto floats = std::size_t(label_map_floats(kMapSize, kGrid.height * kGrid.width));
    TrainSettings settings;
    settings.crop = CropKind::squash;
    settings.flip = 0;
    settings.height = 60;
    settings.width = 84;
    settings.policy = parse_policy("rand-m9-mstd0.5-inc1");
    settings.mean.fill(0);
    settings.std.fill(1);
    const auto run = loader(settings);
    std::size_t moved = 0, outside = 0;
    while (const Batch* batch = run->next())
        for (std::size_t i = 0; i < batch->size; ++i) {
            RandomStream random = batch->keys[i].stream(std::uint64_t(AugmentStream::policy));
            const OperationList list = draw(settings.policy, random);
            if (std::ranges::none_of(list, &is_geometric, &OperationCall::operation)) continue;
            const LabelMapRow row = label_map_row(
                batch->targets.at(kLabelMaps).floats().subspan(i * floats, floats), kMapSize);
            for (std::size_t n = 0; n < 35; ++n) {
                if (row.sources[n] < 0) ++outside;
                if (row.sources[n] >= 0 && row.sources[n] != float(n)) ++moved;
                EXPECT_LT(row.sources[n], 35);
            }
        }
    EXPECT_GT(moved, 20U);
    EXPECT_GT(outside, 5U);
}

}  // namespace
}  // namespace cait::data_test
