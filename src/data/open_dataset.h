// The one entrance to all data sets (data/data_source.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/data_source.h"

namespace cait {

// `hint` chooses the part where the name does not: training opens the same name with
// Split::train and with Split::val. Throws UsageError for a wrong name, Error for wrong data.
// Every source takes ?classes=FILE, one name per line: it gives numbered classes their names, and
// it sets the order of the others; ?parents=FILE, a table of what the classes belong to; and
// ?level=NAME, the level that the labels are of (data/levels.h).
DatasetPtr open_dataset(std::string_view uri, Split hint = Split::any);

// Whether `part` of this data set is another one than Split::train of it: "folder:photos" has a
// part val where photos/val is a folder, "folder:photos/train" has none. Throws as open_dataset
// does for a wrong name.
bool has_part(std::string_view uri, Split part);

// Whether Split::val of this name opens what the data set's authors call the test part (CIFAR and
// others have no third one): what is chosen on it is chosen on test data. Throws as open_dataset
// does for a wrong name.
bool validates_on_test(std::string_view uri);

// What there is to look at under a name: the parts of a folder that holds train/ and val/, each by
// its own name, or the name itself.
std::vector<std::string> dataset_parts(std::string_view uri);

}  // namespace cait
