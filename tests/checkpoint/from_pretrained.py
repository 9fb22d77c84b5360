"""What `checkpoint export` writes, read by transformers: the same loss, gradients and logits as ours; and what transformers writes, read by us.

    from_pretrained.py SHARDLAB ROOT

A small model of each family is trained on two ranks, its latest checkpoint exported whole and in pieces, and loaded by
AutoModelForCausalLM.from_pretrained. Loss and every gradient of a batch are held against those of `measure --init`, in fp32, and so are the
logits of a position: a training with a learning rate of 0 reads the same tokens with each token of the vocabulary behind them, so that its losses
differ as the logits do. It starts from the folder that save_pretrained wrote; what it exports in the end must have the bits of that folder's tensors.
Runs under ROOT/.venv, which `./dev bench` makes, or the interpreter that SHARDLAB_BENCH_PYTHON names, where either has
transformers; status 77, with the reason, where there is none.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SEQ = 24
MODELS = {
    "gpt2": {"model_type": "gpt2", "n_layer": 2, "n_embd": 32, "n_head": 4, "vocab_size": 256, "n_positions": 32, "attn_pdrop": 0.0,
             "embd_pdrop": 0.0, "resid_pdrop": 0.0},
    "llama": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
              "intermediate_size": 64, "vocab_size": 256, "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": False}}
# The families of tests/golden/families, with a byte for each token, each by a plan that can cut it.
FAMILIES = {"mistral": "--tp", "qwen2": "--tp", "qwen3": "--tp", "gemma": "--pp", "gemma2": "--tp", "gemma3_text": "--pp", "phi3": "--pp",
            "olmo2": "--pp", "starcoder2": "--tp", "nemotron": "--tp", "arcee": "--tp", "stablelm": "--tp", "phi": "--tp",
            "gpt_bigcode": "--pp", "seed_oss": "--tp", "gpt_neox": "--tp", "gptj": "--tp", "opt": "--tp", "falcon": "--pp", "falcon_new": "--tp",
            "bloom": "--tp", "mpt": "--tp"}
CONFIG = {"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "AdamW", "params": {"lr": 0.01}}, "zero_optimization": {"stage": 2}}
STILL = {"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "SGD", "params": {"lr": 0}}, "shardlab": {"shuffle": False}}
VOCABULARY = 256
TOLERANCE = 1e-5  # of a tensor's largest gradient, and of the loss
LOGIT_TOLERANCE = 2e-6  # of the spread of a row of logits


def an_interpreter(root):
    """One that has transformers; this one where it is it."""
    for python in (os.environ.get("SHARDLAB_BENCH_PYTHON"), str(root / ".venv/bin/python"), sys.executable):
        if python and os.path.exists(python) and subprocess.run([python, "-c", "import torch, transformers"], capture_output=True).returncode == 0:
            return python
    print("skipped: transformers is not installed (./dev bench makes .venv; .venv/bin/pip install transformers)")
    sys.exit(77)


def run(shardlab, folder, *words):
    done = subprocess.run([shardlab, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.returncode}: {done.stderr}")


def ours(shardlab, folder, exported):
    """Loss and gradients of the exported weights on the one sequence that the data has."""
    from safetensors.torch import load_file

    run(shardlab, folder, "measure", "--model", "model.json", "--config", "train.json", "--data", "data.txt", "--seq", str(SEQ), "--threads", "1",
        "--quiet", "--init", exported, "--steps", "1", "--save-grads", "grads.safetensors", "--json", "record.json")
    return json.loads((folder / "record.json").read_text())["losses"][0], load_file(folder / "grads.safetensors")


def our_logits(shardlab, folder, weights):
    """Those of the prefix's last position, less their mean. A sequence begins with the last target of the one before, so behind each prefix with
    its target stands a sequence that nobody looks at."""
    prefix, rest = (folder / "data.txt").read_bytes()[:SEQ], bytes(SEQ - 1)
    (folder / "targets.txt").write_bytes(b"".join(prefix + bytes([token]) + rest for token in range(VOCABULARY)) + prefix[:1])
    (folder / "still.json").write_text(json.dumps(STILL))
    run(shardlab, folder, "measure", "--model", "model.json", "--config", "still.json", "--data", "targets.txt", "--seq", str(SEQ), "--threads", "1",
        "--quiet", "--init", weights, "--steps", str(2 * VOCABULARY), "--checkpoint", "still", "--json", "record.json")
    losses = json.loads((folder / "record.json").read_text())["losses"][::2]
    mean = sum(losses) / VOCABULARY
    return [SEQ * (mean - loss) for loss in losses]


def there_and_back(shardlab, folder, model, what):
    """What transformers writes gives us its logits, and comes back to the bit."""
    import torch
    from safetensors.torch import load_file

    model.save_pretrained(folder / "theirs")
    tokens = torch.tensor(list((folder / "data.txt").read_bytes()[:SEQ]))
    with torch.no_grad():
        row = model(tokens[None]).logits[0, -1].double()
    row -= row.mean()
    mine = torch.tensor(our_logits(shardlab, folder, "theirs"), dtype=torch.float64)
    apart, spread = (mine - row).abs().max().item(), (row.max() - row.min()).item()
    print(f"{what}: {len(mine)} logits, {spread:.3g} from the least to the largest, {apart:.1e} apart")
    if not apart <= LOGIT_TOLERANCE * spread:
        yield f"{what}: logits are {apart:.1e} apart, {spread:.3g} from the least to the largest"
    run(shardlab, folder, "checkpoint", "export", "still", "--out", "back", "--single", "--quiet")
    before, after = (load_file(next((folder / name).glob("*.safetensors"))) for name in ("theirs", "back"))
    known = {bare(name, after): tensor for name, tensor in before.items()}
    after = {bare(name, known): tensor for name, tensor in after.items()}
    if known.keys() != after.keys():
        yield f"{what}: there and back has other tensors: {sorted(known.keys() ^ after.keys())}"
    for name in known.keys() & after.keys():
        if not torch.equal(known[name], after[name]):
            yield f"{what}: {name} does not come back"


def load(folder, exported):
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder / exported, attn_implementation="eager", dtype=torch.float32, pad_token_id=None)


def theirs(folder, model):
    import torch

    model.train()
    tokens = torch.tensor(list((folder / "data.txt").read_bytes()))
    logits = model(tokens[None, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits[0], tokens[1:])
    loss.backward()
    return loss.item(), dict(model.named_parameters())


def bare(name, known):
    """Without the base model's prefix; GPT-NeoX's files have embed_out where its module is lm_head today."""
    for prefix in ("transformer.", "model.", "gpt_neox."):
        name = name.removeprefix(prefix)
    return name if name in known else name.replace("lm_head", "embed_out")


def differences(mine, gradients, loss, parameters, what):
    if abs(mine - loss) > TOLERANCE * abs(loss):
        yield f"{what}: loss {mine} here, {loss} there"
    short = {bare(name, gradients): p.grad for name, p in parameters.items()}
    if short.keys() != gradients.keys():
        yield f"{what}: other names: {sorted(short.keys() ^ gradients.keys())}"
    for name in short.keys() & gradients.keys():
        largest = short[name].abs().max().item()
        if name.endswith("k_proj.bias"):  # moves all scores of a row alike where keys are not turned: rounding alone
            largest = max(largest, 1e-2 * max(g.abs().max().item() for g in gradients.values()))
        worst = (short[name] - gradients[name]).abs().max().item() / largest
        if not worst <= TOLERANCE:
            yield f"{what}: the gradient of {name} is {worst:.1e} of its largest value apart"


def models(root):
    """Each model's config.json, and how two ranks share it."""
    for name, model in MODELS.items():
        yield name, model, "--tp"
    for name, flag in FAMILIES.items():
        yield name, {**json.loads((root / "tests/golden/families" / name / "config.json").read_text()), "vocab_size": 256}, flag


