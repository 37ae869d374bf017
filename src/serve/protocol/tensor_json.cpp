#include "serve/protocol/tensor_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/display_name.h"
#include "serve/http/message.h"

namespace cait::serve {

namespace {

using nlohmann::json;

[[noreturn]] void refuse_json(const std::string& text) { throw HttpError(400, "JSON: " + text); }

// Receives the events of the parser.
class Events : public nlohmann::json_sax<json> {
public:
    explicit Events(bool with_tensors) : with_tensors_(with_tensors) {}

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override {
        return data_ == nullptr ? put(value) : put_number(double(value));
    }
    bool number_unsigned(number_unsigned_t value) override {
        return data_ == nullptr ? put(value) : put_number(double(value));
    }
    bool number_float(number_float_t value, const string_t&) override {
        return data_ == nullptr ? put(value) : put_number(value);
    }
    bool string(string_t& value) override {
        if (data_ == nullptr) return put(std::move(value));
        if (levels_.empty()) refuse_json("data: expected a list, found a text");
        if (!data_->numbers.empty()) refuse_json("data: expected numbers or texts, found both");
        count_value();
        data_->texts.push_back(std::move(value));
        count_leaf();
        return true;
    }
    bool binary(binary_t&) override { refuse_json("expected no binary values"); }

    bool start_object(std::size_t) override {
        deeper();
        if (data_ != nullptr) refuse_json("data: expected numbers or texts, found an object");
        put(json::object());
        path_.push_back(&last());
        return true;
    }
    bool key(string_t& value) override {
        if (path_.back()->contains(value))
            refuse_json(fmt::format("{}: given twice", display_name(value)));
        key_ = std::move(value);
        if (is_data()) {
            result.data.resize(input() + 1);
            data_ = &result.data[input()];
            data_->given = true;
            (*path_.back())[key_] = nullptr;  // so that a second one is seen
        }
        return true;
    }
    bool end_object() override {
        --depth_;
        path_.pop_back();
        return true;
    }

    bool start_array(std::size_t) override {
        deeper();
        if (data_ != nullptr) {
            if (!levels_.empty()) count_list();
            levels_.push_back(0);
            return true;
        }
        put(json::array());
        path_.push_back(&last());
        return true;
    }
    bool end_array() override {
        --depth_;
        if (data_ == nullptr) {
            path_.pop_back();
            return true;
        }
        close_level();
        return true;
    }

    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        if (error.id == 406)  // a number that a double does not hold
            refuse_json(fmt::format("byte {}: a number is too large", position));
        refuse_json(fmt::format("byte {}: expected JSON, found something else", position));
    }

    RequestJson result;

private:
    void deeper() {
        if (++depth_ > kDeepestJson)
            refuse_json(fmt::format("expected at most {} levels, found more", kDeepestJson));
    }

    void count_value() {
        if (++values_ > kMostJsonValues)
            refuse_json(fmt::format("expected at most {} values, found more", kMostJsonValues));
    }

    // root.inputs[i].data, where the path has the root, the list and the input.
    bool is_data() const {
        return with_tensors_ && key_ == "data" && path_.size() == 3 && in_inputs_;
    }
    std::size_t input() const { return path_[1]->size() - 1; }

    json& last() {
        if (path_.empty()) return result.tree;
        json& place = *path_.back();
        return place.is_array() ? place.back() : place[key_];
    }

    bool put(json value) {
        if (data_ != nullptr)
            refuse_json(
                fmt::format("data: expected numbers or texts, found {}", value.type_name()));
        count_value();
        if (path_.empty()) {
            result.tree = std::move(value);
            return true;
        }
        json& place = *path_.back();
        if (path_.size() == 1 && place.is_object()) in_inputs_ = key_ == "inputs";
        if (place.is_array())
            place.push_back(std::move(value));
        else
            place[key_] = std::move(value);
        return true;
    }

    bool put_number(double value) {
        if (levels_.empty()) refuse_json("data: expected a list, found a number");
        if (!data_->texts.empty()) refuse_json("data: expected numbers or texts, found both");
        if (std::abs(value) > double(std::numeric_limits<float>::max()))
            refuse_json(fmt::format("data: expected numbers that float32 holds, found {}", value));
        data_->numbers.push_back(float(value));
        count_leaf();
        return true;
    }

    // Leaves stand on one level only, and lists on all above it.
    void count_leaf() {
        if (leaf_level_ == 0) leaf_level_ = levels_.size();
        if (leaf_level_ != levels_.size()) refuse_json("data: expected lists of one depth");
        ++levels_.back();
    }
    void count_list() {
        if (leaf_level_ != 0 && levels_.size() >= leaf_level_)
            refuse_json("data: expected lists of one depth");
        ++levels_.back();
    }
    void close_level() {
        std::vector<std::int64_t>& extents = data_->extents;
        const std::size_t level = levels_.size() - 1;
        if (extents.size() <= level) extents.resize(level + 1, -1);
        if (extents[level] >= 0 && extents[level] != levels_.back())
            refuse_json("data: expected lists of one length");
        extents[level] = levels_.back();
        levels_.pop_back();
        if (!levels_.empty()) return;
        data_ = nullptr;
        leaf_level_ = 0;
    }

    const bool with_tensors_;
    std::vector<json*> path_;  // the open lists and objects
    std::string key_;
    bool in_inputs_ = false;
    std::size_t depth_ = 0, values_ = 0;
    JsonData* data_ = nullptr;          // where numbers go
    std::vector<std::int64_t> levels_;  // how many each open list of it has so far
    std::size_t leaf_level_ = 0;
};

// The end of the text that begins after a quote: the next one before which no backslash stands, or
// an even number of them.
std::size_t end_of_text(std::string_view text, std::size_t begin) {
    for (std::size_t end = begin; (end = text.find('"', end)) != std::string_view::npos; ++end) {
        std::size_t slashes = 0;
        while (end - slashes > begin && text[end - slashes - 1] == '\\') ++slashes;
        if (slashes % 2 == 0) return end;
    }
    return text.size();
}

}  // namespace

// A list grows by doubling, and while it does both halves are there: three times its size. The
// parser keeps the text that it reads twice, as it stands and as it is meant, and both grow.
std::uint64_t memory_to_parse(std::string_view text) {
    constexpr std::uint64_t kValue = 512;  // of the tree, with its name and its place
    constexpr std::uint64_t kNumber = 3 * sizeof(float);
    // Each leaf but the first stands behind a comma of its own.
    const auto values = std::uint64_t(std::ranges::count(text, ',')) + 1;
    std::uint64_t all = 0, longest = 0;
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string_view::npos; ++at) {
        const std::size_t end = end_of_text(text, at + 1);
        const std::uint64_t length = end - at - 1;
        all += length;
        longest = std::max(longest, length);
        at = end;
        if (at >= text.size()) break;
    }
    return kNumber * values + kValue * std::min<std::uint64_t>(values, kMostJsonValues) + 2 * all +
           6 * longest;
}

RequestJson parse_request_json(std::string_view text) {
    Events events(true);
    json::sax_parse(text, &events);
    if (events.result.tree.is_object() && events.result.tree.contains("inputs"))
        events.result.data.resize(events.result.tree["inputs"].size());
    return std::move(events.result);
}

json parse_small_json(std::string_view text) {
    Events events(false);
    json::sax_parse(text, &events);
    return std::move(events.result.tree);
}

}  // namespace cait::serve
