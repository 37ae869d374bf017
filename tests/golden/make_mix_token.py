"""Writes data/mix_token.json: MixToken's boxes, and twenty steps of a small VOLO that exchanges tokens.

usage: make_mix_token.py FOLDER of the official VOLO repository (sail-sg/volo). Model, boxes, targets
and losses are its code; optimiser and schedule as in make_steps.py, everything in float64. The code
draws its numbers from NumPy: here it gets fixed ones, which are written down.
"""
import importlib.util
import json
import pathlib
import sys
import types

import numpy
import timm
import torch
from family import fill
from make_steps import ADAMW, CLASSES, COMMON, LABELS, STEPS, STEPS_PER_EPOCH, follow
from pattern import images, pattern
from torch.nn.functional import one_hot, softmax

PATH = pathlib.Path(__file__).parent / "data" / "mix_token.json"
SMOOTHING, SIDE, GRID = 0.1, 96, 6
VOLO = {"model": "volo_d1_224",
        "set": {"image_size": str(SIDE), "classes": str(CLASSES), "layers": "1,1,1,1",
                "dims": "8,16,16,16", "heads": "2,4,2,4", "stem": "6", "class_layers": "2",
                "aux_head": "true", "drop_path": "0"}}
RECIPE = ADAMW | {"loss.name": "token_label", "loss.smoothing": SMOOTHING, "loss.token_weight": 0.5,
                  "augment.mix_tokens": 1.0, "optim.decay_rule": "timm"}
CASES = [("volo_mix_token", "map"), ("volo_mix_token_truth", "blend"),
         ("volo_mix_token_labels", "label")]


def load(folder, path):
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), f"{folder}/{path}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FixedDraws:
    """NumPy as the code sees it, with the next of `draws` (share, row, column) for its random."""

    def __init__(self):
        self.sqrt, self.clip, self.int = numpy.sqrt, numpy.clip, int
        self.random = types.SimpleNamespace(beta=lambda a, b: self.share, randint=self.randint)

    def use(self, draw):
        self.share, self.places = draw[0], list(draw[1:])

    def randint(self, below):
        place = self.places.pop(0)
        assert 0 <= place < below
        return place


def draws_of(seed, count, height, width):
    random = numpy.random.RandomState(seed)
    return [(float(random.beta(1, 1)), int(random.randint(height)), int(random.randint(width)))
            for _ in range(count)]


def boxes(volo, numbers):
    """share, grid, middle; top, left, height and width of the box."""
    rows = []
    for seed, (height, width, scale) in enumerate([(14, 14, 2), (6, 6, 2), (3, 5, 1), (24, 7, 2)]):
        for draw in draws_of(seed, 50, height, width):
            numbers.use(draw)
            top, left, bottom, right = volo.rand_bbox((4, height * scale, width * scale, 8),
                                                      draw[0], scale)
            rows.append([draw[0], height, width, *draw[1:], int(top), int(left),
                         int(bottom - top), int(right - left)])
    return rows


def build(volo):
    return volo.VOLO([1, 1, 1, 1], img_size=SIDE, num_classes=CLASSES, stem_hidden_dim=6,
                     embed_dims=[8, 16, 16, 16], num_heads=[2, 4, 2, 4], mlp_ratios=[3, 3, 3, 3],
                     downsamples=[True, False, False, False],
                     outlook_attention=[True, False, False, False], post_layers=["ca", "ca"])


def targets(kind):
    """As the code wants them: [B, K], or [B, K, label, map, tokens …]."""
    off = SMOOTHING / CLASSES
    truth = one_hot(torch.tensor(LABELS), CLASSES).double() * (1 - SMOOTHING) + off
    if kind == "label":
        return truth
    of_map = softmax(4 * torch.from_numpy(pattern("map_targets", (len(LABELS), CLASSES))).double(),
                     -1)
    tokens = pattern("token_targets", (len(LABELS), GRID * GRID, CLASSES))
    tokens = softmax(4 * torch.from_numpy(tokens).double(), -1)
    return torch.cat([truth.unsqueeze(2), of_map.unsqueeze(2), tokens.transpose(1, 2)], 2)


def run(volo, losses, numbers, kind):
    model = build(volo).double().train()
    named = fill(model, lambda name: name)
    x = images(len(LABELS), 3, SIDE, SIDE).double()
    wanted = targets(kind)
    kinds = losses.TokenLabelGTCrossEntropy, losses.TokenLabelCrossEntropy
    loss = kinds[kind != "blend"](dense_weight=RECIPE["loss.token_weight"], classes=CLASSES)
    draws = draws_of(10, STEPS, GRID, GRID)

    def loss_at(step):
        numbers.use(draws[step])
        return loss(model(x), wanted)

    return {"draws": draws} | follow(named, 0, COMMON | RECIPE, loss_at)


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER-OF-THE-OFFICIAL-REPOSITORY")
    torch.set_num_threads(1)
    volo, losses = load(sys.argv[1], "models/volo"), load(sys.argv[1], "loss/cross_entropy")
    numbers = volo.np = FixedDraws()
    cases = []
    for name, kind in CASES:
        found = run(volo, losses, numbers, kind)
        recipe = COMMON | RECIPE | {"loss.class_target": kind}
        cases.append({"name": name} | VOLO | {"labels": LABELS, "recipe": recipe} | found)
        print(f"{name:22} losses {found['losses'][0]:.6f} .. {found['losses'][-1]:.6f}, norms "
              f"{min(found['norms']):.3f} to {max(found['norms']):.3f}, not compared: "
              f"{len(found['unseen'])}")
    about = (f"sail-sg/volo cf35775 models/volo.py and loss/cross_entropy.py, timm "
             f"{timm.__version__}, torch {torch.__version__.split('+')[0]}, float64")
    lines = ",\n".join(json.dumps(case) for case in cases)
    PATH.write_text(f'{{"reference": {json.dumps(about)},\n "steps_per_epoch": {STEPS_PER_EPOCH},\n'
                    f' "boxes": {json.dumps(boxes(volo, numbers))},\n "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
