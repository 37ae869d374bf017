// Writes event files that TensorBoard shows. The records are small protocol buffer messages, which
// are encoded here: a generated schema would be the larger dependency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "image/image.h"
#include "system/growing_file.h"

namespace cait {

// A setting of a run, for TensorBoard's table of hyper-parameters.
struct HyperParameter {
    std::string name;  // "optim.lr"
    std::variant<double, bool, std::string> value;
};

class TensorBoardWriter {
public:
    // Makes a new events.out.tfevents.* file in the folder: a resumed run adds one, and TensorBoard
    // reads them in turn.
    explicit TensorBoardWriter(const FolderPtr& folder);

    // "loss/train": what stands before the slash groups charts.
    void scalar(std::string_view tag, std::int64_t step, double value);
    void text(std::string_view tag, std::int64_t step, std::string_view markdown);
    void image(std::string_view tag, std::int64_t step, const Image& image);

    // The row of this run in the table of hyper-parameters; its metrics are the scalars.
    void hyper_parameters(std::span<const HyperParameter> values);
    void ended(bool well);

    // A run goes on after the checkpoint of `step`: what earlier files say of later steps is
    // forgotten.
    void resumed_at(std::int64_t step);

    std::filesystem::path file() const { return file_.place().path(); }

private:
    void write_event(std::int64_t step, std::string_view content);
    void write_session(std::string_view tag, std::string_view data);

    GrowingFile file_;
};

}  // namespace cait
