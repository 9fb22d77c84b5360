"""What fits of a few numbers of one device to published rows share: predictions with the numbers replaced, a robust
least-squares solver, and the device's file. mi300x_fit.py and share_fit.py use it.
"""
import csv
import json
import math
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SHARDLAB = ROOT / "build/release/bin/shardlab"
CLIP = 0.1


def rows_of(table):
    with open(HERE / f"tables/{table}.csv", newline="") as file:
        return list(csv.DictReader(file))


def device_file(device):
    return ROOT / f"profiles/devices/{device}.json"


class Predictor:
    """Step times of rows on one cluster, with numbers of its device replaced."""

    def __init__(self, shardlab, folder, cluster):
        self.shardlab, self.folder = shardlab, pathlib.Path(folder)
        self.cluster = json.loads((ROOT / f"profiles/{cluster}.json").read_text())
        self.device = json.loads(device_file(self.cluster["device"]).read_text())["device"]

    def predict(self, rows, numbers):
        cluster = {**self.cluster, "device": {**self.device, **numbers}}
        (self.folder / "cluster.json").write_text(json.dumps(cluster))
        with open(self.folder / "rows.csv", "w", newline="") as file:
            out = csv.DictWriter(file, rows[0])
            out.writeheader()
            out.writerows({**row, "cluster": self.folder / "cluster.json"} for row in rows)
        table, out = self.folder / "rows.csv", self.folder / "out.csv"
        subprocess.run([self.shardlab, "predict", "--table", table, "--out", out], check=True, capture_output=True)
        with open(out, newline="") as file:
            return [float(row["predicted_step_time_s"]) for row in csv.DictReader(file)]


def solve(a, b):
    """Gauss and Jordan's elimination of a symmetric positive system."""
    m = [row[:] + [y] for row, y in zip(a, b)]
    for i in range(len(b)):
        m[i] = [x / m[i][i] for x in m[i]]
        for k in range(len(b)):
            if k != i:
                m[k] = [x - m[k][i] * y for x, y in zip(m[k], m[i])]
    return [row[-1] for row in m]


def least(missed, numbers):
    """{key: value}, {key: standard error}: Gauss and Newton's steps in the logarithms of the numbers, with Huber's
    weights; errors are of the scatter that remains."""
    keys, step = list(numbers), 0.02
    for _ in range(15):
        r = missed(numbers)
        moved = [missed({**numbers, key: numbers[key] * math.exp(step)}) for key in keys]
        columns = [[(y - x) / step for x, y in zip(r, m)] for m in moved]
        w = [min(1, CLIP / abs(x)) if x else 1 for x in r]
        a = [[sum(map(lambda u, x, y: u * x * y, w, c, d)) for d in columns] for c in columns]
        move = solve(a, [-sum(map(lambda u, x, y: u * x * y, w, c, r)) for c in columns])
        numbers = {key: numbers[key] * math.exp(max(-0.5, min(0.5, m))) for key, m in zip(keys, move)}
        if max(map(abs, move)) < 1e-4:
            break
    variance = sum(map(lambda u, x: u * x * x, w, r)) / (len(r) - len(keys))
    errors = [solve(a, [float(i == k) for i in range(len(keys))])[k] for k in range(len(keys))]
    return numbers, {key: numbers[key] * math.sqrt(variance * e) for key, e in zip(keys, errors)}


def off(predicted, rows):
    """Errors of step times, in percent."""
    return [100 * (p / float(row["step_time_s"]) - 1) for p, row in zip(predicted, rows)]


def write(device, numbers, errors, source):
    """Puts numbers, their source and their standard errors (where there are) into the device's file."""
    path = device_file(device)
    text = path.read_text()
    for key, value in numbers.items():
        now = f'"{key}": {value:.3g}, "{key}_source": "{source[key]}"'
        now += f', "{key}_stderr": {errors[key]:.2g}' if key in errors else ""
        text = re.sub(rf'"{key}": [^"]*"{key}_source": "[^"]*"(, "{key}_stderr": [\d.e-]+)?', now, text)
    path.write_text(text)
