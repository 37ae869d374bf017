// IDX, the format of MNIST and Fashion-MNIST: a big-endian header with the extents, then bytes.
// Files may be gzipped; then they are unpacked into memory once.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// idx:PATH, a folder with {train,t10k}-images-idx3-ubyte and the labels beside them, or an image
// file with ?labels=FILE. Classes are numbered.
DatasetPtr open_idx(const DatasetUri& uri, Split split);

// The same with their class names. An empty path means where Debian's package puts the files.
DatasetPtr open_mnist(const DatasetUri& uri, Split split);
DatasetPtr open_fashion_mnist(const DatasetUri& uri, Split split);

}  // namespace cait
