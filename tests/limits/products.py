"""Finds products of user numbers that may not fit.

    products.py ROOT [--plant]

core/base/limits.h says how large the numbers of a request are. A plain product that has one of the fields below as a factor
must fit by those limits: its bound is worked out here from the header, factor by factor. Whatever is not yet compared with a
limit (UNBOUNDED), or cannot be shown to fit, goes through core/base/checked.h, or is formed in double.

A line for each fault; exit status 1 when there is one. `--plant` puts faults into the sources as they were read and asks that
each be found.
"""
import pathlib
import re
import subprocess
import sys

ROOMS = "core cost sim table cli calibrate analysis backend".split()

# Fields, and the limit that each is within once the plan is made.
FIELDS = dict(
    micro_batch="SL_MAX_TOKENS", seq="SL_MAX_ROWS", n_micro="SL_MAX_MICRO_BATCHES", steps="SL_MAX_STEPS", global_batch="SL_MAX_BATCH",
    world="SL_MAX_WORLD", tp="SL_MAX_DEGREE", pp="SL_MAX_DEGREE", cp="SL_MAX_DEGREE", dp="SL_MAX_WORLD", dp_cp="SL_MAX_WORLD", micro_tokens="SL_MAX_TOKENS",
    stage_count="SL_MAX_LAYERS", n_layer="SL_MAX_LAYERS", n_embd="SL_MAX_WIDTH", n_head="SL_MAX_WIDTH",
    n_kv_head="SL_MAX_WIDTH", head_dim="SL_MAX_WIDTH", n_inner="SL_MAX_INNER", vocab_size="SL_MAX_ROWS",
    n_positions="SL_MAX_ROWS", dims="SL_MAX_INNER", numel="SL_MAX_ELEMENTS", padded="SL_MAX_ELEMENTS",
    shard_numel="SL_MAX_ELEMENTS")
# Fields as they were read: nothing is known of their products.
UNBOUNDED = set("train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps seq_len epochs nodes "
                "devices_per_node virtual_stages shard_size token_count".split())
# The letters of core/models, behind "g->" and "t->g.".
LETTERS = dict(b="SL_MAX_TOKENS", t="SL_MAX_ROWS", r="SL_MAX_TOKENS", s="SL_MAX_TOKENS", c="SL_MAX_WIDTH", i="SL_MAX_INNER",
               v="SL_MAX_LOCAL_ROWS", h="SL_MAX_WIDTH", g="SL_MAX_WIDTH", d="SL_MAX_WIDTH", tp="SL_MAX_DEGREE")
# Factors beside a field: places and counts within a batch, a run, a group, a table.
LOCALS = dict(
    b="SL_MAX_TOKENS", micro="SL_MAX_MICRO_BATCHES", step="SL_MAX_STEPS", stage="SL_MAX_LAYERS", element="SL_WIDEST_ELEMENT",
    sl_dtype_bytes="SL_WIDEST_ELEMENT", sizeof="SL_MAX_LAYERS", BLOCK_TENSORS="SL_MAX_THREADS", tensors="SL_MAX_THREADS", n_block="SL_MAX_THREADS",
    size="SL_WIDEST_ELEMENT", token_bytes="SL_WIDEST_ELEMENT", first_sequence="SL_MAX_BATCH", columns="SL_MAX_INNER",
    sl_cut_local_size="SL_MAX_LOCAL_ROWS", classes_per_pp_rank="SL_MAX_WORLD", class_count="SL_MAX_WORLD", sl_job_class_of="SL_MAX_WORLD", c="SL_MAX_WORLD", rank="SL_MAX_WORLD",
    index="SL_MAX_OPS", issues="SL_MAX_OPS", issue_count="SL_MAX_OPS", n="SL_MAX_OPS", i="SL_MAX_BATCH",
    h="SL_MAX_WIDTH", q="SL_MAX_WIDTH", kv="SL_MAX_WIDTH", key_heads="SL_MAX_WIDTH", width="SL_MAX_WIDTH")
# What is smaller together than its factors are apart: proven where the limit is checked.
TOGETHER = [({"b", "h", "t", "t2"}, "SL_MAX_ELEMENTS"), ({"micro_batch", "n_micro", "dp"}, "SL_MAX_BATCH"),
            ({"micro_batch", "seq"}, "SL_MAX_TOKENS"), ({"tp", "cp", "dp", "pp"}, "SL_MAX_WORLD"),
            ({"pp", "classes_per_pp_rank"}, "SL_MAX_WORLD"),
            ({"b", "t"}, "SL_MAX_TOKENS"), ({"h", "d"}, "SL_MAX_WIDTH"), ({"g", "d"}, "SL_MAX_WIDTH"), ({"n_head", "head_dim"}, "SL_MAX_WIDTH")]
