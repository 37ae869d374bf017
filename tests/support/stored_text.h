// Texts that no change should alter by accident, such as drawings and tables of keys: each lies in
// a file beside its test and is compared line by line. CAIT_STORE=1 writes the files again; read
// the difference before you commit it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace cait::test {

inline void expect_stored(const std::filesystem::path& file, const std::string& found) {
    if (std::getenv("CAIT_STORE") != nullptr) {
        std::ofstream(file) << found;
        return;
    }
    std::ifstream stored(file);
    ASSERT_TRUE(stored) << file << " is missing";
    std::istringstream lines(found);
    std::string expected, line;
    for (int number = 1; std::getline(stored, expected); ++number) {
        ASSERT_TRUE(std::getline(lines, line)) << file << ":" << number << ": missing " << expected;
        ASSERT_EQ(line, expected) << file << ":" << number;
    }
    ASSERT_FALSE(std::getline(lines, line)) << file << ": one line more: " << line;
}

// A page or a drawing, without its style, and without the bytes of pictures, which depend on the
// version of zlib.
inline void expect_drawn(const std::filesystem::path& file, const std::string& found) {
    ASSERT_FALSE(found.empty());
    std::string text = std::regex_replace(found, std::regex("base64,[A-Za-z0-9+/=]*"), "base64,…");
    const std::size_t begin = text.find("<style>"), end = text.find("</style>");
    if (begin != std::string::npos) text.erase(begin, end - begin);
    expect_stored(file, text);
}

}  // namespace cait::test
