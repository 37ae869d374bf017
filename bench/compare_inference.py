"""Runs `./dev bench compare`: the same weights and images through cait's engine, OpenVINO, ONNX
Runtime and PyTorch, in turns so that all see the same machine. Checks first that all compute the
same logits; prints rates and ratios and writes them into docs/performance.md and
docs/inference.svg.
Usage: compare_inference.py CAIT --peers PYTHON [--quick] [MODEL…]; --help has the rest"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import inference_report as report
from inference_contenders import (BATCHES, SETTINGS, Case, Contender, Failed, check_cait, close,
                                  prepare, say, start_peer, take_turn)

ROOT = Path(__file__).parent.parent
MODELS = ["cait_xxs24_224", "cait_s24_224", "deit_small_patch16_224", "vit_base_patch16_224",
          "resmlp_24_224", "patchconvnet_s60", "volo_d1_224", "resnet50"]
# Models with attention, for which NNCF has a preset.
TRANSFORMERS = ("cait", "deit", "vit", "volo")


@dataclass
class Roof:
    """What the processor could do at best, and what a model asks of it."""
    peaks: dict[str, float]  # 1e9 operations per second by precision
    macs: dict[str, int]  # multiply-adds of an image by model


# --- Who takes part -----------------------------------------------------------------------------

def settings_of(name: str, case: Case) -> list[str]:
    # Several batches of one image at once are no latency.
    without = ["throughput"] if case.batch == 1 else []
    if not case.model.startswith(TRANSFORMERS):
        without.append("transformer")
    return [setting for setting in SETTINGS[case.precision][name]
            if not any(word in setting.split(", ") for word in without)]


def best_of_peer(case: Case, name: str, seconds: float) -> tuple[Contender, str, list[str]]:
    """The setting with the best of two short turns, the version, and what failed of the others."""
    tried, version, failures = [], "", []
    for setting in settings_of(name, case):
        try:
            contender, version = start_peer(case, name, setting)
            tried.append(contender)
        except Failed as failure:
            failures.append(f"{setting}: {failure}")
            say(f"  {name}, {setting}: {failure}")
    best: dict[str, float] = {}
    for contender in [*tried, *tried]:
        if best.get(contender.setting, 0) < 0:
            continue
        try:
            rate = take_turn(case, contender, seconds)["images_per_second"]
            best[contender.setting] = max(rate, best.get(contender.setting, 0))
        except Failed as failure:
            best[contender.setting] = -1
            failures.append(f"{contender.setting}: {failure}")
    winner = max(tried, key=lambda one: best[one.setting], default=None)
    for contender in tried:
        if contender is not winner or best[winner.setting] < 0:
            close(contender)
    if winner is None or best[winner.setting] < 0:
        reasons = {failure.split(": ", 1)[1] for failure in failures}
        more = f", and {len(failures) - 1} more settings failed" if len(failures) > 3 else ""
        raise Failed(reasons.pop() if len(reasons) == 1 else
                     failures[0] + more if more else "; ".join(failures))
    say(f"  {name}: " + ", ".join(f"{setting} {rate:.1f}" for setting, rate in best.items()))
    return winner, version, failures


def prepare_weights(case: Case) -> str:
    """Empty, or why no peer has this model."""
    if not Path(case.python).exists():
        return "not installed"
    try:
        return prepare(case, "weights").get("missing", "")
    except Failed as failure:
        return str(failure)


def note_of(contender: Contender, failures: list[str], precision: str) -> str:
    """What stands in brackets behind a rate: its setting, what failed of the others, and in int8 how
    near its logits are."""
    failed = failures if len(failures) < 2 else [f"{len(failures)} settings failed"]
    words = [contender.setting, *failed, contender.likeness if precision == "int8" else ""]
    return "; ".join(word for word in words if word)


def gather_peers(case: Case, options: argparse.Namespace, cells: dict[str, str],
                 versions: dict[str, str]) -> list[Contender]:
    """Those that work; the cells of the others say why not."""
    contenders = []
    for name in SETTINGS[case.precision]:
        try:
            contender, versions[name], failures = best_of_peer(case, name, options.trial)
        except Failed as failure:
            say(f"  {name}: {failure}")
            cells[name] = str(failure)
            continue
        contenders.append(contender)
        cells[name] = note_of(contender, failures, case.precision)
    return contenders


def gather_cait(case: Case, cells: dict[str, str]) -> list[Contender]:
    """Nobody if cait's logits are wrong; without a peer there is nothing to compare them with."""
    contender = Contender("cait")
    if cells:
        return [contender]
    try:
        contender.likeness = check_cait(case)
    except Failed as failure:
        say(f"  cait: {failure}")
        cells["cait"] = str(failure)
        return []
    say(f"  cait's logits and PyTorch's: {contender.likeness}")
    if note := note_of(contender, [], case.precision):
        cells["cait"] = note
    return [contender]


