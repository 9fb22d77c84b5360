"""What Perfetto's own trace processor makes of a predicted trace: nothing is dropped or complained of, slices of a lane do not overlap,
counters are there, and every arrow joins a send to a receive. Status 77 where it is not installed: the pip package perfetto, and its
program trace_processor_shell, on PATH, as PERFETTO_TRACE_PROCESSOR names it or where the package keeps what it has downloaded. This
test downloads nothing. What it asks is asked without it by traces.py.

    perfetto_reads.py SHARDLAB ROOT
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
except ImportError:
    print("perfetto: is not installed (pip install perfetto)")
    raise SystemExit(77)

JOB = ["--model", "gpt2-tiny", "--world", "4", "--pp", "2", "--schedule", "1f1b", "--seq", "19", "--grad-accum", "3", "--no-fold", "--quiet"]


def program():
    kept = sorted(pathlib.Path.home().glob(".local/share/perfetto/prebuilts/trace_processor_shell-*"))
    named = [os.environ.get("PERFETTO_TRACE_PROCESSOR"), shutil.which("trace_processor_shell"), *kept]
    found = [str(p) for p in named if p and os.access(p, os.X_OK)]
    if not found:
        print("perfetto: its trace_processor_shell is not here")
        raise SystemExit(77)
    return found[0]


def main():
    shardlab, root = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    shell = program()
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "trace.json"
        done = subprocess.run([shardlab, "predict", *JOB, "--config", root / "examples/ds_zero1.json", "--trace", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        written = json.loads(path.read_text())["traceEvents"]
        with TraceProcessor(trace=str(path), config=TraceProcessorConfig(bin_path=shell)) as processor:
            ask = lambda words: list(processor.query(words))
            complaints = ask("select name, value from stats where value > 0 and (severity in ('error', 'data_loss') or name glob 'flow*' or name glob 'json*' or name glob '*overlap*')")
            assert not complaints, [(c.name, c.value) for c in complaints]
            assert ask("select count() n from slice")[0].n == sum(e["ph"] == "X" for e in written)
            overlaps = ask("select name, ts, dur from (select *, lead(ts) over (partition by track_id order by ts, id) following from slice) where ts + dur > following")
            assert not overlaps, [(o.name, o.ts, o.dur) for o in overlaps]
            counted = ask("select count() n, min(value) low from counter")[0]
            assert counted.n == sum(len(e["args"]) for e in written if e["ph"] == "C") and counted.low >= 0
            arrows = ask("select a.name sends, b.name receives from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id")
            assert len(arrows) == sum(e["ph"] == "s" for e in written) > 0
            assert all(x.sends.startswith("send ") and x.receives.startswith("recv ") for x in arrows)


if __name__ == "__main__":
    main()
