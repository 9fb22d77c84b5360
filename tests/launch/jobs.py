"""Jobs on hosts, with real sshd and ssh, through `shardlab measure --hostfile`.

    jobs.py mpirun SHARDLAB ROOT              the host backend, by mpirun over TCP
    jobs.py ssh SHARDLAB ROOT CORE MODULE     the cuda backend on its stand-ins (MODULE), by ssh

Ranks on hosts train as they do on one machine, words arrive as they were given, and whatever ends a job, kill -9 of its launcher and the loss of
a host included, leaves one line that says why and no process on any host. Status 77, with the reason, where there can be no such hosts.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hosts

TIMEOUT_S = 20  # of ranks, and of nodes for who launched them
faults, started = [], time.monotonic()


def check(fine, what):
    print(f"{time.monotonic() - started:6.1f}s " + ("ok      " if fine else "FAULT   ") + what, flush=True)
    if not fine:
        faults.append(what)


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Jobs:
    def __init__(self, net, shardlab, root):
        self.net, self.shardlab, self.folder = net, shardlab, net.folder / "jobs"
        self.folder.mkdir()
        self.base = ["--model", "gpt2-tiny", "--config", f"{root}/examples/ds_zero2.json", "--data", f"{root}/examples/corpus.txt", "--seq", "32",
                     "--quiet"]
        self.environment = {**os.environ, "SHARDLAB_TIMEOUT_S": str(TIMEOUT_S), "SHARDLAB_STAND_IN": "/stand-in"}
        self.pool("pool", 2, 2)
        self.backend = []

    def pool(self, name, *slots):
        text = "".join(f"{n} slots={s}\n" for n, s in zip(self.net.names, slots))
        (self.folder / name).write_text("# what there is\n" + text)

    def words(self, *more):
        return [self.shardlab, "measure", *self.base, *more]

    def run(self, *more, where=None, **variables):
        for file in pathlib.Path("/dev/shm").glob("stand-in*"):
            file.unlink()
        return subprocess.run(self.words(*more), capture_output=True, text=True, cwd=self.folder, env={**self.environment, **variables}, timeout=100)

    def record(self, *more, **variables):
        done = self.run(*more, "--json", "-", **variables)
        if done.returncode != 0:
            sys.exit(f"{' '.join(more)}: {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def ranks(self, i):
        """Ids of a host's ranks and of the node that started them; not those of guards and janitors."""
        return sorted(pid for pid in self.net.processes(i) if name_of(pid) == "shardlab")

    def all_end(self, what, until):
        """Processes on hosts end by themselves; a daemon of mpirun some moments later than the job."""
        while (left := {n: p for i, n in enumerate(self.net.names) if (p := self.net.processes(i))}) and time.time() < until:
            time.sleep(0.1)
        check(not left, f"{what}: no process is left {left or ''}")

    def end(self, what, befall, want, status, *more, ranks, wire, limit=3 * TIMEOUT_S):
        """A job that goes on until something befalls it: what it says, when it ends, and that nothing is left."""
        for file in pathlib.Path("/dev/shm").glob("stand-in*"):
            file.unlink()
        before = self.net.received(1)
        job = subprocess.Popen(self.words("--steps", "10000000", *more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               cwd=self.folder, env=self.environment)
        until = time.time() + 60
        while time.time() < until and job.poll() is None and any(len(self.ranks(i)) < ranks for i in range(2)):
            time.sleep(0.05)
        while time.time() < until and job.poll() is None and wire and self.net.received(1) < before + (2 << 20):
            time.sleep(0.05)  # steps are under way
        time.sleep(0.2 if wire else 0.5)
        befall(job)
        began = time.time()
        try:
            said, _ = job.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            job.kill()
            said = f"no end within {limit} s, then\n{job.communicate()[0]}"
        lines = [line for line in said.splitlines() if line]
        right = len(lines) == 1 and want in lines[0] if want else not lines
        check(right and job.returncode == status, f"{what}: {time.time() - began:.1f} s, status {job.returncode}, {lines}")
        self.all_end(what, began + limit)

    def recovers(self, what, befall, said, ranks, *more):
        """A job that is started again: on `ranks` ranks, to the losses of a job that nothing befell."""
        steps, job = 60, self.folder / "recovered"
        job.mkdir()
        rules = {"enabled": True, "max_train_batch_size": 24, "micro_batch_sizes": [2, 3], "max_gpus": 8, "version": 0.1}
        (job / "config.json").write_text(json.dumps({"elasticity": rules, "optimizer": {"type": "AdamW", "params": {"lr": 0.003}}, "zero_optimization": {"stage": 1}}))
        (job / "model.json").write_text('{"model_type": "mlp", "dims": [24, 48, 48, 8]}')
        words = [self.shardlab, "measure", "--model", "recovered/model.json", "--config", "recovered/config.json", "--data", "random:1000",
                 "--steps", str(steps), "--quiet", *self.backend]
        for file in pathlib.Path("/dev/shm").glob("stand-in*"):
            file.unlink()
        subprocess.run([*words, "--world", "4", "--json", "recovered/whole.json"], cwd=self.folder, env=self.environment, check=True)
        words += ["--checkpoint", "recovered/ck", "--save-every", "5", "--max-restarts", "1", "--json", "recovered/record.json", *more]
        for file in pathlib.Path("/dev/shm").glob("stand-in*"):
            file.unlink()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder, env=self.environment)
        until = time.time() + 60
        while time.time() < until and process.poll() is None and not (job / "ck/step-000010").exists():
            time.sleep(0.01)
        befall(process)
        lines = [line for line in process.communicate(timeout=120)[0].splitlines() if line]
        fine = process.returncode == 0 and len(lines) == 1 and said in lines[0] and f", with {ranks} ranks; steps lost: " in lines[0] and "restart 1 of 1 from step " in lines[0]
        check(fine, f"{what}: status {process.returncode}, {lines}")
        if fine:
            whole, record = (json.loads((job / name).read_text()) for name in ("whole.json", "record.json"))
            far = max(abs(a - b) / abs(a) for a, b in zip(whole["losses"], record["losses"]))
            check(len(record["losses"]) == steps and far < 1e-4 and record["recovery"]["restarts"] == 1, f"{what}: losses within {far:.1e}")
        self.all_end(what, time.time() + TIMEOUT_S)
        shutil.rmtree(job)

    def ends(self, on, **how):
        net, more = self.net, on
        self.end("the launcher is killed", lambda job: job.kill(), "", -9, *more, **how)
        self.end("Ctrl-C", lambda job: job.send_signal(signal.SIGINT), "ended by SIGINT", -2, *more, **how)
        self.end("a rank is killed", lambda job: os.kill(max(self.ranks(1)), signal.SIGKILL), "died (signal 9, SIGKILL)", 1, *more, **how)
        self.end("a host loses its power", lambda job: net.stop(1), f"host {net.names[1]} is gone", 1, *more, **how)
        net.start(1)
        self.end("a host's cable is pulled", lambda job: net.cut(1), f"host {net.names[1]} is gone", 1, *more, **how)
        net.mend(1)
        net.stop(1)
        done = self.run("--steps", "1", *more)
        lines = done.stderr.splitlines()
        check(done.returncode != 0 and len(lines) == 1 and "not reachable via ssh" in lines[0] and net.names[1] in lines[0],
              f"a host without sshd: {done.returncode} {lines}")
        net.start(1)


