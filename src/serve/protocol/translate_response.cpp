#include "serve/protocol/translate_response.h"

#include "serve/protocol/output_writer.h"

namespace cait::serve {

std::uint64_t translate_answer_bytes(const InferRequest& request, const ServedModel& model,
                                     const TranslationWork& work) {
    constexpr std::uint64_t kPiece = 32;  // as text, with what it has to be escaped as now and then
    std::uint64_t bytes = frame_bytes(request, model);
    for (const RequestedOutput& wanted : request.outputs) {
        bytes += work.lines() * kNumberBytes;
        if (wanted.name != "translation") continue;
        for (std::size_t i = 0; i < work.lines(); ++i)
            bytes += kPiece * work.translator().most_pieces(work.pieces(i));
    }
    return bytes;
}

Response translate_response(const InferRequest& request, const ServedModel& model,
                            const std::vector<std::vector<Translation>>& found) {
    std::vector<std::string> texts;
    std::vector<float> scores;
    std::uint64_t bytes = frame_bytes(request, model);
    for (const std::vector<Translation>& best : found) {
        texts.push_back(best.at(0).text);
        scores.push_back(float(best.at(0).score));
        bytes += kEscapedBytes * texts.back().size() + 2 * kNumberBytes;
    }
    std::vector<WrittenOutput> written;
    for (const RequestedOutput& wanted : request.outputs) {
        WrittenOutput& output =
            written.emplace_back(WrittenOutput{.name = wanted.name,
                                               .binary = wanted.binary,
                                               .shape = {std::int64_t(found.size())},
                                               .values = std::span<const std::string>(texts)});
        if (wanted.name == "score") output.values = std::span<const float>(scores);
    }
    return written_response(request, model, written, bytes);
}

}  // namespace cait::serve
