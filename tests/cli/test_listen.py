# SPDX-License-Identifier: MIT
"""vestige listen and record -N: recordings of other hosts. Oracles: trace-cmd's own listener and
sender, time namespaces whose offset is known, network namespaces of the test. Traffic stays on
loopback and in these."""
import contextlib
import glob
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import cli_test
from cli_test import BIN, Skip, children_of, until

STEPS = r"""
#include <stdio.h>
#include <unistd.h>
volatile long sum;
__attribute__((noipa)) void leaf(void) { sum++; }
int main(void)
{
	char c;
	while (write(1, "+", 1) == 1 && read(0, &c, 1) == 1 && c == '.')
		leaf();
	return 0;
}
"""
V3 = b"-1V3\0"
MAGIC = b"766679\0\0"


class Listener:
    """A listener of ours; its lines; its files are in w.path("in")."""

    def __init__(self, w, *args, before=(), address="127.0.0.1"):
        self.dir = w.path("in")
        os.makedirs(self.dir, exist_ok=True)
        self.p = subprocess.Popen([*before, BIN, "listen", "-p", "0", "--address", address, "-d", self.dir, *args],
                                  cwd=w.dir, env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.p.stdout.readline().decode()
        assert line.startswith("listening at "), (line, self.p.stderr.read())
        self.host, port = line.split()[-1].rsplit(":", 1)
        self.port = int(port)
        self.where = f"{self.host}:{port}"

    def line(self):
        return self.p.stdout.readline().decode().rstrip("\n")

    def end(self, sig=signal.SIGINT):
        self.p.send_signal(sig)
        out, err = self.p.communicate(timeout=60)
        assert self.p.returncode == 0 and not err, (self.p.returncode, err)
        left = [n for n in os.listdir(self.dir) if n.startswith(".")]
        assert not left, left
        return out.decode()

    def files(self):
        return sorted(glob.glob(self.dir + "/*.dat"))


def clock(line):
    """Offset and error in seconds, as the listener prints them."""
    m = re.search(r"clock ([+-][\d.]+) s, error (\d+) ns", line)
    assert m, line
    return float(m.group(1)), int(m.group(2)) / 1e9


def test_ours(w):
    here = Listener(w)
    p = w.run("record", "-N", here.where, w.prog, "calls", "500")
    assert b"sent to" in p.stderr
    line = here.line()
    offset, error = clock(line)
    assert abs(offset) <= error <= 100e-6, line
    w.run("record", "-q", "-N", here.where, w.prog, "calls", "20")
    here.line()
    first, second = sorted(here.files(), key=lambda f: -os.path.getsize(f))
    w.run("record", "-q", "--file-version", "6", "-o", "here.dat", w.prog, "calls", "500")
    assert w.counts(first) == w.counts("here.dat") and w.counts(first)["leaf"] == 1000
    assert w.counts(second)["leaf"] == 40
    out = here.end()
    assert "all hosts in one order of time: vestige report -i trace." in out, out
    names = re.findall(r"-i (\S+)", out)
    assert sorted(os.path.basename(f) for f in here.files()) == sorted(names)
    both = w.run("report", *[a for n in names for a in ("-i", f"{here.dir}/{n}")]).stdout.decode()
    assert len(re.findall(r"function: +leaf", both)) == 1040, both[:500]
    assert not [n for n in os.listdir(w.dir) if n.startswith("trace.sent")]


def test_to_trace_cmd(w):
    """Our recording to a listener of trace-cmd's."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    p = subprocess.Popen(["trace-cmd", "listen", "-p", str(port), "-d", w.dir, "-l", w.path("log")], cwd=w.dir,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def up():
            with socket.socket() as s:
                return not s.connect_ex(("127.0.0.1", port))
        until(up, "trace-cmd does not listen")
        r = w.run("record", "-N", f"127.0.0.1:{port}", w.prog, "calls", "300")
        assert b"does not compare clocks" in r.stderr, r.stderr
        got = [f for f in glob.glob(w.path("trace.*:*.dat")) if os.path.getsize(f)]
        assert len(got) == 1, os.listdir(w.dir)
        assert w.counts(got[0])["leaf"] == 600
    finally:
        p.terminate()
        p.wait()


KERNEL = r"""
mount --bind "$1/one" /proc/sys/kernel/ftrace_enabled
for f in set_ftrace_filter set_ftrace_notrace set_ftrace_pid; do
	for at in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		[ ! -e $at/$f ] || mount --bind "$1/none" $at/$f
	done
done
shift
exec trace-cmd record -e sched:sched_process_exec "$@" -- sh -c '
while [ ! -e go ]; do sleep 0.02; done
for i in 1 2 3 4 5 6 7 8; do ./true8; done'
"""


def senders_wait(pid):
    """Does each of trace-cmd's senders, one for a CPU, wait for its buffer? One that has not begun
    when the command ends sends nothing."""
    def waits(child):
        with contextlib.suppress(OSError):
            return cli_test.state_of(child) == "S" and any(
                os.readlink(f).endswith("/trace_pipe_raw") for f in glob.glob(f"/proc/{child}/fd/*"))
        return False
    return sum(map(waits, cli_test.children_of(pid))) == os.cpu_count()


def test_from_trace_cmd(w):
    """A recording of the kernel's events by trace-cmd: by UDP and TCP, of both versions. Files that
    this kernel refuses are covered for trace-cmd, in a mount namespace of its own."""
    if os.geteuid() or not os.path.exists("/sys/kernel/tracing/events/sched"):
        raise Skip("needs root and the kernel's events")
    for name, text in (("one", "1\n"), ("none", "")):
        with open(w.path(name), "w") as f:
            f.write(text)
    # of a name of its own: the events are of the whole machine
    shutil.copy("/bin/true", w.path("true8"))
    for args in ([], ["-t"], ["-t", "--file-version", "6"]):
        here = Listener(w)
        with cli_test.kernel_alone():
            p = subprocess.Popen(["unshare", "-m", "sh", "-c", KERNEL, "sh", w.dir, "-N", here.where, *args],
                                 cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            until(lambda: senders_wait(p.pid) or p.poll() is not None, "trace-cmd's senders do not wait")
            with open(w.path("go"), "wb"):
                pass
            out = p.communicate(timeout=100)[0]
        assert p.returncode == 0, out
        line = here.line()
        assert "no time synchronization" in line, line
        file = here.files()[0]
        here.end()
        for tool in (["trace-cmd", "report", "-i"], [BIN, "report", "-i"]):
            text = subprocess.run([*tool, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                                  env=w.env).stdout.decode()
            assert text.count("filename=./true8") == 8, (args, tool, line, text[-2000:])
        os.unlink(file)
        os.unlink(w.path("go"))


def namespaces():
    """A holder of a network namespace, two of them, joined by a pair of interfaces."""
    holders = [subprocess.Popen(["unshare", "-n", "cat"], stdin=subprocess.PIPE) for _ in range(2)]

    def at(i, *args):
        p = subprocess.run(["nsenter", "-t", str(holders[i].pid), "-n", *args], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        return p.returncode == 0
    ours = os.readlink("/proc/self/ns/net")
    for h in holders:
        until(lambda: os.readlink(f"/proc/{h.pid}/ns/net") != ours or h.poll() is not None, "no namespace")
    ok = all(h.poll() is None for h in holders) and at(
        0, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(holders[1].pid))
    for i in range(2):
        ok = ok and at(i, "ip", "addr", "add", f"10.99.0.{i + 1}/24", "dev", f"v{i}") and at(
            i, "ip", "link", "set", f"v{i}", "up") and at(i, "ip", "link", "set", "lo", "up")
    return holders, ok


def test_hosts(w):
    """Two hosts whose clocks are far off, in a network of their own: calls that they make in turn
    are in the order in which they were made, at the time at which they were made, within 100 us."""
    if os.geteuid():
        raise Skip("needs root")
    prog = w.compile("steps", STEPS)
    up = time.clock_gettime(time.CLOCK_MONOTONIC)
    offsets = (1000, -1000 if up > 1001 else -int(up / 2))
    holders, ok = namespaces()
    try:
        if not ok:
            raise Skip("no veth, or no network namespaces")
        here = Listener(w, before=["nsenter", "-t", str(holders[0].pid), "-n"], address="10.99.0.1")
        hosts = []
        for i, offset in enumerate(offsets):
            os.mkdir(w.path(f"host{i}"))
            hosts.append(subprocess.Popen(
                ["nsenter", "-t", str(holders[1].pid), "-n", "unshare", "--fork", "-T", "--monotonic",
                 str(offset), "--boottime", str(offset), BIN, "record", "-q", "-N", here.where, prog],
                cwd=w.path(f"host{i}"), env=w.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        for h in hosts:
            assert h.stdout.read(1) == b"+"
        times = []
        for n in range(40):
            h = hosts[n % 2]
            before = time.monotonic_ns()
            h.stdin.write(b".")
            h.stdin.flush()
            assert h.stdout.read(1) == b"+"
            times.append((before, time.monotonic_ns()))
        found = []
        for h in hosts:
            h.stdin.close()
            h.wait(timeout=60)
            assert h.returncode == 0
            found.append(clock(here.line()))
        for (offset, error), is_so in zip(found, offsets):
            assert error <= 100e-6 and abs(offset + is_so) <= 100e-6, (offset, is_so, error)
        out = here.end()
        files = [a for n in re.findall(r"-i (\S+)", out) for a in ("-i", f"{here.dir}/{n}")]
        for tool in ([BIN, "report", "-t"], ["trace-cmd", "report", "-t"]):
            text = subprocess.run([*tool, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                                  env=w.env).stdout.decode()
            got = [
                (int(m.group(1)), int(m.group(2)) * 10**9 + int(m.group(3)))
                for m in re.finditer(r"steps-(\d+)\s.*?(\d+)\.(\d{9}):.*\bleaf\b", text)]
            assert len(got) == 40, text[:2000]
            for i, ((pid, at), (before, after)) in enumerate(zip(got, times)):
                assert before - 100000 <= at <= after + 100000, (tool, i, at, before, after)
                assert pid == got[i % 2][0] and got[0][0] != got[1][0], (tool, i)
    finally:
        for h in holders:
            h.stdin.close()
            h.wait()


class Raw:
    """A sender that is not well-behaved: words and messages as they are asked for."""

    def __init__(self, here):
        self.s = socket.create_connection((here.host, here.port), timeout=30)
        assert self.get(8) == b"tracecmd"

    def get(self, n):
        got = b""
        while len(got) < n:
            more = self.s.recv(n - len(got))
            if not more:
                raise EOFError(got)
            got += more
        return got

    def v3(self, cpus, page=4096, words=(b"tcp",)):
        """The words and TINIT; the ports."""
        self.s.sendall(V3)
        assert self.get(3) == b"V3\0"
        self.s.sendall(MAGIC)
        self.get_ok()
        self.s.sendall(message(1, struct.pack(">III", cpus, page, len(words)), b"".join(w + b"\0" for w in words)))
        size, command, body = struct.unpack(">III", self.get(12))
        assert command == 2
        data = self.get(size - 12)[body:]
        return [int(p) for p in data.split(b"\0")[:-1]]

    def get_ok(self):
        assert self.get(2) == b"OK"

    def close(self):
        self.s.close()


def message(command, body=b"", data=b""):
    return struct.pack(">III", 12 + len(body) + len(data), command, len(body)) + body + data


def parts_of(path, w):
    """A file of version 6: what is before its table of CPUs, and the CPUs' pages."""
    with open(path, "rb") as f:
        data = f.read()
    at = data.rindex(b"flyrecord\0")
    nr = os.cpu_count()
    table = struct.unpack_from("<" + "QQ" * nr, data, at + 10)
    return data[:at], [data[table[2 * i]:table[2 * i] + table[2 * i + 1]] for i in range(nr)]


def small(w):
    w.run("record", "-q", "--no-native", "--file-version", "6", "-b", "64", "-o", "small.dat", w.prog, "calls",
          "3000")
    return parts_of(w.path("small.dat"), w)


def test_cut_anywhere(w):
    """The sender is killed at each byte of what it says, and at many of its pages: what came whole
    is kept."""
    meta, cpus = small(w)
    pages = [len(c) // 4096 for c in cpus]
    assert sum(pages) > 4, pages
    begin = V3 + MAGIC + message(1, struct.pack(">III", len(cpus), 4096, 1), b"tcp\0")
    end = b"".join(message(3, b"", meta[i:i + 8000]) for i in range(0, len(meta), 8000)) + message(4) + message(0)
    kept = 0
    here = Listener(w)

    # words, and the first message: nothing can be kept
    for cut in range(len(begin)):
        r = Raw(here)
        r.s.sendall(begin[:cut])
        r.close()
        assert "no recording" in here.line()
    assert not here.files()
    # behind these: the pages that are there by then, and the file's head
    cuts = {*range(0, len(end), 4999), *range(len(end) - 30, len(end) + 1)}
    for n, cut in enumerate(sorted(cuts)):
        part = n * 1237
        r = Raw(here)
        for port, data in zip(r.v3(len(cpus)), cpus):
            with socket.create_connection((here.host, port)) as s:
                s.sendall(data[:part])
        r.s.sendall(end[:cut])
        r.close()
        line = here.line()
        if cut < len(end) - 12:
            assert "no recording" in line, (cut, len(end), line)
            continue
        kept += 1
        want = sum(min(part, len(c)) // 4096 for c in cpus)
        assert f": {want} pages of" in line, (line, want)
        assert ("it ended early" in line) == (cut < len(end)), (line, cut)
        file = here.files()[0]
        r = w.run("report", file, status=None)
        assert r.returncode == 0 or not want, r.stderr
        os.unlink(file)
    assert kept == 13
    # the last one was whole: it is what was recorded
    part = max(len(c) for c in cpus)
    r = Raw(here)
    for port, data in zip(r.v3(len(cpus)), cpus):
        with socket.create_connection((here.host, port)) as s:
            s.sendall(data)
    r.s.sendall(end)
    r.s.recv(1)
    r.close()
    here.line()
    assert w.counts(here.files()[0]) == w.counts("small.dat")
    here.end()


def unread(port):
    """Bytes in the receive buffers of the UDP sockets at a port."""
    out = 0
    for name in "udp", "udp6":
        with open(f"/proc/net/{name}", encoding="ascii") as f:
            rows = [l.split() for l in f.readlines()[1:]]
        out += sum(int(r[4].split(":")[1], 16) for r in rows if int(r[1].split(":")[1], 16) == port)
    return out


def test_version_1(w):
    """The protocol without messages: words alone, and the file's head until the connection ends."""
    meta, cpus = small(w)
    head = meta[:meta.rindex(b"options  \0") - 4]   # a sender of this version has no options
    for tcp in (True, False):
        here = Listener(w)
        r = Raw(here)
        r.s.sendall(b"%d\0004096\0" % len(cpus) + (b"1\0004\0tcp\0" if tcp else b"0\0"))
        text = b""
        while not text.endswith(b"\0"):
            text += r.get(1)
        ports = [int(p) for p in text[:-1].split(b",")]
        for port, data in zip(ports, cpus):
            with socket.socket(type=socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as s:
                s.connect((here.host, port))
                for i in range(0, len(data), 4096):
                    s.send(data[i:i + 4096])
                    until(lambda port=port: tcp or not unread(port))
        r.s.sendall(head)
        r.s.shutdown(socket.SHUT_WR)
        try:
            r.get(1)
        except EOFError:
            pass
        assert f": {sum(len(c) // 4096 for c in cpus)} pages" in here.line()
        assert w.counts(here.files()[0])["leaf"] == w.counts("small.dat")["leaf"]
        os.unlink(here.files()[0])
        here.end()


def test_hostile(w):
    """Wrong words, lengths and numbers end the sender alone."""
    here = Listener(w, "--max-clients", "4", "--max-size", "1")
    bad = [b"\0", b"GET / HTTP/1.0\r\n\r\n\0", b"x" * 200, b"-1\0", b"0\0004096\0000\0", b"1\0003\0000\0",
           b"99999999999\0004096\0000\0", b"1\0004096\00099\0", b"1\0004096\0001\00099999\0", b"-1V9\0" * 9,
           V3 + b"666666\0\0",
           *[V3 + MAGIC + struct.pack(">III", *t) for t in ((0, 1, 12), (2**31, 1, 12), (8193, 1, 0), (12, 1, 1),
                                                           (2**32 - 1, 1, 2**32 - 1), (20, 1, 9))],
           *[V3 + MAGIC + message(1, struct.pack(">III", *t), b"tcp\0") for t in (
               (0, 4096, 1), (1025, 4096, 1), (2**32 - 1, 4096, 1), (1, 0, 1), (1, 4095, 1), (1, 2**31, 1),
               (1, 4096, 2), (1, 4096, 2**32 - 1))],
           b"-1VESTIGE\0" + message(9, b"ptp"), b"-1VESTIGE\0" + message(9, b"p" * 20),
           b"-1VESTIGE\0" + message(9, b"ptp".ljust(16, b"\0") + struct.pack(">I", 3)),
           b"-1VESTIGE\0" + message(9, b"ptp".ljust(16, b"\0") + struct.pack(">I", 1)) + message(
               9, b"ptp".ljust(16, b"\0") + struct.pack(">I", 2), struct.pack(">I", 77))]
    for data in bad:
        r = Raw(here)
        # the listener may end the connection before all is sent, or before the end of it is said
        try:
            r.s.sendall(data)
            r.s.shutdown(socket.SHUT_WR)
            while r.s.recv(4096):
                pass
        except OSError:
            pass
        r.close()
        line = here.line()
        assert "no recording" in line, (data[:60], line)
    # messages that are too many, of no meaning
    r = Raw(here)
    r.v3(1)
    try:
        for _ in range(100):
            r.s.sendall(message(77))
    except OSError:
        pass
    assert "not understood" in here.line()
    r.close()
    # a file that is none; a head beyond the quota
    for data, why in ((b"x" * 5000, "no trace.dat"), (b"", "no trace.dat")):
        r = Raw(here)
        r.v3(1)
        r.s.sendall((message(3, b"", data) if data else b"") + message(4) + message(0))
        assert why in here.line()
        r.close()
    r = Raw(here)
    ports = r.v3(1)
    try:
        with socket.create_connection((here.host, ports[0])) as s:
            for _ in range(64):
                s.sendall(b"\0" * 65536)
    except OSError:
        pass
    assert "--max-size" in here.line()
    r.close()
    # one that says nothing, and more of them than are allowed; those before are gone when their
    # processes are
    until(lambda: not children_of(here.p.pid))
    silent = [Raw(here) for _ in range(4)]
    more = socket.create_connection((here.host, here.port))
    assert more.recv(10) == b"" and "--max-clients" in here.line()
    for _ in silent:
        assert "it is silent" in here.line()
    assert not here.files()
    # it still works
    w.run("record", "-q", "-N", here.where, w.prog)
    assert "pages of" in here.line()
    here.end()


def test_recordings(w):
    """--recordings counts recordings, not connections that brought none."""
    here = Listener(w, "--recordings", "1")
    r = Raw(here)
    r.s.sendall(b"GET / HTTP/1.0\r\n\r\n\0")
    r.s.shutdown(socket.SHUT_WR)
    assert "no recording" in here.line()
    assert here.p.poll() is None
    w.run("record", "-q", "-N", here.where, w.prog)
    assert "pages of" in here.line()
    assert here.p.wait(60) == 0 and len(here.files()) == 1
    here.p.communicate()


def test_stopped(w):
    """Ctrl-C of the listener while a sender sends: what it has sent is kept."""
    meta, cpus = small(w)
    for sig in (signal.SIGINT, signal.SIGTERM):
        here = Listener(w)
        r = Raw(here)
        ports = r.v3(len(cpus))
        socks = [socket.create_connection((here.host, p)) for p in ports]
        for s, data in zip(socks, cpus):
            s.sendall(data)
        r.s.sendall(b"".join(message(3, b"", meta[i:i + 8000]) for i in range(0, len(meta), 8000)) + message(4))
        for s in socks:
            s.shutdown(socket.SHUT_WR)
            assert s.recv(1) == b""   # all of it was read
        out = here.end(sig)
        assert "the listener was stopped" in out, out
        assert w.counts(here.files()[0])["leaf"] == w.counts("small.dat")["leaf"]
        os.unlink(here.files()[0])


def test_errors(w):
    here = Listener(w)
    p = w.run("listen", "-p", here.port, status=1)
    assert b"cannot listen at 127.0.0.1:" in p.stderr and b"in use" in p.stderr, p.stderr
    here.end()
    w.run("listen", status=2)
    for args, why in ((["-p", "x"], b"not a port"), (["-p", "65536"], b"not a port"),
                      (["-p", "0", "-o", "../x"], b"not the beginning of a file's name"),
                      (["-p", "0", "-D"], b"-l")):
        p = w.run("listen", *args, status=2)
        assert why in p.stderr, p.stderr
    p = w.run("listen", "-p", "0", "-d", "nowhere", status=1)
    assert b"No such file" in p.stderr
    # nothing listens: the program does not run
    p = w.run("record", "-N", here.where, "sh", "-c", "echo ran", status=125)
    assert b"cannot connect to" in p.stderr and b"ran" not in p.stdout, p.stderr
    for where, why in (("nowhere", b"HOST:PORT"), (":1", b"HOST:PORT"), ("127.0.0.1:", b"HOST:PORT")):
        assert why in w.run("record", "-N", where, w.prog, status=125).stderr
    for args in (["-k", "-e", "sched"], ["--native"], ["--file-version", "7"]):
        assert b"leave out" in w.run("record", "-N", here.where, *args, w.prog, status=125).stderr
    # a server of something else
    with socket.create_server(("127.0.0.1", 0)) as s:
        def answer():
            c = s.accept()[0]
            c.sendall(b"SSH-2.0-x\r\n")
            c.close()
        t = threading.Thread(target=answer)
        t.start()
        p = w.run("record", "-N", f"127.0.0.1:{s.getsockname()[1]}", w.prog, status=125)
        t.join()
        assert b"no listener of trace-cmd's protocol" in p.stderr, p.stderr


def test_listener_gone(w):
    """The listener ends while the program runs: the recording stays here."""
    here = Listener(w)
    p = subprocess.Popen([BIN, "record", "-N", here.where, "-o", "mine.dat", w.prog, "cat"], cwd=w.dir, env=w.env,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdin.write(b"abc" * 5000)
    p.stdin.flush()
    p.stdout.read(4096)
    here.end()
    out, err = p.communicate(timeout=60)
    assert p.returncode == 125 and b"stays here, in mine.dat" in err, err
    assert w.counts("mine.dat")["leaf"] == 15000


def small_disk(w, size):
    """A listener whose folder is a disk of its own; its files are seen at the path that comes with
    it."""
    os.makedirs(w.path("in"), exist_ok=True)
    here = Listener(w, before=["unshare", "-m", "sh", "-c",
                               f"mount -t tmpfs -o size={size} none {w.path('in')} && exec \"$@\"", "sh"])
    return here, f"/proc/{here.p.pid}/root{w.path('in')}"


def stamps(w, file):
    text = w.run("report", "-t", file).stdout.decode()
    return [l.split(":")[0].split()[-1] for l in text.splitlines() if re.search(r"function: +leaf", l)]


def test_full_disk(w):
    """What has come before the disk was full is kept, the reason is in the line, and the sender
    keeps all of it."""
    if os.geteuid():
        raise Skip("needs root")
    here, files = small_disk(w, "1m")
    for args in ([], ["--file-version", "6"]):
        p = w.run("record", "-N", here.where, *args, "-o", "mine.dat", w.prog, "calls", "100000", status=125)
        assert b"the recording stays here" in p.stderr, p.stderr
        line = here.line()
        assert "No space left" in line and "no recording" not in line, line
        name = line.split(": ")[0]
        pages = int(re.search(r": (\d+) pages of", line)[1])
        # the disk has 256, of which the head needs some 150 for a moment
        assert pages > 50, line
        with open(f"{files}/{name}", "rb") as f, open(w.path("kept.dat"), "wb") as to:
            to.write(f.read())
        os.unlink(f"{files}/{name}")
        offset, _ = clock(line)
        kept, mine = stamps(w, "kept.dat"), stamps(w, "mine.dat")
        assert 5000 < len(kept) < len(mine) == 200000, (len(kept), len(mine))
        text = subprocess.run(["trace-cmd", "report", w.path("kept.dat")], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True).stdout
        assert len(re.findall(rb"\bleaf\b", text)) >= len(kept), len(kept)
    # no room for a head
    here.end()
    here, _ = small_disk(w, "16k")
    p = w.run("record", "-N", here.where, w.prog, "calls", "100000", status=125)
    assert b"the recording stays here" in p.stderr, p.stderr
    line = here.line()
    assert "no recording: " in line and "No space left" in line, line
    here.end()


def test_head_last(w):
    """On a full disk, and beyond a quota, the head that comes last still makes a file of the pages
    before it."""
    if os.geteuid():
        raise Skip("needs root")
    meta, cpus = small(w)
    data = max(cpus, key=len)
    nr = 3 * 1048576 // len(data)
    whole, files = small_disk(w, "1m")
    quota = Listener(w, "--max-size", "1")
    for here, where, why in ((whole, files, "No space left"), (quota, quota.dir, "--max-size")):
        r = Raw(here)
        ports = r.v3(len(cpus))
        with socket.create_connection((here.host, ports[0])) as s:
            s.sendall(data * nr if here is whole else (data * nr)[:1536 * 1024])
        for port in ports[1:]:
            socket.create_connection((here.host, port)).close()
        if here is whole:
            r.s.sendall(message(3, b"", meta[:8000]))
        parts = [meta[i:i + 8000] for i in range(8000 if here is whole else 0, len(meta), 8000)]
        r.s.sendall(b"".join(message(3, b"", p) for p in parts) + message(4) + message(0))
        line = here.line()
        assert why in line and "no recording" not in line, line
        assert int(re.search(r": (\d+) pages of", line)[1]) > 50, line
        r.close()
        with open(f"{where}/{line.split(': ')[0]}", "rb") as f:
            assert f.read(3) == b"\x17\x08\x44"
        here.end()


if __name__ == "__main__":
    cli_test.main(globals())
