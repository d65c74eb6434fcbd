#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A session: a process and all that it starts, one set of files for all."""
import collections
import contextlib
import errno
import os
import re
import struct
import subprocess
import threading

from mount_test import (BIN, STEPS, cpu_seconds, drain, fuse, main, mounted, need, nonblock, read, root, server_of,
                        sub_buffer_events, until, write)

ALL = "#### all functions enabled ####\n"

# Starts a copy of itself for each line `new`, and tells the youngest what else it reads; `end`
# waits.
NEST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long sum;
#define FN __attribute__((noipa))
FN void leaf(int i) { sum += i; }
FN void mid(int i) { leaf(i); leaf(i + 1); }
int main(int argc, char **argv)
{
	char line[64];
	FILE *to = NULL;
	puts("ready"); fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "new\n")) {
			int p[2], both = pipe(p);
			if (both) return 1;
			if (!fork()) {
				dup2(p[0], 0); close(p[0]); close(p[1]);
				execv(argv[0], argv);
				_exit(1);
			}
			close(p[0]);
			if (to) fclose(to);
			to = fdopen(p[1], "w");
			continue;
		}
		if (line[0] == '>') { fputs(line + 1, to); fflush(to); continue; }
		for (int i = 0, n = atoi(line); i < n; i++) mid(i);
		puts(line); fflush(stdout);
	}
	if (to) fclose(to);
	while (wait(NULL) > 0) ;
	return 0;
}
"""


@contextlib.contextmanager
def session(w, name, boot="", prog=None):
    prog = prog or w.compile("nest", NEST)
    p = subprocess.Popen([BIN, "run", name, "--", prog], stdin=subprocess.PIPE, cwd=w.dir,
                         stdout=subprocess.PIPE, env=dict(w.env, VESTIGE_BOOT=boot))
    try:
        expect(p, b"ready")
        yield p
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()
        w.run("clean")


def failing(call, path):
    try:
        call(path)
    except OSError as e:
        return e.errno
    return 0


def tell(p, line):
    p.stdin.write(line.encode() + b"\n")
    p.stdin.flush()


def expect(p, line):
    while (got := p.stdout.readline().strip()) != line:
        assert got == b"", got


def test_the_dead_cost_nothing(w):
    """Where hundreds of short processes were, files are as cheap as where there was one."""
    with session(w, "many") as p, mounted(w) as m:
        server = server_of(m)

        def read_triggers():
            before = cpu_seconds(server)
            for _ in range(20):
                for event in os.listdir(f"{m}/many/events/sched"):
                    if os.path.isdir(f"{m}/many/events/sched/{event}"):
                        read(f"{m}/many/events/sched/{event}/trigger")
                        read(f"{m}/many/events/sched/{event}/hist")
            return cpu_seconds(server) - before

        assert write(f"{m}/many/events/sched/sched_switch/filter", "prev_pid > 0\n") == 0
        alone = read_triggers()
        loop = "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"
        subprocess.run([BIN, "run", "many", "--", "/bin/sh", "-c", loop], env=w.env, check=True)
        until(lambda: len(os.listdir(m)) > 200)
        many = read_triggers()
        assert many < 3 * alone + 0.1, (alone, many)


def test_sessions_without_members_are_forgotten(w):
    """A session that was looked at once, and written nothing, keeps no file of its members open."""
    with mounted(w) as m:
        server = server_of(m)

        def areas_open():
            links = []
            for fd in os.listdir(f"/proc/{server}/fd"):
                with contextlib.suppress(OSError):
                    links.append(os.readlink(f"/proc/{server}/fd/{fd}"))
            return [at for at in links if f"{w.areas}/" in at]

        with session(w, "once"):
            assert "trace" in os.listdir(f"{m}/once")
            assert areas_open()
        until(lambda: not areas_open())


def test_all_that_it_starts(w):
    with session(w, "both") as p, mounted(w) as m:
        at = f"{m}/both"
        assert "both" in os.listdir(m) and str(p.pid) in os.listdir(m)
        assert set(os.listdir(at)) == set(os.listdir(f"{m}/{p.pid}"))
        tell(p, "new")
        expect(p, b"ready")
        until(lambda: len([n for n in os.listdir(m) if n.isdigit()]) == 2)
        child, = {int(n) for n in os.listdir(m) if n.isdigit()} - {p.pid}
        # a write goes to both, and to members that come later
        assert write(f"{at}/set_ftrace_filter", "leaf\n") == 0
        assert write(f"{at}/current_tracer", "function") == 0
        for pid in (p.pid, child):
            assert read(f"{m}/{pid}/current_tracer") == "function\n"
            assert read(f"{m}/{pid}/set_ftrace_filter") == "leaf\n"
        assert read(f"{at}/set_ftrace_filter") == "leaf\n"
        tell(p, "2")
        expect(p, b"2")
        tell(p, ">3")
        expect(p, b"3")
        lines = [line.split() for line in read(f"{at}/trace").splitlines() if " <-" in line]
        assert [line[0].rsplit("-", 1)[1] for line in lines] == [str(p.pid)] * 4 + [str(child)] * 6
        assert [line[3] for line in lines] == sorted((line[3] for line in lines),
                                                     key=lambda s: float(s[:-1]))
        tell(p, "new")
        expect(p, b"ready")
        third, = until(lambda: {int(n) for n in os.listdir(m) if n.isdigit()} - {p.pid, child})
        until(lambda: read(f"{m}/{third}/current_tracer") == "function\n")
        assert read(f"{m}/{third}/set_ftrace_filter") == "leaf\n"
        # sums, unions
        stats = [read(f"{m}/{pid}/per_cpu/cpu0/stats") for pid in (p.pid, child, third)]
        entries = [int(s.split()[1]) for s in stats]
        assert int(read(f"{at}/per_cpu/cpu0/stats").split()[1]) == sum(entries)
        sizes = [int(read(f"{m}/{pid}/buffer_total_size_kb")) for pid in (p.pid, child, third)]
        assert int(read(f"{at}/buffer_total_size_kb")) == sum(sizes)
        assert len(re.findall(r"^\d+ nest$", read(f"{at}/saved_cmdlines"), re.M)) == 3
        assert read(f"{at}/available_filter_functions").split() == ["leaf", "mid", "main"]
        # trace_pipe takes all, the second one has to wait
        fd = os.open(f"{at}/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        text = b""
        while text.count(b"leaf <-mid") < 10:
            with contextlib.suppress(BlockingIOError):
                text += os.read(fd, 65536)
        os.close(fd)
        assert "leaf <-mid" not in read(f"{at}/trace")
        assert write(f"{at}/current_tracer", "nosuch") == errno.EINVAL
        assert write(f"{at}/trace", None) == 0


SHORT = r"""
__attribute__((noipa)) long shortly(long n) { __asm__ volatile("" ::: "memory"); return n + 1; }
__attribute__((constructor)) static void first(void) { shortly(100); }
int main(int argc, char **argv) { return (int)shortly(argc) != 2; }
"""


def test_the_shortest_from_its_beginning(w):
    """A new member has carried out earlier writes before its own code runs, once."""
    prog = w.compile("short", SHORT, "-g")
    with session(w, "brief") as p, mounted(w) as m:
        at = f"{m}/brief"

        def run_some(n=5):
            for _ in range(n):
                subprocess.run([BIN, "run", "brief", "--", prog], env=w.env, check=True)

        def calls():
            return collections.Counter(re.findall(r"short-\d+ .* (\w+):? .*n=(\d+)", read(f"{at}/trace")))

        tell(p, "1")
        assert write(f"{at}/tracing_on", "1\n") == 0
        assert write(f"{at}/uprobe_events", f"p:early {prog}:{offset_of(prog, 'shortly')} n=%di:u32\n", os.O_APPEND) == 0
        assert write(f"{at}/events/uprobes/early/enable", "1\n") == 0
        run_some()
        # constructor and main of each, and no member got a write twice
        until(lambda: calls() == {("early", "100"): 5, ("early", "1"): 5})
        assert "error" not in read(f"{at}/error_log"), read(f"{at}/error_log")
        # a name means something else to each: the meaning is sent when the member is found
        assert write(f"{at}/events/uprobes/early/enable", "0\n") == 0
        assert write(f"{at}/uprobe_events", f"p:named {prog}:{offset_of(prog, 'shortly')} n\n", os.O_APPEND) == 0
        run_some(1)
        until(lambda: any(line.startswith("p:uprobes/named") for line in read(f"{at}/uprobe_events").splitlines()))
    w.run("clean")


BUILDS = r"""
#include <unistd.h>
__attribute__((noipa)) long shortly(%s) { __asm__ volatile("" ::: "memory"); return n + 1; }
__attribute__((constructor)) static void first(void) { shortly(%s100); }
int main(int argc, char **argv)
{
	char c;
	if (argc > 1) while (read(0, &c, 1) == 1) ;
	return (int)shortly(%s1) != 2;
}
"""


def test_names_from_the_beginning(w):
    """A probe that names an argument is in a new member from its first instruction on, as its build
    has the argument."""
    progs = [w.compile("one", BUILDS % ("long n", "", ""), "-g"),
             w.compile("two", BUILDS % ("long pad, long n", "7, ", "7, "), "-g")]
    run = lambda prog, *more: subprocess.run([BIN, "run", "brief", "--", prog, *more], env=w.env, check=True, stdin=subprocess.DEVNULL)

    def held(prog):
        return subprocess.Popen([BIN, "run", "brief", "--", prog, "wait"], env=w.env, stdin=subprocess.PIPE)

    first = held(progs[0])
    with mounted(w) as m:
        at = f"{m}/brief"
        until(lambda: os.path.exists(f"{at}/kprobe_events"))
        assert write(f"{at}/kprobe_events", "p:named shortly n number=$arg1\np:plain shortly\n") == 0
        assert write(f"{at}/events/kprobes/named/enable", "1\n") == 0

        def calls(name):
            found = re.findall(rf"{name}-(\d+) .* named: .* n=(\d+) number=(\w+)", read(f"{at}/trace"))
            return collections.Counter(line[1:] for line in found if int(line[0]) not in (first.pid, other.pid))

        # another build: what was written in its order reaches it, the switch that came behind the
        # definition too
        other = held(progs[1])
        switch = f"{m}/{other.pid}/events/kprobes/named/enable"
        until(lambda: os.path.exists(switch) and read(switch) == "1\n")
        for _ in range(5):
            for prog in progs:
                run(prog)
        until(lambda: calls("one") == {("100", "0x64"): 5, ("1", "0x1"): 5})
        until(lambda: calls("two") == {("100", "0x7"): 5, ("1", "0x7"): 5})
        assert "error" not in read(f"{at}/error_log"), read(f"{at}/error_log")
        for p in (first, other):
            p.stdin.close()
            assert p.wait() == 0
    w.run("clean")


def offset_of(prog, symbol):
    """In its file, where code is mapped as it lies there."""
    nm = subprocess.run(["nm", prog], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "0x" + next(line.split()[0] for line in nm.splitlines() if line.endswith(f" {symbol}"))


def test_deepest_stack(w):
    """Of a session that of the member whose is the deepest."""
    with session(w, "deep", boot="stacktrace") as p, mounted(w) as m:
        tell(p, "new")
        expect(p, b"ready")
        until(lambda: len([n for n in os.listdir(m) if n.isdigit()]) == 2)
        child, = {int(n) for n in os.listdir(m) if n.isdigit()} - {p.pid}
        tell(p, "1")
        expect(p, b"1")
        tell(p, ">1")
        expect(p, b"1")
        sizes = {pid: int(read(f"{m}/{pid}/stack_max_size")) for pid in (p.pid, child)}
        assert all(sizes.values()), sizes
        assert int(read(f"{m}/deep/stack_max_size")) == max(sizes.values())
        assert read(f"{m}/deep/stack_trace") in [read(f"{m}/{pid}/stack_trace") for pid in sizes]
        assert write(f"{m}/{child}/stack_max_size", "1000000") == 0
        assert read(f"{m}/deep/stack_max_size") == "1000000\n"
        assert write(f"{m}/deep/stack_max_size", "0") == 0
        assert [read(f"{m}/{pid}/stack_max_size") for pid in sizes] == ["0\n"] * 2


def child_of(p, m, known=()):
    """Start another member; its pid."""
    tell(p, "new")
    expect(p, b"ready")
    child, = until(lambda: {int(n) for n in os.listdir(m) if n.isdigit()} - {p.pid, *known})
    return child


def take(path, texts):
    with open(path, "rb", buffering=0) as f:
        while chunk := f.read(65536):
            texts.append(chunk)


def test_pipe_in_order_of_time(w):
    """Members that call at the same time, one that comes later, one that has ended."""
    with session(w, "both", boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at, texts = f"{m}/both", []
        child = child_of(p, m)
        t = threading.Thread(target=take, args=(f"{at}/trace_pipe", texts))
        t.start()
        for _ in range(20):
            tell(p, ">1000")
            tell(p, "1000")
            expect(p, b"1000")
            expect(p, b"1000")
        for name in ("trace_pipe", "per_cpu/cpu0/trace_pipe"):
            try:
                os.open(f"{at}/{name}", os.O_RDONLY)
                raise AssertionError("two read")
            except OSError as e:
                assert e.errno == errno.EBUSY
        assert write(f"{at}/current_tracer", "nop") == errno.EBUSY
        third = child_of(p, m, (child,))
        tell(p, ">1000")
        expect(p, b"1000")
        os.kill(third, 9)
        tell(p, "500")
        expect(p, b"500")
        until(lambda: b"".join(texts).count(b" <-") >= 3 * 41500)
        assert write(f"{at}/tracing_on", "0") == 0
        t.join()
        lines = b"".join(texts).decode().splitlines()
        by_pid = collections.Counter(int(line.split()[0].rsplit("-", 1)[1]) for line in lines)
        assert by_pid == {p.pid: 3 * 20500, child: 3 * 20000, third: 3 * 1000}, by_pid
        stamps = [line.split()[3] for line in lines]
        assert stamps == sorted(stamps, key=lambda s: float(s[:-1]))
        assert read(f"{at}/trace").count(" <-") == 0
        assert write(f"{at}/current_tracer", "nop") == 0


def test_raw_pages(w):
    """Every CPU's, of all members, those that come while they are read too; a call in one of them
    goes on."""
    with session(w, "both", boot="ftrace=function_graph ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at, known = f"{m}/both/per_cpu", []
        fds = [nonblock(f"{at}/{c}/trace_pipe_raw") for c in os.listdir(at)]
        calls = collections.Counter()
        for n in (10, 100, 1000):
            known.append(child_of(p, m, known))
            size = lambda name: int(read(f"{m}/{name}/buffer_total_size_kb"))
            until(lambda: size("both") == sum(map(size, (p.pid, *known))))
            tell(p, f">{n}")
            tell(p, f"{n}")
            expect(p, b"%d" % n)
            expect(p, b"%d" % n)

            def look():
                for fd in fds:
                    with contextlib.suppress(BlockingIOError):
                        # a reader that does not wait gets all records; an earlier one of another
                        # member may come later
                        for _, kind, data in sub_buffer_events(os.read(fd, 4096), ordered=False):
                            calls[kind, struct.unpack_from("<i", data, 4)[0]] += 1
                return calls[10, known[-1]] == calls[11, known[-1]] == 3 * n
            until(look)
        until(lambda: look() and calls[11, p.pid] == 3 * 1110)
        assert calls[10, p.pid] == 3 * 1110 and sum(calls.values()) == 4 * 3330, calls
        for fd in fds:
            os.close(fd)


def test_instances(w):
    """One of a session is one of each member, those that come later too."""
    with session(w, "both") as p, mounted(w) as m:
        at = f"{m}/both"
        foo = f"{at}/instances/foo"
        child = child_of(p, m)
        os.mkdir(foo)
        assert failing(os.mkdir, foo) == errno.EEXIST
        assert write(f"{foo}/set_ftrace_filter", "leaf\n") == 0
        assert write(f"{foo}/current_tracer", "function") == 0
        third = child_of(p, m, (child,))
        for pid in (p.pid, child, third):
            until(lambda: os.listdir(f"{m}/{pid}/instances") == ["foo"])
            until(lambda: read(f"{m}/{pid}/instances/foo/current_tracer") == "function\n")
            assert read(f"{m}/{pid}/instances/foo/set_ftrace_filter") == "leaf\n"
            assert read(f"{m}/{pid}/current_tracer") == "nop\n"
        tell(p, "2")
        tell(p, ">3")
        expect(p, b"2")
        expect(p, b"3")
        lines = [line.split()[0] for line in read(f"{foo}/trace").splitlines() if "leaf <-mid" in line]
        assert collections.Counter(lines) == {f"nest-{p.pid}": 4, f"nest-{third}": 6}, lines
        assert "leaf" not in read(f"{at}/trace")
        fd = nonblock(f"{foo}/trace_pipe")
        text = b""
        while text.count(b"leaf <-mid") < 10:
            with contextlib.suppress(BlockingIOError):
                text += os.read(fd, 65536)
        assert failing(os.rmdir, foo) == errno.EBUSY
        os.close(fd)
        until(lambda: failing(os.rmdir, foo) == 0)
        assert [os.listdir(f"{m}/{n}/instances") for n in ("both", p.pid, child, third)] == [[]] * 4
        assert failing(os.rmdir, foo) == errno.ENOENT and not os.path.exists(foo)
        # a member that comes now has none, and one that is made anew begins anew
        os.mkdir(foo)
        assert read(f"{foo}/current_tracer") == "nop\n"
        fourth = child_of(p, m, (child, third))
        until(lambda: os.listdir(f"{m}/{fourth}/instances") == ["foo"])
        assert read(f"{m}/{fourth}/instances/foo/current_tracer") == "nop\n"
        os.rmdir(foo)
        os.mkdir(f"{m}/{child}/instances/own")
        assert os.path.exists(f"{at}/instances/own/trace") and not os.path.exists(f"{m}/{p.pid}/instances/own")
        assert failing(os.mkdir, f"{at}/options/x") == failing(os.mkdir, f"{at}/x") == errno.EPERM


# For each line a child that calls leaf(1..3) at once, and ends; for `exec` one that becomes `true`,
# for `stay` one that does not end.
FORKS = r"""
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long sum;
#define FN __attribute__((noipa))
FN void leaf(int i) { sum += i; }
int main(void)
{
	char line[64];
	pid_t replaced = 0;
	puts("ready"); fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		pid_t child = fork();
		if (!child) {
			for (int i = 1; i <= 3; i++) leaf(i);
			if (!strcmp(line, "exec\n"))
				execl("/bin/sh", "sh", "-c", "echo here; read x", NULL);
			if (!strcmp(line, "stay\n"))
				pause();
			_exit(0);
		}
		if (strcmp(line, "exec\n")) {
			if (strcmp(line, "stay\n"))
				waitpid(child, NULL, 0);
			printf("%d\n", child); fflush(stdout);
		} else
			replaced = child;
	}
	if (replaced) /* it ends as its input does */
		waitpid(replaced, NULL, 0);
	return 0;
}
"""


def test_instances_of_children(w):
    """A fork's child has the session's instances from its first call on, as its parent had them."""
    prog = w.compile("forks", FORKS)
    p = subprocess.Popen([BIN, "run", "forks", "--", prog], stdin=subprocess.PIPE, cwd=w.dir,
                         stdout=subprocess.PIPE, env=w.env)
    try:
        expect(p, b"ready")
        with mounted(w) as m:
            at = f"{m}/forks/instances/foo"
            os.mkdir(at)
            assert write(f"{m}/forks/kprobe_events", "p:mine/leaf leaf n=%di:s32\n") == 0
            assert write(f"{at}/set_ftrace_filter", "leaf\n") == 0
            assert write(f"{at}/events/mine/leaf/filter", "n == 2\n") == 0
            assert write(f"{at}/events/mine/leaf/trigger", "hist:keys=n if n >= 2\n") == 0
            assert write(f"{at}/events/mine/leaf/enable", "1\n") == 0
            assert write(f"{at}/trace_options", "markers\n") == 0 and write(f"{at}/options/irq-info", "0\n") == 0
            assert write(f"{at}/set_ftrace_pid", f"{p.pid}\n") == 0
            assert write(f"{at}/options/function-fork", "1\n") == 0
            assert write(f"{at}/current_tracer", "function") == 0
            children = []
            for _ in range(3):
                tell(p, "new")
                children.append(int(p.stdout.readline()))
            trace = read(f"{at}/trace")
            for child in children:
                lines = [line for line in trace.splitlines() if re.match(rf" *forks-{child} ", line)]
                assert sum("leaf <-main" in line for line in lines) == 3, trace
                assert sum("leaf: (leaf" in line and "n=2" in line for line in lines) == 1, trace
                assert len(lines) == 4 and not any(" d..." in line for line in lines)
                assert read(f"{m}/{child}/instances/foo/current_tracer") == "function\n"
            hist = read(f"{at}/events/mine/leaf/hist")
            assert re.findall(r"{ n: +(\d) } hitcount: +(\d+)", hist) == [("2", "3"), ("3", "3")], hist
            assert "leaf" not in read(f"{m}/forks/trace")
            # exec removes the instances, as it does the area of the process; the session's are made
            # anew
            os.mkdir(f"{m}/{p.pid}/instances/own")
            tell(p, "exec")
            expect(p, b"here")
            files = sorted(f.partition("@")[2] for f in os.listdir(w.areas) if re.match(r"\d+\.\d+@", f))
            assert files == ["foo"] * 5 + ["own"], files
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()
        w.run("clean")


def test_a_child_does_not_get_writes_again(w):
    """A fork's child that lives on when the mount finds it: it has what its parent was written, and
    its counts stay."""
    prog = w.compile("forks", FORKS)
    p = subprocess.Popen([BIN, "run", "forks", "--", prog], stdin=subprocess.PIPE, cwd=w.dir,
                         stdout=subprocess.PIPE, env=w.env)
    child = 0
    try:
        expect(p, b"ready")
        with mounted(w) as m:
            at = f"{m}/forks/instances/foo"
            os.mkdir(at)
            assert write(f"{m}/forks/kprobe_events", "p:mine/leaf leaf n=%di:s32\n") == 0
            for folder in at, f"{m}/forks":
                assert write(f"{folder}/events/mine/leaf/trigger", "hist:keys=n if n >= 2\n") == 0
            assert write(f"{at}/current_tracer", "function") == 0
            tell(p, "stay")
            child = int(p.stdout.readline())
            calls = lambda: read(f"{at}/trace").count("leaf <-main")
            until(lambda: calls() == 3)
            # what the child alone is told stays, whatever the session was told before
            assert write(f"{at}/options/irq-info", "0\n") == 0
            until(lambda: read(f"{m}/{child}/instances/foo/options/irq-info") == "0\n")
            for folder in at, f"{m}/forks":
                hist = read(f"{folder}/events/mine/leaf/hist")
                assert re.findall(r"{ n: +(\d) } hitcount: +(\d+)", hist) == [("2", "1"), ("3", "1")], (folder, hist)
            assert calls() == 3
            for name in "forks", child, p.pid:
                assert read(f"{m}/{name}/error_log") == "", (name, read(f"{m}/{name}/error_log"))
    finally:
        if child:
            os.kill(child, 9)
            until(lambda: open(f"/proc/{child}/stat").read().rpartition(")")[2].split()[0] == "Z")
        p.stdin.close()
        p.wait()
        p.stdout.close()
        w.run("clean")


def test_histograms(w):
    """The counts of a process and its children, also of ended ones: entries with the same keys are
    one."""
    source = os.environ["SOURCE_DIR"]
    with open(f"{source}/tests/targets/events/calc.c", encoding="utf-8") as f:
        prog = w.compile("calc", f.read(), "-g", f"-I{source}/include", f"-I{source}/tests/targets/events")
    p = subprocess.Popen([BIN, "run", "family", "--", prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         cwd=w.dir, env=w.env)
    try:
        tell(p, "go")
        expect(p, b"done 4")
        with mounted(w) as m:
            fields, one = (f"{m}/family/events/calc/calc_{name}" for name in ("fields", "one"))
            until(lambda: os.path.exists(f"{fields}/trigger"))
            assert write(f"{fields}/trigger", "hist:keys=op:vals=flags:sort=op\n") == 0
            assert write(f"{one}/trigger", "hist:keys=at.sym\n") == 0
            children = []
            for _ in range(4):
                tell(p, "fork")
                children.append(int(p.stdout.readline().split()[1]))
            tell(p, "go")
            expect(p, b"done 5")
            # rounds 1 to 4 of the children, 5 of the parent
            want = ("# event histogram\n#\n# trigger info: hist:keys=op:vals=hitcount,flags:sort=op:size=2048 "
                    "[active]\n#\n\n{ op:          0 } hitcount:          2  flags:          6\n"
                    "{ op:          7 } hitcount:          3  flags:          9\n\n"
                    "Totals:\n    Hits: 5\n    Entries: 2\n    Dropped: 0\n")
            assert read(f"{fields}/hist") == want, read(f"{fields}/hist")
            # one function is one row, wherever it lies in each process
            assert re.search(r"^{ at: \[[0-9a-f]+\] place +} hitcount: +5$", read(f"{one}/hist"), re.M)
            own = read(f"{m}/{p.pid}/events/calc/calc_fields/hist")
            assert "Hits: 1\n" in own and "flags:          5\n" in own, own
            # of one that is dead
            dead = f"{m}/{children[0]}/events"
            assert "calc" in os.listdir(dead) and "calc_fields" in os.listdir(f"{dead}/calc")
            assert "hist" in os.listdir(f"{dead}/calc/calc_fields")
            assert "flags:          1\n" in read(f"{dead}/calc/calc_fields/hist")
            assert read(f"{dead}/calc/calc_fields/format") == read(f"{fields}/format")
            assert not os.path.exists(f"{dead}/calc/nosuch") and not os.path.exists(f"{dead}/nosuch")
            # a child that the session found while it ran counts on
            tell(p, "linger")
            p.stdout.readline()
            assert "Hits: 7\n" in read(f"{fields}/hist"), read(f"{fields}/hist")
            # cleared, or removed and made anew: the counts of dead members are gone
            assert write(f"{fields}/trigger", "hist:keys=op:vals=flags:sort=op:clear\n", 0) == 0
            assert "Hits: 0\n" in read(f"{fields}/hist")
            tell(p, "fork")
            children.append(int(p.stdout.readline().split()[1]))
            assert "Hits: 1\n" in read(f"{fields}/hist"), read(f"{fields}/hist")
            assert write(f"{fields}/trigger", "!hist:keys=op:vals=flags:sort=op\n", 0) == 0
            assert read(f"{fields}/hist") == ""
            assert write(f"{fields}/trigger", "hist:keys=op:vals=flags:sort=op\n") == 0
            assert "Hits: 0\n" in read(f"{fields}/hist")
            tell(p, "go")
            expect(p, b"done 4")
            one_hit = read(f"{fields}/hist")
            assert "Hits: 1\n" in one_hit
            p.stdin.close()
            p.wait()
            assert "Hits: 1\n" in read(f"{m}/{p.pid}/events/calc/calc_fields/hist")
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()
        w.run("clean")


def test_variables(w):
    """Synthetic events, then the triggers that make them: a member that comes later has all of it,
    in order."""
    source = os.environ["SOURCE_DIR"]
    with open(f"{source}/tests/targets/events/pairs.c", encoding="utf-8") as f:
        prog = w.compile("pairs", f.read(), "-pthread", f"-I{source}/include")
    members = []

    def start():
        members.append(subprocess.Popen([BIN, "run", "pairs", "--", prog], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=w.dir, env=w.env))
        tell(members[-1], "b 0 x 0")
        expect(members[-1], b"done 1")

    try:
        start()
        with mounted(w) as m:
            at = f"{m}/pairs/events"
            until(lambda: os.path.exists(f"{at}/pair/begin/trigger"))
            for path, line in (("../synthetic_events", "done long sum; char who[]; int id"),
                               ("pair/begin/trigger", "hist:keys=id:am=amount"),
                               ("pair/end/trigger", "hist:keys=id:sum=result+$am:onmatch(pair.begin).done($sum,who,id)"),
                               ("synthetic/done/trigger", "hist:keys=who:vals=sum:sort=who"),
                               ("synthetic/done/enable", "1")):
                assert write(f"{at}/{path}", line + "\n", 0) == 0, line
            start()
            own = f"{m}/{members[1].pid}/events"
            until(lambda: os.path.exists(f"{own}/synthetic/done/enable") and read(f"{own}/synthetic/done/enable")[0] == "1")
            for i, p in enumerate(members):
                for line in (f"b 7 who{i} 10", f"e 7 {i} x", f"b 8 both {i}", "e 8 5 y"):
                    tell(p, line)
                    p.stdout.readline()
            rows = re.findall(r"{ who: (\w+) +} hitcount: +(\d+)  sum: +(\d+)", read(f"{at}/synthetic/done/hist"))
            assert rows == [("both", "2", "11"), ("who0", "1", "10"), ("who1", "1", "11")], rows
            assert [line.split(": ", 1)[1] for line in read(f"{m}/pairs/trace").splitlines() if "done: " in line] == [
                "done: sum=10 who=who0 id=7", "done: sum=5 who=both id=8", "done: sum=11 who=who1 id=7",
                "done: sum=6 who=both id=8"]
            assert write(f"{at}/pair/begin/trigger", "!hist:keys=id:am=amount\n", 0) != 0
    finally:
        for p in members:
            p.stdin.close()
            p.wait()
            p.stdout.close()
        w.run("clean")


def test_names_of_the_source(w):
    """C++ names in the files of a process and of a session; a member that joins later gets them,
    too."""
    need("g++")
    with open(w.path("nest.cc"), "w") as f:
        f.write(NEST.replace("FN void leaf", "namespace ns {\nFN void leaf").replace("FN void mid", "}\nusing ns::leaf;\nFN void mid")
                .replace("noipa", "noinline"))
    subprocess.run(["g++", "-O1", "-w", "-fpatchable-function-entry=6", w.path("nest.cc"), "-o", w.path("nestxx")], check=True)
    with session(w, "nestxx", prog=w.path("nestxx")) as p, mounted(w) as m:
        until(lambda: os.path.exists(f"{m}/{p.pid}") and os.path.exists(f"{m}/nestxx"))
        for folder in f"{m}/{p.pid}", f"{m}/nestxx":
            write(f"{folder}/set_ftrace_filter", "ns::* mid(int)")
            assert read(f"{folder}/set_ftrace_filter").split() == ["_ZN2ns4leafEi", "_Z3midi"], folder
        write(f"{m}/nestxx/current_tracer", "function")
        child = child_of(p, m)
        until(lambda: read(f"{m}/{child}/set_ftrace_filter").split() == ["_ZN2ns4leafEi", "_Z3midi"])
        tell(p, ">1")
        expect(p, b"1")
        until(lambda: "ns4leaf" in read(f"{m}/{child}/trace"))


def test_a_mark_is_one_record(w):
    with session(w, "both") as p, mounted(w) as m:
        child = child_of(p, m)
        assert write(f"{m}/both/trace_marker", "hello\n") == 0
        assert read(f"{m}/both/trace").count(": hello") == 1
        me = f"{open('/proc/self/comm').read().strip()}-{os.getpid()} "
        assert me in read(f"{m}/{p.pid}/trace") and me not in read(f"{m}/{child}/trace")


def test_emptied(w):
    """The records of an ended member are removed with the others' buffers."""
    with session(w, "both", boot="ftrace=function") as p, mounted(w) as m:
        calls = lambda: [line.split()[0] for line in read(f"{m}/both/trace").splitlines() if " <-" in line]
        for file, text in ("trace", None), ("current_tracer", "function_graph"):
            tell(p, "new")
            expect(p, b"ready")
            child, = until(lambda: {n for n in os.listdir(m) if n.isdigit()} - {str(p.pid)})
            tell(p, ">3")
            expect(p, b"3")
            os.kill(int(child), 9)
            until(lambda: open(f"/proc/{child}/stat").read().rsplit(") ", 1)[1][0] == "Z")
            tell(p, "1")
            expect(p, b"1")
            assert f"nest-{child}" in calls() and f"nest-{p.pid}" in calls()
            assert write(f"{m}/both/{file}", text) == 0
            assert calls() == [] and not os.path.exists(f"{m}/{child}")


