#include "weights/pytorch_file.h"

#include <array>

#include "unit/weights/support.h"

namespace cait::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string file_error(const std::string& name) {
    return error_of([&] { open_weights(data(name)); });
}

TEST(PytorchFile, EveryPickleProtocolReadsTheSame) {
    for (const int protocol : {3, 4, 5}) {
        const WeightFile file = open_weights(data("protocol" + std::to_string(protocol) + ".pth"));
        EXPECT_THAT(names(file), ElementsAre("norm.weight", "head.bias"));
        EXPECT_THAT(values(find(file, "head.bias")),
                    ElementsAre(float(protocol), -float(protocol)));
    }
    EXPECT_EQ(open_weights(data("legacy_protocol4.pth")).tensors.size(), 2U);
}

TEST(PytorchFile, RowMajorTensorsStayInTheFile) {
    const auto bytes = std::make_shared<const std::string>(read_text(data("plain_zip.pth")));
    const WeightFile file = read_pytorch(bytes, as_bytes(*bytes), "file");
    for (const auto& [name, tensor] : file.tensors) {
        EXPECT_FALSE(tensor.writable()) << name;
        EXPECT_EQ(tensor.owner(), bytes) << name;
    }
}

TEST(PytorchFile, StridedSharedAndExpandedTensorsBecomeDense) {
    const WeightFile reference = open_weights(data("strided_dense.safetensors"));
    expect_same(reference, open_weights(data("strided_zip.pth")));
    expect_same(reference, open_weights(data("strided_legacy.pth")));
}

TEST(PytorchFile, FindsTheWeightsInEveryWrapping) {
    const OpenOptions ema{.prefer_ema = true};
    const auto norm = [](const WeightFile& file) { return values(find(file, "norm.weight"))[0]; };
    EXPECT_EQ(norm(open_weights(data("wrapped_model.pth"))), 1);
    EXPECT_EQ(norm(open_weights(data("wrapped_model.pth"), ema)), 2);
    EXPECT_EQ(norm(open_weights(data("wrapped_state_dict.pth"))), 1);
    EXPECT_EQ(norm(open_weights(data("wrapped_state_dict.pth"), ema)), 2);
    EXPECT_EQ(norm(open_weights(data("wrapped_model_state_dict.pth"))), 1);
    EXPECT_EQ(norm(open_weights(data("wrapped_model_state_dict.pth"), ema)), 1);
    EXPECT_EQ(norm(open_weights(data("wrapped_only_ema.pth"))), 2);
}

TEST(PytorchFile, StripsModuleAndListsWhatItSkips) {
    const WeightFile file = open_weights(data("wrapped_model.pth"));
    EXPECT_THAT(names(file), ElementsAre("norm.weight", "head.bias"));
    EXPECT_THAT(file.skipped, UnorderedElementsAre("model_ema", "optimizer", "epoch", "args"));
}

TEST(PytorchFile, FlattensContainersOnlyIfTheyHoldTensors) {
    const WeightFile file = open_weights(data("nested.pth"));
    EXPECT_THAT(names(file), ElementsAre("norm.weight", "stages.0", "stages.1"));
    EXPECT_THAT(file.skipped, ElementsAre("config", "version"));
}

TEST(PytorchFile, RefusesAPickleThatNamesOsSystem) {
    // Pickled on Linux the module is called posix.
    EXPECT_THAT(file_error("bad_os_system.pth"), HasSubstr("global 'posix.system' not allowed"));
}

TEST(PytorchFile, RefusesAStorageShorterThanItsTensorSays) {
    const std::string message = file_error("bad_short_storage.pth");
    EXPECT_THAT(message, HasSubstr("tensor 'norm.weight': storage '0': expected 3 elements"));
    EXPECT_THAT(message, HasSubstr("found 8 bytes"));
}

TEST(PytorchFile, RefusesWhatItCannotRead) {
    EXPECT_THAT(file_error("bad_compressed.pth"), HasSubstr("compressed entry"));
    EXPECT_THAT(file_error("bad_big_endian.pth"), HasSubstr("expected 'little', found 'big'"));
    EXPECT_THAT(file_error("bad_complex.pth"),
                HasSubstr("tensor 'phase': dtype 'torch.ComplexFloatStorage' is not supported"));
    EXPECT_THAT(file_error("whole_module.pth"),
                HasSubstr("holds a pickled 'torch.nn.modules.linear.Linear' object"));
}

TEST(PytorchFile, RefusesAPickleThatIsNotTorchs) {
    EXPECT_THAT(open_error(std::string("\x80\x02}q\0.", 6) + "padding"),
                HasSubstr("not one by torch.save"));
}

