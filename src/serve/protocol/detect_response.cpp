#include "serve/protocol/detect_response.h"

#include <algorithm>

#include "serve/protocol/mask_texts.h"
#include "serve/protocol/output_writer.h"

namespace cait::serve {

namespace {

constexpr std::size_t kMost = ServedDetector::kMostFound;

// All outputs, whoever asks for which: masks are texts, and made only where they are wanted.
struct FoundTensors {
    std::vector<float> boxes, scores;
    std::vector<std::int64_t> labels, counts;
    std::vector<std::string> masks;

    FoundTensors(std::span<const std::vector<DetectedObject>> found, bool with_masks)
        : boxes(4 * kMost * found.size()),
          scores(kMost * found.size()),
          labels(kMost * found.size(), -1),
          masks(with_masks ? kMost * found.size() : 0) {
        for (std::size_t image = 0; image < found.size(); ++image) {
            const std::size_t count = std::min(found[image].size(), kMost);
            counts.push_back(std::int64_t(count));
            for (std::size_t i = 0; i < count; ++i) put(image * kMost + i, found[image][i]);
            if (!with_masks) continue;
            std::ranges::move(mask_texts(std::span(found[image]).first(count)).texts,
                              masks.begin() + std::ptrdiff_t(image * kMost));
        }
    }

    void set(WrittenOutput& output) const {
        if (output.name == "boxes") output.values = std::span(boxes);
        if (output.name == "scores") output.values = std::span(scores);
        if (output.name == "labels") output.values = std::span(labels);
        if (output.name == "counts") output.values = std::span(counts);
        if (output.name == "masks") output.values = std::span(masks);
    }

private:
    void put(std::size_t at, const DetectedObject& object) {
        const Region& box = object.box;
        const float sides[] = {box.left, box.top, box.right, box.bottom};
        std::ranges::copy(sides, boxes.begin() + std::ptrdiff_t(4 * at));
        scores[at] = object.score;
        labels[at] = object.label;
    }
};

bool is_masks(const RequestedOutput& wanted) { return wanted.name == "masks"; }

}  // namespace

std::uint64_t detect_answer_bytes(const InferRequest& request, const ServedModel& model,
                                  std::uint64_t images) {
    constexpr std::uint64_t kAround = 8;  // of a text: its length, or quotes and a comma
    std::uint64_t bytes = frame_bytes(request, model);
    for (const RequestedOutput& wanted : request.outputs) {
        const auto numbers = std::uint64_t(model.output(wanted.name)->shape.count());
        if (is_masks(wanted))
            bytes += images * (numbers * kAround + kMostMaskText);
        else
            bytes += images * numbers * (wanted.binary ? sizeof(std::int64_t) : kNumberBytes);
    }
    return bytes;
}

Response detect_response(const InferRequest& request, const ServedModel& model,
                         std::span<const std::vector<DetectedObject>> found) {
    const FoundTensors tensors(found, std::ranges::any_of(request.outputs, is_masks));
    std::vector<WrittenOutput> written;
    for (const RequestedOutput& wanted : request.outputs) {
        const Shape shape = model.output(wanted.name)->shape.with_batch(std::int64_t(found.size()));
        tensors.set(written.emplace_back(WrittenOutput{
            .name = wanted.name, .binary = wanted.binary, .shape = shape.extents(), .values = {}}));
    }
    return written_response(request, model, written,
                            detect_answer_bytes(request, model, found.size()));
}

}  // namespace cait::serve
