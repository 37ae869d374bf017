#!/usr/bin/env bash
# Holds the documents to what there is: paths, `cait` commands and `./dev` commands that they name.
# Usage: check_docs.sh [root [cait]]. Prints "file: what is missing" for each and then exits with 1.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
program=${2:-}
missing=0
report() {
    echo "$1: no such $2: $3"
    missing=1
}

# Words between backticks, one to a line; code blocks are not read.
quoted() { sed '/^```/,/^```/d' "$1" | { grep -o '`[^`]*`' || true; } | tr -d '`' | sort -u; }

everything="$(find . \( -name .git -o -name 'build*' \) -prune -o -print | sed 's|^\./||')"

# A path may be short, as in `core/philox.h` or `isa/`: it has to be the end of one that exists.
exists() { grep -qE "(^|/)$(sed 's/[.+]/\\&/g; s/\*/[^\/]*/g' <<<"${1%/}")\$" <<<"$everything"; }

for document in CONTRIBUTING.md docs/*.md; do
    while read -r word; do
        # A file of the sources or a folder; NAME and {…} stand for something. The pages for users
        # also speak of the users' folders.
        [[ $word =~ ^[a-z0-9_./*-]+(/|\.(h|cpp|md|sh|toml|cmake|py))$ ]] || continue
        [[ $word != */ || $document =~ CONTRIBUTING|architecture ]] || continue
        case $word in build/ | recipe.toml) continue ;; esac  # what a build or a run makes
        exists "${word#./}" || report "$document" path "$word"
    done < <(quoted "$document")
done

for document in CONTRIBUTING.md README.md docs/*.md; do
    while read -r _ command; do
        grep -qE "^    ([a-z-]+ \| )*$command( \| [a-z-]+)*\)" dev ||
            report "$document" './dev command' "$command"
    done < <(grep -ohE '\./dev [a-z][a-z-]*' "$document" | sort -u)
    [[ -n $program ]] || continue
    while read -r _ command; do
        "$program" "$command" --help >/dev/null 2>&1 || report "$document" command "cait $command"
    done < <(grep -ohE '(^|`)cait [a-z]+' "$document" | tr -d '`' | sort -u)
done
exit $missing
