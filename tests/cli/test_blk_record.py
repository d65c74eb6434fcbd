#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige blk record on a loop device: stock tools read its files; counts, masks and a pipe work;
the kernel's settings are as before; requests are found in the files and functions of a program."""
import json
import os
import re
import shutil
import signal
import subprocess

from cli_test import BIN, Skip, kernel_alone, main, need, root, spinning, until

TRACING = "/sys/kernel/tracing/"
FILES = ("current_tracer", "buffer_size_kb", "trace_clock", "tracing_on", "options/bin", "options/context-info", "options/overwrite")
ENV = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}


def read(path):
    with open(path) as f:
        return f.read().strip()


def settings():
    # a buffer that was never used shows `7 (expanded: 1408)`, and its size afterwards
    return [re.sub(r"^\d+ \(expanded: (\d+)\)$", r"\1", read(TRACING + f)) for f in FILES]


class Loop:
    def __init__(self, w):
        root()
        for program in ("losetup", "dd"):
            need(program)
        if not os.path.exists(TRACING + "available_tracers") or "blk" not in read(TRACING + "available_tracers").split():
            raise Skip("the kernel has no blk tracer")
        self.file = f"{w.dir}/disk"
        with open(self.file, "wb") as f:
            f.truncate(4 << 20)

    def __enter__(self):
        p = subprocess.run(["losetup", "-f", "--show", self.file], capture_output=True, text=True)
        if p.returncode:
            raise Skip("no loop device")
        self.dev = p.stdout.strip()
        self.name = self.dev.split("/")[-1]
        until(lambda: read(TRACING + "current_tracer") == "nop")
        self.before = settings()
        return self

    def __exit__(self, *_):
        subprocess.run(["losetup", "-d", self.dev], check=True)

    def enabled(self):
        return read(f"/sys/class/block/{self.name}/trace/enable") == "1"

    def write(self, how="write", n=20):
        end = [f"of={self.dev}", "if=/dev/zero", "oflag=direct"] if how == "write" else [f"if={self.dev}", "of=/dev/null", "iflag=direct"]
        subprocess.run(["dd", *end, "bs=4k", f"count={n}"], check=True, stderr=subprocess.DEVNULL)

    def start(self, w, *args, **kw):
        # as /dev/mapper/NAME: a link to the device
        if not os.path.lexists(f"{w.dir}/link"):
            os.symlink(self.dev, f"{w.dir}/link")
        p = subprocess.Popen([BIN, "blk", "record", *args, "./link"], cwd=w.dir, env=ENV, stderr=subprocess.PIPE, text=True, **kw)
        until(lambda: self.enabled() and read(TRACING + "tracing_on") == "1" or p.poll() is not None)
        assert p.poll() is None, p.stderr.read()
        return p

    def end(self, p, sig=signal.SIGINT):
        p.send_signal(sig)
        err = p.communicate(timeout=100)[1]
        assert p.returncode == 0, (p.returncode, err)
        assert settings() == self.before and not self.enabled() and not os.path.exists("/run/vestige-blk"), settings()
        return err


def tool(w, *args):
    return subprocess.run(args, cwd=w.dir, env=ENV, capture_output=True, text=True, timeout=100)


@kernel_alone()
def test_files_as_blktrace(w):
    with Loop(w) as loop:
        p = loop.start(w)
        loop.write(n=30)
        loop.write("read", n=10)
        err = loop.end(p)
        lines = tool(w, BIN, "blk", "parse", "-q", loop.name).stdout
        n = [len(re.findall(rf" {act} +{rw}", lines)) for act, rw in (("Q", "WS "), ("C", "WS "), ("Q", "RS? "), ("C", "RS? "))]
        assert n == [30, 30, 10, 10], (n, lines)
        assert "[dd]" in lines and "(null)" not in lines, lines
        events = int(re.search(r"Total: +(\d+) events \(dropped 0\)", err)[1])
        assert events == lines.count(f"\n{lines[:6]}") + 1, (events, err)
        need("blkparse")
        stock = tool(w, "blkparse", "-s", "-i", loop.name)
        ours = tool(w, BIN, "blk", "parse", "-s", loop.name)
        assert stock.stdout + stock.stderr == ours.stdout, (stock, ours)
        assert tool(w, "blkparse", "-O", "-d", "all.bin", "-i", loop.name).returncode == 0
        btt = tool(w, "btt", "-A", "-i", "all.bin").stdout
        assert btt == tool(w, BIN, "blk", "times", "-A", loop.name).stdout and "Q2C" in btt, btt
        verify = tool(w, "blkrawverify", loop.name)
        assert verify.returncode == 0, verify
        text = read(f"{w.dir}/{loop.name}.verify.out")
        assert sum(map(int, re.findall(r"(\d+) valid", text))) == events and not re.search(r" [1-9]\d* invalid", text), text


