#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige hang finds the known reasons for which threads of a process wait, with and without the
engine in it."""
import ctypes
import json
import os
import re
import subprocess
import time

from cli_test import main, until

STUCK = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER, cond_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rw_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
sem_t sem;
static pthread_barrier_t both;
static pthread_t one;
static int pipes[2];
#define FN __attribute__((noipa))

FN static void lock_both(const char *name, pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(b);
	puts("not stuck");
}
static void *forth(void *arg) { lock_both("forth", &first_lock, &second_lock); return arg; }
static void *back(void *arg) { lock_both("back", &second_lock, &first_lock); return arg; }
static void *reads(void *arg) { char c; pthread_setname_np(pthread_self(), "reads"); return read(pipes[0], &c, 1) == 1 ? arg : NULL; }
static void *joins(void *arg) { pthread_setname_np(pthread_self(), "joins"); pthread_join(one, NULL); return arg; }
static void *writes(void *arg) { pthread_setname_np(pthread_self(), "writes"); pthread_rwlock_wrlock(&rw_lock); return arg; }
static void *conds(void *arg)
{
	pthread_setname_np(pthread_self(), "conds");
	pthread_mutex_lock(&cond_lock);
	pthread_cond_wait(&condition, &cond_lock);
	return arg;
}
static void *sems(void *arg) { pthread_setname_np(pthread_self(), "sems"); sem_wait(&sem); return arg; }
static void *polls(void *arg)
{
	struct epoll_event e;
	int fd = epoll_create1(0);
	pthread_setname_np(pthread_self(), "polls");
	if (epoll_wait(fd, &e, 1, -1) < 0)
		puts("interrupted");
	fflush(stdout);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const all[])(void *) = {forth, back, reads, joins, writes, conds, sems, polls};
	pthread_t t;
	int many = argc > 1 && !strcmp(argv[1], "stuck");

	pthread_barrier_init(&both, NULL, 2);
	sem_init(&sem, 0, 0);
	pthread_rwlock_wrlock(&rw_lock);
	if (pipe(pipes))
		return 1;
	pthread_create(&one, NULL, many ? all[0] : reads, NULL);
	for (int i = 1; i < 8 && (many || i > 1); i++)
		pthread_create(&t, NULL, all[many ? i : 2], NULL);
	pthread_setname_np(pthread_self(), "main-one");
	puts("ready");
	fflush(stdout);
	pthread_join(one, NULL);
	return 0;
}
"""


def stands_still(pid, names):
    """Whether each thread has its name and sleeps, also at a second look."""
    def states():
        out = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as f:
                text = f.read()
            with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as f:
                switches = re.findall(r"ctxt_switches:\s+(\d+)", f.read())
            out[text[text.index("(") + 1:text.rindex(")")]] = (text[text.rindex(")") + 2], *switches)
        return out

    def still():
        before = states()
        time.sleep(0.05)
        after = states()
        return set(names) <= set(before) and all(before[n] == after.get(n) and before[n][0] == "S" for n in names)
    until(still)


def threads(text):
    """{name: (its line, its stack's functions)}"""
    out = {}
    for block in re.split(r"\n(?=\S)", text):
        lines = block.strip("\n").split("\n")
        if m := re.match(r"(\S+)-(\d+) (waits|runs)", lines[0]):
            out[m[1]] = (lines[0], [re.sub(r"\+0x.*", "", l.strip()) for l in lines[1:]])
    return out


NAMES = ("main-one", "forth", "back", "reads", "joins", "writes", "conds", "sems", "polls")


