# SPDX-License-Identifier: MIT
"""sshd with logins on a loopback port: privilege separation, the seccomp sandbox, a fork and an
exec a connection.

The user who logs in is in no /etc/passwd but the one that sshd sees, in a mount namespace of its
own.
"""
import concurrent.futures
import contextlib
import ctypes
import inspect
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

import real
from until import comes

SHORT = True
TRACERS = real.ALL_TRACERS
LEAST = 60
CONFIGURE = ["--without-openssl", "--without-zlib", "--disable-lastlog", "--disable-utmp", "--disable-utmpx",
             "--disable-wtmp", "--disable-wtmpx", "--with-privsep-user=nobody", "--with-sandbox=seccomp_filter",
             "CC=gcc", f"CFLAGS=-O1 -g1 -w {real.FLAG}"]
PROGRAMS = ["sshd", "ssh", "ssh-keygen", "sftp", "sftp-server"]
USER, USER_ID = "vestige-login", 54321
DATA = os.urandom(1 << 20)
WAIT_S = 60


def make(source, folder):
    # its make looks at times
    shutil.copytree(source, f"{folder}/tree", symlinks=True, copy_function=shutil.copy)
    for name in ("aclocal.m4", "configure", "config.h.in"):
        os.utime(f"{folder}/tree/{name}")
    # sshd chroots there, and looks whose it is
    os.mkdir(f"{folder}/empty", 0o755)
    real.call(["./configure", *CONFIGURE, f"--prefix={folder}", f"--with-privsep-path={folder}/empty"], cwd=f"{folder}/tree")
    real.call(["make", "-j2", *PROGRAMS], cwd=f"{folder}/tree")
    for name in PROGRAMS:
        shutil.copy(f"{folder}/tree/{name}", folder)
    shutil.rmtree(f"{folder}/tree")


