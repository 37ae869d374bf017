#!/usr/bin/env bash
# What `./dev demo` shows: the catalogue, a checkpoint looked into, and a forward pass through it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s\n' "$1"; shift; printf '$ %s\n' "$*"; "$@"; }

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
checkpoint=tests/e2e/data/tiny_cait_zip.pth
tiny=(--model cait_xxs24_224)
for setting in image_size=16 patch=8 classes=3 dim=16 depth=2 heads=2 class_layers=1; do
    tiny+=(--set "model.$setting")
done

step "The CaiT models" build/cait models cait_
step "A PyTorch checkpoint as one self-contained file" \
    build/cait convert "$checkpoint" "$out/tiny.safetensors" "${tiny[@]}"
step "What is in it" build/cait inspect "$out/tiny.safetensors"
step "Two images through it: logits and the first class-attention map" \
    build/cait forward --weights "$out/tiny.safetensors" --input tests/e2e/data/images.npy \
    --output "$out/outputs.safetensors" --tap logits --tap class_attention.0
step "The outputs" build/cait inspect "$out/outputs.safetensors"
