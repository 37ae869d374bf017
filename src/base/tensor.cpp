// Shape arithmetic with overflow checks, and the two kinds of tensor memory.
#include "cait/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <new>

#include "cait/error.h"

namespace cait {

std::size_t size_of(DType dtype) noexcept {
    switch (dtype) {
        case DType::f64:
        case DType::i64: return 8;
        case DType::f32:
        case DType::i32: return 4;
        case DType::f16:
        case DType::bf16:
        case DType::i16: return 2;
        case DType::i8:
        case DType::u8:
        case DType::boolean: return 1;
    }
    return 0;
}

std::string_view name_of(DType dtype) noexcept {
    switch (dtype) {
        case DType::f32: return "float32";
        case DType::f16: return "float16";
        case DType::bf16: return "bfloat16";
        case DType::f64: return "float64";
        case DType::i8: return "int8";
        case DType::i16: return "int16";
        case DType::i32: return "int32";
        case DType::i64: return "int64";
        case DType::u8: return "uint8";
        case DType::boolean: return "bool";
    }
    return "?";
}

namespace {

std::size_t checked_axis(std::int64_t axis, std::size_t rank, const Shape& shape) {
    const std::int64_t from_front = axis < 0 ? axis + std::int64_t(rank) : axis;
    if (from_front < 0 || from_front >= std::int64_t(rank))
        throw Error(fmt::format("shape {} has no axis {}", shape.to_string(), axis));
    return std::size_t(from_front);
}

}  // namespace

std::int64_t Shape::operator[](std::int64_t axis) const {
    return extents_[checked_axis(axis, rank(), *this)];
}

std::int64_t& Shape::operator[](std::int64_t axis) {
    return extents_[checked_axis(axis, rank(), *this)];
}

Shape Shape::with_batch(std::int64_t batch) const {
    Shape result = *this;
    if (has_batch()) result.extents_.front() = batch;
    return result;
}

std::int64_t Shape::count() const {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        const std::int64_t extent = i == 0 && extents_[i] == kBatch ? 1 : extents_[i];
        if (extent < 0) throw Error(fmt::format("shape {} has a negative extent", to_string()));
        if (__builtin_mul_overflow(product, extent, &product))
            throw Error(fmt::format("shape {} has too many elements", to_string()));
    }
    return product;
}

std::string Shape::to_string() const {
    std::string text = "[";
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        if (i > 0) text += ", ";
        text += i == 0 && extents_[i] == kBatch ? "B" : std::to_string(extents_[i]);
    }
    return text + "]";
}

Tensor Tensor::empty(DType dtype, Shape shape) {
    constexpr std::align_val_t kAlignment{64};
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.count_ = shape.count();
    tensor.shape_ = std::move(shape);
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(std::size_t(tensor.count_), size_of(dtype), &bytes))
        throw Error(fmt::format("a {} tensor of shape {} does not fit in memory", name_of(dtype),
                                tensor.shape_.to_string()));
    // One spare byte keeps the pointer of an empty tensor non-null.
    auto* memory = static_cast<std::byte*>(::operator new(bytes + 1, kAlignment, std::nothrow));
    if (memory == nullptr)
        throw Error(fmt::format("out of memory for a {} tensor of shape {} ({} bytes)",
                                name_of(dtype), tensor.shape_.to_string(), bytes));
    tensor.owner_ = std::shared_ptr<const void>(
        memory, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlignment); });
    tensor.data_ = tensor.writable_ = memory;
    return tensor;
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
    Tensor tensor = empty(dtype, std::move(shape));
    std::memset(tensor.writable_, 0, tensor.byte_size());
    return tensor;
}

namespace {

template <class Number>
Tensor filled(DType dtype, Shape shape, std::span<const Number> values) {
    Tensor tensor = Tensor::empty(dtype, std::move(shape));
    if (std::size_t(tensor.count()) != values.size())
        throw Error(fmt::format("a tensor of shape {} needs {} values, got {}",
                                tensor.shape().to_string(), tensor.count(), values.size()));
    std::memcpy(tensor.mutable_bytes().data(), values.data(), tensor.byte_size());
    return tensor;
}

void expect_type(const Tensor& tensor, DType dtype) {
    if (tensor.dtype() != dtype)
        throw Error(fmt::format("expected a{} {} tensor, found {}", dtype == DType::i64 ? "n" : "",
                                name_of(dtype), name_of(tensor.dtype())));
}

}  // namespace

Tensor Tensor::of(Shape shape, std::span<const float> values) {
    return filled(DType::f32, std::move(shape), values);
}

Tensor Tensor::of(Shape shape, std::span<const std::int64_t> values) {
    return filled(DType::i64, std::move(shape), values);
}

Tensor Tensor::view(DType dtype, Shape shape, const void* data, std::shared_ptr<const void> owner) {
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.count_ = shape.count();
    tensor.shape_ = std::move(shape);
    tensor.data_ = static_cast<const std::byte*>(data);
    tensor.owner_ = std::move(owner);
    return tensor;
}

std::span<const float> Tensor::floats() const {
    expect_type(*this, DType::f32);
    return {reinterpret_cast<const float*>(data_), std::size_t(count_)};
}

std::span<float> Tensor::mutable_floats() {
    const std::span<std::byte> bytes = mutable_bytes();
    expect_type(*this, DType::f32);
    return {reinterpret_cast<float*>(bytes.data()), std::size_t(count_)};
}

std::span<const std::int64_t> Tensor::integers() const {
    expect_type(*this, DType::i64);
    return {reinterpret_cast<const std::int64_t*>(data_), std::size_t(count_)};
}

std::span<std::int64_t> Tensor::mutable_integers() {
    const std::span<std::byte> bytes = mutable_bytes();
    expect_type(*this, DType::i64);
    return {reinterpret_cast<std::int64_t*>(bytes.data()), std::size_t(count_)};
}

std::span<std::byte> Tensor::mutable_bytes() {
    if (writable_ == nullptr) throw Error("this tensor is a read-only view");
    return {writable_, byte_size()};
}

Tensor Tensor::reshaped(Shape shape) const {
    if (shape.count() != count_)
        throw Error(
            fmt::format("cannot view shape {} as {}", shape_.to_string(), shape.to_string()));
    Tensor tensor = *this;
    tensor.shape_ = std::move(shape);
    return tensor;
}

}  // namespace cait