def test_make(w):
    """A build: the processes that make starts, and their children."""
    need("make")
    tool = w.compile("tool", STEPS.replace('puts("ready"); fflush(stdout);', ""))
    with open(w.path("Makefile"), "w") as f:
        f.write("all: " + " ".join(f"o{i}" for i in range(8)) + "\n")
        f.write(f"o%:\n\t@echo $(patsubst o%,%,$@)0 | {tool} >$@\n")
    with mounted(w) as m:
        p = subprocess.run([BIN, "run", "build", "--", "make", "-j2"], cwd=w.dir,
                           env=dict(w.env, VESTIGE_BOOT="ftrace=function"), timeout=100)
        assert p.returncode == 0
        text = read(f"{m}/build/trace")
        # o0 makes no calls, o1 10, o2 20 ...
        assert text.count(" mid <-main") == 280 and text.count(" leaf <-mid") == 560
        assert len(set(re.findall(r"tool-(\d+) ", text))) == 8
        w.run("clean")
        assert not os.path.exists(f"{m}/build")


PARTS = {
    "main.c": "int twice(int), thrice(int); int main(void) { int n = 0; for (int i = 0; i < 50; i++) n += twice(i);\n"
              "for (int i = 0; i < 7; i++) n += thrice(i); return n != 2450 + 63; }\n",
    "twice.c": "int twice(int i) { return i * 2; }\n",
    "thrice.c": "int twice(int); int thrice(int i) { return twice(i) + i; }\n",
    "Makefile": "CFLAGS = -O1 -fno-ipa-cp -fno-inline -fpatchable-function-entry=6\n"
                "check: prog\n\t./prog\nprog: main.o twice.o thrice.o\n\t$(CC) -o $@ $^\n",
}


