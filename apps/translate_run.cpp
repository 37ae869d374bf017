// Carries out `cait translate`: some lines are read, translated together and written before the
// next ones are read, so that any number of them takes the same memory. What is typed is answered
// line by line: nobody waits for lines that are not there yet.
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/sentence_pair.h"
#include "data/sentences/vocabulary.h"
#include "kernels/precision_names.h"
#include "line_reader.h"
#include "model_arguments.h"
#include "output.h"
#include "progress.h"
#include "system/atomic_file.h"
#include "translate.h"

namespace cait::app {

namespace {

// Lines that are read before they are translated: enough to make batches of like lengths.
constexpr std::size_t kLinesTogether = 2048;
constexpr std::size_t kBytesTogether = std::size_t{1} << 20;

std::string on_one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

nlohmann::json attention_json(const Tensor& attention) {
    nlohmann::json rows = nlohmann::json::array();
    const auto columns = std::size_t(attention.shape()[1]);
    for (std::size_t row = 0; row < std::size_t(attention.shape()[0]); ++row) {
        const auto values = attention.floats().subspan(row * columns, columns);
        rows.push_back(std::vector<float>(values.begin(), values.end()));
    }
    return rows;
}

nlohmann::json translation_json(const Translation& one) {
    nlohmann::json json{{"text", one.text},
                        {"score", one.score},
                        {"pieces", one.pieces},
                        {"piece_scores", one.piece_scores}};
    if (one.attention.defined()) {
        json["source_pieces"] = one.source_pieces;
        json["attention"] = attention_json(one.attention);
    }
    return json;
}

// One line of the input.
struct InputLine {
    std::string text;
    std::size_t number = 0;
    std::string problem;  // why it is not translated
};

class TranslationOutput {
public:
    explicit TranslationOutput(const TranslateArguments& arguments) : arguments_(arguments) {
        if (!arguments.output.empty()) file_.emplace(arguments.output);
    }

    void add(const InputLine& line, const std::vector<Translation>& found) {
        std::string text;
        if (arguments_.json) {
            text = json_line(line, found);
        } else if (arguments_.search.options.best == 1) {
            text = on_one_line(found.front().text) + "\n";
        } else {
            for (const Translation& one : found)
                text +=
                    fmt::format("{}\t{:.6f}\t{}\n", line.number, one.score, on_one_line(one.text));
        }
        if (file_)
            file_->write(text);
        else
            write_text(text);
    }

    void finish() {
        if (file_) file_->commit();
    }

private:
    static std::string json_line(const InputLine& line, const std::vector<Translation>& found) {
        nlohmann::json json{{"line", line.number}};
        if (line.problem.empty()) {
            json["source"] = line.text;
            for (const Translation& one : found)
                json["translations"].push_back(translation_json(one));
        } else {
            json["error"] = line.problem;
        }
        return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    }

    const TranslateArguments& arguments_;
    std::optional<AtomicFile> file_;
};

// Reads lines and knows which of them cannot be translated.
class LineIntake {
public:
    LineIntake(const TranslateArguments& arguments, const Translator& translator)
        : translator_(translator),
          cut_(arguments.search.options.cut),
          reader_(arguments.input, kLongestSentence) {}

    // Those that are to be translated together; empty at the end of the input.
    std::vector<InputLine> some() {
        std::vector<InputLine> lines;
        std::size_t bytes = 0;
        while (lines.size() < kLinesTogether && bytes < kBytesTogether &&
               (lines.empty() || reader_.ready())) {
            InputLine line;
            if (!reader_.next(line.text)) break;
            line.number = reader_.lines();
            line.problem = problem_of(line.text);
            if (!line.problem.empty()) line.text.clear();
            bytes += line.text.size();
            lines.push_back(std::move(line));
        }
        return lines;
    }

    const LineReader& reader() const { return reader_; }

private:
    std::string problem_of(const std::string& text) const {
        try {
            check_sentence(text, reader_.place());
        } catch (const Error& error) {
            return error.what();
        }
        const std::size_t pieces = translator_.source_pieces(text);
        const auto most = std::size_t(translator_.longest());
        if (cut_ || pieces <= most) return {};
        return fmt::format(
            "{}: expected at most {} pieces with the end, found {}; --cut takes the first ones",
            reader_.place(), most, pieces);
    }

    const Translator& translator_;
    bool cut_;
    LineReader reader_;
};

class Translating {
public:
    Translating(const TranslateArguments& arguments, const Translator& translator)
        : arguments_(arguments),
          translator_(translator),
          intake_(arguments, translator),
          output_(arguments) {}

    // Returns how many lines could not be translated.
    std::size_t all() {
        for (std::vector<InputLine> lines = intake_.some(); !lines.empty() && !output_lost();
             lines = intake_.some())
            translate(lines);
        output_.finish();
        return bad_;
    }

private:
    // What stands before a line that ends the work is answered first.
    void translate(std::vector<InputLine>& lines) {
        std::string fatal;
        for (std::size_t i = 0; i < lines.size() && fatal.empty(); ++i) {
            if (lines[i].problem.empty()) continue;
            if (arguments_.skip_bad) {
                print_error("cait: {}\n", lines[i].problem);
                ++bad_;
            } else {
                fatal = lines[i].problem;
                lines.resize(i);
            }
        }
        std::vector<std::string> texts;
        for (const InputLine& line : lines) texts.push_back(line.text);
        const auto found = translator_.translate(texts);
        for (std::size_t i = 0; i < lines.size(); ++i) output_.add(lines[i], found[i]);
        flush_out();
        done_ += lines.size();
        show_progress();
        if (!fatal.empty()) throw Error(fatal);
    }

    void show_progress() {
        const LineReader& reader = intake_.reader();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
        progress_.update(reader.bytes_read() / 1000, reader.size() / 1000,
                         fmt::format("kB, {} lines, {:.1f}/s", done_,
                                     double(done_) / std::max(taken.count(), 1e-9)));
    }

    const TranslateArguments& arguments_;
    const Translator& translator_;
    LineIntake intake_;
    TranslationOutput output_;
    Progress progress_{"translate", "kB"};
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::size_t done_ = 0, bad_ = 0;
};

}  // namespace

void run(const TranslateArguments& arguments, const Invocation& invocation) {
    std::vector<FoundModel> found = find_models(arguments.weights, arguments.model.words(""));
    enter_sandbox_for({arguments.output, arguments.cache});
    std::vector<Model> models;
    for (OpenedModel& opened : open_with_notes(found)) {
        arguments.published.apply(opened.model);
        models.push_back(std::move(opened.model));
    }
    const Translator translator(models,
                                {.precision = precision_of(arguments.precision),
                                 .threads = arguments.threads,
                                 .cache = arguments.cache},
                                arguments.search.options);
    print_notes(translator.notes());
    const std::size_t bad = Translating(arguments, translator).all();
    if (bad == 0) return;
    *invocation.status = 1;
    print_error("cait: {} lines could not be translated\n", bad);
}

}  // namespace cait::app
