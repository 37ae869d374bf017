#!/usr/bin/env bash
# shellcheck disable=SC2016  # backticks and dollars are those of the texts, not the shell's
# Shows that check_docs.sh accepts what is there and names what is not, on trees made for it.
set -euo pipefail
check="$(cd "$(dirname "$0")" && pwd)/check_docs.sh"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
failures=0

# A program that knows `predict` with one option of its own, and `data` with the subcommand `stats`. Its example of
# `$EXAMPLE` stands in the help of `predict`.
cat >"$tree/program" <<'PROGRAM'
#!/bin/sh
general='General:\n  -h,--help                   Print this\n'
case "$1 $2" in
    '--help ') printf "Usage: cait [OPTIONS] SUBCOMMAND\n\nUse:\n  predict                     Say what it is\n  data                        Look at data\n" ;;
    'predict --help') printf "Usage: cait predict [OPTIONS]\n\nOptions:\n  -o,--output,--into TEXT     A file\n$general\n\nExample:\n  %s\n" "${EXAMPLE:-cait predict cat.jpg}" ;;
    'data --help') printf "Usage: cait data [OPTIONS] SUBCOMMAND\n\nUse:\n  stats                       Count\n\n$general" ;;
    'data stats') printf "Usage: cait data stats [OPTIONS]\n\nOptions:\n  --threads INT               Readers\n$general" ;;
    *) exit 2 ;;
esac
PROGRAM
chmod +x "$tree/program"

# expect STATUS DOCUMENT TEXT: puts TEXT into an otherwise clean tree as DOCUMENT and runs the check.
expect() {
    local status=$1 document=$2 text=$3 found=0 output root="$tree/root"
    rm -rf "$root"
    mkdir -p "$root/docs/research" "$root/src/base" "$root/tests/golden" "$root/build"
    printf '    test | lint) run ;;\n' >"$root/dev"
    touch "$root/src/base/philox.h" "$root/tests/golden/cait.json" "$root/docs/picture.svg"
    printf '# Other page\n## What it does, and why\n```\n# no heading\n```\n' >"$root/docs/other.md"
    printf '# Read me\n' | tee "$root/README.md" >"$root/CONTRIBUTING.md"
    printf '# A page\n%b\n' "$text" >"$root/$document"
    output="$("$check" "$root" "$tree/program")" || found=$?
    if [[ $found -ne $status ]]; then
        echo "$document with '$text': expected exit $status, found $found: $output"
        failures=$((failures + 1))
    elif [[ $status -ne 0 && $output != "$document: no such "* ]]; then
        echo "$document with '$text': expected a message that starts with $document, found '$output'"
        failures=$((failures + 1))
    fi
}

expect 0 docs/a.md 'See [the other](other.md), [why](other.md#what-it-does-and-why) and [here](#a-page).'
expect 0 docs/a.md '![A picture](picture.svg) [up](../README.md) [web](https://example.org/x.md)'
expect 0 docs/a.md '```\n[not a link](nowhere.md) `src/none.h`\n```'
expect 0 docs/a.md '`src/base/philox.h`, `base/philox.h`, `src/base/*.h`, `src/base/philox.h:12`, `tests/golden/cait.json`'
expect 0 docs/a.md '`runs/photos/` is the user'"'"'s; `build/cait` is made; `recipe.toml:12: a key` is a message'
expect 0 docs/a.md '`cait predict` and `./dev lint`'
expect 0 docs/a.md '`cait predict --into x`, `cait data stats --threads 2`, `cait COMMAND --help` and `cait data`'
expect 0 docs/a.md '```\nnice -n 9 cait predict a.jpg --output "it is --no option" # --nor this\n```'
expect 0 docs/a.md '```\ncait predict a.jpg \\\\\n    --output b | sort --unique\nPrints that cait fly is unknown\n```'
expect 0 README.md '[a page](docs/other.md) and `src/base/`'
expect 0 CHANGELOG.md '`src/gone.h` is no more'

expect 1 docs/a.md 'See [the other](none.md).'
expect 1 docs/a.md 'See [the other](README.md).'
expect 1 docs/a.md 'See [why](other.md#why-not).'
expect 1 docs/a.md 'See [why](other.md#no-heading).'
expect 1 docs/a.md 'See [here](#nowhere).'
expect 1 docs/a.md '![A picture](none.svg)'
expect 1 README.md '[a page](docs/none.md)'
expect 1 CHANGELOG.md '[a page](docs/none.md)'
expect 1 SECURITY.md '[a page](docs/none.md)'
expect 1 docs/a.md '`src/base/none.h`'
expect 1 docs/a.md '`none.h`'
expect 1 docs/a.md '`src/none/`'
expect 1 docs/a.md '`src/base/none`'
expect 1 docs/a.md '`tests/golden/none.json`'
expect 1 docs/a.md '`docs/None.svg`'
expect 1 docs/a.md '`src/base/none.h:12`'
expect 1 README.md '`src/base/none.h`'
expect 1 CONTRIBUTING.md '`none/`'
expect 1 tests/golden/README.md '`src/base/none.h`'
expect 1 docs/a.md '`./dev fly`'
expect 1 docs/a.md '`cait fly`'
expect 1 docs/a.md '```\ncait fly\n```'
expect 1 docs/a.md '```\nX=1 build/cait fly\n```'
expect 1 docs/a.md '```\ncat list | cait fly\n```'
expect 1 docs/a.md '`cait data URI`'
expect 1 docs/a.md '`cait data split`'
expect 1 docs/a.md '`cait predict --fly`'
expect 1 docs/a.md '`cait predict --fly=2 a.jpg`'
expect 1 docs/a.md '```\ncait predict a.jpg \\\\\n    --fly\n```'
expect 1 docs/a.md '`cait data stats --output x`'
expect 1 docs/research/a.md '`cait predict --fly`'

# The examples in the program's own help are held to it as well.
found=0
output="$(EXAMPLE='cait predict --fly' "$check" "$tree/root" "$tree/program")" || found=$?
if [[ $found -ne 1 || $output != *'cait predict --help: no such option: cait predict --fly'* ]]; then
    echo "an example that does not exist: expected to be named, found exit $found: $output"
    failures=$((failures + 1))
fi

found=0
mkdir -p "$tree/empty"
"$check" "$tree/empty" 2>/dev/null || found=$?
if [[ $found -ne 1 ]]; then
    echo "a folder without documents: expected exit 1, found $found"
    failures=$((failures + 1))
fi

[[ $failures -eq 0 ]] || exit 1
echo "check_docs.sh: all cases as expected"
