// Goes through a data set whose images have any size: one is looked at while the next is read.
#pragma once

#include <cstddef>
#include <future>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cait/error.h"
#include "data/bad_images.h"
#include "data/dataset.h"

namespace cait {

inline constexpr double kMostBadShare = 0.05;  // of the images, that may be left out

// Calls use(index, read(index)) for every image, in order; read() runs on another thread. What it
// throws is an Error of the whole, or with `skip_bad` that image is left out and returned.
template <class Read, class Use>
std::vector<BadImage> read_ahead(const Dataset& dataset, bool skip_bad, const Read& read,
                                 const Use& use) {
    BadImages bad(kMostBadShare, dataset.size());
    const auto start = [&](std::size_t index) {
        return std::async(std::launch::async, [&read, index] { return read(index); });
    };
    auto next = dataset.size() > 0 ? start(0) : decltype(start(0))();
    for (std::size_t i = 0; i < dataset.size(); ++i) {
        auto now = std::move(next);
        if (i + 1 < dataset.size()) next = start(i + 1);
        std::optional<std::invoke_result_t<const Read&, std::size_t>> sample;
        try {
            sample = now.get();
        } catch (const Error& error) {
            if (!skip_bad) throw;
            bad.add(0, {i, dataset.name(i), error.what()});
            continue;
        }
        use(i, std::move(*sample));
    }
    return bad.all();
}

}  // namespace cait
