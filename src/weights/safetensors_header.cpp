#include "weights/safetensors_header.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/printable.h"
#include "cait/error.h"
#include "system/memory_budget.h"
#include "weights/metadata_json.h"

namespace cait {

namespace {

constexpr std::array kDTypeNames{
    std::pair<std::string_view, DType>{"F32", DType::f32},
    std::pair<std::string_view, DType>{"F16", DType::f16},
    std::pair<std::string_view, DType>{"BF16", DType::bf16},
    std::pair<std::string_view, DType>{"F64", DType::f64},
    std::pair<std::string_view, DType>{"I8", DType::i8},
    std::pair<std::string_view, DType>{"I16", DType::i16},
    std::pair<std::string_view, DType>{"I32", DType::i32},
    std::pair<std::string_view, DType>{"I64", DType::i64},
    std::pair<std::string_view, DType>{"U8", DType::u8},
    std::pair<std::string_view, DType>{"BOOL", DType::boolean},
};

constexpr std::size_t kHighestRank = 64;
constexpr std::string_view kMetadata = "__metadata__";

// Receives the events of the JSON parser. The format allows three levels and no more.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    HeaderEvents(SafetensorsHeader& header, const std::string& file)
        : header_(header), file_(file) {}

    bool null() override { wrong_value("null"); }
    bool boolean(bool) override { wrong_value("a boolean"); }
    bool binary(binary_t&) override { wrong_value("binary data"); }

    bool number_integer(number_integer_t value) override {
        fail(fmt::format("{}: expected a non-negative integer, found {}", field_, value));
    }

    bool number_float(number_float_t, const string_t& text) override {
        fail(fmt::format("{}: expected a non-negative integer, found {}", field_,
                         printable(text, 40)));
    }

    bool number_unsigned(number_unsigned_t value) override {
        if (place_ == Place::shape) {
            if (value > number_unsigned_t(std::numeric_limits<std::int64_t>::max()))
                fail(fmt::format("shape: overflow: extent {} is too large", value));
            if (shape_.size() == kHighestRank)
                fail(fmt::format("shape: more than {} extents", kHighestRank));
            shape_.push_back(std::int64_t(value));
        } else if (place_ == Place::offsets) {
            if (offset_count_ == 2) fail("data_offsets: expected 2 numbers, found more");
            (offset_count_++ == 0 ? tensor_.begin : tensor_.end) = value;
        } else {
            wrong_value("a number");
        }
        return true;
    }

    bool string(string_t& value) override {
        if (place_ == Place::metadata) {
            header_.metadata[field_] = std::move(value);
        } else if (place_ == Place::tensor && field_ == "dtype") {
            set_dtype(value);
        } else {
            wrong_value("a string");
        }
        return true;
    }

    bool start_object(std::size_t) override {
        if (place_ == Place::document)
            place_ = Place::tensors;
        else if (place_ == Place::tensors)
            place_ = tensor_.name == kMetadata ? Place::metadata : Place::tensor;
        else
            wrong_value("an object (nested too deeply)");
        return true;
    }

    bool start_array(std::size_t) override {
        if (place_ == Place::tensor && field_ == "shape")
            place_ = Place::shape;
        else if (place_ == Place::tensor && field_ == "data_offsets")
            place_ = Place::offsets;
        else
            wrong_value("a list (nested too deeply)");
        return true;
    }

    bool key(string_t& key) override {
        if (place_ == Place::tensors) {
            if (!names_.insert(key).second)
                throw Error(fmt::format("{}: duplicate key '{}'", file_, printable(key)));
            tensor_ = {};
            tensor_.name = std::move(key);
            shape_.clear();
            offset_count_ = 0;
            has_dtype_ = has_shape_ = false;
        } else {
            check_field(key);
        }
        return true;
    }

    bool end_object() override {
        if (place_ == Place::tensor) finish_tensor();
        place_ = place_ == Place::tensors ? Place::document : Place::tensors;
        field_.clear();
        return true;
    }

    bool end_array() override {
        if (place_ == Place::offsets && offset_count_ != 2)
            fail(fmt::format("data_offsets: expected 2 numbers, found {}", offset_count_));
        if (place_ == Place::shape) has_shape_ = true;
        place_ = Place::tensor;
        return true;
    }

