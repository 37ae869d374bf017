// What the images of a batch are compared with. A sample is an image and its targets; a Target says
// how they are read, how they follow the image's geometry, how they are mixed and collated. A new
// kind of target (several labels, masks, boxes, sentences) is one file in data/targets/.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cait/tensor.h"
#include "data/augment/mixup.h"
#include "data/dataset.h"
#include "data/geometry.h"
#include "data/sampler.h"

namespace cait {

// By name: "labels" [B] int64, "label_maps" [B, n] … The names are those of data/targets/.
using Targets = std::map<std::string, Tensor>;

struct Sample {
    const Dataset& dataset;
    const SampleKey& key;      // key.sample is its place in the data set
    const Image& image;        // as it is stored
    const Geometry& geometry;  // what the transform did to it; of several views, to the first
    const LabelImage& labels;  // as they are stored; empty unless a LabelledTransform takes them
};

class Target {
public:
    virtual ~Target() = default;
    // Makes room for the targets of `images` samples, one row each.
    virtual void prepare(std::size_t images, Targets& to) const = 0;
    // Writes one sample's row. Several workers call it at once, each for rows of its own.
    virtual void write(const Sample& from, std::size_t row, Targets& to) const = 0;
    // Once all rows are there: from rows to what the batch holds. `mixed` says how its images were
    // mixed, one entry per image; empty where they were not. Does nothing unless overridden.
    virtual void collate(std::span<const MixDraw> /*mixed*/, Targets& /*targets*/) const {}
};

using TargetPtr = std::shared_ptr<const Target>;
using TargetList = std::vector<TargetPtr>;  // empty: the images are unlabelled

// The tensor of that name; its memory is used again where type and shape have not changed.
inline Tensor& make_room(Targets& targets, const std::string& name, DType dtype,
                         const Shape& shape) {
    Tensor& tensor = targets[name];
    if (!tensor.writable() || tensor.dtype() != dtype || tensor.shape() != shape)
        tensor = Tensor::empty(dtype, shape);
    return tensor;
}

}  // namespace cait
