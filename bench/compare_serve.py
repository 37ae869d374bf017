#!/usr/bin/env python3
"""Images a second of `cait serve` beside a FastAPI server that runs the same model in ONNX Runtime, in turns.

Usage: compare_serve.py CAIT WEIGHTS MODEL.onnx --model NAME --peers PYTHON [--rounds 3] [--seconds 10]. WEIGHTS and
MODEL.onnx are the same model (`./dev bench compare` leaves both under build/peer-models); PYTHON has fastapi, uvicorn,
onnxruntime and Pillow. As many clients as fill a batch twice ask again as soon as they are answered.
"""

import argparse
import http.client
import json
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from serve_load import Load, Server, photo_of


class Peer:
    """The other server, with its own way of sharing two processors out."""

    def __init__(self, python, model, threads, workers):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([python, Path(__file__).with_name("serve_peer.py"), model, str(self.port),
                                         "--threads", str(threads), "--workers", str(workers)])
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the peer did not start")

    def logged(self):
        return {}  # it keeps no times of its own

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def answer(server, photo):
    client = http.client.HTTPConnection("127.0.0.1", server.port)
    client.request("POST", "/classify", photo)
    return json.loads(client.getresponse().read())


def main():
    parser = argparse.ArgumentParser()
    for name in ("cait", "weights", "onnx"):
        parser.add_argument(name)
    parser.add_argument("--model", required=True)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    def ours(folder, precision):
        words = ["--model", options.model, "--batch", "8", "--bound", "1500", "--precision", precision]
        return Server(options.cait, options.weights, words, str(Path(folder) / "log"))

    contenders = {
        "cait serve": lambda folder: ours(folder, "fp32"),
        "cait serve, bf16": lambda folder: ours(folder, "bf16"),
        "FastAPI, 2 requests at a time": lambda _: Peer(options.peers, options.onnx, 1, 2),
        "FastAPI, 2 threads for a request": lambda _: Peer(options.peers, options.onnx, 2, 1),
    }
    rates = {name: [] for name in contenders}
    scores = {}
    with tempfile.TemporaryDirectory() as folder:
        photo = photo_of(Path(folder))
        for _ in range(options.rounds):
            for name, start in contenders.items():
                server = start(folder)
                scores[name] = answer(server, photo)[0]["score"]
                Load(server, photo, 16, 2)  # warm
                found = Load(server, photo, 16, options.seconds).summary()
                if found["refused"] or found["other"]:
                    raise SystemExit(f"{name}: {found['refused']} refused, {found['other']} failed")
                rates[name].append(found["per_second"])
                print(f"{name}: {found['per_second']:.1f} images/s, p99 {found['p99_ms']:.0f} ms", flush=True)
                server.stop()
    fp32 = statistics.median(rates["cait serve"])
    for name, found in rates.items():
        print(f"{name}: median {statistics.median(found):.1f} images/s, cait serve in fp32 has "
              f"{fp32 / statistics.median(found):.2f} times as many; its first score {scores[name]:.4f}")


if __name__ == "__main__":
    main()
