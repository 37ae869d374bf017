#include "models/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cait/error.h"

namespace cait {

namespace {

template <class T>
T parse_all(const std::string& text, const char* expected) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc() || stop != end)
        throw UsageError(fmt::format("expected {}, found '{}'", expected, text));
    return value;
}

}  // namespace

std::int64_t parse_integer(const std::string& text) {
    return parse_all<std::int64_t>(text, "a whole number");
}

double parse_number(const std::string& text) {
    const auto value = parse_all<double>(text, "a number");
    if (!std::isfinite(value))
        throw UsageError(fmt::format("expected a finite number, found '{}'", text));
    return value;
}

ImageSize parse_image_size(const std::string& text) {
    constexpr std::int64_t kLargest = 16384;
    const std::size_t cross = text.find('x');
    const std::int64_t height = parse_integer(text.substr(0, cross));
    const std::int64_t width =
        cross == std::string::npos ? height : parse_integer(text.substr(cross + 1));
    if (std::min(height, width) < 1 || std::max(height, width) > kLargest)
        throw UsageError(fmt::format("expected 1 to {} pixels a side, found '{}'", kLargest, text));
    return {height, width};
}

std::string image_size_text(ImageSize size) {
    return size.height == size.width ? std::to_string(size.height)
                                     : fmt::format("{}x{}", size.height, size.width);
}

void Settings::integer(std::string name, std::int64_t& field, std::int64_t least, std::string help,
                       std::int64_t most) {
    custom({std::move(name), std::move(help), [&field] { return std::to_string(field); },
            [&field, least, most](const std::string& text) {
                const std::int64_t value = parse_integer(text);
                if (value < least || value > most)
                    throw UsageError(
                        fmt::format("expected {} to {}, found {}", least, most, value));
                field = value;
            },
            Kind::integer,
            most < kLargest ? fmt::format("{} to {}", least, most)
                            : fmt::format("at least {}", least)});
}

void Settings::number(std::string name, double& field, double least, double most,
                      std::string help) {
    custom({std::move(name), std::move(help), [&field] { return fmt::format("{}", field); },
            [&field, least, most](const std::string& text) {
                const double value = parse_number(text);
                if (value < least || value > most)
                    throw UsageError(
                        fmt::format("expected {:g} to {:g}, found {:g}", least, most, value));
                field = value;
            },
            Kind::number, fmt::format("{:g} to {:g}", least, most)});
}

void Settings::flag(std::string name, bool& field, std::string help) {
    choice(
        std::move(name), field,
        {{"true", true}, {"false", false}, {"yes", true}, {"no", false}, {"1", true}, {"0", false}},
        std::move(help));
    keys_.back().kind = Kind::flag;
    keys_.back().expected = "true, false";
}

void Settings::word(std::string name, std::string& field, std::vector<std::string> words,
                    std::string help) {
    std::string expected = fmt::format("{}", fmt::join(words, ", "));
    custom({std::move(name), std::move(help), [&field] { return field; },
            [&field, expected, words = std::move(words)](const std::string& text) {
                if (std::ranges::find(words, text) == words.end())
                    throw UsageError(fmt::format("expected one of {}; found '{}'", expected, text));
                field = text;
            },
            Kind::word, expected});
}

void Settings::image_size(std::string name, ImageSize& field, std::string help) {
    custom({std::move(name), std::move(help), [&field] { return image_size_text(field); },
            [&field](const std::string& text) { field = parse_image_size(text); }});
}

void Settings::choice_by_index(std::string name, std::vector<std::string> texts,
                               std::function<std::size_t()> get,
                               std::function<void(std::size_t)> set, std::string help) {
    custom({std::move(name), std::move(help), [texts, get] { return texts[get()]; },
            [texts, set](const std::string& text) {
                const auto found = std::ranges::find(texts, text);
                if (found == texts.end())
                    throw UsageError(fmt::format("expected one of {}; found '{}'",
                                                 fmt::join(texts, ", "), text));
                set(std::size_t(found - texts.begin()));
            },
            Kind::word, fmt::format("{}", fmt::join(texts, ", "))});
}

std::string Settings::Key::unread() const {
    const auto missing =
        std::ranges::find_if(readers, [](const Reader& reader) { return !reader.reads(); });
    return missing == readers.end() ? std::string() : missing->when;
}

void Settings::read_if(const std::vector<std::string>& names, const std::function<bool()>& reads,
                       const std::string& when) {
    for (const std::string& name : names) {
        const auto key = std::ranges::find(keys_, name, &Key::name);
        if (key == keys_.end()) throw Error(fmt::format("no key {} is bound", name));
        key->readers.push_back({reads, when});
    }
}

void Settings::set(const std::string& name, const std::string& value) {
    const auto key = std::ranges::find(keys_, name, &Key::name);
    if (key == keys_.end()) {
        std::vector<std::string> names;
        for (const Key& k : keys_) names.push_back(k.name);
        throw UsageError(
            fmt::format("unknown key model.{}; valid keys: {}", name, fmt::join(names, ", ")));
    }
    try {
        key->set(value);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("model.{}: {}", name, error.what()));
    }
}

SettingList Settings::values() const {
    SettingList result;
    for (const Key& key : keys_) result.emplace_back(key.name, key.get());
    return result;
}

}  // namespace cait