def same(a, b, what):
    far = max((abs(x - y) for x, y in zip(a["losses"], b["losses"])), default=1)
    check(len(a["losses"]) == len(b["losses"]) and far <= 1e-6 * abs(a["losses"][0]), f"{what}: losses within {far:.1e}")
    bytes_of = [[(row["group"], row["op"], row["calls"], row["bytes"]) for row in r["traffic"]] for r in (a, b)]
    arena = [[r["memory"]["device"][key] for key in ("peak_bytes", "by_category", "by_phase")] for r in (a, b)]
    check(bytes_of[0] == bytes_of[1] and arena[0] == arena[1], f"{what}: the same traffic and arena")


def by_mpirun(net, shardlab, root):
    jobs = Jobs(net, shardlab, root)
    here = jobs.record("--world", "4", "--steps", "3")
    before = net.received(1)
    there = jobs.record("--hostfile", "pool", "--steps", "3", "--ssh-port", str(net.port))
    came = net.received(1) - before
    same(here, there, "4 ranks on 2 hosts")
    least = 3 * max(row["bytes"] for row in there["traffic"])
    check(came > least, f"over the wire: {came} bytes, more than {least}")
    check(there["plan"]["world"] == 4, "the world is the hosts' slots")
    jobs.pool("three", 1, 2, 3)
    three = jobs.record("--hostfile", "three", "--include", f"{net.names[2]}:0,2@{net.names[1]}:1@{net.names[0]}", "--steps", "3", "--tp", "2")
    same(jobs.record("--world", "4", "--steps", "3", "--tp", "2"), three, "4 ranks on 3 hosts, tp 2")
    done = subprocess.run([shardlab, "validate", *jobs.base, "--hostfile", "pool", "--time-tolerance", "1e6", "--json", "-"], capture_output=True, text=True,
                          cwd=jobs.folder, env=jobs.environment)
    check(done.returncode == 0 and json.loads(done.stdout), f"validate on 2 hosts: {done.returncode} {done.stderr}")
    jobs.recovers("a host loses its power, and the others go on", lambda job: net.stop(1), f"host {net.names[1]} is gone", 2, "--hostfile", "pool")
    net.start(1)
    jobs.ends(["--hostfile", "pool"], ranks=2, wire=True)


