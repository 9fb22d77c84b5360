"""Holds the walls between rooms (cmake/rooms.txt).

    layers.py ROOT [COMPILE_COMMANDS.json]

  arrows    a file includes headers of its room, of core/base and of the rooms in its row, and no others
  circles   no file includes itself on any way
  calls     with the objects of a build: no file calls another that calls it, on any way
  homes     a function that others may call is declared in the header of its own name, or in the room's one internal header,
            which is named in the table behind a "|"
  symbols   with the objects of a build: what a room's objects lack is defined in a room that it may know

A line for each fault; exit status 1 when there is one. `--plant` puts one fault of each kind into the tree as it was read and
asks that it be found.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

BASE = "core/base"


class Tree:
    """What the checks look at: the table of rooms, the files' text, and the global names of each object."""

    def __init__(self, root, commands=None):
        self.rows, self.internal = {}, {}
        for line in (root / "cmake/rooms.txt").read_text().splitlines():
            if row := re.match(r"([a-z/]+):([^|]*)(?:\|\s*(\S+))?$", line):
                self.rows[row[1]] = set(row[2].split())
                self.internal[row[1]] = row[3]
        found = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
        names = found.stdout.split() if found.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
        sources = [n for n in names if re.search(r"\.(c|h|cu|cuh|inc)$", n) and self.room(n) and (root / n).is_file()]
        self.text = {n: (root / n).read_text() for n in sources}
        self.defined, self.lacking = collections.defaultdict(set), collections.defaultdict(set)
        if commands:
            self.read_objects(root, json.loads(commands.read_text()))

    def read_objects(self, root, commands):
        """Of a file that is compiled more than once the first that is no test's."""
        objects = {}
        for command in commands:
            path, output = pathlib.Path(command["file"]), re.search(r" -o (\S+)", command["command"])[1]
            name = str(path.relative_to(root)) if root in path.parents else ""
            at = pathlib.Path(command["directory"]) / output
            if name in self.text and not output.startswith("tests/") and name not in objects.values() and at.exists():
                objects[str(at)] = name
        nm = subprocess.run(["nm", "-gAP", *objects], capture_output=True, text=True, check=True)
        for line in nm.stdout.splitlines():
            at, symbol, kind = re.match(r"(\S+): (\S+) (\S)", line).groups()
            (self.lacking if kind == "U" else self.defined)[objects[at]].add(symbol)

    def room(self, name):
        """The room that a file stands in; None for one that stands in none."""
        rooms = [r for r in self.rows if name.startswith(r + "/")]
        return max(rooms, key=len, default=None)

    def may_know(self, room, name):
        """May files of `room` include the header `name`?"""
        return self.room(name) in {room, BASE} | self.rows[room] or name in self.rows[room]

    def includes(self, name):
        return re.findall(r'^\s*#\s*include\s+"([^"]+)"', self.text[name], re.M)

    def reach(self, room):
        """The rooms whose functions a room's files may call: those it knows, and what their headers bring."""
        seen, todo = {BASE}, [room]
        while todo:
            r = todo.pop()
            if r not in seen or r == room:
                seen.add(r)
                todo += [k if k in self.rows else self.room(k) for k in self.rows[r] if (k if k in self.rows else self.room(k)) not in seen]
        return seen


def arrows(tree):
    for name in sorted(tree.text):
        for other in tree.includes(name):
            if not tree.may_know(tree.room(name), other):
                yield f"arrows: {name} includes {other}, which {tree.room(name)} may not know"


def rings(names, onward):
    """Ways from a name of `names` back to itself, each as text; onward(name): where it leads."""
    done, path = set(), []

    def walk(name):
        if name in path:
            yield " -> ".join(path[path.index(name):] + [name])
        elif name not in done:
            path.append(name)
            for other in onward(name):
                yield from walk(other)
            path.pop()
            done.add(name)

    for name in sorted(names):
        yield from walk(name)


def circles(tree):
    for ring in rings(tree.text, lambda name: [n for n in tree.includes(name) if n in tree.text]):
        yield f"circles: {ring}"


