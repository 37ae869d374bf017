"""Writes data/cait_training.safetensors and data/cait_heads_training.safetensors: loss, gradients and
ten SGD steps of timm's CaiT with 4 and with 8 talking heads."""
import json
import pathlib

import torch
from safetensors.numpy import save_file

import reference
from pattern import fill, images
from training import train

DATA = pathlib.Path(__file__).parent / "data"
CASES = {
    "cait": {"model": "cait_xxs24_224", "batch": 4,
             "set": {"image_size": "32", "classes": "5", "patch": "8", "dim": "32", "depth": "2",
                     "heads": "4", "class_layers": "2"}},
    "cait_heads": {"model": "cait_xxs24_224", "batch": 4,
                   "set": {"image_size": "32", "classes": "5", "patch": "8", "dim": "24",
                           "depth": "2", "heads": "8", "class_layers": "1"}},
}
LABELS = [0, 3, 1, 4]
LEARNING_RATE = {"cait": 0.05, "cait_heads": 0.03}


def write(family, case):
    model, _, words = reference.build(case)
    model.double().train()
    named = fill(model)
    x, labels = images(case["batch"], 3, 32, 32).double(), torch.tensor(LABELS)
    rate = LEARNING_RATE[family]
    tensors, losses = train(model, named, x, labels, rate)
    assert all(later < sooner for sooner, later in zip(losses, losses[1:])), losses
    # One metadata entry only: the writer does not keep the order of several.
    about = case | {"labels": LABELS, "learning_rate": rate, "reference": words,
                    "tensors": "grad.NAME at the pattern weights; losses before each of the steps"}
    path = DATA / f"{family}_training.safetensors"
    save_file(tensors, path, metadata={"case": json.dumps(about)})
    path.chmod(0o644)  # it is written through a private temporary file
    zero = [name for name, value in tensors.items() if not value.any()]
    print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes")
    print("losses", " ".join(f"{loss:.6f}" for loss in losses))
    print("gradients that are zero:", " ".join(zero))


if __name__ == "__main__":
    for family, case in CASES.items():
        write(family, case)
