"""Writes data/statistics.json: Student's t, t-intervals, paired tests and Holm's correction by SciPy.

Needs scipy (1.17). Holm's correction, which SciPy has not, is written out from its definition.
"""
import json
import pathlib

import numpy as np
from scipy import special, stats

PATH = pathlib.Path(__file__).parent / "data" / "statistics.json"


def holm(p):
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1)))
    return adjusted.tolist()


def interval(values):
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    return {"values": list(values), "mean": float(np.mean(values)),
            "deviation": float(np.std(values, ddof=1)), "low": float(low), "high": float(high),
            "p": float(stats.ttest_1samp(values, 0).pvalue)}


def paired(a, b):
    return {"a": a, "b": b, "p": float(stats.ttest_rel(a, b).pvalue)}


def main():
    random = np.random.default_rng(31)
    quantiles = [{"p": p, "df": df, "t": float(stats.t.ppf(p, df))}
                 for p in (0.001, 0.025, 0.4, 0.6, 0.95, 0.975, 0.9999) for df in (1, 2, 4, 7, 29, 1000)]
    cdfs = [{"t": t, "df": df, "cdf": float(stats.t.cdf(t, df)), "two_sided": float(2 * stats.t.sf(abs(t), df))}
            for t in (-30.0, -2.5, -0.1, 0.0, 0.7, 4.3, 12.0) for df in (1, 2, 4, 7, 29, 1000)]
    betas = [{"a": a, "b": b, "x": x, "value": float(special.betainc(a, b, x))}
             for a in (0.5, 1.0, 3.5, 40.0) for b in (0.5, 2.0, 9.0) for x in (0.0, 0.01, 0.3, 0.77, 0.999, 1.0)]
    intervals = [interval((scale * random.normal(mean, 1, n)).tolist())
                 for n in (2, 3, 5, 8, 30) for mean, scale in ((0, 1), (3, 0.01))]
    pairs = [paired(random.normal(0.5, 0.02, n).tolist(), random.normal(0.48, 0.02, n).tolist())
             for n in (3, 5, 8)]
    holms = [{"p": p, "adjusted": holm(np.array(p))}
             for p in ([0.01, 0.04, 0.03, 0.005], [0.5], [0.2, 0.2, 0.9], random.uniform(0, 0.1, 9).tolist())]
    PATH.write_text(json.dumps({"quantiles": quantiles, "cdfs": cdfs, "betas": betas, "intervals": intervals,
                                "pairs": pairs, "holm": holms}, indent=1) + "\n")


if __name__ == "__main__":
    main()
