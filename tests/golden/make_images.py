"""Makes the encoded images under tests/unit/image/data/decode and tests/fuzz/corpus.

Each one is small and differs from the others in how it is stored. pillow.bin holds the pixels that
Pillow gives for all of them, one after the other; index.txt names them. Run again only to change a
fixture:

    python tests/golden/make_images.py      # needs Pillow, numpy and cjpeg (libjpeg-turbo-progs)
"""

import io
import pathlib
import shutil
import struct
import subprocess
import zlib

import numpy as np
from PIL import Image, ImageOps

TESTS = pathlib.Path(__file__).resolve().parents[1]
DATA = TESTS / "unit" / "image" / "data" / "decode"
CORPUS = TESTS / "fuzz" / "corpus"

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
PNG_CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
         (0, 1, 1, 2)]  # first column, first row, column step, row step


def picture(width, height, channels=3, seed=0):
    """Gradients, edges and noise: smooth parts, sharp parts and every value."""
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = []
    for c in range(channels):
        wave = np.sin(x / (3 + 2 * c) + seed) + np.cos(y / (4 + c))
        ramp = (x * (c + 1) + y * (3 - c)) / max(1, width + height)
        disc = ((x - width / 2) ** 2 + (y - height / 3) ** 2) < (min(width, height) / (3 + c)) ** 2
        planes.append(110 + 45 * wave + 40 * ramp - 70 * disc + rng.normal(0, 9, x.shape))
    return np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)


def image(width, height, mode="RGB", seed=0):
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = picture(width, height, channels, seed)
    return Image.frombytes(mode, (width, height), pixels.tobytes())


def saved(source, kind, **options):
    target = io.BytesIO()
    source.save(target, kind, **options)
    return target.getvalue()


def cjpeg(source, *options):
    ppm = saved(source, "PPM")
    return subprocess.run(["cjpeg", *options], input=ppm, stdout=subprocess.PIPE, check=True).stdout


def exif(orientation, order="<", kind=3):
    """A TIFF structure with two tags, the second of which is the orientation."""
    value = struct.pack(order + "HH", orientation, 0) if kind == 3 else struct.pack(
        order + "I", orientation)
    return (
        b"Exif\0\0"
        + (b"II" if order == "<" else b"MM")
        + struct.pack(order + "HIH", 42, 8, 2)
        + struct.pack(order + "HHIHH", 0x0103, 3, 1, 6, 0)
        + struct.pack(order + "HHI", 0x0112, kind, 1)
        + value
        + struct.pack(order + "I", 0)
    )


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(
        ">I", zlib.crc32(name + content))


