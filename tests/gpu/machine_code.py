"""What the GPU kernels became as machine code, without a GPU: kernels/gpu compiled for each architecture and disassembled.

    machine_code.py ROOT [--arch sm_80,sm_90] [--only PATTERN] [--json] [--judge]

Per kernel: registers and threads of a block, bytes spilled, shared memory, blocks that fit on a multiprocessor, and of a kernel
with products on tensor cores its main loop: the instructions that a warp issues per tile of 64 x 64, and of them the HMMA.

How they are counted: the loop is the range from a backward branch's target to that branch; of the loops with HMMA that have none of
them inside, each is a graph of basic blocks, and its count is that of the shortest way round that issues the most HMMA, so that code
behind a branch that tiles inside do not take (masks, odd lengths) is not counted, and every instruction is counted once, predicated
or not. Of several such loops the shortest one is told. A loop over 32 rows counts twice, one over 16 four times.

Before that, where the release build is: how many kernels a step of GPT-2 124M launches, counted on the stand-ins
(tests/backend/cuda/test_cuda_launches.c, which holds them to their bars).

--judge: exit status 1 where a bar is missed. nvcc is $NVCC, that of PATH or of /usr/local/cuda; nvdisasm is $NVDISASM, beside
nvcc or in PATH. Without one of them the last line says so and the exit status is 77.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

THREADS_WITHOUT_BOUND = 256  # what launch_flat and launch_rows ask for
REGISTERS, WARPS, BLOCKS = 65536, 64, 32  # of a multiprocessor, sm_80 and sm_90
SHARED_KIB = {"sm_80": 164, "sm_90": 228, "sm_90a": 228}  # CUDA C++ Programming Guide, technical specifications
# A product of 64 x 64 x 64 is 32 HMMA.16816 of a warp with 16 rows: two of them, four (with dO V^T), three.
# Of a warpgroup with 64 rows the same product is 4 HGMMA.64x64x16.
TILE_HMMA = {"mma_forward_kernel": 64, "mma_keys_kernel": 128, "mma_queries_kernel": 96,
             "wgmma_forward_kernel": 8, "wgmma_keys_kernel": 16, "wgmma_queries_kernel": 12}
# At most so many instructions per tile of 64 x 64, and at least so many blocks per multiprocessor: the lean kernels (plain scores,
# whole vectors, no dropout) of heads of 64.
BARS = {"mma_forward_kernel": (520, 3), "mma_keys_kernel": (820, 2), "mma_queries_kernel": (580, 2),
        "wgmma_forward_kernel": (300, 2), "wgmma_keys_kernel": (320, 3), "wgmma_queries_kernel": (270, 4)}
FORMS = ("lean", "dropout", "general")  # kernels/gpu/flash_mma.cuh, enum mma_form


def tool(name):
    said = os.environ.get(name.upper())
    near = shutil.which(os.environ.get("NVCC", "nvcc")) or "/usr/local/cuda/bin/nvcc"
    for path in (said, pathlib.Path(near).resolve().parent / name, shutil.which(name)):
        if path and os.access(path, os.X_OK):
            return str(path)
    print(f"skipped: no {name} (set {name.upper()}; nvdisasm is also in PyPI's triton wheel, triton/backends/nvidia/bin)")
    raise SystemExit(77)


# --- one function's instructions ---


def functions(text):
    """Name -> [(label or instruction)] of a disassembly; a label ends with a colon."""
    out, now = {}, None
    for line in text.splitlines():
        section = re.match(r"\s*\.section\s+\.text\.([\w$]+)", line)
        if section:
            now = out.setdefault(section[1], [])
        elif re.match(r"\s*\.section\s", line):
            now = None
        elif now is not None and re.match(r"\.L_\w+:", line):
            now.append(line.strip())
        elif now is not None and (found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;?\s*(/\*.*)?$", line)):
            now.append(found[1])
    return out


def code_of(lines):
    """Instructions, and the place of each label among them."""
    code, places = [], {}
    for line in lines:
        if line.endswith(":"):
            places[line[:-1]] = len(code)
        elif line not in ("{", "}"):
            code.append(line.strip("{} "))
    return code, places


def multiplies(instruction):
    return bool(re.search(r"\bHG?MMA\b", instruction))


def target(instruction, places):
    found = re.search(r"\bBRA\S*\s.*`\((\.L_\w+)\)", instruction)
    return places.get(found[1]) if found else None


def goes_on(instruction):
    """Can the next one follow?"""
    conditional = instruction.startswith("@") or re.search(r"\bBRA\S*\s+!?U?P\d", instruction) or "BRA.DIV" in instruction
    return bool(conditional) or not re.search(r"\b(BRA|EXIT|RET|BRX)\b", instruction)


def way_round(code, places, first, last):
    """(HMMA, instructions) of the shortest way from first to last with the most HMMA; inner loops are gone through once."""
    best = {first: (0, 0)}
    for i in range(first, last + 1):
        if i not in best:
            continue
        hmma, count = best[i][0] + multiplies(code[i]), best[i][1] - 1
        if i == last:
            return hmma, -count
        to = target(code[i], places)
        nexts = [i + 1] * goes_on(code[i]) + [to] * (to is not None and i < to <= last)
        for n in nexts:
            best[n] = max(best.get(n, (-1, 0)), (hmma, count))
    return 0, 0


def loops(lines):
    """(HMMA, instructions) of each loop with HMMA that has no other such loop inside."""
    code, places = code_of(lines)
    ranges = [(t, i) for i, x in enumerate(code) if (t := target(x, places)) is not None and t < i]
    ranges = [(a, b) for a, b in ranges if any(multiplies(x) for x in code[a : b + 1])]
    inner = [(a, b) for a, b in ranges if not any((c, d) != (a, b) and a <= c and d <= b for c, d in ranges)]
    return [found for a, b in inner if (found := way_round(code, places, a, b))[0] > 0]


def touched(lines):
    """Instructions that write a register of a warpgroup's product, a sum's or a first factor's, before it is waited for."""
    busy, found = set(), []
    for x in code_of(lines)[0]:
        said = re.match(r"(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*)", x)
        name, operands = said[1], [o.strip() for o in said[2].split(",")]
        if name.startswith("WARPGROUP.DEPBAR"):
            busy = set()
        elif name.startswith("HGMMA"):
            starts = [(int(o[1:]), n) for o, n in zip(operands, (32, 4)) if re.fullmatch(r"R\d+", o)]
            busy |= {r for first, n in starts for r in range(first, first + n)}
        elif not re.match(r"ST|RED|BRA|BAR", name):
            to = next((o for o in operands[:2] if re.match(r"R\d+", o)), None)
            width = 4 if re.search(r"\.128|M88\.4", name) else 2 if re.search(r"\.64|WIDE", name) else 1
            first = int(re.match(r"R(\d+)", to)[1]) if to and (to == operands[0] or re.match(r"U?P", operands[0])) else None
            if first is not None and busy & set(range(first, first + width)):
                found.append(x)
    return found


