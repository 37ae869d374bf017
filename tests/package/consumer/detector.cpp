// Finds things in a photograph, by a model that it makes, from C++ and from C.
// Usage: detector PHOTO MODEL
#include <cait/c.h>
#include <cait/detector.h>

#include <iostream>

namespace {

// Fresh weights answer nothing in particular: louder ones find something.
cait::Model found_by_chance() {
    const cait::Model fresh = cait::Model::create("resnet50", {{"image_size", "64"},
                                                               {"width", "4"},
                                                               {"blocks", "1,1,1,1"},
                                                               {"classes", "0"},
                                                               {"head.kind", "mask_rcnn"},
                                                               {"head.width", "16"},
                                                               {"head.hidden", "32"},
                                                               {"head.classes", "3"}});
    auto weights = fresh.weights();
    for (const char* layer : {"fc_cls", "fc_reg"}) {
        cait::Tensor& tensor = weights.at("roi_head.bbox_head." + std::string(layer) + ".weight");
        cait::Tensor louder = cait::Tensor::empty(cait::DType::f32, tensor.shape());
        for (std::size_t i = 0; i < tensor.floats().size(); ++i)
            louder.mutable_floats()[i] = 100 * tensor.floats()[i];
        tensor = louder;
    }
    cait::Model model = fresh.with_weights(weights);
    model.set_classes({"circle", "square", "star"});
    return model;
}

bool same(const cait::Detections& first, const cait_detections* second) {
    if (second == nullptr || first.objects.size() != cait_detections_count(second)) return false;
    if (first.width != cait_detections_width(second)) return false;
    for (std::size_t i = 0; i < first.objects.size(); ++i) {
        const cait_detection& other = cait_detections_objects(second)[i];
        const cait::Detection& one = first.objects[i];
        if (one.name != other.name || one.score != other.score || one.left != other.left ||
            one.bottom != other.bottom)
            return false;
    }
    return true;
}

}  // namespace

int main(int, char** words) {
    found_by_chance().save(words[2]);
    const cait::Detector detector(cait::Model::load(words[2]), {}, {.threshold = 0.3});
    const cait::Detections found = detector.detect(words[1]);
    std::cout << detector.classes().size() << " classes, "
              << (found.objects.empty() ? "nothing" : "objects") << "\n";

    cait_detector* by_c = cait_detector_load(words[2], 1, "fp32", 0.3);
    cait_detections* objects = cait_detect_file(by_c, words[1]);
    const bool has_mask = cait_detections_mask(objects, 0) != nullptr;
    std::cout << cait_detector_class_name(by_c, 1) << ", "
              << (same(found, objects) ? "the same" : "other objects") << ", "
              << (has_mask ? "a mask" : "no mask") << "\n";
    cait_detector_free(by_c);
    cait_detections_free(objects);
    std::cout << (cait_detector_load("missing", 1, nullptr, 0.5) == nullptr ? cait_last_error()
                                                                            : "?")
              << "\n";
}