# Products of these alone are formed in int.
INTS = set("world tp pp cp dp classes_per_pp_rank stage_count".split())

# Products that no limit bounds, looked at one by one.
REVIEWED = {
    # ranks, or from one rank to another: below the world, whose axes they are
    "core/plan/coords.c": {"ranks * plan->tp", "c.tp * strides->tp", "c.cp * strides->cp", "c.dp * strides->dp",
                           "c.pp * strides->pp", "ranks * plan->cp", "strides.dp * plan->dp", "step.cp * plan->shard", "step.cp * plan->node", "step.pp * (high - low)"},
    "sim/tables.c": {"sl_plan_strides(plan).pp * plan->pp"},
    "calibrate/record.c": {"rank * issues * steps"},  # a place in a list that is in memory
    "backend/cuda/comm/rendezvous.c": {"(size_t)star->world * bytes"},  # as many bytes as the caller's list has
}

OPERAND = re.compile(r"""\s*(?P<cast>\(\s*(?:const\s+)?(?:u?int\d*_t|size_t|int|unsigned|double|float|u?int)\s*\))?\s*
    (?P<body>\d[\w.]*|[A-Za-z_]\w*|\()""", re.X)


def limits(root):
    """The numbers of core/base/limits.h."""
    values = {}
    for name, text in re.findall(r"#define (SL_\w+) (\(?[^/\n]+)", (root / "core/base/limits.h").read_text()):
        values[name] = eval(re.sub(r"INT64_C", "", text), {}, values)
    return values


def code(text):
    """C without comments, texts and preprocessor lines, at the same places."""
    blank = lambda m: re.sub(r"[^\n]", " ", m[0])
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', blank, text)
    return re.sub(r"^\s*#\s*(?:include|define [A-Z_]+ ).*$", blank, text, flags=re.M)


