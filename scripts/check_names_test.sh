#!/usr/bin/env bash
# Plants what check_names.py is there to find, one at a time, in a small tree.
set -euo pipefail
script="$(cd "$(dirname "$0")" && pwd)/check_names.py"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT

# expect STATUS WHAT: runs the check on the tree as it is.
expect() {
    local status=0 output
    output="$(python3 -B "$script" "$root")" || status=$?
    if [[ $status -ne $1 ]]; then
        echo "check_names_test: $2: expected status $1, found $status: $output" >&2
        exit 1
    fi
}

# put FILE TEXT
put() {
    mkdir -p "$(dirname "$root/$1")"
    printf '%s\n' "$2" >"$root/$1"
}

clean() {
    rm -rf "${root:?}"/*
    put src/image/bits.h $'namespace cait {\ninline constexpr int kBits = 22;\n}'
    put src/image/shift.cpp $'namespace cait {\nnamespace {\nusing P = Plane;\nconstexpr int kOther = 20;\nint whole(double x) { return 0; }\n}\n}'
}

clean
put src/image/round.cpp $'namespace cait {\nnamespace {\nusing P = Plane;\nint whole(double x, int y) { return 1; }\n}\n}'
expect 0 "one alias twice, an overload"
put src/image/round.cpp $'namespace cait {\nnamespace {\nint whole(double y) { return 1; }\n}\n}'
expect 1 "the same function twice"
put src/image/round.cpp $'namespace cait {\nnamespace {\nusing P = Point;\n}\n}'
expect 1 "another alias"
put src/image/round.cpp $'namespace cait {\nnamespace {\nconstexpr int kOther = 1;\n}\n}'
expect 1 "a constant twice"
clean
put src/image/round.cpp $'namespace cait {\nnamespace {\nconstexpr int kBits = 20;\n}\n}'
expect 1 "a constant that hides one of a header"
clean
put src/data/range.h $'namespace cait {\nstruct Spread {\n    int least;\n};\n}'
expect 0 "a type"
put src/report/spread.h $'namespace cait {\nstruct Spread {\n    double mean;\n};\n}'
expect 1 "a type that two headers define"
put src/report/spread.h $'namespace cait::report {\nstruct Spread {\n    double mean;\n};\n}'
expect 0 "a type of another namespace"
