#!/usr/bin/env python3
"""How far hagemann's table would be off with terms of no physics added to its predictions, one more a line.

usage: misses.py [SHARDLAB]

Each term is a number of seconds with one coefficient, fitted to what the predictions of all 257 runs miss by least absolute relative
deviations. They say where the misses are, not why: hagemann.md.
"""
import csv, pathlib, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / 'tables/hagemann.csv'

def of_13b(q): return q['n_layers'] == '40' and q['seq_len'] == '2048' and q['attention'] == 'flash2'
def slot(q, p): return (float(p['predicted_step_time_s']) - float(p['optimizer_s'])) / (int(q['grad_accum']) + int(q['pp']) - 1)

TERMS = [('slots of 13B, 2048 tokens, FlashAttention 2, pp 2', lambda q, p: slot(q, p) if of_13b(q) and q['pp'] == '2' else 0),
         ("seconds for 10^9 of those models' parameters", lambda q, p: 13 / int(q['tp']) / int(q['pp']) if of_13b(q) else 0),
         ('of the step for each 10 GB beyond 70, 256 GPUs, pp 1 and 2', lambda q, p: float(p['predicted_step_time_s']) *
          max(0, float(p['predicted_mem_gb']) - 70) / 10 if q['n_gpus'] == '256' and int(q['pp']) <= 2 else 0)]

def solve(a, b):
    """Gaussian elimination of a symmetric positive system."""
    n = len(b); m = [row[:] + [y] for row, y in zip(a, b)]
    for i in range(n):
        for k in range(i + 1, n):
            f = m[k][i] / m[i][i]
            m[k] = [x - f * y for x, y in zip(m[k], m[i])]
    out = [0.0] * n
    for i in reversed(range(n)): out[i] = (m[i][n] - sum(m[i][j] * out[j] for j in range(i + 1, n))) / m[i][i]
    return out

def fit(columns, missed, rounds=25):
    """Coefficients by iteratively reweighted least squares, and the relative misses that remain."""
    weights = [1.0] * len(missed)
    for _ in range(rounds):
        a = [[sum(w * x * y for w, x, y in zip(weights, c, d)) for d in columns] for c in columns]
        k = solve(a, [sum(w * x * y for w, x, y in zip(weights, c, missed)) for c in columns])
        left = [y - sum(f * c[i] for f, c in zip(k, columns)) for i, y in enumerate(missed)]
        weights = [1 / (abs(e) + 0.004) for e in left]
    return k, left

def main():
    shardlab = sys.argv[1] if len(sys.argv) > 1 else HERE.parents[2] / 'build/release/bin/shardlab'
    with tempfile.TemporaryDirectory() as folder:
        out = f'{folder}/predicted.csv'
        subprocess.run([shardlab, 'predict', '--table', TABLE, '--out', out, '--jobs', '2'], check=True, capture_output=True)
        predicted = {r['id']: r for r in csv.DictReader(open(out))}
    runs = [(q, predicted[q['id']], float(q['step_time_s'])) for q in csv.DictReader(open(TABLE)) if q['status'] == 'ok']
    missed = [1 - float(p['predicted_step_time_s']) / t for _, p, t in runs]
    print(f'{100 * sum(map(abs, missed)) / len(missed):.2f} % of {len(missed)} runs')
    for n in range(1, len(TERMS) + 1):
        k, left = fit([[term(q, p) / t for q, p, t in runs] for _, term in TERMS[:n]], missed)
        print(f'{100 * sum(map(abs, left)) / len(left):.2f} % with ' + ', '.join(f'{f:+.2f} {name}' for f, (name, _) in zip(k, TERMS)))

main()
