// tar:PATH/{000..009}.tar — WebDataset layout: consecutive members with one key are one sample,
// key.jpg (png, webp) the image and key.cls, key.json or key.txt its label. Shards are mapped, an
// index is built in one pass over the headers, and samplers stay within a shard.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// The shards that lack the end of an archive, each in one line that names it: some of their images
// may be lost although all the others can be read.
std::vector<std::string> cut_shards(const DatasetUri& uri);

// The file beside the shards that names the classes.
inline constexpr const char* kShardClassFile = "classes.txt";

}  // namespace cait
