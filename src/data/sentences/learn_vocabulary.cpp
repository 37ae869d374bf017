#include "data/sentences/learn_vocabulary.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "cait/error.h"
#include "data/sentences/sentencepiece_module.h"
#include "data/sentences/sentencepiece_vocabulary.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr std::size_t kLongestLearned = 4192;  // the library leaves out longer lines
constexpr std::int64_t kMostLearned = 1 << 18;
// What the library takes for each byte of text where no word comes twice (measured: 70).
constexpr std::uint64_t kMemoryPerByte = 80;

// A fair sample of bounded size: each line has a number drawn for its place, and where there is too
// much text, those above a falling threshold go.
class LineSample {
public:
    explicit LineSample(const LearnOptions& options) : options_(options) {}

    void add(std::string line) {
        RandomStream random(options_.seed, stable_hash("vocabulary lines") + places_++);
        const std::uint32_t drawn = random.bits();
        if (line.empty() || line.size() > kLongestLearned || drawn > threshold_) return;
        bytes_ += line.size() + sizeof(Line);
        lines_.push_back({drawn, std::move(line)});
        while (bytes_ > options_.most_text) halve();
    }

    std::vector<std::string_view> lines() const {
        std::vector<std::string_view> lines;
        for (const Line& line : lines_) lines.push_back(line.text);
        return lines;
    }
    std::size_t bytes() const { return bytes_; }

private:
    struct Line {
        std::uint32_t drawn = 0;
        std::string text;
    };

    void halve() {
        threshold_ /= 2;
        std::erase_if(lines_, [&](const Line& line) { return line.drawn > threshold_; });
        bytes_ = 0;
        for (const Line& line : lines_) bytes_ += line.text.size() + sizeof(Line);
    }

    const LearnOptions& options_;
    std::uint64_t places_ = 0;
    std::uint32_t threshold_ = std::numeric_limits<std::uint32_t>::max();
    std::size_t bytes_ = 0;
    std::vector<Line> lines_;
};

// All characters become pieces, so that nothing is unknown, unless they would be most of the
// vocabulary.
const char* coverage_for(const std::vector<std::string_view>& lines, std::int64_t size) {
    std::unordered_set<std::string_view> characters;
    for (const std::string_view line : lines)
        for (std::size_t at = 0, length = 0; at < line.size(); at += length) {
            length = std::max<std::size_t>(utf8_length(line, at), 1);
            characters.insert(line.substr(at, length));
        }
    return std::int64_t(characters.size()) <= size / 4 ? "1.0" : "0.9995";
}

using Learn = void (*)(const LearnRequest&, void*, LearnAnswer);

// Loaded once, and never given back.
Learn load_module() {
    namespace fs = std::filesystem;
    constexpr const char* kName = "cait-sentencepiece.so";
    int flags = RTLD_NOW | RTLD_LOCAL;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    flags |= RTLD_DEEPBIND;  // sanitizers, under which there is no LibTorch, refuse it
#endif
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    std::string reason = "found no such file";
    for (const fs::path& place :
         {folder / kName, folder / "../libexec/cait" / kName, fs::path(CAIT_MODULE_FOLDER) / kName,
          fs::path("/usr/libexec/cait") / kName}) {
        std::error_code ignored;
        if (!fs::exists(place, ignored)) continue;
        void* const module = ::dlopen(place.c_str(), flags);
        if (module != nullptr)
            if (void* const found = ::dlsym(module, kLearnFunction))
                return reinterpret_cast<Learn>(found);
        const char* const error = ::dlerror();
        reason = printable(error == nullptr ? "cannot be loaded" : error);
    }
    throw Error(
        fmt::format("learning a vocabulary needs {} beside the program, in libexec/cait or "
                    "in {}: {}",
                    kName, CAIT_MODULE_FOLDER, reason));
}

struct Answer {
    bool learned = false;
    std::string bytes;
};

Answer learn(const LearnRequest& request) {
    static const Learn kLearn = load_module();
    Answer answer;
    kLearn(request, &answer, [](void* context, bool learned, std::string_view bytes) {
        *static_cast<Answer*>(context) = {learned, std::string(bytes)};
    });
    return answer;
}

}  // namespace

VocabularyPtr learn_vocabulary(const NextLine& next, const LearnOptions& options,
                               const std::string& where) {
    if (options.size <= kSpecialPieces || options.size > kMostLearned)
        throw UsageError(fmt::format("vocabulary: expected {} to {} pieces, found {}",
                                     kSpecialPieces + 1, kMostLearned, options.size));
    LineSample sample(options);
    std::size_t number = 0;
    for (std::string line; next(line); line.clear()) {
        check_sentence(line, fmt::format("{}: line {}", where, ++number));
        sample.add(std::move(line));
    }
    const std::vector<std::string_view> lines = sample.lines();
    if (lines.empty())
        throw Error(
            fmt::format("{}: expected lines of at most {} bytes to learn pieces from, "
                        "found none",
                        where, kLongestLearned));
    const MemoryShare share = MemoryBudget::of_process().keep(sample.bytes() * kMemoryPerByte,
                                                              where + ": learning a vocabulary");
    const Answer answer =
        learn({lines.data(), lines.size(), options.size, coverage_for(lines, options.size)});
    if (!answer.learned)
        throw Error(fmt::format("{}: learning {} pieces: {}", where, options.size,
                                printable(answer.bytes, 400)));
    return read_sentencepiece(answer.bytes, where);
}

VocabularyPtr learn_vocabulary(const Dataset& dataset, const LearnOptions& options) {
    std::size_t at = 0;
    SentencePair pair;
    bool has_target = false;
    const NextLine next = [&](std::string& line) {
        if (has_target) {
            line = std::move(pair.target);
            has_target = false;
            return true;
        }
        if (at == dataset.size()) return false;
        pair = dataset.sentences(at++);
        line = std::move(pair.source);
        return has_target = true;
    };
    return learn_vocabulary(next, options, dataset.source());
}

}  // namespace cait
