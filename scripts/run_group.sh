#!/usr/bin/env bash
# Runs a program of GoogleTest for ctest, which sees its exit code alone. Where every test was skipped the
# code is 77, which ctest shows as skipped; where no test ran at all, as when a filter fits nothing any more,
# it is 1.
# Usage: run_group.sh PROGRAM [ARGUMENT...]
set -uo pipefail
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[[ $status -eq 0 ]] || exit "$status"
if ! grep -qE '^\[==========\] Running [1-9]' "$log"; then
    echo "run_group: no test fits: $*"
    exit 1
fi
if grep -qE '^\[  PASSED  \] 0 tests' "$log"; then exit 77; fi
exit 0
