#!/usr/bin/env python3
"""Makes tables/nvidia.csv of raw/nvidia.csv: published runs on NVIDIA's GPUs that came after unseen.csv, as it is.

What unseen.py says of NVIDIA's configurations holds here. MLPerf's Llama 3.1 405B of rounds 5.0 and 5.1 has a
vocabulary of 32000. Its times are medians of all steps of a log; GPT-3's are those of a log's blocks of steps. The
University of Florida's configuration of round 5.1 does not set tp_comm_overlap. Sequences of 8K to 1M tokens on B200
(longb200) are published in TFLOP/s that count 12 layers width tokens for a token's attention, turned into tokens/s in
raw/nvidia.csv. The month of a version is that of its release.
"""
import unseen

VERSIONS = {
    "nvfp4": "2025-09", "bridge2509": "2025-09", "bridge2602": "2026-02", "bridge2604": "2026-04", "longseq": "2024-03",
    "longb200": "2025-04", "mlperf4.0": "2024-04", "mlperf4.1": "2024-09", "mlperf5.0": "2025-04",
    "mlperf5.1": "2025-09",
}


def row_of(raw):
    row = {**unseen.row_of(raw), "set": "nvidia-" + raw["group"]}
    if raw["group"] in ("mlperf5.0", "mlperf5.1"):
        row["vocab_size"] = 32000
    if raw["group"] == "mlperf5.1":
        row["tp_comm_overlap"] = 0
    return row


def main():
    unseen.VERSIONS.update(VERSIONS)
    unseen.write("nvidia", lambda i, r: {"id": "-".join(
        [f"nv-{i}", r["group"], r["model"], r["gpu"], f"n{r['n_gpus']}", r["seq_len"], r["precision"]]), **row_of(r)})


if __name__ == "__main__":
    main()
