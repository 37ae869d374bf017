#!/usr/bin/env bash
# Features learned from coarse labels and judged by fine ones, as in chapter 2 of the thesis: cross-entropy,
# SNCA+, Grafit FC and Grafit, three seeds each. Two runs at a time, one thread each. A run that is there
# already is resumed or skipped, so an interrupted call can be repeated.
# Usage: scripts/experiments_beyond_labels.sh CIFAR-100-FOLDER GROCERY-FOLDER RUNS
set -euo pipefail
[[ $# -eq 3 ]] || { sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cifar=$(realpath "$1")
grocery=$(realpath "$2")
runs=$(realpath "$3")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/experiment_runs.sh

# uri SET LEVEL PART
uri() {
    case $1 in
        cifar) echo "cifar100:$cifar?level=$2&split=$3" ;;
        grocery) echo "csv:$grocery/${3/test/val}.csv?levels=super,coarse,fine&level=$2" ;;
    esac
}

# judge NAME SET TAP: NAME.json has kNN accuracy and retrieval at the finest level.
judge() {
    if [[ -e $runs/$1.json ]]; then return; fi
    "$cait" eval --weights "$runs/$1/last.safetensors" --tap "$3" --data "$(uri "$2" fine test)" \
        --knn "$(uri "$2" fine train)" --retrieval "$(uri "$2" fine train)" --json >"$runs/$1.json.new"
    mv "$runs/$1.json.new" "$runs/$1.json"
    echo "$1: $(python3 -c "import json,sys; d=json.load(open(sys.argv[1])); print(max(k['top1'] for k in d['knn']), d['retrieval']['map'])" "$runs/$1.json")"
}

declare -A settings=(
    [trunk]="model.name=resnet18 model.width=16 head.hidden=512 head.outputs=128 schedule.warmup=1
        augment.policy=none augment.jitter=0.3 augment.erase=0 augment.scale=0.25,1"
    [cifar]="model.image_size=32 model.stem_kernel=3 model.stem_stride=2 model.stem_pool=false data.batch=128 eval.crop_ratio=1"
    [grocery]="model.image_size=64 model.stem_kernel=7 model.stem_stride=2 model.stem_pool=true data.batch=64 data.mean=data eval.crop_ratio=1 schedule.warmup=5"
    [one]="views.name=none head.predictor=0"
    [two]="views.count=2 head.predictor=512 target.momentum=0.95"
    [ce]="loss.name=cross_entropy head.kind=none save.head=false eval.features=trunk"
    [snca]="loss.name=knn head.kind=mlp"
    [grafit-fc]="head.kind=linear"
    [grafit]="head.kind=mlp"
)
declare -A epochs=([cifar]=10 [grocery]=60)

# grafit SET METHOD SEED: trained on coarse labels, judged by fine ones. As in the thesis all methods have the same
# number of steps; Grafit looks at two views of each image in a step, the others at one.
grafit() {
    local shown=two tap=projection name=$1-$2-$3
    if [[ $2 == ce || $2 == snca ]]; then shown=one; fi
    if [[ $2 == ce ]]; then tap=features; fi
    split "${settings[trunk]} ${settings[$1]} ${settings[$shown]} ${settings[$2]} schedule.epochs=${epochs[$1]}
        eval.every=${epochs[$1]} train.seed=$3"
    train_once "$name" grafit-cifar --data "$(uri "$1" coarse train)" --val "$(uri "$1" coarse test)" \
        "${words[@]/#/--set=}"
    judge "$name" "$1" "$tap"
}

if [[ -n ${CAIT_EXPERIMENT:-} ]]; then  # one of the lines below
    split "$CAIT_EXPERIMENT"
    "${words[@]}"
    exit
fi

for seed in 0 1 2; do
    for set in cifar grocery; do
        for method in ce snca grafit-fc grafit; do echo "grafit $set $method $seed"; done
    done
done | xargs -P 2 -I{} env CAIT_EXPERIMENT={} scripts/experiments_beyond_labels.sh "$cifar" "$grocery" "$runs"
