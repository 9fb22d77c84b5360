"""Does this machine fit the programs? The driver, the C library, and CUDA's libraries by soname and by the functions that are
called, each with what was found and what is needed. Asked in a process of its own: a driver may take long to answer, or never
do so.

    fit.py ROOT       one JSON object: problems, absent (no GPU is here at all), summary, environment for the stages

ROOT/NEEDS, which a bundle brings, says what is needed, a line each: `glibc 2.34`, `cuda 13.0`, `capability 8.0`,
`library SONAME`, `symbol SONAME NAME`. In a tree the programs were built on this machine, and only the libraries are looked for.
"""
import ctypes
import dataclasses
import glob
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import site
import subprocess
import sys

LIMIT_S = 45
FOLDERS = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/local/cuda*/lib64", "/usr/local/cuda*/lib",
           "/usr/local/cuda*/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
TOOLS = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer", "/usr/local/nvidia/bin")
IN_A_TREE = [["library", "libcublasLt.so.13"], ["library", "libnccl.so.2"]]
DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
CARDS = {"H100": ("h100x1", "dgx-h100")}  # a GPU's name: the presets of one such card and of a node of them
OTHERS = ("h200x1", "dgx-h200")
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


@dataclasses.dataclass
class Fit:
    problems: list = dataclasses.field(default_factory=list)
    absent: str = ""
    found: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)

    def need(self, holds, said):
        if not holds:
            self.problems.append(said)


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def folder_of(soname, known):
    """Where CUDA's libraries stand: "" where the loader finds them by itself, None where they are not."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False,
                            env=os.environ | {"PATH": f"{os.environ['PATH']}:/sbin:/usr/sbin"}).stdout
    if any(line.split()[:1] == [soname] for line in listed.splitlines()):
        return ""
    packages = [f for s in site.getsitepackages() for f in glob.glob(f"{s}/nvidia/*/lib")]
    for folder in [*known, *(f for pattern in FOLDERS for f in glob.glob(pattern)), *packages]:
        if folder and os.path.exists(os.path.join(folder, soname)):
            return folder
    return None


def load(fit, soname, known, needed_for):
    """The library, or None; its folder is one that the stages are to know."""
    folder = folder_of(soname, known)
    if folder is None:
        fit.problems.append(f"{soname} is not on this machine: {needed_for}")
        return None
    if folder and folder not in known:
        known.append(folder)
    try:
        return ctypes.CDLL(os.path.join(folder, soname))
    except OSError as e:
        fit.problems.append(f"{soname} cannot be loaded: {e}")
        return None


def glibc(fit, needed):
    found = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    fit.found.append(f"glibc {found}")
    fit.need(numbers(found) >= numbers(needed), f"the C library is glibc {found}; {needed} or later is needed")


def driver(fit, library, needed):
    version, count = ctypes.c_int(), ctypes.c_int()
    code = library.cuDriverGetVersion(ctypes.byref(version)) or library.cuInit(0) or \
        library.cuDeviceGetCount(ctypes.byref(count))
    found = (version.value // 1000, version.value % 1000 // 10)
    fit.found.append(f"driver for CUDA {found[0]}.{found[1]}")
    fit.need(found[0] >= numbers(needed)[0],
             f"the driver is one for CUDA {found[0]}.{found[1]}; one for CUDA {numbers(needed)[0]} or later is needed")
    fit.need(code == 0, f"the driver does not start: CUDA error {code}")
    fit.need(code != 0 or count.value > 0, "the driver sees no GPU")


def device(fit, library, needed):
    found = [ctypes.c_int(), ctypes.c_int()]
    for value, attribute in zip(found, (MAJOR, MINOR)):
        if library.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0) != 0:
            return  # no device: said by the driver
    name = ctypes.create_string_buffer(256)
    if library.cuDeviceGetName(name, len(name), 0) == 0:
        fit.found.append(f"GPU {name.value.decode()}")
    major, minor = (value.value for value in found)
    fit.found.append(f"compute capability {major}.{minor}")
    fit.need((major, minor) >= numbers(needed), f"the GPU has compute capability {major}.{minor}; {needed} or later is needed")


def version(library, soname):
    """As the library itself says it."""
    if soname.startswith("libcublasLt"):
        library.cublasLtGetVersion.restype = ctypes.c_size_t
        return f"cuBLASLt {library.cublasLtGetVersion()}"
    if soname.startswith("libnccl"):
        value = ctypes.c_int()
        library.ncclGetVersion(ctypes.byref(value))
        return f"NCCL {value.value}"
    return soname


def libraries(fit, needs, known):
    for soname in [need[1] for need in needs if need[0] == "library"]:
        library = load(fit, soname, known, "the cuda backend calls it; CUDA's toolkit and PyTorch's packages have it")
        if library is None:
            continue
        said = version(library, soname)
        fit.found.append(said)
        lacking = [need[2] for need in needs if need[:2] == ["symbol", soname] and not hasattr(library, need[2])]
        fit.need(not lacking, f"{soname} ({said}) lacks {', '.join(lacking[:3])}")


def backend(fit, program, environment):
    """The last word is the program's own: can the module be loaded, does it see a GPU?"""
    try:
        said = subprocess.run([program, "backends"], capture_output=True, text=True, check=False, env=environment)
    except OSError as e:
        fit.problems.append(f"{program}: {e.strerror}")
        return False
    line = next((x for x in said.stdout.splitlines() if x.startswith("cuda backend")), said.stderr.strip())
    present = line.split()[2:3] == ["present"]
    if not present and not fit.problems:
        fit.problems.append(line.removeprefix("cuda backend").strip().removeprefix("absent").strip())
    return present


