#!/usr/bin/env bash
# Holds the layering: a folder of src/ includes itself, include/cait/ and what its row below allows; and
# nobody but apps/output.cpp prints.
# Usage: check_layers.sh [root]. Prints "file:line: rule" for each violation and then exits with 1.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# folder: the folders that it may include. apps/ may include all of them.
edges='
cait:
core:
image:    core
fetch:    core
published: core fetch weights
prepare:  core image
data:     core image prepare
weights:  core
graph:    core
models:   core graph
walkers:  core graph weights
recipe:   core data image models prepare weights
api:      core graph image models prepare walkers weights
measure:  core data graph models prepare
report:   core data image measure
inside:   core graph image models
kernels:  core
engine:   core graph kernels walkers
search:   core data kernels measure weights
look:     core data kernels measure report search
session:  api core data engine graph image inside kernels measure models prepare walkers weights
serve:    api core data graph image inside measure models prepare report search session
torch:    core graph kernels models walkers
train:    core data fetch session graph kernels measure models prepare published recipe report search torch walkers weights
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

EDGES="$edges" awk '
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
    if (!(other in known)) report("\"" other "\" has no row in scripts/check_layers.sh")
    else if (layer == "cait" && other != "cait")
        report("a public header includes only <standard> and \"cait/...\" headers")
    else if (other != layer && other != "cait" && layer != "apps" && !((layer, other) in allowed))
        report(layer " may not include " other)
}

function check_foreign(layer, path, file,    torch_file) {
    torch_file = layer ~ /^(torch|train)$/ || (layer == "apps" && file ~ /[^\/]*torch[^\/]*$/)
    if (path ~ /^(torch|ATen|c10|caffe2)\// && !torch_file)
        report("only torch, train and apps/*torch* include LibTorch")
    else if (path ~ /^(oneapi\/)?dnnl/ && layer !~ /^(kernels|torch)$/)
        report("only kernels and torch include oneDNN")
    else if (path ~ /^curl\// && layer != "fetch") report("only fetch includes libcurl")
    else if (path ~ /^faiss\// && file !~ /^src\/search\/faiss_/)
        report("only src/search/faiss_* includes FAISS")
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
        for (j = 2; j <= names; j++) allowed[name[1], name[j]] = 1
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
    # <cait/x.h> and <core/x.h> reach our files just as well.
    if (quoted || (first in known && first != path && path !~ /^torch\//)) check_ours(layer, path)
    if (!quoted) check_foreign(layer, path, FILENAME)
}

FILENAME !~ /^apps\/output\./ &&
/(^|[^a-z_:])(fmt::print|std::(cout|cerr|clog|printf|fprintf|puts|fputs|putchar|fputc)|printf|fprintf|puts|fputs) *[(<;]/ {
    report("only apps/output.cpp prints")
}

END { exit violations > 0 }
' "${files[@]}"
