"""Every command of a page runs, and prints what the page says: commands.py BIN ROOT PAGE... [--plant]

A command is an indented line that begins with `shardlab` (or `$ shardlab`, whose output stands below it), or code in a table that
does. Each runs, exits with 0, and prints the lines of its output in their order ("..." stands for anything); others may lie between them. Where
machines differ, a comment before the block says which lines may have other numbers: <!-- numbers vary: REGEX -->.
Trainings take 2 steps unless their output is shown. What takes minutes or other machines stands in NOT_RUN.
"""
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

NOT_RUN = {"shardlab calibrate": "takes minutes; tests/cli/test_cli_calibrate.c runs it",
           "shardlab-analyze watch": "ends with the training that it watches; tests/monitor runs it",
           "shardlab-analyze refit": "takes minutes; tests/refit runs it"}
NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?")


def blocks(page):
    """(line number, command, lines of its output or None, regex of lines that vary) for every command of a page."""
    lines = page.read_text().splitlines()
    varies, at = None, 0
    while at < len(lines):
        line, start = lines[at], at + 1
        at += 1
        if told := re.fullmatch(r"<!-- numbers vary: (.*) -->", line):
            varies = told[1]
            continue
        if found := re.match(r"    (\$ )?(shardlab(-analyze)? .*)", line):
            command = found[2]
            while command.endswith("\\"):
                command, at = command[:-1] + lines[at].strip(), at + 1
            output = []
            while found[1] and at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
                output.append(lines[at][4:].rstrip())
                at += 1
            yield start, command, [o for o in output if o] if found[1] else None, varies
        else:
            for code in re.findall(r"`(shardlab(?:-analyze)? [^`]*)`", line) if line.startswith("|") else []:
                yield start, code, None, None
        varies = None


MEGATRON = """torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --ffn-hidden-size 256 --num-attention-heads 4 --seq-length 64 \\
  --max-position-embeddings 64 --vocab-size 256 --swiglu --normalization RMSNorm --position-embedding-type rope \\
  --disable-bias-linear --hidden-dropout 0 --attention-dropout 0 --untie-embeddings-and-output-weights --bf16 --micro-batch-size 1 --global-batch-size 128 \\
  --lr 1e-4 --weight-decay 0.1 --tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce
"""


def folders(folder, binaries, llama):
    """Hugging Face folders: one with a config.json alone, one with weights, which a training writes."""
    for name in ("Qwen2-7B", "SmolLM-135M"):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(llama))
    def shardlab(*words):
        subprocess.run([binaries / "shardlab", *words], cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    shardlab("measure", "--model", "SmolLM-135M", "--config", "ds_config.json", "--data", "text.txt", "--steps", "1",
             "--save", "SmolLM-135M/model.safetensors")


def fill(folder, root, binaries):
    """The inputs that pages name without giving them."""
    os.symlink(root / "examples", folder / "examples")
    os.symlink(root / "tests/golden/tokenizers/gpt2.json", folder / "tokenizer.json")
    gpt2 = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 256}
    config = {"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}}
    elastic = {"optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
               "elasticity": {"enabled": True, "max_train_batch_size": 48, "micro_batch_sizes": [1, 2], "min_gpus": 1,
                              "max_gpus": 8, "version": 0.1}}
    for name, value in {"config.json": gpt2, "ds_config.json": config, "elastic.json": elastic}.items():
        (folder / name).write_text(json.dumps(value))
    (folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 100)
    (folder / "hosts").write_text("worker-0 slots=2\nworker-1 slots=2\n")
    (folder / "pretrain_llama.sh").write_text(MEGATRON)
    (folder / "llama3_8b.toml").write_text((root / "tests/interop/public/titan_llama3_8b.toml").read_text())
    (folder / "accelerate.yaml").write_text((root / "tests/interop/public/accelerate_fsdp.yaml").read_text())
    llama = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8,
             "num_key_value_heads": 8, "max_position_embeddings": 64, "vocab_size": 256}
    folders(folder, binaries, llama)
    with open(root / "experiments/published/training/tables/korthikanti.csv") as table:
        (folder / "runs.csv").write_text("".join(table.readlines()[:2]))


def shown(output, printed, varies):
    """The first line of `output` that was not printed behind those before it, or None. Of a line that varies what stands before its
    first number counts."""
    def of(line):
        return NUMBER.split(line)[0].rstrip() if varies is not None and re.search(varies, line) else line
    rest = iter(of(line.rstrip()) for line in printed)
    def printed_behind(line):
        pattern = re.compile(".*".join(map(re.escape, of(line).split("..."))))
        return line.strip() == "..." or any(pattern.fullmatch(other) for other in rest)
    return next((line for line in output if not printed_behind(line)), None)


@functools.cache  # two pages show the same validation, and it takes a fifth of all
def run_once(command, binaries, folder):
    return run(command, [], binaries, folder)


def run(command, output, binaries, folder):
    words = shlex.split(command, comments=True)
    if ">" in words:
        words = words[:words.index(">")]
    if output is None and words[1] == "measure" and "--dry-run" not in words:
        if "--steps" in words:
            at = words.index("--steps")
            del words[at:at + 2]
        words += ["--steps", "4" if "--resume" in words else "2"]
    words[0] = str(binaries / words[0])
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


def slow(command, done):
    """Whether the step time alone was out of tolerance, which says that the machine has other work."""
    failed = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("FAIL")]
    return command.startswith("shardlab validate") and done.returncode == 1 and failed == ["step"]


def faults(page, binaries, folder):
    seen = set()
    for number, command, output, varies in blocks(page):
        if any(command.startswith(name) for name in NOT_RUN) or (command in seen and output is None):
            continue
        seen.add(command)
        again = command.startswith("shardlab validate")
        done = run_once(command, binaries, folder) if again else run(command, output, binaries, folder)
        where = f"{page.name}:{number}: {command}"
        if done.returncode != 0 and not slow(command, done):
            yield f"{where}: exit status {done.returncode}: {done.stderr.strip()[:300]}"
        elif (line := shown(output or [], done.stdout.splitlines(), varies)) is not None:
            yield f"{where}: does not print \"{line}\""


def tells_planted(binaries, folder):
    page = folder / "planted.md"
    page.write_text("    $ shardlab show schedule --pp 2 --schedule 1f1b --grad-accum 2\n    1f1b: 3 ranks\n\n"
                    "| `shardlab predict --nothing` |\n")
    return len(list(faults(page, binaries, folder))) == 2


def main():
    plant = "--plant" in sys.argv
    binaries, root, *pages = [pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--plant"]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shardlab_docs_"))
    try:
        fill(folder, root, binaries)
        found = [fault for page in pages for fault in faults(page, binaries, folder)]
        if plant and not tells_planted(binaries, folder):
            found.append("planted faults of a page were not found")
    finally:
        shutil.rmtree(folder)
    print("\n".join(found) or "0 faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
