#include "evaluate/embedded_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/convert.h"
#include "base/display_name.h"
#include "cait/error.h"
#include "system/memory_budget.h"
#include "weights/safetensors.h"

namespace cait {

namespace {

constexpr const char* kFacts = "cait.embedding";

Tensor integers(const auto& values) {
    Tensor tensor = Tensor::empty(DType::i64, {std::int64_t(values.size())});
    std::vector<std::int64_t> wide(values.begin(), values.end());
    std::memcpy(tensor.mutable_bytes().data(), wide.data(), wide.size() * sizeof(std::int64_t));
    return tensor;
}

// One name per line, as bytes: a header of a million names would be refused by other readers.
Tensor lines(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        if (name.find('\n') != std::string::npos)
            throw Error(
                fmt::format("{}: the name of an image holds a line end", display_name(name)));
        text += name + "\n";
    }
    Tensor tensor = Tensor::empty(DType::u8, {std::int64_t(text.size())});
    std::memcpy(tensor.mutable_bytes().data(), text.data(), text.size());
    return tensor;
}

nlohmann::json facts_of(const EmbeddedSet& set) {
    nlohmann::json levels = nlohmann::json::array();
    for (const LabelLevel& level : set.levels)
        levels.push_back({{"name", level.name},
                          {"classes", level.classes.names},
                          {"numbered", level.classes.numbered}});
    return {{"model", set.maker.model}, {"fingerprint", set.maker.fingerprint},
            {"tap", set.maker.tap},     {"flip", set.maker.flip},
            {"data", set.data},         {"part", set.part},
            {"rows", set.vectors.rows}, {"columns", set.vectors.columns},
            {"levels", levels}};
}

// Reads one file; every message names it.
class Reader {
public:
    explicit Reader(const std::filesystem::path& file)
        : name_(file.string()), content_(TensorFile::open(file)) {}

    EmbeddedSet read(bool with_vectors) {
        EmbeddedSet set;
        try {
            read_facts(set);
        } catch (const nlohmann::json::exception&) {
            fail(fmt::format("{} in its metadata is not what `cait embed` writes", kFacts));
        }
        set.names = read_names(set.vectors.rows);
        for (const std::int64_t index : read_integers("indices", set.vectors.rows, INT64_MAX))
            set.indices.push_back(std::size_t(index));
        for (LabelLevel& level : set.levels)
            level.labels = read_integers("labels." + level.name, set.vectors.rows,
                                         std::int64_t(level.classes.names.size()));
        if (with_vectors) read_vectors(set.vectors);
        return set;
    }

private:
    [[noreturn]] void fail(const std::string& text) const {
        throw Error(fmt::format("{}: {}", name_, text));
    }

    void read_facts(EmbeddedSet& set) const {
        const auto text = content_.metadata.find(kFacts);
        if (text == content_.metadata.end())
            fail("expected vectors of images as `cait embed` writes them");
        const nlohmann::json facts = nlohmann::json::parse(text->second);
        facts.at("model").get_to(set.maker.model);
        facts.at("fingerprint").get_to(set.maker.fingerprint);
        facts.at("tap").get_to(set.maker.tap);
        facts.at("flip").get_to(set.maker.flip);
        facts.at("data").get_to(set.data);
        facts.at("part").get_to(set.part);
        facts.at("rows").get_to(set.vectors.rows);
        facts.at("columns").get_to(set.vectors.columns);
        for (const nlohmann::json& one : facts.at("levels")) {
            LabelLevel level;
            one.at("name").get_to(level.name);
            one.at("classes").get_to(level.classes.names);
            one.at("numbered").get_to(level.classes.numbered);
            set.levels.push_back(std::move(level));
        }
    }

    Tensor tensor(const std::string& wanted, DType dtype, const Shape& shape) const {
        const auto found = std::ranges::find(content_.tensors, wanted, &NamedTensor::name);
        if (found == content_.tensors.end()) fail(fmt::format("{} is missing", wanted));
        if (found->tensor.dtype() != dtype || found->tensor.shape() != shape)
            fail(fmt::format("{}: expected {} {}, found {} {}", wanted, name_of(dtype),
                             shape.to_string(), name_of(found->tensor.dtype()),
                             found->tensor.shape().to_string()));
        return found->tensor;
    }

