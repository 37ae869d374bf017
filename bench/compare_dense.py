"""Runs `./dev bench dense`: UperNet (width 512) on DeiT-S at 512x512 through cait's engine,
OpenVINO, ONNX Runtime and PyTorch, Mask R-CNN (ResNet-50) at 800x1088 through cait and torchvision,
and the loader beside torchvision's transforms of images with label images or boxes; in turns, so
that all see the same machine. Checks first that all networks compute the same; prints times, ratios
and the peak memory of each process.
Usage: compare_dense.py CAIT --peers PYTHON [--quick] [segment|detect|data]…; --help has more"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from compare_inference import ask_cait, peer_environment
from inference_contenders import Contender, Failed, PAUSE, ask, close, how_it_ended, read_npy, say

PEER = Path(__file__).with_name("dense_peer.py")
FILES = Path(__file__).parent.parent / "build/peer-models"
MODEL, SIZE = "deit_small_patch16_upernet_224", 512
# All settings take part: there are few, and the best of each program counts.
PEERS = {"OpenVINO": ["latency"], "ONNX Runtime": ["spinning", "not spinning"],
         "PyTorch": ["eager", "channels last"]}
READS = {"OpenVINO": "onnx", "ONNX Runtime": "onnx", "PyTorch": "weights"}
TOLERANCE = 1e-3  # of how far apart the numbers of the map lie
EVERY = 97  # of its numbers, which are 2.4 million
# torchvision's batch norms in a model that nobody has trained; those of its published file have 0.
DETECTOR = ["--model", "maskrcnn_resnet50_fpn", "--set", "model.norm_epsilon=1e-5"]


@dataclass
class Turn:
    ms: float
    peak_mib: float


@dataclass
class Comparison:
    options: argparse.Namespace
    environment: dict[str, str]
    folder: Path

    def run(self, words: list[str]) -> str:
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise Failed(how_it_ended(done.returncode, done.stderr))
        return done.stdout

    def cait(self, *words: str) -> str:
        return self.run([self.options.cait, *words])

    def prepare(self, what: str, *words: str) -> str:
        """Makes what a peer reads, unless it is there from an earlier run."""
        stamp = self.folder / f"{what}.done"
        if not stamp.exists():
            say(f"making {what} in {self.folder}")
            self.folder.mkdir(parents=True, exist_ok=True)
            stamp.write_text(self.run([self.options.peers, "-B", str(PEER), *words]))
        return stamp.read_text()

    def peer_words(self) -> list[str]:
        return [str(self.folder), MODEL, "--batch", "1", "--threads", str(self.options.threads),
                "--size", str(SIZE)]

    def start(self, name: str, setting: str) -> tuple[Contender, dict]:
        errors = self.folder / f"{name} {setting}.log"
        with errors.open("w") as log:
            process = subprocess.Popen(
                [self.options.peers, "-B", str(PEER), "serve", name, setting, *self.peer_words()],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env=self.environment)
        contender = Contender(name, setting, process, errors)
        return contender, ask(contender)

    def turn(self, contender: Contender, seconds: float) -> Turn:
        """The whole process's memory, libraries included, as cait's is counted."""
        time.sleep(PAUSE)
        answer = ask(contender, f"run {seconds}")
        status = Path(f"/proc/{contender.process.pid}/status").read_text()
        return Turn(1000 / answer["images_per_second"],
                    int(status.split("VmHWM:")[1].split()[0]) / 1024)


def show(turns: dict[str, list[Turn]]) -> None:
    """Medians, and cait's ratio to each in the same round."""
    for name, all_of_it in turns.items():
        times = [one.ms for one in all_of_it]
        line = (f"  {name:24} {statistics.median(times):8.0f} ms ({min(times):.0f}…"
                f"{max(times):.0f}), peak {max(one.peak_mib for one in all_of_it):5.0f} MiB")
        if name != "cait":
            faster = statistics.median(peer.ms / our.ms
                                       for peer, our in zip(all_of_it, turns["cait"]))
            less = max(one.peak_mib for one in turns["cait"]) / \
                max(one.peak_mib for one in all_of_it)
            line += f"; cait {faster:.2f} times as fast, {less:.2f} of the memory"
        say(line)


def play(comparison: Comparison, our_turn, peers: dict[str, Contender]) -> None:
    turns: dict[str, list[Turn]] = {name: [] for name in ["cait", *peers]}
    for number in range(comparison.options.rounds):
        turns["cait"].append(our_turn())
        for name, contender in peers.items():
            turns[name].append(comparison.turn(contender, comparison.options.seconds))
        say(f"  round {number + 1}: " +
            ", ".join(f"{name} {rounds[-1].ms:.0f} ms" for name, rounds in turns.items()))
    for contender in peers.values():
        close(contender)
    show(turns)


