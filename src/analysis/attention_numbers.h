// Attention maps as numbers: tensors in a file, and JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/attention_sheet.h"

namespace cait {

// All maps of each model, [images, maps, heads, height, width] when it is written.
class RawMaps {
public:
    explicit RawMaps(std::size_t models) : values_(models), shapes_(models) {}

    void add(const Seen& seen);
    // Tensors have the models' names in a .safetensors file.
    void write(const std::string& file, const std::vector<Looker>& models) const;

private:
    std::vector<std::vector<float>> values_;
    std::vector<Shape> shapes_;  // of one image
    std::size_t images_ = 0;
    std::vector<MemoryShare> memory_;
};

nlohmann::json to_json(const Seen& seen, const std::vector<Looker>& models);

}  // namespace cait
