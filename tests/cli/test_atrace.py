#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""atrace: the marks are the program's own counts, and all is as before at the end."""
import os
import re
import signal
import subprocess
import zlib

from cli_test import BIN, main, running, until

PROGRAM = r"""
#include <pthread.h>
#include <unistd.h>
#include <vestige/atrace.h>
static void *work(void *a)
{
	for (long i = 0;; i++) {
		vestige_begin(gfx, "frame");
		vestige_counter(db, "rows", 2 * i);
		vestige_async_begin(net, "request", i);
		vestige_async_end(net, "request", i);
		vestige_end(gfx);
		usleep(2000);
	}
	return a;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	work(NULL);
}
"""


def marks(text):
    assert text.startswith("TRACE:\n# tracer: nop\n"), text[:100]
    return re.findall(r"-(\d+) .*tracing_mark_write: ([BECSF])\|\d+\|?(.*)$", text, re.M)


def test_atrace(w):
    prog = w.compile("marked", PROGRAM, "-I" + os.environ["SOURCE_DIR"] + "/include")
    with running(w, prog) as p:
        def state():
            return [w.run("get", "-P", p.pid, f).stdout for f in ("atrace_tags", "buffer_size_kb", "tracing_on")] + os.listdir(w.areas)
        before = state()
        assert re.search(rb"gfx - tag", w.run("atrace", "-l").stdout)
        said = w.run("atrace", "nosuch", status=1).stderr.decode()
        assert set(re.search(r"has the tags ([\w ]+),", said)[1].split()) == {"db", "gfx", "net"}, said
        got = []

        def both_threads():
            """On a busy machine a thread may get no CPU for half a second."""
            got[:] = marks(w.run("atrace", "-t", "0.5", "gfx", "net").stdout.decode())
            begun = [t for t, k, _ in got if k == "S"]
            return len(set(begun)) == 2 and min(begun.count(t) for t in set(begun)) > 3
        until(both_threads, lambda: f"too few marks of a thread: {got}")
        assert {k for _, k, _ in got} == set("BESF") and len({t for t, _, _ in got}) == 2
        for tid in {t for t, _, _ in got}:
            begun = [int(r.split("|")[1]) for t, k, r in got if t == tid and k == "S"]
            ended = [int(r.split("|")[1]) for t, k, r in got if t == tid and k == "F"]
            assert begun[1:-1] == list(range(begun[1], begun[-2] + 1)), begun
            assert set(begun[1:-1]) <= set(ended), (begun, ended)
        assert state() == before
        w.run("atrace", "--async_start", "-t", "1", "db", status=2)
        w.run("atrace", "--async_start", "db")
        assert w.run("atrace", "db", status=1).stderr
        until(lambda: len(marks(w.run("atrace", "--async_dump").stdout.decode())) > 10)
        w.run("atrace", "--async_stop", "-z", "-o", "z")
        with open(w.path("z"), "rb") as f:
            data = f.read()
        text = data[:7].decode() + zlib.decompress(data[7:]).decode()
        assert {k for _, k, _ in marks(text)} == {"C"} and all(int(r.split("|")[1]) % 2 == 0 for _, _, r in marks(text))
        assert state() == before
        s = subprocess.Popen([BIN, "atrace", "-t", "1000", "gfx"], env=w.env, stdout=subprocess.PIPE)
        until(lambda: b"[gfx]" in w.run("get", "-P", p.pid, "atrace_tags").stdout)
        s.send_signal(signal.SIGINT)
        assert s.communicate()[0].startswith(b"TRACE:") and s.returncode == 0 and state() == before
        # a reader that has gone
        s = subprocess.Popen([BIN, "atrace", "-t", "0.3", "gfx", "net"], env=w.env, stdout=subprocess.PIPE)
        s.stdout.close()
        assert s.wait() == 0 and state() == before, (s.returncode, state())
        # one that was killed is ended by --async_stop
        s = subprocess.Popen([BIN, "atrace", "-t", "1000", "gfx"], env=w.env, stdout=subprocess.DEVNULL)
        until(lambda: b"[gfx]" in w.run("get", "-P", p.pid, "atrace_tags").stdout)
        until(lambda: marks(w.run("atrace", "--async_dump").stdout.decode()))
        assert b"still runs" in w.run("atrace", "--async_stop", status=1).stderr
        s.kill()
        s.wait()
        assert b"--async_stop" in w.run("atrace", "gfx", status=1).stderr
        assert marks(w.run("atrace", "--async_stop").stdout.decode())
        assert state() == before


