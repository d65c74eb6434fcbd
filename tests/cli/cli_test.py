# SPDX-License-Identifier: MIT
"""Shared by the tests of the command line: a temporary folder for each test, programs to trace,
the vestige program. Every function that starts with `test_` in the test's file is run."""
import contextlib
import csv
import fcntl
import io
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.environ["SOURCE_DIR"] + "/tests")
from compiled import compiled, nm   # noqa: E402, F401
from until import joined, until   # noqa: E402, F401

BIN = os.environ["VESTIGE_BIN"]
LIBRARY = os.environ["BUILD_DIR"] + "/libvestige.so"
FLAG = "-fpatchable-function-entry=6"

CALLS = r"""
#define _GNU_SOURCE
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
volatile long sum;
#define FN __attribute__((noipa))
FN void first(void) { sum++; }
FN void last(void) { sum++; }
FN void leaf(int i) { sum += i; }
FN void mid(int i) { leaf(i); leaf(i + 1); }
FN void *thread(void *a) { pthread_setname_np(pthread_self(), a); for (int i = 0; i < 100; i++) leaf(i); return NULL; }
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;
	first();
	if (!strcmp(what, "calls"))
		for (int i = 0; i < n; i++) mid(i);
	if (!strcmp(what, "exit")) return n;
	if (!strcmp(what, "die")) raise(n);
	if (!strcmp(what, "cat")) for (int c; (c = getchar()) != EOF;) { leaf(c); putchar(c); }
	if (!strcmp(what, "spin")) for (;; puts("ready"), fflush(stdout)) for (int i = 0; i < 100; i++) { mid(1); usleep(500); }
	if (!strcmp(what, "exec")) execv(argv[2], argv + 2);
	if (!strcmp(what, "agentless")) { /* once the agent of this image has its socket */
		char path[4096];
		glob_t found;
		snprintf(path, sizeof(path), "%s/%d.*.sock", getenv("VESTIGE_DIR"), getpid());
		while (glob(path, 0, NULL, &found)) usleep(1000);
		setenv("VESTIGE_AGENT", "0", 1);
		execl(argv[2], argv[2], "spin", NULL);
	}
	if (!strcmp(what, "fork")) for (int i = 0; i < n; i++) if (!fork()) { mid(i); _exit(0); } else wait(NULL);
	if (!strcmp(what, "threads")) {
		pthread_t t[2];
		pthread_create(&t[0], NULL, thread, "alpha");
		pthread_create(&t[1], NULL, thread, "beta");
		pthread_join(t[0], NULL);
		pthread_join(t[1], NULL);
	}
	last();
	return 0;
}
"""


class Skip(Exception):
    pass


class World:
    """A folder, the areas' folder, and compiled programs."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="vestige-test-")
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else self.dir
        self.areas = tempfile.mkdtemp(prefix="vestige-test-areas-", dir=shm)
        self.env = dict(os.environ, VESTIGE_DIR=self.areas)
        for name in ("LD_PRELOAD", "VESTIGE_BOOT", "VESTIGE_SESSION", "VESTIGE"):
            self.env.pop(name, None)
        self.prog = self.compile("calls", CALLS)

    def path(self, name):
        return os.path.join(self.dir, name)

    def compile(self, name, text, *flags):
        with open(self.path(name + ".c"), "w") as f:
            f.write(text)
        if not any(f.startswith("-fpatchable") for f in flags):
            flags = (FLAG, *flags)
        compiled(["cc", "-O1", name + ".c", *flags, "-lpthread"], name, cwd=self.dir)
        return self.path(name)

    def run(self, *args, status=0, env=None, **more):
        """Run vestige and check its exit status. Return: its output."""
        p = subprocess.run([BIN, *map(str, args)], cwd=self.dir, env=dict(self.env, **(env or {})),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, **more)
        assert status is None or p.returncode == status, \
            f"{args}: status {p.returncode}, not {status}\n{p.stdout[-2000:]}\n{p.stderr.decode()[-2000:]}"
        return p

    def rows(self, name, *flags):
        """What `convert --to csv` writes of a recording: a dict for each row."""
        text = self.run("convert", "-q", "--to", "csv", *flags, name, "-").stdout.decode()
        return list(csv.DictReader(io.StringIO(text)))

    def counts(self, name="trace.dat"):
        """Calls by function, by trace-cmd."""
        p = subprocess.run(["trace-cmd", "report", name], cwd=self.dir, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=True)
        out = {}
        for m in re.finditer(r"(?:function: +|funcgraph_entry: [^|\n]*\| +)([^\s(]+)", p.stdout.decode()):
            out[m.group(1)] = out.get(m.group(1), 0) + 1
        return out

    def nothing_left(self):
        assert os.listdir(self.areas) == [], os.listdir(self.areas)
        left = [n for n in os.listdir(self.dir) if ".spool" in n or n.endswith(".tmp")]
        assert left == [], left

    def stats(self, err, field):
        return sum(int(v) for v in re.findall(rf"^{field}: (\d+)$", err.decode(), re.M))

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(self.areas, ignore_errors=True)


def main(tests):
    """Run all tests and print each result. Return: 0, 1, or 77 if all were skipped."""
    failed = passed = skipped = 0
    for name, test in list(tests.items()):
        if not name.startswith("test_"):
            continue
        w = World()
        begun, cpu = time.monotonic(), os.times()
        try:
            test(w)
            w.nothing_left()
            passed += 1
            spent = sum(b - a for a, b in zip(cpu[:4], os.times()[:4]))
            print(f"ok   {name}  ({time.monotonic() - begun:.1f} s, CPU {spent:.1f} s)")
        except Skip as why:
            skipped += 1
            print(f"skip {name}: {why}")
        except Exception:
            failed += 1
            print(f"FAIL {name}")
            traceback.print_exc()
        finally:
            w.remove()
        sys.stdout.flush()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0 if passed else 77)


def state_of(pid):
    """The letter of a process's state in /proc."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rpartition(")")[2].split()[0]


