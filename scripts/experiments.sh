#!/usr/bin/env bash
# The runs behind docs/research/results.md: what of the papers shows on small images and a small budget.
# Takes about 85 minutes on two cores, two runs at a time, one thread each. A run that is there
# already is resumed or skipped, so an interrupted call can be repeated.
# Usage: scripts/experiments.sh CIFAR-100-FOLDER RUNS
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cifar=$(realpath "$1")
runs=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

declare -A data=([cifar]="cifar100:$cifar" [fashion]="fashion-mnist:")
# Crop and mirror only, no stochastic depth: few epochs overfit little.
declare -A settings=(
    [plain]="augment.policy=none model.drop_path=0 model.dim=64 model.heads=4 schedule.warmup=1"
    [cifar]="model.patch=4"
    [fashion]="model.image_size=28 model.patch=7"
    [cait]="model.depth=6 model.class_layers=2 model.residual_init=1"
    [deit]="model.name=deit_tiny_patch16_224 model.depth=8"
    [cait-hard]="model.distill_token=true distill.kind=hard"
    [deit-hard]="model.distilled=true distill.kind=hard"
    [convnet]="model.name=resnet18 data.repeats=1 data.batch=128 data.mean=data augment.crop=rrc
        augment.policy=none augment.mixup=0 augment.cutmix=0 loss.name=cross_entropy
        loss.smoothing=0.1 optim.name=sgd optim.lr=0.1 optim.weight_decay=5e-4 optim.clip=none schedule.unit=step
        schedule.warmup=1 schedule.warmup_lr=1e-3 model.drop_path=0 eval.crop_ratio=1"
    [cifar-teacher]="model.width=32 model.image_size=64 augment.scale=0.4,1"
    [fashion-teacher]="model.width=16 model.image_size=56 augment.scale=0.6,1"
)

source scripts/experiment_runs.sh

# run NAME RECIPE SET EPOCHS SETTING...
run() {
    local name=$1 recipe=$2 set=$3 epochs=$4
    shift 4
    train_once "$name" "$recipe" --data "${data[$set]}" --epochs "$epochs" --set=train.seed=0 "${@/#/--set=}"
    echo "$name: $(grep '"val"' "$runs/$name/metrics.jsonl" | tail -n 1)"
}

teacher() {  # teacher SET
    local -A epochs=([cifar]=12 [fashion]=4)
    split "${settings[convnet]} ${settings[$1-teacher]}"
    run "$1-teacher" rsb-a2 "$1" "${epochs[$1]}" "${words[@]}"
}

student() {  # student SET MODEL [hard]
    local -A epochs=([cifar]=15 [fashion]=6)
    local name=$1-$2 more=""
    if [[ ${3:-} == hard ]]; then
        name+=-hard
        more="${settings[$2-hard]} distill.teacher=$runs/$1-teacher/best.safetensors"
    fi
    split "${settings[plain]} ${settings[$1]} ${settings[$2]} $more"
    run "$name" small "$1" "${epochs[$1]}" "${words[@]}"
}

depth() {  # depth SET BLOCKS layerscale|none [RATE]
    local -A epochs=([cifar]=10 [fashion]=3) tokens=([cifar]="model.patch=8"
        [fashion]="${settings[fashion]}")
    local name=$1-depth$2-$3 rate=${4:-1e-3}
    if [[ $rate != 1e-3 ]]; then name+=-lr$rate; fi
    split "${settings[plain]} ${tokens[$1]} model.depth=$2 model.residual=$3
        model.residual_init=auto optim.lr=$rate"
    run "$name" small "$1" "${epochs[$1]}" "${words[@]}"
}

if [[ -n ${CAIT_EXPERIMENT:-} ]]; then  # one of the lines below
    split "$CAIT_EXPERIMENT"
    "${words[@]}"
    exit
fi

# Teachers first; two at a time.
{
    for set in cifar fashion; do echo "teacher $set"; done
    for set in cifar fashion; do
        for residual in layerscale none; do
            for n in 36 24 12; do echo "depth $set $n $residual"; done
        done
        for model in cait deit; do
            echo "student $set $model"
            echo "student $set $model hard"
        done
    done
    for residual in layerscale none; do echo "depth fashion 36 $residual 4e-3"; done
} | xargs -P 2 -I{} env CAIT_EXPERIMENT={} scripts/experiments.sh "$cifar" "$runs"
