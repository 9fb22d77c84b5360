"""Holds what can be read at one look: a file of C, C++ or CUDA has at most 450 lines, a function 60, and half of all functions 10.

    lengths.py ROOT

A line for what is longer, with its place; exit status 1 when there is one. `--plant` first asks that a file and a function with a
line too many are found.
"""
import pathlib
import re
import statistics
import subprocess
import sys

FILE, FUNCTION, MEDIAN = 450, 60, 10


def sources(root):
    found = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = found.stdout.split() if found.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
    return {n: (root / n).read_text() for n in names
            if re.search(r"\.(c|cpp|h|inc|cu|cuh)$", n) and not n.startswith(("build/", "out/")) and (root / n).is_file()}


def functions(text):
    """First line and number of lines of each function: what ends in a lone brace at a line's start, from its own template or type on."""
    lines = text.splitlines()
    for end, line in enumerate(lines):
        if line != "}":
            continue
        first = next((i for i in range(end - 1, -1, -1) if re.match(r"[A-Za-z_]", lines[i]) and not lines[i].endswith(":")), None)
        if first is None:
            continue
        while first and lines[first - 1].startswith("template"):
            first -= 1
        yield first + 1, end - first + 1


def longer(texts):
    """What is longer, and the lengths of all functions."""
    told, lengths = [], []
    for name, text in texts.items():
        if text.count("\n") > FILE:
            told.append(f"{name}: {text.count(chr(10))} lines, at most {FILE} are wanted")
        for first, length in functions(text):
            lengths.append(length)
            if length > FUNCTION:
                told.append(f"{name}:{first}: a function of {length} lines, at most {FUNCTION} are wanted")
    if lengths and statistics.median(lengths) > MEDIAN:
        told.append(f"half of all functions have more than {MEDIAN} lines")
    return told, lengths


def planted():
    body = "template <typename T>\nint f(void) {\n" + "  g();\n" * (FUNCTION - 3) + "}\n"
    assert not longer({"a.c": body + "int g(void);\n" * (FILE - FUNCTION), "b.c": "int g(void) {\n}\n" * 9})[0]
    assert longer({"a.c": body.replace("  g();\n", "  g();\n  g();\n", 1), "b.c": "int g(void) {\n}\n" * 9})[0]
    assert longer({"a.c": "int g(void);\n" * (FILE + 1)})[0]
    assert longer({"a.c": "int f(void) {\n" + "  g();\n" * MEDIAN + "}\n"})[0]


def main():
    flags = sys.argv[1:]
    if "--plant" in flags:
        flags.remove("--plant")
        planted()
    told, lengths = longer(sources(pathlib.Path(flags[0])))
    print(*told, sep="\n", end="\n" if told else "")
    print(f"{len(lengths)} functions, median {statistics.median(lengths):g} lines, longest {max(lengths)}")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