def by_ssh(net, shardlab, root, core, module):
    program = net.folder / "a program's $(folder)" / "bin" / "shardlab"  # its lib/ is where its modules are looked for
    (program.parent.parent / "lib").mkdir(parents=True)
    program.parent.mkdir()
    shutil.copy(shardlab, program)
    for library in core, module:
        shutil.copy(library, program.parent.parent / "lib")
    jobs = Jobs(net, str(program), root)
    (jobs.folder / "model.json").write_text('{"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 64, "vocab_size": 256}')
    jobs.base[1] = "model.json"
    jobs.base += ["--backend", "cuda", "--cluster", "dgx-h200"]
    on = ["--hostfile", "pool", "--ssh-port", str(net.port)]
    here = jobs.record("--world", "4", "--steps", "2")
    same(here, jobs.record(*on, "--steps", "2"), "4 ranks on 2 hosts, whose address 'hostname -I' says")
    jobs.pool("three", 1, 2, 3)
    three = jobs.record("--hostfile", "three", "--exclude", f"{net.names[2]}:0,1", "--master-addr", net.addresses[0], "--master-port", "29777", "--steps", "2")
    same(here, three, "4 ranks on 3 hosts, with an address of rank 0")
    # words with all that a shell would act on, a folder's name among them
    name = "it's \"$(touch pwned)\" `touch pwned`; touch pwned & * \\ ~ #!\n é.safetensors"
    done = jobs.run(*on, "--steps", "1", "--save", name)
    names = sorted(p.name for p in jobs.folder.iterdir())
    check(done.returncode == 0 and name in names and not any("pwned" == n for n in names), f"words that a shell would act on: {done.returncode} {names} {done.stderr}")
    # variables of a file, as DeepSpeed's
    (jobs.folder / ".deepspeed_env").write_text("SHARDLAB_TIMEOUT_S=never\n")
    done = jobs.run(*on, "--steps", "1")
    check(done.returncode == 2 and "SHARDLAB_TIMEOUT_S" in done.stderr, f"variables of .deepspeed_env arrive: {done.returncode} {done.stderr.strip()}")
    (jobs.folder / ".deepspeed_env").unlink()
    # by hand on each host
    for file in pathlib.Path("/dev/shm").glob("stand-in*"):
        file.unlink()
    each = [subprocess.Popen(["ip", "netns", "exec", net.names[i], *jobs.words("--hostfile", "pool", "--no-ssh", "--node-rank", str(i), "--steps", "2", "--json", f"by_hand_{i}.json")],
                             cwd=jobs.folder, env=jobs.environment, stderr=subprocess.PIPE, text=True) for i in range(2)]
    ends = [(p.communicate(timeout=60)[1], p.returncode) for p in each]
    check(ends == [("", 0)] * 2, f"--no-ssh on each host: {ends}")
    same(here, json.loads((jobs.folder / "by_hand_0.json").read_text()), "--no-ssh on each host")
    jobs.backend = ["--backend", "cuda", "--cluster", "dgx-h200"]
    jobs.recovers("a host loses its power, and the other goes on", lambda job: net.stop(1), f"host {net.names[1]} is gone", 2, *on)
    net.start(1)
    jobs.recovers("a rank dies, and the others go on", lambda job: os.kill(max(jobs.ranks(1)), signal.SIGKILL), " died (signal 9, SIGKILL)", 3, *on)
    jobs.ends(on, ranks=3, wire=False)  # the node and its ranks; their messages go through memory


def main():
    hosts.enter()
    with hosts.Hosts(3) as net:
        {"mpirun": by_mpirun, "ssh": by_ssh}[sys.argv[1]](net, *sys.argv[2:])
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
