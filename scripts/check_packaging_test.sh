#!/usr/bin/env bash
# Shows that check_packaging.sh accepts what we have and names what is wrong, on copies with one change each.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
program="${1:+$(realpath "$1")}"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
failures=0

# expect WORDS FILE SED: after the change the check fails and says WORDS.
expect() {
    local words=$1 file=$2 change=$3 output found=0
    rm -rf "${tree:?}"/*
    cp -r "$root/packaging" "$root/dev" "$root/CMakeLists.txt" "$tree/"
    sed -i -E "$change" "$tree/$file"
    if cmp -s "$tree/$file" "$root/$file"; then
        echo "$change: changed nothing in $file"
        failures=$((failures + 1))
    fi
    output="$("$root/scripts/check_packaging.sh" "$tree" "$program" 2>&1)" || found=$?
    if [[ $found -ne 1 || $output != *"$words"* ]]; then
        echo "$file with $change: expected exit 1 and '$words', found $found and '$output'"
        failures=$((failures + 1))
    fi
}

"$root/scripts/check_packaging.sh" "$root" "$program"
image=packaging/Dockerfile
expect 'expected a version' $image 's/^FROM debian:12-slim$/FROM debian/'
expect 'expected a version' $image 's/^FROM debian:12-slim AS/FROM debian:latest AS/'
expect 'no such stage' $image 's/--from=build/--from=built/'
expect 'somebody else than root' $image '/^USER/d'
expect 'somebody else than root' $image 's/^USER .*/USER root/'
expect 'ENTRYPOINT' $image 's/^ENTRYPOINT.*/ENTRYPOINT cait/'
expect 'CMD' $image 's/^CMD.*/CMD serve/'
expect '--no-install-recommends' $image 's/ --no-install-recommends//'
expect 'lists removed' $image 's|/var/lib/apt/lists/\* /tmp|/tmp|'
expect 'libwebp-dev is missing' $image 's/ libwebp-dev//'
expect '-DCAIT_TRAINING' $image 's/CAIT_TRAIN=/CAIT_TRAINING=/'
expect 'libnew-dev is missing' dev 's/nlohmann-json3-dev/nlohmann-json3-dev libnew-dev/'
unit=packaging/cait.service
expect '[Install] is missing' $unit '/^\[Install\]/d'
expect 'expected KEY=VALUE' $unit 's/^Restart=/Restart /'
expect 'ExecStart' $unit 's|/usr/bin/cait serve|/usr/bin/cait server|'
expect 'TimeoutStopSec' $unit 's/^TimeoutStopSec=.*/TimeoutStopSec=10/'
expect 'expected DynamicUser=yes' $unit '/^DynamicUser/d'
expect 'expected CapabilityBoundingSet=' $unit 's/^CapabilityBoundingSet=/&CAP_NET_BIND_SERVICE/'
if [[ -n $program ]]; then expect 'cait serve has no --logs' $unit 's/--log -/--logs -/'; fi
if command -v systemd-analyze >/dev/null; then expect 'systemd-analyze' $unit 's/^UMask=/UnMask=/'; fi
exit $((failures > 0))
