"""Inputs of every kind, spoiled at random, and command lines with words that do not belong: none may crash, hang or mislead.

    spoiled.py SHARDLAB ROOT [--cases N] [--seed S] [--jobs J] [--keep FOLDER]

A case copies a folder of good inputs, spoils one of them (bytes, numbers, strings, its end, its kind of file) or the words of a
command, and runs it. What is asked of a run: exit status 0, 1 or 2 within TIMEOUT_S; where it is 2, one line of error and nothing
on standard output; text in UTF-8 without a control character, whatever stood in the input; where it was refused, no file that was
not there before. A line for each case that goes otherwise, exit status 1 when there is one; `--keep` leaves its folder there.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_S = 60  # of a loaded machine; a run takes some hundredths of a second
GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_embd": 32, "n_head": 2, "vocab_size": 300, "n_positions": 32}
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
         "intermediate_size": 128, "vocab_size": 128, "max_position_embeddings": 64, "rope_theta": 10000.0, "rms_norm_eps": 1e-5}
TRAIN = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "zero_optimization": {"stage": 1},
         "optimizer": {"type": "AdamW", "params": {"lr": 0.001}}}
SMALL = "--model model.json --config train.json"
TRAINED = f"measure {SMALL} --data corpus.txt --world 1 --threads 1 --quiet"
COMMANDS = [line.split() for line in f"""
predict {SMALL} --world 2
predict --model llama.json --config ds_zero2.json --world 4 --tp 2
predict --model gpt2 --config ds_zero3_offload.json --cluster cluster.json --world 8
predict --model mlp.json --config ds_adam_mlp.json
predict {SMALL} --world 2 --pp 2 --schedule schedule.csv --grad-accum 2
predict {SMALL} --world 2 --json o.json --trace t.json
predict --table table.csv --out o.csv
check {SMALL} --world 4 --pp 2
show plan {SMALL} --world 2
show cluster --cluster cluster.json
compare predicted.json measured.json
validate {SMALL} --data corpus.txt --world 1 --steps 1 --threads 1
{TRAINED} --steps 1
{TRAINED} --steps 1 --init weights.safetensors
{TRAINED} --steps 3 --checkpoint ck --resume latest
{TRAINED} --steps 1 --hostfile hostfile --dry-run
checkpoint show ck
checkpoint verify ck
checkpoint export ck --out e.safetensors""".strip().splitlines()]
NEED_BACKEND = ("measure", "validate", "checkpoint", "compare")
JUNK = [b"\x1b[31m", b"\0", b"\n", b"\r\n", b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b'"', b"\\u0000", b"\\ud800", b"\\", b",", b":", b"'",
        b"//", b"\xe2\x80\xae", b"%n%s", b"../" * 50, b"\x7f", b"\x9b31m", b"{" * 3000, b"[" * 100000, b"A" * 70000]
NUMBERS = b'-1 0 1e309 18446744073709551616 9223372036854775807 0.1 nan NaN 1e-320 -0 2147483648 true null "x" [] {} "auto" 1E5'.split()
FLAGS = """--world --tp --pp --zero-stage --micro-batch --grad-accum --seq --steps --virtual-stages --stages --schedule --cluster --preset
    --kernels --rank-order --device-memory --cp --threads --seed --json --trace --save --out --hostfile --include --exclude --num-nodes
    --num-gpus --master-addr --master-port --node-rank --launcher --no-ssh --dry-run --checkpoint --resume --save-every --keep --init --data
    --strict --jobs --train-batch --nonsense -x -- --model --config --help""".split()
VALUES = ["-1", "0", "1", "2", "3", "7", "99999999999999999999", "1e9", "", "x", "nan", "a\nb", "\x1b[2J", "latest", "../..", "/", "/dev/null",
          "/dev/zero", "/proc/self/mem", ".", "no/such", "worker-0@worker-1:0", "@", "::", "host:", "ssh", "2,2", "model.json", "512MiB",
          "-5GiB", "A" * 5000, "%s%n", "/dev/full", "ck", "fp16", b"\xff", "é"]
WORD = re.compile(rb'"[^"\n]*"')
NUMBER = re.compile(rb"-?\d[\d.eE+-]*")


def make_inputs(shardlab, root, folder):
    """One good file of every kind. Returns the commands that have their inputs: without a backend nothing is trained."""
    for name in ("ds_zero2.json", "ds_zero3_offload.json", "ds_adam_mlp.json", "mlp.json", "corpus.txt"):
        shutil.copy(root / "examples" / name, folder)
    shutil.copy(root / "profiles/dgx-a100-80g.json", folder / "cluster.json")
    table = (root / "experiments/published/training/tables/korthikanti.csv").read_text().splitlines(keepends=True)
    (folder / "table.csv").write_text("".join(table[:3]))  # its header and two small models
    for name, value in ("model", GPT2), ("llama", LLAMA), ("train", TRAIN):
        (folder / f"{name}.json").write_text(json.dumps(value, indent=1))
    (folder / "hostfile").write_text("worker-0 slots=2\nworker-1 slots=2\n# a comment\n")
    (folder / "schedule.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    subprocess.run([shardlab, *f"predict {SMALL} --json predicted.json".split()], cwd=folder, check=True, capture_output=True)
    trained = subprocess.run([shardlab, *f"{TRAINED} --steps 3 --json measured.json --save weights.safetensors --checkpoint ck --save-every 2".split()],
                             cwd=folder, capture_output=True)
    return COMMANDS if trained.returncode == 0 else [c for c in COMMANDS if c[0] not in NEED_BACKEND]


def spoil_bytes(draw, text):
    text = bytearray(text or b"x")
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        at, way = draw.randrange(len(text) or 1), draw.randrange(8)
        word, number = (list(p.finditer(bytes(text[:200000]))) for p in (WORD, NUMBER))
        if way == 0 and text:
            text[at] ^= 1 << draw.randrange(8)
        elif way == 1:
            del text[at : at + draw.choice([1, 2, 8, 64, len(text)])]
        elif way == 2:
            text[at:at] = draw.choice(JUNK)
        elif way == 3:
            del text[at:]
        elif way == 4:
            other = draw.randrange(len(text) or 1)
            text[at:at] = text[other : other + draw.choice([1, 16, 256])]
        elif way == 5 and word:
            place = draw.choice(word)
            text[place.start() : place.end()] = draw.choice([b'"' + draw.choice(JUNK[:20]) + b'"', b"null", b'""', b"1", b'"' + b"k" * 5000 + b'"'])
        elif number:
            place = draw.choice(number)
            text[place.start() : place.end()] = draw.choice(NUMBERS)
    return bytes(text)


def spoil_file(draw, path):
    """The file's bytes, or what kind of file it is."""
    text, way = path.read_bytes(), draw.random()
    path.unlink()
    if way < 0.9:
        path.write_bytes(spoil_bytes(draw, text))
    elif way < 0.92:
        path.mkdir()
    elif way < 0.94:
        os.mkfifo(path)
    elif way < 0.96:
        path.symlink_to(path.name)
    elif way < 0.98:
        path.symlink_to("/dev/zero")


