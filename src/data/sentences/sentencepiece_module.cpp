// Learning by SentencePiece's library: the whole of cait-sentencepiece.so.
#include "data/sentences/sentencepiece_module.h"

#include <sentencepiece_trainer.h>

#include <exception>
#include <string>
#include <unordered_map>

namespace {

class Lines final : public sentencepiece::SentenceIterator {
public:
    explicit Lines(const cait::LearnRequest& request) : request_(request) { take(); }

    bool done() const override { return at_ == request_.count; }
    void Next() override {
        ++at_;
        take();
    }
    const std::string& value() const override { return line_; }
    sentencepiece::util::Status status() const override { return {}; }

private:
    void take() {
        if (!done()) line_ = request_.lines[at_];
    }

    const cait::LearnRequest& request_;
    std::size_t at_ = 0;
    std::string line_;
};

}  // namespace

void cait_learn_sentencepiece(const cait::LearnRequest& request, void* context,
                              cait::LearnAnswer answer) {
    try {
        const std::unordered_map<std::string, std::string> settings = {
            {"minloglevel", "3"},  // it would print to stderr
            {"model_type", "bpe"},
            {"vocab_size", std::to_string(request.size)},
            {"hard_vocab_limit", "false"},
            {"character_coverage", request.coverage},
            {"num_threads", "1"},
            {"bos_id", "0"},  // as in base/piece_ids.h
            {"pad_id", "1"},
            {"eos_id", "2"},
            {"unk_id", "3"}};
        Lines lines(request);
        std::string model;
        const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &lines, &model);
        answer(context, status.ok(), status.ok() ? model : status.ToString());
    } catch (const std::exception& error) {
        answer(context, false, error.what());
    }
}
