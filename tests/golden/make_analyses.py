"""Numbers of `cait analyze` in NumPy, for tests/unit/inside and tests/unit/report.

    python3 make_analyses.py
"""
import numpy as np

# Similarity of attention maps (DeepViT): three layers, two heads, four tokens; score (l, h, i, k) is
# sin(1 + 7 l + 3 h + 2 i + k * k), a row its softmax. Column t of each two layers, by its cosine.
LAYERS, HEADS, TOKENS = 3, 2, 4
l, h, i, k = np.meshgrid(*(np.arange(n) for n in (LAYERS, HEADS, TOKENS, TOKENS)), indexing="ij")
maps = np.exp(np.sin(1.0 + 7 * l + 3 * h + 2 * i + k * k) * 3)
maps /= maps.sum(-1, keepdims=True)
columns = maps / np.sqrt((maps**2).sum(2, keepdims=True))
cosines = np.einsum("phit,qhit->pqht", columns, columns)
print("cosine", np.array2string(cosines.mean((2, 3)), precision=9))
print("similar", [float((cosines[p, p + 1] > 0.5).mean()) for p in range(LAYERS - 1)])

# A straight line through five points.
x = np.array([0.70, 0.76, 0.79, 0.81, 0.85])
y = np.array([0.571, 0.645, 0.671, 0.702, 0.743])
slope, offset = np.polyfit(x, y, 1)
r2 = np.corrcoef(x, y)[0, 1] ** 2
print("fit", f"{slope:.9f} {offset:.9f} {r2:.9f}")
