// Gives each pixel of a photograph a class, by a model that it makes, from C++ and from C.
// Usage: segmenter PHOTO MODEL
#include <cait/c.h>
#include <cait/segmenter.h>

#include <algorithm>
#include <iostream>

int main(int, char** words) {
    cait::Model made = cait::Model::create("deit_tiny_patch16_224", {{"image_size", "32"},
                                                                     {"patch", "8"},
                                                                     {"dim", "16"},
                                                                     {"depth", "2"},
                                                                     {"heads", "2"},
                                                                     {"classes", "0"}})
                           .with_head({{"head.kind", "linear_map"}, {"head.classes", "3"}});
    made.set_classes({"road", "sky", "car"});
    made.save(words[2]);

    const cait::Segmenter segmenter(cait::Model::load(words[2]));
    const cait::Segmentation found = segmenter.segment(words[1]);
    std::uint64_t pixels = 0;
    for (const std::uint64_t area : found.areas) pixels += area;
    std::cout << found.areas.size() << " classes, "
              << (pixels == found.labels.size() ? "every pixel" : "some pixels") << "\n";

    cait_segmenter* by_c = cait_segmenter_load(words[2], 1, "fp32");
    cait_segmentation* labels = cait_segment_file(by_c, words[1]);
    std::size_t size = 0;
    const void* png = cait_segmentation_png(labels, &size);
    const bool same =
        labels != nullptr && cait_segmentation_width(labels) == found.width &&
        std::equal(found.labels.begin(), found.labels.end(), cait_segmentation_labels(labels));
    std::cout << cait_segmenter_class_name(by_c, 1) << ", " << (same ? "the same" : "other labels")
              << ", " << (png != nullptr && size > 0 ? "a PNG" : "no PNG") << "\n";
    cait_segmenter_free(by_c);
    cait_segmentation_free(labels);
    std::cout << (cait_segmenter_load("missing", 1, nullptr) == nullptr ? cait_last_error() : "?")
              << "\n";
}
