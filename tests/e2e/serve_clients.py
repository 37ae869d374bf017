#!/usr/bin/env python3
"""Stock clients against `cait serve`: tritonclient[http], an OpenAPI validator and schemathesis, from PyPI.

Usage: serve_clients.py CAIT [--cases 2000]. What is not installed is skipped and said; with nothing
installed the exit code is 77, which ctest shows as skipped.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SKIPPED = 77


def have(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Server:
    def __init__(self, cait, folder):
        settings = "image_size=16 patch=8 dim=16 depth=2 heads=2 class_layers=1 classes=3".split()
        model = folder / "tiny.safetensors"
        data = Path(__file__).parent / "data" / "tiny_cait_zip.pth"
        (folder / "names").write_text("cat\ndog\nfish\n")
        words = [word for setting in settings for word in ("--set", f"model.{setting}")]
        subprocess.run([cait, "convert", data, model, "--classes", folder / "names",
                        "--model", "cait_xxs24_224", *words], check=True, stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen([cait, "serve", model, "--port", "0", "--grace", "0", "--control"],
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "listening at http://" in line:
                self.address = line.split("http://")[1].strip()
                return
        raise SystemExit("the server did not start")

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0, "exit code of the server"


def photo():
    """A PNG made by hand: 20 x 20 pixels."""
    import struct
    import zlib

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes((12 * x, 12 * y, 99)[c] for x in range(20) for c in range(3))
                    for y in range(20))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 20, 20, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def check_triton(address):
    import numpy
    import tritonclient.http as triton
    from tritonclient.utils import InferenceServerException

    client = triton.InferenceServerClient(address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tiny")
    assert client.get_server_metadata()["name"] == "cait"
    metadata = client.get_model_metadata("tiny")
    assert [one["name"] for one in metadata["inputs"]] == ["images", "encoded"], metadata
    assert client.get_model_metadata("tiny", "1")["outputs"][0]["shape"] == [-1, 3]
    assert client.get_model_config("tiny")["name"] == "tiny"
    assert client.get_model_repository_index()[0]["state"] == "READY"

    pixels = numpy.linspace(-1, 1, 2 * 768, dtype=numpy.float32).reshape(2, 3, 16, 16)
    answers = []
    for binary_in in (False, True):
        for binary_out in (False, True):
            given = triton.InferInput("images", pixels.shape, "FP32")
            given.set_data_from_numpy(pixels, binary_data=binary_in)
            wanted = triton.InferRequestedOutput("logits", binary_data=binary_out)
            result = client.infer("tiny", [given], outputs=[wanted], request_id="7")
            assert result.get_response()["id"] == "7"
            answers.append(result.as_numpy("logits"))
    assert all(one.shape == (2, 3) and numpy.array_equal(one, answers[0]) for one in answers)

    for algorithm in ("gzip", "deflate"):
        given = triton.InferInput("images", pixels.shape, "FP32")
        given.set_data_from_numpy(pixels)
        result = client.infer("tiny", [given], request_compression_algorithm=algorithm,
                              response_compression_algorithm=algorithm)
        assert numpy.array_equal(result.as_numpy("logits"), answers[0])

    files = numpy.array([photo(), photo()], dtype=object)
    given = triton.InferInput("encoded", [2], "BYTES")
    given.set_data_from_numpy(files)
    wanted = triton.InferRequestedOutput("logits", class_count=2)
    classes = client.infer("tiny", [given], outputs=[wanted]).as_numpy("logits")
    assert classes.shape == (2, 2), classes
    value, index, label = classes[0][0].decode().split(":")
    assert float(value) and label == ["cat", "dog", "fish"][int(index)]
    pending = [client.async_infer("tiny", [given]) for _ in range(8)]
    assert all(one.get_result().as_numpy("logits").shape == (2, 3) for one in pending)

    statistics = client.get_inference_statistics("tiny")["model_stats"][0]
    assert statistics["inference_count"] >= 8, statistics
    client.unload_model("tiny")
    assert not client.is_model_ready("tiny")
    client.load_model("tiny")
    assert client.is_model_ready("tiny")
    for name, wrong in (("other", given), ("tiny", triton.InferInput("pixels", [1], "BYTES"))):
        wrong.set_data_from_numpy(files[:wrong.shape()[0]])
        try:
            client.infer(name, [wrong])
        except InferenceServerException as error:
            assert error.message(), error
        else:
            raise AssertionError("a wrong request was answered")


def check_description(address):
    from openapi_spec_validator import validate

    with urllib.request.urlopen(f"http://{address}/openapi.json") as answer:
        validate(json.load(answer))


def check_schemathesis(address, cases):
    """No server error, no status that is not described."""
    base = f"http://{address}"
    run = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", f"{base}/openapi.json", "--url", base,
         "--checks", "not_a_server_error,status_code_conformance,content_type_conformance",
         "--max-examples", str(max(1, cases // 13)), "--phases", "fuzzing", "--mode", "all",
         "--exclude-path-regex", "/unload$|/load$", "--request-timeout", "10"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0:
        print(run.stdout)
        raise AssertionError("schemathesis found something")
    print("\n".join(run.stdout.splitlines()[-12:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cait")
    parser.add_argument("--cases", type=int, default=2000)
    arguments = parser.parse_args()
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.cait, Path(folder))
        try:
            for module, check in (
                ("tritonclient", lambda: check_triton(server.address)),
                ("openapi_spec_validator", lambda: check_description(server.address)),
                ("schemathesis", lambda: check_schemathesis(server.address, arguments.cases)),
            ):
                if not have(module):
                    print(f"{module} is not installed: skipped (./dev test --all installs it)")
                    continue
                start = time.time()
                check()
                done += 1
                print(f"{module}: fine ({time.time() - start:.1f} s)")
        finally:
            server.stop()
    sys.exit(0 if done else SKIPPED)


if __name__ == "__main__":
    main()