    bool parse_error(std::size_t position, const std::string& token,
                     const nlohmann::json::exception& error) override {
        constexpr int kNumberOverflow = 406;
        if (error.id == kNumberOverflow)
            fail(fmt::format("{}: number {} is out of range", field_, printable(token, 40)));
        throw Error(fmt::format("{}: header is not valid JSON at byte {}", file_, position));
    }

private:
    enum class Place { document, tensors, metadata, tensor, shape, offsets };

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(fmt::format("{}: tensor '{}': {}", file_, printable(tensor_.name), what));
    }

    [[noreturn]] void wrong_value(std::string_view found) const {
        switch (place_) {
            case Place::document:
                throw Error(fmt::format("{}: header: expected an object, found {}", file_, found));
            case Place::metadata:
                throw Error(fmt::format("{}: __metadata__ '{}': expected a string, found {}", file_,
                                        printable(field_), found));
            case Place::tensors: fail(fmt::format("expected an object, found {}", found));
            case Place::tensor: fail(fmt::format("{}: unexpected {}", field_, found));
            case Place::shape:
            case Place::offsets:
                fail(fmt::format("{}: expected a non-negative integer, found {}", field_, found));
        }
        fail("unexpected value");
    }

    void check_field(string_t& key) {
        if (place_ == Place::metadata) {
            if (header_.metadata.contains(key))
                throw Error(
                    fmt::format("{}: __metadata__: duplicate key '{}'", file_, printable(key)));
        } else {
            if (key != "dtype" && key != "shape" && key != "data_offsets")
                fail(fmt::format("unknown field '{}'", printable(key)));
            if ((key == "dtype" && has_dtype_) || (key == "shape" && has_shape_) ||
                (key == "data_offsets" && offset_count_ > 0))
                fail(fmt::format("duplicate key '{}'", key));
        }
        field_ = std::move(key);
    }

    void set_dtype(const std::string& value) {
        for (const auto& [name, dtype] : kDTypeNames) {
            if (name != value) continue;
            tensor_.dtype = dtype;
            has_dtype_ = true;
            return;
        }
        fail(fmt::format("dtype '{}' is not supported", printable(value)));
    }

    void finish_tensor() {
        if (!has_dtype_) fail("has no dtype");
        if (!has_shape_) fail("has no shape");
        if (offset_count_ != 2) fail("has no data_offsets");
        tensor_.shape = Shape(shape_);
        header_.tensors.push_back(std::move(tensor_));
    }

    SafetensorsHeader& header_;
    const std::string& file_;
    std::unordered_set<std::string> names_;
    Place place_ = Place::document;
    TensorHeader tensor_;
    std::string field_;
    std::vector<std::int64_t> shape_;
    int offset_count_ = 0;
    bool has_dtype_ = false;
    bool has_shape_ = false;
};

// The parser holds a text several times over before anyone sees how long it is.
void refuse_long_texts(std::string_view json, const std::string& file) {
    for (std::size_t at = json.find('"'); at != std::string_view::npos; at = json.find('"', at)) {
        const std::size_t start = ++at;
        while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
        if (at >= json.size()) return;  // the parser will say that it has no end
        if (at - start > kLongestMetadata)
            throw Error(
                fmt::format("{}: header: expected texts of at most {} bytes, found {} at "
                            "byte {}",
                            file, kLongestMetadata, at - start, start));
        ++at;
    }
}

}  // namespace

std::string_view safetensors_dtype_name(DType dtype) noexcept {
    for (const auto& [name, candidate] : kDTypeNames)
        if (candidate == dtype) return name;
    return "?";
}

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file) {
    const std::size_t first = json.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || json[first] != '{')
        throw Error(fmt::format("{}: header: expected an object that starts with '{{'", file));
    // The JSON parser takes a zero byte for the end and would ignore whatever follows it.
    if (const std::size_t zero = json.find('\0'); zero != std::string_view::npos)
        throw Error(fmt::format("{}: header is not valid JSON at byte {}", file, zero));
    refuse_long_texts(json, file);
    constexpr std::uint64_t kParsed = 8;  // bytes for each one of the text, names and all
    const MemoryShare memory =
        MemoryBudget::of_process().reserve(kParsed * json.size(), file + ": header");
    SafetensorsHeader header;
    HeaderEvents events(header, file);
    nlohmann::json::sax_parse(json.data(), json.data() + json.size(), &events);
    return header;
}

}  // namespace cait
