#include "data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/formats/csv_reader.h"
#include "data/levels.h"
#include "data/random.h"
#include "system/atomic_file.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

struct Share {
    std::int64_t label = 0;
    std::vector<std::size_t> samples;
    std::size_t held_out = 0;
    double remainder = 0;
};

// Hands out what rounding down has left over.
void distribute(std::vector<Share>& shares, std::size_t left) {
    std::vector<Share*> order;
    for (Share& share : shares) order.push_back(&share);
    std::ranges::stable_sort(order, std::greater{}, &Share::remainder);
    for (Share* share : order) {
        if (left == 0) return;
        if (share->held_out + 1 >= share->samples.size()) continue;
        ++share->held_out;
        --left;
    }
}

}  // namespace

SplitIndices stratified_split(std::span<const std::int64_t> labels, double fraction,
                              std::uint64_t seed) {
    if (!(fraction > 0 && fraction < 1))
        throw UsageError(
            fmt::format("split: expected a fraction between 0 and 1, found {}", fraction));
    std::map<std::int64_t, std::vector<std::size_t>> by_class;
    for (std::size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(i);

    std::vector<Share> shares;
    auto left = std::size_t(std::llround(fraction * double(labels.size())));
    for (auto& [label, samples] : by_class) {
        const double exact = fraction * double(samples.size());
        const std::size_t most = samples.size() - 1, least = std::min<std::size_t>(1, most);
        const std::size_t whole = std::clamp(std::size_t(exact), least, most);
        shares.push_back({label, std::move(samples), whole, exact - double(whole)});
        left -= std::min(left, whole);
    }
    distribute(shares, left);

    SplitIndices result;
    for (Share& share : shares) {
        RandomStream random(seed, stable_hash("stratified split") + std::uint64_t(share.label));
        shuffle(std::span(share.samples), random);
        const auto middle = share.samples.begin() + std::ptrdiff_t(share.held_out);
        result.held_out.insert(result.held_out.end(), share.samples.begin(), middle);
        result.kept.insert(result.kept.end(), middle, share.samples.end());
    }
    std::ranges::sort(result.kept);
    std::ranges::sort(result.held_out);
    return result;
}

namespace {

// The same in every run, wherever it was started.
std::string stable_name(const Dataset& dataset, std::size_t index) {
    const auto file = dataset.file(index);
    return file ? std::filesystem::absolute(*file).lexically_normal().string()
                : dataset.name(index);
}

Holdout divided(const DatasetPtr& dataset, const SplitIndices& parts) {
    return {subset(dataset, parts.kept), subset(dataset, parts.held_out)};
}

}  // namespace

DatasetPtr first_of_each_class(DatasetPtr dataset, std::int64_t count) {
    require_one_label(*dataset, "per_class");
    const std::vector<std::int64_t> labels = labels_of(*dataset);
    std::vector<std::int64_t> found(dataset->classes().size());
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (found[std::size_t(labels[i])]++ < count) kept.push_back(i);
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] < count)
            throw Error(fmt::format(
                "{}: per_class: expected at least {} images of class {}, found "
                "{}",
                dataset->source(), count, display_name(dataset->classes()[i]), found[i]));
    return subset(std::move(dataset), std::move(kept));
}

Holdout hold_out(const DatasetPtr& dataset, double fraction, std::uint64_t seed) {
    return divided(dataset, stratified_split(labels_of(*dataset), fraction, seed));
}

void write_holdout(const Dataset& held_out, const FilePlace& file) {
    std::string text = "path,label\n";
    for (std::size_t i = 0; i < held_out.size(); ++i)
        text += fmt::format("{},{}\n", csv_field(stable_name(held_out, i)),
                            csv_field(held_out.label_text(i)));
    AtomicFile out(file);
    out.write(text);
    out.commit();
}

Holdout read_holdout(const DatasetPtr& dataset, const FilePlace& file) {
    const std::string text = read_text(file, kLargestTable);
    CsvReader reader(text, file.string());
    std::unordered_map<std::string, std::size_t> line_of;
    std::vector<std::string> row;
    reader.next(row);  // the header
    // One row more than there are images is of none of them, and said so below.
    while (line_of.size() <= dataset->size() && reader.next(row))
        line_of.emplace(row.front(), reader.line());
    SplitIndices parts;
    for (std::size_t i = 0; i < dataset->size(); ++i)
        (line_of.erase(stable_name(*dataset, i)) > 0 ? parts.held_out : parts.kept).push_back(i);
    if (!line_of.empty())
        throw Error(fmt::format(
            "{}:{}: '{}' is not among the images of {} any more; the run cannot tell which images "
            "it may train on",
            file.string(), line_of.begin()->second, line_of.begin()->first, dataset->source()));
    return divided(dataset, parts);
}

}  // namespace cait
