"""Every path that a page names in backquotes exists, and all that it links: paths.py ROOT PAGE... [--plant]

A path is what has a slash and begins in a folder of the tree; a word in capitals in it stands for any name. A link is to a file beside
the page, and perhaps to a heading of it.
"""
import pathlib
import re
import sys
import tempfile


def anchors(page):
    """What headings of a page are called in links: lower case, words joined by hyphens."""
    return {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in page.read_text().splitlines() if line.startswith("#")}


def broken(page, link):
    name, _, anchor = link.partition("#")
    to = page.parent / name if name else page
    return not to.exists() or bool(anchor and anchor not in anchors(to))


def missing(root, page):
    tops = {path.name for path in root.iterdir() if path.is_dir()}
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for path in re.findall(r"`([\w.-]+/[\w./-]*)`", line):
            ours = path.split("/")[0] in tops - {"build", "out"}
            if ours and not re.search(r"\b[A-Z]{3,}\b", path) and not (root / path).exists():
                yield f"{page.name}:{number}: {path} does not exist"
        for link in re.findall(r"\]\(([^)]+)\)", line):
            if "://" not in link and broken(page, link):
                yield f"{page.name}:{number}: {link} does not exist"


def tells_planted(root):
    with tempfile.NamedTemporaryFile("w+", suffix=".md") as page:
        page.write("a file `core/op/op.h`, a folder `kernels/gpu/`,\nno file `core/op/nothing.h`, a name `core/models/NAME.c`,\nno [page](nowhere.md)\n")
        page.flush()
        return [m.split(": ", 1)[1] for m in missing(root, pathlib.Path(page.name))] == [
            "core/op/nothing.h does not exist", "nowhere.md does not exist"]


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
