"""The peers of `./dev bench compare`: timm's models in OpenVINO, ONNX Runtime and PyTorch, one of
them per process, since any of them may die on an unusual processor.
Usage: inference_peer.py prepare WHAT FOLDER MODEL --batch N --threads N
       inference_peer.py serve PEER SETTING FOLDER MODEL --batch N --threads N --precision P
`prepare` writes what the peers read (weights, onnx, compiled, or a word of WRITERS in
inference_int8.py, which needs onnx); `serve` loads one, writes its logits, says that it is ready
and then answers each line "run SECONDS" on stdin with one line of JSON."""
import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from inference_int8 import IMAGES as CALIBRATION
from inference_int8 import WRITERS as INT8_WRITERS
from inference_int8 import int8_file

Step = Callable[[], np.ndarray]
Measure = Callable[[float], tuple[float, list[float]]]  # for seconds: all taken, each call's
IMAGES = 8  # of the input that all contenders get; smaller batches take the first ones
BIASES = ("bias", "beta", "running_mean")


def batch_of(folder: Path, batch: int) -> np.ndarray:
    return np.ascontiguousarray(np.load(folder / "images.npy")[:batch])


def onnx_file(options: argparse.Namespace) -> Path:
    return options.folder / f"batch{options.batch}.onnx"


def compiled_file(options: argparse.Namespace) -> Path:
    return options.folder / f"batch{options.batch}-threads{options.threads}.pt2"


# --- What the peers read ------------------------------------------------------------------------

def give_every_branch_weight(model) -> None:
    """Fresh models hide their branches behind gains of 1e-5 (LayerScale) or 0 (ResNet's last norm,
    ResMLP's head); then the logits would agree whatever the branches compute."""
    import torch
    for name, value in model.state_dict().items():
        if value.is_floating_point() and value.numel() == max(value.shape):
            if name.endswith(BIASES):
                torch.nn.init.normal_(value, std=0.05)
            else:
                torch.nn.init.uniform_(value, 0.3, 0.7)
        elif value.is_floating_point() and not value.any():
            torch.nn.init.normal_(value, std=0.02)


