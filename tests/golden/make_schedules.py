"""PyTorch's own pipeline schedules at odd sizes: writes schedules/ (see README.md).

For each schedule and size, NAME_pP_vV_mM.csv holds the actions that PyTorch computes, one line a rank, idle ticks left
empty, and NAME_pP_vV_mM_lowered.csv what its passes make of them (_add_unshard_reshard with its default of three active
stages, _add_reduce_grad, _add_send_recv). Two things are left out: idle ticks that follow a rank's last action, and the
WAIT_* actions of newer versions, before the sends are placed. GPipe and 1F1B are recorded from their runtime loop
(_step_microbatches) on a stage that computes nothing: the list that 1F1B shows of itself (_get_pipeline_order, 2.15)
starts the last rank with micro-batch 1 and ends it one past the last.

    python make_schedules.py
"""
import csv
import pathlib

import torch
from torch.distributed.pipelining import schedules as pt

OUT = pathlib.Path(__file__).parent / "schedules"
SIZES = {
    "gpipe": [(2, 1, 3), (4, 1, 7), (5, 1, 11)],
    "1f1b": [(2, 1, 3), (4, 1, 7), (5, 1, 11)],
    "interleaved": [(2, 2, 6), (3, 3, 9), (4, 2, 10), (5, 2, 3)],
    "looped-bfs": [(2, 3, 5), (3, 2, 7), (4, 2, 4)],
    "zb-h1": [(2, 1, 3), (3, 1, 7), (5, 1, 11)],
    "interleaved-zb": [(2, 2, 6), (3, 3, 9), (4, 2, 10)],
    "zbv": [(2, 2, 3), (3, 2, 7), (4, 2, 3), (5, 2, 11)],
}
CLASSES = {
    "gpipe": pt.ScheduleGPipe,
    "1f1b": pt.Schedule1F1B,
    "interleaved": pt.ScheduleInterleaved1F1B,
    "looped-bfs": pt.ScheduleLoopedBFS,
    "zb-h1": pt.ScheduleInterleavedZeroBubble,
    "interleaved-zb": pt.ScheduleInterleavedZeroBubble,
    "zbv": pt.ScheduleZBVZeroBubble,
}


class RecordingStage:
    """A stage that writes down which micro-batches the runtime asks of it, and moves no data."""

    has_backward, submod = True, None

    def __init__(self, stage_index):
        self.stage_index, self.actions = stage_index, []

    def forward_one_chunk(self, micro_batch, *args, **kwargs):
        self.actions.append(pt._Action(self.stage_index, pt.F, micro_batch))

    def backward_one_chunk(self, micro_batch, **kwargs):
        self.actions.append(pt._Action(self.stage_index, pt.B, micro_batch))

    def no_transfer(self, *args):
        return []

    get_fwd_recv_ops = get_fwd_send_ops = get_bwd_recv_ops = get_bwd_send_ops = no_transfer
    release_fwd_send_outputs = perform_reduce_grad = no_transfer


def record(schedule, rank, m):
    schedule._stage = RecordingStage(rank)
    schedule._check_inputs = lambda *args: ([()] * m, [{}] * m)
    for name in ("_initialize_stage", "_maybe_compute_loss", "_maybe_get_loss", "_update_losses"):
        setattr(schedule, name, lambda *args: None)
    schedule._finalize_gradients = schedule.scale_grads = True
    schedule._step_microbatches()
    return schedule._stage.actions


def make(name, p, v, m):
    """The compute-only lists of all ranks. The constructors want live stages and process groups; their lists do not."""
    schedule = object.__new__(CLASSES[name])
    schedule._num_stages = schedule.num_stages = p * v
    schedule._n_microbatches = m
    schedule.pp_group_size = p
    schedule.n_local_stages = v
    schedule._stages = [None] * v
    schedule.number_of_rounds = max(1, m // p)
    schedule.microbatches_per_round = m // schedule.number_of_rounds
    if name in ("gpipe", "1f1b"):
        return {rank: record(schedule, rank, m) for rank in range(p)}
    order = {rank: schedule._calculate_single_rank_operations(rank) for rank in range(p)}
    if name in ("zb-h1", "interleaved-zb"):
        schedule.pipeline_order = order
        order = schedule._add_bubbles_to_actions(p * v)
    return order


def lower(name, order, p, v, m):
    def stage_to_rank(stage):
        return 2 * p - 1 - stage if name == "zbv" and stage >= p else stage % p

    lowered = {}
    for rank, row in order.items():
        row = pt._add_reduce_grad(pt._add_unshard_reshard(list(row)), m)
        lowered[rank] = [a for a in row if not str(a).lstrip("0123456789").startswith("WAIT")]
    return pt._add_send_recv(lowered, stage_to_rank, p * v)


def write(path, order):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for rank in sorted(order):
            row = ["" if a is None else str(a) for a in order[rank]]
            while row and row[-1] == "":
                row.pop()
            writer.writerow(row)


def main():
    OUT.mkdir(exist_ok=True)
    for name, sizes in SIZES.items():
        for p, v, m in sizes:
            order = make(name, p, v, m)
            stem = f"{name}_p{p}_v{v}_m{m}"
            write(OUT / f"{stem}.csv", order)
            write(OUT / f"{stem}_lowered.csv", lower(name, order, p, v, m))
    (OUT / "made_with.txt").write_text(f"torch {torch.__version__}\n")


if __name__ == "__main__":
    main()
