// Answers as they come: as lines, JSON, JSON lines or CSV, to stdout or to a file that appears
// whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/top_answers.h"
#include "pictures.h"

namespace cait {
class AtomicFile;
}

namespace cait::app {

enum class AnswerFormat { lines, json, jsonl, csv };

class PredictionOutput {
public:
    // `file` empty: stdout.
    PredictionOutput(AnswerFormat format, const std::string& file);
    ~PredictionOutput();

    void add(const std::string& image, const std::optional<std::string>& label,
             const std::vector<Answer>& predictions);
    void finish();

private:
    void write(const std::string& text);

    AnswerFormat format_;
    std::unique_ptr<AtomicFile> file_;
    std::size_t count_ = 0;
};

}  // namespace cait::app
