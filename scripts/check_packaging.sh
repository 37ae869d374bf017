#!/usr/bin/env bash
# Holds packaging/ to what it needs to work: the image and the service start the program as it is now, build with
# what it needs now, and give away no more rights than they must. Linters are asked where they are installed.
# Usage: check_packaging.sh [root [cait]]. Prints "file: what is wrong" for each and then exits with 1.
set -euo pipefail
root="${1:-$(dirname "$0")/..}"
program="${2:+$(realpath "$2")}"
dockerfile=packaging/Dockerfile
service=packaging/cait.service
cd "$root"
status=0
wrong() {
    echo "$1: $2"
    status=1
}

# --- The image

# One instruction a line: without comments, what is continued joined.
instructions="$(sed -E '/^[[:space:]]*#/d' "$dockerfile" | sed -E ':a; /\\$/ { N; s/\\\n/ /; ba }' | sed -E 's/[[:space:]]+/ /g')"
stages=' '
while read -r _ image rest; do
    if [[ $stages != *" $image "* && ($image != *:* || $image == *:latest) ]]; then
        wrong "$dockerfile" "FROM $image: expected a version"
    fi
    if [[ $rest == AS\ * ]]; then stages+="${rest#AS } "; fi
done < <(grep '^FROM ' <<<"$instructions")
while read -r from; do
    [[ $stages == *" $from "* ]] || wrong "$dockerfile" "COPY --from=$from: there is no such stage"
done < <(grep -oE '^COPY --from=[^ ]+' <<<"$instructions" | sed 's/.*=//')

last_stage="$(tac <<<"$instructions" | sed '/^FROM /q' | tac)"
user="$(sed -nE 's/^USER //p' <<<"$last_stage" | tail -1)"
[[ -n $user && $user != root* && $user != 0* ]] || wrong "$dockerfile" "USER: expected somebody else than root"
for word in ENTRYPOINT CMD; do
    grep -q "^$word \[\".*\"\]$" <<<"$last_stage" || wrong "$dockerfile" "$word: expected [\"a\", \"list\"], which gets the signals"
done
grep -q '^ENTRYPOINT \["cait"\]$' <<<"$last_stage" || wrong "$dockerfile" 'ENTRYPOINT: expected ["cait"]'

while read -r run; do
    [[ $run == *'apt-get update'* && $run == *' -y '* && $run == *--no-install-recommends* &&
        $run == *'rm -rf /var/lib/apt/lists/*'* ]] ||
        wrong "$dockerfile" "apt-get install: expected update, -y, --no-install-recommends, and the lists removed"
done < <(grep '^RUN .*apt-get install' <<<"$instructions")

# What ./dev installs to build, but for what trains and what only makes building faster.
not_here=' ccache libtorch-dev libgloo-dev libsentencepiece-dev libopenblas0-openmp '
packages="$(sed -n '/^ *build) echo/,/;;/p' dev | tr -d '\\;' | sed 's/build) echo//')"
[[ $packages == *cmake* ]] || wrong dev "its list of packages was not found"
for package in $packages; do
    [[ $not_here == *" $package "* || $instructions == *" $package "* ]] ||
        wrong "$dockerfile" "$package is missing, which ./dev installs to build"
done
while read -r option; do
    grep -q "^option($option " CMakeLists.txt || wrong "$dockerfile" "-D$option: CMakeLists.txt has no such option"
done < <(grep -oE -- '-DCAIT_[A-Z]+' <<<"$instructions" | sed 's/^-D//')

if command -v hadolint >/dev/null; then hadolint "$dockerfile" || status=1; fi

# --- The service

value() { sed -nE "s/^$1=//p" "$service" | tail -1; }
for section in Unit Service Install; do
    grep -qxF "[$section]" "$service" || wrong "$service" "[$section] is missing"
done
while read -r line; do
    wrong "$service" "expected KEY=VALUE: $line"
done < <(grep -vE '^(#.*|\[[A-Z][a-z]+\]|[A-Z][A-Za-z]*=.*|)$' "$service")
start="$(value ExecStart)"
[[ $start == '/usr/bin/cait serve '* ]] || wrong "$service" "ExecStart: expected /usr/bin/cait serve, found $start"
# As long as the program may need to answer what it has accepted: --grace and --patience.
[[ $(value TimeoutStopSec) -gt 31 ]] 2>/dev/null || wrong "$service" "TimeoutStopSec: expected more than 31 s"
for right in DynamicUser=yes NoNewPrivileges=yes ProtectSystem=strict ProtectHome=yes PrivateTmp=yes PrivateDevices=yes \
    CapabilityBoundingSet= SystemCallFilter=@system-service SystemCallArchitectures=native RestrictNamespaces=yes; do
    grep -qxF "$right" "$service" || wrong "$service" "expected $right"
done
if [[ -n $program ]]; then
    known="$("$program" serve --help)"
    for word in $start; do
        [[ $word != --* || $known == *"$word "* ]] || wrong "$service" "ExecStart: cait serve has no $word"
    done
fi
if command -v systemd-analyze >/dev/null; then
    copy="$(mktemp -d)"
    trap 'rm -rf "$copy"' EXIT
    sed 's|^ExecStart=/usr/bin/cait|ExecStart=/bin/true|' "$service" >"$copy/cait.service"
    said="$(systemd-analyze verify --man=no "$copy/cait.service" 2>&1)" || wrong "$service" "systemd-analyze: $said"
    [[ -z $said ]] || wrong "$service" "systemd-analyze: $said"  # an unknown key is only told
fi
exit "$status"
