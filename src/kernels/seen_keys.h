// Which keys the queries of a text see: padding counts for none of them, and of a causal text a
// query sees the keys up to its own place. Keys that are not seen weigh nothing at all, so that
// what stands there does not matter as long as it is finite.
#pragma once

#include "kernels/format.h"

namespace cait::kernels {

class SeenKeys {
public:
    // mask [keys]: 1 where a key counts, else 0; null: all count. It must outlive this.
    SeenKeys(Index keys, const float* mask, bool causal);

    // Keys from here on weigh nothing for any query.
    Index used() const { return causal_ && first_ > 0 ? keys_ : end_; }

    // The scores [keys] of the query at `place` → its weights, in place: softmax over the keys that
    // it sees. A query that sees none takes the mean of all.
    void weigh(float* scores, Index place, Format rounded_to) const;

private:
    Index keys_;
    const float* mask_;
    bool causal_;
    Index first_ = 0;    // the first that counts; keys_ if none does
    Index end_;          // behind the last that counts; keys_ if none does
    bool gaps_ = false;  // between them and in front of them
};

}  // namespace cait::kernels
