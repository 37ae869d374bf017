"""Who takes part in `./dev bench compare`: the files that a peer reads, its process, the check that
its logits are right, and a turn of it or of cait."""
import itertools
import json
import math
import select
import signal
import statistics
import subprocess
import time
from array import array
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PEER = Path(__file__).with_name("inference_peer.py")
FILES = Path(__file__).parent.parent / "build/peer-models"
BATCHES = (8, 1)  # the first is the number of images in the input of all
HINTS, THREADS = ("latency", "throughput"), ("spinning", "not spinning")
# What a peer is tried with before its best setting joins the rounds, and what that reads. A peer
# that is not named takes no part in that precision. int8: by which tool and rule the model was
# quantised; for OpenVINO also in what format the rest of it is computed.
SETTINGS = {
    "fp32": {
        "OpenVINO": dict.fromkeys(HINTS, "onnx"),
        "ONNX Runtime": dict.fromkeys(THREADS, "onnx"),
        "PyTorch": {"eager": "weights", "channels last": "weights", "compiled": "compiled"},
    },
    "bf16": {"OpenVINO": dict.fromkeys(HINTS, "onnx")},
    "int8": {
        "OpenVINO": {f"{hint}, {preset}, {floats}": f"nncf-{preset}" for hint, preset, floats in
                     itertools.product(HINTS, ("plain", "transformer"), ("fp32", "bf16"))},
        "ONNX Runtime": {f"{kind}, {threads}": kind for kind, threads in
                         itertools.product(("static", "static-weights", "dynamic"), THREADS)},
    },
}
MADE_FROM_ONNX = ("nncf-plain", "nncf-transformer", "static", "static-weights", "dynamic")
TOLERANCE = {"fp32": 1e-3, "bf16": 0.25}  # of how far the images' logits lie apart
# Whole numbers of a byte move logits further, and random weights make more of it from layer to
# layer than trained ones: all engines come to 0.7 to 0.8 for ResNet-50. Broken ones have none.
LEAST_COSINE = 0.5
PATIENCE = 300  # seconds for a peer to load or to answer on a busy machine
PAUSE = 0.3  # seconds, so that threads that still spin after their turn fall asleep


@dataclass
class Case:
    model: str
    batch: int
    precision: str
    threads: int
    cait: str
    python: str
    environment: dict[str, str]
    size: int = 0  # of the image; 0: the model's own

    @property
    def folder(self) -> Path:
        return FILES / (f"{self.model}-{self.size}" if self.size else self.model)

    @property
    def peer_arguments(self) -> list[str]:
        return [str(self.folder), self.model, "--batch", str(self.batch), "--threads",
                str(self.threads), "--size", str(self.size)]

    def __str__(self) -> str:
        return f"{self.model}, batch {self.batch}, {self.precision}"


@dataclass
class Contender:
    name: str
    setting: str = ""
    process: subprocess.Popen | None = None  # none: cait, which starts anew for each turn
    errors: Path | None = None  # the process's stderr
    likeness: str = ""  # of its logits to the right ones, in words
    rates: list[float] = field(default_factory=list)  # images/s by round
    p50: list[float] = field(default_factory=list)  # ms by round


class Failed(Exception):
    """A contender cannot take part; the text goes into the table."""


def say(text: str) -> None:
    print(text, flush=True)


def how_it_ended(code: int, errors: str) -> str:
    """In the words that go into the table; the last line of stderr is usually the exception."""
    if code < 0:
        return f"died with {signal.Signals(-code).name}"
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return "failed: " + (lines[-1] if lines else f"exit code {code}")[:100]


# --- The same weights, the same logits ----------------------------------------------------------

def prepare(case: Case, what: str) -> dict:
    """Makes what a peer reads, unless it is there from an earlier run."""
    stamp = case.folder / (f"{what}.done" if what == "weights" else
                           f"{what}-{case.batch}-{case.threads}.done")
    if stamp.exists():
        return json.loads(stamp.read_text())
    if what in MADE_FROM_ONNX:
        prepare(case, "onnx")
    say(f"{case.model}: making {what}" + ("" if what == "weights" else f" for batch {case.batch}"))
    case.folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [case.python, "-B", str(PEER), "prepare", what, *case.peer_arguments],
        capture_output=True, text=True, env=case.environment)
    if done.returncode != 0:
        raise Failed(f"{what}: {how_it_ended(done.returncode, done.stderr)}")
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    stamp.write_text(answers[-1] if answers else "{}")
    return json.loads(stamp.read_text())


def read_npy(path: Path) -> array:
    """The float32 values of a version 1 file: Debian's Python has no NumPy of its own."""
    data = path.read_bytes()
    start = 10 + int.from_bytes(data[8:10], "little")
    if data[:6] != b"\x93NUMPY" or b"'<f4'" not in data[10:start]:
        raise Failed(f"{path.name}: not a float32 .npy file")
    return array("f", data[start:])


