#include "kernels/roi_align.h"

#include <algorithm>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/roi_axis.h"
#include "kernels/windows.h"
#include "kernels/workspace.h"

namespace cait::kernels {

namespace {

constexpr Index kChannelsTogether = 4;  // whose maps stay in the second-level cache meanwhile
constexpr Index kRoisTogether = 512;    // whose weights are made before

// A region's window of the map, and where its weights begin.
struct RoiWindow {
    Index top = 0, left = 0, rows = 0, columns = 0;  // no rows: nothing is seen
    std::size_t down = 0, across = 0, seen = 0;
};

enum class RoiPass { forward, backward };

// The weights of some regions, as the loops of the instruction sets read them.
class RoiWindows {
public:
    void set(const RoiAlignArgs& args, std::span<const Roi> rois, RoiPass pass) {
        windows_.clear();
        seen_.clear();
        weights_.clear();
        widest_ = 0;
        for (const Roi& roi : rois) add(args, roi, pass);
    }
    Index widest() const { return widest_; }
    const RoiWindow& operator[](std::size_t i) const { return windows_[i]; }
    const float* weights(std::size_t at) const { return weights_.data() + at; }
    const RoiRows* seen(std::size_t at) const { return seen_.data() + at; }

private:
    void add(const RoiAlignArgs& args, const Roi& roi, RoiPass pass) {
        RoiSpan span{.begin = roi.top, .end = roi.bottom, .scale = args.scale};
        span.size = args.height;
        span.bins = args.bins;
        span.sampling = args.sampling;
        span.aligned = args.aligned;
        down_.set(span);
        span.begin = roi.left;
        span.end = roi.right;
        span.size = args.width;
        across_.set(span);
        windows_.emplace_back();
        if (down_.count() == 0 || across_.count() == 0) return;
        RoiWindow& window = windows_.back();
        window.top = down_.first();
        window.rows = down_.count();
        // Whole registers where the map is wide enough.
        window.columns = std::min(args.width, round_up(across_.count(), 8));
        window.left = std::min(across_.first(), args.width - window.columns);
        widest_ = std::max(widest_, window.columns);
        write_down(window);
        write_across(window, pass);
    }

    void write_down(RoiWindow& window) {
        window.seen = seen_.size();
        window.down = weights_.size();
        for (Index bin = 0; bin < down_.bins(); ++bin) {
            seen_.push_back(down_.seen(bin));
            for (Index y = 0; y < window.rows; ++y) weights_.push_back(down_.weight(bin, y));
        }
    }

    void write_across(RoiWindow& window, RoiPass pass) {
        const Index bins = across_.bins(), skipped = across_.first() - window.left;
        const bool forward = pass == RoiPass::forward;
        const Index bin_step = forward ? 1 : window.columns;
        const Index place_step = forward ? roi_lanes(bins) : 1;
        window.across = weights_.size();
        weights_.resize(window.across +
                        std::size_t(forward ? window.columns * place_step : bins * bin_step));
        float* to = weights_.data() + window.across;
        for (Index bin = 0; bin < bins; ++bin)
            for (Index x = across_.seen(bin).begin; x < across_.seen(bin).end; ++x)
                to[bin * bin_step + (skipped + x) * place_step] = across_.weight(bin, x);
    }

