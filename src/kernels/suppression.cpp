#include "kernels/suppression.h"

#include <algorithm>
#include <cmath>

namespace cait::kernels {

namespace {

struct PlainBox {
    float left, top, right, bottom;

    float area() const { return (right - left) * (bottom - top); }
};

// Those of one group that stay, coordinate by coordinate: the loop over them is a vector loop.
class StayingBoxes {
public:
    void add(const PlainBox& box) {
        left_.push_back(box.left);
        top_.push_back(box.top);
        right_.push_back(box.right);
        bottom_.push_back(box.bottom);
        area_.push_back(box.area());
    }

    bool any_overlaps(const PlainBox& box, float most) const {
        constexpr std::size_t kBlock = 64;  // that are looked at before the first is asked for
        const std::size_t count = left_.size();
        std::size_t at = 0;
        for (; at + kBlock <= count; at += kBlock)
            if (overlapping(box, most, at, at + kBlock) > 0) return true;
        return overlapping(box, most, at, count) > 0;
    }

private:
    // How many of [begin, end) overlap it by more than `most`. Rounded as torchvision's.
    int overlapping(const PlainBox& box, float most, std::size_t begin, std::size_t end) const {
        const float *left = left_.data(), *top = top_.data(), *right = right_.data(),
                    *bottom = bottom_.data(), *area = area_.data();
        const float own = box.area();
        int count = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const float from_x = box.left > left[i] ? box.left : left[i];
            const float from_y = box.top > top[i] ? box.top : top[i];
            const float to_x = box.right < right[i] ? box.right : right[i];
            const float to_y = box.bottom < bottom[i] ? box.bottom : bottom[i];
            const float width = to_x - from_x > 0 ? to_x - from_x : 0;
            const float height = to_y - from_y > 0 ? to_y - from_y : 0;
            const float shared = width * height;
            count += shared / (area[i] + own - shared) > most ? 1 : 0;
        }
        return count;
    }

    std::vector<float> left_, top_, right_, bottom_, area_;
};

// The best first, of equals the first; without those that have a number that is not finite.
std::vector<std::int32_t> ranked_boxes(std::span<const float> boxes,
                                       std::span<const float> scores) {
    std::vector<std::int32_t> order;
    order.reserve(scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const std::span<const float> box = boxes.subspan(4 * i, 4);
        if (std::isfinite(scores[i]) &&
            std::ranges::all_of(box, [](float side) { return std::isfinite(side); }))
            order.push_back(std::int32_t(i));
    }
    std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
        const float first = scores[std::size_t(a)], second = scores[std::size_t(b)];
        return first != second ? first > second : a < b;
    });
    return order;
}

// A number from 0 for each group that occurs.
class GroupNumbers {
public:
    explicit GroupNumbers(std::span<const std::int32_t> groups)
        : known_(groups.begin(), groups.end()) {
        std::ranges::sort(known_);
        known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    }
    std::size_t count() const { return std::max<std::size_t>(1, known_.size()); }
    std::size_t operator()(std::int32_t group) const {
        return std::size_t(std::ranges::lower_bound(known_, group) - known_.begin());
    }

private:
    std::vector<std::int32_t> known_;
};

}  // namespace

std::vector<std::int32_t> suppress(std::span<const float> boxes, std::span<const float> scores,
                                   std::span<const std::int32_t> groups, float overlap,
                                   std::size_t most) {
    const GroupNumbers numbers(groups);
    std::vector<StayingBoxes> staying(numbers.count());
    std::vector<std::int32_t> result;
    for (const std::int32_t at : ranked_boxes(boxes, scores)) {
        if (result.size() >= most) break;
        const float* sides = boxes.data() + 4 * std::ptrdiff_t(at);
        const PlainBox box{sides[0], sides[1], sides[2], sides[3]};
        StayingBoxes& group = staying[groups.empty() ? 0 : numbers(groups[std::size_t(at)])];
        if (group.any_overlaps(box, overlap)) continue;
        group.add(box);
        result.push_back(at);
    }
    return result;
}

}  // namespace cait::kernels