def bounds(text):
    """Name -> threads of a block that a kernel was compiled for (EIATTR_MAX_THREADS of its .nv.info)."""
    out, now, told = {}, None, 0
    for line in text.splitlines():
        section = re.match(r"\s*\.section\s+\.nv\.info\.([\w$]+)", line)
        if section:
            now = section[1]
        told = 8 if "EIATTR_MAX_THREADS" in line else told - 1
        found = re.search(r"\.word\s+0x([0-9a-f]+)", line)
        if told > 0 and found and now:
            out[now] = int(found[1], 16)
            told = 0
    return out


# --- a source ---


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def plain_names(names):
    """What the kernels are called in the source."""
    said = run(["c++filt"], input="\n".join(names)).splitlines()
    return {n: plain_name(s) for n, s in zip(names, said)}


def plain_name(said):
    """NAME<ARGUMENTS> of what c++filt says: no namespaces, no types of arguments, forms by name."""
    said = re.sub(r"\(anonymous namespace\)::|_GLOBAL__N__\w+::|\bsl::|^void ", "", said)
    said = re.sub(r"\((int|bool|unsigned|mma_form)\)", "", re.sub(r"\((int)?mma_form\)(\d)", lambda m: FORMS[int(m[2])], said))
    depth = 0
    for i, c in enumerate(said):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return said[:i]
    return said


