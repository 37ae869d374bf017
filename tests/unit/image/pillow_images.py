"""Makes varied images with Pillow, and what Pillow's users get from each one: decoded, turned
upright, as RGB, the shorter side resized to 256 (bicubic), the central 224x224. Nothing but Pillow
is needed. Usage: pillow_images.py FOLDER; prints one line "FILE RESULT" per image."""
import os
import random
import struct
import sys
from pathlib import Path

from PIL import Image, ImageOps

BEFORE, CROP = 256, 224
FOLDER = Path(sys.argv[1])


def picture(width, height, seed, mode="RGB"):
    """Blurred shapes, fine grain and a slope of brightness: something of everything in a photo."""
    source = random.Random(seed)
    bands = []
    for _ in range(4):
        shapes = Image.frombytes("L", (7, 5), source.randbytes(35)).resize((width, height), 3)
        grain_size = min(width, 800), min(height, 600)
        grain = Image.frombytes("L", grain_size, source.randbytes(grain_size[0] * grain_size[1]))
        slope = Image.linear_gradient("L").rotate(source.choice((0, 90, 180))).resize(
            (width, height), 2)
        mixed = Image.blend(shapes, slope, 0.3)
        bands.append(Image.blend(mixed, grain.resize((width, height), 2), 0.2))
    if mode in ("RGBA", "CMYK"):
        return Image.merge(mode, bands)
    if mode == "LA":
        return Image.merge(mode, bands[:2])
    if mode == "I;16":
        low, high = bands[0].tobytes(), bands[1].tobytes()
        return Image.frombytes("I;16", (width, height), bytes(
            byte for pair in zip(low, high) for byte in pair))
    return Image.merge("RGB", bands[:3]).convert(mode)


def exif(orientation):
    """A TIFF structure whose only entry is the orientation."""
    return b"Exif\0\0II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def save(name, image, **options):
    image.save(FOLDER / name, **options)
    return name


def jpegs():
    for width, height in ((1, 1), (2, 1), (3, 7), (16, 16), (31, 500), (500, 375), (375, 500),
                          (640, 481), (1023, 767), (2000, 150)):
        yield save(f"{width}x{height}.jpg", picture(width, height, width), quality=90)
    base = picture(400, 300, 1)
    for name in ("4:2:0", "4:2:2", "4:4:4"):
        yield save(f"s{name.replace(':', '')}.jpg", base, subsampling=name, quality=85)
        yield save(f"p{name.replace(':', '')}.jpg", base, subsampling=name, progressive=True)
    yield save("coarse.jpg", base, quality=10)
    yield save("fine.jpg", base, quality=100)
    yield save("grey.jpg", picture(301, 402, 2, "L"), quality=80)
    yield save("cmyk.jpg", picture(300, 260, 3, "CMYK"), quality=90)
    yield save("cmyk_progressive.jpg", picture(260, 300, 4, "CMYK"), progressive=True)
    for orientation in range(1, 9):
        yield save(f"exif{orientation}.jpg", picture(350, 280, 5), exif=exif(orientation))
    yield save("6000x4000.jpg", picture(6000, 4000, 6), quality=85)


def pngs():
    for width, height in ((1, 1), (1, 40), (257, 256), (500, 375)):
        yield save(f"{width}x{height}.png", picture(width, height, width), compress_level=1)
    for mode in ("1", "L", "LA", "RGBA", "I;16"):
        name = f"mode_{mode.replace(';', '')}.png"
        yield save(name, picture(320, 290, 7, mode), compress_level=1)
    for colours in (2, 11, 256):
        yield save(f"palette{colours}.png", picture(330, 270, 8).quantize(colours))
    yield save("palette_transparent.png", picture(300, 300, 9).quantize(64), transparency=3)
    yield save("exif6.png", picture(310, 280, 10), exif=exif(6)[6:], compress_level=1)
    yield save("6000x4000.png", picture(6000, 4000, 11, "1"), compress_level=1)


def webps():
    yield save("lossy.webp", picture(500, 375, 12), quality=80, method=0)
    yield save("coarse.webp", picture(301, 299, 13), quality=5, method=0)
    yield save("lossless.webp", picture(280, 300, 14), lossless=True, quality=0, method=0)
    yield save("alpha.webp", picture(300, 280, 15, "RGBA"), quality=80, method=0)
    yield save("exif8.webp", picture(300, 280, 16), quality=80, method=0, exif=exif(8)[6:])


def photos():
    """Real ones, where the environment names a folder of them."""
    root = os.environ.get("CAIT_DATA")
    files = sorted(Path(root, "imagenette-mini", "val").glob("*/*")) if root else []
    for number, file in enumerate(files[:: max(len(files) // 20, 1)][:20]):
        target = FOLDER / f"photo{number}.jpg"
        target.write_bytes(file.read_bytes())
        yield target.name


def upright(path):
    image = Image.open(path)
    if image.mode.startswith("I"):
        # Pillow clips 16-bit grey at 255; the high byte is what we promise.
        raw = image.tobytes()
        step = len(raw) // (image.width * image.height)
        image = Image.frombytes("L", image.size, raw[1::step])
    return ImageOps.exif_transpose(image).convert("RGB")


def centre(size):
    """Half a pixel goes to the even side, as torchvision's CenterCrop rounds."""
    return int(round((size - CROP) / 2))


def expected(path):
    image = upright(path)
    width, height = image.size
    if width <= height:
        size = BEFORE, int(BEFORE * height / width)
    else:
        size = int(BEFORE * width / height), BEFORE
    image = image.resize(size, Image.BICUBIC)
    left, top = centre(size[0]), centre(size[1])
    return image.crop((left, top, left + CROP, top + CROP)).tobytes()


def main():
    for group in (jpegs(), pngs(), webps(), photos()):
        for name in group:
            result = FOLDER / (name + ".rgb")
            result.write_bytes(expected(FOLDER / name))
            print(name, result.name)


if __name__ == "__main__":
    main()
