#!/usr/bin/env bash
# Shows that check_files.sh accepts what is allowed and names whoever opens files by himself, on trees made
# for it.
set -euo pipefail
check="$(cd "$(dirname "$0")" && pwd)/check_files.sh"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
failures=0

# expect STATUS FILE LINE: puts LINE into an otherwise clean tree as FILE and runs the check.
expect() {
    local status=$1 file=$2 line=$3 found=0 output
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/base" "$tree/$(dirname "$file")"
    echo '#include <vector>' >"$tree/src/base/clean.h"
    printf '// A file.\n%s\n' "$line" >"$tree/$file"
    output="$("$check" "$tree")" || found=$?
    if [[ $found -ne $status ]]; then
        echo "$file with '$line': expected exit $status, found $found"
        failures=$((failures + 1))
    elif [[ $status -ne 0 && $output != "$file:2:"* ]]; then
        echo "$file with '$line': expected a message that starts with $file:2, found '$output'"
        failures=$((failures + 1))
    fi
}

expect 0 src/weights/a.cpp 'const MappedFile file = MappedFile::open(path);'
expect 0 src/weights/a.cpp 'const TensorFile file = TensorFile::open(path);'
expect 0 src/weights/a.cpp 'reader.open(path); reader->open(path);'
expect 0 src/system/open_file.cpp 'const int fd = ::open(path, O_RDONLY);'
expect 0 src/system/atomic_file.cpp 'const int fd = ::openat(folder, name, O_WRONLY);'
expect 0 tests/a.cpp 'std::ifstream file(path);'

expect 1 src/weights/a.cpp 'std::ifstream file(path);'
expect 1 src/weights/a.h '#include <fstream>'
expect 1 src/weights/a.cpp 'std::ofstream file(path);'
expect 1 src/weights/a.cpp 'std::fstream file(path);'
expect 1 apps/a.cpp 'FILE* file = std::fopen(path, "rb");'
expect 1 apps/a.cpp 'FILE* file = fopen(path, "rb");'
expect 1 src/serve/http/a.cpp 'const int fd = ::open(path, O_RDONLY);'
expect 1 src/serve/http/a.cpp 'return ::openat(folder, name, O_RDONLY);'
expect 1 src/serve/http/a.cpp 'return ::creat(name, 0600);'
expect 1 src/base/a.cpp 'const int fd = mkstemp(name);'
expect 1 src/system/open_file_other.cpp 'const int fd = ::open(path, O_RDONLY);'

found=0
rm -rf "${tree:?}"/*
"$check" "$tree" 2>/dev/null || found=$?
if [[ $found -ne 1 ]]; then
    echo "a folder without sources: expected exit 1, found $found"
    failures=$((failures + 1))
fi

[[ $failures -eq 0 ]] || exit 1
echo "check_files.sh: all cases as expected"
