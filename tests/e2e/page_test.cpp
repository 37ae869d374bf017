// The page of `cait serve` in a real browser, by page_checks.py: where Chromium and Playwright are
// installed.
#include <fmt/format.h>

#include <cstdlib>

#include "e2e/served.h"
#include "support/source_path.h"
#include "support/tiny_detector.h"
#include "support/tiny_translator.h"

namespace cait::e2e {
namespace {

class Page : public InFolder {
protected:
    // Small models whose sliders have something to choose from.
    void save(const std::string& name, const std::string& preset, SettingList settings) {
        settings.insert(settings.end(), {{"image_size", "32"},
                                         {"patch", "8"},
                                         {"dim", "32"},
                                         {"heads", "2"},
                                         {"classes", "6"}});
        Model::create(preset, settings).save(path(name));
    }
};

TEST_F(Page, WorksInABrowser) {
    save("a.safetensors", "cait_xxs24_224", {{"depth", "2"}, {"class_layers", "2"}});
    save("b.safetensors", "cait_xxs36_224", {{"depth", "1"}, {"class_layers", "3"}});
    Model segmenter = Model::create("deit_tiny_patch16_224",
                                    {{"image_size", "32"},
                                     {"patch", "8"},
                                     {"dim", "16"},
                                     {"depth", "2"},
                                     {"heads", "2"},
                                     {"classes", "0"}},
                                    3)
                          .with_head({{"head.kind", "linear_map"}, {"head.classes", "3"}}, 5);
    segmenter.set_classes({"road", "sky", "car"});
    segmenter.save(path("c.safetensors"));
    test::tiny_detector().save(path("d.safetensors"));
    test::tiny_translator().save(path("t.safetensors"));
    for (int i = 0; i < 4; ++i)
        data_test::put(folder_ / "photos" / (std::to_string(i) + ".png"),
                       data_test::png(data_test::numbered_image(60 * i, 90, 60)));
    ASSERT_EQ(cait({"embed", "--weights", path("a.safetensors"), path("photos"), "--output",
                    path("x.safetensors")})
                  .status,
              0);
    std::filesystem::remove(path("photos/3.png"));  // which the index still names
    const char* python = std::getenv("CAIT_PEERS_PYTHON");
    const std::string checks =
        (test::source_path(__FILE__).parent_path() / "page_checks.py").string();
    // by_shell() hands the program over as the first word.
    const Finished run = by_shell(
        fmt::format("'{}' -B '{}' \"$@\" 2>&1", python ? python : "python3", checks),
        {path("a.safetensors"), path("b.safetensors"), "--segmenter", path("c.safetensors"),
         "--detector", path("d.safetensors"), "--translator", path("t.safetensors"), "--vectors",
         path("x.safetensors"), "--pictures", path("photos")});
    if (run.status == 77) GTEST_SKIP() << run.out;
    EXPECT_EQ(run.status, 0) << run.out;
}

}  // namespace
}  // namespace cait::e2e
