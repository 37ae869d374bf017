#include "data/formats/synset_table.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/class_list.h"
#include "data/formats/mat_file.h"
#include "data/text_lines.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

std::vector<Synset> read_pairs(const std::filesystem::path& path) {
    std::vector<Synset> synsets;
    const std::string file = path.string();
    std::size_t number = 0;
    for (const std::string& line : read_lines(path)) {
        ++number;
        const std::vector<std::string> words = words_of(line);
        if (words.empty()) continue;
        std::string first = words[0];
        std::string second = words.size() > 1 ? words[1] : std::string();
        if (plain_number(first)) std::swap(first, second);
        const auto id = plain_number(second);
        if (!id || *id < 1 || plain_number(first))
            throw Error(fmt::format("{}:{}: expected a WordNet id and a number, found {}", file,
                                    number, display_name(line, 80)));
        synsets.push_back({std::size_t(*id), first});
    }
    return synsets;
}

}  // namespace

std::vector<Synset> parse_meta_mat(std::span<const std::byte> bytes, const std::string& file) {
    constexpr std::int64_t kMostSynsets = 1'000'000;
    constexpr std::array<std::string_view, 2> kFields{"ILSVRC2012_ID", "WNID"};
    const MatFile mat(bytes, file);
    std::vector<Synset> synsets;
    mat.rows(mat.variable("synsets"), kFields, [&](std::span<const MatArray> values) {
        const std::int64_t id = mat.integer(values[0], kFields[0]);
        std::string wnid = mat.text(values[1], kFields[1]);
        if (id < 1 || id > kMostSynsets || wnid.empty())
            throw Error(fmt::format("{}: synset {}: expected a positive ILSVRC2012_ID and a WNID",
                                    file, synsets.size() + 1));
        synsets.push_back({std::size_t(id), std::move(wnid)});
    });
    return synsets;
}

std::vector<Synset> read_synset_table(const std::filesystem::path& path) {
    if (path.extension() == ".mat") return parse_meta_mat(read_bytes(path), path.string());
    return read_pairs(path);
}

}  // namespace cait
