#include "train/torch/convert.h"

#include <fmt/format.h>

#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

at::ScalarType scalar_type(DType dtype) {
    switch (dtype) {
        case DType::f32: return at::kFloat;
        case DType::f16: return at::kHalf;
        case DType::bf16: return at::kBFloat16;
        case DType::f64: return at::kDouble;
        case DType::i8: return at::kChar;
        case DType::i16: return at::kShort;
        case DType::i32: return at::kInt;
        case DType::i64: return at::kLong;
        case DType::u8: return at::kByte;
        case DType::boolean: return at::kBool;
    }
    throw Error("unknown dtype");
}

}  // namespace

at::ScalarType torch_type(kernels::Format format) {
    switch (format) {
        case kernels::Format::f32: return at::kFloat;
        case kernels::Format::bf16: return at::kBFloat16;
        case kernels::Format::s8: break;
    }
    throw Error(fmt::format("LibTorch: expected float32 or bfloat16, found {}",
                            kernels::row_of(format).long_name));
}

std::optional<TensorType> type_of_torch(const at::Tensor& tensor) {
    if (!tensor.defined()) return std::nullopt;
    TensorType type{DType::f32, Shape(tensor.sizes().vec())};
    for (const DType each :
         {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::boolean})
        if (tensor.scalar_type() == scalar_type(each)) type.dtype = each;
    return type;
}

at::Tensor to_torch(const Tensor& tensor) {
    // LibTorch has no read-only tensors; the callers keep to reading.
    void* data = const_cast<std::byte*>(tensor.bytes());
    return at::from_blob(
        data, tensor.shape().extents(), [owner = tensor.owner()](void*) {},
        at::TensorOptions().dtype(scalar_type(tensor.dtype())));
}

Tensor from_torch(const at::Tensor& tensor) {
    at::Tensor source = tensor.detach().cpu();
    DType dtype = DType::f32;
    if (source.scalar_type() == at::kLong) {
        dtype = DType::i64;
    } else {
        source = source.to(at::kFloat);
    }
    source = source.contiguous();
    const auto sizes = source.sizes();
    Tensor result =
        Tensor::empty(dtype, Shape(std::vector<std::int64_t>(sizes.begin(), sizes.end())));
    std::memcpy(result.mutable_bytes().data(), source.data_ptr(), result.byte_size());
    return result;
}

Tensor share_torch(const at::Tensor& tensor) {
    const at::Tensor source = tensor.detach().cpu().contiguous();
    const bool integer = source.scalar_type() == at::kLong;
    if (!integer && source.scalar_type() != at::kFloat)
        throw Error(fmt::format("expected a tensor of float32 or int64, found {}",
                                c10::toString(source.scalar_type())));
    const auto sizes = source.sizes();
    return Tensor::view(integer ? DType::i64 : DType::f32,
                        Shape(std::vector<std::int64_t>(sizes.begin(), sizes.end())),
                        source.data_ptr(), std::make_shared<at::Tensor>(source));
}

}  // namespace cait