# --- Rounds -------------------------------------------------------------------------------------

def play(case: Case, options: argparse.Namespace, missing: str, versions: dict[str, str],
         limits: Roof) -> list[str]:
    """All rounds of one case; the row of the table. `missing`: why no peer has this model."""
    say(f"\n{case}")
    cells = dict.fromkeys(SETTINGS[case.precision], missing) if missing else {}
    contenders = gather_cait(case, cells)
    if not missing:
        contenders += gather_peers(case, options, cells, versions)
    for _ in range(options.rounds):
        for contender in list(contenders):
            try:
                answer = take_turn(case, contender, options.seconds)
                contender.rates.append(answer["images_per_second"])
                contender.p50.append(answer["p50_ms"])
            except Failed as failure:
                say(f"  {contender.name}: {failure}")
                cells[contender.name] = str(failure)
                contenders.remove(contender)
        if contenders:
            say("  " + ", ".join(f"{one.name} {one.rates[-1]:.1f}" for one in contenders))
    for contender in contenders:
        close(contender)
        rate = f"{statistics.median(contender.rates):.1f}"
        note = cells.get(contender.name)
        cells[contender.name] = f"{rate} ({note})" if note else rate
        say(f"  {contender.name:12} {rate:>6} images/s "
            f"({min(contender.rates):.1f}…{max(contender.rates):.1f}), "
            f"p50 {statistics.median(contender.p50):.0f} ms {contender.setting}")
    return report.row(case.model, case.batch, case.precision, cells, ratios(contenders),
                      share_of_roof(case, contenders, limits))


def share_of_roof(case: Case, contenders: list[Contender], limits: Roof) -> float | None:
    """Of cait: how much of what the processor could do at best goes into the model's products."""
    rate = next((statistics.median(one.rates) for one in contenders if one.name == "cait"), None)
    peak = limits.peaks.get(case.precision)
    return 2 * limits.macs[case.model] * rate / (1e9 * peak) if rate and peak else None


def ratios(contenders: list[Contender]) -> dict[str, float]:
    """The median over the rounds of cait's rate to a peer's in the same round."""
    ours = next((one.rates for one in contenders if one.name == "cait"), None)
    return {one.name: statistics.median(a / b for a, b in zip(ours, one.rates))
            for one in contenders if ours and one.name != "cait"}


# --- The machine --------------------------------------------------------------------------------

def ask_cait(cait: str, command: str, environment: dict[str, str],
             *options: str) -> dict | list:
    done = subprocess.run([cait, command, "--json", *options], capture_output=True, text=True,
                          env=environment)
    if done.returncode != 0:
        sys.exit(f"compare_inference: {cait} {command}: {done.stderr}")
    return json.loads(done.stdout)


def peer_environment(cait: str, threads: int) -> tuple[dict[str, str], str]:
    """Threads that wait sleep as soon as cait's do. Where CPUID names AMX but describes no tiles,
    oneDNN would die at its first one (docs/machine.md), and OpenVINO has its own copy of it."""
    environment = {"OMP_NUM_THREADS": str(threads), "GOMP_SPINCOUNT": "10000", **os.environ}
    environment.pop("CAIT_ISA", None)  # holds for cait alone
    cap = ask_cait(cait, "machine", environment)["onednn_max_cpu_isa"]
    if not cap:
        return environment, ""
    for variable in ("ONEDNN_MAX_CPU_ISA", "OV_CPU_MAX_ISA"):
        environment.setdefault(variable, cap)
    return environment, f"peers' oneDNN capped at {cap}, see machine.md"


