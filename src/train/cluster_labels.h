// ClusterFit+ (thesis, section 2.4.2; Yan et al. 2019, arXiv 1912.03330): images are labelled by
// the cluster that another model's features put them into, and a new network learns these labels.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/recipe/recipe.h"

namespace cait {

struct ClusteredData {
    DatasetPtr images;  // the same ones, with classes "cluster 0" …
    std::string note;   // for people
};

// Those that a run has started with; throws Error, naming the file `source` that they come from,
// where the images or part.count are others. What k-means finds may differ from machine to machine,
// and its model may be gone.
ClusteredData known_clusters(const ClusterPart& part, const DatasetPtr& images,
                             std::vector<std::int64_t> of_image, const std::string& source);

// By the features of the part's model at unit length; a function of the file, the images and the
// seed. Throws UsageError for more clusters than images.
ClusteredData cluster_labels(const ClusterPart& part, const DatasetPtr& images, std::uint64_t seed,
                             int threads);

}  // namespace cait
