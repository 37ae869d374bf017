#include "data/statistics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "cait/error.h"
#include "system/file_guard.h"

namespace cait {

namespace {

// Calls body(worker, index) for every index below `count`; `worker` is below `threads`. Order and
// assignment are left open. The first exception stops the rest and is thrown here.
void for_each_index(std::size_t count, int threads,
                    const std::function<void(std::size_t, std::size_t)>& body) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&](std::size_t worker) {
        try {
            for (std::size_t i = next++; i < count && !failed; i = next++) body(worker, i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
            failed = true;
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (std::size_t worker = 1;
                 worker < std::min(std::size_t(std::max(threads, 1)), count); ++worker)
                others.emplace_back(work, worker);
        } catch (const std::system_error&) {
            // Fewer threads do the same work.
        }
        work(0);
    }
    if (error) std::rethrow_exception(error);
}

// Reads all images; `visit` gets the worker, the index and what could be read.
class Pass {
public:
    Pass(const Dataset& dataset, const PassOptions& options)
        : dataset_(dataset),
          options_(options),
          images_(std::size_t(std::max(options.threads, 1))) {}

    std::vector<BadImage> run(
        const std::function<void(std::size_t, std::size_t, const Image&)>& visit) {
        for_each_index(dataset_.size(), options_.threads,
                       [&](std::size_t worker, std::size_t index) {
                           if (read(worker, index)) visit(worker, index, images_[worker]);
                           advance();
                       });
        check_mapped_files();
        std::ranges::sort(bad_, {}, &BadImage::index);
        return std::move(bad_);
    }

private:
    bool read(std::size_t worker, std::size_t index) {
        try {
            if (dataset_.has_sentences())
                dataset_.sentences(index);
            else
                dataset_.read(index, {}, images_[worker]);
            return true;
        } catch (const Error& error) {
            check_mapped_files();
            const std::lock_guard lock(mutex_);
            bad_.push_back({index, dataset_.name(index), error.what()});
            return false;
        }
    }

    void advance() {
        constexpr std::size_t kStep = 64;
        const std::lock_guard lock(mutex_);
        ++done_;
        if (options_.progress && (done_ % kStep == 0 || done_ == dataset_.size()))
            options_.progress(done_);
    }

    const Dataset& dataset_;
    const PassOptions& options_;
    std::vector<Image> images_;  // one per worker
    std::mutex mutex_;
    std::vector<BadImage> bad_;
    std::size_t done_ = 0;
};

struct Sums {
    std::array<std::uint64_t, 3> values{}, squares{};
    std::uint64_t pixels = 0;

    void add(const Image& image) {
        std::array<std::uint64_t, 3> value{};
        std::array<std::uint64_t, 3> square{};
        for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3)
            for (std::size_t c = 0; c < 3; ++c) {
                const std::uint64_t v = image.pixels[i + c];
                value[c] += v;
                square[c] += v * v;
            }
        for (std::size_t c = 0; c < 3; ++c) {
            values[c] += value[c];
            squares[c] += square[c];
        }
        pixels += std::uint64_t(image.width * image.height);
    }
};

ObjectStatistics count_objects(const Dataset& dataset) {
    constexpr double kSmallArea = 32 * 32, kMediumArea = 96 * 96;
    ObjectStatistics result;
    result.per_class.resize(dataset.classes().size());
    std::vector<std::int64_t> per_image;
    for (std::size_t i = 0; i < dataset.size(); ++i) {
        const std::vector<Object> objects = dataset.objects(i);
        per_image.push_back(std::int64_t(objects.size()));
        result.objects += objects.size();
        for (const Object& object : objects) {
            ++result.per_class[std::size_t(object.label)];
            if (object.crowd)
                ++result.crowds;
            else if (object.area < kSmallArea)
                ++result.small;
            else
                ++(object.area < kMediumArea ? result.medium : result.large);
        }
    }
    result.per_image = range_of(std::move(per_image));
    return result;
}

}  // namespace

SideRange range_of(std::vector<std::int64_t> values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    return {values.front(), values[values.size() / 2], values.back()};
}

DatasetStatistics statistics(const Dataset& dataset, const PassOptions& options) {
    DatasetStatistics result;
    result.images = dataset.size();
    result.per_class.resize(dataset.classes().size());
    for (std::size_t i = 0; i < dataset.size(); ++i)
        for (const std::int64_t label : dataset.labels(i)) ++result.per_class[std::size_t(label)];

    if (dataset.has_objects()) result.objects = count_objects(dataset);
    std::vector<Sums> per_worker(std::size_t(std::max(options.threads, 1)));
    std::vector<std::int64_t> widths(dataset.size());
    std::vector<std::int64_t> heights(dataset.size());
    result.bad =
        Pass(dataset, options).run([&](std::size_t worker, std::size_t index, const Image& image) {
            widths[index] = image.width;
            heights[index] = image.height;
            per_worker[worker].add(image);
        });
    std::erase(widths, 0);
    std::erase(heights, 0);
    result.width = range_of(std::move(widths));
    result.height = range_of(std::move(heights));

    Sums total;
    for (const Sums& sums : per_worker) {
        total.pixels += sums.pixels;
        for (std::size_t c = 0; c < 3; ++c) {
            total.values[c] += sums.values[c];
            total.squares[c] += sums.squares[c];
        }
    }
    for (std::size_t c = 0; c < 3 && total.pixels > 0; ++c) {
        const double mean = double(total.values[c]) / double(total.pixels);
        const double square = double(total.squares[c]) / double(total.pixels);
        result.mean[c] = mean / 255;
        result.std[c] = std::sqrt(std::max(0.0, square - mean * mean)) / 255;
    }
    return result;
}

std::vector<BadImage> verify(const Dataset& dataset, const PassOptions& options) {
    return Pass(dataset, options).run([](std::size_t, std::size_t, const Image&) {});
}

}  // namespace cait
