#include "data/formats/mat_file.h"

#include <zlib.h>

#include <array>
#include <cstring>

#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kMatFileData = test::source_path(__FILE__).parent_path() / "../data";

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

// What SciPy wrote (tests/golden/make_mat_files.py).
TEST(MatFile, ReadsNumbersHoweverTheyAreStored) {
    for (const char* name : {"imagelabels.mat", "imagelabels_plain.mat"}) {
        const std::string text = read_file(kMatFileData / name);
        const MatFile file(bytes_of(text), name);
        EXPECT_THAT(file.names(), ElementsAre("labels"));
        EXPECT_THAT(file.integers(file.variable("labels"), "labels"),
                    ElementsAre(77, 102, 1, 77, 3, 1, 102))
            << name;
    }
}

TEST(MatFile, ReadsCellsAndStructs) {
    const std::string text = read_file(kMatFileData / "cars_annos.mat");
    const MatFile file(bytes_of(text), "cars");
    EXPECT_THAT(file.texts(file.variable("class_names"), "names"),
                ElementsAre("AM General Hummer SUV 2000", "Acura RL Sedan 2012",
                            "Ram C/V Cargo Van Minivan 2012"));
    constexpr std::array<std::string_view, 2> kFields{"class", "relative_im_path"};
    std::vector<std::string> rows;
    file.rows(file.variable("annotations"), kFields, [&](std::span<const MatArray> values) {
        rows.push_back(std::to_string(file.integer(values[0], "class")) + " " +
                       file.text(values[1], "path"));
    });
    EXPECT_THAT(
        rows, ElementsAre("2 car_ims/000001.jpg", "3 car_ims/000002.jpg", "1 car_ims/000003.jpg"));
}

TEST(MatFile, SaysWhatItFoundInstead) {
    const std::string text = read_file(kMatFileData / "cars_annos.mat");
    const MatFile file(bytes_of(text), "cars.mat");
    const MatArray& table = file.variable("annotations");
    const auto refused = [&](const std::function<void()>& action, const char* message) {
        const std::string found = error_of(action);
        EXPECT_THAT(found, HasSubstr("cars.mat: "));
        EXPECT_THAT(found, HasSubstr(message));
    };
    refused([&] { file.variable("labels"); }, "expected a variable 'labels', found 'annotations");
    refused([&] { file.integers(table, "x"); }, "x: expected numbers");
    refused([&] { file.text(table, "x"); }, "x: expected text");
    refused([&] { file.texts(table, "x"); }, "x: expected cells");
    refused([&] { file.fields(file.variable("class_names")); }, "expected a struct array");
    constexpr std::array<std::string_view, 1> kField{"fname"};
    refused([&] { file.rows(table, kField, [](auto) {}); }, "expected a field 'fname', found");
    refused([] { MatFile(bytes_of(std::string(200, ' ')), "cars.mat"); }, "level 5");
    std::string newer = "MATLAB 7.3 MAT-file, Platform: GLNXA64";
    newer.resize(512, ' ');
    refused([&] { MatFile(bytes_of(newer), "cars.mat"); }, "found version 7.3");
}

TEST(MatFile, RefusesValuesThatAreNoWholeNumbers) {
    std::string text = read_file(kMatFileData / "imagelabels_plain.mat");
    const double odd = 77;
    const std::size_t at = text.find(std::string(reinterpret_cast<const char*>(&odd), 8));
    ASSERT_NE(at, std::string::npos);
    for (const double value : {1.5, 1e300, double(NAN)}) {
        std::memcpy(text.data() + at, &value, 8);
        const MatFile file(bytes_of(text), "m");
        EXPECT_THAT(error_of([&] { file.integers(file.variable("labels"), "labels"); }),
                    HasSubstr("labels: expected whole numbers, found "));
    }
}

