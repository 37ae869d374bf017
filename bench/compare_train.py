"""Runs `./dev bench train`: training steps of the same CaiT (dim 192, depth 12+2, 32 px, patch 4,
batch 128: forward, backward, AdamW) by us, by Debian's PyTorch and by the newest one, in turns so
that all see the same machine. Prints medians, ratios and what was asked for, then where our time
goes. Usage: compare_train.py BENCH [--peer PYTHON] [--precision P] [--rounds N] [--turns N]"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

PEER = Path(__file__).with_name("train_peer.py")
PROGRAM = Path(__file__).parent.parent / "build/cait"
GFLOP_PER_IMAGE = 2.2  # of a training step, products alone


def run(command, environment=None):
    return subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})


def lines(command, environment=None):
    done = run(command, environment)
    if done.returncode != 0:
        sys.exit(f"compare_train: {' '.join(command)} exited with {done.returncode}:\n"
                 f"{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Series:
    """Rounds of one program with one setting."""

    def __init__(self, name, precision, command, environment=None):
        self.name, self.precision = name, precision
        self.command, self.environment = command, environment
        self.speeds, self.peak = [], 0.0

    def turn(self):
        for line in lines(self.command, self.environment):
            if "images_per_second" in line:
                self.speeds.append(line["images_per_second"])
                self.peak = max(self.peak, line["peak_mib"])

    @property
    def median(self):
        return statistics.median(self.speeds)

    def row(self):
        return (f"| {self.precision} | {self.name} | {self.median:.1f} | "
                f"{min(self.speeds):.1f}…{max(self.speeds):.1f} | {self.peak:.0f} |")


def peer_environment(python, machine):
    """What a PyTorch needs to run, and to run well, on this processor."""
    found = machine["isa"]["found"]
    environment = {}
    if python == sys.executable and found not in ("portable", "avx2"):
        environment["OPENBLAS_CORETYPE"] = "SkylakeX"  # OpenBLAS 0.3.21 knows no newer processors
    # oneDNN loads a palette that CPUID does not name and dies: see docs/machine.md.
    if found == "amx" and run([python, "-B", str(PEER), "--precision", "bf16", "--rounds", "1",
                                    "--batch", "2"], environment).returncode != 0:
        environment["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
        print(f"{python}: oneDNN capped at AVX512_CORE_BF16, with AMX it dies here")
    return environment


def peers_of(python, name, precision, rounds, machine):
    command = [python, "-B", str(PEER), "--precision", precision, "--rounds", rounds, "--threads"]
    environment = peer_environment(python, machine)
    return [Series(f"{name}, threads: {count}", precision, [*command, count], environment)
            for count in sorted({"1", str(os.cpu_count())})]


def version(python):
    done = run([python, "-c", "import torch; print(torch.__version__)"])
    return done.stdout.strip() if done.returncode == 0 else None


def measure_peaks():
    """What `cait machine` says of this machine."""
    done = run([str(PROGRAM), "machine", "--json", "--measure"])
    if done.returncode != 0:
        sys.exit(f"compare_train: {PROGRAM} machine: {done.stderr}")
    return json.loads(done.stdout)


def verdict(text, value, required):
    return f"{text}: {value:.2f} (wanted {required}): {'met' if value >= required else 'NOT met'}"


def float32_peak(machine):
    return next(peak["gflop_per_second"] for peak in machine["measured"]["arithmetic"]
                if peak["format"] == "float32")


def verdicts(ours, peers, newest, machine):
    def best(series):
        return max(series, key=lambda one: one.median)
    new = [peer for peer in peers if peer.name.startswith(newest)] if newest else []
    result = []
    fp32, bf16 = ours.get("fp32"), ours.get("bf16")
    if new and fp32:
        new_fp32 = best([peer for peer in new if peer.precision == "fp32"])
        result.append(verdict(f"fp32 to {newest}'s fp32", fp32.median / new_fp32.median, 1.5))
    if fp32:
        roof = float32_peak(machine) / GFLOP_PER_IMAGE
        result.append(verdict(f"fp32 to the float32 peak ({roof:.0f} images/s)",
                              fp32.median / roof, 0.72))
    used = machine["isa"]["used"] if fp32 and bf16 else ""
    if used == "amx":
        result.append(verdict("bf16 with AMX to our fp32", bf16.median / fp32.median, 3))
        if new:
            result.append(verdict(f"bf16 with AMX to {newest}'s best",
                                  bf16.median / best(new).median, 4))
    elif used == "avx512_bf16":
        result.append(verdict("bf16 with AVX512_BF16 to our fp32", bf16.median / fp32.median, 1))
    for precision, own in ours.items():
        others = [peer for peer in (new or peers) if peer.precision == precision]
        if not others:
            continue
        ratio = own.peak / min(peer.peak for peer in others)
        result.append(f"{precision} peak memory to PyTorch's: {ratio:.2f} (wanted at most 0.5): "
                      f"{'met' if ratio <= 0.5 else 'NOT met'}")
    return result


def print_profile(bench, precision):
    profile = lines([bench, "--precision", precision, "--profile", "--threads",
                     str(os.cpu_count())])[-1]
    seconds = profile.pop("seconds")
    parts = sorted(profile.items(), key=lambda part: -part[1])
    print(f"{precision}: " + ", ".join(f"{name} {share:.1%}" for name, share in parts) +
          f" of the threads' time; forward {seconds['forward']:.2f} s, "
          f"backward {seconds['backward']:.2f} s, optimizer {seconds['optimizer']:.2f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--peer", help="a Python with the newest PyTorch")
    parser.add_argument("--precision", choices=["fp32", "bf16"], help="only this one")
    parser.add_argument("--rounds", default="3", help="steps of each turn")
    parser.add_argument("--turns", type=int, default=3, help="how often each program runs")
    options = parser.parse_args()
    machine = measure_peaks()
    newest = version(options.peer) if options.peer else None
    print(f"{machine['processor']}, {machine['isa']['used']}, {machine['threads']} threads; load "
          f"{os.getloadavg()[0]:.1f} at the start")
    pythons = {f"Debian's PyTorch {version(sys.executable)}": sys.executable}
    if newest:
        pythons[f"PyTorch {newest}"] = options.peer
    else:
        print("no newest PyTorch here: comparing with Debian's alone")
    ours, peers = {}, []
    for precision in [options.precision] if options.precision else ["fp32", "bf16"]:
        ours[precision] = Series("cait", precision,
                                 [options.bench, "--precision", precision, "--rounds",
                                  options.rounds, "--threads", str(os.cpu_count())])
        # A PyTorch without instructions for bfloat16 takes minutes for a step.
        if precision == "bf16" and machine["isa"]["found"] not in ("avx512_bf16", "amx"):
            print("bf16: without PyTorch, which this processor gives no instructions for it")
            continue
        for name, python in pythons.items():
            peers += peers_of(python, name, precision, options.rounds, machine)
    for _ in range(options.turns):
        for series in (*ours.values(), *peers):
            series.turn()
        machine = max(machine, measure_peaks(), key=float32_peak)
    print("\n| precision | program | images/s (median) | range | peak MiB |\n|---|---|---|---|---|")
    print("\n".join(series.row() for series in (*ours.values(), *peers)) + "\n")
    print("\n".join(verdicts(ours, peers, f"PyTorch {newest}" if newest else None, machine)) + "\n")
    for precision in ours:
        print_profile(options.bench, precision)


if __name__ == "__main__":
    main()
