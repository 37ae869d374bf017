// Translates sentences that are pieces already: sorted by length into batches, searched, and given
// back in the caller's order.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cait/translator.h"
#include "evaluate/translate/beam_search.h"
#include "evaluate/translate/text_decoder.h"

namespace cait {

// Any number of threads may use it at the same time.
class PieceTranslator {
public:
    // An ensemble if there are several models, whose vocabularies have to be of equal size.
    PieceTranslator(std::span<const Model> models, const SessionOptions& session);

    // Sources end in kEnd. Of each the best hypotheses, options.best at most; attention has
    // [pieces, source]. Throws UsageError for options that make no sense, Error for a source that
    // is empty, too long or has what is no piece.
    std::vector<std::vector<Hypothesis>> translate(
        std::span<const std::vector<std::int64_t>> sources, const TranslateOptions& options) const;

    std::int64_t longest() const;  // pieces of a source or a translation
    std::int64_t vocabulary() const { return engines_.front()->network().vocabulary; }
    const EngineShare& share() const { return *share_; }
    std::uint64_t kept_bytes() const;
    std::uint64_t bytes_to_translate(std::size_t sentences, std::size_t pieces,
                                     const TranslateOptions& options) const;

private:
    std::unique_ptr<TextDecoder> acquire() const;
    void release(std::unique_ptr<TextDecoder> decoder) const;
    std::size_t together(std::int64_t source, const TranslateOptions& options) const;
    std::uint64_t batch_bytes(std::uint64_t sentences, std::int64_t source,
                              const TranslateOptions& options) const;
    std::int64_t most_pieces(std::size_t source, const TranslateOptions& options) const;

    std::shared_ptr<const EngineShare> share_;
    TextEngines engines_;
    mutable std::mutex mutex_;  // of the decoders that wait for their next batch
    mutable std::vector<std::unique_ptr<TextDecoder>> idle_;
};

// Throws UsageError that names the option.
void check_options(const TranslateOptions& options);

}  // namespace cait
