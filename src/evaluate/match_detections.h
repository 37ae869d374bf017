// Which found thing is which annotated one, in one image and of one class: COCO's rules
// (pycocotools' evaluateImg), for every area range and every overlap at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cait {

inline constexpr std::size_t kAreaRanges = 4;    // all, small, medium, large
inline constexpr std::size_t kOverlaps = 10;     // 0.5, 0.55, … 0.95
inline constexpr std::size_t kMostJudged = 100;  // of an image and class, the best ones

// COCO's thresholds, to the last bit.
double overlap_threshold(std::size_t index);

// One bit for each area range and overlap.
class JudgementBits {
public:
    bool at(std::size_t area, std::size_t overlap) const {
        return ((bits_ >> (area * kOverlaps + overlap)) & 1) != 0;
    }
    void set(std::size_t area, std::size_t overlap) {
        bits_ |= std::uint64_t{1} << (area * kOverlaps + overlap);
    }
    bool operator==(const JudgementBits&) const = default;

private:
    std::uint64_t bits_ = 0;
};

// Of one found thing. An ignored one counts neither as right nor as wrong.
struct Judgement {
    JudgementBits matched, ignored;
};

struct AnnotatedSize {
    double area = 0;
    bool ignored = false;  // a crowd: matches as many as there are, and is never missed
};

struct ImageJudgement {
    std::vector<Judgement> found;
    std::array<std::uint64_t, kAreaRanges> objects{};  // that have to be found
};

// `found`: areas, the best first, at most kMostJudged. `overlaps`: (found, annotated).
ImageJudgement judge_image(std::span<const double> found, std::span<const AnnotatedSize> annotated,
                           std::span<const double> overlaps);

}  // namespace cait
