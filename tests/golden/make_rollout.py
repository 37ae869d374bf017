"""Attention rollout of small maps in NumPy, for tests/unit/analysis/rollout_test.cpp.

Three blocks, two heads, five tokens. Score (l, h, i, k) is sin(1 + 7 l + 3 h + 2 i + k * k), a row of
a map its softmax. Prints the row of the first token of the product over the blocks, last one first, of
(mean of the heads + identity) / 2; then the same with the first two blocks side by side in one.

    python3 make_rollout.py
"""
import numpy as np

LAYERS, HEADS, TOKENS = 3, 2, 5


def maps():
    l, h, i, k = np.meshgrid(*(np.arange(n) for n in (LAYERS, HEADS, TOKENS, TOKENS)), indexing="ij")
    scores = np.exp(np.sin(1.0 + 7 * l + 3 * h + 2 * i + k * k))
    return scores / scores.sum(-1, keepdims=True)


def show(name, row):
    print(name, ", ".join(f"{value:.9f}" for value in row))


means = maps().mean(1)  # (LAYERS, TOKENS, TOKENS)
identity = np.eye(TOKENS)
product = identity
for layer in range(LAYERS):
    product = (means[layer] + identity) / 2 @ product
show("one after the other", product[0])
product = (means[2] + identity) / 2 @ ((means[0] + means[1] + identity) / 3)
show("two side by side", product[0])
