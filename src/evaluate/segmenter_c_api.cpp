// The segmenter of cait/c.h: no exception leaves this file.
#include <fmt/format.h>

#include <algorithm>

#include "cait/c.h"
#include "cait/error.h"
#include "cait/segmenter.h"
#include "engine/c_guard.h"
#include "kernels/precision_names.h"

struct cait_segmenter {
    cait::Segmenter segmenter;
};

struct cait_segmentation {
    cait::Segmenter segmenter;  // for its colours
    cait::Segmentation segmentation;
    mutable std::vector<std::byte> png;  // made when it is asked for
};

namespace {

template <class Source>
cait_segmentation* segmented(const cait_segmenter* by, const Source& source) {
    cait::c_expect(by != nullptr, "segmenter");
    return std::make_unique<cait_segmentation>(
               cait_segmentation{by->segmenter, by->segmenter.segment(source), {}})
        .release();
}

}  // namespace

cait_segmenter* cait_segmenter_load(const char* file, int threads, const char* precision) {
    return cait::c_guarded([&]() -> cait_segmenter* {
        cait::SessionOptions options{.threads = threads};
        if (precision != nullptr) options.precision = cait::precision_of(precision);
        const cait::Model model = cait::Model::load(cait::c_path(file));
        return std::make_unique<cait_segmenter>(cait_segmenter{cait::Segmenter(model, options)})
            .release();
    });
}

void cait_segmenter_free(cait_segmenter* segmenter) { delete segmenter; }

size_t cait_segmenter_class_count(const cait_segmenter* segmenter) {
    return segmenter == nullptr ? 0 : segmenter->segmenter.classes().size();
}

const char* cait_segmenter_class_name(const cait_segmenter* segmenter, size_t index) {
    if (index >= cait_segmenter_class_count(segmenter)) return nullptr;
    return segmenter->segmenter.classes()[index].c_str();
}

cait_segmentation* cait_segment_file(const cait_segmenter* segmenter, const char* file) {
    return cait::c_guarded([&] { return segmented(segmenter, cait::c_path(file)); });
}
cait_segmentation* cait_segment_bytes(const cait_segmenter* segmenter, const void* encoded,
                                      size_t size) {
    return cait::c_guarded([&] { return segmented(segmenter, cait::c_bytes(encoded, size)); });
}
cait_segmentation* cait_segment_pixels(const cait_segmenter* segmenter, const uint8_t* pixels,
                                       int64_t width, int64_t height, int64_t channels,
                                       int64_t row_bytes) {
    const cait::Pixels image{pixels, width, height, channels, row_bytes};
    return cait::c_guarded([&] { return segmented(segmenter, image); });
}

void cait_segmentation_free(cait_segmentation* segmentation) { delete segmentation; }

int64_t cait_segmentation_width(const cait_segmentation* of) {
    return of == nullptr ? 0 : of->segmentation.width;
}
int64_t cait_segmentation_height(const cait_segmentation* of) {
    return of == nullptr ? 0 : of->segmentation.height;
}
const uint8_t* cait_segmentation_labels(const cait_segmentation* of) {
    return of == nullptr ? nullptr : of->segmentation.labels.data();
}
uint64_t cait_segmentation_area(const cait_segmentation* of, size_t index) {
    return of == nullptr || index >= of->segmentation.areas.size() ? 0
                                                                   : of->segmentation.areas[index];
}
const void* cait_segmentation_png(const cait_segmentation* of, size_t* size) {
    return cait::c_guarded([&]() -> const void* {
        cait::c_expect(of != nullptr, "segmentation");
        cait::c_expect(size != nullptr, "size");
        if (of->png.empty()) of->png = of->segmenter.encode(of->segmentation);
        *size = of->png.size();
        return of->png.data();
    });
}
