#include "prediction_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data.h"
#include "data/formats/csv_reader.h"
#include "output.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace {

std::string json_text(const std::string& image, const std::optional<std::string>& label,
                      const std::vector<Answer>& predictions, double threshold, int indent) {
    nlohmann::json list = nlohmann::json::array();
    for (const Answer& prediction : predictions)
        list.push_back({{"label", prediction.name},
                        {"index", prediction.index},
                        {"score", prediction.probability}});
    nlohmann::json json{{"image", image}, {"predictions", list}};
    if (label) json["label"] = *label;
    if (threshold > 0) json["threshold"] = threshold;
    // File names may hold anything; JSON holds UTF-8.
    return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string line_text(const std::string& image, const std::vector<Answer>& predictions,
                      double threshold) {
    std::string text = printable(image, kLongestMessage);
    if (predictions.empty()) text += fmt::format("  no class reaches {:.1f} %", 100 * threshold);
    for (const Answer& prediction : predictions)
        text += fmt::format("  {} {:.1f} %", printable(prediction.name, kLongestMessage),
                            100 * prediction.probability);
    return text + "\n";
}

// CSV has no escapes of its own, and programs read it line by line.
std::string field(const std::string& text) { return csv_field(printable(text, text.size())); }

std::string csv_text(const std::string& image, const std::optional<std::string>& label,
                     const std::vector<Answer>& predictions, std::size_t most) {
    std::string text = field(image) + "," + field(label.value_or(""));
    for (const Answer& prediction : predictions)
        text += fmt::format(",{},{:.6f}", field(prediction.name), prediction.probability);
    for (std::size_t i = predictions.size(); i < most; ++i) text += ",,";
    return text + "\n";
}

std::string csv_header(std::size_t answers) {
    std::string text = "image,label";
    for (std::size_t i = 1; i <= answers; ++i) text += fmt::format(",class{},score{}", i, i);
    return text + "\n";
}

}  // namespace

PredictionOutput::PredictionOutput(PredictionFormat format)
    : format_(std::move(format)),
      file_(format_.file.empty() ? nullptr : std::make_unique<AtomicFile>(format_.file)) {
    if (format_.format == AnswerFormat::json) write("[");
}

PredictionOutput::~PredictionOutput() = default;

void PredictionOutput::write(const std::string& text) {
    if (file_)
        file_->write(std::string_view(text));
    else
        write_out(text);
}

void PredictionOutput::add(const std::string& image, const std::optional<std::string>& label,
                           const std::vector<Answer>& predictions) {
    const double threshold = format_.threshold;
    switch (format_.format) {
        case AnswerFormat::lines: write(line_text(image, predictions, threshold)); break;
        case AnswerFormat::json:
            write((count_ == 0 ? "\n" : ",\n") +
                  json_text(image, label, predictions, threshold, 2));
            break;
        case AnswerFormat::jsonl:
            write(json_text(image, label, predictions, threshold, -1) + "\n");
            break;
        case AnswerFormat::csv:
            if (count_ == 0) write(csv_header(format_.most));
            write(csv_text(image, label, predictions, format_.most));
            break;
    }
    ++count_;
}

void PredictionOutput::finish() {
    if (format_.format == AnswerFormat::json) write(count_ == 0 ? "]\n" : "\n]\n");
    if (file_) file_->commit();
}

}  // namespace cait::app
