#include "weights/npy.h"

#include <array>

#include "unit/weights/support.h"

namespace cait::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string array_error(const std::string& name) {
    return error_of([&] { read_npy(data("array_" + name + ".npy")); });
}

// A version-1 file with this header text.
std::string npy(const std::string& header, const std::string& content = "") {
    return std::string("\x93NUMPY\x01\x00", 8) + little_endian(std::uint16_t(header.size())) +
           header + content;
}

std::string npy_error(const std::string& bytes) {
    return error_of([&] { read_npy_bytes(nullptr, as_bytes(bytes), "file"); });
}

TEST(Npy, ReadsEveryDTypeThatNumPyWrites) {
    const std::array expected{std::pair{"f2", DType::f16}, std::pair{"f4", DType::f32},
                              std::pair{"f8", DType::f64}, std::pair{"i1", DType::i8},
                              std::pair{"i2", DType::i16}, std::pair{"i4", DType::i32},
                              std::pair{"i8", DType::i64}, std::pair{"u1", DType::u8}};
    for (const auto& [name, dtype] : expected) {
        const Tensor tensor = read_npy(data(std::string("array_") + name + ".npy"));
        EXPECT_EQ(tensor.dtype(), dtype);
        EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
        EXPECT_THAT(values(tensor), ElementsAre(0, 1, 2, 3, 4, 5)) << name;
    }
    EXPECT_THAT(values(read_npy(data("array_b1.npy"))), ElementsAre(0, 1, 1, 1, 1, 1));
    EXPECT_EQ(read_npy(data("array_scalar.npy")).shape().rank(), 0U);
    EXPECT_THAT(values(read_npy(data("array_version2.npy"))), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Npy, RefusesOtherLayouts) {
    EXPECT_THAT(array_error("fortran"), HasSubstr("Fortran order"));
    EXPECT_THAT(array_error("big_endian"), HasSubstr("big-endian '>f4'"));
    EXPECT_THAT(array_error("object"), HasSubstr("dtype '|O' is not supported"));
    EXPECT_THAT(array_error("structured"), HasSubstr("structured"));
}

TEST(Npy, RefusesBrokenFiles) {
    const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
    const auto with_shape = [](const std::string& shape) {
        return npy_error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}"));
    };
    EXPECT_THAT(npy_error(""), HasSubstr("not a .npy file"));
    EXPECT_THAT(npy_error("\x93NUMPY"), HasSubstr("truncated"));
    EXPECT_THAT(npy_error(npy(good).substr(0, 30)), HasSubstr("truncated"));
    EXPECT_THAT(npy_error(npy(good, "123")), HasSubstr("needs 4 bytes, found 3"));
    EXPECT_THAT(npy_error(npy(good, "12345")), HasSubstr("needs 4 bytes, found 5"));
    EXPECT_THAT(npy_error(npy("{'shape': (1,)}")), HasSubstr("expected descr"));
    EXPECT_THAT(npy_error(npy("{'shape': (), 'shape': ()}")), HasSubstr("unexpected key 'shape'"));
    EXPECT_THAT(npy_error(npy(good + "x", "1234")), HasSubstr("after the closing brace"));
    EXPECT_THAT(with_shape("(-1,)"), HasSubstr("non-negative"));
    EXPECT_THAT(with_shape("(1.5,)"), HasSubstr("expected ')'"));
    EXPECT_THAT(with_shape("(4294967296, 4294967296)"), HasSubstr("overflow"));
    EXPECT_THAT(with_shape("(99999999999999999999,)"), HasSubstr("non-negative"));
}

TEST(Npy, WritesWhatNumPyWouldWrite) {
    const TemporaryFolder folder;
    for (const char* name : {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "b1", "scalar"}) {
        const auto original = data(std::string("array_") + name + ".npy");
        write_npy(folder / "x.npy", read_npy(original));
        EXPECT_EQ(read_text(folder / "x.npy"), read_text(original)) << name;
    }
}

TEST(Npy, WritesOneAxisAsATuple) {
    const TemporaryFolder folder;
    write_npy(folder / "x.npy", Tensor::of({2}, std::array{1.0F, 2.0F}));
    EXPECT_THAT(read_text(folder / "x.npy"), HasSubstr("'shape': (2,), }"));
    EXPECT_THAT(values(read_npy(folder / "x.npy")), ElementsAre(1, 2));
}

TEST(Npy, WritesBfloat16AsFloat) {
    const TemporaryFolder folder;
    const Tensor brain = convert(Tensor::of({2}, std::array{1.5F, -2.0F}), DType::bf16);
    write_npy(folder / "x.npy", brain);
    EXPECT_EQ(read_npy(folder / "x.npy").dtype(), DType::f32);
    EXPECT_THAT(values(read_npy(folder / "x.npy")), ElementsAre(1.5F, -2.0F));
}

}  // namespace
}  // namespace cait::test
