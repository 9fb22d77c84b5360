"""Hosts for tests of launchers: network namespaces with an sshd each, on one bridge with this process.

All of it lives in namespaces of this process (network, mounts, processes), which the kernel takes apart when it ends, whatever ends
it: no interface, mount, file of ~/.ssh or process stays. `enter()` moves a script there, or ends it with status 77 and the reason.

    hosts.enter()
    with hosts.Hosts(3) as net:
        net.names             worker-0, worker-1, worker-2, known to ssh here by their keys, on net.port
        net.processes(1)      what runs on worker-1 beside its sshd: {pid: command line}
        net.cut(1)            worker-1 vanishes: its cable is pulled
"""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

INSIDE = "SHARDLAB_TEST_INSIDE"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def enter():
    """Start this script anew in namespaces of its own."""
    if os.environ.get(INSIDE):
        return
    for program in "/usr/sbin/sshd", "ssh", "ssh-keygen", "ip", "unshare", "mpirun":
        if not shutil.which(program):
            skip(f"{program} is not installed (Debian: openssh-server openssh-client iproute2 util-linux openmpi-bin)")
    if os.geteuid() != 0:
        skip("network namespaces with an sshd need root")
    spaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    probe = subprocess.run([*spaces, "sh", "-c", "mount -t tmpfs none /run && ip link add probe type bridge && mkdir /run/netns && ip netns add probe"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        skip(f"namespaces are not allowed here: {(probe.stderr.strip().splitlines() or ['unshare fails'])[-1]}")
    sys.exit(subprocess.run([*spaces, sys.executable, "-B", *sys.argv], env={**os.environ, INSIDE: "1"}).returncode)


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Hosts:
    port = 2222

    def __init__(self, count):
        self.names = [f"worker-{i}" for i in range(count)]
        self.addresses = [f"10.77.0.{i + 1}" for i in range(count)]
        self.servers = [None] * count
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardlab-hosts-"))

    def __enter__(self):
        for place in "/run", "/dev/shm":
            run("mount", "-t", "tmpfs", "none", place)
        for folder in "/run/netns", "/run/sshd":
            os.mkdir(folder)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "addr", "add", "10.77.0.254/24", "dev", "br0")
        run("ip", "link", "set", "br0", "up")
        self.make_keys()
        for i in range(len(self.names)):
            self.make_host(i)
        return self

    def __exit__(self, *_):
        for i in range(len(self.names)):
            self.stop(i)
        shutil.rmtree(self.folder)

    def make_keys(self):
        """Keys of the hosts and of the user, and names in place of this machine's own, over ~/.ssh and /etc/hosts."""
        home, ssh = pathlib.Path(pwd.getpwuid(os.geteuid()).pw_dir), self.folder / "ssh"
        ssh.mkdir(mode=0o700)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(ssh / "id_ed25519"))
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "host_key"))
        shutil.copy(ssh / "id_ed25519.pub", ssh / "authorized_keys")
        key = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        (ssh / "known_hosts").write_text("".join(f"[{n}]:{self.port},[{a}]:{self.port} {key}\n{n},{a} {key}\n" for n, a in zip(self.names, self.addresses)))
        names = self.folder / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in zip(self.names, self.addresses)))
        (home / ".ssh").mkdir(mode=0o700, exist_ok=True)
        run("mount", "--bind", str(ssh), str(home / ".ssh"))
        run("mount", "--bind", str(names), "/etc/hosts")
        if (home / ".bashrc").exists():  # what it says on this machine is no matter of the hosts
            (self.folder / "bashrc").touch()
            run("mount", "--bind", str(self.folder / "bashrc"), str(home / ".bashrc"))

    def make_host(self, i):
        run("ip", "netns", "add", self.names[i])
        run("ip", "link", "add", f"veth{i}", "type", "veth", "peer", "name", "eth0", "netns", self.names[i])
        run("ip", "link", "set", f"veth{i}", "master", "br0", "up")
        for words in (["addr", "add", f"{self.addresses[i]}/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
            run("ip", "-n", self.names[i], *words)
        self.start(i)

    def start(self, i):
        """Its sshd, on the usual port and on another, under a host name of its own."""
        config = self.folder / f"sshd-{i}.conf"
        config.write_text(f"Port 22\nPort {self.port}\nListenAddress {self.addresses[i]}\nHostKey {self.folder}/host_key\nPidFile none\n"
                          "StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nPrintMotd no\nMaxStartups 100\n")
        script = f"hostname {self.names[i]} && exec /usr/sbin/sshd -D -e -f {config}"
        with open(self.folder / f"sshd-{i}.log", "w") as log:
            self.servers[i] = subprocess.Popen(["ip", "netns", "exec", self.names[i], "unshare", "--uts", "sh", "-c", script], stderr=log)
        for _ in range(200):
            if subprocess.run(["ssh", "-o", "BatchMode=yes", "-p", str(self.port), self.names[i], "true"], capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        sys.exit(f"sshd of {self.names[i]} does not answer: {(self.folder / f'sshd-{i}.log').read_text()}")

    def stop(self, i):
        """All that runs on the host, at once, as without power."""
        for pid in self.inside(i):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.servers[i]:
            self.servers[i].wait()
            self.servers[i] = None

    def cut(self, i):
        run("ip", "link", "set", f"veth{i}", "down")

    def mend(self, i):
        run("ip", "link", "set", f"veth{i}", "up")

    def inside(self, i):
        """Ids of the processes of the host's namespace."""
        space, pids = os.stat(f"/run/netns/{self.names[i]}"), []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                at = os.stat(path / "ns/net")
            except OSError:
                continue
            if (at.st_dev, at.st_ino) == (space.st_dev, space.st_ino):
                pids.append(int(path.name))
        return pids

    def processes(self, i):
        found = {}
        for pid in self.inside(i):
            try:
                line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if line and not line.startswith(("sshd", "/usr/sbin/sshd")):
                found[pid] = line
        return found

    def received(self, i):
        """Bytes that came to the host over the wire."""
        text = subprocess.run(["ip", "netns", "exec", self.names[i], "cat", "/proc/net/dev"], capture_output=True, text=True, check=True).stdout
        return next(int(line.split()[1]) for line in text.splitlines() if line.strip().startswith("eth0:"))