def presets(found):
    """Of the GPU that was found, or of an H200: what is compared with a prediction's bytes is the same on all."""
    names = next((presets for part, presets in CARDS.items() if any(f.startswith("GPU ") and part in f for f in found)), OTHERS)
    return dict(zip(("card", "node"), names))


def examine(root):
    fit = Fit()
    listed = root / "NEEDS"
    needs = [line.split() for line in listed.read_text().splitlines()] if listed.exists() else IN_A_TREE
    wanted = {need[0]: need[1] for need in needs if len(need) == 2}
    known = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    peers = ":".join(known)  # PyTorch brings libraries of its own, and is not to meet those that we find
    if "glibc" in wanted:
        glibc(fit, wanted["glibc"])
    if folder_of(DRIVER[0], known) is None and not os.path.exists("/dev/nvidia0"):
        fit.absent = "no GPU: neither a driver nor a device is here"
    cuda = load(fit, DRIVER[0], known, "it is the driver's")
    if cuda is not None:
        driver(fit, cuda, wanted.get("cuda", "13.0"))
        device(fit, cuda, wanted.get("capability", "8.0"))
        load(fit, DRIVER[1], known, "it is the driver's")
    libraries(fit, needs, known)
    own = [str(root / "lib")] if (root / "lib").is_dir() else []
    program = root / ("bin/shardlab" if (root / "bin/shardlab").exists() else "build/release/bin/shardlab")
    variables = {"LD_LIBRARY_PATH": ":".join(own + known), "peer_libraries": peers, "bin": str(program.parent),
                 "PATH": ":".join([os.environ["PATH"], *TOOLS]), "corpus": str(root / "examples/corpus.txt")}
    if importlib.util.find_spec("torch"):
        fit.found.append(f"torch {importlib.metadata.version('torch')}")
    variables |= presets(fit.found)
    present = backend(fit, program, os.environ | variables)
    fit.environment = variables | {"gpu": "1" if present else "0", "absent": fit.absent or "; ".join(fit.problems)}
    return fit


def look(root):
    """What `fit.py ROOT` says; a driver that does not answer is a problem as any other."""
    try:
        said = subprocess.run([sys.executable, __file__, str(root)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        return Fit(**json.loads(said.stdout))
    except subprocess.TimeoutExpired:
        trouble = f"the driver did not answer within {LIMIT_S} s"
    except ValueError:
        trouble = said.stderr.strip().splitlines()[-1] if said.stderr.strip() else f"{__file__} ended by {said.returncode}"
    return Fit(problems=[trouble], environment={"gpu": "0", "absent": trouble})


if __name__ == "__main__":
    json.dump(dataclasses.asdict(examine(pathlib.Path(sys.argv[1]))), sys.stdout)
