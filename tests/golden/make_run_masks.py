"""Writes data/run_masks.json: masks by pycocotools (2.0.11), from polygons and from pixels.

Polygons reach beyond their images, repeat corners, run back on themselves and have corners in the middle
of pixels, where rounding shows. Each case has the text of the runs, the area, the bounds, and the
overlaps with the masks before it of the same size, as an object and as a crowd.
"""
import json
import pathlib

import numpy as np
from pycocotools import mask as tools

PATH = pathlib.Path(__file__).parent / "data" / "run_masks.json"
SIZES = [(17, 13), (64, 40), (5, 90), (200, 3), (1, 1)]  # width, height


def polygons(random, width, height):
    count = int(random.integers(1, 4))
    result = []
    for _ in range(count):
        corners = int(random.integers(3, 9))
        spread = random.choice([0.6, 1.0, 3.0])
        points = random.uniform(-0.5, 0.5, (corners, 2)) * spread + random.uniform(0.2, 0.8, 2)
        points = points * [width, height]
        rounding = int(random.integers(0, 4))
        points = np.round(points * 2) / 2 if rounding == 3 else np.round(points, rounding)
        if random.random() < 0.3:
            points[-1] = points[0]
        if random.random() < 0.3:
            points[1] = points[2]
        result.append(points.flatten().tolist())
    return result


def case(mask, others):
    before = others.setdefault(tuple(mask["size"]), [])
    before.append(mask)
    overlaps = [float(tools.iou([mask], [other], [crowd])[0, 0]) for crowd in (0, 1) for other in before[-4:]]
    return {"height": mask["size"][0], "width": mask["size"][1], "text": mask["counts"].decode(),
            "area": int(tools.area(mask)), "bounds": tools.toBbox(mask).tolist(), "overlaps": overlaps}


def main():
    random = np.random.default_rng(29)
    others, drawn, pixels = {}, [], []
    for i in range(80):
        width, height = SIZES[i % len(SIZES)]
        shape = polygons(random, width, height)
        mask = tools.merge(tools.frPyObjects(shape, height, width))
        drawn.append({"polygons": shape} | case(mask, others))
    for i in range(30):
        width, height = SIZES[i % len(SIZES)]
        values = (random.random((height, width)) < random.choice([0.0, 0.05, 0.5, 0.97, 1.0])).astype(np.uint8)
        mask = tools.encode(np.asfortranarray(values))
        pixels.append({"pixels": "".join(map(str, values.flatten()))} | case(mask, others))
    PATH.write_text(json.dumps({"polygons": drawn, "pixels": pixels}) + "\n")


if __name__ == "__main__":
    main()
