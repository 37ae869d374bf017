"""Runs `./dev bench train`: training steps of the same CaiT (dim 192, depth 12+2, 32 px, patch 4,
batch 128: forward, backward, AdamW) by us and by Debian's PyTorch, in turns so that both see the
same machine. Prints medians, ratios and what was asked for, then where our time goes. Usage:
compare_train.py BENCH [--rounds N] [--turns N]"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

PEER = Path(__file__).with_name("train_peer.py")
REQUIRED = {"fp32": 3.0, "bf16": 4.0}


def lines(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        sys.exit(f"compare_train: {' '.join(command)} exited with {done.returncode}:\n"
                 f"{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


class Series:
    """Rounds of one program with one setting."""

    def __init__(self, name, command, environment=None):
        self.name, self.command, self.environment = name, command, environment
        self.speeds, self.peak, self.last = [], 0.0, {}

    def turn(self):
        for line in lines(self.command, self.environment):
            if "images_per_second" in line:
                self.speeds.append(line["images_per_second"])
                self.peak = max(self.peak, line["peak_mib"])
                self.last = line

    @property
    def median(self):
        return statistics.median(self.speeds)


def measure(bench, precision, options):
    """Ours and the peer's with one and with two or more threads, in turns."""
    threads = str(os.cpu_count())
    rounds = ["--precision", precision, "--rounds", str(options.rounds)]
    # OpenBLAS 0.3.21 does not know every processor: without this it may fall back to SSE kernels.
    peer = [sys.executable, "-B", str(PEER), *rounds, "--threads"]
    coretype = {"OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "SkylakeX")}
    ours = Series("cait", [bench, *rounds, "--threads", threads])
    peers = [Series(f"PyTorch, threads: {count}", [*peer, count], coretype)
             for count in sorted({"1", threads})]
    for _ in range(options.turns):
        for series in (ours, *peers):
            series.turn()
    return ours, peers


def report(precision, ours, peers):
    best = max(peers, key=lambda peer: peer.median)
    for series in (ours, *peers):
        print(f"| {precision} | {series.name} | {series.median:.1f} | "
              f"{min(series.speeds):.1f}…{max(series.speeds):.1f} | {series.peak:.0f} |")
    ratio = ours.median / best.median
    met = ratio >= REQUIRED[precision] and ours.peak <= best.peak
    return (f"{precision}: {ratio:.2f} times PyTorch's best (required {REQUIRED[precision]:.0f}), "
            f"peak memory {ours.peak / best.peak:.2f} of its (required at most 1): "
            f"{'met' if met else 'NOT met'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=3, help="steps of each turn")
    parser.add_argument("--turns", type=int, default=3, help="how often each program runs")
    options = parser.parse_args()
    import torch  # after the usage is checked: it takes seconds
    print(f"{processor()}, {os.cpu_count()} processors; PyTorch {torch.__version__}; "
          f"load {os.getloadavg()[0]:.1f} at the start")
    print(f"ours: {options.bench} --precision P --threads {os.cpu_count()}; "
          f"PyTorch: {PEER.name} --precision P --threads N with OPENBLAS_CORETYPE=SkylakeX\n")
    print("| precision | program | images/s (median) | range | peak MiB |")
    print("|---|---|---|---|---|")
    verdicts = [report(precision, *measure(options.bench, precision, options))
                for precision in REQUIRED]
    print("\n" + "\n".join(verdicts) + "\n")
    for precision in REQUIRED:
        profile = lines([options.bench, "--precision", precision, "--profile", "--threads",
                         str(os.cpu_count())])[-1]
        seconds = profile.pop("seconds")
        parts = sorted(profile.items(), key=lambda part: -part[1])
        print(f"{precision}: " + ", ".join(f"{name} {share:.1%}" for name, share in parts) +
              f" of the threads' time; forward {seconds['forward']:.2f} s, "
              f"backward {seconds['backward']:.2f} s, optimizer {seconds['optimizer']:.2f} s")


if __name__ == "__main__":
    main()
