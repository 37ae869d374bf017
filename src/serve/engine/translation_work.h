// The lines of one request on their way through a translator, from what they were checked as to
// what they become.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/engine/served_translator.h"

namespace cait::serve {

class TranslationWork {
public:
    // Throws HttpError, naming the line, for more than a request may have and for what is no line
    // of text: "line 3" of several. `of` has to outlive it.
    TranslationWork(const ServedTranslator& of, const TranslateWish& wish,
                    std::vector<std::string> lines);

    const ServedTranslator& translator() const { return of_; }
    const TranslateWish& wish() const { return wish_; }
    std::size_t lines() const { return lines_.size(); }
    std::size_t pieces(std::size_t line) const { return pieces_[line]; }  // its end included
    // Sentences of the usual length: of a line, and of all.
    std::size_t units(std::size_t line) const { return of_.units(pieces_[line], wish_); }
    std::size_t units() const;

    // Bytes that the translations take at most, and that translating takes besides when lines of
    // so many units go together.
    std::uint64_t result_bytes() const;
    std::uint64_t bytes_to_translate(std::size_t units_together) const;

    bool goes_with(const TranslationWork& other) const { return wish_ == other.wish_; }
    // Some lines of each of several works of one translator that go with each other. `stop`: where
    // nobody waits for any of them any more.
    struct Part {
        TranslationWork* of;
        std::size_t first, count;
    };
    static void translate(std::span<const Part> parts, const std::function<bool()>& stop);

    // By line, the best first: those that have been translated.
    const std::vector<std::vector<Translation>>& found() const { return found_; }

private:
    const ServedTranslator& of_;
    TranslateWish wish_;
    std::vector<std::string> lines_;
    std::vector<std::size_t> pieces_;
    std::vector<std::vector<Translation>> found_;
};

}  // namespace cait::serve
