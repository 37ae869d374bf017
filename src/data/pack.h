// Packs a data set into tar shards that tar: reads back and that other programs read as WebDataset:
// a few large files read from front to back instead of a million small ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "data/dataset.h"

namespace cait {

struct PackOptions {
    std::string prefix = "shard";                        // shard-000000.tar
    std::uint64_t shard_bytes = std::uint64_t{1} << 28;  // a shard is closed when it passes this
    // Shards are read in order, so the images should not lie in the order of their classes.
    bool shuffle = true;
    std::uint64_t seed = 0;
    std::function<void(std::size_t done)> progress;
};

struct PackResult {
    std::size_t images = 0;
    std::size_t shards = 0;
    std::uint64_t bytes = 0;
};

// Files go in as they are; bare pixels become PNG. classes.txt beside the shards names the classes.
// `folder` must not exist or be empty, and appears whole or not at all.
PackResult pack(const Dataset& dataset, const std::filesystem::path& folder,
                const PackOptions& options = {});

}  // namespace cait
