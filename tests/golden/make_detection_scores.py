"""Writes data/detection_scores.json: COCO's twelve numbers of boxes and of masks by pycocotools (2.0.11).

Made-up images with crowds, small and large objects, images without objects, without detections and without
either, a class that is never annotated, one that is never found, scores that tie within an image and between
images, boxes that touch a threshold exactly, and more than a hundred detections of a class in one image.
Coordinates are quarters and scores 64ths, so that they are exact as float32. Image ids are not in order.

Masks are judged without the boxes of the results, as mmdetection and detectron2 do: with them pycocotools
takes the area of the box for that of the mask.
"""
import contextlib
import copy
import io
import json
import pathlib

import numpy as np
from pycocotools import mask as tools
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

PATH = pathlib.Path(__file__).parent / "data" / "detection_scores.json"
CLASSES = 5  # the last but one is never annotated, the last one never found
SIZES = [(160, 130), (96, 64), (300, 220)]


def ellipse(box, width, height):
    x, y, w, h = box
    rows, columns = np.mgrid[:height, :width] + 0.5
    inside = ((columns - x - w / 2) / (w / 2)) ** 2 + ((rows - y - h / 2) / (h / 2)) ** 2 <= 1
    mask = tools.encode(np.asfortranarray(inside.astype(np.uint8)))
    return {"size": [height, width], "counts": mask["counts"].decode()}


def quarters(values):
    return [float(v) for v in np.round(np.asarray(values) * 4) / 4]


def random_box(random, width, height):
    share = random.choice([0.08, 0.2, 0.5, 0.8])
    w, h = max(3, share * width * random.uniform(0.6, 1.2)), max(3, share * height * random.uniform(0.6, 1.2))
    return quarters([random.uniform(0, max(1, width - w)), random.uniform(0, max(1, height - h)), w, h])


def moved(random, box):
    x, y, w, h = box
    step = random.choice([0, 0.03, 0.1, 0.3])
    return quarters([x + random.normal() * step * w, y + random.normal() * step * h,
                     max(1, w * (1 + random.normal() * step)), max(1, h * (1 + random.normal() * step))])


def made_up():
    random = np.random.default_rng(29)
    images, annotations, results = [], [], []
    for index in range(14):
        width, height = SIZES[index % 3]
        image = {"id": int((index * 5) % 14 + 1), "width": width, "height": height}
        images.append(image)
        mine = []
        for _ in range(0 if index in (3, 7, 8) else int(random.integers(1, 8))):
            box = random_box(random, width, height)
            label = int(random.choice([0, 0, 1, 2, 4]))
            crowd = int(random.random() < 0.15)
            x, y, w, h = box
            polygon = [[x, y, x + w, y, x + w, y + h, x, y + h]]
            segmentation = ellipse(box, width, height) if crowd or random.random() < 0.6 else polygon
            mine.append({"id": len(annotations) + len(mine) + 1, "image_id": image["id"], "category_id": label + 1,
                         "bbox": box, "area": w * h * random.choice([0.7, 1.0]), "iscrowd": crowd,
                         "segmentation": segmentation})
        annotations += mine
        if index in (5, 8):
            continue
        found = []
        for one in mine:
            for _ in range(int(random.integers(0, 4))):
                found.append((one["category_id"], moved(random, one["bbox"])))
        for _ in range(125 if index == 6 else 3):
            found.append((1 if index == 6 else int(random.integers(1, 5)), random_box(random, width, height)))
        for category, box in found:
            if category == CLASSES:
                continue
            results.append({"image_id": image["id"], "category_id": category, "bbox": box,
                            "score": int(random.integers(1, 64)) / 64, "segmentation": ellipse(box, width, height)})
    # Overlaps of exactly 0.5 and 0.75.
    annotations.append({"id": 900, "image_id": images[3]["id"], "category_id": 3, "bbox": [10.0, 10.0, 40.0, 20.0],
                        "area": 800.0, "iscrowd": 0, "segmentation": [[10, 10, 50, 10, 50, 30, 10, 30]]})
    for box, score in (([10.0, 10.0, 40.0, 10.0], 0.5), ([10.0, 10.0, 30.0, 20.0], 0.25)):
        results.append({"image_id": images[3]["id"], "category_id": 3, "bbox": box, "score": score,
                        "segmentation": tools.frPyObjects([[box[0], box[1], box[0] + box[2], box[1], box[0] + box[2],
                                                           box[1] + box[3], box[0], box[1] + box[3]]],
                                                          images[3]["height"], images[3]["width"])[0]})
        results[-1]["segmentation"]["counts"] = results[-1]["segmentation"]["counts"].decode()
    return images, annotations, results


def evaluate(images, annotations, results, kind):
    truth = COCO()
    truth.dataset = {"images": images, "annotations": copy.deepcopy(annotations),
                     "categories": [{"id": i + 1, "name": f"class {i}"} for i in range(CLASSES)]}
    found = copy.deepcopy(results)
    if kind == "segm":
        for one in found:
            del one["bbox"]
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        judge = COCOeval(truth, truth.loadRes(found), kind)
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    precision = judge.eval["precision"][:, :, :, 0, 2]
    curve = precision[0][:, precision[0].min(axis=0) >= 0].mean(axis=1)
    return {"stats": judge.stats.tolist(), "per_class": [float(precision[:, :, k].mean()) for k in range(CLASSES)],
            "curve50": curve.tolist()}


def main():
    images, annotations, results = made_up()
    numbers = {kind: evaluate(images, annotations, results, kind) for kind in ("bbox", "segm")}
    PATH.write_text(json.dumps({"classes": CLASSES, "images": images, "annotations": annotations,
                                "results": results} | numbers) + "\n")
    print({kind: numbers[kind]["stats"] for kind in numbers}, len(results))


if __name__ == "__main__":
    main()