def compare(shardlab, root):
    found = []
    for name, config, flag_of_plan in models(root):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "model.json").write_text(json.dumps(config))
            (folder / "train.json").write_text(json.dumps(CONFIG))
            (folder / "data.txt").write_bytes(bytes((7 * i * i + 11 * i) % 251 for i in range(SEQ + 1)))
            (folder / "long.txt").write_bytes(bytes((5 * i * i + 3 * i) % 251 for i in range(40 * SEQ)))
            run(shardlab, folder, "measure", "--model", "model.json", "--config", "train.json", "--data", "long.txt", "--seq", str(SEQ), "--world", "2",
                flag_of_plan, "2", "--grad-accum", "2", "--threads", "1", "--quiet", "--steps", "4", "--checkpoint", "ck")
            for flag in ([], ["--single"]) if name in MODELS else ([],):
                exported = "whole" if flag else "pieces"
                run(shardlab, folder, "checkpoint", "export", "ck", "--out", exported, "--quiet", *flag)
                mine, gradients = ours(shardlab, folder, exported)
                model = load(folder, exported)
                loss, parameters = theirs(folder, model)
                found += differences(mine, gradients, loss, parameters, f"{name}, {exported}")
                print(f"{name}, {exported}: loss {mine:.6f} here, {loss:.6f} by transformers; {len(gradients)} gradients")
            found += there_and_back(shardlab, folder, model.eval(), name)
    print(*found, f"{len(found)} differences", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    program, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    python = an_interpreter(root)
    if os.path.realpath(python) != os.path.realpath(sys.executable) or sys.prefix != str(pathlib.Path(python).parents[1]):
        if os.environ.get("SHARDLAB_WITHIN") != python:
            os.execve(python, [python, "-B", __file__, program, str(root)], {**os.environ, "SHARDLAB_WITHIN": python})
    sys.exit(compare(program, root))
