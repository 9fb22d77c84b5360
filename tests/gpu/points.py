"""What a GPU has to show, and by which stages: a point is verified where all stages of one of its sets have passed."""


def each(part, *stages):
    return tuple(f"{part}/{stage}" for stage in stages)


TOOLS = ("memcheck", "racecheck", "synccheck")

POINTS = (
    ("every kernel of ours is within its bound of double precision, in fp32, bf16 and fp16",
     (each("check", "kernels"), each("first", "kernels"))),
    *((f"{tool} finds nothing in any kernel of ours", (each("sanitize", f"{tool}-kernels", f"{tool}-attention"),))
      for tool in TOOLS),
    ("our kernels err no more than PyTorch's, at real sizes", (each("first", "torch-kernels"), each("peer", "torch-kernels"))),
    ("losses, norms and gradients of a training equal the host's", (each("check", "host-equal"), each("first", "training"))),
    ("losses, norms and gradients equal PyTorch's in double precision", (each("check", "goldens"),)),
    ("two runs give equal bits", (each("check", "bits"),)),
    ("the arena that was predicted is the one allocated, to the byte", (each("check", "arena"), each("first", "arena"))),
    ("the memory of a rank of a large plan is predicted, to 1 % of the process's",
     (each("measure", "profile", "gpt3-175b", "llama-70b"),)),
    ("two ranks on one GPU equal one, with NCCL between them", (each("first", "two-ranks"), each("check", "ranks-2-zero1"))),
    ("so they do at every stage of ZeRO", (each("check", *(f"ranks-2-zero{zero}" for zero in range(4))),)),
    ("and with tensor and pipeline parallelism", (each("check", "ranks-2-tp2", "ranks-2-pp2", "ranks-8-3d"),)),
    ("and with context parallelism, by gathered keys and by exchanged heads", (each("check", "ranks-2-cp2", "ranks-2-cp2-a2a"),)),
    ("states offloaded to pinned memory and to NVMe train as those on the device, in memory and with copies as predicted",
     (each("first", "offload"),)),
    ("a step of GPT-2 124M was timed op by op, padded or not, with epilogues or without", (each("first", "ops"),)),
    ("steps of five models were measured beside their prediction with the calibrated profile",
     (each("measure", "profile", "validate"),)),
    ("our step was timed beside PyTorch's", (each("peer", "ours", "torch"),)),
    *((f"so was one of {model} at sequence {seq}", (each("models", f"ours-{name}-{seq}", f"torch-{name}-{seq}"),))
      for model, name, seq in (("GPT-2 XL", "gpt2-xl", 1024), ("a Llama of 1.1 billion parameters", "llama-1b", 1024),
                               ("that Llama", "llama-1b", 8192))),
    ("ZeRO's memory was measured on 2 to 8 ranks", (each("peer", "memory-vs-stage"),)),
)


def judge(sets, verdicts):
    """(verified, by what or why not); `verdicts` has PART/STAGE: verdict."""
    for stages in sets:
        if all(verdicts.get(stage) == "passed" for stage in stages):
            return True, ", ".join(stages)
    lacking = [f"{stage} {verdicts.get(stage, 'not run')}" for stage in sets[0] if verdicts.get(stage) != "passed"]
    return False, ", ".join(lacking)