def with_passwd(path):
    """Mount the file @path over /etc/passwd, for this process and its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    for ret in (libc.unshare(0x20000), libc.mount(b"none", b"/", None, 0x44000, None),
                libc.mount(path.encode(), b"/etc/passwd", None, 0x1000, None)):
        if ret:
            raise OSError(ctypes.get_errno(), "a mount namespace")


def prepare():
    if os.geteuid():
        raise real.Skip("sshd changes to another user: that needs root")
    try:
        pwd.getpwnam("nobody")
        subprocess.run(["/bin/true"], preexec_fn=lambda: with_passwd("/etc/passwd"), check=True)
    except KeyError:
        raise real.Skip("there is no user nobody")
    except subprocess.SubprocessError:
        raise real.Skip("no mount namespace can be made here (CAP_SYS_ADMIN)")
    return real.built("openssh", "openssh", make, recipe=f"{CONFIGURE} {PROGRAMS} {inspect.getsource(make)}")


class Server:
    """An sshd, and how one logs in there."""

    def __init__(self, it, env, folder):
        self.it, self.env, self.folder = it, env, folder
        os.chmod(folder, 0o755)
        for name in ("host", "right", "wrong"):
            real.call([f"{it}/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}"])
        self.write("keys", open(f"{folder}/right.pub", encoding="utf-8").read())
        self.write("passwd", open("/etc/passwd", encoding="utf-8").read() + f"{USER}:x:{USER_ID}:{USER_ID}::{folder}:/bin/sh\n")
        self.write("ssh_config", f"IdentitiesOnly yes\nUserKnownHostsFile {folder}/known\nStrictHostKeyChecking no\n"
                   "BatchMode yes\nLogLevel ERROR\nKexAlgorithms curve25519-sha256\n")
        self.start()

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)

    def start(self):
        # the port may be taken before sshd has it
        for _ in range(20):
            with socket.create_server(("127.0.0.1", 0)) as s:
                self.port = s.getsockname()[1]
            self.write("sshd_config", f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.folder}/host\nPidFile none\n"
                       f"AuthorizedKeysFile {self.folder}/keys\nStrictModes no\nPermitRootLogin yes\nUseDNS no\n"
                       f"Subsystem sftp {self.it}/sftp-server\nPasswordAuthentication no\nMaxStartups 100\n")
            # by its whole path, under which it starts itself again
            self.process = subprocess.Popen([f"{self.it}/sshd", "-D", "-e", "-f", f"{self.folder}/sshd_config"], env=self.env,
                                            stdin=subprocess.DEVNULL, stderr=open(f"{self.folder}/log", "wb"),
                                            preexec_fn=self.before_exec)
            for _ in range(WAIT_S * 20):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                    return
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise AssertionError(f"sshd does not start: {open(f'{self.folder}/log', encoding='utf-8').read()}")

    def before_exec(self):
        real.in_group()
        with_passwd(f"{self.folder}/passwd")

    def login(self, user, *words, key="right", data=b"", program="ssh"):
        """Return: (status, output)"""
        port = ["-p", str(self.port)] if program == "ssh" else ["-P", str(self.port)]
        p = subprocess.Popen([f"{self.it}/{program}", "-F", f"{self.folder}/ssh_config", "-i", f"{self.folder}/{key}", *port,
                              *(w.replace("HOST", f"{user}@127.0.0.1") for w in words)],
                             env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=open(f"{self.folder}/log-ssh", "ab"), cwd=self.folder, preexec_fn=real.in_group)
        try:
            out = p.communicate(data, WAIT_S)[0]
        except subprocess.TimeoutExpired:
            p.kill()
            out = b"killed: no end"
            p.wait()
        return p.returncode, out

    def of_ours(self):
        """{living process of sshd: its state}, zombies included."""
        found, all_of = {self.process.pid: "self"}, sorted(int(n) for n in os.listdir("/proc") if n.isdigit())
        grew = True
        while grew:
            grew = False
            for pid in all_of:
                with contextlib.suppress(OSError):
                    stat = open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace").read()
                    state, parent = stat.rpartition(")")[2].split()[:2]
                    if pid not in found and int(parent) in found:
                        found[pid] = state
                        grew = True
        del found[self.process.pid]
        return found


def sandboxed(server):
    """A connection that has sent only its version is served by a process with another user's rights
    and a filter."""
    def found():
        for pid in server.of_ours():
            with contextlib.suppress(OSError):
                status = open(f"/proc/{pid}/status", encoding="utf-8", errors="replace").read()
                if "\nSeccomp:\t2" in status and f"\nUid:\t{pwd.getpwnam('nobody').pw_uid}\t" in status:
                    return True
        return False
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"SSH-2.0-test\r\n")
        return comes(found)


def multiplexed(server):
    """A master connection stays in the background, serves two more sessions, and ends."""
    socket_at = f"-oControlPath={server.folder}/master"
    said = [server.login(USER, socket_at, "-oControlMaster=auto", "-oControlPersist=yes", "HOST", "echo one"),
            server.login(USER, socket_at, "HOST", "echo two"),
            server.login(USER, socket_at, "HOST", "exit 5"),
            server.login(USER, socket_at, "-O", "exit", "HOST")]
    gone = comes(lambda: not os.path.exists(f"{server.folder}/master"))
    return [*said, gone] == [(0, b"one\n"), (0, b"two\n"), (5, b""), (0, b""), True]


def many(server):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda i: server.login(USER, "HOST", f"sleep 0.2; exit {i}"), range(8)))
    return said == [(i, b"") for i in range(8)]


def sftp(server):
    with open(f"{server.folder}/data", "wb") as f:
        f.write(DATA)
    status = server.login(USER, "-S", f"{server.it}/ssh", "-b", "-", "HOST", program="sftp",
                          data=f"get {server.folder}/data got\n".encode())[0]
    return status == 0 and open(f"{server.folder}/got", "rb").read() == DATA


# a function says whether all is as it should be; else what a login returns
TESTS = {
    "sandboxed": sandboxed,
    "default key exchange": (("-oKexAlgorithms=sntrup761x25519-sha512@openssh.com", "HOST", "exit 9"), {}, 9, b""),
    "status": (("HOST", "exit 7"), {}, 7, b""),
    "user": (("HOST", "id -u"), {}, 0, f"{USER_ID}\n".encode()),
    "status of root": (("HOST", "exit 8"), {"user": "root"}, 8, b""),
    "data": (("HOST", "cat"), {"data": DATA}, 0, DATA),
    "data of root": (("HOST", "cat"), {"data": DATA, "user": "root"}, 0, DATA),
    "rekey": (("-oRekeyLimit=400K", "HOST", "cat"), {"data": DATA}, 0, DATA),
    "signal": (("HOST", "kill -KILL $$"), {}, 255, b""),
    "terminal": (("-tt", "HOST", "test -t 0 && echo yes"), {}, 0, b"yes\r\n"),
    "terminal of root": (("-tt", "HOST", "test -t 0 && echo yes"), {"user": "root"}, 0, b"yes\r\n"),
    "wrong key": (("HOST", "true"), {"key": "wrong"}, 255, b""),
    "nobody's name": (("HOST", "true"), {"user": "vestige-none"}, 255, b""),
    "background": (("HOST", "sleep 0.5 </dev/null >/dev/null 2>&1 & echo on"), {}, 0, b"on\n"),
    "sftp": sftp,
    "multiplexed": multiplexed,
    "many": many,
}


def run(it, full, only, env, folder):
    server = Server(it, env, folder)
    verdicts = {}
    for name, test in TESTS.items():
        # full: each login ten times; "many" has enough of them
        for _ in range(10 if full else 1):
            if callable(test):
                verdicts[name] = "ok" if test(server) else "wrong"
            else:
                words, more, status, out = test
                said = server.login(more.get("user", USER), *words, **{k: v for k, v in more.items() if k != "user"})
                verdicts[name] = "ok" if said == (status, out) else f"status {said[0]}, {len(said[1])} bytes: {said[1][:80]}"
            if verdicts[name] != "ok":
                break
    verdicts["nothing of a login is left"] = "ok" if comes(lambda: not server.of_ours()) else str(server.of_ours())
    server.process.send_signal(signal.SIGTERM)
    try:
        verdicts["end"] = "ok" if server.process.wait(WAIT_S) == 0 else f"status {server.process.returncode}"
    except subprocess.TimeoutExpired:
        verdicts["end"] = "none"
        server.process.kill()
    return verdicts
