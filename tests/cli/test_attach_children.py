#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach --children: children that a process has and makes are attached to, and a process that
executes another program is attached to again."""
import os
import re
import select
import signal
import subprocess

from cli_test import BIN, Beside, children_of, main, until
from test_attach import has_engine
from test_attach_refusals import VFORKS

# Works until a line comes on stdin, and says what came of it.
WORKS = r"""
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long work(long n)
{
	volatile double x = (double)n;

	for (int i = 0; i < 1000; i++)
		x = x * 1.0000001 + i;
	return (long)x;
}
int main(void)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	long n = 0, sum = 0, again = 0;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (; !poll(&p, 1, 0); n++)
		sum += work(n);
	for (long i = 0; i < n; i++)
		again += work(i);
	return printf("right %d\n", sum == again) != 8;
}
"""
# Makes a child as it is asked to, which executes a program.
MAKES = r"""
import os, sys
for line in sys.stdin:
    how, *words = line.split()
    if how == 'fork':
        if not os.fork():
            os.dup2(os.open(words[0], os.O_RDWR), 0)
            os.execv(words[1], words[1:])
    elif how == 'spawn':
        os.posix_spawn(words[1], words[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 0, words[0], os.O_RDWR, 0)])
    elif how == 'wait':
        print('child', os.wait()[1], flush=True)
    elif how == 'exec':
        os.execv(words[0], words)
