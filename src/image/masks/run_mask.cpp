#include "image/masks/run_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "cait/error.h"

namespace cait {

namespace {

[[noreturn]] void refuse_fill(const RunMask& mask, std::string_view found) {
    throw Error(fmt::format("mask: expected runs that fill {}x{} pixels exactly, found {}",
                            mask.width, mask.height, found));
}

// Appends stretches to a mask: runs of no length vanish and neighbours of one kind are joined, so
// that equal masks have equal runs.
class RunWriter {
public:
    explicit RunWriter(RunMask& mask) : runs_(mask.runs) { runs_.assign(1, 0); }

    void add(std::uint32_t length, bool inside) {
        if (length == 0) return;
        if (inside == inside_) {
            runs_.back() += length;
        } else {
            runs_.push_back(length);
            inside_ = inside;
        }
    }

private:
    std::vector<std::uint32_t>& runs_;
    bool inside_ = false;
};

// What is known from outside: counts that alternate, of which none may reach beyond the image.
class RunReader {
public:
    RunReader(std::int64_t width, std::int64_t height)
        : mask_{width, height, {}}, left_(mask_size(width, height)), writer_(mask_) {}

    void add(std::int64_t count) {
        if (count < 0) refuse_fill(mask_, fmt::format("a run of {}", count));
        if (count > left_) refuse_fill(mask_, "more");
        left_ -= count;
        writer_.add(std::uint32_t(count), inside_);
        inside_ = !inside_;
    }

    RunMask finish() && {
        if (left_ > 0) refuse_fill(mask_, fmt::format("{} too few", left_));
        return std::move(mask_);
    }

private:
    RunMask mask_;
    std::int64_t left_;
    RunWriter writer_;
    bool inside_ = false;
};

// Calls visit(length, inside the first, inside the second) down both masks.
template <typename Visit>
void walk_both(const RunMask& first, const RunMask& second, const Visit& visit) {
    if (first.width != second.width || first.height != second.height)
        throw Error(fmt::format("masks: expected one size, found {}x{} and {}x{}", first.width,
                                first.height, second.width, second.height));
    std::size_t i = 0, j = 0;
    std::uint32_t left_of_first = 0, left_of_second = 0;
    while (true) {
        while (left_of_first == 0 && i < first.runs.size()) left_of_first = first.runs[i++];
        while (left_of_second == 0 && j < second.runs.size()) left_of_second = second.runs[j++];
        const std::uint32_t length = std::min(left_of_first, left_of_second);
        if (length == 0) return;
        visit(length, i % 2 == 0, j % 2 == 0);  // the run before the next is the current one
        left_of_first -= length;
        left_of_second -= length;
    }
}

RunMask joined_pair(const RunMask& first, const RunMask& second) {
    RunMask result{first.width, first.height, {}};
    RunWriter writer(result);
    walk_both(first, second, [&](std::uint32_t length, bool in_first, bool in_second) {
        writer.add(length, in_first || in_second);
    });
    return result;
}

}  // namespace

std::int64_t mask_size(std::int64_t width, std::int64_t height) {
    // A place in an image is a 32-bit number, as in COCO's tools, where it even has a sign.
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (width < 1 || height < 1 || width > kMost / height)
        throw Error(fmt::format("mask: expected a size of 1 to {} pixels, found {}x{}", kMost,
                                width, height));
    return width * height;
}

RunMask run_mask(std::span<const std::uint8_t> pixels, std::int64_t width, std::int64_t height) {
    if (std::int64_t(pixels.size()) != mask_size(width, height))
        throw Error(
            fmt::format("mask: expected {}x{} pixels, found {}", width, height, pixels.size()));
    constexpr std::int64_t kStrip = 64;  // columns that are turned together, for the cache
    RunMask result{width, height, {}};
    RunWriter writer(result);
    std::vector<std::uint8_t> strip(std::size_t(std::min(kStrip, width) * height));  // (x, y)
    for (std::int64_t left = 0; left < width; left += kStrip) {
        const std::int64_t columns = std::min(kStrip, width - left);
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < columns; ++x)
                strip[std::size_t(x * height + y)] =
                    pixels[std::size_t(y * width + left + x)] != 0 ? 1 : 0;
        const std::size_t count = std::size_t(columns * height);
        for (std::size_t at = 0; at < count;) {
            const std::uint8_t inside = strip[at];
            const void* next = std::memchr(strip.data() + at, 1 - inside, count - at);
            const std::size_t end =
                next == nullptr
                    ? count
                    : std::size_t(static_cast<const std::uint8_t*>(next) - strip.data());
            writer.add(std::uint32_t(end - at), inside != 0);
            at = end;
        }
    }
    return result;
}

