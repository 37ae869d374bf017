// Where published weights are kept on this machine, and how they get there.
#pragma once

#include <filesystem>

#include "weights/published/published_weights.h"

namespace cait {

// $CAIT_CACHE/weights, otherwise in the user's cache folder. Throws Error when there is no home.
std::filesystem::path weight_cache();

// Fetches into `target` unless it is there and right: from the publisher, or from $CAIT_MIRROR, an
// address or a folder that has the file by the publisher's path or by its name alone. Two programs
// may do so at once: the second waits. Throws Error that says how to do it by hand when the
// publisher cannot be reached.
Downloaded fetch_published(const PublishedWeights& weights, const std::filesystem::path& target,
                           DownloadOptions options = {});

}  // namespace cait
