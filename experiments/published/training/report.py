#!/usr/bin/env python3
"""What a fit to the published tables is worth.

usage: report.py TABLES OUT

TABLES  the measured tables. OUT: predictions.csv and numbers.csv of `shardlab-analyze refit`, and TABLE.csv of
        `shardlab predict --table` for each table. Writes OUT/report.md and OUT/errors.csv; fit.gp draws them.
"""
import collections, csv, math, os, statistics as st, subprocess, sys
from score import num, tau

TITLES = {'predicted_s': 'fitted', 'predicted_by_row_s': 'run held out', 'predicted_by_model_s': 'its model held out', 'predicted_by_cluster_s': 'its cluster held out'}

def line(cells): return '| ' + ' | '.join(str(c) for c in cells) + ' |'
def table(head, rows): return '\n'.join([line(head), line(['---'] * len(head))] + [line(r) for r in rows]) + '\n'

def off(rows, column): return [100 * (r[column] / r['measured_s'] - 1) for r in rows]

def in_parts(by_table):
    """nvidia in two: share_fit.py fits a number a device to its runs on Blackwell, to those on Hopper nothing is fitted."""
    for name, rows in by_table.items():
        if name != 'nvidia': yield name, rows; continue
        hopper = [r for r in rows if r['gpu_kind'].startswith('sm90')]
        yield 'nvidia_hopper', hopper
        yield 'nvidia_blackwell', [r for r in rows if r not in hopper]

def with_and_without(by_table):
    """The tables, and those of which excluded.csv keeps some runs out of the fit without them too."""
    for name, rows in in_parts(by_table):
        yield name, rows
        kept = [r for r in rows if r['fitted'] == '1']
        if 0 < len(kept) < len(rows): yield f'{name} without excluded.csv', kept

def errors(by_table):
    head = ['table', 'rows', *[f'{t}: mean' for t in TITLES.values()], 'median', 'largest', 'bias', 'in the 90 % interval', 'its model held out']
    out = []
    for name, rows in with_and_without(by_table):
        e = off(rows, 'predicted_s'); a = list(map(abs, e)); fitted = any(r['fitted'] == '1' for r in rows)
        cells = [f'{st.mean(map(abs, off(rows, c))):.2f}' if fitted or c == 'predicted_s' else '-' for c in TITLES]
        inside = lambda low, high: f"{100 * st.mean(r[low] <= r['measured_s'] <= r[high] for r in rows):.0f} %"
        how = '' if fitted else ' (one number a device)' if name == 'nvidia_blackwell' else ' (never fitted)'
        out.append([name + how, len(rows), *cells, f'{st.median(a):.2f}', f'{max(a):.1f}', f'{st.mean(e):+.2f}',
                    inside('low_s', 'high_s'), inside('low_by_model_s', 'high_by_model_s') if fitted else '-'])
    return head, out

def layouts(by_table, measured):
    """Inside groups of one model, sequence, batch and count of devices: is the fastest layout found, and what does the pick cost?"""
    out = []
    for name, rows in by_table.items():
        groups = collections.defaultdict(list)
        for r in rows:
            q = measured[r['id']]
            groups[tuple(q[k] for k in 'n_layers d_model seq_len global_batch_seqs n_gpus'.split())].append(r)
        groups = [g for g in groups.values() if len(g) >= 3]
        if not groups: continue
        c = d = 0; regret = []
        for g in groups:
            x, y = tau([(r['measured_s'], r['predicted_by_model_s']) for r in g]); c += x; d += y
            pick = min(g, key=lambda r: r['predicted_by_model_s'])
            regret.append(pick['measured_s'] / min(r['measured_s'] for r in g) - 1)
        out.append([name, len(groups), f'{(c - d) / max(1, c + d):.3f}', f'{sum(r < .02 for r in regret)} of {len(regret)}', f'{100 * st.mean(regret):.1f} %', f'{100 * max(regret):.1f} %'])
    return out

def memory(folder, out, names, known):
    rows = []; verdicts = collections.Counter(); missed = []
    for name in names:
        predicted = {r['id']: r for r in csv.DictReader(open(f'{out}/{name}.csv'))}
        mem = []
        for r in csv.DictReader(open(f'{folder}/{name}.csv')):
            p = predicted.get(r['id'])
            if p is None or not p['predicted_mem_gb']: continue
            if num(r['mem_gb']) and r['status'] == 'ok' and (r['id'] in known or not num(r['step_time_s'])): mem.append(float(p['predicted_mem_gb']) / float(r['mem_gb']) - 1)
            if name == 'hagemann' and r['status'] in ('ok', 'oom'):
                verdicts[(r['status'], 'fits' if p['predicted_fits'] == '1' else 'oom')] += 1
        if mem: rows.append([name, len(mem), f'{100 * st.mean(map(abs, mem)):.2f}', f'{100 * st.median(map(abs, mem)):.2f}', f'{100 * st.mean(mem):+.2f}'])
    return rows, verdicts

