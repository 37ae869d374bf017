"""The peer of `./dev bench translate`: CTranslate2 with the weights of a translator of ours.
  convert FOLDER   builds its model from FOLDER/model.safetensors and FOLDER/prepared.json
  serve FOLDER     translates: a line of JSON when it is ready, then one for each line of stdin
prepared.json is what cait-translate-bench writes: settings, pieces, and the sources as numbers."""
import argparse
import json
import math
import os
import resource
import statistics
import sys
import time
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.converters import utils
from ctranslate2.specs import common_spec, transformer_spec

END = 2  # the number of </s>; <s> is 0, <pad> 1 and <unk> 3
FIRST_POSITION = 2  # fairseq's sinusoids count from here


class Unfit(Exception):
    """CTranslate2 has no such model."""


# --- Weights ------------------------------------------------------------------------------------

def sinusoids(places: int, dim: int) -> np.ndarray:
    """fairseq's: a half of sines, then a half of cosines."""
    half = dim // 2
    rates = np.exp(np.arange(half) * -(math.log(10000) / (half - 1)))
    angles = (np.arange(places)[:, None] + FIRST_POSITION) * rates[None]
    return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)


class Weights:
    """By our names; a weight of a branch goes into the last map of the branch."""

    def __init__(self, tensors: dict[str, np.ndarray]):
        self.tensors = {name: np.asarray(value, np.float32) for name, value in tensors.items()}

    def linear(self, spec: common_spec.LinearSpec, name: str, gain: str = "") -> common_spec.LinearSpec:
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        scale = self.tensors.get(gain) if gain else None
        spec.weight = weight if scale is None else np.ascontiguousarray(weight * scale[:, None])
        spec.bias = bias if scale is None else bias * scale
        return spec

    def norm(self, spec: common_spec.LayerNormSpec, name: str) -> None:
        spec.gamma, spec.beta = self.tensors[name + ".weight"], self.tensors[name + ".bias"]

    def fused(self, spec: common_spec.LinearSpec, names: list[str]) -> None:
        utils.fuse_linear(spec, [self.linear(common_spec.LinearSpec(), name) for name in names])

    def self_attention(self, spec, layer: str) -> None:
        name = layer + ".self_attn."
        self.fused(spec.linear[0], [name + part for part in ("q_proj", "k_proj", "v_proj")])
        self.linear(spec.linear[1], name + "out_proj", layer + ".gamma_1")
        self.norm(spec.layer_norm, layer + ".norm1")

    def cross_attention(self, spec, layer: str) -> None:
        name = layer + ".encoder_attn."
        self.linear(spec.linear[0], name + "q_proj")
        self.fused(spec.linear[1], [name + part for part in ("k_proj", "v_proj")])
        self.linear(spec.linear[2], name + "out_proj", layer + ".gamma_cross")
        self.norm(spec.layer_norm, layer + ".norm_cross")

    def mlp(self, spec, layer: str) -> None:
        self.linear(spec.linear_0, layer + ".fc1")
        self.linear(spec.linear_1, layer + ".fc2", layer + ".gamma_2")
        self.norm(spec.layer_norm, layer + ".norm2")


def check(settings: dict[str, str]) -> None:
    for key, value in (("mixer", "attention"), ("norm", "layernorm")):
        if settings[key] != value:
            raise Unfit(f"CTranslate2 has no layers of {key}={settings[key]}")


