"""What `cmake --install` makes of a build, moved to another place and used from there with an empty environment:

    install.py ROOT BUILD CMAKE CC CXX

The command, the backends it finds, profiles by name, pages and completions, the C interface by pkg-config, and Python's module.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT, BUILD = map(pathlib.Path, sys.argv[1:3])
CMAKE, CC, CXX = sys.argv[3:6]
COMPONENTS = ("shardlab", "library", "dev", "python", "analyze", "host", "cuda")
PATH = "/usr/local/bin:/usr/bin:/bin"


def run(*words, **environment):
    """Standard output of what ran with this environment and no other."""
    ran = subprocess.run([str(w) for w in words], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{words}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def install(prefix):
    for component in COMPONENTS:
        run(CMAKE, "--install", BUILD, "--prefix", prefix, "--component", component, **os.environ)


def check_rpaths(prefix):
    """What is installed names no folder of the build, and finds all that it needs of ours from where it stands."""
    for path in [prefix / "bin/shardlab", *sorted(prefix.rglob("*.so*"))]:
        text = run("objdump", "-p", path, PATH=PATH)
        paths = re.findall(r"R(?:UN)?PATH\s+(\S+)", text)
        own = [p for one in paths for p in one.split(":") if not p.startswith("/usr/local/cuda")]  # CUDA's own libraries
        assert all(p.startswith("$ORIGIN") for p in own), (path, paths)
    needed = run("ldd", prefix / "bin/shardlab", PATH=PATH)
    assert str(prefix) in needed and "not found" not in needed and str(BUILD) not in needed, needed


def check_command(prefix):
    program, examples = prefix / "bin/shardlab", prefix / "share/shardlab/examples"
    job = ("--model", "gpt2-xl", "--config", examples / "ds_zero2.json", "--world", "64")
    record = json.loads(run(program, "predict", *job, "--cluster", "dgx-a100-80g", "--json", "-", "--quiet"))
    assert record["step_time_s"] > 0
    profiles = prefix / "share/shardlab/profiles"
    (profiles / "mine.json").write_text((profiles / "dgx-h100.json").read_text())
    mine, theirs = (json.loads(run(program, "predict", *job, "--cluster", name, "--json", "-", "--quiet")) for name in ("mine", "dgx-h100"))
    assert mine["step_time_s"] == theirs["step_time_s"] != record["step_time_s"]
    if (prefix / "lib/shardlab/libshardlab_host.so").exists():
        assert re.search(r"host backend +present +loaded", run(program, "backends"))
        run(program, "measure", "--model", examples / "mlp.json", "--config", examples / "ds_adam_mlp.json", "--data", "random:64",
            "--steps", "1", "--quiet", PATH=PATH)


def check_pages(prefix):
    commands = run(prefix / "bin/shardlab", "help", "--commands").split()
    pages = {p.name for p in (prefix / "share/man/man1").iterdir()}
    assert pages == {"shardlab.1"} | {f"shardlab-{c}.1" for c in commands}, pages
    page = (prefix / "share/man/man1/shardlab-predict.1").read_text()
    assert page.startswith(".TH SHARDLAB-PREDICT 1") and "\\-\\-micro\\-batch" in page
    script = prefix / "share/bash-completion/completions/shardlab"
    for words, want in ((["pre"], "predict"), (["predict", "--zero-s"], "--zero-stage"), (["predict", "--model", "llama3-8"], "llama3-8b"),
                        (["show", "sched"], "schedule"), (["predict", "--attention", "flash3"], "flash3")):
        line = " ".join(f"'{w}'" for w in ["shardlab", *words])
        got = run("bash", "-c", f'. "{script}"; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shardlab; echo "${{COMPREPLY[@]}}"', PATH=PATH)
        assert got.split() == [want], (words, got)


def check_pages_for_readers(prefix):
    """The README's links to pages, and those of pages to each other, lead to what is installed, too."""
    folder = prefix / "share/doc/shardlab"
    pages = [folder / "README.md", folder / "CHANGELOG.md", *(folder / "docs").iterdir()]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([\w./-]+\.md)", page.read_text()) if "experiments/" not in link]
    assert len(links) > 60, links
    assert not [link for page, link in links if not (page.parent / link).exists()], links


def check_library(prefix, scratch):
    """The example of the C interface, built as its head says, and as C++; what it prints is what the command does."""
    setting = {"PATH": PATH, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib")}
    flags = run("pkg-config", "--cflags", "--libs", "shardlab", **setting).split()
    version = run("pkg-config", "--modversion", "shardlab", **setting).strip()
    assert run(prefix / "bin/shardlab", "--version") == f"shardlab {version}\n"
    source = prefix / "share/doc/shardlab/examples/predict.c"
    for compiler, language in ((CC, ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]), (CXX, ["-x", "c++", "-Wall", "-Werror"])):
        run(compiler, *language, source, "-x", "none", *flags, "-o", scratch / "predict", **os.environ)
        assert json.loads(run(scratch / "predict", **setting))["plan"]["world"] == 64
    bad = subprocess.run([scratch / "predict", "none"], env=setting, capture_output=True, text=True, check=False)
    assert bad.returncode == 2 and bad.stderr.startswith("error: --world: is 'none'"), bad
    names = run("nm", "-D", "--defined-only", prefix / "lib/libshardlab.so.0", PATH=PATH)
    declared = set(re.findall(r"\b(shardlab_\w+)\(", (prefix / "include/shardlab.h").read_text()))
    assert {n.split("@")[0] for n in re.findall(r" T (\S+)", names)} == declared, names


def check_python(prefix):
    code = "import shardlab; print(shardlab.predict('gpt2', preset='fsdp', cluster='mine', world=8)['plan']['world'])"
    got = run(sys.executable, "-B", "-c", code, PYTHONPATH=str(prefix / "lib/python3/dist-packages"), LD_LIBRARY_PATH=str(prefix / "lib"))
    assert got == "8\n", got


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        install(scratch / "first")
        prefix = (scratch / "first").rename(scratch / "moved elsewhere")
        check_rpaths(prefix)
        check_command(prefix)
        check_pages(prefix)
        check_pages_for_readers(prefix)
        plain = prefix.rename(scratch / "moved")  # compilers' flags have no quotes
        check_library(plain, scratch)
        check_python(plain)
    print("installed, moved and used")


if __name__ == "__main__":
    main()