TEST(PytorchFile, EveryTruncationIsAnErrorAndNothingWorse) {
    for (const char* name : {"strided_zip.pth", "strided_legacy.pth"}) {
        const std::string whole = read_text(data(name));
        for (std::size_t length = 0; length < whole.size(); ++length)
            EXPECT_THROW(open_bytes(whole.substr(0, length)), Error) << name << " " << length;
    }
}

// The files below are made by hand: the older container, whose parts simply follow each other.

std::string pickled_text(const std::string& text) {
    return "X" + little_endian(std::uint32_t(text.size())) + text;
}

std::string pickled_number(std::int64_t value) { return "\x8a\x08" + little_endian(value); }

// A tensor over storage "0" of four floats, with two axes.
std::string pickled_tensor(std::int64_t offset, std::array<std::int64_t, 2> extents,
                           std::array<std::int64_t, 2> strides) {
    const std::string storage = "(" + pickled_text("storage") + "ctorch\nFloatStorage\n" +
                                pickled_text("0") + pickled_text("cpu") + pickled_number(4) + "tQ";
    return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + pickled_number(offset) +
           pickled_number(extents[0]) + pickled_number(extents[1]) + "\x86" +
           pickled_number(strides[0]) + pickled_number(strides[1]) + "\x86\x89}tR";
}

std::string legacy_file(const std::string& main_pickle, std::string_view rest) {
    const std::string magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    return magic + "\x80\x02M\xe9\x03." + "\x80\x02}." + "\x80\x02" + main_pickle + ".\x80\x02](" +
           pickled_text("0") + "e." + std::string(rest);
}

std::string four_floats() {
    std::string text = little_endian<std::int64_t>(4);
    for (const float value : {1.0F, 2.0F, 3.0F, 4.0F}) text += little_endian(value);
    return text;
}

std::string state_dict(const std::string& tensor) { return "}" + pickled_text("w") + tensor + "s"; }

WeightFile open_strided(std::int64_t offset, std::array<std::int64_t, 2> extents,
                        std::array<std::int64_t, 2> strides) {
    return open_bytes(
        legacy_file(state_dict(pickled_tensor(offset, extents, strides)), four_floats()));
}