# --- UperNet ------------------------------------------------------------------------------------

def check_map(comparison: Comparison, path: Path) -> float:
    """The largest difference to PyTorch's map, as a share of how far its numbers lie apart."""
    expected, found = read_npy(comparison.folder / "logits.npy"), read_npy(path)
    if len(found) != len(expected):
        raise Failed(f"gave {len(found)} numbers instead of {len(expected)}")
    some = list(zip(found[::EVERY], expected[::EVERY]))
    values = [value for _, value in some]
    share = max(abs(a - b) for a, b in some) / (max(values) - min(values))
    if not share <= TOLERANCE:
        raise Failed(f"the map differs by {share:.2g} of its spread")
    return share


def compare_segmenters(comparison: Comparison, versions: dict[str, str]) -> None:
    options = comparison.options
    say(f"\nUperNet of width 512 on DeiT-S, one image of {SIZE}x{SIZE}, fp32")
    comparison.prepare("weights", "prepare", "weights", *comparison.peer_words())
    model = ["--model", MODEL, "--set", f"model.image_size={SIZE}", "--weights",
             str(comparison.folder / "weights.safetensors")]
    output = comparison.folder / "cait.npy"
    comparison.cait("forward", *model, "--input", str(comparison.folder / "images.npy"),
                    "--output", str(output), "--tap", "segmentation")
    say(f"  cait: within {check_map(comparison, output):.1g} of PyTorch's map")
    peers = {}
    for name, settings in PEERS.items():
        for setting in settings:
            try:
                if READS[name] == "onnx":
                    comparison.prepare("onnx", "prepare", "onnx", *comparison.peer_words())
                contender, ready = comparison.start(name, setting)
                share = check_map(comparison, Path(ready["logits"]))
            except Failed as failure:
                say(f"  {name}, {setting}: {failure}")
                continue
            versions[name] = ready["version"]
            say(f"  {name}, {setting}: within {share:.1g}")
            peers[f"{name}, {setting}"] = contender

    def ours() -> Turn:
        time.sleep(PAUSE)
        answer = json.loads(comparison.cait(
            "bench", MODEL, *model, "--batch", "1", "--threads", str(options.threads), "--seconds",
            str(options.seconds), "--json"))[0]
        return Turn(1000 / answer["images_per_second"], answer["peak_mib"])

    play(comparison, ours, peers)


# --- Mask R-CNN ---------------------------------------------------------------------------------

def overlap(a: list[float], b: list[float]) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0
    area = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return width * height / (area - width * height)


def check_objects(found: list[dict], expected: list[dict]) -> tuple[int, float, float]:
    """How many of torchvision's are found, and the largest differences of scores and of boxes among
    these. A score near the threshold, or two near each other, may fall to either side."""
    left, matched, scores, boxes = list(found), 0, 0.0, 0.0
    for wanted in expected:
        same = [one for one in left if one["index"] == wanted["label"] and
                overlap(one["box"], wanted["box"]) > 0.9]
        if not same:
            continue
        best = min(same, key=lambda one: abs(one["score"] - wanted["score"]))
        left.remove(best)
        matched += 1
        scores = max(scores, abs(best["score"] - wanted["score"]))
        boxes = max(boxes, *(abs(a - b) for a, b in zip(best["box"], wanted["box"])))
    return matched, scores, boxes


def predict_words(comparison: Comparison, weights: str, *photos: str) -> list[str]:
    return [comparison.options.cait, "predict", *DETECTOR, "--weights",
            str(comparison.folder / weights), "--threshold", "0.05", "--json", *photos]


def check_detector(comparison: Comparison, weights: str) -> None:
    photos = sorted(str(path) for path in (comparison.folder / "photos").glob("*.png"))
    answers = json.loads(comparison.run(predict_words(comparison, weights, *photos)))
    expected = json.loads((comparison.folder / "found.json").read_text())
    wanted, matched, scores, boxes = 0, 0, 0.0, 0.0
    for answer, objects in zip(answers, expected):
        count, score, box = check_objects(answer["objects"], objects)
        wanted, matched = wanted + len(objects), matched + count
        scores, boxes = max(scores, score), max(boxes, box)
    extra = sum(len(answer["objects"]) for answer in answers) - matched
    say(f"  {weights}: {matched} of torchvision's {wanted} objects in {len(expected)} images, "
        f"{extra} others; scores within {scores:.1g}, boxes within {boxes:.2g} pixels")
    if matched < 0.97 * wanted or extra > 0.03 * wanted + 1 or scores > 0.01 or boxes > 1:
        raise Failed("torchvision finds other objects")