std::vector<std::uint8_t> mask_pixels(const RunMask& mask) {
    std::vector<std::uint8_t> pixels(std::size_t(mask_size(mask.width, mask.height)));
    std::size_t x = 0, y = 0;
    for (std::size_t i = 0; i < mask.runs.size(); ++i)
        for (std::uint32_t left = mask.runs[i]; left > 0;) {
            const std::uint32_t step =
                std::uint32_t(std::min(std::size_t(left), std::size_t(mask.height) - y));
            if (x >= std::size_t(mask.width)) refuse_fill(mask, "more");
            if (i % 2 == 1)
                for (std::size_t k = 0; k < step; ++k)
                    pixels[(y + k) * std::size_t(mask.width) + x] = 1;
            left -= step;
            y += step;
            if (y == std::size_t(mask.height)) {
                y = 0;
                ++x;
            }
        }
    return pixels;
}

RunMask mask_of_counts(std::span<const std::uint32_t> counts, std::int64_t width,
                       std::int64_t height) {
    RunReader reader(width, height);
    for (const std::uint32_t count : counts) reader.add(count);
    return std::move(reader).finish();
}

// Five bits to a character from '0' on, the lowest first, the sixth for those that go on; the last
// one's highest bit is the sign. From the fourth number on, only the difference from the one before
// the last is written.
RunMask mask_of_text(std::string_view text, std::int64_t width, std::int64_t height) {
    constexpr int kMostCharacters = 7;  // 35 bits: of a 32-bit number with a sign
    RunReader reader(width, height);
    std::int64_t last = 0, before = 0;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size(); ++number) {
        std::int64_t value = 0;
        bool more = true;
        for (int k = 0; more; ++k) {
            if (at == text.size()) throw Error("mask: the text of its runs ends within a number");
            const int bits = int(static_cast<unsigned char>(text[at++])) - '0';
            if (bits < 0 || bits > 63)
                throw Error(fmt::format(
                    "mask: expected characters '0' to 'o' as its runs, found byte {} at place {}",
                    bits + '0', at - 1));
            if (k == kMostCharacters)
                throw Error(
                    fmt::format("mask: the number at place {} of its runs is too long", at - 1));
            value |= std::int64_t(bits & 31) << (5 * k);
            more = (bits & 32) != 0;
            if (!more && (bits & 16) != 0) value -= std::int64_t{1} << (5 * (k + 1));
        }
        if (number > 2) value += before;
        reader.add(value);
        before = last;
        last = value;
    }
    return std::move(reader).finish();
}

std::string mask_text(const RunMask& mask) {
    std::string text;
    for (std::size_t i = 0; i < mask.runs.size(); ++i) {
        std::int64_t value = mask.runs[i];
        if (i > 2) value -= std::int64_t(mask.runs[i - 2]);
        for (bool more = true; more;) {
            const int bits = int(value & 31);
            value >>= 5;
            more = (bits & 16) != 0 ? value != -1 : value != 0;
            text += char('0' + bits + (more ? 32 : 0));
        }
    }
    return text;
}

std::uint64_t mask_area(const RunMask& mask) {
    std::uint64_t area = 0;
    for (std::size_t i = 1; i < mask.runs.size(); i += 2) area += mask.runs[i];
    return area;
}

Box mask_bounds(const RunMask& mask) {
    if (mask.empty()) return {};
    const std::uint64_t height = std::uint64_t(std::max<std::int64_t>(mask.height, 1));
    std::uint64_t left = std::numeric_limits<std::uint64_t>::max(), top = left;
    std::uint64_t right = 0, bottom = 0, at = 0;
    for (std::size_t i = 0; i < mask.runs.size(); ++i) {
        const std::uint64_t start = at;
        at += mask.runs[i];
        if (i % 2 == 0 || at == start) continue;
        const std::uint64_t first = start / height, last = (at - 1) / height;  // columns
        left = std::min(left, first);
        right = std::max(right, last + 1);
        top = std::min(top, first < last ? 0 : start % height);
        bottom = std::max(bottom, first < last ? height : (at - 1) % height + 1);
    }
    if (right == 0) return {};
    return {double(left), double(top), double(right), double(bottom)};
}

RunMask joined_masks(std::span<const RunMask> masks) {
    if (masks.empty()) return {};
    RunMask result = masks.front();
    for (const RunMask& mask : masks.subspan(1)) result = joined_pair(result, mask);
    return result;
}

double mask_overlap(const RunMask& first, const RunMask& second, bool second_is_crowd) {
    std::uint64_t both = 0, either = 0;
    walk_both(first, second, [&](std::uint32_t length, bool in_first, bool in_second) {
        if (in_first && in_second) both += length;
        if (in_first || in_second) either += length;
    });
    if (both == 0) return 0;
    return double(both) / double(second_is_crowd ? mask_area(first) : either);
}

}  // namespace cait
