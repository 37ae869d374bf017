// The outputs of a detector's network are whatever a model file makes of an image: any numbers may
// come, NaN among them. Only finite regions within the image, in order, may leave; sizes that do
// not fit are refused with cait::Error.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "cait/error.h"
#include "evaluate/box_answers.h"
#include "evaluate/pasted_mask.h"
#include "evaluate/proposals.h"

namespace {

// Sizes and the bits of floats, from the first byte on; zeros when there are none left.
class FuzzedNumbers {
public:
    FuzzedNumbers(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    std::size_t below(std::size_t end) { return byte() % end; }
    float number() {
        std::uint32_t bits = 0;
        for (int i = 0; i < 4; ++i) bits = bits << 8 | byte();
        return std::bit_cast<float>(bits);
    }
    std::vector<float> numbers(std::size_t count) {
        std::vector<float> values(count);
        for (float& value : values) value = number();
        return values;
    }

private:
    std::uint8_t byte() { return at_ < size_ ? data_[at_++] : std::uint8_t{0}; }

    const std::uint8_t* data_;
    std::size_t size_, at_ = 0;
};

void require(bool holds) {
    if (!holds) std::abort();
}

void require_inside(const cait::Region& region, cait::ImageSize image) {
    require(region.left >= 0 && region.top >= 0 && region.right <= float(image.width) &&
            region.bottom <= float(image.height) && region.width() >= 0 && region.height() >= 0);
}

std::vector<cait::Proposal> fuzz_proposals(FuzzedNumbers& input, cait::ImageSize image,
                                           const cait::RegionRules& rules) {
    std::vector<std::vector<float>> objectness, deltas;
    std::vector<cait::ImageSize> maps;
    for (std::size_t levels = input.below(7); levels > 0; --levels) {
        maps.push_back({std::int64_t(input.below(5)), std::int64_t(input.below(5))});
        const auto places = std::size_t(maps.back().height * maps.back().width);
        const std::size_t odd = input.below(16) == 0 ? 1 : 0;
        objectness.push_back(input.numbers(3 * places + odd));
        deltas.push_back(input.numbers(12 * places));
    }
    std::vector<cait::ProposalLevel> levels;
    for (std::size_t i = 0; i < maps.size(); ++i)
        levels.push_back({maps[i], objectness[i], deltas[i]});
    cait::ProposalOptions options;
    options.per_level = input.below(40);
    options.most = input.below(60);
    options.overlap = input.number();
    const auto found = cait::propose(levels, image, rules, options);
    require(found.size() <= options.most);
    require(std::is_sorted(found.begin(), found.end(),
                           [](const auto& a, const auto& b) { return a.score > b.score; }));
    for (const cait::Proposal& each : found) require_inside(each.region, image);
    return found;
}

void fuzz_answers(FuzzedNumbers& input, std::vector<cait::Proposal> proposals,
                  cait::ImageSize image, const cait::RegionRules& rules) {
    for (std::size_t more = input.below(8); more > 0; --more)
        proposals.push_back(
            {{input.number(), input.number(), input.number(), input.number()}, 0.5F});
    const std::size_t classes = input.below(5), odd = input.below(16) == 0 ? 1 : 0;
    const std::size_t boxes = classes + (rules.background_first ? 1 : 0);
    cait::BoxAnswerOptions options;
    options.threshold = input.number();
    options.overlap = input.number();
    options.most = input.below(60);
    const auto logits = input.numbers(proposals.size() * (classes + 1) + odd);
    const auto deltas = input.numbers(proposals.size() * boxes * 4);
    const auto found = cait::box_answers(proposals, logits, deltas, image, rules, options);
    require(found.size() <= options.most);
    for (const cait::BoxAnswer& each : found) {
        require_inside(each.region, image);
        require(each.label >= 0 && std::size_t(each.label) < classes);
        require(each.proposal < proposals.size() && each.score > options.threshold);
    }
}

void fuzz_mask(FuzzedNumbers& input, cait::ImageSize image, const cait::RegionRules& rules) {
    const std::size_t side = input.below(9);
    const auto mask = input.numbers(side * side);
    const cait::Region box{input.number(), input.number(), input.number(), input.number()};
    const cait::RunMask found = cait::pasted_mask(mask, std::int64_t(side), box, image.width,
                                                  image.height, rules, input.number());
    std::int64_t pixels = 0;
    for (const std::uint32_t run : found.runs) pixels += run;
    require(pixels == image.width * image.height);
    for (std::size_t i = 1; i < found.runs.size(); ++i) require(found.runs[i] > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedNumbers input(data, size);
    const cait::RegionRules rules =
        input.below(2) == 0 ? cait::RegionRules() : cait::torchvision_region_rules();
    const cait::ImageSize image{std::int64_t(input.below(70)), std::int64_t(input.below(70))};
    std::vector<cait::Proposal> proposals;
    try {
        fuzz_mask(input, image, rules);
    } catch (const cait::Error&) {
    }
    try {
        proposals = fuzz_proposals(input, image, rules);
    } catch (const cait::Error&) {
    }
    try {
        fuzz_answers(input, std::move(proposals), image, rules);
    } catch (const cait::Error&) {
    }
    return 0;
}
