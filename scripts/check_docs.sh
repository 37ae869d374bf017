#!/usr/bin/env bash
# shellcheck disable=SC2016  # backticks and dollars are those of the texts, not the shell's
# Holds the documents to what there is: links and their anchors, paths, `./dev` commands, and `cait` commands with
# their subcommands and options (check_commands.py, which also looks at the examples in the program's help).
# Usage: check_docs.sh [root [cait]]. Prints "file: what is missing" for each and then exits with 1.
set -euo pipefail
commands="$(cd "$(dirname "$0")" && pwd)/check_commands.py"
cd "${1:-$(dirname "$0")/..}"
program=${2:-}
missing=0
report() {
    echo "$1: no such $2: $3"
    missing=1
}

documents=()
for document in README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs/*.md docs/research/*.md tests/*/README.md; do
    [[ -f $document ]] && documents+=("$document")
done
if [[ ${#documents[@]} -eq 0 ]]; then
    echo "check_docs: no documents under $PWD" >&2
    exit 1
fi

# Code blocks are examples: nothing in them is a path of ours or a link.
prose() { sed '/^```/,/^```/d' "$1"; }

# Words between backticks, one to a line.
quoted() { prose "$1" | { grep -o '`[^`]*`' || true; } | tr -d '`' | sort -u; }

everything="$(find . \( -name .git -o -name 'build*' \) -prune -o -print | sed 's|^\./||')"
folders="$(find . -mindepth 1 -maxdepth 1 -type d ! -name '.git' ! -name 'build*' -printf '%f|' | sed 's|\.|\\.|g')"

# A path may be short, as in `base/philox.h` or `isa/`: it has to be the end of one that exists.
exists() { grep -qE "(^|/)$(sed 's/[.+]/\\&/g; s/\*/[^\/]*/g' <<<"${1%/}")\$" <<<"$everything"; }
# One from the root on has to be there as it stands.
exists_from_root() { grep -qxE "$(sed 's/[.+]/\\&/g; s/\*/[^\/]*/g' <<<"${1%/}")" <<<"$everything"; }

# The anchors of a page, as GitHub makes them of its headings.
anchors() {
    prose "$1" | sed -n 's/^##* *//p' | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_links() {
    local document=$1 link target page
    while read -r link; do
        [[ $link != *:* && $link != *' '* ]] || continue  # of the web; `[&](const T& x)` is C++
        target=${link%%#*}
        page="$(dirname "$document")/$target"
        [[ -n $target ]] || page=$document
        if [[ ! -e $page ]]; then
            report "$document" link "$link"
        elif [[ $link == *#* ]] && ! anchors "$page" | grep -qxF "${link#*#}"; then
            report "$document" anchor "$link"
        fi
    done < <(prose "$document" | { grep -oE '\]\([^)]+\)' || true; } | sed 's/^](//; s/)$//' | sort -u)
}

check_paths() {
    local document=$1 word
    while read -r word; do
        case $word in build/* | recipe.toml) continue ;; esac  # what a build or a run makes
        word=${word#./}
        [[ ! $word =~ ^([^ ]+):[0-9]+$ ]] || word=${BASH_REMATCH[1]}  # a line of it
        # From the root on: whatever it is. NAME, {…} and … stand for something.
        if [[ $word =~ ^(${folders%|})/[a-z0-9_./*-]+$ || $word =~ ^(${folders%|})/[A-Za-z0-9_./*-]+\.[a-z]+$ &&
            ! $word =~ (NAME|FAMILY|TARGET) ]]; then
            exists_from_root "$word" || exists "$word" || report "$document" path "$word"
        # A file of the sources or a folder. The pages for users also speak of the users' folders.
        elif [[ $word =~ ^[a-z0-9_./*-]+(/|\.(h|cpp|md|sh|toml|cmake|py))$ ]]; then
            [[ $word != */ || $document =~ CONTRIBUTING|architecture ]] || continue
            exists "$word" || report "$document" path "$word"
        fi
    done < <(quoted "$document")
}

for document in "${documents[@]}"; do
    check_links "$document"
    [[ $document != CHANGELOG.md ]] || continue  # it speaks of what once was
    check_paths "$document"
    while read -r _ command; do
        grep -qE "^    ([a-z-]+ \| )*$command( \| [a-z-]+)*\)" dev ||
            report "$document" './dev command' "$command"
    done < <({ grep -ohE '\./dev [a-z][a-z-]*' "$document" || true; } | sort -u)
done
if [[ -n $program ]]; then
    now=()
    for document in "${documents[@]}"; do
        [[ $document == CHANGELOG.md ]] || now+=("$document")
    done
    python3 -B "$commands" "$program" "${now[@]}" || missing=1
fi
exit $missing