def words(r, q):
    what = f"{q['arch']} of {q['n_layers']} x {q['d_model']}, {q['seq_len']} tokens, {q['n_gpus']} GPUs, tp {q['tp']}, pp {q['pp']}, dp {q['dp']}, ZeRO {q['zero_stage']}, micro-batch {q['micro_batch']}"
    return [r['table'], what, f"{r['measured_s']:.3g}", f"{r['predicted_s']:.3g}", f"{100 * (r['predicted_s'] / r['measured_s'] - 1):+.0f} %"]

def pairs(tables, out, names):
    """The changes with at least 20 pairs of which the prediction misses most."""
    found = []
    for name in names:
        text = subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), 'pairs.py'), f'{tables}/{name}.csv', f'{out}/{name}.csv', '--min-mfu', '10'],
                              capture_output=True, text=True, check=True).stdout
        for l in text.splitlines()[1:]:
            *_, n, m, p, q = l.split()
            if int(n) >= 20: found.append([name, ' '.join(l.split()[:-4]), int(n), m, p, q])
    return sorted(found, key=lambda f: -abs(math.log(float(f[5]))))

def main():
    tables, out = sys.argv[1:3]
    measured = {}
    for name in (n for n in os.listdir(tables) if n.endswith('.csv')):
        for r in csv.DictReader(open(f'{tables}/{name}')): measured[r['id']] = r
    runs = []
    for r in csv.DictReader(open(f'{out}/predictions.csv')):
        runs.append({k: float(v) if k.endswith(('_s', '_sd')) or k in ('scatter', 'mfu_percent') else v for k, v in r.items()})
    by_table = collections.defaultdict(list)
    for r in runs: by_table[r['table']].append(r)
    with open(f'{out}/errors.csv', 'w') as f:
        f.write('id,table,fitted_percent,by_row_percent,by_model_percent,by_cluster_percent\n')
        for r in runs:
            if r['fitted'] == '1': f.write(f"\"{r['id']}\",{r['table']}," + ','.join(f"{100 * (r[c] / r['measured_s'] - 1):.3f}" for c in TITLES) + '\n')
    numbers = list(csv.DictReader(open(f'{out}/numbers.csv')))
    of = lambda r: f"{r['owner']}{', ' + r['place'] if r['place'] else ''}"
    text = ['# What the fit is worth\n', 'Made by `experiments/published/training/fit.sh`; the fit is stated in `refit/solve.h`, what is held out in `refit/folds.h`. '
            'Errors are relative, in percent; a mean is of absolute values.\n', '## Step time\n', table(*errors(by_table)),
            '![predicted and measured](scatter.png)\n', '![errors](errors.png)\n', '## Layouts\n',
            'Groups of three runs or more of one model, sequence, batch and count of devices, models held out: Kendall\'s tau of the ranking, how often the layout '
            'predicted fastest is within 2 % of the fastest, and what the pick loses.\n',
            table(['table', 'groups', 'tau', 'within 2 %', 'mean loss', 'largest'], layouts(by_table, measured))]
    mem, verdicts = memory(tables, out, by_table, {r['id'] for r in runs})
    text += ['## Memory\n', 'Of the same runs, and of those that have no usable time.\n', table(['table', 'rows', 'mean', 'median', 'bias'], mem)]
    n = sum(verdicts.values())
    if n: text += [f"hagemann's {n} rows, that ran or ran out of memory:\n", table(['', 'said to fit', 'said to run out'],
                   [[a, verdicts[(b, 'fits')], verdicts[(b, 'oom')]] for a, b in (('ran', 'ok'), ('ran out', 'oom'))]),
                   f"Right: {100 * (verdicts[('ok', 'fits')] + verdicts[('oom', 'oom')]) / n:.1f} %.\n"]
    worst = sorted(runs, key=lambda r: -abs(math.log(r['predicted_s'] / r['measured_s'])))[:15]
    text += ['## The fifteen rows that are furthest off\n', table(['table', 'run', 'measured, s', 'predicted, s', 'off'], [words(r, measured[r['id']]) for r in worst]),
             '## What a change costs\n', 'Runs that differ in one column (`pairs.py`), at least 20 pairs: median ratio of the step times, measured and predicted, and their quotient. The ten furthest from 1.\n',
             table(['table', 'change', 'pairs', 'measured', 'predicted', 'missing'], pairs(tables, out, by_table)[:10]),
             '## Numbers\n', 'A standard error near the prior\'s says that these runs tell nothing of the number.\n',
             table(['of', 'number', 'value', 'standard error', 'prior', 'prior\'s'], [[of(r), r['key'], r['value'], f"{100 * float(r['relative_stderr']):.1f} %", r['prior'], f"{100 * float(r['prior_sd']):.0f} %"] for r in numbers])]
    open(f'{out}/report.md', 'w').write('\n'.join(text))
    print(table(*errors(by_table)))

main()
