#!/usr/bin/env python3
"""Score predictions against published measurements.

usage: score.py MEASURED.csv PREDICTED.csv [--min-mfu PERCENT] [--worst N]

MEASURED.csv   the columns of table/rows.h, with what was measured (README.md).
PREDICTED.csv  columns id, predicted_step_time_s, predicted_mem_gb (peak device memory, 1e9 bytes), predicted_fits (1 or 0);
               empty where the predictor refuses a row, with the reason in column error.
Prints, per set and cluster: rows answered, mean/median/90th/max absolute relative error of step time, bias, Kendall's tau of
the ranking inside groups of equal model, sequence, batch and device count; memory error; and the OOM confusion table.
--min-mfu drops ok rows whose measured model-flops utilisation is below PERCENT (broken networks, for nanotron).
"""
import argparse, collections, csv, math, statistics as st

PEAK = {'a100': 312e12, 'h100': 989.4e12, 'h200': 989.4e12, 'v100': 125e12, 'b200': 2250e12, 'gb200': 2500e12, 'gb300': 2500e12,
        'mi300x': 1307.4e12}

def num(x):
    try: return float(x)
    except (TypeError, ValueError): return None

def flops_per_step(r):
    """Model flops of one step: 6 x matmul parameters per token + attention, no recomputation."""
    L, h, ff, V, s = (float(r[k]) for k in ('n_layers', 'd_model', 'd_ff', 'vocab_size', 'seq_len'))
    kv = (num(r['n_kv_heads']) or 1) / (num(r['n_heads']) or num(r['n_kv_heads']) or 1)
    mats = L * (2 * h * h * (1 + kv) + h * ff * (3 if r['arch'] == 'llama' else 2)) + V * h
    return float(r['global_batch_seqs']) * s * (6 * mats + 6 * L * h * s)

def mfu(r):
    gpu = r['gpu'].split('-')[0]
    return 100 * flops_per_step(r) / (float(r['step_time_s']) * float(r['n_gpus']) * PEAK[gpu])

def tau(pairs):
    c = d = 0
    for i in range(len(pairs)):
        for j in range(i):
            s = (pairs[i][0] - pairs[j][0]) * (pairs[i][1] - pairs[j][1])
            c += s > 0; d += s < 0
    return c, d

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('measured'); ap.add_argument('predicted')
    ap.add_argument('--min-mfu', type=float, default=0); ap.add_argument('--worst', type=int, default=0)
    a = ap.parse_args()
    pred = {r['id']: r for r in csv.DictReader(open(a.predicted))}
    groups = collections.defaultdict(list)
    for r in csv.DictReader(open(a.measured)): groups[(r['set'], r['cluster'])].append(r)
    for key, rows in groups.items():
        errs, mem, rank, refused, asked, oom = [], [], collections.defaultdict(list), collections.Counter(), 0, collections.Counter()
        for r in rows:
            p = pred.get(r['id'])
            if r['status'] in ('ok', 'oom'):
                fits = num(p['predicted_fits']) if p else None
                if fits is not None: oom[(r['status'], 'fits' if fits else 'oom')] += 1
            t = num(r['step_time_s'])
            if r['status'] != 'ok' or t is None or mfu(r) < a.min_mfu: continue
            asked += 1
            pt = num(p['predicted_step_time_s']) if p else None
            if pt is None:
                refused[(p or {}).get('error', 'no row')[:60]] += 1; continue
            errs.append((pt / t - 1, r['id'], t, pt))
            rank[(r['n_layers'], r['d_model'], r['seq_len'], r['global_batch_seqs'], r['n_gpus'])].append((t, pt))
            m, pm = num(r['mem_gb']), num(p['predicted_mem_gb'])
            if m and pm: mem.append(pm / m - 1)
        print(f"{key[0]} on {key[1]}: answered {len(errs)} of {asked} timed rows", dict(refused) if refused else '')
        if errs:
            ab = sorted(abs(e[0]) for e in errs); c = d = 0
            for v in rank.values(): x, y = tau(v); c += x; d += y
            print(f"  step time: mean {100*st.mean(ab):.2f}%  median {100*st.median(ab):.2f}%  p90 {100*ab[int(.9*(len(ab)-1))]:.2f}%  max {100*ab[-1]:.2f}%"
                  f"  bias {100*st.mean(e[0] for e in errs):+.2f}%  tau {(c-d)/max(1, c+d):.3f}")
            for e in sorted(errs, key=lambda e: -abs(e[0]))[:a.worst]: print(f"    {100*e[0]:+7.1f}%  measured {e[2]:.4g} predicted {e[3]:.4g}  {e[1]}")
        if mem: print(f"  memory: mean {100*st.mean(map(abs, mem)):.2f}%  max {100*max(map(abs, mem)):.2f}%  bias {100*st.mean(mem):+.2f}%  n {len(mem)}")
        if any(k[0] == 'oom' for k in oom):
            n = sum(oom.values()); good = oom[('ok', 'fits')] + oom[('oom', 'oom')]
            print(f"  OOM: accuracy {100*good/n:.2f}% of {n}; said fits but ran out {oom[('oom', 'fits')]}; said out but ran {oom[('ok', 'oom')]}")

if __name__ == '__main__':
    main()
