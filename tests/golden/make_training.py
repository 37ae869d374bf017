"""Writes data/cait_training.safetensors: loss, gradients and ten SGD steps of timm's CaiT."""
import json
import pathlib

import torch
from safetensors.numpy import save_file

import reference
from pattern import fill, images
from training import train

PATH = pathlib.Path(__file__).parent / "data" / "cait_training.safetensors"
CASE = {"model": "cait_xxs24_224", "batch": 4,
        "set": {"image_size": "32", "classes": "5", "patch": "8", "dim": "32", "depth": "2",
                "heads": "4", "class_layers": "2"}}
LABELS = [0, 3, 1, 4]
LEARNING_RATE = 0.05


def main():
    model, _, words = reference.build(CASE)
    model.double().train()
    named = fill(model)
    x, labels = images(CASE["batch"], 3, 32, 32).double(), torch.tensor(LABELS)
    tensors, losses = train(model, named, x, labels, LEARNING_RATE)
    assert all(later < sooner for sooner, later in zip(losses, losses[1:])), losses
    # One metadata entry only: the writer does not keep the order of several.
    about = CASE | {"labels": LABELS, "learning_rate": LEARNING_RATE, "reference": words,
                    "tensors": "grad.NAME at the pattern weights; losses before each of the steps"}
    save_file(tensors, PATH, metadata={"case": json.dumps(about)})
    PATH.chmod(0o644)  # it is written through a private temporary file
    zero = [name for name, value in tensors.items() if not value.any()]
    print(f"{PATH.name}: {len(tensors)} tensors, {PATH.stat().st_size} bytes")
    print("losses", " ".join(f"{loss:.6f}" for loss in losses))
    print("gradients that are zero:", " ".join(zero))


if __name__ == "__main__":
    main()