def test_make_of_a_project(w):
    """make, the compiler's driver and what it starts, the program that was built: all are
    members."""
    need("make")
    need("gcc")
    folder = w.path("project")
    os.mkdir(folder)
    for name, text in PARTS.items():
        with open(f"{folder}/{name}", "w") as f:
            f.write(text)
    with mounted(w) as m:
        env = dict(w.env, VESTIGE_BOOT="ftrace=function trace_event=sched_process_exit trace_buf_size=64k")
        p = subprocess.run([BIN, "run", "build", "--", "make", "-j2", "CC=gcc"], cwd=folder, env=env, timeout=200,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert p.returncode == 0, p.stdout
        text = read(f"{m}/build/trace")
        assert text.count(" twice <-main") == 50 and text.count(" thrice <-main") == 7, text[-2000:]
        assert text.count(" twice <-thrice") == 7
        # each compilation has a compiler and an assembler of its own
        ended = collections.Counter(re.findall(r"sched_process_exit: comm=(\S+)", text))
        want = {"make": 1, "gcc": 4, "cc1": 3, "as": 3, "collect2": 1, "ld": 1, "prog": 1}
        assert {n: ended[n] for n in want} == want, ended
        # and is there as a process, which has ended
        pids = {n for n in os.listdir(m) if n.isdigit()}
        assert len(pids) >= sum(want.values()), pids
        assert all(write(f"{m}/{pid}/tracing_on", "1") == errno.EROFS for pid in pids)
        w.run("clean")


def test_many_members(w):
    """More than a process may have files open at first."""
    tool = w.compile("tool", STEPS.replace('puts("ready"); fflush(stdout);', ""))
    n = 600
    w.run("clean", "-k", "all")
    with mounted(w) as m:
        p = subprocess.run([BIN, "run", "many", "--", "sh", "-c",
                            f"i=0; while [ $i -lt {n} ]; do echo 1 | {tool} >/dev/null; i=$((i+1)); done"],
                           cwd=w.dir, timeout=200,
                           env=dict(w.env, VESTIGE_BOOT="ftrace=function trace_buf_size=64k"))
        assert p.returncode == 0
        assert read(f"{m}/many/trace").count(" leaf <-mid") == 2 * n
        w.run("clean")
    os.unlink(f"{w.areas}/kept")


def test_run(w):
    for args, status in ((("s", "--", "sh", "-c", "exit 7"), 7), (("s", "sh", "-c", "exit 3"), 3),
                         (("s", "--", "/nosuch"), 127), (("s", "--", "/etc/passwd"), 126),
                         (("s",), 2), ((), 2), (("1s", "true"), 2), (("a/b", "true"), 2),
                         (("kernel", "true"), 2), (("--nosuch",), 2)):
        w.run("run", *args, status=status)
    w.run("clean")


EXECS = r"""
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	if (getchar() != EOF)
		execl(argv[0], argv[0], NULL);
	return 0;
}
"""


def test_write_at_exec(w):
    """A write that comes as a member executes another program reaches it, however early."""
    where = "events/sched/sched_process_exec/filter"
    with session(w, "execs", prog=w.compile("execs", EXECS)) as p, mounted(w) as m:
        assert write(f"{m}/execs/{where}", "pid > 1000000\n") == 0
        for i in range(60):
            tell(p, "")
            expect(p, b"ready")
            # while the session's only member changes it may have no files for a moment
            until(lambda: write(f"{m}/execs/{where}", f"pid > {i}\n") == 0, 20)
            until(lambda: read(f"{m}/{p.pid}/{where}") == f"pid > {i}\n", 20)


def test_from_the_first_moment(w):
    """Earlier writes apply to a program that lives for a moment; once, and while they are in
    force."""
    exec_ = "events/sched/sched_process_exec"
    with session(w, "short") as p:
        with mounted(w) as m:
            at = f"{m}/short"
            os.mkdir(f"{at}/instances/foo")
            assert write(f"{at}/{exec_}/trigger", "hist:keys=filename\n") == 0
            assert write(f"{at}/{exec_}/enable", "1\n") == 0
            assert write(f"{at}/instances/foo/{exec_}/enable", "1\n") == 0
            for _ in range(5):
                w.run("run", "short", "--", "/bin/true")
            for where in (at, f"{at}/instances/foo"):
                assert read(f"{where}/trace").count("sched_process_exec: filename=/bin/true ") == 5, read(f"{where}/trace")
            assert re.search(r"filename: /bin/true +} hitcount: +5\n", read(f"{at}/{exec_}/hist"))
            # one that stays has each write once, and what is written later
            tell(p, "new")
            expect(p, b"ready")
            assert write(f"{at}/{exec_}/filter", "pid > 0\n") == 0
            child, = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
            assert read(f"{m}/{child}/{exec_}/trigger").count("hist:") == 1
            until(lambda: read(f"{m}/{child}/{exec_}/filter") == "pid > 0\n")
            assert read(f"{m}/{child}/{exec_}/hist").count("hitcount:          1") == 1
            # a snapshot is of all members
            assert write(f"{at}/snapshot", "1\n") == 0
            assert f" pid={child} " in read(f"{at}/snapshot") and f" pid={child} " not in read(f"{at}/trace")
            with open(f"{w.areas}/session.short", "rb") as f:
                kept = f.read()
        # the server takes it away; one that was killed leaves it, and then it means nothing
        assert not [n for n in os.listdir(w.areas) if n.startswith("session.")]
        for text in (kept, kept[:-1], b"", os.urandom(4000)):
            with open(f"{w.areas}/session.short", "wb") as f:
                f.write(text)
            tell(p, "new" if text is kept else ">new")
            expect(p, b"ready")
        with mounted(w) as m:
            youngest = max(int(n) for n in os.listdir(m) if n.isdigit())
            assert read(f"{m}/{youngest}/{exec_}/enable") == "0\n"
            # the next server takes its place
            assert write(f"{m}/short/{exec_}/enable", "1\n") == 0
            w.run("run", "short", "--", "/bin/true")
            assert read(f"{m}/short/trace").count("sched_process_exec: filename=/bin/true ") == 6
        assert not [n for n in os.listdir(w.areas) if n.startswith("session.")]


def test_enter(w):
    fuse()
    root()
    with session(w, "both") as p:
        tell(p, "new")
        expect(p, b"ready")
        w.run("enter", "both", "--", "sh", "-c", "cd /sys/kernel/tracing; "
              "echo leaf > set_ftrace_filter; echo function > current_tracer")
        tell(p, "1")
        expect(p, b"1")
        tell(p, ">2")
        expect(p, b"2")
        text = w.run("enter", "both", "--", "cat", "/sys/kernel/tracing/trace").stdout.decode()
        assert text.count("leaf <-mid") == 6, text


def test_trace_cmd(w):
    """Stock trace-cmd on a session, by pages that it splices and that it reads; a member comes
    meanwhile."""
    need("trace-cmd")
    fuse()
    root()
    for how in ([], ["--nosplice"]):
        with session(w, "both") as p:
            fifo = w.path("go")
            os.mkfifo(fifo)
            cmd = subprocess.Popen([BIN, "enter", "both", "--", "trace-cmd", "record", "-p", "function_graph",
                                    "-l", "leaf", "-l", "mid", *how, "-o", "out.dat", "sh", "-c",
                                    f"echo > {fifo}; cat {fifo}"], cwd=w.dir, env=w.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            with open(fifo) as f:
                f.read()
            tell(p, "1000")
            expect(p, b"1000")
            tell(p, "new")
            expect(p, b"ready")
            child, = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
            # it gets the writes too, soon
            until(lambda: w.run("get", "-P", child, "current_tracer").stdout == b"function_graph\n" and
                  w.run("get", "-P", child, "tracing_on").stdout == b"1\n")
            tell(p, ">2000")
            expect(p, b"2000")
            with open(fifo, "w") as f:
                f.write("\n")
            out = cmd.communicate(timeout=200)[0]
            os.unlink(fifo)
            assert cmd.returncode == 0, out
        text = subprocess.run(["trace-cmd", "report", "out.dat"], cwd=w.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True).stdout.decode()
        entries = re.findall(r"nest-(\d+) .*\| +mid\(\) {", text)
        assert collections.Counter(entries) == {str(p.pid): 1000, child: 2000}, \
            (how, collections.Counter(entries), out[-1000:], text[:1000])
        assert len(re.findall(r"us +\| +leaf\(\);", text)) == 6000


main(globals())
