// Translates the lines of stdin: translate MODEL.safetensors < lines > lines
#include <cait/translator.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s MODEL.safetensors < lines > lines\n", argv[0]);
        return 2;
    }
    const cait::Translator translator(cait::Model::load(argv[1]));
    std::fprintf(stderr, "from %s to %s\n", translator.source_language().c_str(),
                 translator.target_language().c_str());
    constexpr std::size_t kTogether = 32;  // lines, which is faster than one after the other
    std::vector<std::string> lines;
    const auto translate = [&] {
        for (const std::vector<cait::Translation>& best : translator.translate(lines))
            std::printf("%s\n", best.front().text.c_str());
        lines.clear();
    };
    for (std::string line; std::getline(std::cin, line);) {
        lines.push_back(line);
        if (lines.size() == kTogether) translate();
    }
    if (!lines.empty()) translate();
    return 0;
} catch (const std::exception& error) {  // names the line and what is wrong with it
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
