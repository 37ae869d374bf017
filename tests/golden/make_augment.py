"""Writes what Pillow, timm and torchvision make of small pictures: resizes and single operations
(../unit/image/data/operations.safetensors), evaluation transforms, policy arguments, policy operations
of timm and torchvision, and mixup (../unit/data/data/transforms.safetensors). The names of the tensors say what was done.
data/policies.json has timm's tables of AutoAugment and of RandAugment.

The pictures are a formula, here and in ../unit/image/picture.h, so only results are stored. Needs
Pillow before version 13, which may resize down before across and then rounds differently.
"""
import json
import pathlib

import numpy as np
import PIL
import timm
import torch
import torchvision.transforms.autoaugment as tv_policies
import torchvision.transforms.functional as tv
from PIL import Image, ImageFilter, ImageOps
from safetensors.numpy import save_file
from timm.data import auto_augment as aa
from timm.data.mixup import mixup_target
from timm.data.transforms_factory import transforms_imagenet_eval

UNIT = pathlib.Path(__file__).parent.parent / "unit"
FILTERS = {"box": Image.BOX, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC,
           "lanczos": Image.LANCZOS}
LOOKUPS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
FILL = (124, 116, 104)


def picture(width, height, channels):
    """Slopes with a little noise, and blocks of nothing but noise."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    mixed = (x * 374761393 + y * 668265263 + c * 2246822519) % 2**32
    mixed = ((mixed ^ (mixed >> 13)) * 1274126177) % 2**32
    slope = np.abs((x * 9 + y * 5 + c * 85) % 510 - 255) * 7 // 8 + (mixed >> 28)
    noisy = (x // 8 + y // 8) % 3 == 0
    values = np.where(noisy, mixed >> 24, np.minimum(slope, 255)).astype(np.uint8)
    return Image.fromarray(values if channels == 3 else values[:, :, 0])


def values_of(image):
    array = np.asarray(image)
    return array if array.ndim == 3 else array[:, :, None]


def resizes():
    sizes = [(40, 30, 17, 23), (40, 30, 47, 35), (40, 30, 40, 11), (40, 30, 13, 30), (7, 5, 24, 24),
             (33, 64, 20, 20), (1, 1, 6, 4), (64, 3, 5, 9), (50, 2, 3, 1), (90, 70, 8, 6)]
    for name, method in FILTERS.items():
        for width, height, out_width, out_height in sizes:
            for channels in (3, 1) if width == 40 else (3,):
                image = picture(width, height, channels)
                yield (f"resize {name} {width}x{height} {channels} {out_width}x{out_height}",
                       image.resize((out_width, out_height), method))
        box = (1.5, 2.25, 36.5, 29.0)
        yield (f"resize {name} 40x30 3 18x40 box {' '.join(map(str, box))}",
               picture(40, 30, 3).resize((18, 40), method, box=box))


def geometric(name, value, image, lookup):
    fill = FILL if image.mode == "RGB" else FILL[0]
    function = {"rotate": aa.rotate, "shear_x": aa.shear_x, "shear_y": aa.shear_y,
                "translate_x": aa.translate_x_abs, "translate_y": aa.translate_y_abs,
                "translate_x_share": aa.translate_x_rel, "translate_y_share": aa.translate_y_rel}
    return function[name](image, value, fillcolor=fill, resample=LOOKUPS[lookup])


PLAIN = {
    "autocontrast": (lambda im, v: ImageOps.autocontrast(im), [0]),
    "equalize": (lambda im, v: ImageOps.equalize(im), [0]),
    "invert": (lambda im, v: ImageOps.invert(im), [0]),
    "posterize": (lambda im, v: aa.posterize(im, int(v)), [1, 4, 7]),
    "solarize": (lambda im, v: ImageOps.solarize(im, v), [26, 128, 127.5]),
    "solarize_add": (lambda im, v: aa.solarize_add(im, int(v)), [99, 110]),
    "colour": (aa.color, [0.19, 1.81]),
    "contrast": (aa.contrast, [0.19, 1.81]),
    "brightness": (aa.brightness, [0.19, 1.81]),
    "sharpness": (aa.sharpness, [0.19, 1.81]),
    "blur": (lambda im, v: im.filter(ImageFilter.GaussianBlur(v)), [0.1, 0.7, 2, 6]),
    "grey": (lambda im, v: tv.to_grayscale(im, 3) if im.mode == "RGB" else im, [0]),
    "hue": (tv.adjust_hue, [0.1, -0.3]),
    "flip": (lambda im, v: tv.hflip(im), [0]),
}
GEOMETRIC = {
    "rotate": [27, -8.5, 90], "shear_x": [0.27, -0.1], "shear_y": [0.27, -0.1],
    "translate_x": [5.72, -0.5], "translate_y": [-5.72, 3],
    "translate_x_share": [0.405], "translate_y_share": [-0.405],
}


def operations():
    width, height = 26, 19
    for channels in (3, 1):
        image = picture(width, height, channels)
        for name, (function, arguments) in PLAIN.items():
            for value in arguments:
                yield f"{name} {value} - {width}x{height} {channels}", function(image, value)
        for name, arguments in GEOMETRIC.items():
            for value in arguments:
                for lookup in LOOKUPS if channels == 3 else ["bicubic"]:
                    yield (f"{name} {value} {lookup} {width}x{height} {channels}",
                           geometric(name, value, image, lookup))


def evaluations():
    """As floats (3, height, width); the crop ratio of 1.15 pads, the other sizes do not fit."""
    cases = [(50, 37, 24, 24, 0.875, "center"), (37, 50, 24, 24, 1.15, "center"),
             (50, 37, 24, 24, 1.0, "squash"), (50, 37, 24, 18, 0.9, "squash"),
             (50, 37, 24, 24, 1.0, "border"), (20, 61, 24, 24, 0.875, "border"),
             (300, 3, 16, 16, 0.9, "center")]
    for width, height, rows, columns, ratio, mode in cases:
        size = rows if rows == columns else (rows, columns)
        transform = transforms_imagenet_eval(size, ratio, mode, interpolation="bicubic")
        yield (f"evaluate {width}x{height} {columns}x{rows} {ratio} {mode}",
               transform(picture(width, height, 3)).numpy())


# Every kind of operation that a policy of ours has, by timm's name.
KINDS = {
    "AutoContrast": "autocontrast", "Equalize": "equalize", "Invert": "invert", "Rotate": "rotate",
    "Posterize": "posterize", "PosterizeIncreasing": "posterize_increasing",
    "PosterizeOriginal": "posterize_original", "Solarize": "solarize",
    "SolarizeIncreasing": "solarize_increasing", "SolarizeAdd": "solarize_add", "Color": "colour",
    "ColorIncreasing": "colour_increasing", "Contrast": "contrast",
    "ContrastIncreasing": "contrast_increasing", "Brightness": "brightness",
    "BrightnessIncreasing": "brightness_increasing", "Sharpness": "sharpness",
    "SharpnessIncreasing": "sharpness_increasing", "ShearX": "shear_x", "ShearY": "shear_y",
    "TranslateXRel": "translate_x_rel", "TranslateYRel": "translate_y_rel",
    "Desaturate": "desaturate", "GaussianBlur": "gaussian_blur"}
SIGNS = {"plus": 0.0, "minus": 0.9}  # timm negates above a half


def draw_sign(sign):
    aa.random.random = lambda: SIGNS[sign]


def policy_arguments():
    """The numbers at magnitudes 0, 1.5, … 10 when no sign is drawn; posterize counts bits."""
    magnitudes = [0, 1.5, 3, 5, 7.25, 9, 9.99, 10]
    draw_sign("plus")
    for theirs, ours in KINDS.items():
        level = aa.LEVEL_TO_ARG[theirs] or (lambda magnitude, _: (0,))
        arguments = [level(magnitude, {})[0] for magnitude in magnitudes]
        if theirs == "Desaturate":  # ours is the factor that their function makes of the number
            arguments = [min(1.0, max(0.0, 1.0 - argument)) for argument in arguments]
        yield f"arguments {ours}", np.array([magnitudes, arguments], dtype=np.float64)


def policy_operations():
    """timm's own operations at two magnitudes and both signs, where the sign matters."""
    image = picture(26, 19, 3)
    hparams = {"img_mean": FILL, "interpolation": Image.BICUBIC}
    for theirs, ours in KINDS.items():
        for magnitude in (4, 9):
            operation = aa.AugmentOp(theirs, prob=1.0, magnitude=magnitude, hparams=hparams)
            results = {}
            for sign in SIGNS:
                draw_sign(sign)
                results[sign] = values_of(operation(image))
            if np.array_equal(results["plus"], results["minus"]):
                results = {"-": results["plus"]}
            for sign, result in results.items():
                yield f"policy {ours} {magnitude} {sign} 26x19", result