def closing(text, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += text[i] in "([" 
        depth -= text[i] in ")]"
        if depth == 0:
            return i + 1
    return len(text)


def operand(text, at):
    """The operand that starts at `at`: where it ends."""
    match = OPERAND.match(text, at)
    if not match:
        return None
    end = closing(text, match.start("body")) if match["body"] == "(" else match.end()
    while tail := re.match(r"(?:->|\.)\w+|(?=[\[(])", text[end:]):
        end = closing(text, end) if tail[0] == "" else end + len(tail[0])
    return end


def terms(text):
    """Every maximal run of operands joined by *, / and %, clang-format's way (blanks on both sides)."""
    for start in re.finditer(r"(?<![*/%] )(?<![\w.>)])(?=[A-Za-z_(\d])", text):
        at, factors, operators = start.start(), [], []
        while (end := operand(text, at)) is not None:
            factors.append(text[at:end].strip())
            follows = re.match(r"\s+([*/%])\s+", text[end:])
            if not follows:
                break
            operators.append(follows[1])
            at = end + follows.end()
        if "*" in operators and len(factors) == len(operators) + 1:
            yield start.start(), factors, operators


class Bounds:
    def __init__(self, values):
        self.values = values

    def name(self, factor):
        """The last name of a path: plan->model->n_embd is n_embd, dims[i] is dims, f(x) is f."""
        path = re.sub(r"^\([^()]*\)\s*(?=[A-Za-z_])", "", factor)
        names = re.match(r"(?:\w+(?:\[[^\]]*\])?(?:->|\.))*(\w+)", path)
        return names[1] if names else ""

    def raw(self, factor):
        return self.name(factor) in UNBOUNDED or bool(re.search(r"[.>]sl\.", factor))

    def listed(self, factor):
        return self.name(factor) in FIELDS or self.raw(factor) or bool(re.match(r"[gm]->[a-z]\b(?!->|\()", factor))

    def of(self, factor):
        """The most that a factor is, and its name among TOGETHER; None where nothing is known."""
        name = self.name(factor)
        if re.fullmatch(r"\d+u?", factor):
            return int(factor.rstrip("u"))
        if self.raw(factor):
            return None
        if letter := re.match(r"(?:g->|t->g\.)([a-z]|tp)\b(?!->|\(|\.)", factor):
            return self.values.get(LETTERS.get(letter[1], ""))
        if factor.startswith("(") and not re.match(r"\([\w ]+\)\s*[A-Za-z_]", factor):
            return self.inside(factor[1:-1])
        return self.values.get(FIELDS.get(name) or LOCALS.get(name, ""))

    def inside(self, text):
        """Of a sum or a choice in parentheses: the sum of its parts."""
        parts = [p.strip() for p in re.split(r"\s[-+]\s|\s\?\s|\s:\s|\s[<>=!]=?\s", text)]
        if "?" in text:
            parts = parts[1:]
        bounds = [self.product(*self.split(p)) if re.search(r"\s[*/%]\s", p) else self.of(p) for p in parts]
        return None if None in bounds else sum(bounds)

    def split(self, text):
        pieces = re.split(r"\s([*/%])\s", text)
        return pieces[::2], pieces[1::2]

    def product(self, factors, operators):
        """The bound of a run; None where it is not known."""
        apart, names, total = 1, {}, 1
        for factor, operator in zip(factors, ["*"] + operators):
            bound = self.of(factor)
            if operator == "*":
                if bound is None:
                    return None
                name = re.sub(r"^[gm]->", "", self.name(factor)) if not re.match(r"[gm]->", factor) else factor[3:]
                names[name + "2" if name in names else name] = bound
            elif operator == "%" and bound is not None:
                names = {"": min(self.joint(names), bound)}
            total = self.joint(names)
        return total

    def joint(self, names):
        """The product of bounds, with what is known of them together."""
        best, left = 1, dict(names)
        for group, limit in TOGETHER:
            held = [n for n in left if n in group]
            if len(held) > 1:
                known = 1
                for n in held:
                    known *= left[n]
                together = min(known, self.values[limit])
                for n in held:
                    del left[n]
                best *= together
        for bound in left.values():
            best *= bound
        return best


def faults(sources, values):
    bounds = Bounds(values)
    for name in sorted(sources):
        text = code(sources[name])
        if name != "core/base/checked.h" and (builtin := re.search(r"__builtin_\w+_overflow", text)):
            yield f"{name}: {builtin[0]} stands beside core/base/checked.h"
        for at, factors, operators in terms(text):
            if not any(bounds.listed(f) for f in factors):
                continue
            if any(re.match(r"\((?:double|float)\)|\d+\.\d|0x1p|\d+e", f) for f in factors):
                continue
            most = 2**31 if all(bounds.name(f) in INTS and not f.startswith("(") for f in factors) else 2**63
            bound = bounds.product(factors, operators)
            shown = " ".join(x for pair in zip(factors, operators + [""]) for x in pair).strip()
            if (bound is None or bound >= most) and shown not in REVIEWED.get(name, ()):
                why = "is not bounded" if bound is None else f"may be {bound}"
                yield f"{name}:{text.count(chr(10), 0, at) + 1}: {shown}: {why}; form it with core/base/checked.h"


def read(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", *ROOMS], capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else [
        str(p.relative_to(root)) for room in ROOMS for p in (root / room).rglob("*")]
    return {n: (root / n).read_text() for n in names if re.search(r"\.[ch]$", n) and (root / n).is_file()}


PLANTED = [
    ("core/io/data.c", "__builtin_mul_overflow(a, b, &c)"),
    ("core/plan/plan.c", "config->sl.tp * config->sl.pp"),
    ("core/plan/bounds.c", "plan->micro_batch * plan->seq * plan->seq * plan->model->n_head"),
    ("core/models/decoder.c", "g->r * g->i * g->v"),
    ("cli/measure.c", "options->epochs * steps"),
    ("core/io/data.c", "data->token_count * data->token_bytes"),
    ("core/config/config.c", "config->train_micro_batch_size_per_gpu * config->gradient_accumulation_steps"),
    ("core/lower/build.c", "plan->world * plan->world"),
    ("calibrate/bench.c", "model->vocab_size * model->n_embd * model->n_inner"),
]


def main():
    arguments = [a for a in sys.argv[1:] if a != "--plant"]
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    root = pathlib.Path(arguments[0]).resolve()
    sources, values = read(root), limits(root)
    found, missed = list(faults(sources, values)), 0
    for fault in found:
        print(fault)
    for name, product in PLANTED if "--plant" in sys.argv else []:
        planted = {name: sources[name] + f"\nstatic int64_t planted(void) {{\n  return {product};\n}}\n"}
        if not any(product.partition("(a,")[0] in fault for fault in faults(planted, values)):
            missed += 1
            print(f"planted {product} in {name}: not found")
    print(f"{len(found)} faults, {missed} planted ones not found")
    sys.exit(1 if found or missed else 0)


if __name__ == "__main__":
    main()
