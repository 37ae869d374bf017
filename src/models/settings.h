// Keys bound to the fields of a configuration: one declaration gives `--set KEY=VALUE`, the list of
// valid keys, and what is stored in a file. Models and recipes declare their keys with it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cait/settings.h"
#include "graph/graph.h"

namespace cait {

class Settings {
public:
    enum class Kind { integer, number, flag, word, text, list };

    struct Key {
        std::string name;
        std::string help;
        std::function<std::string()> get;
        std::function<void(const std::string&)> set;  // throws UsageError
        Kind kind = Kind::text;
        std::string expected{};  // the values that it takes, for people

        struct Reader {
            std::function<bool()> reads;
            std::string when;  // that is, for people: "model.class_stage=token"
        };
        std::vector<Reader> readers{};  // all of which must hold; none: it is always read

        // When something would read the key, "model.class_stage=token"; empty: something does.
        std::string unread() const;
    };

    // Far above any network, far below what could overflow in shape arithmetic.
    static constexpr std::int64_t kLargest = 1'000'000;

    void integer(std::string name, std::int64_t& field, std::int64_t least, std::string help,
                 std::int64_t most = kLargest);
    void number(std::string name, double& field, double least, double most, std::string help);
    void flag(std::string name, bool& field, std::string help);
    void word(std::string name, std::string& field, std::vector<std::string> words,
              std::string help);
    void image_size(std::string name, ImageSize& field, std::string help);
    void custom(Key key) { keys_.push_back(std::move(key)); }

    // Both texts are moved on, which clang-tidy does not see in a template.
    // NOLINTBEGIN(performance-unnecessary-value-param)
    template <class Enum>
    void choice(std::string name, Enum& field,
                std::initializer_list<std::pair<std::string_view, Enum>> names, std::string help) {
        // NOLINTEND(performance-unnecessary-value-param)
        const std::vector<std::pair<std::string_view, Enum>> table(names);
        std::vector<std::string> texts;
        for (const auto& [text, value] : table) texts.emplace_back(text);
        choice_by_index(
            std::move(name), std::move(texts),
            [&field, table] {
                std::size_t i = 0;
                while (table[i].second != field) ++i;
                return i;
            },
            [&field, table](std::size_t i) { field = table[i].second; }, std::move(help));
    }

    // Of keys that are bound already: they have an effect only while `reads` holds, in words
    // `when`. It is asked when somebody wants to know, so that the fields may still change.
    void read_if(const std::vector<std::string>& names, const std::function<bool()>& reads,
                 const std::string& when);

    const std::vector<Key>& keys() const { return keys_; }
    // Throws UsageError: an unknown key lists the valid ones, a bad value says what is expected.
    void set(const std::string& name, const std::string& value);
    SettingList values() const;

private:
    void choice_by_index(std::string name, std::vector<std::string> texts,
                         std::function<std::size_t()> get, std::function<void(std::size_t)> set,
                         std::string help);

    std::vector<Key> keys_;
};

std::int64_t parse_integer(const std::string& text);
double parse_number(const std::string& text);         // finite
ImageSize parse_image_size(const std::string& text);  // "224" or "192x256" (height x width)
std::string image_size_text(ImageSize size);

}  // namespace cait