@kernel_alone()
def test_masks_and_pipe(w):
    with Loop(w) as loop:
        p = loop.start(w, "-q", "-a", "complete", "-o", "-", stdout=open(f"{w.dir}/pipe", "wb"))
        loop.write(n=5)
        assert loop.end(p, signal.SIGTERM) == ""
        with open(f"{w.dir}/pipe") as f:
            lines = subprocess.run([BIN, "blk", "parse", "-q", "-"], stdin=f, capture_output=True, text=True, timeout=60).stdout
        assert set(re.findall(r" \d+ +\d+\.\d+ +\d+ +([A-Z]+) ", lines)) == {"C"} and len(lines.splitlines()) == 5, lines
        p = loop.start(w, "-q", "-a", "read", "-o", "reads", "-D", "folder")  # which it makes
        loop.write(n=5)
        loop.write("read", n=3)
        loop.end(p)
        lines = tool(w, BIN, "blk", "parse", "-q", "-D", "folder", "reads").stdout
        assert len(re.findall(r" C +R", lines)) == 3 and not re.search(r" [QDC] +W", lines), lines


@kernel_alone()
def test_drops_are_counted(w):
    """Records that do not fit in the buffer of a stopped recorder are counted as drops."""
    with Loop(w) as loop:
        p = loop.start(w, "-b", "8", "-n", "1")
        p.send_signal(signal.SIGSTOP)
        for _ in range(4):
            loop.write(n=900)
        p.send_signal(signal.SIGCONT)
        err = loop.end(p)
        got, lost = map(int, re.search(r"Total: +(\d+) events \(dropped (\d+)\)", err).groups())
        assert lost > 0 and got + lost >= 4 * 900 * 4, err


def stacks(lines):
    """Each issue's sector with the message behind it."""
    return [(int(sector), stack.split(" <- "))
            for sector, stack in re.findall(r" D +[A-Z]+ (\d+) \+ \d+ \[.*\]\n.* m +N stack: (.*)\n", lines)]


@kernel_alone()
def test_stacks(w):
    """Behind each issue its stack: of the program's own system call, where it waits for the I/O."""
    with Loop(w) as loop:
        if not os.path.exists(TRACING + "events/block/block_rq_issue"):
            raise Skip("the kernel has no block events")
        p = loop.start(w, "--stack")
        assert os.path.exists(TRACING + "instances/vestige-blk")
        loop.write(n=10)
        loop.write("read", n=5)
        err = loop.end(p)
        assert "no stack" not in err and not os.path.exists(TRACING + "instances/vestige-blk"), err
        lines = tool(w, BIN, "blk", "parse", "-q", loop.name).stdout
        got = stacks(lines)
        assert [sector for sector, _ in got] == [8 * i for i in (*range(10), *range(5))], (got, lines)
        assert len(got) == len(re.findall(r" D +[A-Z]+ \d+ \+", lines)), lines
        for i, (_, stack) in enumerate(got):
            assert ("ksys_write" if i < 10 else "ksys_read") in stack and stack[0].startswith("blk_mq_"), stack
            assert stack[-1].startswith("entry_SYSCALL") or os.uname().machine != "x86_64", stack
        assert "stack:" not in tool(w, BIN, "blk", "parse", "-q", "-a", "complete", loop.name).stdout
        if shutil.which("blkparse"):
            assert tool(w, "blkparse", "-q", "-i", loop.name).stdout == lines
        if shutil.which("blkrawverify"):
            assert tool(w, "blkrawverify", loop.name).returncode == 0


