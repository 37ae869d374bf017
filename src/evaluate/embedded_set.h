// Vectors of images with all that is known about them: names, labels, and which model made them.
// One safetensors file holds it; the same file without the vectors lies beside an index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "evaluate/vectors.h"

namespace cait {

// What made the vectors. Others are comparable when all of it is the same.
struct EmbeddingMaker {
    std::string model;        // "cait_s24_224"
    std::string fingerprint;  // evaluate/fingerprint.h
    std::string tap;
    bool flip = false;
    bool operator==(const EmbeddingMaker&) const = default;
};

struct EmbeddedSet {
    Vectors vectors;                   // no values where the file lies beside an index
    std::vector<std::string> names;    // (rows) of the images
    std::vector<std::size_t> indices;  // (rows) of the images in the data set
    std::string data;                  // the data set's name; empty: the names are files
    std::string part;                  // of the data set: name_of(Split)
    std::vector<LabelLevel> levels;    // coarsest first; none where nothing is known
    EmbeddingMaker maker;
};

// Replaces the file whole. Throws Error when a name holds a line end.
void write_embedded_set(const std::filesystem::path& file, const EmbeddedSet& set);

// Throws Error, naming the file, for anything that is not as write_embedded_set() makes it. Without
// vectors `rows` and `columns` are known all the same.
EmbeddedSet read_embedded_set(const std::filesystem::path& file, bool with_vectors);

// Names and labels lie beside an index, in a file without vectors.
inline std::string beside_index(const std::string& index) { return index + ".safetensors"; }
// Throws Error unless it tells of an index of this size.
EmbeddedSet read_beside_index(const std::string& index, std::size_t rows, std::size_t columns);

// Throws Error unless `made` by the same model from the same layer; `file` opens the message.
void check_same_maker(const EmbeddingMaker& made, const EmbeddingMaker& now,
                      const std::string& file);

}  // namespace cait