def different_images(size: tuple[int, int, int], count: int = IMAGES, seed: int = 0) -> np.ndarray:
    """Coarse squares under fine noise: noise alone gives all images nearly the same logits."""
    random, (channels, height, width) = np.random.default_rng(seed), size
    coarse = random.standard_normal((count, channels, height // 32, width // 32))
    fine = random.standard_normal((count, *size))
    return (1.5 * np.kron(coarse, np.ones((32, 32))) + 0.3 * fine).astype(np.float32)


def fresh_model(options: argparse.Namespace):
    import timm
    other = {"img_size": options.size} if options.size else {}
    return timm.create_model(options.model, **other).eval()


def write_weights(options: argparse.Namespace) -> None:
    """The weights under timm's names, the images, and PyTorch's plain logits as the reference."""
    import timm
    import torch
    from safetensors.torch import save_file
    if not timm.is_model(options.model):
        print(json.dumps({"missing": f"not in timm {timm.__version__}"}))
        return
    torch.manual_seed(0)
    model = fresh_model(options)
    give_every_branch_weight(model)
    size = model.pretrained_cfg["input_size"]
    images = different_images((3, options.size, options.size) if options.size else size)
    options.folder.mkdir(parents=True, exist_ok=True)
    with torch.inference_mode():
        np.save(options.folder / "logits.npy", model(torch.from_numpy(images)).numpy())
    np.save(options.folder / "images.npy", images)
    save_file({name: value.contiguous() for name, value in model.state_dict().items()},
              options.folder / "weights.safetensors")


def torch_model(options: argparse.Namespace):
    import torch
    from safetensors.torch import load_file
    torch.set_num_threads(options.threads)
    model = fresh_model(options)
    model.load_state_dict(load_file(options.folder / "weights.safetensors"))
    return model, torch.from_numpy(batch_of(options.folder, options.batch))


def write_onnx(options: argparse.Namespace) -> None:
    import torch
    model, images = torch_model(options)
    torch.onnx.export(model, (images,), onnx_file(options), dynamo=True, external_data=False,
                      verbose=False)


def write_compiled(options: argparse.Namespace) -> None:
    """Inductor takes up to a minute for a model, so its result is kept in a file."""
    import torch
    model, images = torch_model(options)
    with torch.no_grad():
        program = torch.export.export(model, (images,))
        torch._inductor.aoti_compile_and_package(program, package_path=str(compiled_file(options)),
                                                 inductor_configs={"freezing": True})


def write_int8(options: argparse.Namespace) -> None:
    size = np.load(options.folder / "images.npy", mmap_mode="r").shape[1:]
    INT8_WRITERS[options.what](options, onnx_file(options),
                               different_images(size, CALIBRATION, seed=1))


# --- The peers ----------------------------------------------------------------------------------

def one_after_another(step: Step) -> Measure:
    def measure(seconds: float) -> tuple[float, list[float]]:
        calls, start = [], time.perf_counter()
        while not calls or time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            step()
            calls.append(time.perf_counter() - begin)
        return time.perf_counter() - start, calls
    return measure


def several_at_once(queue) -> Measure:
    """Keeps all requests of an OpenVINO queue in flight."""

    def measure(seconds: float) -> tuple[float, list[float]]:
        calls, start = [], time.perf_counter()
        queue.set_callback(lambda _, begin: calls.append(time.perf_counter() - begin))
        while time.perf_counter() - start < seconds:
            queue.start_async(None, time.perf_counter())
        queue.wait_all()
        return time.perf_counter() - start, calls
    return measure


def nncf_version() -> str:
    from importlib.metadata import version
    return f" with NNCF {version('nncf')}"


def openvino_peer(options: argparse.Namespace) -> tuple[Step, Measure, str]:
    """Settings: HINT, or in int8 HINT, NNCF's preset, and the format of what stays float."""
    import openvino
    hint, *int8 = options.setting.split(", ")
    source = int8_file(options, f"nncf-{int8[0]}") if int8 else onnx_file(options)
    floats = int8[1] if int8 else options.precision
    compiled = openvino.Core().compile_model(str(source), "CPU", {
        "PERFORMANCE_HINT": hint.upper(),
        "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16"}[floats],
        "INFERENCE_NUM_THREADS": options.threads})
    images = openvino.Tensor(batch_of(options.folder, options.batch))
    request, queue = compiled.create_infer_request(), openvino.AsyncInferQueue(compiled)
    for one in (request, *queue):
        one.set_input_tensor(images)

    def step() -> np.ndarray:
        request.infer()
        return request.get_output_tensor().data

    measure = one_after_another(step) if hint == "latency" else several_at_once(queue)
    version = openvino.__version__.split("-")[0]
    return step, measure, version + (nncf_version() if int8 else "")


def onnxruntime_peer(options: argparse.Namespace) -> tuple[Step, Measure, str]:
    """Settings: whether threads spin, or in int8 the kind of quantisation before it."""
    import onnxruntime
    *int8, threads = options.setting.split(", ")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
    settings.add_session_config_entry("session.intra_op.allow_spinning",
                                      "1" if threads == "spinning" else "0")
    source = int8_file(options, int8[0]) if int8 else onnx_file(options)
    session = onnxruntime.InferenceSession(source, settings,
                                           providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: batch_of(options.folder, options.batch)}

    def step() -> np.ndarray:
        return session.run(None, feed)[0]

    return step, one_after_another(step), onnxruntime.__version__


def torch_peer(options: argparse.Namespace) -> tuple[Step, Measure, str]:
    import torch
    model, images = torch_model(options)
    if options.setting == "channels last":
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    elif options.setting == "compiled":
        # The package finds PyTorch's functions only if they are visible to all libraries.
        ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libtorch_cpu.so"), ctypes.RTLD_GLOBAL)
        model = torch._inductor.aoti_load_package(str(compiled_file(options)))

    def step() -> np.ndarray:
        with torch.inference_mode():
            return model(images).numpy()

    return step, one_after_another(step), torch.__version__


PEERS = {"OpenVINO": openvino_peer, "ONNX Runtime": onnxruntime_peer, "PyTorch": torch_peer}


WRITERS = {"weights": write_weights, "onnx": write_onnx, "compiled": write_compiled,
           **{what: write_int8 for what in INT8_WRITERS}}


def load_libraries(peer: str) -> None:
    """What they need to be there at all does not count as a model's memory."""
    if peer == "PyTorch":
        import timm  # noqa: F401
    elif peer == "OpenVINO":
        import openvino
        openvino.Core().get_property("CPU", "FULL_DEVICE_NAME")  # loads its code for the CPU
    else:
        import onnxruntime  # noqa: F401


def resident_mib(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


def serve(options: argparse.Namespace) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to the log
    load_libraries(options.peer)
    idle = resident_mib("VmRSS")
    step, measure, version = PEERS[options.peer](options)
    output = options.folder / f"{options.peer} {options.setting} {options.precision}.npy"
    np.save(output, np.asarray(step(), dtype=np.float32))
    measure(0.1)
    print(json.dumps({"version": version, "logits": str(output)}), file=answers, flush=True)
    for line in sys.stdin:
        step()  # the others' data is in the caches
        seconds, calls = measure(float(line.split()[1]))
        print(json.dumps({"images_per_second": options.batch * len(calls) / seconds,
                          "p50_ms": 1000 * statistics.median(calls),
                          "peak_mib": resident_mib("VmHWM") - idle}), file=answers, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    prepare, serving = commands.add_parser("prepare"), commands.add_parser("serve")
    prepare.add_argument("what", choices=WRITERS)
    serving.add_argument("peer", choices=PEERS)
    serving.add_argument("setting")
    serving.add_argument("--precision", choices=["fp32", "bf16", "int8"], default="fp32")
    for command in (prepare, serving):
        command.add_argument("folder", type=Path)
        command.add_argument("model")
        command.add_argument("--batch", type=int, default=1)
        command.add_argument("--threads", type=int, default=2)
        command.add_argument("--size", type=int, default=0, help="of the image; 0: the model's")
    options = parser.parse_args()
    if options.command == "serve":
        serve(options)
    else:
        WRITERS[options.what](options)


if __name__ == "__main__":
    main()
