#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige record` encodes the trace.dat of function_graph while the program runs. The file is
equal to the one that `vestige convert` makes of the same spool afterwards. No record is lost if the
program or the recorder is killed."""
import glob
import os
import signal
import subprocess
import sys

from cli_test import BIN, Skip, children_of, main, own_mounts, until

# calls, then waits for its stdin, then a few calls more; in several threads and processes if asked
WORK = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN int leaf(int i) { return i * 3; }
FN int mid(int i) { return leaf(i) + leaf(i + 1); }
FN int top(int i) { return mid(i) + mid(i * 2); }
static int nr;
FN int some(int n) { int s = 0; for (int i = 0; i < n; i++) s += top(i); return s; }
static volatile int sleeps;
static void *sleeper(void *arg) { sleeps = leaf(1); pause(); return arg; }
static void *thread(void *arg) { return some(nr) == 7 ? arg : NULL; }
int main(int argc, char **argv)
{
	int threads = atoi(argv[2]), children = atoi(argv[3]);
	pthread_t t[8];
	char c;
	nr = atoi(argv[1]);
	if (argc > 5) pthread_create(&t[7], NULL, sleeper, NULL);
	while (argc > 5 && !sleeps);
	for (int i = 0; i < children; i++)
		if (!fork())
			_exit(some(nr) == 7);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	some(nr);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	while (wait(NULL) > 0);
	puts("done");
	fflush(stdout);
	while (read(0, &c, 1) > 0);
	return some(argc > 4 ? atoi(argv[4]) : nr) == 7;
}
"""
NR = 5000


