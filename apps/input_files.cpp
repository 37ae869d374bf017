#include "input_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "cait/error.h"
#include "data.h"
#include "data/dataset_uri.h"
#include "system/open_file.h"
#include "weights/published/resolve_weights.h"

namespace cait::app {

const OutputFile& OutputFile::not_in(const std::string& input) const {
    if (name_.empty() || input.empty()) return *this;
    const auto output = file_id(name_);
    // What is written to as it is replaces nothing.
    if (!output || *output != file_id(input) || !std::filesystem::is_regular_file(name_))
        return *this;
    throw UsageError(
        fmt::format("{}: would be written over, but is read as {}: expected another "
                    "name for the output",
                    name_, input));
}

const OutputFile& OutputFile::not_in(const std::vector<std::string>& inputs) const {
    for (const std::string& input : inputs) not_in(input);
    return *this;
}

const OutputFile& OutputFile::not_in_weights(const std::string& weights) const {
    const auto run = run_weights(weights);
    if (!run) return not_in(weights);
    for (const char* file : {"best.safetensors", "last.safetensors", "last_ema.safetensors"})
        not_in((run->folder / file).string());
    return *this;
}

const OutputFile& OutputFile::not_in_data(const std::string& uri) const {
    return uri.empty() ? *this : not_in(parse_dataset_uri(uri).path);
}

const OutputFile& OutputFile::not_in(const Dataset& images) const {
    if (!file_id(name_)) return *this;
    for (std::size_t i = 0; i < images.size(); ++i)
        if (const auto file = images.file(i)) not_in(file->string());
    return *this;
}

}  // namespace cait::app