def packed_rows(samples, bits, filters):
    """Filtered rows of an image (height, width, channels); the filter types take turns."""
    height, width, channels = samples.shape
    if width == 0 or height == 0:
        return b""
    if bits == 16:
        rows = samples.astype(">u2").reshape(height, -1).view(np.uint8)
    elif bits == 8:
        rows = samples.astype(np.uint8).reshape(height, -1)
    else:
        ones = (samples.reshape(height, -1, 1) >> np.arange(bits - 1, -1, -1)) & 1
        rows = np.packbits(ones.reshape(height, -1).astype(np.uint8), axis=1)
    step = max(1, channels * bits // 8)
    out = bytearray()
    above = np.zeros(rows.shape[1], np.int32)
    for y, row in enumerate(rows.astype(np.int32)):
        left = np.concatenate([np.zeros(step, np.int32), row[:-step]])[: len(row)]
        corner = np.concatenate([np.zeros(step, np.int32), above[:-step]])[: len(row)]
        guess = left + above - corner
        distance = np.abs(np.stack([guess - left, guess - above, guess - corner]))
        paeth = np.choose(distance.argmin(axis=0), [left, above, corner])
        kind = filters[y % len(filters)]
        predicted = [0 * row, left, above, (left + above) // 2, paeth][kind]
        out.append(kind)
        out += ((row - predicted) & 255).astype(np.uint8).tobytes()
        above = row
    return bytes(out)


def png(samples, bits, colour, interlaced=False, before=b"", after=b"", parts=1,
        filters=(0, 1, 2, 3, 4)):
    """A PNG that Pillow cannot write itself: any depth, Adam7, any extra chunks."""
    samples = np.asarray(samples).reshape(*np.asarray(samples).shape[:2], PNG_CHANNELS[colour])
    height, width, _ = samples.shape
    if interlaced:
        raw = b"".join(
            packed_rows(samples[y::dy, x::dx], bits, filters) for x, y, dx, dy in ADAM7)
    else:
        raw = packed_rows(samples, bits, filters)
    data = zlib.compress(raw, 9)
    size = -(-len(data) // parts)
    idat = b"".join(chunk(b"IDAT", data[i : i + size]) for i in range(0, len(data), size))
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + idat + after
            + chunk(b"IEND", b""))


def jpegs():
    base = image(37, 29)
    yield "jpeg_420", saved(base, "JPEG", subsampling="4:2:0")
    yield "jpeg_422", saved(base, "JPEG", subsampling="4:2:2")
    yield "jpeg_444", saved(base, "JPEG", subsampling="4:4:4")
    yield "jpeg_411", cjpeg(base, "-sample", "4x1")
    yield "jpeg_440", cjpeg(base, "-sample", "1x2")
    yield "jpeg_410", cjpeg(base, "-sample", "4x2")
    yield "jpeg_grey", saved(image(37, 29, "L"), "JPEG")
    yield "jpeg_progressive", saved(base, "JPEG", progressive=True)
    yield "jpeg_progressive_444", saved(base, "JPEG", progressive=True, subsampling="4:4:4")
    yield "jpeg_progressive_grey", saved(image(21, 34, "L"), "JPEG", progressive=True)
    yield "jpeg_arithmetic", cjpeg(base, "-arithmetic")
    yield "jpeg_quality10", saved(base, "JPEG", quality=10)
    yield "jpeg_quality100", saved(base, "JPEG", quality=100)
    yield "jpeg_optimised", saved(base, "JPEG", optimize=True)
    yield "jpeg_restarts", saved(base, "JPEG", restart_marker_blocks=2)
    yield "jpeg_adobe_rgb", saved(base, "JPEG", keep_rgb=True)
    yield "jpeg_icc", saved(base, "JPEG", icc_profile=bytes(400), comment="a comment")
    yield "jpeg_trailing", saved(base, "JPEG") + b"\0\xff\xd8 and more"
    yield "jpeg_fill_bytes", saved(base, "JPEG").replace(b"\xff\xdb", b"\xff\xff\xff\xff\xdb", 1)
    cmyk = saved(image(26, 19, "CMYK"), "JPEG", quality=90)
    yield "jpeg_cmyk", cmyk
    yield "jpeg_ycck", as_ycck(cmyk)
    yield "jpeg_cmyk_progressive", saved(image(26, 19, "CMYK"), "JPEG", progressive=True)
    for width, height in [(1, 1), (2, 3), (8, 8), (16, 16), (17, 1), (1, 17), (48, 35)]:
        yield f"jpeg_{width}x{height}", saved(image(width, height, seed=width), "JPEG")
    for orientation in range(1, 9):
        yield f"jpeg_exif{orientation}", saved(image(13, 7), "JPEG", exif=exif(orientation))
    yield "jpeg_exif6_big_endian", saved(image(13, 7), "JPEG", exif=exif(6, ">"))
    yield "jpeg_exif8_long", saved(image(13, 7, "L"), "JPEG", exif=exif(8, "<", 4))
    yield "jpeg_exif9", saved(image(13, 7), "JPEG", exif=exif(9))


def as_ycck(cmyk):
    """The same file with the Adobe marker (or a new one) saying that the colours are YCCK."""
    at = cmyk.find(b"Adobe\0")
    if at >= 0:
        return cmyk[: at + 11] + b"\2" + cmyk[at + 12 :]
    adobe = b"\xff\xee" + struct.pack(">H", 14) + b"Adobe\0\x64\0\0\0\0\2"
    return cmyk[:2] + adobe + cmyk[2:]


def pngs():
    rgb = picture(23, 17)
    deep = (picture(23, 17, 4, 1).astype(np.uint16) << 8) | picture(23, 17, 4, 2)
    colours = picture(16, 16, 3, 3).reshape(-1, 3)
    indices = picture(23, 17, 1, 4)
    trns = chunk(b"tRNS", bytes(range(0, 240, 16)))

    def palette(count):
        return chunk(b"PLTE", colours[:count].tobytes())

    for bits in (1, 2, 4, 8):
        samples = indices >> (8 - bits)
        yield f"png_grey{bits}", png(samples, bits, GREY)
        yield f"png_grey{bits}_interlaced", png(samples, bits, GREY, True)
        yield f"png_palette{bits}", png(samples, bits, PALETTE, before=palette(1 << bits))
        yield f"png_palette{bits}_interlaced", png(samples, bits, PALETTE, True, palette(1 << bits))
    for bits, source in ((8, picture(23, 17, 4)), (16, deep)):
        for name, colour in (("grey", GREY), ("rgb", RGB), ("la", GREY_ALPHA), ("rgba", RGBA)):
            if (bits, name) == (8, "grey"):
                continue
            samples = source[..., : PNG_CHANNELS[colour]]
            yield f"png_{name}{bits}", png(samples, bits, colour)
            yield f"png_{name}{bits}_interlaced", png(samples, bits, colour, True)
    yield "png_palette_trns", png(indices >> 4, 8, PALETTE, before=palette(16) + trns)
    yield "png_palette_short", png(indices >> 4, 4, PALETTE, before=palette(11))
    yield "png_grey_trns", png(indices, 8, GREY, before=chunk(b"tRNS", b"\0\x70"))
    yield "png_rgb_trns", png(rgb, 8, RGB, before=chunk(b"tRNS", b"\0\1\0\2\0\3"))
    yield "png_rgb_palette", png(rgb, 8, RGB, before=palette(8))
    yield "png_parts", png(rgb, 8, RGB, parts=9)
    yield "png_exif6", png(rgb, 8, RGB, before=chunk(b"eXIf", exif(6)[6:]))
    yield "png_exif3_after", png(rgb, 8, RGB, after=chunk(b"eXIf", exif(3, ">")[6:]))
    yield "png_chunks", png(rgb, 8, RGB, before=b"".join([
        chunk(b"gAMA", struct.pack(">I", 100000)), chunk(b"sBIT", b"\5\6\5"),
        chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(1000))),
        chunk(b"iCCP", b"name\0\0" + zlib.compress(bytes(500))), chunk(b"prVt", b"?")]))
    for width, height in [(1, 1), (1, 9), (9, 1), (2, 2), (3, 5), (5, 3)]:
        samples = picture(width, height, 3, width)
        yield f"png_{width}x{height}", png(samples, 8, RGB)
        yield f"png_{width}x{height}_interlaced", png(samples, 8, RGB, True)
    yield "png_1x1_grey1_interlaced", png(np.ones((1, 1), np.uint8), 1, GREY, True)
    yield "png_pillow", saved(image(40, 30), "PNG")
    y, x = np.mgrid[0:4000, 0:6000]
    yield "png_6000x4000", png((((x // 400) + (y // 250)) & 1).astype(np.uint8), 1, GREY,
                               filters=(2,))


def webps():
    rgba = image(33, 21, "RGBA")
    yield "webp_lossy", saved(image(37, 29), "WEBP", quality=80)
    yield "webp_lossy_low", saved(image(48, 35), "WEBP", quality=5)
    yield "webp_lossless", saved(image(37, 29), "WEBP", lossless=True)
    yield "webp_lossy_alpha", saved(rgba, "WEBP", quality=80)
    yield "webp_lossless_alpha", saved(rgba, "WEBP", lossless=True, exact=True)
    yield "webp_grey", saved(image(20, 20, "L"), "WEBP", quality=90)
    yield "webp_exif6", saved(image(13, 7), "WEBP", lossless=True, exif=exif(6)[6:])
    yield "webp_exif7_prefixed", saved(image(13, 7), "WEBP", lossless=True, exif=exif(7, ">"))
    yield "webp_1x1", saved(image(1, 1), "WEBP", quality=80)
    yield "webp_17x1", saved(image(17, 1), "WEBP", quality=80)
    yield "webp_animated", saved(
        image(24, 18), "WEBP", save_all=True, lossless=True,
        append_images=[image(24, 18, seed=5)], duration=50)


def large_jpegs():
    y, x = np.mgrid[0:4000, 0:6000]
    flat = np.stack([40 + 60 * (x // 1500), 30 + 50 * (y // 1000), 200 - 40 * (x // 2000)], -1)
    source = Image.fromarray(flat.astype(np.uint8))
    # Arithmetic coding needs next to nothing for what is flat.
    yield "jpeg_6000x4000", cjpeg(source, "-arithmetic", "-quality", "30")


def decoded(data):
    """What Pillow makes of it, except for 16-bit grey, of which the high byte is wanted."""
    source = Image.open(io.BytesIO(data))
    if source.mode.startswith("I"):
        high = (np.asarray(source).astype(np.uint32) >> 8).astype(np.uint8)
        source = Image.fromarray(high)
    upright = source
    try:
        upright = ImageOps.exif_transpose(source)
    except SyntaxError:
        pass
    return upright.convert("RGB"), upright.convert("L")


def fnv(data):
    """FNV-1a over 64-bit little-endian words (the last one padded with zeros)."""
    words = np.frombuffer(data + bytes(-len(data) % 8), "<u8").tolist()
    value = 0xCBF29CE484222325
    for word in words:
        value = ((value ^ word) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def main():
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    index, pixels = [], bytearray()
    for extension, group in (("jpg", jpegs()), ("png", pngs()), ("webp", webps()),
                             ("jpg", large_jpegs())):
        for name, data in group:
            file = f"{name}.{extension}"
            (DATA / file).write_bytes(data)
            rgb, grey = decoded(data)
            raw = rgb.tobytes()
            # Of a large image only the checksum is kept.
            offset = len(pixels) if len(raw) < 100_000 else -1
            if offset >= 0:
                pixels += raw
            index.append(f"{file} {rgb.width} {rgb.height} {offset} "
                         f"{fnv(raw):016x} {fnv(grey.tobytes()):016x}")
    (DATA / "pillow.bin").write_bytes(pixels)
    (DATA / "index.txt").write_text("\n".join(index) + "\n")

    for kind, names in {
        "jpeg": ["jpeg_420", "jpeg_progressive", "jpeg_cmyk", "jpeg_restarts", "jpeg_arithmetic",
                 "jpeg_exif6", "jpeg_progressive_grey"],
        "png": ["png_rgba16_interlaced", "png_palette4", "png_grey1_interlaced", "png_exif6",
                "png_chunks", "png_parts", "png_la8"],
        "webp": ["webp_lossy", "webp_lossless_alpha", "webp_lossy_alpha", "webp_exif6",
                 "webp_animated"],
    }.items():
        folder = CORPUS / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in names:
            for file in DATA.glob(name + ".*"):
                shutil.copy(file, folder)


if __name__ == "__main__":
    main()
