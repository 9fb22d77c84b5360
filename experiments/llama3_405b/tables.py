"""The table of this experiment, from the records that run.sh made: llama3_405b.csv and Markdown on standard output.

    tables.py OUT     reads OUT/records, writes OUT/llama3_405b.csv
"""
import csv
import json
import sys

# arXiv:2407.21783, table 4: GPUs, context-parallel ranks, tokens of a sequence, TFLOP/s of a GPU in BF16.
PUBLISHED = [(8192, 1, 8192, 430), (16384, 1, 8192, 400), (16384, 16, 131072, 380)]
LAYERS, WIDTH, HEADS, KV_HEADS, INNER, VOCABULARY, TOKENS = 126, 16384, 128, 8, 53248, 128256, 1 << 24


def model_flops(sequence, share=0.5):
    """6 for each parameter of a product and token, and attention's: of `share` of the scores, half in a causal one."""
    block = 2 * WIDTH * WIDTH * (1 + KV_HEADS / HEADS) + 3 * WIDTH * INNER
    return TOKENS * (LAYERS * (6 * block + 12 * share * sequence * WIDTH) + 6 * WIDTH * VOCABULARY)


def rows(out):
    for world, cp, sequence, published in PUBLISHED:
        with open(f"{out}/records/world_{world}_cp_{cp}.json") as file:
            record = json.load(file)
        tflops, of_all = (model_flops(sequence, share) / record["step_time_s"] / world / 1e12 for share in (0.5, 1))
        yield {"gpus": world, "dp": world // (8 * 16 * cp), "cp": cp, "sequence": sequence, "step_time_s": f"{record['step_time_s']:.2f}",
               "memory_GiB": f"{record['memory']['device']['peak_bytes'] / 2**30:.1f}", "predicted_TFLOPS": f"{tflops:.0f}",
               "with_all_scores": f"{of_all:.0f}", "published_TFLOPS": published, "error_percent": f"{100 * (published / tflops - 1):+.1f}"}


def main(out):
    table = list(rows(out))
    with open(f"{out}/llama3_405b.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    print("| " + " | ".join(c.replace("_", " ") for c in table[0]) + " |\n" + "|---" * len(table[0]) + "|")
    for row in table:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
