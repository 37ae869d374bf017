"""Writes data/multi_label.json: scores of several classes per image by scikit-learn (1.9).

Logits have ties; no image has the last class. Macro means leave that class out, as ours do.
"""
import json
import pathlib

import numpy as np
from sklearn import metrics

PATH = pathlib.Path(__file__).parent / "data" / "multi_label.json"


def main():
    random = np.random.default_rng(27)
    labels = (random.random((40, 6)) < [0.5, 0.3, 0.1, 0.6, 0.2, 0.0]).astype(int)
    logits = np.round(random.normal(0, 1.5, labels.shape) + 1.5 * labels, 1)  # rounded: ties
    result = {"logits": logits.tolist(), "labels": labels.tolist(), "thresholds": []}
    present = labels.any(0)
    precision = [metrics.average_precision_score(labels[:, i], logits[:, i]) for i in np.flatnonzero(present)]
    result["ap"] = precision
    result["map"] = float(np.mean(precision))
    assert np.isclose(result["map"], metrics.average_precision_score(labels[:, present], logits[:, present], average="macro"))
    probabilities = 1 / (1 + np.exp(-logits))
    result["loss"] = float(-np.mean(labels * np.log(probabilities) + (1 - labels) * np.log(1 - probabilities)))
    for threshold in (0.3, 0.5, 0.9):
        said = (probabilities >= threshold).astype(int)
        each = {"zero_division": 0, "average": None}
        result["thresholds"].append({
            "threshold": threshold,
            "f1": float(metrics.f1_score(labels, said, average="micro", zero_division=0)),
            "macro_f1": float(metrics.f1_score(labels[:, present], said[:, present], average="macro", zero_division=0)),
            "exact_match": float(metrics.accuracy_score(labels, said)),
            "precision": metrics.precision_score(labels, said, **each).tolist(),
            "recall": metrics.recall_score(labels, said, **each).tolist()})
    PATH.write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
