"""Golden files of families whose reference is a paper's own repository, not timm.

A make_FAMILY.py names the folder of a checkout on its command line, builds the model of a case from
it and leaves the rest to these functions: cases, one training run, counts.
"""
import json
import pathlib
import sys

import torch
from make_models import deviation, stored, write
from pattern import fill, images
from reference import parse_size
from safetensors.numpy import save_file
from torch.utils.flop_counter import FlopCounterMode
from training import train

DATA = pathlib.Path(__file__).parent / "data"
LABELS = [0, 3, 1, 4]
NOISE = 1e-12  # what float64 leaves of a gradient that is zero
HOW = ("one image, 1000 classes, one multiply-add = 1: Linear, convolution and matrix products by "
       "output size times fan-in, without biases; nothing else is counted. Half of "
       "torch.utils.flop_counter's figure. params: every learnable number.")


def checkout():
    """Makes the repository that the command line names importable."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER-OF-THE-OFFICIAL-REPOSITORY")
    sys.path.insert(0, sys.argv[1])
    torch.set_num_threads(1)


def words(repository):
    return f"{repository}, torch {torch.__version__.split('+')[0]}, float64"


@torch.no_grad()
def run(item, config, build, read, dtype):
    model = build(config).to(dtype).eval()
    fill(model)
    size = parse_size(config["image_size"])
    return read(model, images(item["batch"], int(config["channels"]), *size).to(dtype))


def make_cases(family, repository, cases, presets, build, read):
    """build(config) gives the reference model, read(model, images) its taps by name."""
    solved = []
    for item in cases:
        config = presets[item["model"]] | item["set"]
        outputs = run(item, config, build, read, torch.float64)
        error = deviation(outputs, run(item, config, build, read, torch.float32))
        assert error < 5e-6, f"{item['name']}: fp32 is off by {error}"
        print(f"  {family}/{item['name']}: std {outputs['logits'].std().item():.3f}, "
              f"fp32 off by {error:.1e}")
        shown = {key: value for key, value in item.items() if key != "taps"}
        solved.append(shown | {"reference": words(repository), "outputs": {
            tap: stored(outputs[tap]) for tap in item["taps"]}})
    write(DATA / f"{family}.json", solved)


def make_training(family, repository, item, learning_rate, presets, build):
    config = presets[item["model"]] | item["set"]
    model = build(config).double().train()
    named = {name: tensor for name, tensor in fill(model).items()
             if not name.endswith("num_batches_tracked")}
    size = parse_size(config["image_size"])
    x, labels = images(item["batch"], 3, *size).double(), torch.tensor(LABELS)
    tensors, losses = train(model, named, x, labels, learning_rate, NOISE)
    assert all(later < sooner for sooner, later in zip(losses, losses[1:])), losses
    about = item | {"labels": LABELS, "learning_rate": learning_rate,
                    "reference": words(repository),
                    "tensors": "grad.NAME at the pattern weights; after.NAME of running statistics "
                               "after one pass; losses before each of the steps"}
    path = DATA / f"{family}_training.safetensors"
    save_file(tensors, path, metadata={"case": json.dumps(about)})
    path.chmod(0o644)  # it is written through a private temporary file
    print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes")
    print("losses", " ".join(f"{loss:.6f}" for loss in losses))
    print("gradients that are zero:", [name for name, value in tensors.items() if not value.any()])


def make_counts(family, repository, models):
    """models: name of ours → (function that builds the reference's, image size)."""
    rows = []
    for name, (build, size) in models.items():
        with torch.device("meta"):
            model = build().eval().requires_grad_(False)
            with FlopCounterMode(display=False) as flops:
                model(torch.empty(1, 3, size, size))
        rows.append({"name": name, "registered_in_timm": False, "image_size": size,
                     "params": sum(p.numel() for p in model.parameters()),
                     "macs": flops.get_total_flops() // 2})
        print(f"{name:24} {rows[-1]['params'] / 1e6:8.2f} M {rows[-1]['macs'] / 1e9:8.2f} GMAC")
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    about = json.dumps({"reference": repository, "counted": HOW})[1:-1]
    (DATA / f"counts_{family}.json").write_text(f'{{{about},\n "models": [\n{lines}\n]}}\n')
