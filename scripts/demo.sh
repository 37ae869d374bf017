#!/usr/bin/env bash
# What `./dev demo` shows: a small CaiT trained on Fashion-MNIST, evaluated, and looked into.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s\n' "$1"; shift; printf '$ %s\n' "$*"; "$@"; }

data=fashion-mnist:
run=${1:-runs/demo}
number=2
while [[ -e $run ]]; do  # a run is never overwritten
    run=${1:-runs/demo}-$number
    number=$((number + 1))
done

# Four blocks on 4 x 4 patches: small enough for a few minutes on two cores.
train=(build/cait train small --data "$data" --out "$run" --epochs 16)
for setting in model.image_size=28 model.patch=7 model.dim=96 model.depth=4 model.drop_path=0 \
    augment.crop=squash augment.policy=none augment.erase=0.25 loss.smoothing=0 optim.lr=1.5e-3 \
    schedule.warmup=0.5 train.ema=0.998 save.best=top1_ema eval.every=4 train.precision=auto; do
    train+=(--set "$setting")
done

step "The CaiT models" build/cait models cait_
step "Train a small CaiT on Fashion-MNIST" "${train[@]}"
step "Evaluate it" build/cait eval --weights "$run/best.safetensors" --data "$data"
step "What it takes some test images for" \
    build/cait predict --weights "$run/best.safetensors" --data "$data" --count 6 --top 3
step "Where its class token looks" build/cait attend --weights "$run/best.safetensors" \
    --data "$data" --count 12 --side 112 --output "$run/attention.png"
printf '\nThe report: %s\nThe attention maps: %s\n' \
    "$(realpath "$run/report.html")" "$(realpath "$run/attention.png")"