def check(w, env):
    prog = w.compile("stuck", STUCK, "-g")
    with subprocess.Popen([prog, "stuck"], stdout=subprocess.PIPE, env=dict(w.env, **env), text=True) as p:
        try:
            began = time.monotonic()
            assert p.stdout.readline() == "ready\n"
            stands_still(p.pid, NAMES)
            time.sleep(0.3)
            text = w.run("hang", p.pid).stdout.decode()
            took = time.monotonic() - began
            found = threads(text)
            assert set(found) == set(NAMES), text
            circle = re.match(r"deadlock: (forth|back)-(\d+) -> (forth|back)-(\d+) -> \1-\2\n\n", text)
            assert circle and text.count("deadlock:") == 1, text
            for name, why, function in (
                    ("forth", r"mutex 0x[0-9a-f]+ \(second_lock\), held by back-\d+$", "lock_both"),
                    ("back", r"mutex 0x[0-9a-f]+ \(first_lock\), held by forth-\d+$", "lock_both"),
                    ("reads", r"read\(\d+: pipe:\[\d+\]\)$", "reads"), ("joins", r"the end of forth-\d+$", "joins"),
                    ("main-one", r"the end of forth-\d+$", "main"), ("sems", r"semaphore 0x[0-9a-f]+ \(sem\)$", "sems"),
                    ("writes", r"rwlock 0x[0-9a-f]+ \(rw_lock\), held by main-one-\d+$", "writes"),
                    ("conds", r"condition 0x[0-9a-f]+ \(condition(\+0x[0-9a-f]+)?\)$", "conds"),
                    ("polls", r"epoll_wait\(\d+: anon_inode:\[eventpoll\]\)$", None)):
                line, stack = found[name]
                m = re.match(rf"{name}-\d+ waits for ([\d.]+) (us|ms|s): {why}", line)
                assert m, (name, line, text)
                waited = float(m[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[m[2]]
                assert 0.25 <= waited <= took + 0.1, (line, took)
                assert (function in stack) if function else stack == ["(no stack: to stop it would end its system call)"], text
            # the threads run for a moment when they are let go
            stands_still(p.pid, NAMES)
            rows = json.loads(w.run("hang", "--json", p.pid).stdout)
            tids = {t["comm"]: t["tid"] for t in rows["threads"]}
            assert sorted(rows["deadlocks"][0]) == sorted((tids["forth"], tids["back"])) and len(rows["deadlocks"]) == 1, rows
            for t in rows["threads"]:
                line, stack = found[t["comm"]]
                assert line.startswith(f"{t['comm']}-{t['tid']} waits for ") and line.endswith(": " + t["waits_for"]), (line, t)
                assert 0 < t["since"] < took * 1e9 + 1e9 and t["state"] == "S", t
                assert [f["name"] for f in t["stack"]] == ([] if stack[0].startswith("(no stack") else stack), (stack, t)
            assert {t["comm"]: t["holder"] for t in rows["threads"]}["writes"] == tids["main-one"], rows
            # the process was not disturbed, and a second look finds the same
            stands_still(p.pid, NAMES)
            again = threads(w.run("hang", p.pid).stdout.decode())
            assert {n: v[1] for n, v in again.items()} == {n: v[1] for n, v in found.items()}, (found, again)
        finally:
            p.kill()
        assert p.stdout.read() == ""


def test_alone(w):
    check(w, {})


def test_engine(w):
    """With the engine in the process the result is the same, and the agent is not shown."""
    check(w, {"LD_PRELOAD": os.path.join(os.environ["BUILD_DIR"], "libvestige.so")})
    w.run("clean")


CXX = """
#include <mutex>
#include <unistd.h>
namespace app {
std::mutex door;
struct server { __attribute__((noinline)) void enter(int); };
void server::enter(int n) { door.lock(); write(1, &n, 1); door.lock(); }
}
int main() { app::server s; s.enter('r'); return 0; }
"""


def test_cxx(w):
    """A thread that waits for itself is found. C++ names are the source's."""
    prog = w.path("stuck-cxx")
    with open(prog + ".cc", "w") as f:
        f.write(CXX)
    subprocess.run(["c++", "-O1", "-g", prog + ".cc", "-o", prog], check=True)
    with subprocess.Popen([prog], stdout=subprocess.PIPE, env=w.env) as p:
        try:
            assert p.stdout.read(1) == b"r"
            stands_still(p.pid, (os.path.basename(prog),))
            line, stack = threads(w.run("hang", p.pid).stdout.decode())[os.path.basename(prog)]
            assert "(app::door)" in line and "app::server::enter" in stack, (line, stack)
        finally:
            p.kill()


def test_no_circle(w):
    """Waiting threads without a cycle are not reported as a deadlock."""
    prog = w.compile("stuck", STUCK, "-g")
    with subprocess.Popen([prog], stdout=subprocess.PIPE, env=w.env, text=True) as p:
        try:
            assert p.stdout.readline() == "ready\n"
            stands_still(p.pid, ("main-one", "reads"))
            text = w.run("hang", p.pid).stdout.decode()
            assert "deadlock" not in text and "main-one" in threads(text), text
        finally:
            p.kill()


def test_refused(w):
    """Of a process that another one traces, hang shows what it can get, and why there is no
    more."""
    libc = ctypes.CDLL(None, use_errno=True)
    prog = w.compile("stuck", STUCK, "-g")
    with subprocess.Popen([prog], stdout=subprocess.PIPE, env=w.env, text=True) as p:
        try:
            assert p.stdout.readline() == "ready\n"
            stands_still(p.pid, ("main-one", "reads"))
            assert libc.ptrace(0x4206, p.pid, None, None) == 0   # PTRACE_SEIZE
            done = w.run("hang", p.pid)
            assert done.stderr.decode() == f"vestige: no stacks of process {p.pid}: process {os.getpid()} traces it already\n"
            assert "read(" in threads(done.stdout.decode())["reads"][0], done
        finally:
            p.kill()


def test_bad(w):
    for args in ((), ("0",), ("x",), ("1", "2"), ("-P", "1", "2")):
        assert b"hang PID" in w.run("hang", *args, status=2).stderr, args
    with subprocess.Popen(["true"]) as p:
        p.wait()
    assert b"there is no process" in w.run("hang", p.pid, status=1).stderr


if __name__ == "__main__":
    main(globals())
