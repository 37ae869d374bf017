"""Runs `./dev bench growth`: time and memory of one image through cait_xxs24 as the image grows,
beside the other engines, in turns. Writes a table and a chart into docs/performance.md.
Usage: compare_growth.py CAIT --peers PYTHON [--sizes N…]; --help has the rest"""
import argparse
import os
import statistics
from pathlib import Path

import growth_report as report
from compare_inference import ROOT, ask_cait, describe, peer_environment
from inference_contenders import Case, Contender, Failed, check_cait, close, prepare, say, \
    start_peer, take_turn

MODEL = "cait_xxs24_224"
SETTINGS = {"OpenVINO": "latency", "ONNX Runtime": "spinning", "PyTorch": "eager"}


def measure(case: Case, options: argparse.Namespace,
            versions: dict[str, str]) -> dict[str, report.Point]:
    """By contender: the median of the rounds' median times, and the most memory."""
    prepare(case, "weights")
    say(f"\n{case.size} px: cait's logits agree {check_cait(case)}")
    contenders = [Contender("cait")]
    for name, setting in SETTINGS.items():
        try:
            contender, versions[name] = start_peer(case, name, setting)
            contenders.append(contender)
        except Failed as failure:
            say(f"  {name}: {failure}")
    memory: dict[str, float] = {}
    for _ in range(options.rounds):
        for contender in list(contenders):
            try:
                answer = take_turn(case, contender, options.seconds)
            except Failed as failure:
                say(f"  {contender.name}: {failure}")
                contenders.remove(contender)
                continue
            contender.p50.append(answer["p50_ms"])
            memory[contender.name] = max(answer["peak_mib"], memory.get(contender.name, 0))
        say("  " + ", ".join(f"{one.name} {one.p50[-1]:.0f} ms, {memory[one.name]:.0f} MiB"
                             for one in contenders))
    for contender in contenders:
        close(contender)
    return {one.name: report.Point(statistics.median(one.p50), memory[one.name])
            for one in contenders}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("cait", help="the program")
    parser.add_argument("--peers", required=True, help="a Python with the peers")
    parser.add_argument("--sizes", type=int, nargs="+", default=[224, 384, 512, 768, 1024])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of each turn")
    parser.add_argument("--document", type=Path, default=ROOT / "docs/performance.md")
    return parser.parse_args()


def main() -> None:
    options = parse()
    machine = ask_cait(options.cait, "machine", dict(os.environ))
    environment, note = peer_environment(options.cait, options.threads)
    versions: dict[str, str] = {}
    points = {size: measure(Case(MODEL, 1, "fp32", options.threads, options.cait, options.peers,
                                 environment, size), options, versions)
              for size in options.sizes}
    report.write(options.document, points, describe(machine, options, versions, note))
    say(f"written to {options.document} and {report.chart_of(options.document)}")


if __name__ == "__main__":
    main()
