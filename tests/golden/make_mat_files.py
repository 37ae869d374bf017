#!/usr/bin/env python3
"""Writes small files in the form of Flowers-102's and Stanford Cars' label files, for
tests/unit/data/sources/ and the fuzzer's corpus.

Needs NumPy and SciPy. Run from anywhere: tests/golden/make_mat_files.py
"""
from pathlib import Path

import numpy as np
from scipy.io import savemat

TESTS = Path(__file__).resolve().parents[1]
FOLDER = TESTS / "unit" / "data" / "data"
CORPUS = TESTS / "fuzz" / "corpus" / "mat"

# Seven images; the types are those of the published files: small ones, however few the bits.
LABELS = np.array([[77, 102, 1, 77, 3, 1, 102]], dtype=np.uint8)
PARTS = {"trnid": np.array([[6, 1]], dtype=np.uint16),
         "valid": np.array([[2]], dtype=np.uint16),
         "tstid": np.array([[7, 3, 4, 5]], dtype=np.uint16)}
CARS = ["AM General Hummer SUV 2000", "Acura RL Sedan 2012", "Ram C/V Cargo Van Minivan 2012"]


def structs(fields, rows):
    array = np.zeros((1, len(rows)), dtype=[(field, object) for field in fields])
    for place, row in zip(array[0], rows):
        for field, value in zip(fields, row):
            place[field] = value if isinstance(value, str) else np.array([[value]])
    return array


def cells(texts):
    array = np.zeros((1, len(texts)), dtype=object)
    for i, text in enumerate(texts):
        array[0, i] = text
    return array


def part(labels):
    box = [np.uint8(39), np.uint16(116), np.uint16(569), np.uint16(375)]
    return structs(["bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname"],
                   [box + [np.uint8(label), f"{i + 1:05}.jpg"] for i, label in enumerate(labels)])


def main():
    FOLDER.mkdir(exist_ok=True)
    CORPUS.mkdir(parents=True, exist_ok=True)
    for folder, name, content, packed in [
            (FOLDER, "imagelabels.mat", {"labels": LABELS}, True),
            (FOLDER, "imagelabels_plain.mat", {"labels": LABELS.astype(np.float64)}, False),
            (FOLDER, "setid.mat", PARTS, True),
            (FOLDER, "cars_meta.mat", {"class_names": cells(CARS)}, True),
            (FOLDER, "cars_train_annos.mat", {"annotations": part([3, 1])}, True),
            (FOLDER, "cars_test_annos_withlabels.mat", {"annotations": part([2, 2, 1])}, False),
            (FOLDER, "cars_annos.mat",
             {"annotations": structs(
                 ["relative_im_path", "bbox_x1", "class", "test"],
                 [["car_ims/000001.jpg", np.uint8(9), np.uint8(2), np.uint8(0)],
                  ["car_ims/000002.jpg", np.uint8(9), np.uint8(3), np.uint8(1)],
                  ["car_ims/000003.jpg", np.uint8(9), np.uint8(1), np.uint8(0)]]),
              "class_names": cells(CARS)}, True),
            (CORPUS, "vectors.mat", PARTS, False),
            (CORPUS, "packed.mat", {"labels": LABELS}, True),
            (CORPUS, "structs.mat", {"annotations": part([3, 1])}, False),
            (CORPUS, "cells.mat", {"class_names": cells(CARS)}, False)]:
        savemat(folder / name, content, do_compression=packed)


if __name__ == "__main__":
    main()
