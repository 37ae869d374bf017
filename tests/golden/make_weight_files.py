"""Makes the small weight files under tests/unit/weights/data and tests/fuzz/corpus.

The tests read files as the libraries that people use really write them: PyTorch (every container
and pickle protocol), safetensors and NumPy. Run again only to change a fixture:

    python tests/golden/make_weight_files.py        # needs torch, safetensors, numpy
"""

import argparse
import collections
import enum
import os
import pathlib
import pickle
import shutil
import zipfile

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

TESTS = pathlib.Path(__file__).resolve().parents[1]
DATA = TESTS / "unit" / "weights" / "data"
CORPUS = TESTS / "fuzz" / "corpus"


class Schedule(enum.Enum):
    COSINE = "cosine"


def plain_tensors():
    """One tensor of every dtype, with values that every format holds exactly."""
    ramp = torch.arange(24, dtype=torch.float32)
    return collections.OrderedDict(
        [
            ("cls_token", torch.tensor([[[0.5, -1.0, 2.0, 0.25]]])),
            ("blocks.0.attn.qkv.weight", (ramp / 8 - 1).reshape(6, 4)),
            ("half", torch.tensor([0.0, -1.5, 65504.0, 6e-8, 0.333], dtype=torch.float16)),
            ("brain", torch.tensor([0.0, -1.5, 1e30, 1e-30, 0.333], dtype=torch.bfloat16)),
            ("wide", torch.tensor([[0.1, 0.2, 0.3], [1.0, -2.0, 1e-3]], dtype=torch.float64)),
            ("int8", torch.tensor([-128, 127], dtype=torch.int8)),
            ("int16", torch.tensor([-300, 300], dtype=torch.int16)),
            ("int32", torch.tensor([[-70000], [70000]], dtype=torch.int32)),
            ("steps", torch.tensor(1 << 40, dtype=torch.int64)),
            ("bytes", torch.tensor([0, 255, 7], dtype=torch.uint8)),
            ("mask", torch.tensor([True, False, True])),
            ("nothing", torch.zeros(0, 3)),
        ]
    )


def strided_tensors():
    """Tensors that are not row-major, or that share a storage."""
    base = torch.arange(24, dtype=torch.float32)
    grid = base.reshape(4, 6)
    return collections.OrderedDict(
        [
            ("first_half", base[:12]),
            ("second_half", base[12:].reshape(3, 4)),
            ("transposed", grid.t()),
            ("columns", grid[:, 1:5:2]),
            ("row", grid[2]),
            ("expanded", torch.tensor([[1.0], [2.0]]).expand(2, 3)),
            ("permuted", torch.arange(24, dtype=torch.int16).reshape(2, 3, 4).permute(2, 0, 1)),
            ("scalar", grid[3, 5]),
            ("parameter", torch.nn.Parameter(grid[1:3].clone())),
        ]
    )


def weights(value):
    return collections.OrderedDict([("norm.weight", torch.full((3,), value)),
                                    ("head.bias", torch.tensor([value, -value]))])


def trainer_clutter():
    """What trainers put beside the weights; none of it may get in the way."""
    model = torch.nn.Linear(2, 2)
    optimiser = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    return {
        "optimizer": optimiser.state_dict(),
        "epoch": 3,
        "args": argparse.Namespace(lr=1e-3, model="cait", output_dir=pathlib.PurePosixPath("out"),
                                   best=np.float64(81.5), seeds=np.arange(3), kinds={"a", "b"}),
    }


def prefixed(tensors, prefix):
    return collections.OrderedDict((prefix + name, tensor) for name, tensor in tensors.items())


def save_checkpoints():
    plain, strided = plain_tensors(), strided_tensors()
    save_file(dict(plain), DATA / "plain.safetensors", metadata={"format": "pt", "author": "test"})
    torch.save(plain, DATA / "plain_zip.pth")
    torch.save(plain, DATA / "plain_legacy.pth", _use_new_zipfile_serialization=False)
    for protocol in (3, 4, 5):
        torch.save({"state_dict": weights(protocol)}, DATA / f"protocol{protocol}.pth",
                   pickle_protocol=protocol)
    torch.save(weights(4), DATA / "legacy_protocol4.pth", pickle_protocol=4,
               _use_new_zipfile_serialization=False)

    torch.save(strided, DATA / "strided_zip.pth")
    torch.save(strided, DATA / "strided_legacy.pth", _use_new_zipfile_serialization=False)
    dense = {name: tensor.detach().contiguous().clone() for name, tensor in strided.items()}
    save_file(dense, DATA / "strided_dense.safetensors")

    # The wrappings of DeiT, timm and PyTorch's tutorials.
    torch.save({"model": prefixed(weights(1.0), "module."), "model_ema": weights(2.0),
                **trainer_clutter()}, DATA / "wrapped_model.pth")
    torch.save({"epoch": 3, "arch": "cait_xxs24_224", "state_dict": weights(1.0),
                "state_dict_ema": weights(2.0), "schedule": Schedule.COSINE},
               DATA / "wrapped_state_dict.pth")
    torch.save({"model_state_dict": weights(1.0)}, DATA / "wrapped_model_state_dict.pth")
    torch.save({"model_ema": weights(2.0), "epoch": 1}, DATA / "wrapped_only_ema.pth")
    torch.save({"norm": {"weight": torch.ones(3)}, "stages": [torch.zeros(2), torch.ones(2)],
                "config": {"depth": 2, "name": "x"}, "version": 1}, DATA / "nested.pth")
    torch.save(torch.nn.Linear(2, 2), DATA / "whole_module.pth")


