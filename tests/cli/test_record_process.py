#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record -P: processes that run already. All their calls are there, they go on when the recording
ends, and their settings are as before."""
import fnmatch
import json
import os
import re
import signal
import subprocess

from cli_test import BIN, Beside, Skip, kill_and_wait, main, need, until

# Does what a line on stdin says.
OBEYS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
volatile long sum;
#define FN __attribute__((noipa))
FN void leaf(int i) { sum += i; }
FN void mid(int i) { leaf(i); leaf(i + 1); }
static void *calls(void *n) { for (long i = 0; i < (long)n; i++) mid((int)i); return NULL; }
int main(void)
{
	char line[256];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		long n = atol(line + 1);
		pthread_t t;

		line[strcspn(line, "\n")] = '\0';
		if (*line == 'c')
			calls((void *)n);
		if (*line == 't' && !pthread_create(&t, NULL, calls, (void *)n))
			pthread_join(t, NULL);
		if (*line == 'f' && !(n = fork())) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			calls((void *)50);
			printf("%d\n", getpid());
			fflush(stdout);
			for (;;)
				pause();
		}
		if (*line == 'f')
			continue;
		if (*line == 'x')
			execl(line + 1, line + 1, "0", (char *)NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
"""
FILES = ("tracing_on", "current_tracer", "buffer_size_kb", "trace_options", "guard_budget", "set_ftrace_filter",
         "set_ftrace_notrace", "set_graph_function", "max_graph_depth", "tracing_thresh", "set_event")