def resources(said):
    """Name -> registers, spilled bytes, static shared bytes of what ptxas says."""
    out = {}
    for part in said.split("Compiling entry function '")[1:]:
        numbers = [re.search(p, part) for p in (r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes smem")]
        out[part.split("'")[0]] = [int(n[1]) if n else 0 for n in numbers]
    return out


def compiled(root, source, arch, scratch, nvcc, nvdisasm):
    cubin = scratch / f"{source.stem}.{arch}.cubin"
    said = run([nvcc, "-std=c++17", "-O3", f"-arch={arch}", "-cubin", "-Xptxas", "-v", f"-I{root}", "-o", cubin, source])
    text = run([nvdisasm, cubin])
    names, bodies, most = resources(said), functions(text), bounds(text)
    called = plain_names(list(names))
    return [row(source, arch, called[n], names[n], most.get(n), bodies.get(n, [])) for n in names]


def dynamic_shared(root, scratch):
    """Bytes by kernel and head width, as the launchers ask for them."""
    (scratch / "shared.cpp").write_text(
        '#include "kernels/gpu/flash_mma.cuh"\n#include <cstdio>\nint main() { for (int W = 64; W <= 128; W += 64)\n'
        'printf("%d %zu %zu %zu %zu\\n", W, sl::mma_forward_shared(W), sl::mma_backward_shared(W), '
        'sl::wgmma_forward_shared(W), sl::wgmma_backward_shared(W)); }\n')
    run(["c++", "-std=c++17", f"-I{root}", "-o", scratch / "shared", scratch / "shared.cpp"])
    out = {}
    for line in run([scratch / "shared"]).splitlines():
        width, *bytes_of = line.split()
        for kind, forward, backward in (("mma", *bytes_of[:2]), ("wgmma", *bytes_of[2:])):
            for kernel, most in (("forward", forward), ("keys", backward), ("queries", backward)):
                out[f"{kind}_{kernel}_kernel", width] = int(most)
    return out


def row(source, arch, name, numbers, threads, lines):
    registers, spilled, shared = numbers
    found = loops(lines)
    hmma, issued = min(found, key=lambda x: (-x[0], x[1])) if found else (0, 0)
    return {"source": source.name, "arch": arch, "kernel": name, "registers": registers, "spilled_bytes": spilled,
            "shared_bytes": shared, "threads": threads, "tile_hmma": hmma, "tile_instructions": issued,
            "touched": touched(lines)}


def per_tile(r):
    """A tile of 64 x 64, also where a loop goes over fewer rows at a time: the products say how many."""
    width = re.search(r", (\d+)", r["kernel"])
    whole = TILE_HMMA.get(r["kernel"].split("<")[0], 0) * int(width[1] if width else 0) // 64
    if r["tile_hmma"] and whole:
        r["tile_instructions"] = r["tile_instructions"] * whole // r["tile_hmma"]
        r["tile_hmma"] = whole


def blocks_per_sm(r):
    warps = ((r["threads"] or THREADS_WITHOUT_BOUND) + 31) // 32
    by_registers = REGISTERS // ((r["registers"] * 32 + 255) // 256 * 256 * warps)
    by_shared = SHARED_KIB[r["arch"]] * 1024 // (r["shared_bytes"] + 1024)
    return min(by_registers, by_shared, WARPS // warps, BLOCKS)


def archs_of(source, archs):
    """What is for sm_90a's instructions is machine code there alone."""
    return ["sm_90a"] * ("sm_90" in archs) if "wgmma" in source.name else archs


def kernels(root, archs, only):
    nvcc, nvdisasm = tool("nvcc"), tool("nvdisasm")
    sources = [s for s in sorted((root / "kernels/gpu").glob("*.cu")) if re.search(only, s.name)]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        scratch = pathlib.Path(scratch)
        shared = dynamic_shared(root, scratch)
        jobs = [pool.submit(compiled, root, s, arch, scratch, nvcc, nvdisasm) for s in sources for arch in archs_of(s, archs)]
        rows = [r for job in jobs for r in job.result()]
    for r in rows:
        width = re.search(r", (\d+)", r["kernel"])
        r["shared_bytes"] += shared.get((r["kernel"].split("<")[0], width[1] if width else ""), 0)
        per_tile(r)
        r["blocks_per_sm"] = blocks_per_sm(r)
    return sorted(rows, key=lambda r: (r["source"], r["kernel"], r["arch"]))


# --- launches of a step ---


def launches(root):
    """Rows (run, op, ops, kernels), and what the program that counts them missed; nothing where it is not built."""
    program = root / "build/release/bin/test_cuda_launches"
    if not program.exists():
        return [], []
    done = subprocess.run([program], capture_output=True, text=True, check=False, cwd=root / "build/release")
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]
    return rows, [] if done.returncode == 0 else [done.stdout + done.stderr]


# --- what is said ---


def lean(r):
    return re.search(r"<(bf16|f16), 64, lean>", r["kernel"])


def misses(rows):
    for r in rows:
        where = f"{r['kernel']} on {r['arch']}"
        if r["spilled_bytes"]:
            yield f"{where} spills {r['spilled_bytes']} bytes"
        if r["touched"]:
            yield f"{where} writes what a product still uses: {r['touched'][0]}"
        bar = BARS.get(r["kernel"].split("<")[0])
        if bar and lean(r):
            if not 0 < r["tile_instructions"] <= bar[0]:
                yield f"{where} issues {r['tile_instructions']} instructions a tile, not 1 to {bar[0]}"
            if r["blocks_per_sm"] < bar[1]:
                yield f"{where}: {r['blocks_per_sm']} blocks fit, not {bar[1]}"


COLUMNS = ("source", "kernel", "arch", "threads", "registers", "spilled_bytes", "shared_bytes", "blocks_per_sm", "tile_instructions",
           "tile_hmma")


def table(rows):
    cells = [[str(r[c] if r[c] is not None else "-") for c in COLUMNS] for r in rows]
    return "\n".join("\t".join(line) for line in [COLUMNS, *cells]) + "\n"


def main():
    args = argparse.ArgumentParser(prog="dev kernels", description=__doc__.split("\n", 1)[0])
    args.add_argument("root", type=pathlib.Path)
    args.add_argument("--arch", default="sm_80,sm_90", help="sm_80,sm_90")
    args.add_argument("--only", default="", help="sources whose name has this pattern")
    args.add_argument("--json", action="store_true")
    args.add_argument("--judge", action="store_true", help="exit status 1 where a bar is missed")
    said = args.parse_args()
    root = said.root.resolve()
    launched, missed = launches(root)
    if launched and not said.json:
        print("\n".join("\t".join(line) for line in launched), end="\n\n", flush=True)
    rows = kernels(root, said.arch.split(","), said.only)
    version = re.search(r"release [\d.]+, (V[\d.]+)", run([tool("nvcc"), "--version"]))[1]
    missed += misses(rows)
    if said.json:
        print(json.dumps({"nvcc": version, "launches": launched[1:], "kernels": rows, "missed": missed}, indent=1))
    else:
        print(f"# nvcc {version}\n{table(rows)}", end="")
    for line in missed:
        print(line, file=sys.stderr)
    raise SystemExit(1 if said.judge and missed else 0)


if __name__ == "__main__":
    main()
