#!/usr/bin/env bash
# Features learned without labels: DINO on CIFAR-100 and Fashion-MNIST, judged by neighbours and by a linear
# classifier, beside the same trunk untrained and trained on labels with as many steps. Takes about 45 minutes on two
# cores, two runs at a time, one thread each. A run that is there already is resumed or skipped.
# Usage: scripts/experiments_dino.sh CIFAR-100-FOLDER RUNS
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cifar=$(realpath "$1")
runs=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/experiment_runs.sh

declare -A train=([cifar]="cifar100:$cifar?split=train" [fashion]="fashion-mnist:?split=train")
declare -A test=([cifar]="cifar100:$cifar?split=test" [fashion]="fashion-mnist:?split=test")
declare -A epochs=([cifar]=12 [fashion]=5)
declare -A settings=(
    [trunk]="model.name=resnet18 model.width=16 model.stem_kernel=3 model.stem_pool=false eval.crop_ratio=1
        data.mean=data train.seed=0"
    [cifar]="model.image_size=32 views.local_size=16"
    [fashion]="model.image_size=28 views.local_size=14"
    [dino]="schedule.warmup=1 eval.every=100"
    [labels]="loss.name=cross_entropy head.kind=none save.head=false views.name=none head.predictor=0 data.batch=128
        schedule.warmup=1 eval.every=100 augment.policy=none augment.erase=0 augment.scale=0.25,1"
    [probe]="schedule.epochs=20 data.batch=256 optim.lr=1 optim.lr_batch=0 augment.scale=0.5,1 eval.every=100"
)

# run NAME RECIPE SET SETTINGS WORD...
run() {
    local name=$1 recipe=$2 set=$3
    split "$4"
    shift 4
    train_once "$name" "$recipe" --data "${train[$set]}" --val "${test[$set]}" "${words[@]/#/--set=}" "$@"
}

# neighbours NAME SET FILE: NAME-knn.json
neighbours() {
    if [[ -e $runs/$1-knn.json ]]; then return; fi
    "$cait" eval --weights "$3" --data "${test[$2]}" --knn "${train[$2]}" --knn-rule dino --json >"$runs/$1-knn.json.new"
    mv "$runs/$1-knn.json.new" "$runs/$1-knn.json"
}

# judged NAME SET: what neighbours and the last validation say
judged() {
    python3 - "$runs" "$1" "$2" <<'PYTHON'
import json, sys
runs, name, run = sys.argv[1:]
knn = max(one["top1"] for one in json.load(open(f"{runs}/{name}-knn.json"))["knn"])
last = [json.loads(line) for line in open(f"{runs}/{run}/metrics.jsonl") if '"val"' in line][-1]
print(f"{name}: kNN {100 * knn:.2f} %, classifier {100 * last['top1']:.2f} %")
PYTHON
}

# Frozen features of FILE, or of a trunk rebuilt: judge NAME SET [FILE]
judge() {
    local trunk="${settings[trunk]} ${settings[$2]%% *}" weights=()
    if [[ -n ${3:-} ]]; then trunk="eval.crop_ratio=1 train.seed=0" weights=(--weights "$3"); fi
    run "$1-linear" dino-linear "$2" "$trunk ${settings[probe]}" "${weights[@]}"
    neighbours "$1" "$2" "$runs/$1-linear/last.safetensors"
    judged "$1" "$1-linear"
}

dino() {  # dino SET
    run "$1-dino" dino-small "$1" "${settings[trunk]} ${settings[$1]} ${settings[dino]} schedule.epochs=${epochs[$1]}"
    judge "$1-teacher" "$1" "$runs/$1-dino/last_ema.safetensors"
    judge "$1-student" "$1" "$runs/$1-dino/last.safetensors"
}

untrained() { judge "$1-untrained" "$1"; }

labels() {  # labels SET
    run "$1-labels" grafit-cifar "$1" \
        "${settings[trunk]} ${settings[$1]%% *} ${settings[labels]} schedule.epochs=${epochs[$1]}"
    neighbours "$1-labels" "$1" "$runs/$1-labels/last.safetensors"
    judged "$1-labels" "$1-labels"
}

if [[ -n ${CAIT_EXPERIMENT:-} ]]; then  # one of the lines below
    split "$CAIT_EXPERIMENT"
    "${words[@]}"
    exit
fi

for what in dino labels untrained; do
    for set in cifar fashion; do echo "$what $set"; done
done | xargs -P 2 -I{} env CAIT_EXPERIMENT={} scripts/experiments_dino.sh "$cifar" "$runs"
