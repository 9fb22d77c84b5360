"""What a trace has to be, predicted and measured, for a viewer and beside the other numbers that shardlab tells of the same plan.

    traces.py SHARDLAB ROOT

  times     whole microseconds; slices of a lane never overlap, and are as long as their exact durations, rounded
  arrows    one for each message between pipeline ranks, from the send to the receive of the same micro-batch
  counters  never negative; live memory is the curve of `show memory`, op by op, and ends with what stays; what was sent over links
            adds up to the record's wire_bytes and never falls
  names     predicted and measured: the same processes, lanes, slices, counters and arrows
"""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MEASURED = 1 << 24  # what ids of measured processes have above those of predicted ones
CONFIG = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 3, "zero_optimization": {"stage": 1},
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}
WORLD = 4


class Trace:
    """The events of a file, by kind; those of the kind `measured` alone, where both are in it."""

    def __init__(self, path, measured):
        events = [e for e in json.loads(path.read_text())["traceEvents"] if (e["pid"] >= MEASURED) == measured]
        for e in events:
            e["pid"] %= MEASURED
        of = lambda phase: [e for e in events if e["ph"] == phase]
        self.named, self.slices, self.counters, self.starts, self.ends = (of(phase) for phase in "MXCsf")
        assert len(events) == sum(map(len, (self.named, self.slices, self.counters, self.starts, self.ends)))
        self.lanes = collections.defaultdict(list)
        for s in self.slices:
            self.lanes[s["pid"], s["tid"]].append(s)
        self.lane_name = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.named if e["name"] == "thread_name"}
        for e in events:
            assert all(type(e[key]) is int for key in ("ts", "dur") if key in e), f"no whole microseconds: {e}"

    def check_slices(self):
        for lane in self.lanes.values():
            end = 0
            for s in lane:  # as they stand in the file: one after the other
                assert s["ts"] >= end, f"begins in the slice before, which ends at {end}: {s}"
                end = s["ts"] + s["dur"]
                exact, message = s["args"]["duration_ns"], s["name"].startswith(("send ", "recv "))
                assert -1000 <= 1000 * s["dur"] - exact <= 1000 + 1000 * message, s

    def around(self, event):
        found = [s for s in self.lanes[event["pid"], event["tid"]] if s["ts"] <= event["ts"] < s["ts"] + s["dur"]]
        assert len(found) == 1, f"stands in {len(found)} slices: {event}"
        return found[0]

    def check_arrows(self):
        starts, ends = ({e["id"]: e for e in side} for side in (self.starts, self.ends))
        assert len(starts) == len(self.starts) and starts.keys() == ends.keys()
        kinds = collections.Counter(s["name"].split()[0] for s in self.slices)
        assert len(starts) == kinds["send"] == kinds["recv"] > 0, (len(starts), kinds)
        for key, start in starts.items():
            send, receive = self.around(start), self.around(ends[key])
            assert start["ts"] <= ends[key]["ts"] and start["pid"] != ends[key]["pid"], (start, ends[key])
            said = [re.fullmatch(r"(send|recv) .*?\d+(SEND|RECV)_([FB])(\d+)", s["name"]) for s in (send, receive)]
            assert all(said) and said[0][1] == "send" and said[1][1] == "recv", (send, receive)
            assert said[0].group(3, 4) == said[1].group(3, 4), f"of different messages: {send}, {receive}"
            assert send["args"]["step"] == receive["args"]["step"] and send["args"]["bytes"] == receive["args"]["bytes"]

    def check_counters(self):
        latest = {}
        for c in self.counters:
            assert c["args"] and all(type(v) is int and v >= 0 for v in c["args"].values()), c
            before = latest.get((c["pid"], c["name"]), c)
            assert before["ts"] <= c["ts"], (before, c)
            assert not c["name"].startswith("sent") or before["args"]["bytes"] <= c["args"]["bytes"], (before, c)
            latest[c["pid"], c["name"]] = c

    def live(self, rank, space="device"):
        """Live bytes by category, without those of 0, one after the other."""
        return [{k.removesuffix("_bytes"): v for k, v in c["args"].items() if v}
                for c in self.counters if c["pid"] == rank and c["name"] == f"{space} memory"]

    def sent(self, rank):
        """Bytes over all links at the end."""
        return sum({c["name"]: c["args"]["bytes"] for c in self.counters if c["pid"] == rank and c["name"].startswith("sent")}.values())

    def check_memory(self, rank, shown):
        """Of a trace of one step: initial values, the step's curve, and what stays."""
        live, curve = self.live(rank), [s["by_category"] for s in shown["curve"]]
        assert live[1:-1] == curve, f"rank {rank}: {len(live)} samples, {len(curve)} of show memory"
        stays = {k: v for k, v in shown["by_category"].items() if k in ("parameter", "optimizer")}
        assert {k: live[-1].get(k) for k in stays} == stays and "activation" not in live[-1] and live[0] == live[-1], live[-1]
        assert max(sum(s.values()) for s in live) == shown["peak_bytes"] - shown["fragmentation"]

    def names(self, step):
        """All that a reader sees but times: of slices those of one step, and of arrows and counters how they are called."""
        slices = {key: [(s["cat"], s["name"]) for s in lane if s["args"]["step"] == step and s["cat"] not in ("init", "save")]
                  for key, lane in self.lanes.items()}
        said = [(e["pid"], e.get("tid"), e["name"], str(e["args"].get("name", "")).split()[1:]) for e in self.named
                if e["name"] in ("process_name", "thread_name")]
        return {"slices": slices, "lanes": self.lane_name, "processes": sorted(map(str, said)),
                "arrows": {(e["pid"], e["tid"], e["name"], e["cat"]) for e in self.starts + self.ends},
                "counters": {(c["pid"], c["name"], tuple(c["args"])) for c in self.counters}}