def precisions_of(machine: dict) -> list[str]:
    has_bf16 = machine["isa"]["found"] in ("avx512_bf16", "amx")
    return ["fp32", "bf16", "int8"] if has_bf16 else ["fp32", "int8"]


def roof(cait: str, models: list[dict], threads: int) -> Roof:
    """The bare peak of this run's threads, by precision."""
    names = {"float32": "fp32", "bfloat16": "bf16", "int8": "int8"}
    measured = ask_cait(cait, "machine", {**os.environ, "OMP_NUM_THREADS": str(threads)},
                        "--measure")["measured"]
    peaks: dict[str, float] = {}
    for one in measured["arithmetic"]:
        name = names[one["format"]]
        peaks[name] = max(one["gflop_per_second"], peaks.get(name, 0))
    say("bare peak: " + ", ".join(f"{name} {rate:.0f}" for name, rate in peaks.items()) +
        f" GFLOP/s with {measured['threads']} threads")
    return Roof(peaks, {model["name"]: model["macs"] for model in models})


def describe(machine: dict, options: argparse.Namespace, versions: dict[str, str],
             note: str) -> str:
    """The conditions that stand under the table, beside the models that they hold for."""
    peers = [f"{name} {versions[name]}" for name in report.PEERS if name in versions]
    return "; ".join([
        f"{machine['processor']}, {machine['isa']['used']}, {options.threads} threads",
        ", ".join([f"cait {machine['parts']['cait']}", *peers]),
        f"{options.rounds} rounds of {options.seconds:g} s, {time.strftime('%Y-%m-%d')}",
        *([note] if note else [])])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("cait", help="the program")
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("--peers", required=True, help="a Python with the peers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.5, help="of each turn")
    parser.add_argument("--quick", action="store_true", help="one round of a second")
    parser.add_argument("--document", type=Path, help="where the table goes (docs/performance.md; "
                        "nowhere with --quick)")
    options = parser.parse_intermixed_args()
    options.trial = 1.0
    if options.quick:
        options.rounds, options.seconds, options.trial = 1, 1.0, 0.5
    elif not options.document:
        options.document = ROOT / "docs/performance.md"
    return options


def main() -> None:
    options = parse()
    catalogue = ask_cait(options.cait, "models", dict(os.environ))
    known = {model["name"] for model in catalogue}
    if unknown := [model for model in options.models if model not in known]:
        sys.exit(f"compare_inference: not in `cait models`: {', '.join(unknown)}")
    machine = ask_cait(options.cait, "machine", dict(os.environ))
    environment, note = peer_environment(options.cait, options.threads)
    versions: dict[str, str] = {}
    say(f"{machine['processor']}, {machine['isa']['used']}; load {os.getloadavg()[0]:.1f} at the "
        f"start{'; ' if note else ''}{note}")
    limits = roof(options.cait, catalogue, options.threads)
    rows = []
    for model in options.models:
        case = Case(model, max(BATCHES), "fp32", options.threads, options.cait, options.peers,
                    environment)
        if missing := prepare_weights(case):
            say(f"{model}: no peers: {missing}")
        rows += [play(replace(case, precision=precision, batch=batch), options, missing, versions,
                      limits)
                 for precision in precisions_of(machine) for batch in BATCHES]
    say("\n" + report.table(rows))
    conditions = describe(machine, options, versions, note)
    say(f"\n{conditions}; load {os.getloadavg()[0]:.1f} at the end")
    if options.document:
        report.write(options.document, rows, conditions, MODELS)
        say(f"written to {options.document} and {report.chart_of(options.document)}")


if __name__ == "__main__":
    main()
