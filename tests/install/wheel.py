"""Builds the wheel as `pip install .` does, without the network, and uses it in an environment of its own: wheel.py ROOT"""
import json
import pathlib
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(sys.argv[1])
PREDICT = "import json, shardlab; print(json.dumps(shardlab.predict('llama3-8b', preset='fsdp', cluster='dgx-h100', world=8)))"


def run(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


def main():
    try:
        import scikit_build_core  # noqa: F401
    except ImportError:
        print("skipped: scikit_build_core is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", scratch, "-C", f"build-dir={scratch}/build", ROOT)
        (wheel,) = scratch.glob("*.whl")
        venv.create(scratch / "venv", with_pip=True)
        run(scratch / "venv/bin/pip", "install", "--no-index", wheel)
        record = json.loads(run("env", "-i", scratch / "venv/bin/python", "-c", PREDICT))
        text = run("env", "-i", scratch / "venv/bin/shardlab", "predict", "--model", "llama3-8b", "--preset", "fsdp", "--cluster", "dgx-h100",
                   "--world", "8", "--json", "-", "--quiet")
        assert json.loads(text)["step_time_s"] == record["step_time_s"] > 0
    print("a wheel was built, installed and used")


if __name__ == "__main__":
    main()
