// How a command shows images of any size to a model that detects.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "evaluate/detect_image.h"
#include "executor.h"
#include "segment_options.h"

namespace cait::app {

// Of the options of segmentation a detector takes the sides that images are resized to. Throws
// UsageError that names another one that was given.
DetectOptions detect_options(const SegmentArguments& sides, const std::string& model);

// A detector by the engine, or by LibTorch; `executor` keeps the latter's.
ImageDetector make_detector(const Model& model, const DetectOptions& options,
                            const ExecutorOptions& running, std::unique_ptr<Executor>& executor);

}  // namespace cait::app
