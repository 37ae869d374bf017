#include "data/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/dataset.h"
#include "data/formats/csv_reader.h"
#include "data/imagenet_classes.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

LabelLevel own_level(const Dataset& dataset, std::string name) {
    return {std::move(name), dataset.class_list(), labels_of(dataset)};
}

class AtLevel final : public ForwardingDataset {
public:
    AtLevel(DatasetPtr inner, ClassList classes, std::vector<std::int64_t> labels)
        : ForwardingDataset(std::move(inner), std::move(classes)), labels_(std::move(labels)) {}

    std::int64_t label(std::size_t i) const override { return labels_[i]; }
    std::vector<std::int64_t> labels(std::size_t i) const override { return {labels_[i]}; }
    std::vector<std::size_t> stretches() const override { return inner().stretches(); }

private:
    std::vector<std::int64_t> labels_;
};

// A level above the classes of a data set.
struct ParentLevel {
    std::string name;
    ClassList classes;
    std::vector<std::int64_t> parents;  // of each class of the data set, into classes
};

class WithParents final : public ForwardingDataset {
public:
    WithParents(DatasetPtr inner, std::string own, std::vector<ParentLevel> above)
        : ForwardingDataset(inner, inner->class_list()),
          own_(std::move(own)),
          above_(std::move(above)) {}

    std::vector<std::size_t> stretches() const override { return inner().stretches(); }
    std::vector<std::string> levels() const override {
        std::vector<std::string> names;
        for (const ParentLevel& one : above_) names.push_back(one.name);
        names.push_back(own_);
        return names;
    }
    LabelLevel level(const std::string& name) const override {
        LabelLevel result = own_level(inner(), own_);
        if (name == own_) return result;
        const auto found = std::ranges::find(above_, name, &ParentLevel::name);
        if (found == above_.end()) no_level(name);
        for (std::int64_t& label : result.labels) label = found->parents[std::size_t(label)];
        return {found->name, found->classes, std::move(result.labels)};
    }

private:
    std::string own_;
    std::vector<ParentLevel> above_;  // coarsest first
};

struct ParentTable {
    std::vector<std::string> header;
    std::unordered_map<std::string, std::vector<std::string>> rows;  // by class
};

ParentTable read_table(const std::filesystem::path& file) {
    const std::string text = read_text(file);
    CsvReader reader(text, file.string());
    ParentTable table;
    std::vector<std::string> row;
    if (!reader.next(table.header) || table.header.size() < 2)
        throw Error(fmt::format("{}: expected a header row such as class,group, found {}",
                                file.string(),
                                table.header.empty() ? "an empty file" : "one column"));
    while (reader.next(row)) {
        const auto where = [&] { return fmt::format("{}:{}", file.string(), reader.line()); };
        if (row.size() != table.header.size())
            throw Error(fmt::format("{}: expected {} fields, found {}", where(),
                                    table.header.size(), row.size()));
        if (const auto empty = std::ranges::find(row, std::string()); empty != row.end())
            throw Error(fmt::format("{}: the {} is empty", where(),
                                    table.header[std::size_t(empty - row.begin())]));
        std::string name = row.front();
        if (!table.rows.emplace(name, row).second)
            throw Error(
                fmt::format("{}: class {} stands here a second time", where(), display_name(name)));
    }
    return table;
}

// ImageNet's coarse classes, for data whose classes are WordNet ids or the names that model files
// have.
ParentTable imagenet_table() {
    ParentTable table{{"class", "coarse"}, {}};
    for (const ImageNetParent& one : imagenet_parents()) {
        table.rows[one.wordnet_id] = {one.wordnet_id, one.coarse};
        if (const auto name = imagenet_name(one.wordnet_id))
            table.rows[*name] = {*name, one.coarse};
    }
    return table;
}

}  // namespace

DatasetPtr at_level(DatasetPtr dataset, const std::string& level) {
    if (dataset->has_objects())
        throw UsageError(
            fmt::format("{}: level {}: expected images with one label each, found objects in them",
                        dataset->source(), display_name(level)));
    if (level == kOneClass || level == "one") {
        ClassList one{{std::string(kOneClass)}, false};
        std::vector<std::int64_t> labels(dataset->size(), 0);
        return relabelled(std::move(dataset), std::move(one), std::move(labels));
    }
    LabelLevel found = dataset->level(level);
    return relabelled(std::move(dataset), std::move(found.classes), std::move(found.labels));
}

DatasetPtr relabelled(DatasetPtr dataset, ClassList classes, std::vector<std::int64_t> labels) {
    return std::make_shared<AtLevel>(std::move(dataset), std::move(classes), std::move(labels));
}

std::vector<std::int64_t> labels_of(const Dataset& dataset) {
    std::vector<std::int64_t> labels(dataset.size());
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = dataset.label(i);
    return labels;
}

std::vector<LabelLevel> all_levels(const Dataset& dataset) {
    std::vector<LabelLevel> all;
    for (const std::string& name : dataset.levels()) all.push_back(dataset.level(name));
    if (all.empty()) all.push_back(own_level(dataset, "label"));
    return all;
}

DatasetPtr with_parents(DatasetPtr dataset, const std::filesystem::path& file) {
    const ParentTable table = file == kImageNetTable ? imagenet_table() : read_table(file);
    std::vector<ParentLevel> above;
    for (std::size_t column = 1; column < table.header.size(); ++column) {
        std::vector<std::string> parents;
        for (const std::string& name : dataset->classes()) {
            const auto row = table.rows.find(name);
            if (row == table.rows.end())
                throw Error(fmt::format("{}: expected a row for class {} of {}", file.string(),
                                        display_name(name), dataset->source()));
            parents.push_back(row->second[column]);
        }
        IndexedLabels indexed = index_labels(parents);
        above.push_back(
            {table.header[column], std::move(indexed.classes), std::move(indexed.labels)});
    }
    std::ranges::stable_sort(above, {},
                             [](const ParentLevel& level) { return level.classes.names.size(); });
    return std::make_shared<WithParents>(std::move(dataset), table.header.front(),
                                         std::move(above));
}

}  // namespace cait
