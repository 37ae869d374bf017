#include "system/download/download_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/display_name.h"
#include "base/suggest.h"
#include "cait/error.h"

namespace cait {

namespace {

ListedFile file(std::string name, std::uint64_t size, std::string md5) {
    return {std::move(name), {size, Checksum{DigestKind::md5, std::move(md5)}}};
}

}  // namespace

std::uint64_t ListedDataset::size() const {
    std::uint64_t sum = 0;
    for (const ListedFile& f : files) sum += f.expected.size.value_or(0);
    return sum;
}

const std::vector<ListedDataset>& downloadable_datasets() {
    static const std::vector<ListedDataset> kDatasets{
        {"cifar10",
         "60,000 photos of 32x32 in 10 classes",
         "https://www.cs.toronto.edu/~kriz",
         {file("cifar-10-binary.tar.gz", 170'052'171, "c32a1d4ab5d03f1284b67883e8d87530")}},
        {"cifar100",
         "60,000 photos of 32x32 in 100 classes of 20 groups",
         "https://www.cs.toronto.edu/~kriz",
         {file("cifar-100-binary.tar.gz", 168'513'733, "03b5dce01913d631647c71ecec9e9cb8")}},
        // The first address of MNIST no longer serves the files; this is the copy that PyTorch
        // uses.
        {"mnist",
         "70,000 handwritten digits of 28x28",
         "https://ossci-datasets.s3.amazonaws.com/mnist",
         {file("train-images-idx3-ubyte.gz", 9'912'422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
          file("train-labels-idx1-ubyte.gz", 28'881, "d53e105ee54ea40749a09fcbcd1e9432"),
          file("t10k-images-idx3-ubyte.gz", 1'648'877, "9fb629c4189551a2d022fa330f9573f3"),
          file("t10k-labels-idx1-ubyte.gz", 4'542, "ec29112dd5afa0611ce80d1b7f02629c")}},
        {"fashion-mnist",
         "70,000 pictures of clothes of 28x28 in 10 classes",
         "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
         {file("train-images-idx3-ubyte.gz", 26'421'880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
          file("train-labels-idx1-ubyte.gz", 29'515, "25c81989df183df01b3e8a0aad5dffbe"),
          file("t10k-images-idx3-ubyte.gz", 4'422'102, "bef4ecab320f06d8554ea6380940ec79"),
          file("t10k-labels-idx1-ubyte.gz", 5'148, "bb300cfdad3c16e7a12a480ee83cd310")}},
    };
    return kDatasets;
}

const ListedDataset& find_downloadable(std::string_view name) {
    std::vector<std::string> names;
    for (const ListedDataset& dataset : downloadable_datasets()) {
        if (dataset.name == name) return dataset;
        names.push_back(dataset.name);
    }
    throw UsageError(fmt::format("unknown data set {}; did you mean '{}'? There are {}",
                                 display_name(name), nearest_names(name, names, 1)[0],
                                 fmt::join(names, ", ")));
}

std::string join_address(std::string_view folder, std::string_view file) {
    while (folder.ends_with('/')) folder.remove_suffix(1);
    return fmt::format("{}/{}", folder, file);
}

}  // namespace cait
