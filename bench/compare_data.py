"""`./dev bench data`: our loader beside torchvision and Pillow on the same images. The two take
turns, so that whatever else the machine does hits both, and the medians are compared with what
docs/data.md promises. Exit code 1 when a promise is not kept."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import PIL
import torch
import torchvision
from data_images import write_images

ROUNDS = 5
PEER_SECONDS = 2
HERE = Path(__file__).resolve().parent


def ours(program, folder):
    """Images per second, by benchmark name."""
    command = [program, "--benchmark_filter=^data_", "--benchmark_format=json"]
    output = subprocess.run(command, env={**os.environ, "CAIT_BENCH_IMAGES": folder}, check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return {result["name"].removesuffix("/real_time"): result["items_per_second"]
            for result in json.loads(output)["benchmarks"]}


def peer(folder):
    command = [sys.executable, str(HERE / "data_peer.py"), folder, str(PEER_SECONDS)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)["images_per_second"]


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} x {names[0] if names else 'unknown processor'}"


def busy_seconds():
    """Of all processors since they started, and of this program with what it has run."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    idle = fields[3] + fields[4]
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return ((sum(fields[:8]) - idle) / os.sysconf("SC_CLK_TCK"),
            sum(one.ru_utime + one.ru_stime for one in usage))


class Others:
    """The share of the machine that other programs take: two threads need two free processors."""

    def __init__(self):
        self.start, self.before = time.perf_counter(), busy_seconds()

    def share(self):
        seconds = (time.perf_counter() - self.start) * os.cpu_count()
        everything, own = (now - then for now, then in zip(busy_seconds(), self.before))
        return max(everything - own, 0) / seconds


def measure(program, folder):
    rounds = []
    for number in range(ROUNDS):
        found = ours(program, folder)
        found["peer"] = peer(folder)
        rounds.append(found)
        print(f"round {number + 1} of {ROUNDS}: " +
              ", ".join(f"{name} {value:.0f}" for name, value in found.items()), file=sys.stderr)
    return {name: statistics.median(found[name] for found in rounds) for name in rounds[0]}


def main():
    program = sys.argv[1]
    print(f"machine: {machine()}, load {os.getloadavg()[0]:.1f}")
    print(f"peer:    torchvision {torchvision.__version__}, Pillow {PIL.__version__}, "
          f"torch {torch.__version__}, Python {sys.version.split()[0]}, one thread")
    with tempfile.TemporaryDirectory(prefix="cait-bench-") as folder:
        print(f"images:  {write_images(folder)}", flush=True)
        others = Others()
        speed = measure(program, folder)
        share = others.share()
    print(f"\nimages per second, median of {ROUNDS} rounds in turn")
    names = {"peer": "peer, 500x375 to 224, 1 thread", "data_photos/1": "cait, the same, 1 thread",
             "data_photos/2": "cait, the same, 2 threads", "data_cifar/1": "cait, 32x32, 1 thread"}
    for name, text in names.items():
        print(f"  {text:32} {speed[name]:10,.0f}")
    one = speed["data_photos/1"]
    kept = True
    print(f"\n{'':34} {'measured':>10} {'required':>10}")
    for text, value, required in (
            ("cait to peer, 1 thread", one / speed["peer"], 2),
            ("2 threads to 1", speed["data_photos/2"] / one, 1.8),
            ("32x32 images/s, 1 thread", speed["data_cifar/1"], 40_000)):
        kept = kept and value >= required
        print(f"  {text:32} {value:10,.2f} {required:10,.2f}  "
              f"{'kept' if value >= required else 'MISSED'}")
    print(f"\nother programs took {share:.0%} of the processors meanwhile" +
          ("; measure on a quieter machine" if share > 0.1 else ""))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
