// tar:PATH/{000..009}.tar — WebDataset layout: consecutive members with one key are one sample,
// key.jpg (png, webp) the image and key.cls, key.json or key.txt its label. Shards are mapped, an
// index is built in one pass over the headers, and samplers are told to stay within a shard.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// PATH is a brace pattern, one file, or a folder of *.tar. The label is the text of .cls or .txt,
// or the field "cls", "label" or "class" of .json. Numbers are positions: a file classes.txt
// beside the shards gives them their names.
DatasetPtr open_tar_shards(const DatasetUri& uri, Split split);

// The file beside the shards that names the classes.
inline constexpr const char* kShardClassFile = "classes.txt";

}  // namespace cait
