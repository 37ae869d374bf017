// VOLO's outlook attention, window by window: softmax of its scores, its values mixed, the mixes
// added into place. What lies beyond the map counts in the softmax but has no value.
#include "kernels/isa/isa.h"
#include "kernels/isa/lanes.h"
#include "kernels/isa/window.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

// A position of the window that lies in the map.
struct Tap {
    Index tap;
    Index pixel;
};

class Outlook {
public:
    explicit Outlook(const OutlookArgs& args)
        : a_(args),
          area_(args.kernel * args.kernel),
          head_dim_(args.dim / args.heads),
          rows_((args.head_end - args.head_begin) * area_),
          taps_(static_cast<Tap*>(args.scratch)),
          mixes_(reinterpret_cast<float*>(taps_ + area_)),
          rest_(mixes_ + round_up(rows_, kWidth) * area_) {}

    void run() {
        const Index first = a_.head_begin * head_dim_;
        const auto bytes = std::size_t((a_.head_end - a_.head_begin) * head_dim_) * sizeof(float);
        for (Index pixel = 0; pixel < a_.height * a_.width; ++pixel)
            std::memset(a_.out + pixel * a_.dim + first, 0, bytes);
        const float* scores = a_.scores + a_.head_begin * area_ * area_;
        const auto windows = [&](Index size) {
            return (size + 2 * (a_.kernel / 2) - a_.kernel) / a_.stride + 1;
        };
        for (Index row = 0; row < windows(a_.height); ++row)
            for (Index column = 0; column < windows(a_.width); ++column) {
                find_taps(row * a_.stride - a_.kernel / 2, column * a_.stride - a_.kernel / 2);
                softmax_window(scores);
                for (Index h = a_.head_begin; h < a_.head_end; ++h) mix(h);
                scores += a_.heads * area_ * area_;
            }
    }

private:
    void find_taps(Index top, Index left) {
        const Inside rows(top, a_.height, a_.kernel), columns(left, a_.width, a_.kernel);
        count_ = 0;
        for (Index ky = rows.from; ky < rows.to; ++ky)
            for (Index kx = columns.from; kx < columns.to; ++kx)
                taps_[count_++] = {ky * a_.kernel + kx, (top + ky) * a_.width + left + kx};
    }

    // Rows are as short as the window, so a register takes a column of as many rows as it has
    // lanes. The results stay like that: [rows / kWidth][area][kWidth].
    void softmax_window(const float* scores) {
        for (Index row = 0; row < rows_; row += kWidth) {
            const float* from = scores + row * area_;
            const Index left = rows_ - row;
            if (left < kWidth) {
                for (Index i = 0; i < left * area_; ++i) rest_[i] = from[i];
                for (Index i = left * area_; i < kWidth * area_; ++i) rest_[i] = 0;
                from = rest_;
            }
            softmax_rows(from, mixes_ + row * area_);
        }
    }

    void softmax_rows(const float* from, float* to) const {
        Vec top = set(-__builtin_inff());
        for (Index j = 0; j < area_; ++j) {
            const Vec score = gather(from + j, area_) * set(a_.scale);
            top = max(top, score);
            store(to + j * kWidth, score);
        }
        Vec total = set(0.0F);
        for (Index j = 0; j < area_; ++j) {
            const Vec e = exponential(load(to + j * kWidth) - top);
            total += e;
            store(to + j * kWidth, e);
        }
        const Vec inverse = set(1.0F) / total;
        for (Index j = 0; j < area_; ++j) store(to + j * kWidth, load(to + j * kWidth) * inverse);
    }

    void mix(Index head) const {
        const float* values = a_.values + head * head_dim_;
        for (Index i = 0; i < count_; ++i) {
            const Index row = (head - a_.head_begin) * area_ + taps_[i].tap;
            const float* weights = mixes_ + row / kWidth * kWidth * area_ + row % kWidth;
            float* out = a_.out + taps_[i].pixel * a_.dim + head * head_dim_;
            for_channels<4>(head_dim_, [&](Index c, auto registers, auto lanes) {
                constexpr int kRegisters = decltype(registers)::value;
                Vec sums[kRegisters];
                for (int v = 0; v < kRegisters; ++v) sums[v] = lanes.get(out + c + v * kWidth);
                for (Index j = 0; j < count_; ++j) {
                    const Vec weight = set(weights[taps_[j].tap * kWidth]);
                    const float* value = values + taps_[j].pixel * a_.value_ld + c;
#pragma GCC unroll 4
                    for (int v = 0; v < kRegisters; ++v)
                        sums[v] += weight * lanes.get(value + v * kWidth);
                }
                for (int v = 0; v < kRegisters; ++v) lanes.put(out + c + v * kWidth, sums[v]);
            });
        }
    }

    const OutlookArgs& a_;
    Index area_, head_dim_;
    Index rows_;  // of a window's scores
    Tap* taps_;
    float *mixes_, *rest_;
    Index count_ = 0;  // of taps
};

}  // namespace

void outlook(const OutlookArgs& args) { Outlook(args).run(); }

}  // namespace cait::kernels::CAIT_KERNEL_ISA
