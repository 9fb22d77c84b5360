"""The case of a drawn configuration: its prediction, and all that `show` and `check` say of it."""
import json

from same.case import Case


def programs(c):
    """The programs of the first, the last and a rank between, and those that begin and end a run."""
    ranks = sorted({0, c.world // 2, c.world - 1})
    asked = [("step", rank) for rank in ranks] + [("init", ranks[-1]), ("save", ranks[-1])]
    return {f"program-{kind}-{rank}": ["show", "program", "--program", kind, "--rank", str(rank)] for kind, rank in asked}


def case(c):
    job = c.arguments()
    commands = {
        "predict": ["predict", *job, *c.for_predict, "--json", "predicted.json"],
        "check": ["check", *job, "--json", "check.json"],
        "schedule": ["show", "schedule", *job],
        "schedule-lowered": ["show", "schedule", *job, "--csv", "--lowered"],
    }
    for what in ("plan", "memory", "config", "model", "cluster", "estimator"):
        commands[what] = ["show", what, *job]
        commands[f"{what}-json"] = ["show", what, *job, "--json", f"{what}.json"]
    commands.update({name: arguments + job for name, arguments in programs(c).items()})
    return Case(c.label(), c.contents(), commands, "predict", c.facts, c.spoilt)


def facts(case, outputs):
    """What was drawn and, from the record, the stage that it came to."""
    return {**case.facts, "stage": json.loads(outputs["predicted.json"])["plan"]["zero_stage"]}
