"""Shows the C of the cuda backend, of its stand-ins and of their tests to clang, with the warnings of the project: gcc compiles them
where nvcc is, and no other build has all of them. Only the syntax is checked, so it takes seconds.

    clang.py ROOT COMPILE_COMMANDS.json

Then one fault that clang sees and gcc does not is planted in a copy of a file, and asked for. Exit status 77, with the reason, where
there is no clang or the build has no cuda backend.
"""
import collections
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("backend/cuda", "tests/stand_ins", "tests/backend/cuda")
PLANTED = "\nint sl_planted(int a);\nint sl_planted(int a) {\n  a = a;\n  return a;\n}\n"  # -Wself-assign


def commands(root, path):
    """The flags of each C file in the folders, without compiler, output and file."""
    flags = {}
    for command in json.loads(path.read_text()):
        source = pathlib.Path(command["file"])
        if source.suffix != ".c" or not any(root / folder in source.parents for folder in FOLDERS):
            continue
        words = shlex.split(command["command"])
        words = words[next(i for i, word in enumerate(words) if word.startswith("-")):words.index("-o")]
        flags.setdefault(str(source), (command["directory"], *words))
    return flags


def check(flags):
    """What clang says of these files, and whether it accepts them."""
    alike, said, good = collections.defaultdict(list), "", True
    for source, words in flags.items():
        alike[words].append(source)
    for (directory, *words), sources in alike.items():
        run = subprocess.run(["clang", *words, "-fsyntax-only", *sources], cwd=directory, capture_output=True, text=True)
        said, good = said + run.stderr, good and run.returncode == 0
    return said, good


def bites(flags, source):
    with tempfile.TemporaryDirectory() as folder:
        planted = pathlib.Path(folder) / "planted.c"
        planted.write_text(pathlib.Path(source).read_text() + PLANTED)
        said, good = check({str(planted): flags[source]})
        return not good and "-Wself-assign" in said


def main():
    root, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    flags = commands(root, path)
    if not shutil.which("clang"):
        print("skipped: clang is not installed")
        return 77
    source = str(root / "backend/cuda/exec.c")
    if source not in flags:
        print("skipped: this build has no cuda backend; it needs nvcc and NCCL, or their headers and a sanitizer")
        return 77
    left = [str(p) for folder in FOLDERS[:2] for p in (root / folder).rglob("*.c") if str(p) not in flags]
    said, good = check(flags)
    print(said, end="")
    if left:
        print(f"not compiled by this build: {' '.join(left)}")
    if not bites(flags, source):
        print("a planted fault is not seen")
        return 1
    print(f"{len(flags)} files")
    return 0 if good and not left else 1


if __name__ == "__main__":
    sys.exit(main())
