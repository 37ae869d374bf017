// Reads values of a study file's tree; what does not fit is an error with file, line and key.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "base/suggest.h"
#include "cait/error.h"
#include "models/settings.h"
#include "train/recipe/recipe_toml.h"
#include "train/sweep/study.h"

namespace cait {

class StudyReader {
public:
    explicit StudyReader(const std::string& file) : file_(file) {}

    [[noreturn]] void fail(std::int64_t line, const std::string& what) const {
        throw Error(fmt::format("{}:{}: {}", file_, line, what));
    }
    [[noreturn]] void expected(const std::string& key, const TomlNode& node,
                               std::string_view what) const {
        const bool scalar = node.kind < TomlKind::array;
        fail(node.line, fmt::format("{}: expected {}, found {}", printable(key), what,
                                    scalar ? fmt::format("'{}'", printable(node.text))
                                           : std::string(toml_kind_name(node.kind))));
    }
    void only(const TomlNode& table, const std::vector<std::string>& known,
              const std::string& where) const {
        for (const auto& [key, value] : table.members)
            if (std::ranges::find(known, key) == known.end())
                fail(value.line, fmt::format("{}{}: unknown key; nearest: {}", where,
                                             printable(key), nearest_names(key, known, 1)[0]));
    }
    const TomlNode* find(const TomlNode& table, std::string_view key) const {
        const auto found = std::ranges::find(
            table.members, key, [](const auto& m) -> const auto& { return m.first; });
        return found == table.members.end() ? nullptr : &found->second;
    }
    void text(const TomlNode& table, const char* key, std::string& field) const {
        if (const TomlNode* node = find(table, key)) {
            if (node->kind != TomlKind::string) expected(key, *node, "a string");
            field = node->text;
        }
    }
    void flag(const TomlNode& table, const char* key, bool& field) const {
        if (const TomlNode* node = find(table, key)) {
            if (node->kind != TomlKind::boolean) expected(key, *node, "true or false");
            field = node->text == "true";
        }
    }
    void number(const TomlNode& table, const char* key, double& field, double least,
                std::string_view what) const {
        const TomlNode* node = find(table, key);
        if (node == nullptr) return;
        if (node->kind != TomlKind::integer && node->kind != TomlKind::number)
            expected(key, *node, what);
        field = parse_number(node->text);
        if (!(field >= least)) expected(key, *node, what);
    }
    std::int64_t whole(const std::string& key, const TomlNode& node, std::int64_t least) const {
        if (node.kind != TomlKind::integer || parse_integer(node.text) < least)
            expected(key, node, fmt::format("a whole number from {}", least));
        return parse_integer(node.text);
    }
    const std::vector<TomlNode>& items(const std::string& key, const TomlNode& node) const {
        if (node.kind != TomlKind::array) expected(key, node, "an array");
        return node.items;
    }
    // [[NAME]]: tables; none where there is no such key.
    std::vector<TomlNode> tables(const TomlNode& root, const std::string& key) const {
        const TomlNode* node = find(root, key);
        if (node == nullptr) return {};
        for (const TomlNode& item : items(key, *node))
            if (item.kind != TomlKind::table) expected(key, item, "a table, as in [[" + key + "]]");
        return node->items;
    }
    const TomlNode& table(const std::string& key, const TomlNode& node) const {
        if (node.kind != TomlKind::table) expected(key, node, "a table");
        return node;
    }

    // The text of a scalar; of a list, "0.08,1".
    std::string value(const std::string& key, const TomlNode& node) const {
        if (node.kind < TomlKind::array) return node.text;
        std::string list;
        for (const TomlNode& item : items(key, node)) {
            if (item.kind >= TomlKind::array) expected(key, item, "a value");
            list += (list.empty() ? "" : ",") + item.text;
        }
        return list;
    }
    // Calls use(key, node) for "model.dim" and its like: for whatever is no table of further keys.
    template <class Use>
    void flatten(const TomlNode& root, const std::string& prefix, const Use& use) const {
        for (const auto& [name, node] : root.members) {
            const std::string key = prefix.empty() ? name : prefix + "." + name;
            if (node.kind == TomlKind::table && find(node, "from") == nullptr)
                flatten(node, key, use);
            else
                use(key, node);
        }
    }
    StudySettings settings(const TomlNode& root) const {
        StudySettings result;
        flatten(root, "", [&](const std::string& key, const TomlNode& node) {
            if (key == "data.train" || key == "data.val")
                fail(node.line, fmt::format("{}: expected in [data] as {}", key, key.substr(5)));
            if (key == "train.seed") fail(node.line, "train.seed: expected as `seeds`");
            result.push_back({key, value(key, node), node.line});
        });
        return result;
    }

private:
    std::string file_;
};

}  // namespace cait
