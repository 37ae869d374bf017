#!/usr/bin/env bash
# Shows that skipped tests are counted and named with their reasons, and that a group of tests is a failure
# where none ran, skipped where all were, and passes otherwise.
set -euo pipefail
scripts="$(cd "$(dirname "$0")" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
failures=0
fail() {
    echo "$1: expected '$2', found '$3'"
    failures=$((failures + 1))
}

mkdir -p "$folder/Testing/Temporary"
cat >"$folder/Testing/Temporary/LastTest.log" <<'TEXT'
1/3 Test: RealData.Imagenette
Output:
[ RUN      ] RealData.Imagenette
/a/real_data_test.cpp:31: Skipped
set CAIT_DATA to a folder with it

[  SKIPPED ] RealData.Imagenette (0 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] RealData.Imagenette
2/3 Test: kernels-avx2
[ RUN      ] Products.A/tiles
/a/product_test.cpp:40: Skipped
no AMX

[  SKIPPED ] Products.A/tiles, where GetParam() = 3-byte object (0 ms)
[ RUN      ] Products.B/tiles
/a/product_test.cpp:40: Skipped
no AMX

[  SKIPPED ] Products.B/tiles (0 ms)
[ RUN      ] Products.C/f32
[       OK ] Products.C/f32 (3 ms)
3/3 Test: serve-clients
tritonclient is not installed: skipped (./dev test --all installs it)
TEXT
expected='4 skipped, by what they need:
  set CAIT_DATA to a folder with it: RealData.Imagenette
  no AMX: Products.A/tiles, Products.B/tiles
  tritonclient is not installed (./dev test --all installs it): serve-clients'
found="$("$scripts/list_skips.sh" "$folder")"
[[ $found == "$expected" ]] || fail "list_skips.sh" "$expected" "$found"
printf '1/1 Test: a\n[       OK ] A.B (3 ms)\n' >"$folder/Testing/Temporary/LastTest.log"
found="$("$scripts/list_skips.sh" "$folder")"
[[ -z $found ]] || fail "a run without skips" "" "$found"

# group STATUS EXIT TEXT: a program that prints TEXT and ends with EXIT.
group() {
    local found=0
    "$scripts/run_group.sh" bash -c "printf '$3'; exit $2" >/dev/null || found=$?
    [[ $found -eq $1 ]] || fail "run_group.sh of '$3' with $2" "$1" "$found"
}
group 0 0 '[==========] Running 2 tests from 1 test suite.\n[  PASSED  ] 2 tests.\n'
group 0 0 '[==========] Running 2 tests from 1 test suite.\n[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test\n'
group 77 0 '[==========] Running 1 test from 1 test suite.\n[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test\n'
group 1 1 '[==========] Running 2 tests from 1 test suite.\n[  PASSED  ] 0 tests.\n[  FAILED  ] 1 test\n'
group 1 0 '[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n'
group 139 139 '[==========] Running 2 tests from 1 test suite.\n'

[[ $failures -eq 0 ]] || exit 1
echo "list_skips.sh, run_group.sh: all cases as expected"
