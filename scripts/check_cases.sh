#!/usr/bin/env bash
# For the self-tests of the checks that read sources: made trees, one line to look at in each.
# Usage: source it with the name of the check, `. check_cases.sh check_files.sh`; then expect …, and finish at the end.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
check="$here/$1"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
failures=0

clean_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/base"
    echo '#include <vector>' >"$tree/src/base/clean.h"
}

# expect STATUS FILE LINE: puts LINE into an otherwise clean tree as FILE and runs the check.
expect() {
    local status=$1 file=$2 line=$3 found=0 output
    clean_tree
    mkdir -p "$tree/$(dirname "$file")"
    printf '// A file.\n%s\n' "$line" >"$tree/$file"
    output="$("$check" "$tree")" || found=$?
    if [[ $found -ne $status ]]; then
        failed "$file with '$line': expected exit $status, found $found"
    elif [[ $status -ne 0 && $output != "$file:2:"* ]]; then
        failed "$file with '$line': expected a message that starts with $file:2, found '$output'"
    fi
}

failed() {
    echo "$1"
    failures=$((failures + 1))
}

finish() {
    [[ $failures -eq 0 ]] || exit 1
    echo "${check##*/}: all cases as expected"
}
