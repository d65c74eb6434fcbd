#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record --flight: each trigger saves the records around it, into a file of its own; all is put
back."""
import contextlib
import os
import re
import signal
import subprocess
import time

from cli_test import BIN, LIBRARY, main, root, until

# handle() takes 60 ms after SIGUSR2, else nothing
TEXT = """
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t slow;
static void on(int sig) { (void)sig; slow = 1; }
__attribute__((noipa)) void work(long ms) { struct timespec t = {0, ms * 1000000}; if (ms) nanosleep(&t, 0); }
__attribute__((noipa)) void handle(void) { long ms = slow ? 60 : 0; slow = 0; work(ms); }
int main(void) { signal(SIGUSR2, on); for (;;) { handle(); usleep(2000); } }
"""


@contextlib.contextmanager
def flying(w, *words):
    p = subprocess.Popen([w.compile("server", TEXT)], env=dict(w.env, LD_PRELOAD=LIBRARY))
    try:
        until(lambda: any(n.startswith(f"{p.pid}.") and n.endswith(".sock") for n in os.listdir(w.areas)))
        r = subprocess.Popen([BIN, "record", "--flight", "0.5s", "--after", "0.1s", "-P", str(p.pid), *words], env=w.env,
                             cwd=w.dir, stderr=subprocess.PIPE)
        r.said = r.stderr.readline().decode()
        assert "waiting for" in r.said, r.said + r.stderr.read().decode()
        yield p, r
        if r.poll() is None:
            r.send_signal(signal.SIGINT)
        r.said += r.stderr.read().decode()
        assert r.wait() == 0, r.said
        assert w.run("get", "-P", p.pid, "current_tracer").stdout == b"nop\n"
        assert w.run("get", "-P", p.pid, "kprobe_events").stdout == b""
        assert w.run("get", "-P", p.pid, "synthetic_events").stdout == b""
        assert "all functions" in w.run("get", "-P", p.pid, "set_ftrace_filter").stdout.decode()
        assert b"flight" not in w.run("ls", "-P", p.pid, status=None).stdout
    finally:
        p.kill()
        p.wait()
        r.kill()
        r.wait()
        r.stderr.close()
        w.run("clean")


def stamps(w, name):
    out = subprocess.run(["trace-cmd", "report", "-t", name], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         check=True).stdout.decode()
    return [(float(m[1]), m[2]) for m in re.finditer(r" (\d+\.\d+): (.*)", out)]


def test_flags_of_flight_alone(w):
    for words in (["--on", "signal:SIGUSR1"], ["--after", "1s"], ["--keep", "3"]):
        err = w.run("record", *words, "true", status=125).stderr.decode()
        assert f"{words[0]} goes with --flight" in err, err


def test_signal_and_rotation(w):
    with flying(w, "--on", "signal:SIGUSR1", "--keep", "2", "-l", "handle") as (_, r):
        for n in (1, 2, 3):
            at = time.monotonic()
            r.send_signal(signal.SIGUSR1)
            until(lambda n=n: os.path.exists(w.path(f"trace-{n}.dat")))
            done = time.monotonic()
            all_ = stamps(w, f"trace-{n}.dat")
            assert all_ and all("handle" in text for _, text in all_), all_[:5]
            # the window: not before 0.5 s, not behind 0.1 s, of the moment at which the signal was
            # seen
            assert at - 0.5 <= all_[0][0] and all_[-1][0] <= done + 0.1, (at, done, all_[0], all_[-1])
            assert all_[-1][0] - all_[0][0] <= 0.6 + 1e-6
        until(lambda: not os.path.exists(w.path("trace-1.dat")))
        assert os.path.exists(w.path("trace-2.dat"))
    # the files of an earlier run stay
    with flying(w, "--on", "signal:SIGUSR1", "--keep", "1", "-l", "handle") as (_, r):
        for n in (4, 5):
            r.send_signal(signal.SIGUSR1)
            until(lambda n=n: os.path.exists(w.path(f"trace-{n}.dat")))
        until(lambda: not os.path.exists(w.path("trace-4.dat")))
    assert all(os.path.exists(w.path(f"trace-{n}.dat")) for n in (2, 3, 5))


def test_many_interrupts(w):
    """timeout(1) sends two: to the process, and to its group."""
    with flying(w, "--on", "signal:SIGUSR1", "-l", "handle") as (_, r):
        while r.poll() is None:
            r.send_signal(signal.SIGINT)
            time.sleep(0.0005)


def test_slow_call(w):
    """A call above the bound triggers, one below it does not; the call is in the window."""
    with flying(w, "--on", "call(handle)>50ms", "-p", "function_graph") as (p, r):
        assert not os.path.exists(w.path("trace-1.dat"))
        p.send_signal(signal.SIGUSR2)
        until(lambda: os.path.exists(w.path("trace-1.dat")))
    assert "call(handle)>50ms" in r.said and "wrote trace-1.dat" in r.said, r.said
    text = w.run("graph", w.path("trace-1.dat"), status=None).stdout.decode() + \
        w.run("report", "-i", "trace-1.dat").stdout.decode()
    assert "handle" in text and "work" in text, text[:2000]


def test_event(w):
    with flying(w, "--on", "event:signal:signal_deliver", "-e", "signal") as (p, r):
        p.send_signal(signal.SIGUSR2)
        until(lambda: os.path.exists(w.path("trace-1.dat")))
    assert any("signal_deliver" in text for _, text in stamps(w, "trace-1.dat")), r.said


def test_killed(w):
    with flying(w, "--on", "call(handle)>50ms", "-l", "work") as (p, r):
        r.kill()
        r.wait()
        out = w.run("clean").stdout.decode()
        assert "restored current_tracer" in out and "restored kprobe_events" in out, out
        r.wait = lambda: 0


def test_ends_with_the_process(w):
    """The end of the process is said, the last window is saved, and the command ends with status
    0."""
    for sig in (signal.SIGKILL, signal.SIGSEGV):
        with contextlib.suppress(AssertionError):
            with flying(w, "--on", "signal:SIGUSR1", "-l", "handle") as (p, r):
                until(lambda: int(re.search(r"entries: (\d+)", w.run("get", "-P", p.pid, "per_cpu/cpu0/stats").stdout.decode())[1])
                      + int(re.search(r"entries: (\d+)", w.run("get", "-P", p.pid, "per_cpu/cpu1/stats").stdout.decode())[1]) > 20)
                ended = time.monotonic()
                p.send_signal(sig)
                p.wait()
                died = time.monotonic()
                said = r.stderr.read().decode()
                assert r.wait(timeout=120) == 0, said
                raise AssertionError
        assert f"exit: process {p.pid} has ended, or executes another program" in said and "wrote trace-1.dat" in said, said
        found = stamps(w, "trace-1.dat")
        assert len(found) > 5 and all("handle" in text for _, text in found), (said, found[:5])
        # the last calls before the end: handle() is called each 2 ms
        assert ended - 0.6 <= found[0][0] and found[-1][0] <= died, (ended, died, found[0], found[-1])
        os.unlink(w.path("trace-1.dat"))


def test_triggers_of_all_kinds(w):
    """Each of them saves a file, with its own reason."""
    with flying(w, "--on", "signal:SIGUSR1", "--on", "call(handle)>50ms", "--on", "event:signal:signal_deliver", "--on",
                "signal:SIGWINCH", "-e", "signal", "-l", "handle") as (p, r):
        assert "waiting for 4 triggers" in r.said, r.said
        for n, (to, sig) in enumerate(((r, signal.SIGUSR1), (r, signal.SIGWINCH), (p, signal.SIGUSR2)), 1):
            to.send_signal(sig)
            until(lambda n=n: os.path.exists(w.path(f"trace-{n}.dat")))
    # the signal and the slow call that its handler makes lie in one window: the one that is seen
    # first names it
    for why in ("signal:SIGUSR1", r"(event:signal:signal_deliver|call\(handle\)>50ms)", "signal:SIGWINCH"):
        assert re.search(f"^vestige: {why}$", r.said, re.M), r.said


def test_program_and_kernel(w):
    """`-- PROG`: from main() on, with its status; -k: the kernel's records of the window beside its
    own."""
    root()
    loop = "for (;;) { handle(); usleep(2000); }"
    prog = w.compile("few", TEXT.replace(loop, f"raise(SIGUSR2); {loop.replace(';;', 'int i = 0; i < 60; i++')} return 9;"))
    err = w.run("record", "--flight", "20s", "--after", "0.05s", "--on", "call(handle)>50ms", "-p", "function_graph", "-k", "-e",
                "sched:sched_switch", "--", prog, status=9).stderr.decode()
    assert "wrote trace-1.dat" in err, err
    text = [t for _, t in stamps(w, "trace-1.dat")]
    assert any("handle" in t for t in text) and any("sched_switch" in t for t in text), text[:20]
    assert not [n for n in os.listdir(w.dir) if "kernel" in n], os.listdir(w.dir)
    assert w.run("record", "--flight", "1s", "--on", "signal:SIGUSR1", "--", "./nosuch", status=127).stderr


def test_a_restart_replaces_no_file(w):
    """The files of an earlier run stay; a filter of -f is written, and taken back."""
    for n in (1, 2):
        with flying(w, "--on", "signal:SIGUSR1", "-l", "handle", "-e", "sys_enter_nanosleep", "-f", "common_pid > 0") as (p, r):
            text = w.run("get", "-P", p.pid, "events/syscalls/sys_enter_nanosleep/filter").stdout
            assert text == b"common_pid > 0\n", text
            r.send_signal(signal.SIGUSR1)
            until(lambda: os.path.exists(w.path(f"trace-{n}.dat")))
        if n == 1:
            with open(w.path("trace-1.dat"), "rb") as f:
                first = f.read()
    with open(w.path("trace-1.dat"), "rb") as f:
        assert f.read() == first


def test_session(w):
    prog = w.compile("server", TEXT)
    with subprocess.Popen([BIN, "run", "jobs", "--", prog], env=w.env) as p:
        try:
            until(lambda: any(n.startswith(f"{p.pid}.") and n.endswith(".sock") for n in os.listdir(w.areas)))
            r = subprocess.Popen([BIN, "record", "--session", "jobs", "-l", "handle"], env=w.env, cwd=w.dir, stderr=subprocess.DEVNULL)
            until(lambda: w.run("get", "-P", p.pid, "current_tracer").stdout == b"function\n")
            until(lambda: b"handle" in w.run("show", "-P", p.pid).stdout)
            r.send_signal(signal.SIGINT)
            assert r.wait() == 0
            assert any("handle" in text for _, text in stamps(w, "trace.dat"))
        finally:
            p.kill()
            p.wait()
            w.run("clean")


def test_errors(w):
    for words, text in ((["--flight", "x", "--on", "signal:SIGUSR1"], "not a time"), (["--flight", "1s"], "--on"),
                        (["--on", "signal:SIGUSR1"], "--flight"), (["--flight", "1s", "--on", "call(f)"], "no trigger"),
                        (["--flight", "1s", "--on", "signal:SIGKILL"], "no trigger"),
                        (["--flight", "1s", "--on", "event:x"], "no trigger"),
                        (["--flight", "1s", "--on", "signal:SIGUSR1", "-N", "localhost:1", "-P", "1"], "leave out -N"),
                        (["--flight", "1s", "--on", "signal:SIGUSR1", "--native", "-P", "1"], "leave out --native"),
                        (["--session", "nosuch"], "no session nosuch"), (["--session", "x", "--", "true"], "leave out true"),
                        (["--flight", "1s", "--on", "signal:SIGUSR1"], "no program is named")):
        err = w.run("record", *words, status=125).stderr.decode()
        assert text in err and err.count("\n") == 1, (words, err)
    p = subprocess.Popen([w.compile("server", TEXT)], env=dict(w.env, LD_PRELOAD=LIBRARY))
    try:
        until(lambda: any(n.startswith(f"{p.pid}.") and n.endswith(".sock") for n in os.listdir(w.areas)))
        for on, text in (("call(no_such)>1ms", f"no function no_such in process {p.pid} to be timed: "),
                         ("call(hande)>1ms", "did you mean handle? `vestige list -f -P"),
                         # of libc, whose calls are not wrapped, and no entry
                         ("call(write)>1ms", f"no function write in process {p.pid} to be timed: "),
                         ("call(main+4)>1ms", "`vestige list -f -P"), ("event:no:such", "event:no:such")):
            err = w.run("record", "--flight", "1s", "--on", on, "-P", p.pid, status=125).stderr.decode()
            assert text in err, err
        for time in "1d", "25h", "1us", "1hour":
            err = w.run("record", "--flight", time, "--on", "signal:SIGUSR1", "-P", p.pid, status=125).stderr.decode()
            assert f"not a time from 1ms to 24h, as in 500ms, 30s, 5m, 1h: {time} (see" in err, err
        # minutes and hours are times, in both flags: what is wrong is the folder
        for time in "5m", "1h", "24h":
            err = w.run("record", "--flight", time, "--after", time, "--on", "signal:SIGUSR1", "-o", "nowhere/f.dat", "-P", p.pid,
                        status=125).stderr.decode()
            assert "no file can be made in nowhere/" in err, err
        # not only when it is too late
        err = w.run("record", "--flight", "1s", "--on", "signal:SIGUSR1", "-o", "nowhere/f.dat", "-P", p.pid, status=125).stderr.decode()
        assert err == "vestige: no file can be made in nowhere/: say with -o where: No such file or directory\n", err
        assert w.run("get", "-P", p.pid, "current_tracer").stdout == b"nop\n"
    finally:
        p.kill()
        p.wait()
        w.run("clean")


if __name__ == "__main__":
    main(globals())
