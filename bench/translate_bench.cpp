// Our side of `./dev bench translate`: translates the lines of a file, and again for each line of
// stdin, and prints a line of JSON for each time. With --prepare it writes what the peer reads.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "cait/translator.h"
#include "data/sentences/vocabulary.h"
#include "kernels/precision_names.h"

namespace cait {
namespace {

struct Options {
    std::string model, lines, prepare;
    std::string precision = "fp32";
    std::size_t batch = 1, most = 200;
    int threads = 2;
    TranslateOptions translate{};
};

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double peak_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_maxrss) / 1024;
}

// By the numbers that the peer knows pieces by.
class Numbers {
public:
    explicit Numbers(const Model& model)
        : vocabulary_(
              read_vocabulary(model.text().value().kind, model.text()->vocabulary, "vocabulary")) {
        for (std::int64_t id = 0; id < vocabulary_->size(); ++id)
            by_piece_.emplace(vocabulary_->piece(id), id);
    }
    std::vector<std::int64_t> of_line(const std::string& line) const {
        std::vector<std::int64_t> ids = vocabulary_->encode(line);
        ids.push_back(kEnd);
        return ids;
    }
    std::vector<std::int64_t> of_pieces(const std::vector<std::string>& pieces) const {
        std::vector<std::int64_t> ids;
        for (const std::string& piece : pieces) ids.push_back(by_piece_.at(piece));
        return ids;
    }

private:
    VocabularyPtr vocabulary_;
    std::map<std::string, std::int64_t> by_piece_;
};

// The first ones that are neither empty nor too long.
std::vector<std::string> read_lines(const Options& options, const Numbers& numbers,
                                    std::int64_t longest) {
    std::ifstream file(options.lines);
    if (!file) throw Error(fmt::format("{}: cannot be opened", options.lines));
    std::vector<std::string> lines;
    for (std::string line; lines.size() < options.most && std::getline(file, line);)
        if (!line.empty() && std::int64_t(numbers.of_line(line).size()) <= longest)
            lines.push_back(line);
    if (lines.empty()) throw Error(fmt::format("{}: it has no lines", options.lines));
    return lines;
}

void prepare(const Options& options, const Model& model, const Numbers& numbers,
             const std::vector<std::string>& lines) {
    nlohmann::json sources = nlohmann::json::array();
    for (const std::string& line : lines) sources.push_back(numbers.of_line(line));
    model.save(options.prepare + "/model.safetensors");
    std::ofstream file(options.prepare + "/prepared.json");
    file << nlohmann::json{{"settings", model.settings()}, {"sources", std::move(sources)}};
    if (!file.flush()) throw Error(fmt::format("{}: cannot be written", options.prepare));
}

class Turns {
public:
    Turns(const Options& options, const Model& model, std::vector<std::string> lines)
        : options_(options),
          lines_(std::move(lines)),
          translator_(model,
                      {.precision = precision_of(options.precision), .threads = options.threads}) {}

    nlohmann::json translations(const Numbers& numbers) const {
        nlohmann::json all = nlohmann::json::array();
        for_batches([&](std::span<const std::string> batch) {
            for (const auto& best : translator_.translate(batch, options_.translate))
                all.push_back(numbers.of_pieces(best.at(0).pieces));
        });
        return all;
    }

    nlohmann::json turn() const {
        std::vector<double> calls;
        const double begin = seconds_now();
        for_batches([&](std::span<const std::string> batch) {
            const double start = seconds_now();
            translator_.translate(batch, options_.translate);
            calls.push_back(seconds_now() - start);
        });
        const double seconds = seconds_now() - begin;
        std::ranges::sort(calls);
        return {{"sentences_per_second", double(lines_.size()) / seconds},
                {"p50_ms", 1000 * calls[calls.size() / 2]},
                {"peak_mib", peak_mib()}};
    }

private:
    template <class Work>
    void for_batches(const Work& work) const {
        for (std::size_t at = 0; at < lines_.size(); at += options_.batch)
            work(std::span(lines_).subspan(at, std::min(options_.batch, lines_.size() - at)));
    }

    const Options& options_;
    std::vector<std::string> lines_;
    Translator translator_;
};

void say(const nlohmann::json& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
}

void run(const Options& options) {
    const Model model = Model::load(options.model);
    const Numbers numbers(model);
    std::vector<std::string> lines =
        read_lines(options, numbers, std::stoll(model.settings().at("longest")));
    if (!options.prepare.empty()) return prepare(options, model, numbers, lines);
    const Turns turns(options, model, std::move(lines));
    say({{"version", std::string(version())}, {"translations", turns.translations(numbers)}});
    for (std::string asked; std::getline(std::cin, asked);) say(turns.turn());
}

}  // namespace
}  // namespace cait

int main(int argc, char** argv) try {
    cait::Options options;
    CLI::App app("Translates lines again and again and prints sentences per second");
    app.add_option("model", options.model)->required();
    app.add_option("lines", options.lines)->required();
    app.add_option("--prepare", options.prepare, "Folder for what the peer reads; nothing runs");
    app.add_option("--precision", options.precision)->check(CLI::IsMember({"fp32", "bf16"}));
    app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
    app.add_option("--lines-at-most", options.most)->check(CLI::PositiveNumber);
    app.add_option("--threads", options.threads)->check(CLI::PositiveNumber);
    app.add_option("--beam", options.translate.beam)->check(CLI::PositiveNumber);
    app.add_option("--length-penalty", options.translate.length_penalty);
    CLI11_PARSE(app, argc, argv);
    cait::run(options);
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
}