def spoil_words(draw, words):
    for _ in range(draw.choice([1, 1, 2, 3])):
        way = draw.randrange(4)
        if way == 0 and len(words) > 2:
            del words[draw.randrange(1, len(words))]
        elif way == 1 and len(words) > 2:
            words[draw.randrange(1, len(words))] = draw.choice(VALUES)
        else:
            words += [draw.choice(FLAGS)] + ([draw.choice(VALUES)] if way == 2 else [])


def files_of(folder):
    return {path for path in folder.rglob("*") if not path.is_dir()}


def faults(run, new):
    found, text = [], run.stdout + run.stderr
    if run.returncode not in (0, 1, 2):
        found.append(f"exit status {run.returncode}")
    try:
        if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text.decode()):
            found.append("a control character")
    except UnicodeDecodeError:
        found.append("no UTF-8")
    errors = [line for line in run.stderr.splitlines() if line.strip() and b"warning" not in line[:60] and b"note:" not in line]
    if run.returncode == 2 and (len(errors) != 1 or run.stdout):
        found.append(f"{len(errors)} lines of error, {len(run.stdout)} bytes on standard output")
    if run.returncode == 2 and new:
        found.append("left " + " ".join(sorted(new)))
    if b"Sanitizer" in run.stderr or b"runtime error" in run.stderr:
        found.append("a sanitizer's report")
    return found


def one(shardlab, good, commands, seed, keep):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch, "w")
        shutil.copytree(good, folder, symlinks=True)
        words = list(draw.choice(commands))
        inputs = [folder / word for word in words if (folder / word).exists()]
        if inputs and draw.random() < 0.7:
            path = draw.choice(inputs)
            spoil_file(draw, draw.choice(sorted(files_of(path))) if path.is_dir() else path)
        else:
            spoil_words(draw, words)
        before = files_of(folder)
        try:
            run = subprocess.run([shardlab, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S,
                                 env={**os.environ, "OMP_NUM_THREADS": "1"})
            found = faults(run, {str(path.relative_to(folder)) for path in files_of(folder) - before})
            said = run.stderr[:300]
        except subprocess.TimeoutExpired:
            found, said = [f"still running after {TIMEOUT_S} s"], b""
        if found and keep:
            shutil.copytree(folder, pathlib.Path(keep, str(seed)), symlinks=True, ignore_dangling_symlinks=True, dirs_exist_ok=True)
        return found and f"seed {seed}: {'; '.join(found)}: {' '.join(map(str, words))[:300]!r}: {said!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardlab")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    args = parser.parse_args()
    shardlab = os.path.abspath(args.shardlab)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        good = pathlib.Path(scratch, "good")
        good.mkdir()
        commands = make_inputs(shardlab, args.root, good)
        run = lambda seed: one(shardlab, good, commands, seed, args.keep)
        wrong = [line for line in pool.map(run, range(args.seed, args.seed + args.cases)) if line]
    print(*wrong, f"{args.cases} cases of seed {args.seed}, {len(wrong)} of them wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
