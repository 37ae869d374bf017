#include "weights/pickle_globals.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace cait {

namespace {

using namespace std::string_view_literals;

constexpr std::array kUnderstood{
    std::pair{"collections.OrderedDict"sv, GlobalKind::dictionary},
    std::pair{"collections.defaultdict"sv, GlobalKind::dictionary},
    std::pair{"collections.Counter"sv, GlobalKind::dictionary},
    std::pair{"builtins.dict"sv, GlobalKind::dictionary},
    std::pair{"__builtin__.dict"sv, GlobalKind::dictionary},
    std::pair{"torch.Size"sv, GlobalKind::size},
    std::pair{"torch.nn.parameter.Parameter"sv, GlobalKind::parameter},
    std::pair{"torch.nn.parameter.Buffer"sv, GlobalKind::parameter},
    std::pair{"torch._utils._rebuild_tensor"sv, GlobalKind::rebuild_tensor},
    std::pair{"torch._utils._rebuild_tensor_v2"sv, GlobalKind::rebuild_tensor},
    std::pair{"torch._utils._rebuild_tensor_v3"sv, GlobalKind::rebuild_tensor_dtype},
    std::pair{"torch._utils._rebuild_parameter"sv, GlobalKind::rebuild_parameter},
    std::pair{"torch._utils._rebuild_parameter_with_state"sv, GlobalKind::rebuild_parameter},
    std::pair{"torch._tensor._rebuild_from_type_v2"sv, GlobalKind::rebuild_from_type},
};

// The storage class and the dtype that belong together; the second is empty where only one exists.
struct TorchDType {
    std::string_view storage, dtype;
    std::optional<DType> ours;
};

constexpr std::array kTorchDTypes{
    TorchDType{"FloatStorage", "float32", DType::f32},
    TorchDType{"DoubleStorage", "float64", DType::f64},
    TorchDType{"HalfStorage", "float16", DType::f16},
    TorchDType{"BFloat16Storage", "bfloat16", DType::bf16},
    TorchDType{"CharStorage", "int8", DType::i8},
    TorchDType{"ShortStorage", "int16", DType::i16},
    TorchDType{"IntStorage", "int32", DType::i32},
    TorchDType{"LongStorage", "int64", DType::i64},
    TorchDType{"ByteStorage", "uint8", DType::u8},
    TorchDType{"BoolStorage", "bool", DType::boolean},
    TorchDType{"UntypedStorage", "", DType::u8},
    TorchDType{"_UntypedStorage", "", DType::u8},
    TorchDType{"ComplexFloatStorage", "complex64", std::nullopt},
    TorchDType{"ComplexDoubleStorage", "complex128", std::nullopt},
    TorchDType{"QInt8Storage", "qint8", std::nullopt},
    TorchDType{"QUInt8Storage", "quint8", std::nullopt},
    TorchDType{"QInt32Storage", "qint32", std::nullopt},
    TorchDType{"", "float8_e4m3fn", std::nullopt},
    TorchDType{"", "float8_e5m2", std::nullopt},
    TorchDType{"", "uint16", std::nullopt},
    TorchDType{"", "uint32", std::nullopt},
    TorchDType{"", "uint64", std::nullopt},
};

// Nothing here is ever called, yet a checkpoint that names one of these is an attack on somebody:
// the user should hear of it. Whatever lies below a listed path counts as well.
constexpr std::array kRefusedPaths{
    "_io"sv,
    "_pickle"sv,
    "_posixsubprocess"sv,
    "_socket"sv,
    "_thread"sv,
    "asyncio"sv,
    "atexit"sv,
    "bdb"sv,
    "cProfile"sv,
    "code"sv,
    "codeop"sv,
    "commands"sv,
    "ctypes"sv,
    "distutils"sv,
    "doctest"sv,
    "ensurepip"sv,
    "fileinput"sv,
    "ftplib"sv,
    "functools"sv,
    "gc"sv,
    "glob"sv,
    "http"sv,
    "httplib"sv,
    "idlelib"sv,
    "imaplib"sv,
    "imp"sv,
    "importlib"sv,
    "inspect"sv,
    "io"sv,
    "joblib"sv,
    "linecache"sv,
    "marshal"sv,
    "multiprocessing"sv,
    "nt"sv,
    "ntpath"sv,
    "numpy.load"sv,
    "numpy.ctypeslib"sv,
    "numpy.distutils"sv,
    "numpy.f2py"sv,
    "numpy.fromfile"sv,
    "numpy.genfromtxt"sv,
    "numpy.lib.npyio"sv,
    "numpy.loadtxt"sv,
    "numpy.memmap"sv,
    "numpy.save"sv,
    "numpy.testing"sv,
    "operator"sv,
    "_operator"sv,
    "os"sv,
    "pdb"sv,
    "pickle"sv,
    "cPickle"sv,
    "dill"sv,
    "cloudpickle"sv,
    "pip"sv,
    "pkgutil"sv,
    "platform"sv,
    "poplib"sv,
    "posix"sv,
    "posixpath"sv,
    "profile"sv,
    "pty"sv,
    "pydoc"sv,
    "runpy"sv,
    "setuptools"sv,
    "shelve"sv,
    "shutil"sv,
    "signal"sv,
    "site"sv,
    "smtplib"sv,
    "socket"sv,
    "socketserver"sv,
    "sqlite3"sv,
    "ssl"sv,
    "subprocess"sv,
    "sys"sv,
    "tarfile"sv,
    "telnetlib"sv,
    "tempfile"sv,
    "threading"sv,
    "timeit"sv,
    "torch.compile"sv,
    "torch.distributed.rpc"sv,
    "torch.fx"sv,
    "torch.hub"sv,
    "torch.jit"sv,
    "torch.load"sv,
    "torch._dynamo"sv,
    "torch._inductor"sv,
    "torch.package"sv,
    "torch.save"sv,
    "torch.serialization"sv,
    "torch.storage._load_from_bytes"sv,
    "torch.utils.bottleneck"sv,
    "torch.utils.collect_env"sv,
    "torch.utils.cpp_extension"sv,
    "trace"sv,
    "types"sv,
    "urllib"sv,
    "urllib2"sv,
    "venv"sv,
    "webbrowser"sv,
    "xmlrpc"sv,
    "zipfile"sv,
    "zipimport"sv,
};

// Of the built-ins only plain data types are harmless.
constexpr std::array kHarmlessBuiltins{
    "set"sv,       "frozenset"sv, "dict"sv,  "list"sv,    "tuple"sv,  "int"sv,
    "long"sv,      "float"sv,     "str"sv,   "unicode"sv, "bool"sv,   "complex"sv,
    "bytearray"sv, "bytes"sv,     "slice"sv, "range"sv,   "xrange"sv, "object"sv,
};

// Reaching one of these as an attribute of another module ("torch.os.system") is a detour.
constexpr std::array kRefusedAnywhere{
    "os"sv,          "sys"sv,          "subprocess"sv,  "posix"sv,      "builtins"sv,
    "__builtin__"sv, "__builtins__"sv, "__globals__"sv, "__import__"sv, "__subclasses__"sv,
    "__reduce__"sv,
};

bool contains(const auto& list, std::string_view item) {
    return std::ranges::find(list, item) != list.end();
}

bool is_below(std::string_view path, std::string_view parent) {
    return path.starts_with(parent) && (path.size() == parent.size() || path[parent.size()] == '.');
}

bool is_refused(std::string_view module, std::string_view name, std::string_view path) {
    // Part of every sparse tensor, and a mere lookup, though it stands among the loaders.
    if (path == "torch.serialization._get_layout") return false;
    if (module == "builtins" || module == "__builtin__" || module == "__builtins__")
        return !contains(kHarmlessBuiltins, name);
    for (std::string_view rest = path; !rest.empty();) {
        const std::size_t dot = rest.find('.');
        if (contains(kRefusedAnywhere, rest.substr(0, dot))) return true;
        rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
    }
    return std::ranges::any_of(kRefusedPaths,
                               [&](std::string_view parent) { return is_below(path, parent); });
}

std::optional<GlobalMeaning> torch_dtype(std::string_view module, std::string_view name) {
    const bool from_torch =
        module == "torch" || module == "torch.storage" || module == "torch.cuda";
    if (!from_torch || name.empty()) return std::nullopt;
    for (const TorchDType& candidate : kTorchDTypes) {
        if (name == candidate.storage) return GlobalMeaning{GlobalKind::storage, candidate.ours};
        if (name == candidate.dtype && module == "torch")
            return GlobalMeaning{GlobalKind::dtype, candidate.ours};
    }
    return std::nullopt;
}

}  // namespace

GlobalMeaning meaning_of_global(std::string_view module, std::string_view name) {
    const std::string path = std::string(module) + "." + std::string(name);
    if (is_refused(module, name, path)) return {GlobalKind::refused, {}};
    for (const auto& [understood, kind] : kUnderstood)
        if (path == understood) return {kind, {}};
    return torch_dtype(module, name).value_or(GlobalMeaning{});
}

}  // namespace cait