def timed(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds and the process's peak in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(how_it_ended(process.returncode, ""))
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def compare_detectors(comparison: Comparison, versions: dict[str, str]) -> None:
    say("\nMask R-CNN (ResNet-50), images of 800x1088, fp32, from file to boxes and masks")
    say(f"  {comparison.prepare('detector', 'detector', str(comparison.folder)).strip()}")
    for weights in ("detector.pth", "detector-old-names.pth"):
        check_detector(comparison, weights)
    contender, ready = comparison.start("torchvision", "eager")
    versions["torchvision"] = ready["version"]
    photos = sorted(str(path) for path in (comparison.folder / "photos").glob("*.png"))
    # What remains of the difference of two runs is the images alone.
    few, many = photos, photos * (1 + comparison.options.images // len(photos))

    def ours() -> Turn:
        time.sleep(PAUSE)
        short, _ = timed(predict_words(comparison, "detector.pth", *few), comparison.environment)
        long, peak = timed(predict_words(comparison, "detector.pth", *many),
                           comparison.environment)
        return Turn(1000 * (long - short) / (len(many) - len(few)), peak)

    play(comparison, ours, {"torchvision": contender})


# --- The loader ---------------------------------------------------------------------------------

def our_loader(comparison: Comparison) -> dict[str, float]:
    """Images per second by benchmark name."""
    program = Path(comparison.options.cait).with_name("cait-bench")
    done = subprocess.run(
        [str(program), "--benchmark_filter=^joint_", "--benchmark_format=json",
         f"--benchmark_min_time={comparison.options.seconds / 5}"],
        capture_output=True, text=True,
        env={**comparison.environment, "CAIT_BENCH_DENSE": str(comparison.folder)})
    if done.returncode != 0:
        raise Failed(how_it_ended(done.returncode, done.stderr))
    return {result["name"].removesuffix("/real_time"): result["items_per_second"]
            for result in json.loads(done.stdout)["benchmarks"]}


def compare_loaders(comparison: Comparison, versions: dict[str, str]) -> None:
    say("\nThe loader, images of 640x480 from file to normalised numbers, images per second")
    comparison.prepare("data", "data", str(comparison.folder))
    for task in ("segments", "boxes"):
        contender, ready = comparison.start("transforms", task)
        versions["torchvision's transforms"] = ready["version"]
        rounds: list[tuple[float, float, float]] = []
        for _ in range(comparison.options.rounds):
            ours = our_loader(comparison)
            theirs = 1000 / comparison.turn(contender, comparison.options.seconds / 2).ms
            rounds.append((ours[f"joint_{task}/1"], ours[f"joint_{task}/2"], theirs))
            say(f"  {task}: cait {rounds[-1][0]:.0f}, with 2 threads {rounds[-1][1]:.0f}, "
                f"torchvision {theirs:.0f}")
        close(contender)
        one, two, theirs = (statistics.median(column) for column in zip(*rounds))
        ratio = statistics.median(ours / peer for ours, _, peer in rounds)
        say(f"  {task}: medians {one:.0f}, {two:.0f}, {theirs:.0f}; one thread to one: {ratio:.2f}")


TASKS = {"segment": compare_segmenters, "detect": compare_detectors, "data": compare_loaders}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("cait", help="the program")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="segment, detect or data; all")
    parser.add_argument("--peers", required=True, help="a Python with the peers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="of each turn")
    parser.add_argument("--images", type=int, default=8,
                        help="that a turn of cait's detector counts")
    parser.add_argument("--quick", action="store_true", help="one short round")
    options = parser.parse_intermixed_args()
    options.tasks = options.tasks or list(TASKS)
    if unknown := [task for task in options.tasks if task not in TASKS]:
        parser.error(f"expected segment, detect or data, found {unknown[0]}")
    if options.quick:
        options.rounds, options.seconds, options.images = 1, 2, 4
    return options


def main() -> None:
    options = parse()
    # The same processors for all, whatever a program takes for its number of threads.
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[:options.threads])
    machine = ask_cait(options.cait, "machine", dict(os.environ))
    environment, note = peer_environment(options.cait, options.threads)
    versions: dict[str, str] = {}
    say(f"{machine['processor']}, {machine['isa']['used']}, {options.threads} threads; load "
        f"{os.getloadavg()[0]:.1f} at the start{'; ' if note else ''}{note}")
    failed = False
    for task, compare in TASKS.items():
        if task not in options.tasks:
            continue
        try:
            compare(Comparison(options, environment, FILES / f"dense-{task}"), versions)
        except Failed as failure:
            say(f"  {failure}")
            failed = True
    parts = ", ".join(f"{name} {version}" for name, version in versions.items())
    say(f"\ncait {machine['parts']['cait']}, {parts}; {options.rounds} rounds, "
        f"{time.strftime('%Y-%m-%d')}; load {os.getloadavg()[0]:.1f} at the end")
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
