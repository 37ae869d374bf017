"""Runs `./dev bench memory`: short training runs of five models, each with two batch sizes and two
precisions, and holds the memory that `cait train` predicts against what the process took at its
peak. Usage: memory_forecast.py PROGRAM"""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

MODELS = {  # preset: settings
    "cait_xxs24_224": ["image_size=96", "patch=8"],
    "deit_small_patch16_224": ["image_size=128"],
    "resmlp_12_224": ["image_size=128"],
    "volo_d1_224": ["image_size=128"],
    "resnet50": ["image_size=128"],
}
BATCHES = [8, 32]
WANTED = 0.25


def png(path, side=64):
    """A picture of noise."""
    rows = b"".join(b"\0" + random.randbytes(3 * side) for _ in range(side))

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" +
                     chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def make_images(folder):
    for part, count in (("train", 32), ("val", 16)):
        for label in ("left", "right"):
            place = folder / "images" / part / label
            place.mkdir(parents=True)
            for i in range(count):
                png(place / f"{i}.png")


def bytes_of(header):
    found = re.search(r"about ([\d.]+) ([kMG])?B of memory", header)
    if not found:
        sys.exit(f"memory_forecast: no prediction in:\n{header}")
    return float(found[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[found[2]]


def measure(program, folder, model, settings, batch, precision):
    command = [program, "train", "finetune", "--data", f"folder:{folder}/images", "--model", model,
               "--epochs", "1", "--batch", str(batch), "--precision", precision, "--out",
               str(folder / f"run-{model}-{batch}-{precision}")]
    for setting in settings:
        command += ["--set", f"model.{setting}"]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        err.seek(0)
        if status != 0:
            sys.exit(f"memory_forecast: {' '.join(command)} failed:\n{err.read()}")
        return bytes_of(out.read()), usage.ru_maxrss * 1024


def main():
    program = sys.argv[1]
    worst = 0.0
    print("| model | batch | precision | predicted MB | measured MB | off by |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_images(folder)
        for model, settings in MODELS.items():
            for batch in BATCHES:
                for precision in ("fp32", "bf16"):
                    predicted, taken = measure(program, folder, model, settings, batch, precision)
                    off = predicted / taken - 1
                    worst = max(worst, abs(off))
                    print(f"| {model} | {batch} | {precision} | {predicted / 1e6:.0f} | "
                          f"{taken / 1e6:.0f} | {off:+.0%} |", flush=True)
    print(f"\nworst: {worst:.0%} (wanted at most {WANTED:.0%}): "
          f"{'met' if worst <= WANTED else 'NOT met'}")


if __name__ == "__main__":
    main()
