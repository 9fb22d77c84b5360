"""Does torch_kernels_gpu.py call the cuda backend's kernels as they are declared? It runs where a GPU and PyTorch are, so this
reads it instead: every call has as many arguments as kernels/gpu/cuda.h declares, and every struct the fields of
kernels/numbers/types.h, in order and type.

    check_calls.py [ROOT]
"""
import ast
import ctypes
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parents[2]
TYPES = {"size_t": ctypes.c_size_t, "float": ctypes.c_float, "double": ctypes.c_double, "int": ctypes.c_int,
         "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64}
LEADING = 2  # the stream and the number type: Ours.call adds them


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.S)


def declared(header):
    """Of each function the number of its parameters."""
    return {name: len(parameters.split(",")) for name, parameters in re.findall(r"\b(sl_cuda_\w+)\(([^()]*)\);", header)}


def c_type(words):
    if "*" in words:
        return ctypes.c_void_p
    if words.startswith("struct sl_philox_key"):
        return ctypes.c_uint32 * 4
    if words.startswith("struct sl_token_places"):
        return ctypes.c_size_t * 3
    return ctypes.c_int if words.startswith("enum ") else TYPES[words.split()[-1]]


def structs(header):
    for name, body in re.findall(r"\bstruct (\w+) \{([^{}]*)\};", header):
        members = []
        for line in (x.strip() for x in body.split(";") if x.strip()):
            words, first, rest = re.fullmatch(r"([\w ]+?[ *]+)(\w+)((?:, *\w+(?:\[\d+\])?)*)", line).groups()
            members += [(member.strip(), c_type(words.strip())) for member in [first, *rest.split(",")[1:]]]
        yield name, members


def snake(name):
    return "sl_" + re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def troubles():
    tree = ast.parse((ROOT / "tests/peers/torch_kernels_gpu.py").read_text())
    parameters, members = declared(without_comments("kernels/gpu/cuda.h")), dict(structs(without_comments("kernels/numbers/types.h")))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "ours.call"]
    for call in calls:
        name, given = call.args[0].value, len(call.args) - 1 + LEADING
        if parameters.get(name) != given:
            yield f"line {call.lineno}: {name} is called with {given} arguments; declared are {parameters.get(name)}"
    helpers = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.bases or
               isinstance(n, ast.Assign) and "ctypes" in ast.unparse(n) or isinstance(n, ast.FunctionDef) and n.name == "fields"]
    known = {"ctypes": ctypes}
    exec(compile(ast.Module(helpers, []), "torch_kernels_gpu.py", "exec"), known)  # pylint: disable=exec-used
    mine = {k: v for k, v in known.items() if isinstance(v, type) and issubclass(v, ctypes.Structure)}
    for name, struct in mine.items():
        if [tuple(f) for f in struct._fields_] != members.get(snake(name)):
            yield f"{name} has {struct._fields_}; struct {snake(name)} has {members.get(snake(name))}"
    if len(calls) < 10 or len(mine) < 3:
        yield f"only {len(calls)} calls and {len(mine)} structs were found"


if __name__ == "__main__":
    found = list(troubles())
    print("\n".join(found) or "every call is as declared")
    sys.exit(bool(found))
