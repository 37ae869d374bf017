"""Writes data/neighbours.json: kNN accuracy, retrieval scores and the conditional score by NumPy.

2,000 vectors and their labels are a function of pattern.py's uniform(), as in
tests/unit/evaluate/neighbours_golden_test.cpp. "ties" has entries of +-1/8 in 64 dimensions: unit
vectors whose inner products are multiples of 1/32 and exact in any order of summation, so that
hundreds of rows tie. "smooth" has none. Everything is sorted by (similarity, row) in float64.
"""
import json
import pathlib

import numpy as np
from pattern import uniform

PATH = pathlib.Path(__file__).parent / "data" / "neighbours.json"
COUNT, DIM, FINE, COARSE = 2000, 64, 20, 4
KS = [10, 15, 20, 25, 30]


def labels():
    fine = np.floor((uniform("neighbour labels", COUNT) + 1) / 2 * FINE).astype(np.int64)
    return fine, fine // (FINE // COARSE)


def vectors(kind, fine):
    noise = uniform("neighbour noise", COUNT * DIM).reshape(COUNT, DIM)
    centre = uniform("neighbour centres", FINE * DIM).reshape(FINE, DIM)
    mixed = noise + 0.5 * centre[fine]
    if kind == "ties":
        return np.where(mixed >= 0, 0.125, -0.125).astype(np.float32)
    mixed = mixed.astype(np.float32).astype(np.float64)
    length = np.sqrt((mixed * mixed).sum(1, keepdims=True))
    return (mixed / length).astype(np.float32)


def order_of(scores, allowed):
    rows = np.flatnonzero(allowed)
    return rows[np.lexsort((rows, -scores[rows]))]


def votes(order, sims, labels_, classes, k, temperature):
    result = np.zeros(classes)
    for row in order[:k]:
        result[labels_[row]] += np.exp(sims[row] / temperature)
    return result


def retrieval(orders, labels_):
    ap, rp, mapr, recall = [], [], [], {1: 0, 5: 0, 10: 0}
    for query, order in orders:
        relevant = labels_[order] == labels_[query]
        places = np.flatnonzero(relevant) + 1
        total = len(places)
        if total == 0:
            continue
        precision = np.arange(1, total + 1) / places
        sums = [0.0, 0.0]
        for place, value in zip(places, precision):
            sums[0] += value
            sums[1] += value if place <= total else 0.0
        ap.append(sums[0] / total)
        mapr.append(sums[1] / total)
        rp.append((places <= total).sum() / total)
        for k in recall:
            recall[k] += int(places[0] <= k)
    mean = lambda values: sum(values) / len(values)
    return {"map": mean(ap), "r_precision": mean(rp), "map_at_r": mean(mapr),
            "recall_at": {str(k): v / len(ap) for k, v in recall.items()}, "queries": len(ap)}


def case(kind):
    fine, coarse = labels()
    x = vectors(kind, fine)
    sims = x.astype(np.float64) @ x.astype(np.float64).T
    plain, conditional, oracle = [], [], []
    right = {k: 0 for k in KS}
    dino = 0
    for query in range(COUNT):
        allowed = np.arange(COUNT) != query
        row = sims[query]
        order = order_of(row, allowed)
        plain.append((query, order))
        for k in KS:
            right[k] += int(np.argmax(votes(order, row, fine, FINE, k, 0.05)) == fine[query])
        dino += int(np.argmax(votes(order, row, fine, FINE, 100, 0.07)) == fine[query])
        p = votes(order, row, coarse, COARSE, max(KS), 0.05)
        p = np.clip(p / p.sum(), 1e-6, 1 - 1e-6)
        offsets = np.log(p / (1 - p)).astype(np.float32)
        single = row.astype(np.float32)
        conditional.append((query, order_of(single + offsets[coarse], allowed)))
        known = np.where(coarse == coarse[query], np.float32(3), np.float32(0))
        oracle.append((query, order_of(single + known, allowed)))
    return {"knn": {str(k): right[k] for k in KS}, "dino_100": dino,
            "fine": retrieval(plain, fine), "coarse": retrieval(plain, coarse),
            "conditional": retrieval(conditional, fine), "oracle": retrieval(oracle, fine)}


if __name__ == "__main__":
    result = {kind: case(kind) for kind in ("ties", "smooth")}
    PATH.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