class Program(Beside):
    def __init__(self, w, *words, **env):
        if not words:
            words = (w.path("obeys") if os.path.exists(w.path("obeys")) else w.compile("obeys", OBEYS),)
        super().__init__(w, *words, env=dict(w.env, **env))
        self.is_ready()

    def does(self, line):
        self.p.stdin.write(line.encode() + b"\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().decode().strip()

    def end(self):
        self.p.communicate(timeout=60)
        assert self.p.returncode == 0, self.p.returncode


class Recording:
    """Of processes, until it gets a signal to end."""

    def __init__(self, w, *args):
        self.p = subprocess.Popen([BIN, "record", *map(str, args)], cwd=w.dir, env=w.env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.said = b""
        while not self.said.endswith(b"Hit Ctrl-C to end the recording\n"):
            line = self.p.stderr.readline()
            self.said += line
            assert line, self.said

    def end(self, sig=signal.SIGINT, status=0):
        if sig:
            self.p.send_signal(sig)
        _, err = self.p.communicate(timeout=100)
        self.said += err
        assert self.p.returncode == status, (self.p.returncode, self.said)
        return self.said.decode()


def settings(w, pid):
    return {f: w.run("get", "-P", pid, f).stdout for f in FILES}


def refused(w, *args, status=125):
    return w.run("record", *args, status=status).stderr.decode()


def test_all_calls_and_the_settings(w):
    """Of a process that gets the engine for it, and again when it has it, under both signals."""
    need("trace-cmd")
    with Program(w) as p:
        for sig, tracer in (signal.SIGINT, "function"), (signal.SIGTERM, "function"):
            before = settings(w, p.pid) if sig == signal.SIGTERM else None
            r = Recording(w, "-P", p.pid, "-p", tracer, "-l", "mid", "-l", "leaf", "--budget", "100")
            p.does("c1000")
            p.does("t500")
            said = r.end(sig)
            assert ("engine was loaded" in said) == (before is None), said
            assert w.counts() == {"mid": 1500, "leaf": 3000}, w.counts()
            assert before in (None, settings(w, p.pid)), settings(w, p.pid)
            assert b": mid" not in w.run("show", "-P", p.pid).stdout
        assert p.does("c1") == "done"
        p.end()
    w.run("clean")


def test_graph_with_options(w):
    with Program(w) as p:
        w.run("attach", p.pid)
        before = settings(w, p.pid)
        r = Recording(w, "-P", p.pid, "-p", "function_graph", "-g", "mid", "--max-graph-depth", 1, "-O",
                      "funcgraph-proc", "-O", "nooverwrite", "-b", 512)
        p.does("c100")
        r.end()
        text = w.run("report", "--format=trace").stdout.decode()
        assert text.count(" mid();\n") == 100 and "leaf" not in text, text[:2000]
        assert settings(w, p.pid) == before, (before, settings(w, p.pid))
        p.end()
    w.run("clean")


def test_buffers_of_different_sizes(w):
    """buffer_size_kb reads X then, which cannot be set: each CPU gets its own size back."""
    def sizes():
        return [w.run("get", "-P", p.pid, f"per_cpu/cpu{cpu}/buffer_size_kb").stdout for cpu in range(os.cpu_count())]
    if os.cpu_count() < 2:
        raise Skip("one CPU")
    with Program(w) as p:
        w.run("attach", p.pid)
        w.run("set", "-P", p.pid, "per_cpu/cpu0/buffer_size_kb", 400)
        before = sizes()
        assert before[0] == b"400\n" != before[1] and w.run("get", "-P", p.pid, "buffer_size_kb").stdout == b"X\n", before
        r = Recording(w, "-P", p.pid, "-l", "mid", "-b", 900)
        assert set(sizes()) == {b"900\n"}, sizes()
        p.does("c10")
        r.end()
        assert sizes() == before, sizes()
        p.end()
    w.run("clean")


def test_its_end_ends_the_recording(w):
    need("trace-cmd")
    with Program(w) as p:
        r = Recording(w, "-P", p.pid, "-l", "mid")
        p.does("c77")
        p.end()
        assert "the process has ended" in r.end(sig=None)
        assert w.counts() == {"mid": 77}, w.counts()
    w.run("clean")


def test_it_executes_another_program(w):
    need("trace-cmd")
    with Program(w) as p:
        r = Recording(w, "-P", p.pid, "-l", "mid")
        p.does("c70")
        p.p.stdin.write(b"x/bin/sleep\n")
        p.p.stdin.flush()
        assert "executes another program" in r.end(sig=None)
        assert w.counts() == {"mid": 70}, w.counts()
    w.run("clean")


def test_children(w):
    """Those that are forked meanwhile are recorded, and live on as if nothing had been."""
    need("trace-cmd")
    with Program(w) as p:
        r = Recording(w, "-P", p.pid, "-l", "mid")
        children = [int(p.does("f")) for _ in range(3)]
        r.end()
        assert w.counts() == {"mid": 150}, w.counts()
        text = subprocess.run(["trace-cmd", "report"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout.decode()
        assert {int(n) for n in re.findall(r"obeys-(\d+) ", text)} == set(children), text[:1000]
        for pid in children:
            assert settings(w, pid) == settings(w, p.pid), (settings(w, pid), settings(w, p.pid))
            kill_and_wait(pid)
        p.end()
    w.run("clean")


DAEMON = r"""
#include <stdio.h>
#include <unistd.h>
volatile long sum;
__attribute__((noipa)) void tick(void) { sum++; }
int main(void)
{
	int fds[2];
	char c;

	if (pipe(fds))
		return 1;
	if (fork())
		return read(fds[0], &c, 1) != 1;
	setsid();
	tick();
	c = 1;
	if (write(fds[1], &c, 1) != 1)
		return 1;
	printf("%d\n", getpid());
	fflush(stdout);
	for (;; usleep(1000))
		tick();
}
"""


def test_a_daemon(w):
    """What PROG has started and goes on is named, is not traced any more, and can be recorded."""
    need("trace-cmd")
    w.compile("daemon", DAEMON)
    with Beside(w, BIN, "record", "-q", "-p", "function", "-o", "d.dat", "./daemon", stderr=subprocess.PIPE) as r:
        pid = int(r.p.stdout.readline())
        try:
            said = r.p.stderr.readline().decode()
            assert r.p.wait() == 0 and f"process {pid}" in said and "record -P PID" in said, said
            assert w.run("get", "-P", pid, "current_tracer").stdout == b"nop\n"
            assert w.counts("d.dat")["tick"] >= 1
            again = Recording(w, "-P", pid, "-p", "function", "-l", "tick")
            until(lambda: b"tick" in w.run("get", "-P", pid, "set_ftrace_filter").stdout)
            again.end()
            assert set(w.counts()) <= {"tick"}, w.counts()
        finally:
            kill_and_wait(pid)
    w.run("clean")


# Its child, which libc's fork() did not make, executes argv[2] after argv[1] milliseconds. The
# parent ends after argv[3], or at once. $LAST_PID: of the kernel, before the child's PID.
LATE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const char *last = getenv("LAST_PID");
	int fd = last ? open("/proc/sys/kernel/ns_last_pid", O_WRONLY) : -1;

	if (last && dprintf(fd, "%s", last) < 0)
		return 1;
	if (syscall(SYS_fork)) {
		if (argc > 3)
			usleep(1000 * atoi(argv[3]));
		return 0;
	}
	setsid();
	usleep(1000 * atoi(argv[1]));
	execl(argv[2], argv[2], "first", NULL);
	return 1;
}
"""
LOOPS = r"""
#include <stdio.h>
#include <unistd.h>
volatile long sum;
__attribute__((noipa)) void tick(void) { sum++; }
int main(void)
{
	printf("%d\n", getpid());
	fflush(stdout);
	for (;; usleep(1000))
		tick();
}
"""


# Executes itself again and again, without the engine.
AGAIN = r"""
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 1) {
		printf("%d\n", getpid());
		fflush(stdout);
	}
	execl(argv[0], argv[0], NULL);
	return 1;
}
"""


def test_a_child_that_executes(w):
    """In the middle of execve() a process has no environment that shows whose child it is. With
    many variables the kernel notes them long after the arguments."""
    w.compile("late", LATE)
    w.compile("again", AGAIN, "-static")
    many = dict(w.env, **{f"V{i}": "" for i in range(60000)})
    for env, parent in [(w.env, 0)] * 3 + [(many, 30)] * 6:
        with Beside(w, BIN, "record", "-q", "-p", "function", "-o", "d.dat", "./late", 0, "./again", parent, stderr=subprocess.PIPE, env=env) as r:
            pid = int(r.p.stdout.readline())
            try:
                assert r.p.wait() == 0
            finally:
                kill_and_wait(pid)
            said = r.p.stderr.read().decode()
            assert f"process {pid}" in said and "without the engine" in said, said
    w.run("clean")


def test_a_late_child(w):
    """What has no area yet when PROG ends is waited for a while, and is named then, too."""
    w.compile("late", LATE)
    w.compile("loops", LOOPS)
    for ms, says in ((30, "is not recorded any more"), (6000, "without the engine")):
        with Beside(w, BIN, "record", "-q", "-p", "function", "-o", "d.dat", "./late", ms, "./loops", stderr=subprocess.PIPE) as r:
            said = r.p.stderr.readline().decode()
            pid = int(r.p.stdout.readline())
            try:
                assert r.p.wait() == 0 and f"process {pid}" in said and says in said and "record -P PID" in said, (ms, said)
                if ms == 30:
                    assert w.run("get", "-P", pid, "current_tracer").stdout == b"nop\n"
            finally:
                kill_and_wait(pid)
    w.run("clean")


def test_a_child_of_a_lower_pid(w):
    """The kernel gives low PIDs again after the highest one."""
    w.compile("late", LATE)
    own = ["unshare", "-p", "-f", "--mount-proc"]
    if os.geteuid() or subprocess.run([*own, "test", "-e", "/proc/sys/kernel/ns_last_pid"], check=False).returncode:
        raise Skip("no PID namespace, or no /proc/sys/kernel/ns_last_pid")
    script = 'echo 1000 > /proc/sys/kernel/ns_last_pid; "$0" "$@"; exit $?'
    p = subprocess.run([*own, "sh", "-c", script, BIN, "record", "-q", "-p", "function", "-o", "d.dat", "./late", "60000", "true"],
                       cwd=w.dir, env={**w.env, "LAST_PID": "100"}, stderr=subprocess.PIPE, text=True, check=True)
    assert "process 101" in p.stderr and "without the engine" in p.stderr, p.stderr
    w.run("clean")


def test_two_processes(w):
    need("trace-cmd")
    with Program(w) as p, Program(w) as q:
        r = Recording(w, "-P", f"{p.pid},{q.pid}", "-P", p.pid, "-l", "mid")
        p.does("c10")
        q.does("c20")
        p.end()
        q.does("c30")
        r.end()
        assert w.counts() == {"mid": 60}, w.counts()
        q.end()
    w.run("clean")


def test_events_alone(w):
    with Program(w) as p:
        r = Recording(w, "-P", p.pid, "-e", "sched:sched_process_fork")
        r.end()
        p.end()
    w.run("clean")


def test_events_by_glob(w):
    """A glob is of names in all systems, or of systems and names; nothing else is recorded, and it
    is off again."""
    with Program(w) as p:
        w.run("attach", p.pid)
        before = settings(w, p.pid)
        for globs, want, never in (
                (("sched_process_*",), {"sched:sched_process_fork", "sched:sched_process_exit"}, "syscalls:"),
                (("s*:*_process_f*", "*calls:sys_*_write"), {"sched:sched_process_fork", "syscalls:sys_enter_write", "syscalls:sys_exit_write"}, "exit_group")):
            flags = [f for g in globs for f in ("-e", g)]
            r = Recording(w, "-P", p.pid, "-p", "nop", *flags)
            p.does("t10")
            p.does("t10")  # the last write may end behind the recording
            r.end()
            rows = [json.loads(l) for l in w.run("convert", "--to", "jsonl", "trace.dat", "-").stdout.splitlines()]
            names = {r["name"] for r in rows}
            assert want <= names and not any(never in n for n in names), names
            assert all(any(fnmatch.fnmatch(n if ":" in g else n.split(":")[1], g) for g in globs) for n in names), names
            assert settings(w, p.pid) == before, (before, settings(w, p.pid))
        assert "has no event" in refused(w, "-P", p.pid, "-e", "sched_precess_*")
        assert settings(w, p.pid) == before, (before, settings(w, p.pid))
        p.end()
    w.run("clean")


def test_refusals(w):
    with Program(w) as p:
        assert "leave out ./obeys" in refused(w, "-P", p.pid, "./obeys")
        assert "leave out --unmodified" in refused(w, "-P", p.pid, "--unmodified")
        assert "not a process id" in refused(w, "-P", "0")
        assert "not a process id" in refused(w, "-P", f"{p.pid},x")
        assert "no process 999999999" in refused(w, "-P", 999999999)
        w.run("attach", p.pid)
        before = settings(w, p.pid)
        assert f"has no tracer not_there: `vestige get -P {p.pid} available_tracers`" in refused(w, "-P", p.pid, "-p", "not_there")
        assert "has no tracer functoin, did you mean function?" in refused(w, "-P", p.pid, "-p", "functoin")
        assert "did you mean main?" in refused(w, "-P", p.pid, "-p", "function", "-l", "mian")
        assert "did you mean funcgraph-tail?" in refused(w, "-P", p.pid, "-p", "function_graph", "-O", "funcgraph-tial")
        assert "has no event shced_switch, did you mean sched_switch?" in refused(w, "-P", p.pid, "-e", "shced_switch")
        assert "there is no option nix" in refused(w, "-P", p.pid, "-O", "nix")
        assert settings(w, p.pid) == before, (before, settings(w, p.pid))
        assert "matches nothing_has" in refused(w, "-P", p.pid, "-l", "nothing_has_this_name")
        assert "has no event nothing" in refused(w, "-P", p.pid, "-e", "nothing")
        assert settings(w, p.pid) == before, (before, settings(w, p.pid))
        refused(w, "-P", p.pid, "-o", "/")
        w.run("start", "-P", p.pid)
        assert "traced already, by the tracer function" in refused(w, "-P", p.pid)
        w.run("reset", "-P", p.pid)
        w.run("set", "-P", p.pid, "set_ftrace_filter", "mid")
        assert "has a filter in set_ftrace_filter already" in refused(w, "-P", p.pid, "-l", "leaf")
        w.run("set", "-P", p.pid, "set_ftrace_filter", "")
        r = Recording(w, "-P", p.pid)
        assert f"by process {r.p.pid}" in refused(w, "-P", p.pid)
        r.end()
        assert settings(w, p.pid) == before, (before, settings(w, p.pid))
        p.end()
    w.run("clean")


def test_recorder_is_killed(w):
    """The process goes on; `reset` is enough for the next recording."""
    need("trace-cmd")
    with Program(w) as p:
        r = Recording(w, "-P", p.pid, "-l", "mid", "-b", 64)
        p.does("c10")
        r.end(signal.SIGKILL, -signal.SIGKILL)
        assert p.does("c100000") == "done"
        assert "`vestige reset -P" in refused(w, "-P", p.pid)
        w.run("reset", "-P", p.pid)
        r = Recording(w, "-P", p.pid, "-l", "mid")
        p.does("c20")
        r.end()
        assert w.counts() == {"mid": 20}, w.counts()
        p.end()
    for name in os.listdir(w.dir):
        if ".spool." in name:
            os.unlink(w.path(name))
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
