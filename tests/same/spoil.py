"""Ways to spoil a drawn configuration, so that it is refused: what a person gets wrong, one fault each.

A spoiler changes the configuration in place; `c.ds` is the DeepSpeed file, `c.flags` the flags of the command line."""


def section(c, name, **keys):
    c.ds.setdefault(name, {}).update(keys)


def flags(c, **values):
    c.flags.update({"--" + name.replace("_", "-"): str(value) for name, value in values.items()})


def both_precisions(c):
    c.ds.update(fp16={"enabled": True}, bf16={"enabled": True})


def heads(c):
    c.files["model.json"] = {"model_type": "gpt2", "n_embd": 35, "n_head": 6}
    flags(c, model="model.json")


def deadlock(c):
    """The first rank waits for micro-batch 0 to come back before it sends 1, which the second rank wants first."""
    c.files["schedule.csv"] = "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"
    flags(c, model="gpt2", schedule="schedule.csv", world=2, tp=1, pp=2, virtual_stages=1, micro_batch=1, grad_accum=2)


def cut_off(c):
    c.files["model.json"] = '{"model_type": "gpt2",\n "n_embd": '
    flags(c, model="model.json")


def batch(c):
    c.ds.update(train_batch_size=7, train_micro_batch_size_per_gpu=2, gradient_accumulation_steps=2)
    for flag in ("--train-batch", "--micro-batch", "--grad-accum"):
        c.flags.pop(flag, None)


SPOILERS = {
    "unknown key": lambda c: section(c, "zero_optimization", reduce_bucket_sise=500),
    "unknown top key": lambda c: (c.ds.update(gradient_clippping=1.0), c.flags.update({"--strict": None})),
    "wrong type": lambda c: section(c, "fp16", enabled="maybe"),
    "stage 4": lambda c: flags(c, zero_stage=4),
    "both precisions": both_precisions,
    "batch sizes": batch,
    "heads": heads,
    "cut-off file": cut_off,
    "world": lambda c: flags(c, world=9, tp=2, pp=2),
    "long sequence": lambda c: flags(c, seq=1000000, model="gpt2"),
    "unknown schedule": lambda c: flags(c, schedule="zb-h9"),
    "deadlock": deadlock,
    "unknown preset": lambda c: flags(c, preset="deepspeed-5"),
    "ddp in stages": lambda c: flags(c, preset="ddp", world=8, pp=2, model="gpt2"),
    "unknown model": lambda c: flags(c, model="gpt5"),
    "unknown cluster": lambda c: flags(c, cluster="dgx-a1000"),
    "context parallel": lambda c: flags(c, cp=2),
    "stages": lambda c: flags(c, stages="1,1,1,1,1,1,1", model="gpt2"),
    "nvme": lambda c: section(c, "zero_optimization", stage=3, offload_optimizer={"device": "nvme"}),
    "optimizer": lambda c: c.ds.update(optimizer={"type": "Lamb"}),
    "unknown flag": lambda c: flags(c, tensor_parallel=2),
    "shard size": lambda c: flags(c, shard_size=1),
}
