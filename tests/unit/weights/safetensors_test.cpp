#include "weights/safetensors.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "base/philox.h"
#include "unit/weights/support.h"

namespace cait::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kOneFloat = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";

TensorFile safetensors_parse(const std::string& bytes) {
    const auto owner = std::make_shared<const std::string>(bytes);
    return TensorFile::parse(owner, as_bytes(*owner), "file");
}

std::string safetensors_parse_error(const std::string& bytes) {
    return error_of([&] { safetensors_parse(bytes); });
}

std::string header_error(std::string_view header, std::string_view content = "") {
    return safetensors_parse_error(safetensors(header, content));
}

TEST(Safetensors, ReadsWhatTheReferenceLibraryWrites) {
    const TensorFile file = TensorFile::open(data("plain.safetensors"));
    EXPECT_EQ(file.metadata.at("author"), "test");
    EXPECT_EQ(file.tensors.size(), 12U);
    for (const auto& [name, tensor] : file.tensors)
        if (name == "cls_token") {
            EXPECT_EQ(tensor.shape(), (Shape{1, 1, 4}));
            EXPECT_THAT(values(tensor), ElementsAre(0.5F, -1.0F, 2.0F, 0.25F));
        }
}

TEST(Safetensors, ToleratesWhitespaceBeforeAndAfterTheHeader) {
    const TensorFile file =
        safetensors_parse(safetensors(" \n" + std::string(kOneFloat) + "   ", little_endian(2.5F)));
    EXPECT_THAT(values(file.tensors[0].tensor), ElementsAre(2.5F));
}

TEST(Safetensors, AllowsEmptyAndScalarTensors) {
    const TensorFile file =
        safetensors_parse(safetensors(R"({"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                      R"("a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}})",
                                      little_endian(1.0F)));
    EXPECT_EQ(file.tensors[0].name, "a");
    EXPECT_EQ(file.tensors[0].tensor.count(), 0);
    EXPECT_EQ(file.tensors[1].tensor.shape().rank(), 0U);
    EXPECT_TRUE(safetensors_parse(safetensors("{}")).tensors.empty());
}

TEST(Safetensors, ViewsNeedNotBeAligned) {
    // The header has an odd length, so the float lies at an odd address.
    const TensorFile file =
        safetensors_parse(safetensors(std::string(kOneFloat) + " ", little_endian(2.5F)));
    EXPECT_THAT(values(file.tensors[0].tensor), ElementsAre(2.5F));
}

// Bad inputs, each with the answer that a user sees.

TEST(Safetensors, RefusesAFileWithoutAHeader) {
    EXPECT_THAT(safetensors_parse_error(""), HasSubstr("truncated header"));
    EXPECT_THAT(safetensors_parse_error("1234567"), HasSubstr("truncated header"));
    EXPECT_THAT(safetensors_parse_error(little_endian<std::uint64_t>(100) + "{}"),
                HasSubstr("truncated header"));
}

TEST(Safetensors, RefusesAHeaderLengthBeyondTheLimit) {
    EXPECT_THAT(safetensors_parse_error(little_endian(~std::uint64_t{0}) + "{}"),
                HasSubstr("header length"));
    EXPECT_THAT(safetensors_parse_error(little_endian<std::uint64_t>(100'000'001) + "{}"),
                HasSubstr("header length 100000001"));
}

TEST(Safetensors, RefusesWhatIsNotJson) {
    EXPECT_THAT(header_error("[]"), HasSubstr("expected an object"));
    EXPECT_THAT(header_error(R"({"a":)"), HasSubstr("not valid JSON"));
    EXPECT_THAT(header_error("{\"\xff\":1}"), HasSubstr("not valid JSON"));
    EXPECT_THAT(header_error("{} {}"), HasSubstr("not valid JSON"));
    // A parser that stops at the zero byte would let anything hide behind it.
    EXPECT_THAT(header_error(std::string_view("{}\0{}", 5)), HasSubstr("not valid JSON"));
}

TEST(Safetensors, NamesTheTensorThatOverlaps) {
    const std::string message =
        header_error(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                     R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                     "123456");
    EXPECT_THAT(message, HasSubstr("tensor 'b': data_offsets overlap"));
}

