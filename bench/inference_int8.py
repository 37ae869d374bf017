"""What the peers of `./dev bench compare` read for int8: NNCF's quantised model for OpenVINO, and the
quantised ONNX files of ONNX Runtime's own tools. All start from the ONNX export of the float model,
and see the same images, which are drawn like those that are measured, but are others."""
import argparse
from pathlib import Path

import numpy as np

IMAGES = 64  # that ranges are taken from
PRODUCTS = ["MatMul", "Gemm", "Conv"]


def int8_file(options: argparse.Namespace, what: str) -> Path:
    ending = "xml" if what.startswith("nncf") else "onnx"
    return options.folder / f"batch{options.batch}-{what}.{ending}"


def batches(options: argparse.Namespace, images: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(images[first:first + options.batch])
            for first in range(0, len(images) - options.batch + 1, options.batch)]


def write_nncf(options: argparse.Namespace, onnx: Path, images: np.ndarray) -> None:
    """With the preset for transformers NNCF smooths activations and leaves more in floats."""
    import nncf
    import openvino
    shown = batches(options, images)
    quantised = nncf.quantize(
        openvino.Core().read_model(onnx), nncf.Dataset(shown), subset_size=len(shown),
        target_device=nncf.TargetDevice.CPU,
        model_type=nncf.ModelType.TRANSFORMER if options.what == "nncf-transformer" else None)
    openvino.save_model(quantised, int8_file(options, options.what), compress_to_fp16=False)


def write_onnxruntime(options: argparse.Namespace, onnx: Path, images: np.ndarray) -> None:
    """Unsigned activations and signed weights, a scale for each output: what vpdpbusd multiplies."""
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_dynamic, quantize_static)
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self, name: str):
            self.feeds = iter({name: batch} for batch in batches(options, images))

        def get_next(self) -> dict | None:
            return next(self.feeds, None)

    folded = options.folder / f"batch{options.batch}-folded.onnx"
    quant_pre_process(str(onnx), str(folded), skip_symbolic_shape=True)
    result = int8_file(options, options.what)
    if options.what == "dynamic":
        forget_shapes(folded)
        quantize_dynamic(folded, result, op_types_to_quantize=["MatMul", "Gemm"],
                         per_channel=True, weight_type=QuantType.QInt8)
    else:
        quantize_static(folded, result, Reader(input_name(folded)), quant_format=QuantFormat.QDQ,
                        per_channel=True, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8,
                        **(weights_alone(folded) if options.what == "static-weights" else {}))
    folded.unlink()


def weights_alone(onnx: Path) -> dict:
    """Products of two activations, as attention has them, stay floats; so do results of the others,
    but for those of convolutions, which are quantised whole or not at all."""
    from onnx import load
    graph = load(onnx, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    return {"op_types_to_quantize": PRODUCTS,
            "nodes_to_exclude": [node.name for node in graph.node
                                 if node.op_type == "MatMul" and not constants & {*node.input}],
            "extra_options": {"OpTypesToExcludeOutputQuantization": ["MatMul", "Gemm"]}}


def forget_shapes(onnx: Path) -> None:
    """The tool turns Gemm into MatMul and its weights round, and then finds their old shapes wrong."""
    from onnx import load, save
    model = load(onnx)
    del model.graph.value_info[:]
    save(model, onnx)


def input_name(onnx: Path) -> str:
    from onnx import load
    return load(onnx, load_external_data=False).graph.input[0].name


WRITERS = {"nncf-plain": write_nncf, "nncf-transformer": write_nncf, "static": write_onnxruntime,
           "static-weights": write_onnxruntime, "dynamic": write_onnxruntime}