def check(path, measured=False):
    trace = Trace(path, measured)
    trace.check_slices()
    trace.check_arrows()
    trace.check_counters()
    return trace


def main():
    shardlab, root = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "ds.json").write_text(json.dumps(CONFIG))
        job = ["--model", "gpt2-tiny", "--config", folder / "ds.json", "--world", WORLD, "--pp", 2, "--schedule", "1f1b", "--seq", 19]

        def run(*words):
            done = subprocess.run([shardlab, *map(str, words)], capture_output=True, text=True, cwd=folder)
            assert done.returncode == 0, f"{words}: {done.stderr}"

        run("predict", *job, "--no-fold", "--per-rank", "--quiet", "--trace", "p.json", "--json", "record.json")
        predicted = check(folder / "p.json")
        record = json.loads((folder / "record.json").read_text())
        wire = {r["rank"]: sum(t["wire_bytes"] for t in r["traffic"]) for r in record["ranks"]}
        for rank in range(WORLD):
            run("show", "memory", *job, "--rank", rank, "--json", "memory.json")
            predicted.check_memory(rank, json.loads((folder / "memory.json").read_text()))
            assert predicted.sent(rank) == wire[rank] > 0, (rank, predicted.sent(rank), wire)
        # copies between memories are links, too, and the host's memory is counted
        run("predict", "--model", "gpt2-tiny", "--config", folder / "ds.json", "--world", 2, "--seq", 19, "--zero-stage", 2, "--no-fold",
            "--offload-optimizer", "cpu", "--cluster", "dgx-a100-80g", "--quiet", "--trace", "o.json")
        offloaded = Trace(folder / "o.json", False)
        offloaded.check_slices()
        offloaded.check_counters()
        seen = {c["name"] for c in offloaded.counters if c["args"].get("bytes", 1) > 0}
        assert seen == {"device memory", "host memory", "sent over nvlink", "sent over host_to_device", "sent over device_to_host"}, seen
        assert offloaded.live(0, "host")[-1].get("optimizer", 0) > 0
        # a cluster's file may call its links anything, or nothing
        for called in ('n"v\\', None):
            link = {"bandwidth_GBps": 4, "latency_us": 2} | ({"name": called} if called else {})
            device = {"name": "a", "kind": "cpu", "memory_GiB": 4, "peak_TFLOPS": {"fp32": 0.1}, "memory_bandwidth_GBps": 20, "cores": 2}
            (folder / "c.json").write_text(json.dumps({"devices_per_node": 4, "device": device, "links": [link]}))
            run("predict", *job, "--quiet", "--no-fold", "--cluster", "c.json", "--trace", "c.trace")
            names = {c["name"] for c in check(folder / "c.trace").counters}
            assert names == {"device memory", "sent over n_v_" if called else "sent over link 0"}, names
        # one rank stands for several: an arrow only where both of its ends are there
        run("predict", *job, "--quiet", "--trace", "f.json")
        check(folder / "f.json")
        if shutil.which("mpirun") and (shardlab.parent.parent / "lib/libshardlab_host.so").exists():
            run("measure", *job, "--steps", 1, "--quiet", "--data", root / "examples/corpus.txt", "--trace", "m.json")
            measured = check(folder / "m.json", measured=True)
            ours, theirs = predicted.names(0), measured.names(0)
            for what in ours:
                assert ours[what] == theirs[what], f"{what}: predicted {ours[what]}\nmeasured {theirs[what]}"
            for rank in range(WORLD):
                assert measured.live(rank) == predicted.live(rank) and measured.sent(rank) == predicted.sent(rank)


if __name__ == "__main__":
    main()