class Recording:
    def __init__(self, w, threads=0, children=0, *more):
        self.w = w
        if not os.path.exists(w.path("work")):
            w.compile("work", WORK)
        self.p = subprocess.Popen([BIN, "record", "-q", "-p", "function_graph", "--", "./work", str(NR), str(threads), str(children), *more],
                                  cwd=w.dir, env=w.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.p.stdout.readline() == b"done\n", self.p.communicate()
        spool, = glob.glob(w.path("trace.dat.spool.*"))
        self.spool = w.path("kept")
        os.link(spool, self.spool)

    def encoded(self):
        """Bytes of the unfinished file, which has no name; 0: there is none yet."""
        folder = f"/proc/{self.p.pid}/fd"
        for fd in os.listdir(folder):
            try:
                name = os.readlink(f"{folder}/{fd}")
                if name.startswith(self.w.dir) and "(deleted)" in name and os.stat(f"{folder}/{fd}").st_size:
                    return os.stat(f"{folder}/{fd}").st_size
            except FileNotFoundError:   # closed meanwhile
                pass
        return 0

    def end(self):
        out, err = self.p.communicate()
        assert (self.p.returncode, out, err) == (0, b"", b""), (self.p.returncode, out, err)


def same(w, spool):
    w.run("convert", spool, "after.dat")
    a, b = (subprocess.run(["trace-cmd", "report", name], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
            for name in ("trace.dat", "after.dat"))
    assert a == b and len(a) > 1000, (len(a), len(b))
    for command in ["report"], ["graph"], ["profile", "--json"]:
        a, b = (w.run(*command, "-i", name).stdout for name in ("trace.dat", "after.dat"))
        assert a == b, (command, a[:300], b[:300])


def leaves(w, name="trace.dat"):
    """Calls of leaf(), by trace-cmd."""
    return w.counts(name).get("leaf", 0)


def check(w, threads, children):
    r = Recording(w, threads, children)
    r.end()
    same(w, r.spool)
    assert leaves(w) == 4 * NR * (2 + threads + children)
    os.unlink(r.spool)
    assert not glob.glob(w.path("trace.dat.*")), os.listdir(w.dir)


def test_one_thread(w):
    check(w, 0, 0)


def test_threads(w):
    check(w, 3, 0)


def test_processes(w):
    check(w, 1, 3)


def encoded_meanwhile(w, *more):
    """Is much encoded while the program has not ended?"""
    r = Recording(w, 0, 0, *more)
    try:
        until(lambda: r.encoded() > 20000, seconds=60)
        done = True
    except AssertionError:
        done = False
    r.end()
    same(w, r.spool)
    os.unlink(r.spool)
    return done


def test_it_is_encoded_meanwhile(w):
    """Also where a thread sleeps from the beginning, whose page would hold all back."""
    if not encoded_meanwhile(w):
        raise Skip("no CPU was idle for a minute, or the disk has little room")
    if not encoded_meanwhile(w, str(NR), "sleeper"):
        if not encoded_meanwhile(w):
            raise Skip("no CPU was idle for a minute")
        assert encoded_meanwhile(w, str(NR), "sleeper")
    assert leaves(w) == 8 * NR + 1


LATE = r"""
#include <stdlib.h>
#include <time.h>
#define FN __attribute__((noipa))
FN int leaf(int i) { return i * 3; }
FN void spins(void) { for (clock_t begin = clock(); clock() - begin < CLOCKS_PER_SEC / 2;); }
int main(int argc, char **argv)
{
	spins();
	for (int i = 0; i < 3000; i++)
		leaf(i);
	if (argc > 1)
		spins();
	return 0;
}
"""


def test_no_call_ends_at_first(w):
    """Turns go by before the first page of calls comes."""
    w.compile("late", LATE)
    for words in (), ("spins",), (), ("spins",):
        w.run("record", "-q", "-p", "function_graph", "--", "./late", *words)
        assert leaves(w) == 3000, w.counts()


# a round of calls for each byte of stdin, in as many threads
ROUNDS = WORK[:WORK.index("int main")] + r"""
int main(void)
{
	pthread_t t[8];
	char c;
	nr = NR;
	while (read(0, &c, 1) > 0) {
		for (int i = 0; i < c - '0'; i++)
			pthread_create(&t[i], NULL, thread, NULL);
		some(nr);
		for (int i = 0; i < c - '0'; i++)
			pthread_join(t[i], NULL);
		putchar('.');
		fflush(stdout);
	}
}
"""


def test_running_processes(w):
    """record -P, of two programs as they are: the same."""
    w.compile("rounds", ROUNDS.replace("NR;", f"{NR};"), "-fpatchable-function-entry=0")
    programs = [subprocess.Popen(["./rounds"], cwd=w.dir, env=w.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) for _ in "ab"]
    r = Recording.__new__(Recording)
    r.w = w
    r.p = subprocess.Popen([BIN, "record", "-p", "function_graph", "--budget", "100", *(f"-P{p.pid}" for p in programs)],
                           cwd=w.dir, env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while b"Ctrl-C" not in (line := r.p.stderr.readline()):
        assert line, r.p.communicate()
    for p in programs:
        for threads in b"203":
            p.stdin.write(bytes([threads]))
            assert p.stdout.read(1) == b"."
    spool, = glob.glob(w.path("trace.dat.spool.*"))
    os.link(spool, w.path("kept"))
    try:
        until(lambda: r.encoded() > 20000, seconds=60)
        meanwhile = True
    except AssertionError:
        meanwhile = False
    r.p.send_signal(signal.SIGINT)
    err = r.p.communicate()[1]
    assert r.p.returncode == 0, err
    for p in programs:
        assert p.poll() is None
        p.stdin.close()
        p.wait()
    w.run("clean")
    same(w, w.path("kept"))
    # leaf() may have too few bytes for a redirect
    assert w.counts().get("mid") == 2 * 2 * NR * 8, (w.counts(), err)
    os.unlink(w.path("kept"))
    if not meanwhile:
        raise Skip("no CPU was idle for a minute, or the disk has little room")


def test_recorder_is_killed(w):
    """The spool has all, and nothing else is left."""
    r = Recording(w, threads=1)
    until(lambda: w.run("convert", r.spool, "so_far.dat") and leaves(w, "so_far.dat") > NR)
    os.unlink(w.path("so_far.dat"))
    r.p.kill()
    r.p.communicate()
    assert glob.glob(w.path("trace.dat*")) == glob.glob(w.path("trace.dat.spool.*")), os.listdir(w.dir)
    w.run("convert", r.spool, "trace.dat")
    # the pages that threads had open are in the area alone
    assert leaves(w) > NR
    until(lambda: not [n for n in os.listdir(w.areas) if w.run("clean") and n in os.listdir(w.areas)])
    for name in glob.glob(w.path("trace.dat.spool.*")):
        os.unlink(name)
    os.unlink(r.spool)


# Records in a folder of its own, and fills the disk when much is encoded.
FULL = r"""
import glob, os, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "record", "-q", "-p", "function_graph", "-o", "t.dat", "--", "../work", "100000", "0", "0", "2000"],
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert p.stdout.readline() == b"done\n"
def encoded():
    names = [f"/proc/{p.pid}/fd/{fd}" for fd in os.listdir(f"/proc/{p.pid}/fd")]
    return sum(os.stat(n).st_size for n in names if os.readlink(n).startswith(os.getcwd()) and "(deleted)" in os.readlink(n))
# until nothing is added any more: the program waits
had, same, end = 0, 0, time.monotonic() + 60
while time.monotonic() < end and (had < 400000 or same < 5):
    time.sleep(0.1)
    now = encoded()
    had, same = now, same + 1 if now == had else 0
with open("fill", "wb") as f:
    st = os.statvfs(".")
    os.posix_fallocate(f.fileno(), 0, (st.f_bavail - 4) * st.f_bsize)
err = p.communicate()[1].decode()
subprocess.run([sys.argv[1], "convert", *glob.glob("t.dat.spool.*"), "../trace.dat"], check=True)
print([had, p.returncode, err, sorted(os.listdir("."))])
"""


def test_disk_full(w):
    """What is encoded makes room for the spool."""
    w.compile("work", WORK)
    os.mkdir(w.path("disk"))
    with open(w.path("full.py"), "w", encoding="ascii") as f:
        f.write(FULL)
    p = own_mounts(f"mount -t tmpfs -o size=1300m none {w.path('disk')} && cd {w.path('disk')} && "
                   f"exec {sys.executable} ../full.py {BIN}", env=w.env)
    assert p.returncode == 0, p
    had, status, err, left = eval(p.stdout)
    if had < 400000:
        raise Skip("no CPU was idle for a minute")
    # the spool is whole, and there is no room for the file
    assert status == 125 and "the recording stops" not in err and "No space left" in err, p
    assert len(left) == 2 and left[1].startswith("t.dat.spool."), p
    assert leaves(w) == 4 * 102000


def test_program_is_killed(w):
    r = Recording(w)
    child, = children_of(r.p.pid)
    os.kill(child, signal.SIGKILL)
    r.p.communicate()
    assert r.p.returncode == 128 + signal.SIGKILL
    same(w, r.spool)
    assert leaves(w) == NR * 4
    os.unlink(r.spool)


if __name__ == "__main__":
    main(globals())