@kernel_alone()
def test_stacks_without_room(w):
    """Issues whose stacks had no room are counted, and have none."""
    with Loop(w) as loop:
        if not os.path.exists(TRACING + "events/block/block_rq_issue"):
            raise Skip("the kernel has no block events")
        p = loop.start(w, "--stack", "-a", "issue", "-b", "8", "-n", "1")
        p.send_signal(signal.SIGSTOP)
        for _ in range(2):
            loop.write(n=60)
        p.send_signal(signal.SIGCONT)
        err = loop.end(p)
        lines = tool(w, BIN, "blk", "parse", "-q", loop.name).stdout
        missing = int((re.search(r"(\d+) issues have no stack", err) or [0, 0])[1])
        assert missing and missing + len(stacks(lines)) == len(re.findall(r" D +[A-Z]+ \d+ \+", lines)), (err, lines)


@kernel_alone()
def test_busy_and_killed(w):
    with Loop(w) as loop:
        for _ in range(20):
            p = loop.start(w, "-q", *["--stack"] * os.path.exists(TRACING + "events/block/block_rq_issue"))
            second = tool(w, BIN, "blk", "record", "-w", "1", loop.dev)
            assert second.returncode == 1 and "another vestige blk record" in second.stderr, second
            p.kill()
            p.communicate()
            left = read(TRACING + "current_tracer") == "blk" and loop.enabled()
            said = tool(w, BIN, "clean", "-n").stdout
            left = left and loop.enabled()
            assert tool(w, BIN, "clean").returncode == 0
            until(lambda: settings() == loop.before and not loop.enabled() and not os.path.exists(TRACING + "instances/vestige-blk"), settings)
            if left and f"would restore {TRACING}current_tracer" in said:
                break  # not by `vestige clean` of a test that runs at the same time
        else:
            raise AssertionError((left, said))
        with open(f"/sys/class/block/{loop.name}/trace/enable", "w") as f:
            f.write("1")
        try:
            busy = tool(w, BIN, "blk", "record", "-w", "1", loop.dev)
            assert busy.returncode == 1 and "is traced already" in busy.stderr, busy
        finally:
            with open(f"/sys/class/block/{loop.name}/trace/enable", "w") as f:
                f.write("0")
        assert settings() == loop.before


