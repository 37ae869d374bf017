#!/usr/bin/env bash
# Holds the layering: a folder of src/ may include itself and the folders below it, never one above.
# Usage: check_layers.sh [root]. Prints "file:line: rule" for each violation and then exits with 1.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# From the bottom to the top; folders on one line are peers and do not include each other.
layers='
cait
core
image
data
weights
graph
models
recipe
declare cost onnx
api
evaluate
kernels
engine
torch
train
retrieval
explain
serve
apps
'

folders=()
for folder in include/cait src apps; do
    [[ -d $folder ]] && folders+=("$folder")
done
mapfile -t files < <(find "${folders[@]}" -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.inc' -o -name '*.cpp' -o -name '*.cc' \) | LC_ALL=C sort)
if [[ ${#files[@]} -eq 0 ]]; then
    echo "check_layers: no sources under $PWD" >&2
    exit 1
fi

LAYERS="$layers" awk '
function report(rule) {
    printf "%s:%d: %s (%s)\n", FILENAME, FNR, rule, $0
    violations++
}

# include/cait/x.h -> cait, src/graph/x.cpp -> graph, apps/x.cpp -> apps
function layer_of(file,    part) {
    split(file, part, "/")
    return part[1] == "apps" ? "apps" : part[2]
}

function check_ours(layer, path,    part, other) {
    if (split(path, part, "/") < 2) {
        if (layer != "apps") report("include by the full path, as in \"core/philox.h\"")
        return
    }
    other = part[1]
    if (!(other in rank)) report("\"" other "\" is no layer; add it to scripts/check_layers.sh")
    else if (layer == "cait" && other != "cait")
        report("a public header includes only <standard> and \"cait/...\" headers")
    else if (layer == "models" && other !~ /^(models|graph|core|cait)$/)
        report("models includes graph and core only")
    else if (layer == "api" && other ~ /^(torch|train)$/)
        report("api does not include torch or train: it has to work without LibTorch")
    else if (rank[other] > rank[layer]) report(layer " includes " other ", which lies above it")
    else if (rank[other] == rank[layer] && other != layer) report(layer " includes its peer " other)
}

function check_foreign(layer, path, file,    torch_file) {
    torch_file = layer ~ /^(torch|train)$/ || (layer == "apps" && file ~ /[^\/]*torch[^\/]*$/)
    if (path ~ /^(torch|ATen|c10|caffe2)\// && !torch_file)
        report("only torch, train and apps/*torch* include LibTorch")
    else if (path ~ /^(oneapi\/)?dnnl/ && layer !~ /^(engine|kernels)$/)
        report("only engine and kernels include oneDNN")
    else if (layer == "cait" && path !~ /^[a-z_0-9]+$/)
        report("a public header includes only <standard> and \"cait/...\" headers")
}

BEGIN {
    lines = split(ENVIRON["LAYERS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        names = split(line[i], name, " ")
        for (j = 1; j <= names; j++) rank[name[j]] = i
    }
}

FNR == 1 {
    layer = layer_of(FILENAME)
    if (!(layer in rank)) report("\"" layer "\" is no layer; add it to scripts/check_layers.sh")
}

layer in rank && match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]/) {
    quoted = $0 ~ /^[^"<]*"/
    path = $0
    sub(/^[^"<]*["<]/, "", path)
    sub(/[">].*/, "", path)
    first = path
    sub(/\/.*/, "", first)
    # <cait/x.h> and <core/x.h> reach our files just as well.
    if (quoted || (first in rank && first != path && path !~ /^torch\//)) check_ours(layer, path)
    if (!quoted) check_foreign(layer, path, FILENAME)
}

END { exit violations > 0 }
' "${files[@]}"
