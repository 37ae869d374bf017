#!/usr/bin/env python3
"""Load on `cait serve`: capacity, 0.8 times and twice of it, what batching gains, beside `cait bench`.

Usage: serve_load.py CAIT WEIGHTS [--model NAME] [--seconds 20] [--json FILE]. WEIGHTS is a weight file; one that
does not say what it is needs --model. The clients are threads of this script on the same machine, so they take a
part of its processors; numbers are to be compared within one run. What a client waits for its own processor is not
the server's fault: the script asks to be let in soon (Linux 6.12), and beside the times that clients see stand those
of the server's log, from the first byte of a request to the last of its answer.
"""

import argparse
import ctypes
import http.client
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


def be_prompt():
    """sched_setattr(2): an ordinary thread that runs for 0.1 ms at a time. The server must not inherit it."""

    class Attributes(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64),
                    ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32), ("runtime", ctypes.c_uint64),
                    ("deadline", ctypes.c_uint64), ("period", ctypes.c_uint64)]

    wanted = Attributes(size=ctypes.sizeof(Attributes), nice=os.nice(0), runtime=100_000)
    if platform.machine() == "x86_64":
        ctypes.CDLL(None).syscall(314, 0, ctypes.byref(wanted), 0)


class Server:
    def __init__(self, cait, weights, words, log):
        self.log = open(log, "w+")
        words = [*words, "--log", log]
        self.process = subprocess.Popen([cait, "serve", f"m={weights}", "--port", "0", "--grace", "0", *words],
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "listening at http://" in line:
                self.port = int(line.rsplit(":", 1)[1])
                break
        else:
            raise SystemExit("the server did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def stats(self):
        client = http.client.HTTPConnection("127.0.0.1", self.port)
        client.request("GET", "/stats")
        return json.loads(client.getresponse().read())["models"][0]

    def logged(self):
        """Milliseconds by status, of what was answered since the last time."""
        time.sleep(0.5)  # the log is written behind the answers
        times = {}
        for line in self.log.readlines():
            answer = json.loads(line)
            if answer.get("target") == "/classify":
                times.setdefault(answer["status"], []).append(answer["ms"])
        return times

    def memory(self):  # megabytes
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def descriptors(self):
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


class Load:
    """Requests by the clock (`rate` a second, at random times) or as fast as they are answered (rate None)."""

    def __init__(self, server, photo, clients, seconds, rate=None):
        self.accepted, self.refused, self.other = [], [], 0
        self.lock = threading.Lock()
        end = time.perf_counter() + seconds
        threads = [threading.Thread(target=self.client, args=(server.port, photo, end, rate and rate / clients, seed))
                   for seed in range(clients)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.perf_counter() - start
        self.logged = server.logged()

    def client(self, port, photo, end, rate, seed):
        be_prompt()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        random_state = random.Random(seed)
        due = time.perf_counter()
        while True:
            if rate:
                due += random_state.expovariate(rate)
                if due > end:
                    return
                time.sleep(max(0, due - time.perf_counter()))
            elif time.perf_counter() > end:
                return
            start = time.perf_counter()
            try:
                connection.request("POST", "/classify", photo)
                answer = connection.getresponse()
                answer.read()
            except OSError:
                connection.close()
                with self.lock:
                    self.other += 1
                continue
            took = 1e3 * (time.perf_counter() - start)
            with self.lock:
                if answer.status == 200:
                    self.accepted.append(took)
                elif answer.status == 503:
                    self.refused.append(took)
                else:
                    self.other += 1
            if answer.status == 503 and not rate:
                time.sleep(0.05)

    def summary(self):
        return {"per_second": len(self.accepted) / self.seconds, "accepted": len(self.accepted),
                "refused": len(self.refused), "other": self.other,
                "p50_ms": quantile(self.accepted, 0.5), "p99_ms": quantile(self.accepted, 0.99),
                "refusal_p50_ms": quantile(self.refused, 0.5), "refusal_p99_ms": quantile(self.refused, 0.99),
                "server_p99_ms": quantile(self.logged.get(200, []), 0.99),
                "server_refusal_p99_ms": quantile(self.logged.get(503, []), 0.99)}


def photo_of(folder, side=224):
    """A JPEG of `side` pixels made by the program itself out of noise."""
    try:
        from PIL import Image
    except ImportError:
        sys.exit("python3-pil is needed to make a photograph")
    image = Image.effect_noise((side, side), 60).convert("RGB")
    image.save(folder / "photo.jpg", quality=90)
    return (folder / "photo.jpg").read_bytes()


def bench(cait, model, batch):
    run = subprocess.run([cait, "bench", model, "--batch", str(batch), "--json"], check=True, text=True,
                         stdout=subprocess.PIPE)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cait")
    parser.add_argument("weights")
    parser.add_argument("--model", default="")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--bound", type=float, default=250)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as name:
        photo = photo_of(Path(name))
        for batch in (1, 8):
            server = Server(arguments.cait, arguments.weights,
                            ["--batch", str(batch), "--bound", str(arguments.bound),
                             *(["--model", arguments.model] if arguments.model else [])],
                            str(Path(name) / f"log{batch}"))
            stats = server.stats()
            found = Load(server, photo, 2 * batch, arguments.seconds).summary()
            found.update(service_ms=stats["service_ms"], batch_within_bound=stats["batch"], batch_ms=stats.get("batch_ms"))
            results[f"capacity, --batch {batch}"] = found
            if batch == 8:
                capacity = found["per_second"]
                before = server.memory(), server.descriptors()
                for times in (0.8, 2.0):
                    load = Load(server, photo, 4 * arguments.clients, arguments.seconds, times * capacity)
                    results[f"{times} x capacity"] = load.summary()
                    # As it was by then: a machine that others use is slower than when the model was loaded.
                    now = server.stats()
                    results[f"{times} x capacity"].update(service_ms=now["service_ms"], batch_ms=now.get("batch_ms"))
                results["memory_mb"] = [before[0], server.memory()]
                results["descriptors"] = [before[1], server.descriptors()]
                results["bound_ms"] = stats["bound_ms"]
            assert server.stop() == 0
    results["cait bench, batch 8"] = bench(arguments.cait, arguments.model or arguments.weights, 8)
    for key, value in results.items():
        print(f"{key}: {json.dumps(value)}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
