#!/usr/bin/env python3
"""Writes small files in the form of ImageNet's meta.mat, for tests/unit/data/synset_table_test.cpp.

Needs NumPy and SciPy. Run from anywhere: tests/golden/make_synset_table.py
"""
from pathlib import Path

import numpy as np
from scipy.io import savemat

FOLDER = Path(__file__).resolve().parents[1] / "unit" / "data" / "data"

FIELDS = ["ILSVRC2012_ID", "WNID", "words", "gloss", "num_children", "children",
          "wordnet_height", "num_train_images"]
# (id, WordNet id): three classes out of order, and an inner node beyond the thousand.
SYNSETS = [(1, "n00000003"), (2, "n00000001"), (3, "n00000002"), (1001, "n00009999")]


def table():
    array = np.zeros((len(SYNSETS), 1), dtype=[(field, object) for field in FIELDS])
    for row, (number, wnid) in zip(array[:, 0], SYNSETS):
        row["ILSVRC2012_ID"] = np.array([[float(number)]])
        row["WNID"] = wnid
        row["words"] = "one, another"
        row["gloss"] = "what it is"
        row["num_children"] = np.array([[0]], dtype=np.uint8)
        row["children"] = np.zeros((1, 0))
        row["wordnet_height"] = np.array([[0]], dtype=np.uint8)
        row["num_train_images"] = np.array([[1300]], dtype=np.uint16)
    return array


def main():
    FOLDER.mkdir(exist_ok=True)
    savemat(FOLDER / "meta.mat", {"other": np.arange(5.0), "synsets": table()},
            do_compression=True)
    savemat(FOLDER / "meta_plain.mat", {"synsets": table()}, do_compression=False)


if __name__ == "__main__":
    main()
