// The devkit's table of synsets: which WordNet id belongs to which ILSVRC2012_ID. The official one
// is a MATLAB file (meta.mat); lists as text serve too.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace cait {

struct Synset {
    std::size_t id = 0;  // 1 to 1000 are the classes, above are inner nodes
    std::string wnid;    // "n01440764"
};

// meta.mat (MATLAB level 5, the struct array `synsets`), or text with "wnid id …" or "id wnid …"
// per line. Throws Error, naming the file, for anything else.
std::vector<Synset> read_synset_table(const std::filesystem::path& path);

std::vector<Synset> parse_meta_mat(std::span<const std::byte> bytes, const std::string& file);

}  // namespace cait
