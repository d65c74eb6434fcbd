# SPDX-License-Identifier: MIT
"""Shared by the tests of the mount: programs that call on demand, and a mount that is always
removed."""
import contextlib
import os
import re
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.environ["SOURCE_DIR"] + "/tests/cli")
from cli_test import BIN, Skip, joined, main, need, nm, root, state_of, stop, until  # noqa: E402, F401

LIBRARY = os.environ["BUILD_DIR"] + "/libvestige.so"

# For each number N that it reads, calls mid() N times; each mid() calls leaf() twice.
STEPS = r"""
#include <stdio.h>
volatile long sum;
#define FN __attribute__((noipa))
FN void leaf(int i) { sum += i; }
FN void mid(int i) { leaf(i); leaf(i + 1); }
int main(void)
{
	int n;
	puts("ready"); fflush(stdout);
	while (scanf("%d", &n) == 1) {
		for (int i = 0; i < n; i++) mid(i);
		printf("%d\n", n); fflush(stdout);
	}
	return 0;
}
"""


class Steps:
    def __init__(self, w, boot="", prog=None, **env):
        prog = prog or w.path("steps")
        if not os.path.exists(prog):
            prog = w.compile("steps", STEPS)
        self.p = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=w.dir,
                                  env=dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT=boot, **env))
        self.pid = self.p.pid
        assert self.p.stdout.readline() == b"ready\n"

    def call(self, n):
        self.start(n)
        assert self.p.stdout.readline() == b"%d\n" % n

    def start(self, n):
        self.p.stdin.write(b"%d\n" % n)
        self.p.stdin.flush()

    def stop(self):
        stop(self.p)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.p.send_signal(signal.SIGCONT)
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()


@contextlib.contextmanager
def steps(w, boot="", prog=None, **env):
    """A running program: STEPS, or another @prog that reads and prints numbers as STEPS does."""
    s = Steps(w, boot, prog, **env)
    try:
        yield s
    finally:
        s.end()
        w.run("clean")


def fuse():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise Skip("needs a /dev/fuse that may be opened")
    if os.geteuid():
        need("fusermount3")
    p = subprocess.run([BIN, "mount", "/dev/null/x"], stderr=subprocess.PIPE)
    if b"without libfuse3" in p.stderr:
        raise Skip("built without libfuse3")


def is_mounted(path):
    with open("/proc/self/mounts") as f:
        return any(line.split()[1] == path for line in f)


def is_kept(path):
    """Whether another mount namespace has a copy of the mount (`vestige enter` of a test that runs
    at the same time)."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mounts", encoding="utf-8") as f:
            if any(line.split()[1] == path for line in f):
                return True
    return False


@contextlib.contextmanager
def mounted(w):
    """The mount's folder. At the end the mount is removed, and its server must have ended without
    an error message."""
    fuse()
    path = w.path("mnt")
    server = subprocess.Popen([BIN, "mount", "-f", path], env=w.env, cwd=w.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until(lambda: is_mounted(path) or server.poll() is not None)
    try:
        assert server.poll() is None, server.stdout.read()
        yield path
    finally:
        w.run("umount", "-l", path, status=None)
        kept = is_kept(path)
        if kept:
            server.terminate()
        try:
            said = server.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            server.kill()
            said = server.communicate()[0] + b"its server did not end"
        status = server.returncode
        if kept:
            said = re.sub(rb"^fuse: failed to unmount .*\n", b"", said, flags=re.M)
            # the signal may come when it ends already
            status = 0 if status == -signal.SIGTERM else status
        # said where nothing is traced yet
        said = re.sub(rb"^vestige: no traced process .*\n", b"", said, flags=re.M)
        # also when something else failed, perhaps for that reason
        if said or status:
            print(f"the mount's server ended with {status}:\n{said.decode(errors='replace')}")
    assert not is_mounted(path)
    assert status == 0 and not said, (status, said.decode())
    os.rmdir(path)


def server_of(path):
    """The pid of the server of a mount that mounted() made."""
    words = ["mount", "-f", path]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
            if f.read().split("\0")[1:4] == words:
                return int(pid)
    raise AssertionError("no server of " + path)


def cpu_seconds(pid):
    """CPU time of all threads of a process, ended ones included."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read(path):
    with open(path, "rb", buffering=0) as f:
        text = b""
        while chunk := f.read(65536):
            text += chunk
    return text.decode()


def write(path, text, flags=os.O_TRUNC):
    """open(), write(), close(). Return: 0 or the errno."""
    try:
        fd = os.open(path, os.O_WRONLY | flags)
    except OSError as e:
        return e.errno
    err = 0
    try:
        if text is not None:
            assert os.write(fd, text.encode()) == len(text.encode())
    except OSError as e:
        err = e.errno
    try:
        os.close(fd)
    except OSError as e:
        err = err or e.errno
    return err


def nonblock(path):
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def drain(fd, size=65536):
    text = b""
    while True:
        try:
            chunk = os.read(fd, size)
        except BlockingIOError:
            return text.decode()
        if not chunk:
            return text.decode()
        text += chunk


def sub_buffer_events(page, ordered=True):
    """(stamp, type, bytes) of a sub-buffer's events. Without @ordered an absolute time may be
    earlier than the one before."""
    ts, commit = struct.unpack_from("<QQ", page)
    assert not commit >> 31, "a loss"
    at, end = 16, 16 + (commit & 0xfffff)
    while at < end:
        word, = struct.unpack_from("<I", page, at)
        kind, delta = word & 31, word >> 5
        at += 4
        if kind in (29, 30, 31):
            high, = struct.unpack_from("<I", page, at)
            at += 4
            assert kind == 30 or (kind == 31 and not ordered), "time goes back"
            ts = (high << 27) + delta + (ts if kind == 30 else 0)
            continue
        assert kind, "our events are short"
        ts += delta
        yield ts, struct.unpack_from("<H", page, at)[0], page[at:at + 4 * kind]
        at += 4 * kind


def untimed(text):
    """The text of a trace without its times, of the latency format too: each reader measures the
    clock anew."""
    return re.sub(r"\d+\.\d{6}:| +\d+us.:", "TIME:", text)
