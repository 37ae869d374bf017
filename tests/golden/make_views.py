"""Writes ../unit/data/data/views.safetensors: what Pillow and torchvision make of given draws of a
view of DINO's multi-crop, step by step in the order of its code (facebookresearch/dino 7c446df,
DataAugmentationDINO). The names of the tensors have the draws."""
import pathlib

import numpy as np
import PIL
import torchvision
import torchvision.transforms.functional as tv
from PIL import ImageFilter, ImageOps
from safetensors.numpy import save_file

from make_augment import picture

ADJUST = [tv.adjust_brightness, tv.adjust_contrast, tv.adjust_saturation, tv.adjust_hue]
PART = (7, 4, 31, 24)  # left, top, width, height, of 50x37

# width, height, part, mirrored, order and factors of the jitter, grey, radius, solarized
DRAWS = [
    (24, 24, PART, 0, None, None, 0, 0, 0),
    (24, 24, PART, 1, (0, 1, 2, 3), (1.3, 0.7, 1.15, 0.08), 0, 0, 0),
    (24, 24, PART, 0, (3, 2, 1, 0), (0.6, 1.4, 0.8, -0.1), 0, 1.7, 0),
    (24, 24, PART, 1, (2, 0, 3, 1), (1.2, 0.9, 1.2, 0.05), 1, 0.1, 1),
    (24, 24, (0, 0, 50, 37), 0, None, None, 1, 2.0, 1),
    (24, 24, (0, 0, 50, 37), 1, None, None, 0, 0, 1),
    (12, 12, (30, 20, 9, 11), 1, (1, 3, 0, 2), (0.75, 1.1, 1.0, 0.02), 0, 0.8, 0),
    (12, 12, (30, 20, 9, 11), 0, (1, 2, 0, 3), (1.1, 0.65, 0.9, -0.06), 1, 0, 0),
    (12, 12, (13, 1, 12, 12), 0, None, None, 0, 0.45, 1),
]


def view(width, height, part, mirrored, order, factors, grey, radius, solarized):
    left, top, wide, high = part
    image = tv.resized_crop(picture(50, 37, 3), top, left, high, wide, (height, width),
                            tv.InterpolationMode.BICUBIC)
    if mirrored:
        image = tv.hflip(image)
    for which in order or []:
        image = ADJUST[which](image, factors[which])
    if grey:
        image = tv.to_grayscale(image, 3)
    if radius:
        image = image.filter(ImageFilter.GaussianBlur(radius=radius))
    if solarized:
        image = ImageOps.solarize(image)
    return np.asarray(image)


def text(values):
    return ",".join(map(str, values)) if values else "-"


if __name__ == "__main__":
    assert int(PIL.__version__.split(".")[0]) < 13, "resizes differ from Pillow 13 on"
    found = {}
    for draw in DRAWS:
        width, height, part, mirrored, order, factors, grey, radius, solarized = draw
        name = (f"view {width}x{height} {text(part)} {mirrored} {text(order)} {text(factors)} "
                f"{grey} {radius} {solarized}")
        found[name] = np.ascontiguousarray(view(*draw))
    path = pathlib.Path(__file__).parent.parent / "unit/data/data/views.safetensors"
    save_file(found, path, metadata={"pillow": PIL.__version__,
                                     "torchvision": torchvision.__version__})
    print(f"{path.name}: {len(found)} tensors, {path.stat().st_size} bytes")