std::string word(std::uint32_t value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A file that holds these elements.
std::string mat(const std::string& elements) {
    std::string text(128, ' ');
    text[124] = 0, text[125] = 1, text[126] = 'I', text[127] = 'M';
    return text + elements;
}

std::string element(std::uint32_t type, std::string content) {
    const auto size = std::uint32_t(content.size());
    content.resize((content.size() + 7) / 8 * 8, '\0');
    return word(type) + word(size) + content;
}

// An array of doubles called x that has no values.
std::string array_of_rank(std::size_t rank) {
    std::string extents;
    for (std::size_t i = 0; i < rank; ++i) extents += word(1);
    return element(14, element(6, word(6) + word(0)) + element(5, extents) + element(1, "x"));
}

TEST(MatFile, HasAtMost32Dimensions) {
    const std::string most = mat(array_of_rank(32));
    EXPECT_THAT(MatFile(bytes_of(most), "m").names(), ElementsAre("x"));
    for (const std::size_t rank : {33U, 1000U}) {
        const std::string text = mat(array_of_rank(rank));
        EXPECT_THAT(error_of([&] { MatFile(bytes_of(text), "m.mat"); }),
                    HasSubstr("m.mat: MATLAB file: expected at most 32 dimensions, found " +
                              std::to_string(rank)));
    }
}

// Each would take many times its own size.
TEST(MatFile, HasAsManyVariablesAndFieldsAsItMay) {
    std::string empty;
    for (int i = 0; i <= 10'000; ++i) empty += element(14, "");
    const std::string variables = mat(empty);
    EXPECT_THAT(error_of([&] { MatFile(bytes_of(variables), "m"); }),
                HasSubstr("expected at most 10000 variables"));
    const std::string structs = mat(element(
        14, element(6, word(2) + word(0)) + element(5, word(1) + word(1)) + element(1, "x") +
                element(5, word(1)) + element(1, std::string(10'001, 'f'))));
    const MatFile file(bytes_of(structs), "m");
    EXPECT_THAT(error_of([&] { file.fields(file.variable("x")); }),
                HasSubstr("expected at most 10000 fields, found 10001"));
}

// 33 MiB of zeros behind a few kilobytes.
TEST(MatFile, RefusesWhatUnpacksToTooMuch) {
    const std::string zeros(std::size_t{33} << 20, '\0');
    std::string packed(compressBound(zeros.size()), '\0');
    uLongf size = packed.size();
    ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()),
              Z_OK);
    std::string text = read_file(kMatFileData / "imagelabels.mat").substr(0, 128);
    const std::array<std::uint32_t, 2> tag{15, std::uint32_t(size)};
    text.append(reinterpret_cast<const char*>(tag.data()), 8).append(packed, 0, size);
    EXPECT_THAT(error_of([&] { MatFile(bytes_of(text), "m"); }), HasSubstr("unpacks to more than"));
}

// Every truncation is an Error, every changed byte an answer or an Error, never a crash.
TEST(MatFile, SurvivesDamage) {
    const auto read_all = [](const std::string& text) {
        const MatFile file(bytes_of(text), "m");
        constexpr std::array<std::string_view, 2> kFields{"fname", "class"};
        for (const char* name : {"trnid", "valid", "tstid", "labels"})
            if (file.has(name)) file.integers(file.variable(name), name);
        if (file.has("annotations"))
            file.rows(file.variable("annotations"), kFields, [&](std::span<const MatArray> values) {
                file.text(values[0], "fname");
                file.integer(values[1], "class");
            });
    };
    for (const char* name : {"setid.mat", "imagelabels_plain.mat", "cars_train_annos.mat",
                             "cars_test_annos_withlabels.mat"}) {
        const std::string good = read_file(kMatFileData / name);
        EXPECT_NO_THROW(read_all(good)) << name;
        for (std::size_t size = 0; size < good.size(); ++size) {
            try {
                read_all(good.substr(0, size));
            } catch (const Error&) {
            }
        }
        for (std::size_t at = 0; at < good.size(); ++at)
            for (const int mask : {0xff, 0x01, 0x80}) {
                std::string changed = good;
                changed[at] = char(changed[at] ^ mask);
                try {
                    read_all(changed);
                } catch (const Error&) {
                }
            }
    }
}

}  // namespace
}  // namespace cait::data_test
