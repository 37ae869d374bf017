// The detector of cait/c.h: no exception leaves this file.
#include <memory>
#include <vector>

#include "cait/c.h"
#include "cait/detector.h"
#include "engine/c_guard.h"
#include "kernels/precision_names.h"

struct cait_detector {
    cait::Detector detector;
};

struct cait_detections {
    cait::Detections found;
    std::vector<cait_detection> objects;  // the same, for C
    std::vector<std::uint8_t> mask;       // the last one that was asked for
};

namespace {

template <class Source>
cait_detections* detected(const cait_detector* by, const Source& source) {
    cait::c_expect(by != nullptr, "detector");
    auto result =
        std::make_unique<cait_detections>(cait_detections{by->detector.detect(source), {}, {}});
    for (const cait::Detection& one : result->found.objects)
        result->objects.push_back(
            {one.index, one.name.c_str(), one.score, one.left, one.top, one.right, one.bottom});
    return result.release();
}

}  // namespace

cait_detector* cait_detector_load(const char* file, int threads, const char* precision,
                                  double threshold) {
    return cait::c_guarded([&]() -> cait_detector* {
        cait::SessionOptions session{.threads = threads};
        if (precision != nullptr) session.precision = cait::precision_of(precision);
        cait::DetectorOptions options;
        options.threshold = threshold;
        const cait::Model model = cait::Model::load(cait::c_path(file));
        return std::make_unique<cait_detector>(
                   cait_detector{cait::Detector(model, session, options)})
            .release();
    });
}

void cait_detector_free(cait_detector* detector) { delete detector; }

size_t cait_detector_class_count(const cait_detector* detector) {
    return detector == nullptr ? 0 : detector->detector.classes().size();
}

const char* cait_detector_class_name(const cait_detector* detector, size_t index) {
    if (index >= cait_detector_class_count(detector)) return nullptr;
    return detector->detector.classes()[index].c_str();
}

cait_detections* cait_detect_file(const cait_detector* detector, const char* file) {
    return cait::c_guarded([&] { return detected(detector, cait::c_path(file)); });
}
cait_detections* cait_detect_bytes(const cait_detector* detector, const void* encoded,
                                   size_t size) {
    return cait::c_guarded([&] { return detected(detector, cait::c_bytes(encoded, size)); });
}
cait_detections* cait_detect_pixels(const cait_detector* detector, const uint8_t* pixels,
                                    int64_t width, int64_t height, int64_t channels,
                                    int64_t row_bytes) {
    const cait::Pixels image{pixels, width, height, channels, row_bytes};
    return cait::c_guarded([&] { return detected(detector, image); });
}

void cait_detections_free(cait_detections* detections) { delete detections; }

int64_t cait_detections_width(const cait_detections* of) {
    return of == nullptr ? 0 : of->found.width;
}
int64_t cait_detections_height(const cait_detections* of) {
    return of == nullptr ? 0 : of->found.height;
}
size_t cait_detections_count(const cait_detections* of) {
    return of == nullptr ? 0 : of->objects.size();
}
const cait_detection* cait_detections_objects(const cait_detections* of) {
    return of == nullptr ? nullptr : of->objects.data();
}
const uint8_t* cait_detections_mask(cait_detections* of, size_t object) {
    return cait::c_guarded([&]() -> const uint8_t* {
        cait::c_expect(of != nullptr, "detections");
        of->mask = of->found.mask(object);
        return of->mask.data();
    });
}
