// What a server needs of a model that detects, besides the session for its first stage: the second
// stage, whose regions come out of the first one, and what clients may ask for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cait/session.h"
#include "evaluate/detect_image.h"
#include "evaluate/segment_classes.h"
#include "serve/engine/tap_info.h"
#include "serve/memory_account.h"

namespace cait::serve {

class ServedDetector {
public:
    // Nothing is found below this score, or beyond so many in an image: more is seldom right, and
    // takes time and memory that nobody could predict.
    static constexpr double kLeastScore = 0.05;
    static constexpr std::size_t kMostFound = 100;

    // What the second stage needs is laid out, and charged as the model's own: only one image at a
    // time is there.
    ServedDetector(const Model& model, const SessionOptions& session,
                   std::shared_ptr<MemoryAccount> account);

    // Images are padded to the model's own size, whatever sizes its weights allow: so they go
    // together, and need memory that is there already.
    const DetectNetwork& network() const { return network_; }
    const std::vector<TapInfo>& outputs() const { return outputs_; }
    std::vector<std::string> usual_outputs() const;  // without masks
    std::vector<std::string> first_stage() const;    // taps, rising

    // As one request wants it. This has to outlive it.
    ImageDetector with(const DetectOptions& options) const;

    // Seconds of an image whose regions are as many as can be.
    double measure_second_stage() const;

private:
    class SecondStage;
    struct Regions;
    std::vector<Regions> regions() const;
    std::uint64_t bytes() const;

    DetectNetwork network_;
    std::int64_t channels_ = 0;  // of the maps that regions are cut from
    int threads_;
    std::shared_ptr<const SecondStage> stage_;
    std::vector<TapInfo> outputs_;
    KeptMemory memory_;
};

}  // namespace cait::serve
