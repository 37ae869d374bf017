#include "serve/routes/translate_answer.h"

#include <algorithm>
#include <cmath>

#include "serve/routes/replies.h"

namespace cait::serve {

namespace {

using nlohmann::json;

// What is shown of a number: texts of all digits would be twice as long.
double rounded(double value) { return std::round(value * 1e4) / 1e4; }

json piece_scores_json(const Translation& one) {
    json scores = json::array();
    for (const double score : one.piece_scores) scores.push_back(rounded(score));
    return scores;
}

// A list for each piece, with a number for each piece of the source.
json cross_attention_json(const Translation& one) {
    json rows = json::array();
    const std::size_t sources = one.source_pieces.size();
    for (std::size_t i = 0; i < one.pieces.size(); ++i) {
        json& row = rows.emplace_back(json::array());
        for (const float value : one.attention.floats().subspan(i * sources, sources))
            row.push_back(rounded(double(value)));
    }
    return rows;
}

json translation_json(const Translation& one, bool attention) {
    json all{{"text", one.text},
             {"score", rounded(one.score)},
             {"pieces", one.pieces},
             {"piece_scores", piece_scores_json(one)}};
    if (attention && one.attention.defined()) all["attention"] = cross_attention_json(one);
    return all;
}

// All translations of a line.
json line_json(const std::vector<Translation>& best, bool attention) {
    json line = translation_json(best.at(0), attention);
    if (attention) line["source_pieces"] = best[0].source_pieces;
    for (std::size_t i = 1; i < best.size(); ++i)
        line["others"].push_back(translation_json(best[i], attention));
    return line;
}

}  // namespace

std::uint64_t translations_bytes(const TranslationWork& work) {
    constexpr std::uint64_t kHead = 1024, kTranslation = 128, kPiece = 64, kNumber = 7;
    const TranslateWish& wish = work.wish();
    std::uint64_t bytes = kHead;
    for (std::size_t i = 0; i < work.lines(); ++i) {
        const std::uint64_t source = work.pieces(i);
        const std::uint64_t target = work.translator().most_pieces(source);
        bytes += wish.best * (kTranslation + kPiece * target);
        if (wish.attention) bytes += kPiece * source + wish.best * kNumber * source * target;
    }
    return bytes;
}

Response translations_json(const ServedModel& model, const TranslationWork& work) {
    json lines = json::array();
    for (const std::vector<Translation>& best : work.found())
        lines.push_back(line_json(best, work.wish().attention));
    const Translator& translator = work.translator().translator();
    return json_response({{"model", model.name()},
                          {"version", model.version()},
                          {"source", translator.source_language()},
                          {"target", translator.target_language()},
                          {"pieces", work.translator().pieces()},
                          {"translations", std::move(lines)}});
}

Response translations_text(const TranslationWork& work) {
    Response response{.type = "text/plain; charset=utf-8"};
    for (const std::vector<Translation>& best : work.found()) {
        std::string line = best.at(0).text;
        // Whatever a vocabulary holds, a line stays one.
        std::ranges::replace_if(
            line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
        response.body += line + '\n';
    }
    return response;
}

}  // namespace cait::serve