def children_of(pid, tid=None):
    """The children, a list of ids, of a thread of a process; of its main thread if @tid is None."""
    with open(f"/proc/{pid}/task/{tid or pid}/children", encoding="utf-8") as f:
        return [int(child) for child in f.read().split()]


def set_recording(at):
    with open(f"{at}/tracing_on", "w", encoding="utf-8") as f:
        f.write("1")


@contextlib.contextmanager
def of_usual_size(at):
    """A buffer of the kernel's with at least the size that it has after boot. In one of a few pages
    trace-cmd's splice() finds the last page not full, and it gives up."""
    path = f"{at}/buffer_size_kb"
    with open(path, encoding="utf-8") as f:
        before = f.read().strip()
    small = before.isdigit() and int(before) < 1024   # not `7 (expanded: 1408)`
    try:
        if small:
            with open(path, "w", encoding="utf-8") as f:
                f.write("1408")
        yield
    finally:
        if small:
            with open(path, "w", encoding="utf-8") as f:
                f.write(before)


@contextlib.contextmanager
def kernel_alone():
    """The kernel's top buffer, for one test at a time; recording as at boot before and after."""
    at = "/sys/kernel/tracing"
    root()
    if not os.path.exists(f"{at}/tracing_on"):
        raise Skip("no tracefs")
    fd = os.open(at, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        set_recording(at)
        with of_usual_size(at):
            yield
    finally:
        set_recording(at)
        os.close(fd)


def stop(p):
    """Send SIGSTOP to a Popen, and wait until each of its threads has stopped."""
    p.send_signal(signal.SIGSTOP)
    tasks = f"/proc/{p.pid}/task"

    def stopped():
        return all(open(f"{tasks}/{t}/stat").read().rsplit(") ", 1)[1][0] == "T" for t in os.listdir(tasks))
    until(stopped, f"process {p.pid} does not stop")


def kill_and_wait(pid):
    """Kill a process that need not be our child, and wait until it has ended. Only then does
    `vestige clean` remove its area."""
    fd = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        assert select.select([fd], [], [], 120)[0], f"process {pid} does not end"
    finally:
        os.close(fd)


class Beside:
    """A program that runs beside a test, with pipes; with the end of `with` it is killed."""

    def __init__(self, w, *words, env=None, **more):
        for name in "stdin", "stdout":
            more.setdefault(name, subprocess.PIPE)
        self.p = subprocess.Popen(list(map(str, words)), cwd=w.dir, env=env or w.env, **more)
        self.pid = self.p.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.kill()
        self.p.communicate()

    def is_ready(self):
        """Wait for its line `ready`."""
        line = self.p.stdout.readline()
        assert line in ("ready\n", b"ready\n"), line


@contextlib.contextmanager
def running(w, *command, boot=None):
    """A program with the engine, which answers requests; it is ended."""
    more = {"VESTIGE_BOOT": boot} if boot else {}
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=w.dir, env=dict(w.env, LD_PRELOAD=LIBRARY, **more))
    try:
        until(lambda: any(n.startswith(f"{p.pid}.") and n.endswith(".sock") for n in os.listdir(w.areas)))
        yield p
    finally:
        p.kill()
        p.wait()
        w.run("clean")


def spinning(w, boot=None):
    """The program `spin`, running."""
    return running(w, w.prog, "spin", boot=boot)


def is_sanitized():
    """Is the program built with AddressSanitizer? It keeps memory that was freed, and takes
    terabytes of addresses."""
    with open(BIN, "rb") as f:
        return b"__asan_" in f.read()


def sanitizer():
    """Of libvestige-trace.so, where it is built with AddressSanitizer: the compiler, and the
    library that a program without the sanitizer must load first. Else None."""
    library = os.environ["BUILD_DIR"] + "/libvestige-trace.so"
    with open(library, "rb") as f:
        if b"__asan_" not in f.read():
            return None
    needed = subprocess.run(["readelf", "-dW", library], stdout=subprocess.PIPE, check=True, text=True).stdout
    cc, name = ("gcc", "libasan.so") if "libasan" in needed else ("clang", "libclang_rt.asan-x86_64.so")
    return cc, subprocess.run([cc, "-print-file-name=" + name], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


def python_env(w):
    """The environment in which a program of Python loads libvestige-trace. Where that needs the
    sanitizer's library, the first python3 of PATH is a script that loads it before: the commands,
    which start python3, have it already."""
    env = dict(w.env, PYTHONPATH=os.environ["BUILD_DIR"])
    found = sanitizer()
    if not found:
        return env
    os.makedirs(w.path("python"), exist_ok=True)
    with open(w.path("python/python3"), "w", encoding="utf-8") as f:
        # python's own leaks are none of ours
        f.write(f'#!/bin/sh\nLD_PRELOAD={found[1]} ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0:symbolize=0" exec {sys.executable} "$@"\n')
    os.chmod(w.path("python/python3"), 0o755)
    return {**env, "PATH": w.path("python") + ":" + env["PATH"]}


def need(program):
    if not shutil.which(program):
        raise Skip(f"no {program}")


def root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def own_mounts(script, **kw):
    """Run a shell script in a mount namespace of its own: its mounts vanish with it."""
    root()
    need("unshare")
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no mount namespaces here")
    return subprocess.run(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100, **kw)