def rewrite_zip(source, target, change, compression=zipfile.ZIP_STORED):
    """Copies an archive; change(name, data) gives the new data of an entry."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        for info in old.infolist():
            entry = zipfile.ZipInfo(info.filename)
            entry.compress_type = compression
            new.writestr(entry, change(info.filename, old.read(info)))


def save_bad_checkpoints():
    source = DATA / "protocol4.pth"

    class Attack:
        def __reduce__(self):
            return (os.system, ("echo pwned",))

    def attack(name, data):
        return pickle.dumps({"w": Attack()}, protocol=2) if name.endswith("data.pkl") else data

    rewrite_zip(source, DATA / "bad_os_system.pth", attack)
    rewrite_zip(source, DATA / "bad_compressed.pth", lambda _, data: data, zipfile.ZIP_DEFLATED)
    rewrite_zip(source, DATA / "bad_big_endian.pth",
                lambda name, data: b"big" if name.endswith("byteorder") else data)
    rewrite_zip(source, DATA / "bad_short_storage.pth",
                lambda name, data: data[:8] if name.endswith("data/0") else data)
    complex_file = {"state_dict": {"phase": torch.zeros(2, dtype=torch.complex64)}}
    torch.save(complex_file, DATA / "bad_complex.pth")


def save_positions():
    """Position embeddings before and after PyTorch's own bicubic resize."""
    generator = torch.Generator().manual_seed(7)
    cases = [((14, 14), (24, 24), 0, 2), ((14, 14), (24, 24), 1, 1), ((7, 7), (5, 9), 2, 3),
             ((7, 7), (5, 9), 0, 3), ((4, 6), (6, 4), 1, 2)]
    for (h, w), (to_h, to_w), prefix, dim in cases:
        pos = torch.randn(1, prefix + h * w, dim, generator=generator)
        grid = pos[:, prefix:].reshape(1, h, w, dim).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(to_h, to_w), mode="bicubic", align_corners=False)
        grid = grid.permute(0, 2, 3, 1).reshape(1, to_h * to_w, dim)
        name = f"pos_{h}x{w}_{to_h}x{to_w}_prefix{prefix}"
        np.save(DATA / f"{name}_in.npy", pos.numpy())
        np.save(DATA / f"{name}_out.npy", torch.cat([pos[:, :prefix], grid], 1).numpy())
    save_positions_by_rule(generator)


def save_positions_by_rule(generator):
    """The same, larger, smaller and one of each, with what DINO's and DINOv2's releases add to it."""
    rules = {
        "plain": lambda grid, size: F.interpolate(grid, size=size, mode="bicubic"),
        "offset": lambda grid, size: F.interpolate(
            grid, mode="bicubic",
            scale_factor=[(to + 0.1) / side for to, side in zip(size, grid.shape[2:])]),
        "antialiased": lambda grid, size: F.interpolate(
            grid, size=size, mode="bicubic", antialias=True)}
    for (h, w), (to_h, to_w) in [((5, 7), (9, 12)), ((16, 13), (6, 9)), ((8, 9), (5, 14))]:
        pos = torch.randn(1, 1 + h * w, 2, generator=generator)
        name = f"rules_{h}x{w}_{to_h}x{to_w}"
        np.save(DATA / f"{name}_in.npy", pos.numpy())
        for rule, resize in rules.items():
            grid = resize(pos[:, 1:].reshape(1, h, w, 2).permute(0, 3, 1, 2), (to_h, to_w))
            assert grid.shape[2:] == (to_h, to_w)
            grid = grid.permute(0, 2, 3, 1).reshape(1, to_h * to_w, 2)
            np.save(DATA / f"{name}_{rule}.npy", torch.cat([pos[:, :1], grid], 1).numpy())


def save_arrays():
    ramp = np.arange(6).reshape(2, 3)
    for code in ("<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "|b1"):
        np.save(DATA / f"array_{code[1:]}.npy", ramp.astype(code))
    np.save(DATA / "array_scalar.npy", np.float32(2.5))
    np.save(DATA / "array_fortran.npy", np.asfortranarray(ramp.astype("<f4")))
    np.save(DATA / "array_big_endian.npy", ramp.astype(">f4"))
    np.save(DATA / "array_object.npy", np.array([None, "x"], dtype=object), allow_pickle=True)
    np.save(DATA / "array_structured.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    with open(DATA / "array_version2.npy", "wb") as file:
        np.lib.format.write_array(file, ramp.astype("<f4"), version=(2, 0))


def fill_corpora():
    """Seeds for the fuzzers: one file of each kind is enough for them to start from."""
    seeds = {
        "safetensors": ["plain.safetensors"],
        "pytorch": ["protocol4.pth", "legacy_protocol4.pth", "strided_zip.pth", "nested.pth",
                    "bad_os_system.pth"],
        "npy": ["array_f4.npy", "array_scalar.npy", "array_version2.npy", "array_structured.npy"],
    }
    for target, names in seeds.items():
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copy(DATA / name, CORPUS / target / name)
    header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  '
    tiny = len(header).to_bytes(8, "little") + header + bytes(4)
    (CORPUS / "safetensors" / "tiny.safetensors").write_bytes(tiny)
    with zipfile.ZipFile(DATA / "protocol4.pth") as archive:
        (CORPUS / "pytorch" / "bare.pkl").write_bytes(archive.read("protocol4/data.pkl"))


def main():
    torch.manual_seed(0)
    DATA.mkdir(parents=True, exist_ok=True)
    save_checkpoints()
    save_bad_checkpoints()
    save_positions()
    save_arrays()
    fill_corpora()
    total = sum(file.stat().st_size for file in DATA.iterdir())
    print(f"{total} bytes in {DATA}")


if __name__ == "__main__":
    main()
