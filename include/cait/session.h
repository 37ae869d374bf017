// Runs a model on this processor, without LibTorch: weights are packed once, memory is laid out
// before the first image. Link cait::engine. cait/classifier.h does the rest of the way from a
// photograph to class names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cait/model.h"
#include "cait/precision.h"
#include "cait/tensor.h"

namespace cait {

struct SessionOptions {
    Precision precision = Precision::fp32;
    int threads = 0;        // 0: as many processors as this process may use
    std::size_t batch = 8;  // images that run() is usually given: memory is laid out for these
    // Keeps packed weights from one start to the next: made if it is not there, mapped if it is,
    // and made again where the model's weights or the processor have changed, or where it is
    // damaged. Empty: none.
    std::filesystem::path cache = {};
    // Bytes that a session may need in addition to the weights; 0: what the machine or the
    // container has.
    std::size_t memory_limit = 0;
    // int8: parts of the model that read a parameter whose name matches one of these patterns, such
    // as "blocks.0.*", stay in bf16, or in fp32 on processors without it. The first plan throws
    // UsageError for a pattern that matches none.
    std::vector<std::string> keep = {};
};

struct SessionMemory {
    std::size_t weights = 0;      // packed
    std::size_t activations = 0;  // all that one run needs in addition, all threads together
};

// Any number of threads may call run() at the same time; one of them uses the session's threads,
// the others compute with their own.
class Session {
public:
    explicit Session(const Model& model, const SessionOptions& options = {});

    // images [B, C, H, W] float32, already preprocessed (cait/image.h), any number of them → each
    // tap's values, float32. Taps are the model's named outputs: logits, features, tokens,
    // class_attention.N, self_attention.N …; none means the logits, or the features of a model
    // without classes. The first run that asks for another set of taps than before makes a plan for
    // them, and keeps it. Models without weights for positions in the image, such as ResNet, take
    // images of any size, with a plan for each: those of the 8 other sizes that were used last
    // stay. Models that translate take the named inputs of docs/models.md, with a plan for each
    // combination of lengths, of which 64 stay: round them up to multiples of 8.
    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps = {}) const;

    // What run() would otherwise do at its first call with these taps. Throws Error where they need
    // more than `memory_limit` bytes in addition to the weights; 0: what the options say.
    void prepare(const std::vector<std::string>& taps, std::size_t memory_limit = 0) const;
    // Gives the memory back that was prepared for these taps, once no run uses it any more.
    void forget(const std::vector<std::string>& taps) const;

    // Lines worth showing to a user: that the cache was damaged and is not used.
    std::vector<std::string> notes() const;

    int threads() const;
    std::string precision() const;  // "fp32", "bf16" or "int8"
    std::size_t plans() const;      // that it keeps
    SessionMemory memory() const;   // for the taps that were prepared last
    // For these; no activations where nothing is prepared for them.
    SessionMemory memory(const std::vector<std::string>& taps) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace cait
