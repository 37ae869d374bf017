#include "data/sentences/word_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/display_name.h"
#include "base/utf8.h"
#include "cait/error.h"
#include "data/sentences/bpe_codes.h"
#include "data/sentences/dictionary.h"

namespace cait {

namespace {

constexpr std::string_view kSeparator = "@@";

// Bytes of the space at the front of `text`, 0 where there is none: what Python's str.split(),
// which fairseq cuts its lines by, takes for one.
std::size_t leading_space(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first == ' ' || (first >= 0x09 && first <= 0x0d) || (first >= 0x1c && first <= 0x1f))
        return 1;
    for (const std::string_view space :
         {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
          "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f",
          "\u3000"})
        if (text.starts_with(space)) return space.size();
    return 0;
}

template <class Use>
void for_each_word(std::string_view text, const Use& use) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (const std::size_t space = leading_space(text.substr(at)); space > 0) {
            if (at > begin) use(text.substr(begin, at - begin));
            at += space;
            begin = at;
        } else {
            at += std::max<std::size_t>(utf8_length(text, at), 1);
        }
    }
    if (begin < text.size()) use(text.substr(begin));
}

class WordVocabulary : public Vocabulary {
public:
    WordVocabulary(std::string_view dictionary, const std::string& where,
                   std::size_t first_line = 1)
        : dictionary_(dictionary, where, first_line) {}

    std::int64_t size() const override { return dictionary_.size(); }
    std::vector<std::int64_t> encode(std::string_view line) const override {
        check_sentence(line, "line");
        std::vector<std::int64_t> ids;
        for_each_word(line, [&](std::string_view word) { ids.push_back(dictionary_.id(word)); });
        return ids;
    }
    std::string decode(std::span<const std::int64_t> pieces) const override {
        return tokens(pieces);
    }
    std::string tokens(std::span<const std::int64_t> pieces) const override {
        std::string text;
        for (const std::int64_t id : pieces) {
            const std::string& piece = dictionary_.piece(id);
            if (id < kUnknown) continue;
            if (!text.empty()) text += ' ';
            text += piece;
        }
        return text;
    }
    std::string piece(std::int64_t id) const override { return dictionary_.piece(id); }
    std::string kind() const override { return std::string(kWordsKind); }
    std::string bytes() const override { return dictionary_.text(); }

protected:
    const Dictionary& dictionary() const { return dictionary_; }

private:
    Dictionary dictionary_;
};

class BpeVocabulary final : public WordVocabulary {
public:
    BpeVocabulary(BpeCodes codes, std::string_view dictionary, const std::string& where,
                  std::size_t first_line = 1)
        : WordVocabulary(dictionary, where, first_line), codes_(std::move(codes)) {}

    // subword-nmt knows no space but " "; fairseq then cuts its pieces at the others, too.
    std::vector<std::int64_t> encode(std::string_view line) const override {
        check_sentence(line, "line");
        std::vector<std::int64_t> ids;
        std::string written;
        constexpr std::string_view kEnds = "\r\n ";
        line.remove_prefix(std::min(line.find_first_not_of(kEnds), line.size()));
        line = line.substr(0, line.find_last_not_of(kEnds) + 1);
        while (!line.empty()) {
            const std::size_t end = std::min(line.find(' '), line.size());
            const std::vector<std::string_view> pieces = codes_.cut(line.substr(0, end));
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                written = pieces[i];
                if (i + 1 < pieces.size()) written += kSeparator;
                for_each_word(written,
                              [&](std::string_view word) { ids.push_back(dictionary().id(word)); });
            }
            line.remove_prefix(std::min(end + 1, line.size()));
        }
        return ids;
    }
    std::string tokens(std::span<const std::int64_t> pieces) const override {
        std::string text = WordVocabulary::tokens(pieces) + ' ';
        const std::string joint = std::string(kSeparator) + ' ';
        std::string result;
        std::size_t from = 0;
        for (std::size_t at = 0; (at = text.find(joint, from)) != std::string::npos;
             from = at + joint.size())
            result += text.substr(from, at - from);
        result += text.substr(from);
        while (result.ends_with(' ')) result.pop_back();
        return result;
    }
    std::string kind() const override { return std::string(kBpeKind); }
    std::string bytes() const override {
        return fmt::format("{}codes {}\n{}pieces {}\n{}", kBpeHeader, codes_.lines(), codes_.text(),
                           size() - kSpecialPieces, dictionary().text());
    }

private:
    BpeCodes codes_;
};

// Takes "NAME N" and the N lines after it off the front of `text`.
struct Section {
    std::string_view lines;
    std::size_t first_line = 1;  // of them, from 1
};

Section take_section(std::string_view& text, std::string_view name, std::size_t& line,
                     const std::string& where) {
    const auto fail = [&](const std::string& what) {
        throw Error(fmt::format("{}:{}: {}", where, line, what));
    };
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view header = text.substr(0, end);
    std::size_t count = 0;
    const char* const stop = header.data() + header.size();
    const char* const number = header.data() + std::min(name.size() + 1, header.size());
    const auto [read, error] = std::from_chars(number, stop, count);
    if (!header.starts_with(name) || error != std::errc() || read != stop)
        fail(fmt::format("expected '{}' and a number of lines, found {}", name,
                         display_name(header)));
    text.remove_prefix(std::min(end + 1, text.size()));
    Section section{text, ++line};
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i, ++line) {
        const std::size_t next = text.find('\n', size);
        if (next == std::string_view::npos)
            fail(fmt::format("truncated: expected {} lines of {}, found {}", count, name, i));
        size = next + 1;
    }
    section.lines = text.substr(0, size);
    text.remove_prefix(size);
    return section;
}

}  // namespace

VocabularyPtr read_word_vocabulary(std::string_view bytes, const std::string& where) {
    return std::make_shared<WordVocabulary>(bytes, where);
}

VocabularyPtr read_bpe_vocabulary(std::string_view bytes, const std::string& where) {
    if (!bytes.starts_with(kBpeHeader))
        throw Error(fmt::format("{}: expected BPE codes and their pieces, found {}", where,
                                display_name(bytes.substr(0, kBpeHeader.size()))));
    bytes.remove_prefix(kBpeHeader.size());
    std::size_t line = 2;
    const Section codes = take_section(bytes, "codes", line, where);
    const Section pieces = take_section(bytes, "pieces", line, where);
    if (!bytes.empty())
        throw Error(fmt::format("{}:{}: expected no more lines, found {} bytes", where, line,
                                bytes.size()));
    return std::make_shared<BpeVocabulary>(BpeCodes(codes.lines, where, codes.first_line),
                                           pieces.lines, where, pieces.first_line);
}

VocabularyPtr make_bpe_vocabulary(std::string_view codes, const std::string& codes_name,
                                  std::string_view dictionary, const std::string& dictionary_name) {
    return std::make_shared<BpeVocabulary>(BpeCodes(codes, codes_name), dictionary,
                                           dictionary_name);
}

}  // namespace cait