def spec_of(tensors: dict[str, np.ndarray], settings: dict[str, str]) -> transformer_spec.TransformerSpec:
    check(settings)
    weights, dim = Weights(tensors), int(settings["dim"])
    pre_norm = settings["post_norm"] == "false"
    activation = {"relu": common_spec.Activation.RELU, "gelu": common_spec.Activation.GELU}
    spec = transformer_spec.TransformerSpec.from_config(
        (int(settings["encoder_depth"]), int(settings["decoder_depth"])), int(settings["heads"]),
        pre_norm=pre_norm, activation=activation[settings["activation"]])
    places = sinusoids(int(settings["longest"]), dim)
    if settings["positions"] == "none":
        places[:] = 0
    table = weights.tensors["encoder.embed_tokens.weight"]
    for side, part, embeddings in (("encoder", spec.encoder, spec.encoder.embeddings[0]),
                                   ("decoder", spec.decoder, spec.decoder.embeddings)):
        embeddings.weight, part.scale_embeddings = table, math.sqrt(dim)
        part.position_encodings.encodings = places
        if pre_norm:
            weights.norm(part.layer_norm, side + ".norm")
        for index, layer in enumerate(part.layer):
            name = f"{side}.layers.{index}"
            weights.self_attention(layer.self_attention, name)
            if side == "decoder":
                weights.cross_attention(layer.attention, name)
            weights.mlp(layer.ffn, name)
    spec.decoder.projection.weight = table
    # Pieces are named by their numbers: nobody has to cut text here.
    names = [str(number) for number in range(table.shape[0])]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "0", str(END), "3"
    spec.config.decoder_start_token = spec.config.eos_token
    spec.config.add_source_eos = False
    return spec


def write_model(tensors: dict[str, np.ndarray], settings: dict[str, str], folder: Path) -> None:
    spec = spec_of(tensors, settings)
    spec.validate()
    spec.optimize(quantization=None)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def prepared(folder: Path) -> dict:
    return json.loads((folder / "prepared.json").read_text())


def convert(folder: Path) -> None:
    from safetensors.numpy import load_file
    write_model(load_file(folder / "model.safetensors"), prepared(folder)["settings"], folder / "ctranslate2")


# --- Translating --------------------------------------------------------------------------------

class Peer:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        known = prepared(options.folder)
        self.sources = [[str(piece) for piece in line] for line in known["sources"]]
        self.longest = int(known["settings"]["longest"])
        self.translator = ctranslate2.Translator(
            str(options.folder / "ctranslate2"), device="cpu", compute_type=options.compute_type,
            inter_threads=1, intra_threads=options.threads)

    def translate(self, lines: list[list[str]]) -> list[list[int]]:
        """Pieces of the best translations. With the end among the pieces, scores are divided by the same lengths as
        ours."""
        most = min(max(map(len, lines)) + 50, self.longest)
        results = self.translator.translate_batch(
            lines, beam_size=self.options.beam, length_penalty=self.options.length_penalty,
            max_batch_size=0, max_decoding_length=most, max_input_length=0, return_end_token=True)
        return [[int(piece) for piece in one.hypotheses[0]] for one in results]

    def batches(self) -> list[list[list[str]]]:
        size = self.options.batch
        return [self.sources[at:at + size] for at in range(0, len(self.sources), size)]

    def all(self) -> list[list[int]]:
        return [found for batch in self.batches() for found in self.translate(batch)]

    def turn(self) -> dict:
        calls, begin = [], time.perf_counter()
        for batch in self.batches():
            start = time.perf_counter()
            self.translate(batch)
            calls.append(time.perf_counter() - start)
        return {"sentences_per_second": len(self.sources) / (time.perf_counter() - begin),
                "p50_ms": 1000 * statistics.median(calls),
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def serve(options: argparse.Namespace) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to the log
    peer = Peer(options)
    print(json.dumps({"version": ctranslate2.__version__, "translations": peer.all()}), file=answers, flush=True)
    for _ in sys.stdin:
        print(json.dumps(peer.turn()), file=answers, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    converting, serving = commands.add_parser("convert"), commands.add_parser("serve")
    for command in (converting, serving):
        command.add_argument("folder", type=Path)
    serving.add_argument("--compute-type", default="float32")
    serving.add_argument("--batch", type=int, default=1)
    serving.add_argument("--threads", type=int, default=2)
    serving.add_argument("--beam", type=int, default=4)
    serving.add_argument("--length-penalty", type=float, default=1)
    options = parser.parse_args()
    try:
        convert(options.folder) if options.command == "convert" else serve(options)
    except Unfit as unfit:
        sys.exit(str(unfit))


if __name__ == "__main__":
    main()
