// What a server needs of a model that translates: the translator, what clients may ask for and how
// much of it, how long a sentence takes, and the memory that it keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cait/translator.h"
#include "serve/engine/tap_info.h"
#include "serve/memory_account.h"

namespace cait::serve {

// How the lines of a request are to be translated. Those of requests that want the same go
// together.
struct TranslateWish {
    std::size_t beam = 4, best = 1;
    double length_penalty = 1;
    bool attention = false;
    bool operator==(const TranslateWish&) const = default;
};

class ServedTranslator {
public:
    // Of a request: more would keep the engine from others for too long.
    static constexpr std::size_t kMostLines = 128;
    static constexpr std::size_t kMostLineBytes = 16'384;
    static constexpr std::size_t kMostPieces = 4096;  // of all its lines
    static constexpr std::size_t kMostBeam = 10;
    static constexpr double kMostPenalty = 5;

    // Throws Error where the model does not know its languages and pieces.
    ServedTranslator(const Model& model, const SessionOptions& session,
                     std::shared_ptr<MemoryAccount> account);

    const Translator& translator() const { return translator_; }
    // "sentencepiece", "bpe" or "words": how pieces make words.
    const std::string& pieces() const { return pieces_; }
    const std::vector<TapInfo>& outputs() const { return outputs_; }
    std::vector<std::string> usual_outputs() const { return {"translation"}; }

    // Pieces of a line, its end included. Throws HttpError, opening with `name`: 413 for one that
    // is too long, 400 for what is no line of text.
    std::size_t pieces_of(const std::string& line, const std::string& name) const;
    // How long a line takes, in sentences of the usual length and beam: at least 1.
    std::size_t units(std::size_t pieces, const TranslateWish& wish) const;
    // Most pieces that a line becomes.
    std::size_t most_pieces(std::size_t pieces) const;
    TranslateOptions options(const TranslateWish& wish) const;

    // Seconds of so many usual sentences together, the best of some runs.
    double measure(std::size_t units) const;
    // What its plans take now is charged as the model's own. By one thread at a time.
    void charge_memory() const noexcept;

private:
    std::string usual_line() const;

    Translator translator_;
    std::string pieces_;
    std::vector<TapInfo> outputs_;
    mutable KeptMemory memory_;
};

}  // namespace cait::serve
