#include "report/tensorboard.h"

#include <bit>
#include <cstring>
#include <map>
#include <numeric>

#include "image/codec/decode.h"
#include "report/crc32c.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

std::uint32_t crc_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

TEST(Crc32c, KnownVectors) {  // the check value, and RFC 3720, B.4
    EXPECT_EQ(crc_of("123456789"), 0xe3069283U);
    EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aaU);
    EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43U);
    std::string rising(32, '\0');
    std::iota(rising.begin(), rising.end(), '\0');
    EXPECT_EQ(crc_of(rising), 0x46dd794eU);
    EXPECT_EQ(crc_of(""), 0U);
}

TEST(Crc32c, TheMaskRotatesAndShifts) {
    const std::string_view text = "123456789";
    const std::uint32_t crc = 0xe3069283U;
    EXPECT_EQ(masked_crc32c(std::as_bytes(std::span(text))),
              std::uint32_t(((crc >> 15) | (crc << 17)) + 0xa282ead8U));
}

// The fields of a message: number → contents, numbers as their little-endian bytes.
using Fields = std::multimap<int, std::string>;

std::uint64_t read_varint(std::string_view& text) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(text.at(0));
        text.remove_prefix(1);
        value |= std::uint64_t(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

Fields parse(std::string_view text) {
    Fields fields;
    while (!text.empty()) {
        const std::uint64_t key = read_varint(text);
        std::size_t size = 0;
        switch (key & 7) {
            case 0: {
                const std::uint64_t value = read_varint(text);
                fields.emplace(int(key >> 3),
                               std::string(reinterpret_cast<const char*>(&value), 8));
                continue;
            }
            case 1: size = 8; break;
            case 2: size = read_varint(text); break;
            case 5: size = 4; break;
            default: throw Error("unknown wire type");
        }
        if (size > text.size()) throw Error("field beyond the end");
        fields.emplace(int(key >> 3), std::string(text.substr(0, size)));
        text.remove_prefix(size);
    }
    return fields;
}

std::string only(const Fields& fields, int number) {
    EXPECT_EQ(fields.count(number), 1U) << number;
    return fields.count(number) == 0 ? "" : fields.find(number)->second;
}

template <class T>
T as(const std::string& bytes) {
    T value{};
    EXPECT_GE(bytes.size(), sizeof value);
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
}

// The events of a file, after a check of both checksums of each.
std::vector<Fields> read_events(const std::filesystem::path& path) {
    const std::string file = read_file(path);
    std::string_view rest = file;
    std::vector<Fields> events;
    const auto checked = [&](std::size_t size) {
        const std::string content(rest.substr(0, size));
        const auto stored = as<std::uint32_t>(std::string(rest.substr(size, 4)));
        EXPECT_EQ(stored, masked_crc32c(std::as_bytes(std::span(content))));
        rest.remove_prefix(size + 4);
        return content;
    };
    while (!rest.empty()) {
        const auto size = as<std::uint64_t>(checked(8));
        events.push_back(parse(checked(size)));
    }
    return events;
}

Fields value_of(const Fields& event) { return parse(only(parse(only(event, 5)), 1)); }

TEST(TensorBoard, WritesWhatAReaderExpects) {
    const TemporaryFolder folder;
    std::filesystem::path file;
    const Image picture = data_test::numbered_image(3);
    const std::string recipe(300, 'r');  // a length of two varint bytes
    {
        TensorBoardWriter writer(Folder::make(folder / "runs/a"));
        file = writer.file();
        writer.scalar("loss/train", 1'000'000, 0.625);
        writer.text("recipe", 0, recipe);
        writer.image("mistakes", 7, picture);
        writer.resumed_at(500);
    }
    EXPECT_EQ(file.parent_path(), folder / "runs/a");
    EXPECT_THAT(file.filename().string(), testing::StartsWith("events.out.tfevents."));
    const std::vector<Fields> events = read_events(file);
    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(only(events[0], 3), "brain.Event:2");
    EXPECT_GT(as<double>(only(events[0], 1)), 1.6e9);

    EXPECT_EQ(as<std::int64_t>(only(events[1], 2)), 1'000'000);
    EXPECT_EQ(only(value_of(events[1]), 1), "loss/train");
    EXPECT_EQ(as<float>(only(value_of(events[1]), 2)), 0.625F);

    const Fields text = value_of(events[2]);
    EXPECT_EQ(only(parse(only(text, 8)), 8), recipe);
    EXPECT_EQ(only(parse(only(parse(only(text, 9)), 1)), 1), "text");

    const Fields image = parse(only(value_of(events[3]), 4));
    EXPECT_EQ(as<std::int64_t>(only(image, 1)), picture.height);
    EXPECT_EQ(as<std::int64_t>(only(image, 2)), picture.width);
    const std::string png = only(image, 4);
    EXPECT_EQ(decode_image(std::as_bytes(std::span(png)), "png"), picture);

    EXPECT_EQ(as<std::int64_t>(only(events[4], 2)), 501);
    EXPECT_EQ(as<std::int64_t>(only(parse(only(events[4], 7)), 1)), 1);
}

// Read by TensorBoard 2.21 itself when this was written; here the messages of its hparams plugin.
TEST(TensorBoard, HyperParametersAreASessionOfThePlugin) {
    const TemporaryFolder folder;
    std::filesystem::path file;
    {
        TensorBoardWriter writer(Folder::make(folder / "a"));
        file = writer.file();
        writer.hyper_parameters(std::vector<HyperParameter>{
            {"optim.lr", 0.001}, {"save.head", true}, {"model.name", std::string("deit")}});
        writer.ended(false);
    }
    const std::vector<Fields> events = read_events(file);
    ASSERT_EQ(events.size(), 3U);
    const auto data_of = [&](const Fields& event, const char* tag) {
        const Fields value = value_of(event);
        EXPECT_EQ(only(value, 1), tag);
        EXPECT_EQ(as<std::int64_t>(only(parse(only(value, 8)), 1)), 1);  // DT_FLOAT
        const Fields plugin = parse(only(parse(only(value, 9)), 1));
        EXPECT_EQ(only(plugin, 1), "hparams");
        return parse(only(plugin, 2));
    };
    const Fields start = parse(only(data_of(events[1], "_hparams_/session_start_info"), 3));
    EXPECT_GT(as<double>(only(start, 5)), 1.6e9);
    std::map<std::string, Fields> values;
    for (auto [at, end] = start.equal_range(1); at != end; ++at)
        values[only(parse(at->second), 1)] = parse(only(parse(at->second), 2));
    ASSERT_EQ(values.size(), 3U);
    EXPECT_EQ(as<double>(only(values["optim.lr"], 2)), 0.001);
    EXPECT_EQ(only(values["model.name"], 3), "deit");
    EXPECT_EQ(as<std::int64_t>(only(values["save.head"], 4)), 1);
    const Fields end = parse(only(data_of(events[2], "_hparams_/session_end_info"), 4));
    EXPECT_EQ(as<std::int64_t>(only(end, 1)), 2);  // STATUS_FAILURE
}

TEST(TensorBoard, TwoWritersInOneSecondHaveTwoFiles) {
    const TemporaryFolder folder;
    const TensorBoardWriter first(Folder::open(folder.path()));
    const TensorBoardWriter second(Folder::open(folder.path()));
    EXPECT_NE(first.file(), second.file());
    EXPECT_EQ(folder.file_count(), 2);
}

TEST(TensorBoard, AFolderThatCannotBeMadeIsNamed) {
    const TemporaryFolder folder;
    write_file(folder / "file", "");
    EXPECT_THAT(error_of([&] { TensorBoardWriter(Folder::make(folder / "file/runs")); }),
                HasSubstr("file/runs: cannot make the folder"));
}

}  // namespace
}  // namespace cait