TEST(Safetensors, RefusesHolesAndTrailingBytes) {
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", "12345"),
                HasSubstr("tensor 'a': data_offsets leave a hole"));
    EXPECT_THAT(header_error(kOneFloat, "12345"), HasSubstr("1 trailing bytes"));
    EXPECT_THAT(header_error(kOneFloat, "123"), HasSubstr("outside the 3 bytes"));
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", "1234"),
                HasSubstr("outside"));
}

TEST(Safetensors, RefusesAShapeWhoseProductWrapsRound) {
    EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
                             R"("data_offsets":[0,0]}})"),
                HasSubstr("tensor 'a': overflow"));
    EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[18446744073709551615],)"
                             R"("data_offsets":[0,0]}})"),
                HasSubstr("overflow"));
}

TEST(Safetensors, RefusesASizeThatIsNotThatOfTheShape) {
    EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
                HasSubstr("needs 8 bytes, data_offsets give 4"));
}

TEST(Safetensors, RefusesExtentsThatAreNotNaturalNumbers) {
    for (const std::string extent : {"-1", "1.5", "1e400", "1e2", "\"1\"", "true", "null", "[1]",
                                     "{}", "99999999999999999999"}) {
        const std::string message = header_error(
            R"({"a":{"dtype":"U8","shape":[)" + extent + R"(],"data_offsets":[0,1]}})", "1");
        EXPECT_THAT(message, HasSubstr("tensor 'a': shape")) << extent;
    }
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}})"),
                HasSubstr("data_offsets"));
}

TEST(Safetensors, NamesADuplicateKey) {
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                             R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
                HasSubstr("duplicate key 'a'"));
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","dtype":"I8"}})"),
                HasSubstr("duplicate key 'dtype'"));
    EXPECT_THAT(header_error(R"({"__metadata__":{"k":"1","k":"2"}})"),
                HasSubstr("duplicate key 'k'"));
}

TEST(Safetensors, RefusesDeepNestingWithoutRecursion) {
    const std::string deep(100'000, '[');
    EXPECT_THAT(header_error(R"({"a":)" + deep), HasSubstr("nested too deeply"));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
    EXPECT_THAT(header_error(objects), HasSubstr("tensor 'a'"));
}

TEST(Safetensors, RefusesUnknownDTypesAndFieldsByName) {
    EXPECT_THAT(header_error(R"({"a":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}})"),
                HasSubstr("tensor 'a': dtype 'F8_E4M3' is not supported"));
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[0],"offsets":[0,0]}})"),
                HasSubstr("unknown field 'offsets'"));
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[0]}})"), HasSubstr("no data_offsets"));
    EXPECT_THAT(header_error(R"({"a":{"shape":[0],"data_offsets":[0,0]}})"), HasSubstr("no dtype"));
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"),
                HasSubstr("no shape"));
    EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})"),
                HasSubstr("expected 2 numbers"));
}

TEST(Safetensors, MetadataHoldsOnlyText) {
    EXPECT_THAT(header_error(R"({"__metadata__":{"epoch":3}})"),
                HasSubstr("__metadata__ 'epoch': expected a string"));
    EXPECT_THAT(header_error(R"({"__metadata__":{"a":{"b":"c"}}})"),
                HasSubstr("expected a string"));
}

