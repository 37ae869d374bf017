#!/usr/bin/env bash
# Shows that check_layers.sh accepts what is allowed and names what is not, on trees made for it.
set -euo pipefail
# shellcheck source=scripts/check_cases.sh
. "$(dirname "$0")/check_cases.sh" check_layers.sh

expect 0 src/graph/a.cpp '#include "base/philox.h"'
expect 0 src/graph/a.cpp '#include "cait/error.h"'
expect 0 src/graph/a.cpp '#include "weights/safetensors.h"'
expect 0 src/train/torch/a.cpp '#include <torch/torch.h>'
expect 0 src/train/a.cpp '#include "train/torch/walker.h"'
expect 0 src/train/torch/a.cpp '#include <oneapi/dnnl/dnnl.hpp>'
expect 0 src/data/sentences/sentencepiece_module.cpp '#include <sentencepiece_trainer.h>'
expect 0 src/system/download/a.cpp '#include <curl/curl.h>'
expect 0 src/kernels/avx512/a.cpp '#include "kernels/gemm.h"'
expect 0 src/train/a.cpp '#include "image/preparer.h"'
expect 0 apps/torch_main.cpp '#include <ATen/ATen.h>'
expect 0 include/cait/a.h '#include <cstdint>'

expect 0 apps/output.cpp 'std::fputs(text, stderr);'
expect 0 apps/a.cpp 'print_out("{}\n", name); std::snprintf(buffer, 8, "x");'

expect 1 apps/a.cpp 'fmt::print(stderr, "{}\n", name);'
expect 1 apps/a.cpp '    std::cout << name;'
expect 1 src/base/a.cpp 'printf("%d", 1);'
expect 1 src/base/a.h '#include "graph/builder.h"'
expect 1 src/base/a.h '#  include "graph/builder.h"  // why not'
expect 1 src/base/a.h '#include <graph/builder.h>'
expect 1 src/weights/a.cpp '#include "graph/graph.h"'
expect 1 src/models/a.cpp '#include "engine/plan.h"'
expect 1 src/evaluate/a.cpp '#include "report/html.h"'
expect 1 src/image/a.cpp '#include "data/loader.h"'
expect 1 src/data/a.cpp '#include <curl/curl.h>'
expect 1 src/models/a.cpp '#include "train/loop.h"'
expect 1 src/graph/a.cpp '#include <torch/torch.h>'
expect 1 src/graph/a.cpp '#include <c10/util/Half.h>'
expect 1 src/graph/a.cpp '#include "train/torch/walker.h"'
expect 1 src/train/recipe/a.cpp '#include <torch/torch.h>'
expect 1 src/data/sentences/a.cpp '#include <sentencepiece_processor.h>'
expect 1 src/system/a.cpp '#include <curl/curl.h>'
expect 1 src/kernels/a.cpp '#include <dnnl.hpp>'
expect 1 src/train/a.cpp '#include <oneapi/dnnl/dnnl.hpp>'
expect 1 apps/models.cpp '#include <torch/torch.h>'
expect 1 include/cait/a.h '#include "base/philox.h"'
expect 1 include/cait/a.h '#include <fmt/format.h>'
expect 1 include/cait/a.h '#include <unistd.h>'
expect 1 src/base/a.cpp '#include "philox.h"'
expect 1 src/base/a.cpp '#include "newfolder/a.h"'

# A permission that nobody in a whole tree uses.
clean_tree
touch "$tree/src/CMakeLists.txt"
if output="$("$check" "$tree")" || [[ $output != *"system need not include base"* ]]; then
    failed "a tree that uses no permission: expected 'system need not include base', found '$output'"
fi

finish
