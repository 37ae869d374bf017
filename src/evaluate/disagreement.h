// How often classifiers decide differently, from each other and from the labels: the analysis of
// table 3.4 of Touvron's thesis (DeiT paper, table 4), which shows whom a student takes after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cait {

// One classifier's answers, image by image; all classifiers have the same images.
struct Decisions {
    std::string name;
    std::vector<std::int64_t> classes;
};

struct DisagreementTable {
    std::vector<std::string> names;  // the labels first
    std::vector<double> fractions;   // (names, names), symmetric, zero on the diagonal
    std::size_t images = 0;

    double at(std::size_t row, std::size_t column) const {
        return fractions[row * names.size() + column];
    }
};

// `labels`: the right answers of each image. A classifier disagrees with them when its answer is
// none of them. Throws Error when the lists differ in length or are empty.
DisagreementTable disagreement(const std::vector<std::vector<std::int64_t>>& labels,
                               const std::vector<Decisions>& classifiers);

}  // namespace cait
