// Answers as they come: as lines, JSON, JSON lines or CSV, to stdout or to a file that appears
// whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/top_answers.h"

namespace cait {
class AtomicFile;
}

namespace cait::app {

enum class AnswerFormat { lines, json, jsonl, csv };

struct PredictionFormat {
    AnswerFormat format = AnswerFormat::lines;
    std::string file = {};  // empty: stdout
    std::size_t most = 5;   // answers per image; there may be fewer
    double threshold = 0;   // that answers have reached; 0: all are shown
};

class PredictionOutput {
public:
    explicit PredictionOutput(PredictionFormat format);
    ~PredictionOutput();

    void add(const std::string& image, const std::optional<std::string>& label,
             const std::vector<Answer>& predictions);
    void finish();

private:
    void write(const std::string& text);

    PredictionFormat format_;
    std::unique_ptr<AtomicFile> file_;
    std::size_t count_ = 0;
};

}  // namespace cait::app
