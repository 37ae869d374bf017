// A translator of few pieces that says something for any sentence, though nothing that means
// anything: for tests of whoever runs, evaluates or serves one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cait/model.h"

namespace cait::test {

struct TinyTranslator {
    const char* mixer = "attention";  // or resmlp
    std::uint64_t seed = 1;
    std::int64_t longest = 24;  // pieces of a sentence
};

// 28 words, kept as fairseq keeps a dictionary; all others are unknown.
inline const char* const kTinyWords =
    "a 30\nthe 28\ndog 27\ncat 26\nman 25\nwoman 24\nchild 23\nhouse 22\nstreet 21\nriver 20\n"
    "red 19\nblue 18\nold 17\nsmall 16\nruns 15\nsees 14\nsleeps 13\nsings 12\nin 11\non 10\n"
    "near 9\nand 8\nwith 7\ntwo 6\nsnow 5\ngrass 4\ntree 3\n. 2\n";
inline constexpr std::int64_t kTinyPieces = 28 + 4;

inline SettingList tiny_translator_settings(const TinyTranslator& wanted = {}) {
    return {{"dim", "16"},          {"hidden", "32"},
            {"heads", "2"},         {"encoder_depth", "2"},
            {"decoder_depth", "2"}, {"longest", std::to_string(wanted.longest)},
            {"vocabulary", "32"},   {"mixer", wanted.mixer}};
}

// Fresh weights with a louder table of pieces: probabilities differ, so that a beam has a choice.
inline Model tiny_translator(const TinyTranslator& wanted = {}) {
    const Model fresh =
        Model::create("resmlp_translate_small", tiny_translator_settings(wanted), wanted.seed);
    const std::string table = "encoder.embed_tokens.weight";
    std::map<std::string, Tensor> weights = fresh.weights();
    const Tensor& before = weights.at(table);
    Tensor louder = Tensor::empty(DType::f32, before.shape());
    for (std::size_t i = 0; i < before.floats().size(); ++i)
        louder.mutable_floats()[i] = 3 * before.floats()[i];
    weights[table] = louder;
    Model model = fresh.with_weights(std::move(weights));
    model.set_text({.source = "en", .target = "de", .kind = "words", .vocabulary = kTinyWords});
    return model;
}

}  // namespace cait::test
