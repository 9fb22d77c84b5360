"""The Python module over the library: module.py SHARDLAB. SHARDLAB_LIBRARY and PYTHONPATH say where the two stand.

Records are the command's, errors its line; threads predict side by side while the interpreter goes on; nothing is printed.
"""
import fractions
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import shardlab

SHARDLAB = sys.argv.pop(1)
CONFIG = {"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW"}, "zero_optimization": {"stage": 2}}
JOB = dict(model="gpt2", config=CONFIG, cluster="dgx-h100", world=8)
OF_ITS_OWN = ("command", "environment", "options", "created")  # of a record: how it was asked for


def comparable(record):
    return {key: value for key, value in record.items() if key not in OF_ITS_OWN}


def run(*words):
    """The command itself: not what is preloaded here for the library (a sanitizer's part that the command has in itself)."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run([SHARDLAB, *words], capture_output=True, text=True, check=False, env=environment)


def command(*words):
    return run("predict", *words)


class Predictions(unittest.TestCase):
    def test_a_record_is_the_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "ds.json")
            path.write_text(json.dumps(CONFIG))
            ran = command("--model", "gpt2", "--config", str(path), "--cluster", "dgx-h100", "--world", "8", "--tp", "2", "--json", "-", "--quiet")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            record = shardlab.predict("gpt2", path, "dgx-h100", 8, tp=2)
        self.assertEqual(comparable(record), comparable(json.loads(ran.stdout)))
        self.assertGreater(record["step_time_s"], 0)

    def test_dicts_and_texts_are_files(self):
        model = {"model_type": "gpt2", "n_layer": 3, "n_head": 4, "n_embd": 64, "vocab_size": 512, "n_positions": 128}
        a = shardlab.predict(model, CONFIG, "dgx-h100", 4)
        b = shardlab.predict(json.dumps(model), " " + json.dumps(CONFIG), "dgx-h100", 4)
        self.assertEqual(comparable(a), comparable(b))
        self.assertEqual(a["plan"]["world"], 4)

    def test_flags(self):
        plain = shardlab.predict(**JOB)
        self.assertEqual(comparable(shardlab.predict(**JOB, recompute=None, no_fold=False)), comparable(plain))
        split = dict(JOB, tp=2, config=dict(CONFIG, shardlab={"sequence_parallel": True}))
        norms = [shardlab.predict(**split, sequence_parallel=on)["memory"]["device"]["peak_bytes"] for on in (True, False)]
        self.assertLess(norms[0], norms[1])
        less = shardlab.predict(**JOB, recompute="full")
        self.assertLess(less["memory"]["device"]["peak_bytes"], plain["memory"]["device"]["peak_bytes"])
        staged = shardlab.predict(**JOB, pp=2, stages=[5, 7])
        self.assertEqual(staged["plan"]["pp"], 2)

    def test_errors_are_the_commands_line(self):
        for words in ({"model": "gpt3"}, {"world": 0}, {"zero_stage": 7}, {"config": '{"zero_optimization": {"stage": 9}}'}, {"tp": 3}):
            with self.assertRaises(shardlab.Error) as caught:
                shardlab.predict(**{**JOB, **words})
            self.assertNotIn("\n", str(caught.exception))
        ran = command("--model", "gpt3", "--preset", "ddp")
        with self.assertRaises(shardlab.Error) as caught:
            shardlab.predict("gpt3", preset="ddp")
        self.assertEqual(ran.stderr.strip(), f"shardlab: error: {caught.exception}")
        with self.assertRaises(shardlab.Error):
            shardlab.predict(**JOB, json="-")
        with self.assertRaises(ValueError):
            shardlab.predict("gpt2\0", preset="ddp")

    def test_flags_are_texts_numbers_and_paths(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (os.fsencode(folder) + b"/a\xff.json", pathlib.Path(folder, "b.json")):
                shardlab.predict(**JOB, trace=path)
                self.assertTrue(os.path.exists(path))
        self.assertEqual(shardlab.predict(**JOB, seed=fractions.Fraction(3))["options"], shardlab.predict(**JOB, seed=3)["options"])
        for value in (lambda: 0, {"a": 1}, 1j, range(2), [2, None], object()):
            with self.assertRaisesRegex(TypeError, "^shardlab: --trace: is a [a-zA-Z]+; expected a text, a number or a path$"):
                shardlab.predict(**JOB, trace=value)

    def test_warnings_are_pythons(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            shardlab.predict(**{**JOB, "config": {**CONFIG, "prescale_gradients": True}})
        self.assertIn("prescale_gradients", "".join(str(w.message) for w in said))

    def test_threads_predict(self):
        want, got = comparable(shardlab.predict(**JOB)), []
        threads = [threading.Thread(target=lambda: got.append(comparable(shardlab.predict(**JOB)))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [want] * 4)

    def test_the_interpreter_goes_on(self):
        """Nobody has its lock taken away here, so another thread only has a turn in a call that gives it up. On a busy machine a
        call of milliseconds may be over before that thread is woken: one of many is enough."""
        turns, done, interval = [0], threading.Event(), sys.getswitchinterval()

        def count():
            while not done.is_set():
                turns[0] += 1
                time.sleep(0.0001)

        thread = threading.Thread(target=count)
        thread.start()
        sys.setswitchinterval(1000)
        try:
            before = turns[0]
            for _ in range(200):
                shardlab.predict(**JOB)
                if turns[0] > before:
                    break
            self.assertGreater(turns[0], before)
        finally:
            sys.setswitchinterval(interval)
            done.set()
            thread.join()

    def test_flat(self):
        record = shardlab.predict(**JOB)
        self.assertEqual(record.flat()["memory.device.peak_bytes"], record["memory"]["device"]["peak_bytes"])
        try:
            import pandas
        except ImportError:
            return
        self.assertIsInstance(record.frame, pandas.DataFrame)
        self.assertEqual(record.frame["step_time_s"][0], record["step_time_s"])

    def test_version(self):
        ran = run("--version")
        self.assertEqual(ran.stdout.strip(), f"shardlab {shardlab.version()}")


if __name__ == "__main__":
    unittest.main()