def centred(logits: array, means: list[float]) -> list[float]:
    return [value - mean for value, mean in zip(logits, itertools.cycle(means))]


def cosine(expected: array, found: array, classes: int) -> float:
    """Between the logits, without what all images have in common; 0 where one has no length."""
    means = [statistics.fmean(expected[c::classes]) for c in range(classes)]
    a, b = centred(expected[:len(found)], means), centred(found, means)
    length = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b)) / length if length else 0.0


def agreeing(expected: array, found: array, classes: int) -> int:
    """Images for which both have the same best class."""
    def best(logits: array, image: int) -> int:
        return max(range(classes), key=lambda c: logits[image * classes + c])
    return sum(best(expected, i) == best(found, i) for i in range(len(found) // classes))


def check_logits(case: Case, path: Path) -> str:
    """In words, how near they are to PyTorch's plain logits in float32."""
    expected, found = read_npy(case.folder / "logits.npy"), read_npy(path)
    classes = len(expected) // max(BATCHES)
    if not found or len(found) % classes or len(found) > len(expected):
        raise Failed(f"gave {len(found)} logits instead of {classes} for each image")
    if case.precision in TOLERANCE:
        spread = max(max(expected[c::classes]) - min(expected[c::classes]) for c in range(classes))
        share = max(abs(a - b) for a, b in zip(found, expected)) / spread
        if not share <= TOLERANCE[case.precision]:
            raise Failed(f"logits differ by {share:.2g} of their spread")
        return f"within {share:.1g} of their spread"
    likeness = cosine(expected, found, classes)
    if not likeness >= LEAST_COSINE:
        raise Failed(f"logits have a cosine of {likeness:.2g} with the right ones")
    return (f"cosine {likeness:.3f}, top-1 as in float "
            f"{agreeing(expected, found, classes)}/{len(found) // classes}")


# --- Contenders ---------------------------------------------------------------------------------

def ask(contender: Contender, line: str = "") -> dict:
    """The next answer, after sending a line if there is one."""
    process = contender.process
    with suppress(BrokenPipeError):
        if line:
            process.stdin.write(line + "\n")
            process.stdin.flush()
    answered, _, _ = select.select([process.stdout], [], [], PATIENCE)
    answer = process.stdout.readline() if answered else ""
    if answer:
        return json.loads(answer)
    code = close(contender)
    if not answered:
        raise Failed(f"no answer in {PATIENCE} s")
    raise Failed(how_it_ended(code, contender.errors.read_text(errors="replace")))


def close(contender: Contender) -> int:
    """Ends the process, if there is one; its exit code."""
    process = contender.process
    if not process:
        return 0
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
    process.stdout.close()
    return process.wait()


def start_peer(case: Case, name: str, setting: str) -> tuple[Contender, str]:
    """A peer that has loaded the model and computes the right logits, and its version."""
    prepare(case, SETTINGS[case.precision][name][setting])
    errors = case.folder / f"{name} {setting}.log"
    with errors.open("w") as log:
        process = subprocess.Popen(
            [case.python, "-B", str(PEER), "serve", name, setting, *case.peer_arguments,
             "--precision", case.precision],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            env=case.environment)
    contender = Contender(name, setting, process, errors)
    ready = ask(contender)
    try:
        contender.likeness = check_logits(case, Path(ready["logits"]))
    except Failed:
        close(contender)
        raise
    return contender, ready["version"]


def cait_arguments(case: Case) -> list[str]:
    weights = case.folder / "weights.safetensors"
    return ["--precision", case.precision] + (["--weights", str(weights)] if weights.exists()
                                              else [])


def run_cait(case: Case, arguments: list[str]) -> str:
    done = subprocess.run([case.cait, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(how_it_ended(done.returncode, done.stderr))
    return done.stdout


def check_cait(case: Case) -> str:
    output = case.folder / f"cait {case.precision}.npy"
    size = ["--set", f"model.image_size={case.size}"] if case.size else []
    run_cait(case, ["forward", "--model", case.model, *size, *cait_arguments(case), "--input",
                    str(case.folder / "images.npy"), "--output", str(output)])
    return check_logits(case, output)


def turn_of_cait(case: Case, seconds: float) -> dict:
    text = run_cait(case, ["bench", case.model, *cait_arguments(case), "--batch", str(case.batch),
                           "--threads", str(case.threads), "--seconds", str(seconds), "--json",
                           *(["--size", str(case.size)] if case.size else [])])
    try:
        result = next(one for one in json.loads(text) if one["batch"] == case.batch)
        return {name: float(result[name]) for name in ("images_per_second", "p50_ms", "peak_mib")}
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise Failed(f"failed: no result for batch {case.batch} in its JSON") from error


def take_turn(case: Case, contender: Contender, seconds: float) -> dict:
    time.sleep(PAUSE)
    if contender.process:
        return ask(contender, f"run {seconds}")
    return turn_of_cait(case, seconds)
