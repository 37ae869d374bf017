"""Writes ../unit/data/data/segmentation.safetensors: what OpenCV makes of small pictures and label
images (bilinear and nearest resizes, brightness, contrast, saturation and hue as mmsegmentation
changes them), and what mmsegmentation's rules make of sizes. The names of the tensors have what was
done. Needs opencv-python-headless (4.8 and 5.0 agree), numpy and safetensors."""
import pathlib
import zlib

import cv2
import numpy as np
from safetensors.numpy import save_file


def picture(width, height, channels):
    """That of make_augment.py."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    mixed = (x * 374761393 + y * 668265263 + c * 2246822519) % 2**32
    mixed = ((mixed ^ (mixed >> 13)) * 1274126177) % 2**32
    slope = np.abs((x * 9 + y * 5 + c * 85) % 510 - 255) * 7 // 8 + (mixed >> 28)
    noisy = (x // 8 + y // 8) % 3 == 0
    return np.where(noisy, mixed >> 24, np.minimum(slope, 255)).astype(np.uint8)


def converted(values, alpha=1, beta=0):
    return np.clip(values.astype(np.float32) * np.float32(alpha) + np.float32(beta), 0,
                   255).astype(np.uint8)


def photometric(kind, amount):
    image = picture(64, 20, 3)  # a multiple of OpenCV's vectors: its remainders are not fused
    if kind == "brightness":
        return converted(image, beta=amount)
    if kind == "contrast":
        return converted(image, alpha=amount)
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    if kind == "saturation":
        hsv[:, :, 1] = converted(hsv[:, :, 1], alpha=amount)
    else:
        hsv[:, :, 0] = (hsv[:, :, 0].astype(int) + int(amount)) % 180
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)


def fitting(width, height, long_side, short_side):
    factor = min(max(long_side, short_side) / max(height, width),
                 min(long_side, short_side) / min(height, width))
    return int(width * float(factor) + 0.5), int(height * float(factor) + 0.5)


def checksums():
    """Of every colour, so that no rounding is missed: too much to store."""
    cube = np.stack(np.meshgrid(*[np.arange(256, dtype=np.uint8)] * 3, indexing="ij"), -1)
    colours = cube.reshape(4096, 4096, 3)
    hsv = cv2.cvtColor(colours, cv2.COLOR_RGB2HSV)
    hsv[:, :, 0] = (hsv[:, :, 0].astype(int) + 11) % 180
    turned = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
    return zlib.crc32(np.ascontiguousarray(turned).tobytes())


if __name__ == "__main__":
    cv2.setNumThreads(1)
    found = {}
    for width, height, w, h in [(40, 30, 17, 23), (40, 30, 47, 35), (40, 30, 80, 60), (40, 30, 20, 15),
                                (7, 5, 24, 24), (33, 64, 20, 20), (1, 1, 6, 4), (64, 3, 5, 9),
                                (90, 70, 8, 6), (31, 29, 31, 41)]:
        for channels in (3, 1):
            image = cv2.resize(picture(width, height, channels), (w, h),
                               interpolation=cv2.INTER_LINEAR)
            found[f"bilinear {width}x{height} {channels} {w}x{h}"] = image.reshape(h, w, channels)
        labels = cv2.resize(picture(width, height, 1)[:, :, 0] % 5, (w, h),
                            interpolation=cv2.INTER_NEAREST)
        found[f"nearest {width}x{height} 5 {w}x{h}"] = labels.reshape(h, w, 1)
    for kind, amounts in {"brightness": (-32, 17.3, 31.9), "contrast": (0.5, 0.93, 1.5),
                          "saturation": (0.5, 0.81, 1.5), "hue": (-18, -1, 7, 17)}.items():
        for amount in amounts:
            found[f"{kind} {amount}"] = photometric(kind, amount)
    sizes = [(683, 512, 2048, 512), (480, 360, 1024, 256), (480, 360, 3071, 767), (500, 375, 896, 224),
             (2048, 300, 2048, 512), (300, 2048, 1433, 358), (5, 3, 2048, 512), (512, 683, 1111, 277)]
    found["fitting"] = np.array([size + fitting(*size) for size in sizes], np.int64)
    found["hue of all colours 11"] = np.array([checksums()], np.int64)
    path = pathlib.Path(__file__).parent.parent / "unit/data/data/segmentation.safetensors"
    save_file({k: np.ascontiguousarray(v) for k, v in found.items()}, path,
              metadata={"opencv": cv2.__version__})
    print(f"{path.name}: {len(found)} tensors, {path.stat().st_size} bytes")
