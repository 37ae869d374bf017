#include "train/run/epoch_average.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "train/torch/convert.h"
#include "weights/checksum.h"
#include "weights/safetensors.h"

namespace cait {

namespace {

constexpr const char* kEpoch = "cait.epoch";  // of the metadata

// The weights of that epoch, mapped.
TensorFile open_epoch(const FilePlace& place, std::uint64_t epoch) {
    const std::string path = place.string();
    if (!place.exists())
        throw Error(
            fmt::format("{}: expected the weights of epoch {}, which save.average needs, "
                        "found none",
                        path, epoch));
    TensorFile file = TensorFile::open(place);
    verify_metadata(file.tensors, file.metadata, path);
    verify_checksums(file.tensors, file.metadata, path);
    const auto found = file.metadata.find(kEpoch);
    if (found == file.metadata.end() || found->second != std::to_string(epoch))
        throw Error(fmt::format("{}: expected the weights of epoch {}, found those of {}", path,
                                epoch, found == file.metadata.end() ? "none" : found->second));
    return file;
}

at::Tensor tensor_of(const TensorFile& file, const std::string& name, const FilePlace& place) {
    const auto found = std::ranges::find(file.tensors, name, &NamedTensor::name);
    if (found == file.tensors.end())
        throw Error(
            fmt::format("{}: {}: the epochs before it have it, it does not", place.string(), name));
    return to_torch(found->tensor);
}

}  // namespace

void EpochAverage::keep(std::uint64_t epoch, const TorchTensors& weights) const {
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, tensor] : weights) tensors.emplace(name, share_torch(tensor));
    write_sealed(files_.averaged(epoch % window_), tensors, {{kEpoch, std::to_string(epoch)}});
}

TorchTensors EpochAverage::mean(const EpochRange& epochs) const {
    const at::NoGradGuard no_gradients;
    std::vector<TensorFile> files;
    for (std::uint64_t epoch = epochs.first; epoch <= epochs.last; ++epoch)
        files.push_back(open_epoch(files_.averaged(epoch % window_), epoch));
    TorchTensors means;
    for (const NamedTensor& named : files.back().tensors) {
        const at::Tensor last = to_torch(named.tensor);
        if (!last.is_floating_point()) {  // a counter
            means.emplace(named.name, last.clone());
            continue;
        }
        at::Tensor sum = at::zeros(last.sizes(), at::kDouble);
        for (std::size_t i = 0; i < files.size(); ++i) {
            const FilePlace place = files_.averaged((epochs.first + i) % window_);
            const at::Tensor one = tensor_of(files[i], named.name, place);
            if (one.sizes() != last.sizes())
                throw Error(
                    fmt::format("{}: {}: expected the shape that it has in the other epochs",
                                place.string(), named.name));
            sum.add_(one);
        }
        means.emplace(named.name, sum.div_(double(epochs.count())).to(at::kFloat));
    }
    return means;
}

}  // namespace cait