TEST(PytorchFile, ReadsStridesOfEveryKind) {
    const auto read = [](auto... arguments) {
        return values(find(open_strided(arguments...), "w"));
    };
    using Pair = std::array<std::int64_t, 2>;
    EXPECT_THAT(read(0, Pair{2, 2}, Pair{2, 1}), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(read(0, Pair{2, 2}, Pair{1, 2}), ElementsAre(1, 3, 2, 4));
    EXPECT_THAT(read(1, Pair{3, 2}, Pair{1, 0}), ElementsAre(2, 2, 3, 3, 4, 4));
    // The stride of an axis of extent 1 means nothing, however large.
    EXPECT_THAT(read(3, Pair{1, 1}, Pair{INT64_MAX, INT64_MAX}), ElementsAre(4));
    EXPECT_THAT(read(0, Pair{1, 2}, Pair{INT64_MAX, 3}), ElementsAre(1, 4));
    EXPECT_TRUE(read(4, Pair{0, 5}, Pair{INT64_MAX, 1}).empty());
}

TEST(PytorchFile, RefusesTensorsThatReachOutsideTheirStorage) {
    using Pair = std::array<std::int64_t, 2>;
    const auto error = [](std::int64_t offset, Pair extents, Pair strides) {
        return error_of([&] { open_strided(offset, extents, strides); });
    };
    EXPECT_THAT(error(1, {2, 2}, {2, 1}), HasSubstr("tensor 'w': reaches"));
    EXPECT_THAT(error(-1, {1, 1}, {1, 1}), HasSubstr("reaches"));
    EXPECT_THAT(error(5, {0, 1}, {1, 1}), HasSubstr("reaches"));
    EXPECT_THAT(error(0, {2, 2}, {-1, 1}), HasSubstr("negative"));
    EXPECT_THAT(error(0, {-2, 2}, {1, 1}), HasSubstr("negative"));
    EXPECT_THAT(error(INT64_MAX, {2, 2}, {2, 1}), HasSubstr("overflow"));
    EXPECT_THAT(error(0, {1LL << 32, 1LL << 32}, {0, 0}), HasSubstr("overflow"));
    EXPECT_THAT(error(0, {3, 3}, {INT64_MAX, INT64_MAX}), HasSubstr("overflow"));
}

TEST(PytorchFile, RefusesAnExpandedTensorLargerThanTheFile) {
    EXPECT_THAT(error_of([] {
                    open_strided(0, {1 << 20, 1 << 10}, {0, 0});
                }),
                HasSubstr("tensor 'w': expanded to 4294967296 bytes"));
}

TEST(PytorchFile, ManyExpandedTensorsTogetherAreBoundedToo) {
    std::string dictionary = "}(";
    const std::string tensor = pickled_tensor(0, {40, 10}, {0, 0});
    for (int i = 0; i < 10'000; ++i) {
        dictionary += pickled_text(std::to_string(i));
        dictionary += i == 0 ? tensor + "q\x01" : "h\x01";
    }
    EXPECT_THAT(open_error(legacy_file(dictionary + "u", four_floats())), HasSubstr("expanded to"));
}

TEST(PytorchFile, RefusesStoragesThatDoNotAddUp) {
    const std::string dictionary = state_dict(pickled_tensor(0, {2, 2}, {2, 1}));
    EXPECT_THAT(open_error(legacy_file(dictionary, "")), HasSubstr("truncated"));
    EXPECT_THAT(open_error(legacy_file(dictionary, little_endian<std::int64_t>(-1))),
                HasSubstr("claims -1 elements"));
    EXPECT_THAT(open_error(legacy_file(dictionary, little_endian<std::int64_t>(1LL << 62))),
                HasSubstr("truncated: storage '0' claims"));
    EXPECT_THAT(open_error(legacy_file(dictionary, four_floats() + "x")),
                HasSubstr("1 trailing bytes"));
    EXPECT_THAT(open_error(legacy_file(dictionary, little_endian<std::int64_t>(1) + "abcd")),
                HasSubstr("expected 4 elements of 4 bytes, found 4 bytes"));
}

TEST(PytorchFile, RefusesCheckpointsWithoutTensors) {
    EXPECT_THAT(open_error(legacy_file("}", four_floats())), HasSubstr("belongs to no tensor"));
}

// As label maps are stored.
TEST(PytorchFile, ATensorAloneIsTheOneEntry) {
    const WeightFile file =
        open_bytes(legacy_file(pickled_tensor(0, {2, 2}, {2, 1}), four_floats()));
    ASSERT_EQ(file.tensors.size(), 1U);
    EXPECT_EQ(file.tensors[0].name, "tensor");
    EXPECT_EQ(file.tensors[0].tensor.shape(), (Shape{2, 2}));
}

TEST(PytorchFile, NamesADuplicateKey) {
    const std::string entry = pickled_text("w") + pickled_tensor(0, {2, 2}, {2, 1}) + "s";
    EXPECT_THAT(open_error(legacy_file("}" + entry + entry, four_floats())),
                HasSubstr("duplicate key 'w'"));
}

// Thirty levels of dictionaries that each hold the one below twice: 2^30 paths to one tensor.
TEST(PytorchFile, SharedContainersDoNotMultiplyWork) {
    std::string pickle = state_dict(pickled_tensor(0, {2, 2}, {2, 1})) + "q\x01" + "0";
    for (int level = 0; level < 30; ++level)
        pickle += "}(" + pickled_text("a") + "h\x01" + pickled_text("b") + "h\x01uq\x01" + "0";
    const std::string shallow = pickle + "h\x01";
    // Too deep below the root to be names of anything: skipped, in the end without a tensor.
    EXPECT_THAT(open_error(legacy_file(shallow, four_floats())), HasSubstr("state dict"));
}

TEST(PytorchFile, WideSharedContainersAreBounded) {
    std::string pickle = state_dict(pickled_tensor(0, {2, 2}, {2, 1})) + "q\x01" + "0";
    for (int level = 0; level < 3; ++level) {
        pickle += "](";
        for (int i = 0; i < 1000; ++i) pickle += "h\x01";
        pickle += "eq\x01" + std::string("0");
    }
    EXPECT_THAT(open_error(legacy_file("}" + pickle + pickled_text("x") + "h\x01s", four_floats())),
                HasSubstr("too many or too long names"));
}

TEST(PytorchFile, AContainerThatHoldsItselfIsSkipped) {
    const std::string loop = "]q\x05h\x05" + std::string("a");
    const WeightFile file =
        open_bytes(legacy_file("}(" + pickled_text("loop") + loop + pickled_text("w") +
                                   pickled_tensor(0, {2, 2}, {2, 1}) + "u",
                               four_floats()));
    EXPECT_THAT(names(file), ElementsAre("w"));
    EXPECT_THAT(file.skipped, ElementsAre("loop"));
}

}  // namespace
}  // namespace cait::test
