#!/usr/bin/env python3
"""No prediction hangs on what a row is called, on the table that it stands in, or on where it was published.

usage: keyed.py SOURCE_DIR SHARDLAB [--plant]

Rows of every published table are predicted twice, the second time in reversed order with other ids, sets and sources: the predictions
must be the same bytes. And no source file of the rooms that predict or fit names a published set (a framework's own name aside) or asks
for the columns `set` and `source`. --plant: shows that the second check bites.
"""
import csv, os, re, subprocess, sys, tempfile

ROOMS = 'core cost sim fast table refit analysis cli'.split()
FRAMEWORKS = {'nanotron', 'torchtitan'}
COLUMN = re.compile(r'sl_csv_column\([^;]*"(set|source)"')

def tables(root):
    folder = f'{root}/experiments/published/training/tables'
    return [f'{folder}/{f}' for f in sorted(os.listdir(folder)) if f.endswith('.csv')]

def sets(root):
    return {r['set'] for t in tables(root) for r in csv.DictReader(open(t))}

def code(text):
    return re.sub(r'/\*.*?\*/', lambda m: '\n' * m.group().count('\n'), text, flags=re.S)

def faults(files, names):
    word = re.compile('|'.join(r'(?<![a-z_])' + n + r'(?![a-z_])' for n in sorted(names)))
    for name, text in files:
        for i, line in enumerate(code(text).split('\n'), 1):
            for m in filter(None, (word.search(line), COLUMN.search(line))):
                yield f'{name}:{i}: {m.group()}: a prediction may not know a published set, nor ask for where a row is from'

def sources(root):
    for room in ROOMS:
        for folder, _, names in os.walk(f'{root}/{room}'):
            for n in names:
                if n.endswith(('.c', '.h', '.inc', '.def')): yield os.path.join(folder, n), open(os.path.join(folder, n), encoding='utf-8').read()

def predicted(shardlab, folder, name, columns, rows):
    path, out = f'{folder}/{name}.csv', f'{folder}/{name}_out.csv'
    with open(path, 'w', newline='') as f:
        w = csv.DictWriter(f, columns); w.writeheader(); w.writerows(rows)
    subprocess.run([shardlab, 'predict', '--table', path, '--out', out, '--jobs', '1'], check=True, capture_output=True)
    return [[r[k] for k in r if k != 'id'] for r in csv.DictReader(open(out))]

def few(table):
    """Small jobs, spread over the table."""
    rows = [r for r in csv.DictReader(open(table)) if int(r['n_gpus']) <= 128 and int(r['grad_accum'] or 1) <= 64]
    return rows[::max(1, len(rows) // 4)][:4]

def main():
    root, shardlab = sys.argv[1:3]
    names = sets(root) - FRAMEWORKS
    bad = list(faults(sources(root), names))
    if '--plant' in sys.argv:
        for planted in (f'if (strcmp(r->set, "{sorted(names)[0]}") == 0) x *= 2;', 'sl_csv_column(csv, "source")'):
            if not list(faults([('planted.c', planted)], names)): bad.append(f'the check does not notice: {planted}')
        if list(faults([('planted.c', f'/* as {sorted(names)[0]} measured */')], names)): bad.append('the check minds a comment')
    checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for table in tables(root):
            rows = few(table)
            if not rows: continue
            other = [{**r, 'id': f'row {i}', 'set': 'other', 'source': ''} for i, r in enumerate(rows)][::-1]
            a = predicted(shardlab, folder, 'a', list(rows[0]), rows)
            b = predicted(shardlab, folder, 'b', list(rows[0]), other)[::-1]
            checked += sum(r[0] != '' for r in a)
            bad += [f'{table}: {r["id"]}: predicted otherwise under another name' for r, x, y in zip(rows, a, b) if x != y]
    if checked < 10: bad.append(f'only {checked} rows were predicted')
    print('\n'.join(bad) or f'{checked} rows predicted alike under other names')
    sys.exit(bool(bad))

main()
