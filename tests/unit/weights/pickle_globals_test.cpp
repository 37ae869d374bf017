#include "weights/pickle_globals.h"

#include <gtest/gtest.h>

#include <utility>

namespace cait {
namespace {

GlobalKind kind(std::string_view module, std::string_view name) {
    return meaning_of_global(module, name).kind;
}

TEST(PickleGlobals, KnowsWhatCheckpointsAreMadeOf) {
    EXPECT_EQ(kind("collections", "OrderedDict"), GlobalKind::dictionary);
    EXPECT_EQ(kind("torch._utils", "_rebuild_tensor_v2"), GlobalKind::rebuild_tensor);
    EXPECT_EQ(kind("torch._utils", "_rebuild_parameter"), GlobalKind::rebuild_parameter);
    EXPECT_EQ(kind("torch.nn.parameter", "Parameter"), GlobalKind::parameter);
    EXPECT_EQ(kind("torch", "Size"), GlobalKind::size);
}

TEST(PickleGlobals, KnowsStoragesAndDTypes) {
    EXPECT_EQ(meaning_of_global("torch", "BFloat16Storage").dtype, DType::bf16);
    EXPECT_EQ(meaning_of_global("torch.storage", "UntypedStorage").dtype, DType::u8);
    EXPECT_EQ(meaning_of_global("torch", "float16").dtype, DType::f16);
    EXPECT_EQ(kind("torch", "ComplexFloatStorage"), GlobalKind::storage);
    EXPECT_FALSE(meaning_of_global("torch", "ComplexFloatStorage").dtype.has_value());
    EXPECT_EQ(kind("mylib", "FloatStorage"), GlobalKind::unknown);
}

TEST(PickleGlobals, LeavesHarmlessObjectsOpaque) {
    for (const auto& [module, name] : {std::pair{"argparse", "Namespace"},
                                       {"numpy.core.multiarray", "scalar"},
                                       {"numpy", "dtype"},
                                       {"pathlib", "PosixPath"},
                                       {"_codecs", "encode"},
                                       {"builtins", "set"},
                                       {"__builtin__", "complex"},
                                       {"timm.models.cait", "Cait"},
                                       {"torch.serialization", "_get_layout"},
                                       {"torch", "device"},
                                       {"torch", ""},
                                       {"omegaconf.types", "Any"},
                                       {"", ""}})
        EXPECT_EQ(kind(module, name), GlobalKind::unknown) << module << "." << name;
}

TEST(PickleGlobals, RefusesWhatOnlyAnAttackWouldName) {
    for (const auto& [module, name] : {std::pair{"os", "system"},
                                       {"posix", "system"},
                                       {"nt", "system"},
                                       {"os.path", "join"},
                                       {"subprocess", "Popen"},
                                       {"sys", "modules"},
                                       {"shutil", "rmtree"},
                                       {"socket", "socket"},
                                       {"ctypes", "CDLL"},
                                       {"importlib", "import_module"},
                                       {"runpy", "run_path"},
                                       {"pty", "spawn"},
                                       {"code", "InteractiveInterpreter"},
                                       {"pickle", "loads"},
                                       {"_pickle", "loads"},
                                       {"marshal", "loads"},
                                       {"webbrowser", "open"},
                                       {"functools", "partial"},
                                       {"operator", "attrgetter"},
                                       {"types", "FunctionType"},
                                       {"builtins", "eval"},
                                       {"builtins", "getattr"},
                                       {"__builtin__", "execfile"},
                                       {"torch.hub", "load"},
                                       {"torch", "load"},
                                       {"torch.jit", "load"},
                                       {"torch.serialization", "load"},
                                       {"numpy", "load"},
                                       {"numpy.testing._private.utils", "runstring"},
                                       {"torch", "os.system"},
                                       {"mylib.os", "system"},
                                       {"urllib.request", "urlopen"},
                                       {"asyncio", "run"}})
        EXPECT_EQ(kind(module, name), GlobalKind::refused) << module << "." << name;
}

TEST(PickleGlobals, AListedNameCountsOnlyAsAWholeComponent) {
    EXPECT_EQ(kind("osmosis", "System"), GlobalKind::unknown);
    EXPECT_EQ(kind("mycode", "x"), GlobalKind::unknown);
    EXPECT_EQ(kind("torch.jitter", "x"), GlobalKind::unknown);
}

}  // namespace
}  // namespace cait
