"""Writes data/look.json: principal components by NumPy, t-SNE and logistic regression by scikit-learn.

The inputs are a function of pattern.py's uniform(), as in tests/unit/analysis/look_pattern.h: three groups of
vectors around centres of their own. t-SNE is the exact method in float64, started from the same principal
components as ours; a second case is its gradient by NumPy at fixed places.
"""
import json
import pathlib

import numpy as np
from pattern import uniform
from scipy.spatial.distance import squareform
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE, trustworthiness
from sklearn.manifold._t_sne import _gradient_descent, _kl_divergence

PATH = pathlib.Path(__file__).parent / "data" / "look.json"
GROUPS = 3


def vectors(name, rows, columns):
    noise = uniform(name, rows * columns).reshape(rows, columns)
    centres = uniform(name + " centres", GROUPS * columns).reshape(GROUPS, columns)
    # Some directions vary more than others.
    scale = 1 / (1 + np.arange(columns))
    return ((noise + centres[np.arange(rows) % GROUPS]) * scale).astype(np.float32)


def variances(x):
    x = x.astype(np.float64)
    x = x - x.mean(0)
    covariance = x.T @ x / (len(x) - 1)
    found = np.linalg.eigvalsh(covariance)[::-1]
    return np.maximum(found, 0)[: min(x.shape)]


def scores(x):
    """Along the first two components; the furthest vector of each lies on the positive side."""
    x = x.astype(np.float64)
    x = x - x.mean(0)
    _, _, directions = np.linalg.svd(x, full_matrices=False)
    found = x @ directions[:2].T
    return found * np.sign(found[np.abs(found).argmax(0), np.arange(2)])


def affinities(x, perplexity):
    """As t-SNE's paper has it, in float64, the width to 1e-12."""
    x = x.astype(np.float64)
    squares = ((x[:, None] - x[None]) ** 2).sum(2)
    rows = len(x)
    p = np.zeros((rows, rows))
    for i in range(rows):
        others = np.arange(rows) != i
        d = squares[i, others] - squares[i, others].min()
        low, high = 0.0, 1e6
        for _ in range(200):
            beta = (low + high) / 2
            w = np.exp(-beta * d)
            w /= w.sum()
            entropy = -(w * np.log(np.maximum(w, 1e-300))).sum()
            low, high = (beta, high) if entropy > np.log(perplexity) else (low, beta)
        p[i, others] = w
    return (p + p.T) / (2 * rows)


def divergence(p, y):
    n = 1 / (1 + ((y[:, None] - y[None]) ** 2).sum(2))
    np.fill_diagonal(n, 0)
    q = n / n.sum()
    keep = p > 0
    return float((p[keep] * np.log(p[keep] / q[keep])).sum())


def numeric_gradient(p, y, exaggeration):
    """Of sum of (exaggerated p) log(1 + d²), and of the logarithm of the sum of n: central differences."""
    def value(at):
        n = 1 / (1 + ((at[:, None] - at[None]) ** 2).sum(2))
        np.fill_diagonal(n, 0)
        keep = p > 0
        return -exaggeration * (p[keep] * np.log(n[keep])).sum() + np.log(n.sum())

    step = 1e-5
    result = np.zeros_like(y)
    for i in range(y.shape[0]):
        for axis in range(2):
            up, down = y.copy(), y.copy()
            up[i, axis] += step
            down[i, axis] -= step
            result[i, axis] = (value(up) - value(down)) / (2 * step)
    return result


def steps(p, start, rate):
    """Places after 15 steps with exaggeration and 15 without it: few enough not to be chaotic."""
    at = start
    for exaggeration, momentum in ((12, 0.5), (1, 0.8)):
        at, _, _ = _gradient_descent(_kl_divergence, at.ravel(), 0, 15, momentum=momentum, learning_rate=rate,
                                     min_grad_norm=0, args=[squareform(p * exaggeration), 1, len(p), 2])
    return at.reshape(-1, 2)


def tsne_case():
    # The usual rate of 50 is chaotic for so few points: a start that differs by 1e-9 ends elsewhere.
    x, perplexity, rate = vectors("look tsne", 150, 10), 12, 2.0
    start = scores(x)
    start = start / start[:, 0].std() * 1e-4
    found = TSNE(method="exact", init=start, perplexity=perplexity, max_iter=1000, learning_rate=rate)
    y = found.fit_transform(x.astype(np.float64))
    p = affinities(x, perplexity)
    place = uniform("look places", 2 * 40).reshape(40, 2) * 2
    small = affinities(x[:40], 5)
    first = scores(x[:40]) / scores(x[:40])[:, 0].std()
    return {"perplexity": perplexity, "rate": rate, "steps": steps(small, first, 1.0).tolist(),
            "divergence": float(found.kl_divergence_),
            "divergence_here": divergence(p, y), "iterations": int(found.n_iter_),
            "trustworthiness": float(trustworthiness(x, y, n_neighbors=10)),
            "affinities": {"row0": p[0].tolist(), "sum_of_squares": float((p * p).sum())},
            "gradient": {"perplexity": 5, "divergence": divergence(small, place),
                         "plain": numeric_gradient(small, place, 1).tolist(),
                         "exaggerated": numeric_gradient(small, place, 12).tolist()}}


def probe_case():
    x = vectors("look probe", 500, 8).astype(np.float64)
    labels = np.floor((uniform("look labels", 500) + 1) / 2 * 2).astype(np.int64) + 2 * (np.arange(500) % GROUPS)
    x = x - x.mean(0)
    x = x / np.sqrt((x * x).mean())
    model = LogisticRegression(C=1.0, tol=1e-12, max_iter=100000).fit(x, labels)
    logits = x @ model.coef_.T + model.intercept_
    top = logits.max(1)
    losses = np.log(np.exp(logits - top[:, None]).sum(1)) + top - logits[np.arange(500), labels]
    return {"loss": float(losses.mean() + (model.coef_**2).sum() / (2 * 500)),
            "right": int((logits.argmax(1) == labels).sum()),
            "weights": model.coef_.tolist(),
            # scikit-learn leaves a common shift of the biases free.
            "biases": (model.intercept_ - model.intercept_.mean()).tolist()}


if __name__ == "__main__":
    wide, tall = vectors("look wide", 20, 48), vectors("look tall", 300, 48)
    result = {"wide": {"variances": variances(wide).tolist(), "scores": scores(wide).tolist()},
              "tall": {"variances": variances(tall).tolist(), "scores": scores(tall)[:10].tolist()},
              "tsne": tsne_case(), "probe": probe_case()}
    PATH.write_text(json.dumps(result, indent=1) + "\n")
    print({k: v for k, v in result["tsne"].items() if isinstance(v, (int, float))})
    print(result["probe"]["loss"], result["probe"]["right"])
