// A dense, row-major array of numbers that either owns its memory or stays in a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

enum class DType : std::uint8_t { f32, f16, bf16, f64, i8, i16, i32, i64, u8, boolean };

std::size_t size_of(DType dtype) noexcept;
std::string_view name_of(DType dtype) noexcept;  // "float32", "bfloat16" …

// Extents, outermost first. In a graph the first one may be kBatch, known only at run time.
class Shape {
public:
    static constexpr std::int64_t kBatch = -1;

    Shape() = default;
    Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
    explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

    std::size_t rank() const noexcept { return extents_.size(); }
    // A negative axis counts from the back.
    std::int64_t operator[](std::int64_t axis) const;
    std::int64_t& operator[](std::int64_t axis);
    auto begin() const noexcept { return extents_.begin(); }
    auto end() const noexcept { return extents_.end(); }
    const std::vector<std::int64_t>& extents() const noexcept { return extents_; }

    bool has_batch() const noexcept { return !extents_.empty() && extents_.front() == kBatch; }
    Shape with_batch(std::int64_t batch) const;

    // Throws Error when an extent is negative or the product does not fit; kBatch counts as 1.
    std::int64_t count() const;
    std::string to_string() const;  // "[B, 196, 192]"

    bool operator==(const Shape&) const = default;

private:
    std::vector<std::int64_t> extents_;
};

class Tensor {
public:
    Tensor() = default;

    // Owned memory, 64-byte aligned and not initialised.
    static Tensor empty(DType dtype, Shape shape);
    static Tensor zeros(DType dtype, Shape shape);
    static Tensor of(Shape shape, std::span<const float> values);
    static Tensor of(Shape shape, std::span<const std::int64_t> values);
    // Memory that `owner` keeps alive (a mapped file, say); it is only ever read.
    static Tensor view(DType dtype, Shape shape, const void* data,
                       std::shared_ptr<const void> owner);

    bool defined() const noexcept { return data_ != nullptr; }
    DType dtype() const noexcept { return dtype_; }
    const Shape& shape() const noexcept { return shape_; }
    std::int64_t count() const noexcept { return count_; }
    std::size_t byte_size() const noexcept { return std::size_t(count_) * size_of(dtype_); }
    const std::byte* bytes() const noexcept { return data_; }
    const std::shared_ptr<const void>& owner() const noexcept { return owner_; }
    bool writable() const noexcept { return writable_ != nullptr; }

    // Typed access; throws Error when the dtype is another one.
    std::span<const float> floats() const;
    std::span<float> mutable_floats();
    std::span<const std::int64_t> integers() const;
    std::span<std::int64_t> mutable_integers();
    // Throws Error when the memory belongs to a view.
    std::span<std::byte> mutable_bytes();

    // The same memory under another shape of the same count.
    Tensor reshaped(Shape shape) const;

private:
    DType dtype_ = DType::f32;
    Shape shape_;
    std::int64_t count_ = 0;
    const std::byte* data_ = nullptr;
    std::byte* writable_ = nullptr;
    std::shared_ptr<const void> owner_;
};

// The tensors of a run by the names of the model's inputs. One tensor without a name is for a model
// with one input, whatever its name.
template <class T>
struct NamedInputs : std::map<std::string, T> {
    NamedInputs() = default;
    NamedInputs(T only) { this->emplace("", std::move(only)); }
    NamedInputs(std::initializer_list<std::pair<const std::string, T>> tensors)
        : std::map<std::string, T>(tensors) {}
};

}  // namespace cait
