"""What two runs left, laid side by side: bytes first and, where they differ, the JSON keys or the lines that do."""
import fnmatch
import json
import re
from itertools import zip_longest

# What two runs of one binary may say differently: output, its keys, why. Nothing else is masked. Every row must be needed: OLD
# runs twice, and a row under which its two runs never differ is an error, as is a difference of the two that no row names.
# Predictions run in virtual time and have no row.
MASK = [
    ("measured.json", r"step_times?(_low|_high)?_s(\[\d+\])?|init_time_s|tokens_per_s|mfu", "a clock was read"),
    ("measured.json", r"breakdown_s\..*|ranks\[\d+\]\.(compute|bubble)_s|.*\.(time_s|busbw_GBps)", "a clock was read"),
    ("measured.json", r".*\b(process|context)_bytes", "the system's count of a process's pages"),
]


class Unstable(Exception):
    """Two runs of one binary differ where no row of MASK says so."""


def leaves(value, path=""):
    """(path, text) of all that is neither an object nor an array, or is an empty one."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from leaves(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for i, below in enumerate(value):
            yield from leaves(below, f"{path}[{i}]")
    else:
        yield path, str(value)


def read(text):
    """Numbers stay the text that they were, so that 1 and 1.0 differ, and all digits count."""
    return dict(leaves(json.loads(text, parse_int=str, parse_float=str)))


def by_key(old, new):
    a, b = read(old), read(new)
    found = [(key, a.get(key), b.get(key)) for key in [*a, *(k for k in b if k not in a)] if a.get(key) != b.get(key)]
    return found or [("", "the same values", "in another order or spelling")]


def by_line(old, new):
    rows = zip_longest(old.decode(errors="replace").split("\n"), new.decode(errors="replace").split("\n"))
    return [(f"line {i}", a, b) for i, (a, b) in enumerate(rows, 1) if a != b]


def by_byte(old, new):
    if len(old) != len(new):
        return [("size", len(old), len(new))]
    at = next(i for i in range(len(old)) if old[i] != new[i])
    return [(f"byte {at}", hex(old[at]), hex(new[at]))]


def differences(name, old, new):
    """(output:key, old value, new value) of one output; None stands for an output that is not there."""
    if old == new:
        return []
    if old is None or new is None:
        return [(f"{name}:", *("absent" if side is None else "present" for side in (old, new)))]
    compare = by_byte if name.endswith(".safetensors") else by_key if name.endswith(".json") else by_line
    try:
        found = compare(old, new)
    except ValueError:  # no JSON after all
        found = by_line(old, new)
    return [(f"{name}:{key}", a, b) for key, a, b in found]


def masked(key):
    """The row of MASK that names it, or None."""
    output, _, path = key.partition(":")
    return next((row for row in MASK if row[0] == output and re.fullmatch(row[1], path)), None)


def telling(name):
    """Outputs in the order in which they explain a difference: how a command ended, what it said, what it wrote."""
    ends = (".status", ".err", ".out")
    return next((i for i, end in enumerate(ends) if name.endswith(end)), len(ends)), name


def outputs_differ(old, new):
    """All differences of two runs, each a dictionary from output to bytes."""
    names = sorted({*old, *new}, key=telling)
    return [found for name in names for found in differences(name, old.get(name), new.get(name))]


def compare_runs(old, again, new, needed):
    """Differences between OLD and NEW that are not masked; the rows of MASK that OLD's two runs needed go into `needed`."""
    for key, a, b in outputs_differ(old, again):
        if masked(key) is None:
            raise Unstable(f"OLD differs from itself: {key}: {a} then {b}; a difference between two runs of one binary "
                           "wants a row in MASK of tests/same/compare.py, with its reason")
        needed.add(masked(key))
    return [found for found in outputs_differ(old, new) if masked(found[0]) is None]


class Exceptions:
    """Named differences: a line is a pattern, blanks, and the reason. The pattern is OUTPUT:KEY as a difference prints it, with *
    for any characters and ? for one; one that begins with # stands for the label of the case (_ for a blank). A reason that begins
    with ~1e-12 bounds how far two numbers may be apart, relatively. "# " begins a comment."""

    def __init__(self, path):
        self.rows, self.seen = [], set()
        for number, line in enumerate(path.read_text().splitlines() if path else [], 1):
            if not line.strip() or line.startswith("# "):
                continue
            pattern, _, reason = line.strip().partition(" ")
            if not reason.strip():
                raise ValueError(f"{path}:{number}: a pattern and a reason are expected")
            self.rows.append((pattern, reason.strip()))

    @staticmethod
    def names(pattern, label, key):
        of_label = pattern.startswith("#")
        pattern = pattern.replace("_", "?") if of_label else pattern
        return fnmatch.fnmatchcase(label if of_label else key, pattern.replace("[", "[[]"))  # a bracket is a bracket

    @staticmethod
    def near(reason, old, new):
        if not reason.startswith("~"):
            return True
        try:
            a, b, bound = float(old), float(new), float(reason[1:].split()[0])
        except (TypeError, ValueError):
            return False
        return abs(a - b) <= bound * max(abs(a), abs(b))

    def find(self, label, key, old, new):
        """The first row that names this difference, or None."""
        rows = [row for row in self.rows if self.names(row[0], label, key) and self.near(row[1], old, new)]
        self.seen.update(rows)
        return rows[0] if rows else None

    def unseen(self):
        return [row for row in self.rows if row not in self.seen]
