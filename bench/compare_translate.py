"""Runs `./dev bench translate`: the same Transformer and sentences through our translator and through CTranslate2, in
turns so that both see the same machine. Compares the translations first, prints sentences per second and ratios, and
writes them into docs/translate.md.
Usage: compare_translate.py BENCH --peers PYTHON --weights FILE --lines FILE; --help has the rest"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from inference_contenders import PAUSE
from inference_report import replace_between, table_lines

ROOT = Path(__file__).parent.parent
PEER = Path(__file__).with_name("translate_peer.py")
BEGIN = "<!-- ./dev bench translate writes from here -->"
BATCHES = (1, 32)
HEADER = ["sentences at a time", "cait fp32", "cait bf16", "CTranslate2 float32", "fp32 to CTranslate2", "bf16 to CTranslate2"]


class Contender:
    """A process that translates everything for each line that it is sent."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str]):
        self.name, self.rates = name, []
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=environment)
        first = self.read()
        self.version, self.translations = first["version"], first["translations"]

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            sys.exit(f"compare_translate: {self.name}: {self.errors.read()[-2000:]}")
        return json.loads(line)

    def turn(self) -> float:
        time.sleep(PAUSE)  # threads that still spin after their turn fall asleep
        self.process.stdin.write("turn\n")
        self.process.stdin.flush()
        self.rates.append(self.read()["sentences_per_second"])
        return self.rates[-1]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_translate: {' '.join(command)}: {done.stderr[-2000:]}")


def same_share(ours: list[list[int]], theirs: list[list[int]]) -> float:
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)


def play(options: argparse.Namespace, folder: Path, batch: int, precisions: list[str]) -> tuple[list[str], str, float]:
    """A row of the table, CTranslate2's version, and the share of equal translations."""
    shared = ["--batch", str(batch), "--threads", str(options.threads), "--beam", str(options.beam),
              "--length-penalty", str(options.length_penalty)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    ours = {precision: Contender(f"cait {precision}", [options.bench, options.weights, options.lines, *shared, "--precision",
                                 precision, "--lines-at-most", str(options.sentences)], environment) for precision in precisions}
    theirs = Contender("CTranslate2", [options.peers, "-B", str(PEER), "serve", str(folder), *shared], environment)
    same = same_share(ours["fp32"].translations, theirs.translations)
    print(f"\nbatch {batch}: {same:.1%} of {len(theirs.translations)} translations are equal piece by piece", flush=True)
    if same < options.agree:
        sys.exit(f"compare_translate: expected at least {options.agree:.0%}: these are not the same models")
    contenders = [*ours.values(), theirs]
    for _ in range(options.rounds):
        print("  " + ", ".join(f"{one.name} {one.turn():.2f}" for one in contenders), flush=True)
    for one in contenders:
        one.close()

    def median(one: Contender | None) -> str:
        return f"{statistics.median(one.rates):.1f}" if one else "–"

    def ratio(one: Contender | None) -> str:
        return f"{statistics.median(a / b for a, b in zip(one.rates, theirs.rates)):.2f}" if one else "–"

    fp32, bf16 = ours["fp32"], ours.get("bf16")
    return [str(batch), median(fp32), median(bf16), median(theirs), ratio(fp32), ratio(bf16)], theirs.version, same


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("bench", help="cait-translate-bench; the program cait lies beside it")
    parser.add_argument("--peers", required=True, help="a Python with ctranslate2, safetensors and numpy")
    parser.add_argument("--weights", required=True, help="a trained translator with mixer=attention and norm=layernorm")
    parser.add_argument("--lines", required=True, help="sentences of its source language")
    parser.add_argument("--sentences", type=int, default=200, help="how many of them")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, default=1)
    parser.add_argument("--agree", type=float, default=0.9, help="share of translations that must be equal")
    parser.add_argument("--document", type=Path, default=ROOT / "docs/translate.md", help="where the table goes")
    parser.add_argument("--dry", action="store_true", help="write it nowhere")
    return parser.parse_args()


def main() -> None:
    options = parse()
    machine = json.loads(subprocess.run([str(Path(options.bench).with_name("cait")), "machine", "--json"], check=True,
                                        capture_output=True, text=True).stdout)
    precisions = ["fp32", "bf16"] if machine["isa"]["found"] in ("avx512_bf16", "amx") else ["fp32"]
    print(f"{machine['processor']}, {machine['isa']['used']}; load {os.getloadavg()[0]:.1f} at the start")
    rows, version, shares = [HEADER], "", []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([options.bench, options.weights, options.lines, "--prepare", name, "--lines-at-most", str(options.sentences)])
        settings = json.loads((folder / "prepared.json").read_text())["settings"]
        run([options.peers, "-B", str(PEER), "convert", name])
        for batch in BATCHES:
            row, version, same = play(options, folder, batch, precisions)
            rows.append(row)
            shares.append(same)
    model = (f"Transformer of {settings['encoder_depth']} + {settings['decoder_depth']} layers, width {settings['dim']}, MLP "
             f"{settings['hidden']}, {settings['vocabulary']} pieces, beam {options.beam}")
    conditions = (f"Sentences/s, medians of {options.rounds} rounds in turns, {options.sentences} sentences each; {model}; "
                  f"{machine['processor']}, {machine['isa']['used']}, {options.threads} threads; cait {machine['parts']['cait']} (with "
                  f"cutting and joining pieces), CTranslate2 {version} (from pieces to pieces); "
                  f"{min(shares):.1%} or more of the translations are equal piece by piece; {time.strftime('%Y-%m-%d')}.")
    result = f"{table_lines(rows)}\n\n{conditions}\n"
    print("\n" + result)
    if not options.dry:
        replace_between(options.document, BEGIN, lambda _: result)
        print(f"written to {options.document}")


if __name__ == "__main__":
    main()
