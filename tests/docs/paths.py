"""Every path that a page names in backquotes exists: paths.py ROOT PAGE... [--plant]

A path is what has a slash; a word in capitals in it stands for any name.
"""
import pathlib
import re
import sys
import tempfile


def missing(root, page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for path in re.findall(r"`([\w.-]+/[\w./-]*)`", line):
            if not re.search(r"\b[A-Z]{3,}\b", path) and not (root / path).exists():
                yield f"{page.name}:{number}: {path} does not exist"


def tells_planted(root):
    with tempfile.NamedTemporaryFile("w+", suffix=".md") as page:
        page.write("a file `core/op/op.h`, a folder `kernels/gpu/`,\nno file `core/op/nothing.h`, a name `core/models/NAME.c`\n")
        page.flush()
        return [m.split(": ", 1)[1] for m in missing(root, pathlib.Path(page.name))] == ["core/op/nothing.h does not exist"]


def main():
    plant = "--plant" in sys.argv
    root, *pages = [pathlib.Path(a) for a in sys.argv[1:] if a != "--plant"]
    faults = [fault for page in pages for fault in missing(root, page)]
    if plant and not tells_planted(root):
        faults.append("a planted path was not found missing")
    print("\n".join(faults) or "0 faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