    std::vector<std::int64_t> read_integers(const std::string& wanted, std::size_t count,
                                            std::int64_t below) const {
        const Tensor found = tensor(wanted, DType::i64, {std::int64_t(count)});
        std::vector<std::int64_t> values(count);
        std::memcpy(values.data(), found.bytes(), found.byte_size());
        for (const std::int64_t value : values)
            if (value < 0 || value >= below)
                fail(fmt::format("{}: expected 0 to {}, found {}", wanted, below - 1, value));
        return values;
    }

    std::vector<std::string> read_names(std::size_t count) const {
        const auto found =
            std::ranges::find(content_.tensors, std::string("names"), &NamedTensor::name);
        if (found == content_.tensors.end() || found->tensor.dtype() != DType::u8)
            fail("names: expected bytes, one line for each image");
        const std::string_view text(reinterpret_cast<const char*>(found->tensor.bytes()),
                                    found->tensor.byte_size());
        std::vector<std::string> names;
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            names.emplace_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
        if (names.size() != count)
            fail(fmt::format("names: expected {} lines, found {}", count, names.size()));
        return names;
    }

    void read_vectors(Vectors& vectors) const {
        const Shape shape{std::int64_t(vectors.rows), std::int64_t(vectors.columns)};
        const Tensor found = tensor("features", DType::f32, shape);
        const MemoryShare share =
            MemoryBudget::of_process().reserve(found.byte_size(), display_name(name_));
        vectors.values.resize(std::size_t(found.count()));
        std::memcpy(vectors.values.data(), found.bytes(), found.byte_size());
    }

    std::string name_;
    TensorFile content_;
};

}  // namespace

void write_embedded_set(const std::filesystem::path& file, const EmbeddedSet& set) {
    std::vector<NamedTensor> tensors{{"names", lines(set.names)},
                                     {"indices", integers(set.indices)}};
    if (!set.vectors.values.empty())
        tensors.push_back({"features", Tensor::of({std::int64_t(set.vectors.rows),
                                                   std::int64_t(set.vectors.columns)},
                                                  set.vectors.values)});
    for (const LabelLevel& level : set.levels)
        tensors.push_back({"labels." + level.name, integers(level.labels)});
    using Handler = nlohmann::json::error_handler_t;
    write_safetensors(file, tensors,
                      {{kFacts, facts_of(set).dump(-1, ' ', false, Handler::replace)}});
}

EmbeddedSet read_embedded_set(const std::filesystem::path& file, bool with_vectors) {
    return Reader(file).read(with_vectors);
}

EmbeddedSet read_beside_index(const std::string& index, std::size_t rows, std::size_t columns) {
    EmbeddedSet known = read_embedded_set(beside_index(index), false);
    const Vectors& told = known.vectors;
    if (told.rows != rows || told.columns != columns)
        throw Error(
            fmt::format("{}: expected an index of {} vectors of {} numbers, as {} says, "
                        "found {} of {}",
                        index, told.rows, told.columns, beside_index(index), rows, columns));
    return known;
}

void check_same_maker(const EmbeddingMaker& made, const EmbeddingMaker& now,
                      const std::string& file) {
    if (made.model != now.model || made.fingerprint != now.fingerprint)
        throw Error(
            fmt::format("{}: was made by {} with other weights than these ({}, {:.12} in "
                        "place of {:.12})",
                        file, made.model, now.model, now.fingerprint, made.fingerprint));
    if (made.tap != now.tap || made.flip != now.flip)
        throw Error(fmt::format("{}: was made from {}{}, not from {}{}", file, made.tap,
                                made.flip ? " with flips" : "", now.tap,
                                now.flip ? " with flips" : ""));
}

}  // namespace cait
