#!/usr/bin/env bash
# What `./dev demo` shows: a small CaiT trained on Fashion-MNIST, evaluated, and looked into.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s\n' "$1"; shift; printf '$ %s\n' "$*"; "$@"; }

run=${1:-demo}
data=fashion-mnist:
if [[ -e $run ]]; then
    echo "demo: $run exists; remove it or name another folder: ./dev demo FOLDER" >&2
    exit 1
fi

step "The CaiT models" build/cait models cait_
step "Train a small CaiT on Fashion-MNIST" build/cait train fashion --data "$data" --out "$run"
step "Evaluate it" build/cait eval --weights "$run/best.safetensors" --data "$data"
step "What it takes some test images for" \
    build/cait predict --weights "$run/best.safetensors" --data "$data" --count 6 --top 3
step "Where its class token looks" build/cait attend --weights "$run/best.safetensors" \
    --data "$data" --count 12 --side 112 --output "$run/attention.png"
printf '\nThe report: %s\nThe attention maps: %s\n' \
    "$(realpath "$run/report.html")" "$(realpath "$run/attention.png")"
