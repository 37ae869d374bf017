#include "data_open.h"

#include "data/open_dataset.h"
#include "evaluate/match_classes.h"
#include "output.h"

namespace cait::app {

namespace {

void show_notes(const Dataset& dataset, std::size_t shown) {
    for (std::size_t i = shown; i < dataset.notes().size(); ++i)
        print_error("note: {}\n", dataset.notes()[i]);
}

}  // namespace

DatasetPtr open_data(const std::string& uri, Split part) {
    DatasetPtr dataset = open_dataset(uri, part);
    show_notes(*dataset, 0);
    return dataset;
}

DatasetPtr match_data(const DatasetPtr& data, const std::vector<std::string>& names,
                      std::size_t count, const std::string& model) {
    DatasetPtr dataset = match_classes(data, names, count, model);
    show_notes(*dataset, data->notes().size());
    return dataset;
}

}  // namespace cait::app
