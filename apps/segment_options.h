// How a command shows images of any size to a model that segments.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "evaluate/segment_image.h"
#include "executor.h"

namespace cait::app {

struct SegmentArguments {
    std::string mode;     // empty: as the model can
    std::string padding;  // empty: exact
    std::int64_t short_side = 0, long_side = 0, window = 0, stride = 0;
    std::vector<double> scales;
    bool flip = false;

    void add_to(CLI::App& command);
    // Throws UsageError that names the first option that was given: the model does not segment.
    void expect_none(const std::string& model) const;
    // The same but for --short-side and --long-side, which detectors have, too.
    void expect_sides_alone(const std::string& model) const;
    // Throws UsageError where they cannot be carried out.
    SegmentOptions options(const SegmentNetwork& network) const;
    std::string text(const SegmentOptions& options) const;  // "whole, short side 512"
};

std::string mode_name(SegmentOptions::Mode mode);

// A segmenter by the engine, or by LibTorch for windows of the model's own size; `executor` keeps
// the latter's.
ImageSegmenter make_segmenter(const Model& model, const SegmentArguments& arguments,
                              const ExecutorOptions& running, std::unique_ptr<Executor>& executor);

}  // namespace cait::app