def trivial_operations():
    """torchvision's TrivialAugment: each operation of its list at two of its 31 strengths."""
    image = picture(26, 19, 3)
    space = tv_policies.TrivialAugmentWide()._augmentation_space(31)
    for index, (name, (magnitudes, signed)) in enumerate(space.items()):
        for strength in (7, 21) if magnitudes.ndim else (0,):
            magnitude = float(magnitudes[strength] if magnitudes.ndim else magnitudes)
            for sign, factor in {"plus": 1, "minus": -1}.items() if signed else [("-", 1)]:
                result = tv_policies._apply_op(image, name, factor * magnitude,
                                               tv.InterpolationMode.NEAREST, None)
                yield f"trivial {index} {strength} {sign} 26x19", values_of(result)


def policy_tables():
    def auto(name):
        return [[[KINDS[step.name], step.prob, step.magnitude] for step in pair]
                for pair in aa.auto_augment_policy(name, dict(aa._HPARAMS_DEFAULT))]

    def rand(name, increasing):
        choices = aa.rand_augment_choices(name, increasing)
        weights = choices if isinstance(choices, dict) else dict.fromkeys(choices, 1)
        return {KINDS[kind]: weight for kind, weight in weights.items()}

    return {
        "reference": f"timm {timm.__version__}: pairs of [kind, probability, magnitude]; weights",
        "auto": {name: auto(name) for name in ("original", "originalr", "v0", "v0r")},
        "rand": {"rand": rand("", False), "rand-inc1": rand("", True),
                 "rand-tweights": rand("weights", False), "rand-t3a": rand("3a", False),
                 "rand-t3aw": rand("3aw", False)}}