    RoiAxis down_, across_;
    std::vector<RoiWindow> windows_;
    std::vector<RoiRows> seen_;
    std::vector<float> weights_;
    Index widest_ = 0;
};

Index window_offset(const RoiAlignArgs& args, const Roi& roi, const RoiWindow& window,
                    Index channel) {
    return ((roi.image * args.channels + channel) * args.height + window.top) * args.width +
           window.left;
}

// Calls work(worker, first channel, end) for groups of channels. Every worker has groups of its
// own, so the order in which regions add to a channel's map is always that of the list.
template <class Work>
void for_channel_groups(ThreadPool& pool, Index channels, int workers, const Work& work) {
    const Index groups = ceil_div(channels, kChannelsTogether);
    pool.run(workers, [&](int worker) {
        const Share share = share_of(groups, worker, workers);
        for (Index group = share.begin; group < share.end; ++group)
            work(worker, group * kChannelsTogether,
                 std::min((group + 1) * kChannelsTogether, channels));
    });
}

int channel_workers(const ThreadPool& pool, Index channels) {
    const Index groups = ceil_div(channels, kChannelsTogether);
    return int(std::clamp<Index>(pool.threads(), 1, std::max<Index>(1, groups)));
}

}  // namespace

void roi_align(const KernelTable& table, ThreadPool& pool, const RoiAlignArgs& args,
               std::span<const Roi> rois, std::span<float* const> results) {
    const int workers = channel_workers(pool, args.channels);
    const Index bins = args.bins, area = bins * bins;
    RoiWindows windows;
    Buffer memory;
    for (std::size_t begin = 0; begin < rois.size(); begin += std::size_t(kRoisTogether)) {
        const auto some = rois.subspan(
            begin, std::min<std::size_t>(std::size_t(kRoisTogether), rois.size() - begin));
        windows.set(args, some, RoiPass::forward);
        const PerWorker between(
            memory, workers, [&](Arena& arena) { return arena.floats(bins * windows.widest()); });
        for_channel_groups(pool, args.channels, workers, [&](int worker, Index first, Index end) {
            for (std::size_t i = 0; i < some.size(); ++i) {
                const RoiWindow& window = windows[i];
                float* out = results[begin + i] + first * area;
                if (window.rows == 0) {
                    std::fill_n(out, (end - first) * area, 0.0F);
                    continue;
                }
                table.roi_grid({.map = args.map + window_offset(args, some[i], window, first),
                                .channels = end - first,
                                .channel_step = args.height * args.width,
                                .row_step = args.width,
                                .rows = window.rows,
                                .columns = window.columns,
                                .bins = bins,
                                .down = windows.weights(window.down),
                                .seen = windows.seen(window.seen),
                                .across = windows.weights(window.across),
                                .between = between(worker),
                                .out = out});
            }
        });
    }
}

void roi_align_backward(const KernelTable& table, ThreadPool& pool, const RoiAlignArgs& args,
                        std::span<const Roi> rois, std::span<const float* const> gradients,
                        float* map_gradient) {
    const int workers = channel_workers(pool, args.channels);
    const Index area = args.bins * args.bins;
    RoiWindows windows;
    for (std::size_t begin = 0; begin < rois.size(); begin += std::size_t(kRoisTogether)) {
        const auto some = rois.subspan(
            begin, std::min<std::size_t>(std::size_t(kRoisTogether), rois.size() - begin));
        windows.set(args, some, RoiPass::backward);
        for_channel_groups(pool, args.channels, workers, [&](int, Index first, Index end) {
            for (std::size_t i = 0; i < some.size(); ++i) {
                const RoiWindow& window = windows[i];
                if (window.rows == 0) continue;
                table.train.roi_grid(
                    {.map = map_gradient + window_offset(args, some[i], window, first),
                     .channels = end - first,
                     .channel_step = args.height * args.width,
                     .row_step = args.width,
                     .rows = window.rows,
                     .columns = window.columns,
                     .bins = args.bins,
                     .down = windows.weights(window.down),
                     .seen = windows.seen(window.seen),
                     .across = windows.weights(window.across),
                     .gradient = gradients[begin + i] + first * area});
            }
        });
    }
}

void roi_align(ThreadPool& pool, const RoiAlignArgs& args, std::span<const Roi> rois,
               std::span<float* const> results) {
    roi_align(best_kernels(), pool, args, rois, results);
}

void roi_align_backward(ThreadPool& pool, const RoiAlignArgs& args, std::span<const Roi> rois,
                        std::span<const float* const> gradients, float* map_gradient) {
    roi_align_backward(best_kernels(), pool, args, rois, gradients, map_gradient);
}

}  // namespace cait::kernels
