// The translator of cait/c.h: no exception leaves this file.
#include "cait/c.h"
#include "cait/error.h"
#include "cait/translator.h"
#include "engine/c_guard.h"
#include "kernels/precision_names.h"

struct cait_translator {
    cait::Translator translator;
};

struct cait_translations {
    std::vector<cait::Translation> of_lines;
};

cait_translator* cait_translator_load(const char* file, int threads, const char* precision,
                                      size_t beam) {
    return cait::c_guarded([&]() -> cait_translator* {
        cait::SessionOptions options{.threads = threads};
        if (precision != nullptr) options.precision = cait::precision_of(precision);
        cait::TranslateOptions search;
        if (beam > 0) search.beam = beam;
        const cait::Model model = cait::Model::load(cait::c_path(file));
        return std::make_unique<cait_translator>(
                   cait_translator{cait::Translator(model, options, search)})
            .release();
    });
}

void cait_translator_free(cait_translator* translator) { delete translator; }

cait_translations* cait_translate(const cait_translator* translator, const char* const* lines,
                                  size_t count) {
    return cait::c_guarded([&]() -> cait_translations* {
        cait::c_expect(translator != nullptr, "translator");
        cait::c_expect(lines != nullptr || count == 0, "lines");
        std::vector<std::string> texts;
        for (size_t i = 0; i < count; ++i) {
            cait::c_expect(lines[i] != nullptr, "line");
            texts.emplace_back(lines[i]);
        }
        auto made = std::make_unique<cait_translations>();
        for (auto& of_line : translator->translator.translate(texts))
            made->of_lines.push_back(std::move(of_line.front()));
        return made.release();
    });
}

void cait_translations_free(cait_translations* translations) { delete translations; }

size_t cait_translations_count(const cait_translations* of) {
    return of == nullptr ? 0 : of->of_lines.size();
}
const char* cait_translations_text(const cait_translations* of, size_t line) {
    return line < cait_translations_count(of) ? of->of_lines[line].text.c_str() : nullptr;
}
double cait_translations_score(const cait_translations* of, size_t line) {
    return line < cait_translations_count(of) ? of->of_lines[line].score : 0;
}
