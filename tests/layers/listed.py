"""Every test that a CMakeLists.txt names is among those that CTest would run: listed.py ROOT BUILD [--plant]

What stands behind a condition that nothing meets any more would pass by not running. --plant: shows that a missing test is noticed.
"""
import pathlib
import re
import subprocess
import sys


def missing(texts, listed):
    """Names in `texts` that no test of `listed` has; those that a loop makes up are left out."""
    named = {name for text in texts for name in re.findall(r"add_test\(NAME\s+([^\s)]+)", text) if "$" not in name}
    return sorted(named - set(listed))


def main():
    root, build = [pathlib.Path(a) for a in sys.argv[1:] if a != "--plant"]
    done = subprocess.run(["ctest", "-N", "--test-dir", build], capture_output=True, text=True, check=True)
    listed = re.findall(r"^ *Test +#\d+: (\S+)", done.stdout, re.MULTILINE)
    texts = [path.read_text() for path in (root / "tests").rglob("CMakeLists.txt")]
    found = missing(texts, listed)
    if "--plant" in sys.argv and missing([*texts, "add_test(NAME nobody_runs_it COMMAND it)"], listed) == found:
        found.append("nobody_runs_it, which was planted, is not missed")
    print(*found, f"{len(listed)} tests, {len(found)} of those that are named missing", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
