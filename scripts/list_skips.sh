#!/usr/bin/env bash
# Lists the tests that the last run of ctest skipped, by the reason that each gives: a test that did not run
# proves nothing, and the reason says what it needs.
# Usage: list_skips.sh BUILD-FOLDER. Prints nothing where nothing was skipped.
set -euo pipefail
log="$1/Testing/Temporary/LastTest.log"
[[ -f $log ]] || exit 0
awk '
function add(name, why) {
    gsub(/^[ \t]+|[ \t]+$/, "", why)
    if ((name, why) in seen) return
    seen[name, why] = 1
    if (!(why in count)) order[++reasons] = why
    names[why] = names[why] (count[why]++ < 3 ? (names[why] == "" ? "" : ", ") name : "")
}
/^[0-9]+\/[0-9]+ Test: / { test = $0; sub(/^[^:]*: /, "", test); reading = 0 }
# GoogleTest: "FILE:LINE: Skipped", the reason, "[  SKIPPED ] NAME (0 ms)".
/: Skipped$/ { reading = 1; reason = ""; next }
/^\[  SKIPPED \] .* \([0-9]+ ms\)$/ {
    name = $0
    sub(/^\[  SKIPPED \] /, "", name)
    sub(/, where GetParam.*| \([0-9]+ ms\)$/, "", name)
    sub(/ \([0-9]+ ms\)$/, "", name)
    add(name, reading ? reason : "no reason given")
    reading = 0
    next
}
/^\[/ { reading = 0 }
reading { reason = reason " " $0; next }
# Scripts say it in a line of their own.
/: skipped( |$)/ { why = $0; sub(/: skipped */, " ", why); add(test, why) }
END {
    for (i = 1; i <= reasons; i++) {
        why = order[i]
        total += count[why]
        lines = lines sprintf("  %s: %s%s\n", why, names[why], count[why] > 3 ? " and " count[why] - 3 " more" : "")
    }
    if (total > 0) printf "%d skipped, by what they need:\n%s", total, lines
}' "$log"