def mixups():
    labels = torch.tensor([3, 0, 2, 2])
    for share, smoothing in [(0.3, 0.1), (1.0, 0.1), (0.75, 0.0)]:
        yield (f"targets {share} {smoothing}",
               mixup_target(labels, 5, share, smoothing).numpy().astype(np.float32))
    shares = torch.tensor([0.2, 0.9, 0.5, 1.0])[:, None]
    yield "targets element 0.1", mixup_target(labels, 5, shares, 0.1).numpy().astype(np.float32)


def write(path, tensors, transform=lambda value: value):
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {name: np.ascontiguousarray(transform(value)) for name, value in tensors}
    versions = {"pillow": PIL.__version__, "torch": torch.__version__}
    save_file(found, path, metadata=versions)
    print(f"{path.name}: {len(found)} tensors, {path.stat().st_size} bytes")


if __name__ == "__main__":
    assert int(PIL.__version__.split(".")[0]) < 13, "resizes differ from Pillow 13 on"
    write(UNIT / "image/data/operations.safetensors", [*resizes(), *operations()], values_of)
    write(UNIT / "data/data/transforms.safetensors",
          [*evaluations(), *policy_arguments(), *policy_operations(), *trivial_operations(),
           *mixups()])
    path = UNIT.parent / "golden/data/policies.json"
    path.write_text(json.dumps(policy_tables()).replace(", [[", ",\n[[").replace("}, ", "},\n") + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")
