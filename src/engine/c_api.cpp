// cait/c.h: no exception leaves this file.
#include <fmt/format.h>

#include <algorithm>

#include "cait/c.h"
#include "cait/classifier.h"
#include "cait/error.h"
#include "engine/c_guard.h"
#include "graph/graph.h"
#include "kernels/precision_names.h"
#include "models/catalogue.h"

struct cait_classifier {
    cait::Classifier classifier;
    std::vector<std::string> names;  // one for each class
    std::size_t features = 0;
};

std::string& cait::c_last_error() {
    thread_local std::string text;
    return text;
}

void cait::c_expect(bool given, const char* what) {
    if (!given) throw UsageError(fmt::format("{}: expected a pointer, found null", what));
}

std::span<const std::byte> cait::c_bytes(const void* data, std::size_t size) {
    c_expect(data != nullptr, "encoded");
    return {static_cast<const std::byte*>(data), size};
}

std::filesystem::path cait::c_path(const char* file) {
    c_expect(file != nullptr, "file");
    return file;
}

namespace {

using cait::c_bytes, cait::c_expect, cait::c_guarded, cait::c_path;

template <class Source>
std::size_t classify(const cait_classifier* of, const Source& source, cait_answer* answers,
                     std::size_t count) {
    c_expect(of != nullptr, "classifier");
    c_expect(answers != nullptr && count > 0, "answers");
    const std::vector<cait::Answer> found = of->classifier.classify(source, count);
    for (std::size_t i = 0; i < found.size(); ++i)
        answers[i] = {found[i].index, of->names[found[i].index].c_str(), found[i].probability};
    return found.size();
}

template <class Source>
std::size_t embed(const cait_classifier* of, const Source& source, float* values,
                  std::size_t capacity) {
    c_expect(of != nullptr, "classifier");
    c_expect(values != nullptr, "values");
    if (capacity < of->features)
        throw cait::UsageError(
            fmt::format("capacity: expected at least {}, found {}", of->features, capacity));
    const std::vector<float> found = of->classifier.embed(source);
    std::ranges::copy(found, values);
    return found.size();
}

}  // namespace

const char* cait_last_error(void) { return cait::c_last_error().c_str(); }

cait_classifier* cait_load(const char* file, int threads, const char* precision) {
    return c_guarded([&]() -> cait_classifier* {
        const cait::Model model = cait::Model::load(c_path(file));
        cait::SessionOptions options{.threads = threads};
        if (precision != nullptr) options.precision = cait::precision_of(precision);
        auto made = std::make_unique<cait_classifier>(
            cait_classifier{cait::Classifier(model, options), {}, 0});
        made->names = made->classifier.classes();
        const auto classes = std::size_t(model.spec().architecture->common().classes);
        while (made->names.size() < classes)
            made->names.push_back(fmt::format("class {}", made->names.size()));
        const cait::Graph graph = cait::record(model.spec(), {.taps = {"features"}});
        made->features = std::size_t(graph.node(graph.outputs.at("features")).shape.count());
        return made.release();
    });
}

void cait_free(cait_classifier* classifier) { delete classifier; }

size_t cait_class_count(const cait_classifier* classifier) {
    return classifier == nullptr ? 0 : classifier->names.size();
}
size_t cait_embedding_size(const cait_classifier* classifier) {
    return classifier == nullptr ? 0 : classifier->features;
}

size_t cait_classify_file(const cait_classifier* classifier, const char* file, cait_answer* answers,
                          size_t count) {
    return c_guarded([&] { return classify(classifier, c_path(file), answers, count); });
}
size_t cait_classify_bytes(const cait_classifier* classifier, const void* encoded, size_t size,
                           cait_answer* answers, size_t count) {
    return c_guarded([&] { return classify(classifier, c_bytes(encoded, size), answers, count); });
}
size_t cait_classify_pixels(const cait_classifier* classifier, const uint8_t* pixels, int64_t width,
                            int64_t height, int64_t channels, int64_t row_bytes,
                            cait_answer* answers, size_t count) {
    const cait::Pixels image{pixels, width, height, channels, row_bytes};
    return c_guarded([&] { return classify(classifier, image, answers, count); });
}

size_t cait_embed_file(const cait_classifier* classifier, const char* file, float* values,
                       size_t capacity) {
    return c_guarded([&] { return embed(classifier, c_path(file), values, capacity); });
}
size_t cait_embed_bytes(const cait_classifier* classifier, const void* encoded, size_t size,
                        float* values, size_t capacity) {
    return c_guarded([&] { return embed(classifier, c_bytes(encoded, size), values, capacity); });
}
size_t cait_embed_pixels(const cait_classifier* classifier, const uint8_t* pixels, int64_t width,
                         int64_t height, int64_t channels, int64_t row_bytes, float* values,
                         size_t capacity) {
    const cait::Pixels image{pixels, width, height, channels, row_bytes};
    return c_guarded([&] { return embed(classifier, image, values, capacity); });
}