# Counts by its own knowledge: 20 * 4096 bytes written, 10 * 8192 read, 16 * 4096 in fsync(), 8 *
# 4096 left.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *buf;
__attribute__((noinline)) int put_blocks(int fd) {
	int ok = 1;
	for (int i = 0; i < 20; i++) ok &= pwrite(fd, buf, 4096, (1 << 20) + i * 4096) == 4096;
	return ok;
}
__attribute__((noinline)) int get_blocks(int fd) {
	int ok = 1;
	for (int i = 0; i < 10; i++) ok &= pread(fd, buf, 8192, (2 << 20) + i * 8192) == 8192;
	return ok;
}
__attribute__((noinline)) int keep_pages(int fd) {
	int ok = 1;
	for (int i = 0; i < 16; i++) ok &= pwrite(fd, buf, 4096, i * 4096) == 4096;
	return ok & !fsync(fd);
}
__attribute__((noinline)) int leave_pages(int fd) {
	int ok = 1;
	for (int i = 0; i < 8; i++) ok &= pwrite(fd, buf, 4096, (2 << 20) + i * 4096) == 4096;
	return ok;
}
int main(int argc, char **argv) {
	int direct = open(argv[1], O_RDWR | O_DIRECT), cached = open(argv[2], O_RDWR);
	if (posix_memalign((void **)&buf, 4096, 8192)) return 1;
	memset(buf, 7, 8192);
	return direct < 0 || cached < 0 || !(put_blocks(direct) & get_blocks(direct) & keep_pages(cached) & leave_pages(cached));
}
"""
SECTOR = 512


def moved(loop):
    """Bytes read and written, as the kernel counts them."""
    n = read(f"/sys/class/block/{loop.name}/stat").split()
    return int(n[2]) * SECTOR, int(n[6]) * SECTOR


@kernel_alone()
def test_program(w):
    """The requests of a program, by file, system call and function: as it counts them, and as the
    kernel does."""
    prog = w.compile("io", PROGRAM)
    with Loop(w) as loop:
        with open(f"{w.dir}/disk2", "wb") as f:
            f.truncate(4 << 20)
        loop2 = Loop.__new__(Loop)
        loop2.file = f"{w.dir}/disk2"
        with loop2, open(loop2.dev, "rb"):  # it stays open: close() of the program does not write
            p = loop.start(w, loop2.dev)
            before = moved(loop), moved(loop2)
            done = w.run("record", "-q", "-p", "function_graph", "-e", "syscalls", "-e", "files:descriptor", "--", prog, loop.dev, loop2.dev)
            os.sync()
            until(lambda: moved(loop2)[1] - before[1][1] == 24 * 4096)
            loop.end(p)
            after = moved(loop), moved(loop2)
        names = [loop.name, loop2.name]
        text = w.run("blk", "times", "--trace", "trace.dat", *names).stdout.decode()
        got = json.loads(w.run("blk", "times", "--json", "--trace", "trace.dat", *names).stdout)["program"]
        assert not done.stderr, done

        def row(table, name):
            found = [r for r in got[table] if r["name"] == name]
            assert len(found) == 1, (name, got[table])
            return found[0]

        def numbers(r):
            return r["reads"], r["read_bytes"], r["writes"], r["write_bytes"]

        direct, cached = row("files", loop.dev), row("files", loop2.dev)
        assert numbers(direct) == (10, 81920, 20, 81920) and direct["complete"] == 30, direct
        assert (cached["read_bytes"], cached["write_bytes"]) == (0, 65536) and cached["writes"], cached
        assert numbers(row("functions", "put_blocks")) == (0, 0, 20, 81920), got
        assert numbers(row("functions", "get_blocks")) == (10, 81920, 0, 0), got
        assert row("functions", "keep_pages")["write_bytes"] == 65536 and not [r for r in got["functions"] if r["name"] == "leave_pages"], got
        assert row("calls", "fsync")["write_bytes"] == 65536 and numbers(row("calls", "pwrite64")) == (0, 0, 20, 81920), got
        # what was left in the page cache is of no call
        assert all(not r["in_call"] for r in got["files"] if not r["name"] and r["of"] != "program"), got
        kernel = [sum(after[d][i] - before[d][i] for d in (0, 1)) for i in (0, 1)]
        for table in ("files", "calls", "functions"):
            assert [sum(r[k] for r in got[table]) for k in ("read_bytes", "write_bytes")] == kernel, (table, got, kernel)
        assert sum(r["write_bytes"] for r in got["files"] if r["of"] != "program") == 8 * 4096, got
        assert f"  {loop.dev}\n" in text.partition("I/O by File")[2].partition("=====")[2], text
        assert re.search(r"^ +0 +0\.0 +20 +80\.0 +\d\.\d+ +\d\.\d+  put_blocks$", text, re.M), text
        assert w.run("blk", "times", *names).stdout.decode() == text.partition("\n==================== I/O by File")[0]
        with spinning(w):
            w.run("set", "trace_clock", "counter")
            area = [a for a in os.listdir(w.areas) if re.fullmatch(r"\d+\.\d+", a)][0]
            said = w.run("blk", "times", "--trace", f"{w.areas}/{area}", *names, status=1).stderr
        assert b"clock 'counter'" in said, said
        w.run("record", "-q", "-o", "later.dat", "--", "/bin/true")
        later = w.run("blk", "times", "--trace", "later.dat", *names)
        assert b"no time in common" in later.stderr and b"(other processes)" in later.stdout, later


def test_errors(w):
    for args, said in (([], "name devices"), (["-w", "x", "a"], "not a time"), (["-a", "wirte", "a"], "not an action"),
                       (["-o", "x", "a", "b"], "its own files")):
        p = tool(w, BIN, "blk", "record", *args)
        assert p.returncode == 2 and said in p.stderr, p
    p = tool(w, BIN, "blk", "record", "/dev/null")
    assert p.returncode == 1 and "no block device" in p.stderr, p


main(globals())
