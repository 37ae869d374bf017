"""The JPEG files that both sides of `./dev bench data` read: 500x375, the usual size in ImageNet.
Photos where CAIT_DATA names a folder with imagenette-mini, otherwise made from seeded noise."""
import os
from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (500, 375)
QUALITY = 90
COUNT = 128
CLASSES = 4


def noise(random, power):
    """Noise whose spectrum falls with the frequency to `power`, as that of photos does."""
    width, height = SIZE
    frequency = np.hypot(np.fft.rfftfreq(width)[None], np.fft.fftfreq(height)[:, None])
    frequency[0, 0] = 1
    phase = random.standard_normal(frequency.shape) + 1j * random.standard_normal(frequency.shape)
    field = np.fft.irfft2(phase / frequency**power, s=(height, width))
    return field / field.std()


def made(number):
    random = np.random.default_rng(number)
    brightness = 128 + 55 * noise(random, 1.3)
    pixels = np.stack([brightness + 18 * noise(random, 1.6) for _ in range(3)], axis=-1)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def photos():
    """COUNT files, spread over the classes; none where there are no photos."""
    root = os.environ.get("CAIT_DATA")
    files = sorted(Path(root, "imagenette-mini", "train").glob("*/*")) if root else []
    return files[:: max(len(files) // COUNT, 1)][:COUNT]


def write_images(folder):
    """Writes the class folders and says what is in them."""
    sources = photos()
    total = 0
    for number in range(COUNT):
        if sources:
            image = Image.open(sources[number]).convert("RGB").resize(SIZE, Image.BICUBIC)
        else:
            image = made(number)
        path = Path(folder, f"class{number % CLASSES}", f"{number}.jpg")
        path.parent.mkdir(exist_ok=True)
        image.save(path, quality=QUALITY)
        total += path.stat().st_size
    kind = "photos (imagenette-mini, enlarged)" if sources else "images made of 1/f noise"
    return (f"{COUNT} {kind}, {SIZE[0]}x{SIZE[1]} JPEG of quality {QUALITY}, "
            f"{total // COUNT // 1000} kB each")
