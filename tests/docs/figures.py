"""Figures that pages quote are those of the results that they come from: figures.py BIN ROOT [--plant]

README.md and docs/accuracy.md quote mean errors of experiments/published/training, README.md medians of two experiments' tables, validate_gpu's page
PyTorch's steps, four pages the errors of Pythia's memory, and the demo's page what `predict` says of its four stages. Of model families and
published runs pages say how many there are.
"""
import decimal
import json
import pathlib
import re
import statistics
import subprocess
import sys

TABLES = {"Megatron-LM, 22B to 1T, A100": "korthikanti", "layouts of 13B and 30B Llamas, A100": "hagemann",
          "llm-foundry under FSDP, A100 and H100": "llmfoundry", "BigScience, Megatron-DeepSpeed, A100": "bigscience",
          "vTrain, Megatron-LM, A100": "vtrain_multi_node", "nanotron, H100, 10 % of the peak or more": "nanotron",
          "torchtitan, H100 and H200, never fitted": "torchtitan", "fms-fsdp, A100 and H100, never fitted": "fms_fsdp",
          "NeMo, Megatron Bridge, MLPerf and DeepSpeed, V100 to GB300, never fitted": "unseen",
          "more of NVIDIA's and MLPerf's, H100 and H200, never fitted": "nvidia_hopper",
          "the same, B200, GB200 and GB300, one number a device": "nvidia_blackwell"}


def rows(text, first):
    """Cells of every table line whose first cell is `first`."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0].startswith(first):
            yield cells


def published(root):
    """{table: (rows, fitted, row held out, model held out, cluster held out)} as the report of the fit has them, to one digit."""
    def short(cell):
        return cell if cell == "-" else str(decimal.Decimal(cell).quantize(decimal.Decimal("0.1"), decimal.ROUND_HALF_UP))
    report = (root / "experiments/published/training/results/report.md").read_text()
    report = report[:report.index("## Layouts")]
    return {table: (cells[1], *map(short, cells[2:6])) for table in TABLES.values() for cells in rows(report, table)
            if cells[0].split(" (")[0] == table}


def of_published(root, readme, accuracy):
    results = published(root)
    for name, table in TABLES.items():
        count, fitted, by_row, by_model, by_cluster = results[table]
        for page, columns in ((readme, {1: count, 2: fitted, 3: by_row, 4: by_model}),
                              (accuracy, {1: count, 3: fitted, 4: by_row, 5: by_model, 6: by_cluster})):
            found = list(rows(page, name))
            if len(found) != 1:
                yield f"{name}: {len(found)} lines"
            for cells in found:
                for at, value in columns.items():
                    if cells[at] != value:
                        yield f"{name}: column {at} is {cells[at]}; the results say {value}"


def of_counts(root, readme):
    """Families are those that the library reads, but for mlp and Megatron-LM's own, and runs those whose predictions the picture draws."""
    header = (root / "core/model/model.h").read_text()
    families = len(re.findall(r"^  X\((?!MLP|MEGATRON)\w+, \w+\)", header[header.index("#define SL_FAMILY_MAP"):header.index("enum sl_model_type")], re.M))
    runs = len((root / "experiments/published/training/results/predictions.csv").read_text().splitlines()) - 1
    for name, text, words in (("README", readme, f"{families} families of Hugging Face's"),
                              ("changelog", (root / "CHANGELOG.md").read_text(), f"{families} families of Hugging Face's"),
                              ("README", readme, f"{runs:,} training runs that others measured"),
                              ("experiments", (root / "experiments/README.md").read_text(), f"{runs:,} training runs that others measured")):
        if words not in text:
            yield f"{name}: does not say '{words}'"


def of_medians(root, readme):
    for name in ("validate_host", "offload_time"):
        text = (root / "experiments" / name / "README.md").read_text()
        found = re.search(r"^Median error ([\d.]+) %", text, re.M)
        told = found[1]
        quoted = [cells[2].split()[0] for line in readme.splitlines() if f"[{name}]" in line and line.startswith("|")
                  for cells in [[c.strip() for c in line.strip("|").split("|")]]]
        if quoted != [told]:
            yield f"{name}: the README says {quoted}, the experiment {told}"
        table = text[:found.start()]
        header = [c.strip() for line in table.splitlines() if line.startswith("| configuration") for c in line.strip("|").split("|")]
        at = header.index("error")
        errors = [abs(float(cells[at].split()[0])) for line in table.splitlines() if re.match(r"\|.*[-+][\d.]+ % \|", line)
                  for cells in [[c.strip() for c in line.strip("|").split("|")]]]
        if abs(statistics.median(errors) - float(told)) > 0.051:
            yield f"{name}: the median of its table is {statistics.median(errors):.2f} %, not {told} %"


