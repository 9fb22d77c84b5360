"""What each part of ./dev gpu asks, in the order in which it is asked: what tells most comes first. A stage is a name, a limit in
seconds that a cold driver meets, and a function of stages.sh with its arguments. A part's limits together are its time, but for
what is asked again."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Stage:
    name: str
    limit: int
    call: tuple


@dataclasses.dataclass(frozen=True)
class Part:
    about: str
    seconds: int  # for all of it
    stages: tuple
    again: int = 0  # seconds for a stage that failed, with blocking launches and cuBLASLt's log


def stage(name, limit, *call):
    return Stage(name, limit, call or (name.replace("-", "_"),))


FIRST = (
    stage("machine", 15),
    stage("kernels", 45, "kernels", "kernels", "attention", "quantize", "control"),
    stage("training", 25, "host_equal"),
    stage("ops", 40),
    stage("arena", 20),
    stage("two-ranks", 25),
    stage("offload", 25),
    stage("torch-kernels", 40),
)

CHECK = (
    stage("kernels", 110, "kernels", "kernels", "attention", "quantize", "control"),
    stage("host-equal", 35),
    stage("arena", 30),
    stage("goldens", 60),
    stage("bits", 30),
    *(stage(f"ranks-2-zero{zero}", 25, "equal_ranks", "2", str(zero)) for zero in range(4)),
    stage("ranks-2-tp2", 25, "equal_ranks", "2", "0", "--tp", "2"),
    stage("ranks-2-pp2", 25, "equal_ranks", "2", "0", "--pp", "2"),
    stage("ranks-2-cp2", 25, "equal_ranks", "2", "1", "--cp", "2", "--attention", "flash"),
    stage("ranks-2-cp2-a2a", 25, "equal_ranks", "2", "1", "--cp", "2", "--cp-comm-type", "a2a", "--attention", "flash"),
    stage("ranks-8-3d", 55, "equal_ranks", "8", "1", "--tp", "2", "--pp", "2"),
)

SANITIZE = (
    *(stage(f"{tool}-{name}", limit, "sanitized", tool, *tests)
      for tool, seconds in (("memcheck", (100, 70)), ("racecheck", (110, 90)), ("synccheck", (60, 60)))
      for (name, tests), limit in zip((("kernels", ("kernels", "quantize", "control")), ("attention", ("attention",))), seconds)),
)

MEASURE = (
    stage("profile", 150),
    stage("validate", 280),
    stage("gpt3-175b", 45, "alone", "gpt3-175b", "gpt3-175b", "8", "16", "128", "8"),
    stage("llama-70b", 45, "alone", "llama-70b", "llama3-70b", "8", "8", "64", "8"),
)

PEER = (
    stage("ours", 60, "ours", "ours", "gpt2", "8", "1024"),
    stage("torch-eager", 60, "torch", "torch-eager", "gpt2", "8", "1024", "--no-compile"),
    stage("torch", 150, "torch", "torch", "gpt2", "8", "1024"),
    stage("torch-kernels", 50),
    stage("memory-vs-stage", 200, "stages_of_memory"),
)

MODELS = (
    *(stage(f"{who}-{model}-{seq}", limit, who, f"{who}-{model}-{seq}", model, str(8192 // seq), str(seq))
      for model, seq, slow in (("gpt2-xl", 1024, 140), ("llama-1b", 1024, 100), ("llama-1b", 8192, 100))
      for who, limit in (("ours", 35), ("torch", slow))),
    # the update shared by as many tokens as such a model is trained with on some GPUs
    stage("ours-gpt2-xl-131072", 60, "ours", "ours-gpt2-xl-131072", "gpt2-xl", "16", "1024", "8", "8"),
)

PARTS = {
    "first": Part("a few minutes on a bare machine: its facts, every kernel's error, training against the host's, a step op by "
                  "op, memory, two ranks on one GPU, offload, PyTorch's kernels", 235, FIRST, again=20),
    "check": Part("kernels, the host's losses and gradients, PyTorch's goldens, arena predicted against allocated, equal bits of "
                  "two runs, several ranks on one GPU against one", 525, CHECK),
    "sanitize": Part("memcheck, racecheck and synccheck of every kernel of ours, alone", 525, SANITIZE),
    "measure": Part("calibration, experiments/validate_gpu with the profile, one rank of two large plans", 525, MEASURE),
    "peer": Part("PyTorch on the same GPU, its kernels' errors and its speed beside ours; experiments/memory_vs_stage with all "
                 "ranks on this GPU", 525, PEER),
    "models": Part("PyTorch and ours with GPT-2 XL and a Llama of 1.1 billion parameters, 8,192 tokens a step, and ours "
                   "with 131,072", 525, MODELS),
}
