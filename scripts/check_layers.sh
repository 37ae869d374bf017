#!/usr/bin/env bash
# Holds the layering: a room (a folder of src/) includes itself, include/cait/ and what its row below allows; and
# nobody but apps/output.cpp prints.
# Usage: check_layers.sh [root]. Prints "file:line: rule" for each violation and then exits with 1.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# room: the rooms that it may include. apps/ may include all of them. A permission that nobody uses is an error, too.
edges='
cait:
base:
system:   base
image:    base system
data:     base system image weights
weights:  base system
graph:    base weights
models:   base system image data weights graph
kernels:  system
engine:   base system image data graph models kernels
evaluate: base system image data weights graph models kernels engine
report:   base system image data evaluate
analysis: base system image data weights models kernels engine evaluate report
train:    base system image data weights graph models kernels engine evaluate report
serve:    base system image graph models evaluate report
apps:     *
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

# The whole tree has a CMakeLists.txt.
whole=0
if [[ -f src/CMakeLists.txt ]]; then whole=1; fi
EDGES="$edges" awk -v whole="$whole" '
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
        if (layer != "apps") report("include by the full path, as in \"base/philox.h\"")
        return
    }
    other = part[1]
    if (!(other in known)) report("\"" other "\" has no row in scripts/check_layers.sh")
    else if (layer == "cait" && other != "cait")
        report("a public header includes only <standard> and \"cait/...\" headers")
    else if (other != layer && other != "cait" && layer != "apps" && !((layer, other) in allowed))
        report(layer " may not include " other)
    used[layer, other] = 1
}

function check_foreign(layer, path, file,    torch_file) {
    torch_file = (layer == "train" && file !~ /^src\/train\/(recipe|sweep)\//) || (layer == "apps" && file ~ /[^\/]*torch[^\/]*$/)
    if (path ~ /^(torch|ATen|c10|caffe2)\// && !torch_file)
        report("only train (but for its recipe/ and sweep/) and apps/*torch* include LibTorch")
    else if (path ~ /^(oneapi\/)?dnnl/ && file !~ /^src\/train\/torch\//)
        report("only src/train/torch includes oneDNN")
    else if (path ~ /^sentencepiece/ && file !~ /\/sentencepiece_module\.cpp$/)
        report("only sentencepiece_module.cpp includes SentencePiece")
    else if (path ~ /^curl\// && file !~ /^src\/system\/download\//) report("only src/system/download includes libcurl")
    else if (path ~ /^faiss\// && file !~ /^src\/evaluate\/index\/faiss_/)
        report("only src/evaluate/index/faiss_* includes FAISS")
    else if (path ~ /^(boost|openssl)\// && file !~ /^src\/serve\/http\//)
        report("only src/serve/http includes Boost")
    else if (layer == "cait" && path !~ /^([a-z_0-9]+|std[a-z]+\.h)$/)
        report("a public header includes only <standard> and \"cait/...\" headers")
}

BEGIN {
    lines = split(ENVIRON["EDGES"], line, "\n")
    for (i = 1; i <= lines; i++) {
        names = split(line[i], name, /[: ]+/)
        if (names == 0) continue
        known[name[1]] = 1
        for (j = 2; j <= names; j++) if (name[j] != "" && name[j] != "*") allowed[name[1], name[j]] = 1
    }
}

FNR == 1 {
    layer = layer_of(FILENAME)
    if (!(layer in known)) report("\"" layer "\" has no row in scripts/check_layers.sh")
}

layer in known && match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]/) {
    quoted = $0 ~ /^[^"<]*"/
    path = $0
    sub(/^[^"<]*["<]/, "", path)
    sub(/[">].*/, "", path)
    first = path
    sub(/\/.*/, "", first)
    # <cait/x.h> and <base/x.h> reach our files just as well.
    if (quoted || (first in known && first != path && path !~ /^torch\//)) check_ours(layer, path)
    if (!quoted) check_foreign(layer, path, FILENAME)
}

FILENAME !~ /^apps\/output\./ &&
/(^|[^a-z_:])(fmt::print|std::(cout|cerr|clog|printf|fprintf|puts|fputs|putchar|fputc)|printf|fprintf|puts|fputs) *[(<;]/ {
    report("only apps/output.cpp prints")
}

END {
    # In a part of the tree, as the tests of this script have, permissions are not all used.
    for (pair in allowed) {
        split(pair, name, SUBSEP)
        if (whole && !((name[1], name[2]) in used)) {
            printf "scripts/check_layers.sh: %s need not include %s\n", name[1], name[2]
            violations++
        }
    }
    exit violations > 0
}
' "${files[@]}"
