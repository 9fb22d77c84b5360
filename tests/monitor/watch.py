"""watch.py SHARDLAB_ANALYZE: curves of files that csv_monitor writes, once without a terminal, again and again on one, and files that are none."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time


def rows_of(text):
    """The picture's rows from the top, without what stands left of the axis."""
    return [line.split("|", 1)[1] for line in text.splitlines() if "|" in line]


def once(analyze, *paths):
    done = subprocess.run([analyze, "watch", *map(str, paths)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def check_pictures(analyze, folder):
    line = folder / "line.csv"
    line.write_text("step,loss\r\n1,9.0\r\nstep,loss\r\n" + "".join(f"{s},{3 + 0.5 * s}\r\n" for s in range(0, 127)) + "127,99")  # the last is not complete
    code, out, err = once(analyze, line)
    assert code == 0 and err == "", err
    assert out.splitlines()[0] == "loss: 66 at 126, of 127", out
    rows = rows_of(out)
    assert len(rows) == 12 and all("*" in row for row in rows)
    ends = [(row.index("*"), row.rindex("*")) for row in reversed(rows)]  # from the bottom: a line that rises
    assert ends[0][0] == 0 and ends[-1][1] == 63 and all(b[0] == a[1] + 1 for a, b in zip(ends, ends[1:])), ends
    assert re.search(r"^ +65\.\d+ \|", out, re.M) and re.search(r"^ +3\.?\d* \|", out, re.M), out  # means of two values a column
    flat, odd, empty = folder / "flat.csv", folder / "odd.csv", folder / "empty.csv"
    flat.write_text("step,lr\n4,0.25\n8,0.25\n")
    odd.write_text("step,x\n1,nan\n2,1.5\n3,inf\n4,2.5\n")
    empty.write_text("step,lr\r\n")
    code, out, err = once(analyze, flat, odd, empty)
    assert code == 0 and out.count("*") == 4 and out.endswith("lr: nothing yet\n") and "x: 2.5 at 4, of 4" in out, (out, err)


def check_begun(analyze, folder):
    """What training has only just begun to write."""
    for text in ("", "st", "step,lo", "step,loss\r"):
        begun = folder / "begun.csv"
        begun.write_text(text, newline="")
        code, out, err = once(analyze, begun)
        assert code == 0 and out == f"{begun}: nothing yet\n", (text, out, err)


def check_errors(analyze, folder):
    for data, place in ((b"step,x\n1,2\n\0\0", ":3: has a zero byte"), (b"\0", ":1: has a zero byte"), (bytes(range(255, 10, -1)), ":1: is '"), (b"loss", ":1: is 'loss'"),
                        (b"steps", ":1: is 'steps'")):
        bad = folder / "bad.bin"
        bad.write_bytes(data)
        code, out, err = once(analyze, bad)
        assert code == 2 and f"{bad}{place}".encode() in err.encode() and err.count("\n") == 1, (data, code, err)
    for text, place in (("loss\n", ":1: is 'loss'"), ("step,x\n1,2,3\n", ":2: "), ("step,x\n1;2\n", ":2: "), ("1,2\n", ":1: "), ("step,x\n1,\n", ":2: "),
                        ("step,x\n99999999999999999999,1\n", ":2: "), ("step,x\n\n", ":2: ")):
        bad = folder / "bad.csv"
        bad.write_text(text)
        code, out, err = once(analyze, bad)
        assert code == 2 and f"{bad}{place}" in err and err.count("\n") == 1, (text, code, err)
    code, _, err = once(analyze, folder / "absent.csv")
    assert code == 2 and "absent.csv: cannot be read" in err, err


def check_terminal(analyze, folder):
    path = folder / "grows.csv"
    path.write_text("step,loss\n1,5.0\n")
    ours, theirs = os.openpty()
    run = subprocess.Popen([analyze, "watch", path], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen, until = b"", time.time() + 30
    while b"loss: 5 at 1, of 1" not in seen and time.time() < until:
        seen += os.read(ours, 4096)
    with path.open("a") as file:
        file.write("2,4.0\n")
    while b"loss: 4 at 2, of 2" not in seen and time.time() < until:
        seen += os.read(ours, 4096)
    assert b"loss: 4 at 2, of 2" in seen and seen.count(b"\x1b[H\x1b[2J") >= 2, seen
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=20) == 0


def main():
    with tempfile.TemporaryDirectory() as name:
        for check in check_pictures, check_begun, check_errors, check_terminal:
            check(sys.argv[1], pathlib.Path(name))
    print("curves are what the files say")


if __name__ == "__main__":
    main()
