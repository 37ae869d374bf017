"""Writes data/label_maps.json and data/label_map.pt: token labels out of label maps.

usage: make_label_maps.py FOLDER of the official token-labeling repository (zihangJiang/TokenLabeling).
Targets are those of its tlt/data/mixup.py, which cuts with torchvision's roi_align. That code hands
(top, left, bottom, right) to a function that takes (left, top, right, bottom): it cuts the place that
mirrors the crop at the diagonal. Here the two are exchanged beforehand, so that the crop itself is cut.
"""
import importlib.util
import json
import pathlib
import sys

import torch
import torchvision
from pattern import pattern

DATA = pathlib.Path(__file__).parent / "data"
COUNT, SIDE, CLASSES, GRID, SMOOTHING = 5, 6, 11, 4, 0.1
# left, top, right and bottom of the part in the stored image, and whether it is mirrored
VIEWS = [(0, 0, 1, 1, False), (0, 0, 1, 1, True), (0.125, 0.25, 0.625, 1, False),
         (0.125, 0.25, 0.625, 1, True), (0.5, 0.0625, 0.5625, 0.125, False),
         (0.6875, 0.75, 1, 0.875, True)]


def maps():
    """[2, COUNT, SIDE, SIDE] for each view, in half precision as published."""
    logits = torch.from_numpy(pattern("label_maps", (len(VIEWS), CLASSES, SIDE, SIDE))) * 40 + 8
    values, indices = logits.half().topk(COUNT, 1)
    return torch.stack([values, indices.half()], 1)


def official_input(stored):
    """What its data set and transforms give: maps with crops and labels hidden in a third part."""
    rows = []
    for one, (left, top, right, bottom, mirrored) in zip(stored.float(), VIEWS):
        if mirrored:
            one, left, right = one.flip(3), 1 - right, 1 - left
        hidden = torch.zeros_like(one[:1])
        hidden[0, 0, 0, :4] = torch.tensor([left, top, right - left, bottom - top])
        rows.append(torch.cat([one, hidden]))
    return torch.stack(rows)


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER-OF-THE-OFFICIAL-REPOSITORY")
    spec = importlib.util.spec_from_file_location("mixup", f"{sys.argv[1]}/tlt/data/mixup.py")
    mixup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mixup)
    stored = maps()
    found = mixup.mixup_target(official_input(stored), CLASSES, 1.0, SMOOTHING, "cpu", GRID)
    assert found.shape == (len(VIEWS), CLASSES, 2 + GRID * GRID)
    about = (f"zihangJiang/TokenLabeling 9dbfd59 tlt/data/mixup.py, torchvision "
             f"{torchvision.__version__.split('+')[0]}, float32")
    torch.save(stored[2], DATA / "label_map.pt")
    (DATA / "label_maps.json").write_text(json.dumps(
        {"reference": about, "count": COUNT, "side": SIDE, "classes": CLASSES, "grid": GRID,
         "smoothing": SMOOTHING, "views": VIEWS,
         "maps": [one.float().flatten().tolist() for one in stored],
         "images": found[:, :, 1].flatten().tolist(),
         "tokens": found[:, :, 2:].transpose(1, 2).flatten().tolist()}) + "\n")
    print(found[:, :, 1].max(1), found.sum(1)[:, 1])


if __name__ == "__main__":
    main()