def of_pytorch(root, binary, accuracy):
    """The table of PyTorch's steps is what its script prints, and the page of accuracy quotes its mean."""
    said = subprocess.run([sys.executable, "-B", root / "experiments/validate_gpu/pytorch.py", binary], capture_output=True, text=True, check=True).stdout
    if said not in (root / "experiments/validate_gpu/README.md").read_text():
        yield "validate_gpu: the table of PyTorch's steps is not what pytorch.py prints"
    mean, memory = re.search(r"^Mean error ([\d.]+) % of \d+ runs, of memory ([\d.]+) %", said, re.M).groups()
    if f"are {mean} % off by the kernel set" not in accuracy or f"and their memory {memory} %" not in accuracy:
        yield f"accuracy: PyTorch's steps are {mean} % off, their memory {memory} %"


def of_pythia(root, binary, readme, accuracy):
    """What pages say of Pythia's memory is what its script prints."""
    training = root / "experiments/published/training"
    said = subprocess.run([sys.executable, "-B", training / "pythia_memory.py", binary], capture_output=True, text=True, check=True).stdout
    rows_of, mean, median = [dict(zip(("at the loss", "later", "reserved"), values))
                             for values in zip(*re.findall(r"^[\w ]+: (\d+) rows, mean ([\d.]+) %, median ([\d.]+) %", said, re.M))]
    right, verdicts = re.search(r"^fits or not: (\d+) of (\d+) right", said, re.M).groups()
    row = (f"peaks at the loss {mean['at the loss']} % off in the mean of {rows_of['at the loss']} rows, what the allocator reserves "
           f"{mean['reserved']} % of {rows_of['reserved']} (median {median['reserved']}), {right} of {verdicts} verdicts right")
    short = f"Memory is {mean['reserved']} % off for Pythia under eager PyTorch"
    page = " ".join((root / "docs/predict.md").read_text().split())
    for name, text, words in (("experiments", (training / "README.md").read_text(), row), ("README", readme, short), ("accuracy", accuracy, short),
                              ("predict", page, f"is met within {mean['at the loss']} % (tensors at the loss) and {mean['reserved']} % (reserved")):
        if words not in text:
            yield f"{name}: does not say '{words}'"


def of_demo(root, binary):
    text = (root / "experiments/demo/README.md").read_text()
    for stage in range(4):
        command = [binary, "predict", "--model", "gpt2-mini", "--config", root / f"examples/ds_zero{stage}.json", "--world", "2", "--seq", "64"]
        record = json.loads(subprocess.run([*command, "--quiet", "--json", "-"], capture_output=True, text=True, check=True).stdout)
        arena = record["memory"]["device"]["peak_bytes"] / 2**20
        wire, calls = sum(t["wire_bytes"] for t in record["traffic"]) / 2**20, sum(t["calls"] for t in record["traffic"])
        sent = sum(t["bytes"] for t in record["traffic"]) / 2**20
        cells = next(c for c in rows(text, "2") if c[1] == str(stage))
        for at, values in ((2, [arena]), (4, [wire, sent]), (5, [calls])):
            quoted = [c.split()[0] for c in cells[at].split(" / ")]
            if not any(quoted == [f"{v:.4g}" if at != 5 else str(v)] * 2 for v in values):
                yield f"demo, ZeRO-{stage}: column {at} says {cells[at]}; predicted is {values}"


def main():
    plant = "--plant" in sys.argv
    binary, root = [pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--plant"]
    readme, accuracy = (root / "README.md").read_text(), (root / "docs/accuracy.md").read_text()
    found = [*of_published(root, readme, accuracy), *of_counts(root, readme), *of_medians(root, readme), *of_pytorch(root, binary, accuracy),
             *of_pythia(root, binary, readme, accuracy), *of_demo(root, binary)]
    if plant and not list(of_published(root, readme.replace("| 257 | 4.0 |", "| 257 | 3.0 |"), accuracy)):
        found.append("a planted figure was not found wrong")
    if plant and len(list(of_counts(root, readme.replace(" families", "0 families").replace(" training runs", "0 training runs")))) != 2:
        found.append("planted counts were not found wrong")
    if plant and len(list(of_pythia(root, binary, readme.replace("% off for Pythia", "1 % off for Pythia"), accuracy))) != 1:
        found.append("a planted figure of Pythia's was not found wrong")
    print("\n".join(found) or "0 faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