def calls(tree):
    home = {symbol: name for name, defined in tree.defined.items() for symbol in defined}
    for ring in rings(tree.lacking, lambda name: sorted({home[s] for s in tree.lacking[name] if s in home} - {name})):
        yield f"calls: {ring}"


def functions(text):
    """Names of the functions of a C file that are not static."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for start in re.finditer(r"^(?!static|extern|typedef|#|\s|\}|_Static_assert)[A-Za-z_][\w\s*]*?\b(sl_\w+)\s*\([^;{}]*\)\s*\{", code, re.M):
        yield start[1]


def homes(tree):
    for name in sorted(n for n in tree.text if n.endswith(".c")):
        room, own = tree.room(name), re.sub(r"\.c$", ".h", name)
        headers = [own] + ([f"{room}/{tree.internal[room]}"] if tree.internal[room] else [])
        declared = " ".join(tree.text.get(h, "") for h in headers)
        for function in functions(tree.text[name]):
            if not re.search(rf"\b{function}\(", declared):
                yield f"homes: {function} of {name} is declared in none of {', '.join(headers)}"


def symbols(tree):
    home = collections.defaultdict(set)
    for name, defined in tree.defined.items():
        for symbol in defined:
            home[symbol].add(tree.room(name))
    for name in sorted(tree.lacking):
        allowed = tree.reach(tree.room(name))
        for symbol in sorted(tree.lacking[name]):
            if home[symbol] and not home[symbol] & allowed:
                yield f"symbols: {name} calls {symbol} of {', '.join(sorted(home[symbol]))}"


def faults(tree):
    return [fault for check in (arrows, circles, calls, homes, symbols) for fault in check(tree)]


def planted(tree):
    """One fault of each kind, and what finds it."""
    def with_include(name, other):
        tree.text[name] = f'#include "{other}"\n' + tree.text[name]

    def with_function(name):
        tree.text[name] += "\nint sl_planted(void) {\n  return 0;\n}\n"

    def with_call(name, symbol):
        tree.lacking[name] = tree.lacking[name] | {symbol}

    def with_symbol(name, room):
        tree.lacking[name] = tree.lacking[name] | {"sl_planted_symbol"}
        tree.defined[f"{room}/planted.c"] = {"sl_planted_symbol"}
        tree.text.setdefault(f"{room}/planted.c", "")

    yield "an arrow up", lambda: with_include("core/plan/plan.c", "core/lower/build.h"), "arrows: core/plan/plan.c"
    yield "a neighbour's header", lambda: with_include("core/models/decoder.c", "core/lower/zero.h"), "arrows: core/models/decoder.c"
    yield "a circle", lambda: with_include("core/base/status.h", "core/base/json.h"), "circles: "
    yield "a call back", lambda: with_call("core/base/status.c", "sl_json_load"), "calls: "
    yield "a function without a home", lambda: with_function("core/io/data.c"), "homes: sl_planted of core/io/data.c"
    yield "a call through the wall", lambda: with_symbol("core/place/arena.c", "core/lower"), "symbols: core/place/arena.c"


def main():
    plant = "--plant" in sys.argv
    arguments = [pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--plant"]
    if not arguments:
        raise SystemExit(__doc__)
    found = faults(Tree(*arguments))
    for fault in found:
        print(fault)
    missed = 0
    if plant and not found:
        tree = Tree(*arguments)
        text, defined, lacking = dict(tree.text), tree.defined.copy(), tree.lacking.copy()
        for what, put, expected in planted(tree):
            put()
            if not any(fault.startswith(expected) for fault in faults(tree)):
                missed += 1
                print(f"planted {what}: not found")
            tree.text, tree.defined, tree.lacking = dict(text), defined.copy(), lacking.copy()
    print(f"{len(found)} faults" + (f", {missed} planted ones not found" if plant else ""))
    sys.exit(1 if found or missed else 0)


if __name__ == "__main__":
    main()