TEST(Safetensors, MessagesStayShortAndPrintable) {
    const std::string name = std::string(10'000, 'x') + "\\u0000\\n";
    const std::string message = header_error(R"({")" + name + R"(":{"dtype":"Q"}})");
    EXPECT_LT(message.size(), 300U);
}

// Writing.

std::vector<NamedTensor> some_tensors() {
    Tensor bytes = Tensor::zeros(DType::u8, {3});
    Tensor half = Tensor::zeros(DType::bf16, {2, 2});
    return {{"z.bytes", bytes},
            {"b", Tensor::of({2}, std::array{1.0F, -2.0F})},
            {"a", Tensor::of({1, 1}, std::array{3.0F})},
            {"half", half},
            {"empty", Tensor::empty(DType::i64, {0})}};
}

TEST(SafetensorsWriter, OrdersByDTypeSizeThenNameAndAligns) {
    const TemporaryFolder folder;
    write_safetensors(folder / "x.safetensors", some_tensors(), {});
    const TensorFile file = TensorFile::open(folder / "x.safetensors");
    std::vector<std::string> order;
    for (const NamedTensor& entry : file.tensors) {
        order.push_back(entry.name);
        EXPECT_EQ(std::uintptr_t(entry.tensor.bytes()) % size_of(entry.tensor.dtype()), 0U);
    }
    EXPECT_THAT(order, ElementsAre("empty", "a", "b", "half", "z.bytes"));
    EXPECT_EQ(read_text(folder / "x.safetensors")[0] % 8, 0);
}

TEST(SafetensorsWriter, KeepsMetadataAndOddNames) {
    const TemporaryFolder folder;
    const std::map<std::string, std::string> metadata{{"classes", "[\"tench\",\n\"goldfish\"]"},
                                                      {"é", "\\\""}};
    write_safetensors(folder / "x",
                      std::vector<NamedTensor>{{"a\"b", Tensor::zeros(DType::u8, {})}}, metadata);
    const TensorFile file = TensorFile::open(folder / "x");
    EXPECT_EQ(file.metadata, metadata);
    EXPECT_EQ(file.tensors[0].name, "a\"b");
}

TEST(SafetensorsWriter, RefusesNamesThatCouldNotBeReadBack) {
    const TemporaryFolder folder;
    const Tensor tensor = Tensor::zeros(DType::u8, {1});
    const auto write = [&](std::vector<NamedTensor> tensors) {
        return error_of([&] { write_safetensors(folder / "x", tensors, {}); });
    };
    EXPECT_THAT(write({{"a", tensor}, {"a", tensor}}), HasSubstr("'a': the name is taken"));
    EXPECT_THAT(write({{"__metadata__", tensor}}), HasSubstr("the name is taken"));
    EXPECT_THAT(write({{"\xff", tensor}}), HasSubstr("expected UTF-8"));
    EXPECT_THAT(write({{"a", Tensor{}}}), HasSubstr("no data"));
    EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

TEST(SafetensorsWriter, MaySaveOverTheFileThatItsTensorsAreMappedFrom) {
    const TemporaryFolder folder;
    write_safetensors(folder / "x", some_tensors(), {});
    const TensorFile before = TensorFile::open(folder / "x");
    write_safetensors(folder / "x", before.tensors, {{"again", "yes"}});
    const TensorFile after = TensorFile::open(folder / "x");
    EXPECT_EQ(after.metadata.at("again"), "yes");
    for (std::size_t i = 0; i < before.tensors.size(); ++i)
        expect_same(before.tensors[i].tensor, after.tensors[i].tensor, before.tensors[i].name);
}

TEST(SafetensorsWriter, RandomTensorsComeBackBitForBit) {
    const TemporaryFolder folder;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        RandomStream random(seed, "round trip");
        std::vector<NamedTensor> tensors;
        for (std::uint32_t i = random.bits() % 8; i > 0; --i) {
            std::vector<std::int64_t> extents(random.bits() % 4);
            for (std::int64_t& extent : extents) extent = random.bits() % 5;
            Tensor tensor = Tensor::empty(DType(random.bits() % 10), Shape(extents));
            for (std::byte& byte : tensor.mutable_bytes()) byte = std::byte(random.bits());
            tensors.push_back({fmt::format("t{}", i), tensor});
        }
        write_safetensors(folder / "x", tensors, {});
        WeightFile written;
        written.tensors = tensors;
        expect_same(written, open_weights(folder / "x"));
    }
}

TEST(Safetensors, OpensAHugeFileWithoutReadingIt) {
    // Sparse, so that 1.4 GB cost nothing; tmpfs and every common file system can do it.
    const TemporaryFolder folder;
    constexpr std::uint64_t kSize = 1'400'000'000;
    const std::string header = R"({"a":{"dtype":"F32","shape":[350000000],"data_offsets":[0,)" +
                               std::to_string(kSize) + "]}}";
    write_text(folder / "big", safetensors(header));
    std::filesystem::resize_file(folder / "big", 8 + header.size() + kSize);
    const auto start = std::chrono::steady_clock::now();
    const WeightFile file = open_weights(folder / "big");
    const auto elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_LT(elapsed, std::chrono::milliseconds(100));
    EXPECT_EQ(find(file, "a").count(), 350'000'000);
}

}  // namespace
}  // namespace cait::test
