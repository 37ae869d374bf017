# What the scripts of experiments share; they set `runs` and source this.

cait=${CAIT:-build/cait}
mkdir -p "$runs"

# Sets `words` to those of a text, which may have several lines.
split() { read -rd '' -a words <<<"$1" || true; }

# train_once NAME WORD...: `cait train WORD...` into the run NAME, with one thread. One that is there already is
# resumed or skipped. NAME.log has the command and what it printed.
train_once() {
    local name=$1
    shift
    if [[ -e $runs/$name/done ]]; then return; fi
    local command=("$cait" train "$@" --set train.threads=1 --set data.threads=1 --out "$runs/$name")
    if [[ -e $runs/$name ]]; then command=("$cait" train --resume "$runs/$name"); fi
    echo "${command[*]}" >>"$runs/$name.log"
    "${command[@]}" >>"$runs/$name.log" 2>&1 || { echo "$name failed" >&2; return 1; }
    touch "$runs/$name/done"
}