def test_flags_of_android(w):
    """What has another form here is refused with it."""
    for args, why in ((["-a", "app"], b"-P names the process"), (["-f", "file"], b"$(cat FILE)"), (["-k", "vfs_read"], b"vestige record -k -p function"),
                      (["-n"], b"Ctrl-C ends the wait"), (["-b", "0", "gfx"], b"-b"), (["-b", "x", "gfx"], b"-b"), (["-t", "nan", "gfx"], b"-t"),
                      (["-o", "/dev/full", "gfx"], b"leave -o out"), (["--async_stop", "-s", "1"], b"-s goes"), (["-l", "-t", "1"], b"-l goes")):
        assert why in w.run("atrace", *args, status=2).stderr, args


def test_ends_before(w):
    """What a process recorded is printed where it ends first; the next one of its session is traced
    anew."""
    prog = w.compile("marked", PROGRAM, "-I" + os.environ["SOURCE_DIR"] + "/include")
    for way in "attached", "lone", "of a session", "of a session":
        command = [prog] if way == "attached" else [BIN, "run", "lone" if way == "lone" else "shop", "--", prog]
        p = subprocess.Popen(command, env=w.env, cwd=w.dir)
        try:
            if way != "attached":
                until(lambda: os.path.isdir(w.areas) and any(n.startswith(f"{p.pid}.") and n.endswith(".sock") for n in os.listdir(w.areas)))
            which = ("--session", "shop") if way == "of a session" else ("-P", p.pid)
            s = subprocess.Popen([BIN, "atrace", *map(str, which), "-t", "1000", "gfx"], env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            until(lambda: b"[gfx]" in w.run("get", "-P", p.pid, "atrace_tags", status=None).stdout)
            until(lambda: len(w.run("show", "-P", p.pid, "-B", "atrace", status=None).stdout.splitlines()) > 20)
        finally:
            p.kill()
            p.wait()
        out, said = s.communicate(timeout=60)
        assert s.returncode == 0 and b"has ended" in said, (way, said)
        pids = {int(pid) for pid in re.findall(r"tracing_mark_write: B\|(\d+)\|frame", out.decode())}
        assert pids == {p.pid}, (way, pids, p.pid)
    w.run("clean")


# It is attached to while it runs: all functions of the headers that have marked nothing until then
# work.
LATE = r"""
#include <unistd.h>
#include <vestige/atrace.h>
#include <vestige/branch.h>
int main(void)
{
	for (volatile long i = 0;; i++) {
		vestige_begin(gfx, "frame");
		vestige_begin(gfx, NULL);
		vestige_end(gfx);
		vestige_end(gfx);
		trace_printk("turn %ld\n", i);
		if (likely(i >= 0))
			usleep(2000);
	}
}
"""


def test_attached(w):
    for flags in (), ("-no-pie", "-Wl,-z,now"):
        prog = w.compile("late", LATE, "-I" + os.environ["SOURCE_DIR"] + "/include", *flags)
        p = subprocess.Popen([prog], env=w.env)
        try:
            said = w.run("attach", p.pid, status=None).stderr
            assert p.poll() is None, (p.returncode, said)
            def names():
                """Both, unless the program had no CPU for a whole turn."""
                got = marks(w.run("atrace", "-P", p.pid, "-t", "0.3", "gfx").stdout.decode())
                found = {r for _, k, r in got if k == "B"}
                assert found <= {"frame", "(null)"}, got[:4]
                return len(found) == 2
            until(names)
            until(lambda: b": turn " in w.run("show", "-P", p.pid).stdout)
            w.run("start", "-P", p.pid, "-p", "branch")
            until(lambda: b"main" in w.run("show", "-P", p.pid).stdout)
            assert p.poll() is None
        finally:
            p.kill()
            p.wait()
            w.run("clean")


if __name__ == "__main__":
    main(globals())
