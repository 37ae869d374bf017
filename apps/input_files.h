// Keeps a command from writing over what it reads.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace cait::app {

// The files that a command reads, each asked with the name of what it writes. A name stands for the
// file behind it, through links of either kind. Throws UsageError where they are the same file.
class OutputFile {
public:
    explicit OutputFile(std::string name) : name_(std::move(name)) {}

    // Returns itself, so that calls can follow each other. An empty name is no file.
    const OutputFile& not_in(const std::string& input) const;
    const OutputFile& not_in(const std::vector<std::string>& inputs) const;
    const OutputFile& not_in_weights(
        const std::string& weights) const;                        // a file, or a run's folder
    const OutputFile& not_in_data(const std::string& uri) const;  // the file that it names
    const OutputFile& not_in(const Dataset& images) const;

private:
    std::string name_;
};

}  // namespace cait::app
