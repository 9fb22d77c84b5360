"""Which parallelism and ZeRO stages frameworks express: every cell asked of shardlab, then two tables.

usage: cells.py SHARDLAB OUT

Each cell of `shardlab show frameworks` that has a preset is one `shardlab check` of a small GPT on 4 or 8 ranks; accepted,
or refused with the message. Writes OUT/cells.csv and OUT/tables.md; exits 1 when a cell contradicts the table."""

import csv
import json
import subprocess
import sys

DEGREES = {"DP": (4, []), "PP": (4, ["--pp", "2"]), "TP": (4, ["--tp", "2"]), "3D": (8, ["--pp", "2", "--tp", "2"])}
NO_PRESET, CONFIG = "none", "experiments/framework_support/ds.json"
NOT_A_SETTING = "the framework has no such setting"


def ask(shardlab, preset, parallelism, stage):
    """(accepted, message, command) of one cell."""
    world, degrees = DEGREES[parallelism]
    which = ["--config", CONFIG] if preset == NO_PRESET else ["--preset", preset]
    command = [shardlab, "check", "--model", "gpt2-tiny", *which, "--zero-stage", str(stage), "--world",
               str(world), "--grad-accum", "4", "--quiet", *degrees]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    error = [line for line in done.stderr.splitlines() if ": error: " in line]
    message = error[-1].split(": error: ", 1)[1] if error else ""
    return done.returncode == 0, message.removeprefix("--preset: "), " ".join(["shardlab", *command[1:]])


def cells(shardlab):
    table = json.loads(subprocess.run([shardlab, "show", "frameworks", "--json", "-"], capture_output=True, text=True,
                                      check=True).stdout)
    table += [{"framework": "shardlab, no preset", "parallelism": p, "stages_2024_10": [], "stages_2026_11": [0, 1, 2, 3],
               "presets": [NO_PRESET] * 4, "source": ""} for p in DEGREES]
    for row in table:
        for stage in range(4):
            cell = {"framework": row["framework"], "parallelism": row["parallelism"], "zero_stage": stage,
                    "expressed_2024_10": int(stage in row["stages_2024_10"]),
                    "expressed_2026_11": int(stage in row["stages_2026_11"]), "preset": row["presets"][stage] or "",
                    "accepted": "", "message": "", "command": "", "source": row["source"]}
            if cell["preset"]:
                accepted, cell["message"], cell["command"] = ask(shardlab, cell["preset"], row["parallelism"], stage)
                cell["accepted"] = int(accepted)
            yield cell


def mark(group, date):
    stages = [str(c["zero_stage"]) for c in group if c["expressed_" + date]]
    return ", ".join(stages) or "-"


def tables(rows, out):
    print("ZeRO stages that a framework expresses beside a parallelism\n", file=out)
    print("| framework | | DP | PP | TP | 3D |\n|---|---|---|---|---|---|", file=out)
    for name in dict.fromkeys(c["framework"] for c in rows):
        for date, label in (("2024_10", "October 2024"), ("2026_11", "November 2026")):
            if name.startswith("shardlab") and date == "2024_10":
                continue
            groups = [[c for c in rows if c["framework"] == name and c["parallelism"] == p] for p in DEGREES]
            print("| {} | {} | {} |".format(name, label, " | ".join(mark(g, date) for g in groups)), file=out)
    print("\nWhat is refused, and how\n", file=out)
    print("| framework | parallelism | stage | preset | message |\n|---|---|---|---|---|", file=out)
    for c in rows:
        if c["accepted"] == 0:
            print("| {framework} | {parallelism} | {zero_stage} | {preset} | {message} |".format(**c), file=out)


def main():
    shardlab, folder = sys.argv[1:3]
    rows = list(cells(shardlab))
    with open(folder + "/cells.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with open(folder + "/tables.md", "w", encoding="utf-8") as file:
        tables(rows, file)
    asked = [c for c in rows if c["preset"]]
    wrong = [c for c in asked if c["accepted"] != c["expressed_2026_11"]]
    refused = [c for c in asked if not c["accepted"]]
    ours = sum(NOT_A_SETTING in c["message"] for c in refused)
    print(f"{len(asked)} cells asked, {len(asked) - len(refused)} accepted, {len(refused)} refused ({ours} of them because "
          f"the framework has no such setting), {len(wrong)} against the table")
    for c in wrong:
        print(f"  {c['command']}: accepted {c['accepted']}, table {c['expressed_2026_11']}; {c['message']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