"""


class Follower(Beside):
    """`vestige attach --children`, and the lines that it has printed."""

    def __init__(self, w, *words):
        self.said = w.path("said")
        with open(self.said, "w", encoding="utf-8") as f:
            super().__init__(w, BIN, "attach", "--children", *words, stdin=None, stdout=None, stderr=f)

    def lines(self):
        with open(self.said, encoding="utf-8") as f:
            return f.read()

    def says(self, pattern):
        def there():
            assert self.p.poll() is None or re.search(pattern, self.lines()), self.lines()
            return re.search(pattern, self.lines())
        try:
            return until(there)
        except AssertionError as e:
            raise AssertionError(f"{pattern} is not in: {self.lines()}") from e


class Maker(Beside):
    def __init__(self, w):
        self.w, self.fifos, self.ends = w, [], []
        super().__init__(w, "/usr/bin/python3", "-c", MAKES, stderr=subprocess.STDOUT, text=True)

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.kill()
        for fd in self.fifos:
            os.write(fd, b"\n")
        super().__exit__()
        for fd in self.fifos:
            os.close(fd)
        # the end of their output is not yet their own, after which `clean` removes their areas
        for fd in self.ends:
            assert select.select([fd], [], [], 120)[0], "a child does not end"
            os.close(fd)

    def ask(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()

    def child(self, how, program):
        """Return: its number, and where it has its stdin from."""
        path = self.w.path(f"fifo{len(self.fifos)}")
        os.mkfifo(path)
        self.fifos.append(os.open(path, os.O_RDWR))
        self.ask(f"{how} {path} {program}")
        pid = int(re.fullmatch(r"ready (\d+)\n", self.p.stdout.readline())[1])
        self.ends.append(os.pidfd_open(pid))
        return pid, self.fifos[-1]


def traced(w, pid):
    assert w.run("start", "-P", pid, "-l", "work").stderr == b""
    until(lambda: b": work <-main" in w.run("show", "-P", pid).stdout)


def test_children(w):
    """Of fork() and of posix_spawn(), one that was there before, and the process itself: each is
    traced once it has executed the program, and says what it says without."""
    program = w.compile("works", WORKS, "-O2")
    with Maker(w) as m:
        first = m.child("fork", program)
        with Follower(w, m.pid) as f:
            f.says(rf"vestige: the engine is in process {m.pid}: vestige start -P {m.pid} traces it\n"
                   r"vestige: following it and its children: Ctrl-C ends that, the engines stay\n")
            children = [first, m.child("fork", program), m.child("spawn", program)]
            for pid, fifo in children:
                f.says(rf"process {pid} \(works\), a child of process {m.pid}\n")
                traced(w, pid)
                os.write(fifo, b"\n")
                assert m.p.stdout.readline() == "right 1\n"
                m.ask("wait")
                assert m.p.stdout.readline() == "child 0\n"
            m.ask(f"exec {program}")
            assert m.p.stdout.readline() == f"ready {m.pid}\n"
            f.says(rf"process {m.pid} executes another program \(works\): the engine is in it again\n")
            traced(w, m.pid)
            assert m.p.communicate("\n", timeout=60)[0] == "right 1\n" and m.p.returncode == 0
            assert f.p.wait(60) == 0, f.lines()
            assert f.lines().endswith("vestige: the process and its children have ended\n"), f.lines()
    w.run("clean")


def test_ended_by_signal(w):
    """Ctrl-C ends the tool. Processes go on, with the engine."""
    program = w.compile("works", WORKS, "-O2")
    with Maker(w) as m:
        with Follower(w, "-q", m.pid) as f:
            until(lambda: has_engine(m.pid))
            pid, fifo = m.child("spawn", program)
            until(lambda: has_engine(pid))
            f.p.send_signal(signal.SIGINT)
            assert (f.p.wait(60), f.lines()) == (0, ""), (f.p.returncode, f.lines())
        traced(w, pid)
        os.write(fifo, b"\n")
        assert m.p.stdout.readline() == "right 1\n"
        assert m.p.communicate("", timeout=60)[0] == "" and m.p.returncode == 0
    w.run("clean")


def test_refused(w):
    """A child that is a static program is named, once, and the others are attached to all the
    same."""
    static = w.compile("static", WORKS, "-O2", "-static")
    program = w.compile("works", WORKS, "-O2")
    with Maker(w) as m:
        with Follower(w, m.pid) as f:
            f.says("following it")
            pid, fifo = m.child("spawn", static)
            f.says(rf"the program of process {pid} is static, nothing can be loaded into it: link libvestige.a into it: ")
            other, other_fifo = m.child("spawn", program)
            f.says(rf"process {other} \(works\), a child of")
            for to in fifo, other_fifo:
                os.write(to, b"\n")
                assert m.p.stdout.readline() == "right 1\n"
            m.p.communicate("", timeout=60)
            assert f.p.wait(60) == 1 and f.lines().count("is static") == 1, f.lines()
        assert b"there is no process 4194303" in w.run("attach", "--children", 4194303, status=1).stderr
    w.run("clean")


def waits_in_vfork(maker):
    return any(children_of(c) for c in children_of(maker))


def test_vfork(w):
    """A child that waits in vfork() cannot be attached to, and goes on when its own child ends:
    nothing of the tool, which lives, holds it. The child of vfork() is refused by name."""
    program = w.compile("vforks", VFORKS)
    with Maker(w) as m:
        os.mkfifo(w.path("line"))
        m.fifos.append(os.open(w.path("line"), os.O_RDWR))
        m.ask(f"spawn {w.path('line')} {program}")
        assert m.p.stdout.readline() == "ready\n"
        # it waits before the tool comes: amid its first calls it could be attached to
        until(lambda: waits_in_vfork(m.pid))
        with Follower(w, "--wait", 1, m.pid) as f:
            f.says("following it")
            pid = int(f.says(r"no thread of process (\d+) came to a point ")[1])
            child, = children_of(pid)
            said = w.run("attach", child, status=1).stderr.decode()
            assert said == (f"vestige: process {child} shares the memory of its parent, process {pid} (vfork()): try again when it "
                            "has executed a program: Resource temporarily unavailable\n"), said
            os.write(m.fifos[0], b"\n")
            assert m.p.stdout.readline() == "read 1\n"
            assert m.p.communicate("", timeout=60)[0] == "" and f.p.wait(60) == 1, f.lines()
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
