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
from dataclasses import replace
from pathlib import Path

import inference_report as report
from inference_contenders import (BATCHES, SETTINGS, Case, Contender, Failed, check_cait, close,
                                  prepare, say, start_peer, take_turn)

ROOT = Path(__file__).parent.parent
MODELS = ["cait_xxs24_224", "cait_s24_224", "deit_small_patch16_224", "resmlp_24_224",
          "patchconvnet_s60", "volo_d1_224", "resnet50"]


# --- Who takes part -----------------------------------------------------------------------------

def settings_of(name: str, case: Case) -> list[str]:
    # Several batches of one image at once are no latency.
    return [s for s in SETTINGS[name] if case.batch > 1 or s != "throughput"]


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
        raise Failed(reasons.pop() if len(reasons) == 1 else "; ".join(failures))
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


def judge_cait(case: Case) -> str:
    """Empty, or why cait cannot take part."""
    try:
        say(f"{case.model}, {case.precision}: cait's logits agree with PyTorch's within "
            f"{check_cait(case):.1g} of their spread")
        return ""
    except Failed as failure:
        say(f"{case.model}, {case.precision}: cait: {failure}")
        return str(failure)


def gather_peers(case: Case, options: argparse.Namespace, cells: dict[str, str],
                 versions: dict[str, str]) -> list[Contender]:
    """Those that work; the cells of the others say why not."""
    contenders = []
    for name in report.PEERS if case.precision == "fp32" else ["OpenVINO"]:
        try:
            contender, versions[name], failures = best_of_peer(case, name, options.trial)
        except Failed as failure:
            say(f"  {name}: {failure}")
            cells[name] = str(failure)
            continue
        contenders.append(contender)
        cells[name] = "; ".join([contender.setting, *failures])
    return contenders


# --- Rounds -------------------------------------------------------------------------------------

def play(case: Case, options: argparse.Namespace, cells: dict[str, str],
         versions: dict[str, str]) -> list[str]:
    """All rounds of one case, without those whose cells say why not; the row of the table."""
    say(f"\n{case}")
    contenders = [] if "cait" in cells else [Contender("cait")]
    if "OpenVINO" not in cells:
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
    return report.row(case.model, case.batch, case.precision, cells, ratios(contenders))


def play_model(case: Case, options: argparse.Namespace,
               versions: dict[str, str]) -> list[list[str]]:
    cells = {}
    if missing := prepare_weights(case):
        say(f"{case.model}: no peers: {missing}")
        cells = {name: missing for name in report.PEERS}
    elif ours := judge_cait(case):
        cells = {"cait": ours}
    return [play(replace(case, batch=batch), options, dict(cells), versions) for batch in BATCHES]


def ratios(contenders: list[Contender]) -> dict[str, float]:
    """The median over the rounds of cait's rate to a peer's in the same round."""
    ours = next((one.rates for one in contenders if one.name == "cait"), None)
    return {one.name: statistics.median(a / b for a, b in zip(ours, one.rates))
            for one in contenders if ours and one.name != "cait"}


# --- The machine --------------------------------------------------------------------------------

def ask_cait(cait: str, command: str, environment: dict[str, str]) -> dict | list:
    done = subprocess.run([cait, command, "--json"], capture_output=True, text=True,
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
    return ["fp32", "bf16"] if machine["isa"]["found"] in ("avx512_bf16", "amx") else ["fp32"]


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
    known = {model["name"] for model in ask_cait(options.cait, "models", dict(os.environ))}
    if unknown := [model for model in options.models if model not in known]:
        sys.exit(f"compare_inference: not in `cait models`: {', '.join(unknown)}")
    machine = ask_cait(options.cait, "machine", dict(os.environ))
    environment, note = peer_environment(options.cait, options.threads)
    versions: dict[str, str] = {}
    say(f"{machine['processor']}, {machine['isa']['used']}; load {os.getloadavg()[0]:.1f} at the "
        f"start{'; ' if note else ''}{note}")
    rows = []
    for model in options.models:
        for precision in precisions_of(machine):
            case = Case(model, max(BATCHES), precision, options.threads, options.cait,
                        options.peers, environment)
            rows += play_model(case, options, versions)
    say("\n" + report.table(rows))
    conditions = describe(machine, options, versions, note)
    say(f"\n{conditions}; load {os.getloadavg()[0]:.1f} at the end")
    if options.document:
        report.write(options.document, rows, conditions, MODELS)
        say(f"written to {options.document} and {report.chart_of(options.document)}")


if __name__ == "__main__":
    main()
