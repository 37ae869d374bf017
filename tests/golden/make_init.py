"""Writes data/sincos.json (the fixed 2-D position embedding) and data/pattern.json (samples of the
weight pattern, so that a test can hold pattern.h to pattern.py).
"""
import json
import pathlib

import numpy as np
from timm.layers import build_sincos2d_pos_embed

from pattern import hash_of, pattern

DATA = pathlib.Path(__file__).parent / "data"
DIM, ROWS, COLUMNS = 16, 3, 5
PATTERNS = [
    ("input", (2, 3, 8, 8)), ("cls_token", (1, 1, 48)), ("pos_embed", (1, 16, 48)),
    ("patch_embed.proj.weight", (48, 3, 8, 8)), ("patch_embed.proj.bias", (48,)),
    ("blocks.0.norm1.weight", (48,)), ("blocks.0.norm1.bias", (48,)),
    ("blocks.2.attn.qkv.weight", (144, 48)), ("blocks.2.attn.proj_l.weight", (4, 4)),
    ("blocks.1.gamma_1", (48,)), ("blocks.1.gamma_2_1", (1,)), ("blocks.0.norm1.alpha", (48,)),
    ("stem.bn.running_mean", (48,)), ("stem.bn.running_var", (48,)), ("scale", ()),
]


def sincos():
    """For the patch at (y, x): [sin(x w), cos(x w), sin(y w), cos(y w)], w_i = 10000^(-i/(D/4))."""
    quarter = DIM // 4
    omega = 1 / 10000 ** (np.arange(quarter) / quarter)
    rows = []
    for y in range(ROWS):
        for x in range(COLUMNS):
            rows.append(np.concatenate(
                [np.sin(x * omega), np.cos(x * omega), np.sin(y * omega), np.cos(y * omega)]))
    return np.array(rows)


def check_sincos(values):
    """timm has the same quarters with y in front."""
    theirs = build_sincos2d_pos_embed([ROWS, COLUMNS], DIM, interleave_sin_cos=True).numpy()
    assert np.allclose(values, np.roll(theirs, DIM // 2, axis=1), atol=1e-6)


def stored(values):
    return {"shape": list(values.shape),
            "values": [float(f"{value:.9g}") for value in values.flatten().tolist()]}


def write_sincos():
    values = sincos()
    check_sincos(values)
    with_class = np.concatenate([np.zeros((1, DIM)), values])
    (DATA / "sincos.json").write_text(json.dumps({
        "formula": sincos.__doc__, "order": "tokens row by row: index = y * columns + x",
        "dim": DIM, "rows": ROWS, "columns": COLUMNS, "pos_embed": stored(values[None]),
        "pos_embed_with_class_slot": stored(with_class[None])}, separators=(",", ":")) + "\n")


def write_pattern():
    samples = []
    for name, shape in PATTERNS:
        bits = pattern(name, shape).flatten().view(np.uint32)
        checksum = hash_of(bits.astype("<u4").tobytes())
        samples.append({"name": name, "shape": list(shape), "first_bits": bits[:4].tolist(),
                        "last_bits": int(bits[-1]), "fnv1a_of_bytes": f"{checksum:016x}"})
    lines = ",\n".join(json.dumps(sample) for sample in samples)
    (DATA / "pattern.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    write_sincos()
    write_pattern()
    print("sincos.json, pattern.json")
