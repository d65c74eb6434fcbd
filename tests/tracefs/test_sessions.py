#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A session is a process with all that it starts: one set of control files serves all members.
Each value of the session's files is compared with the values of the members' own files."""
import collections
import contextlib
import errno
import os
import re
import signal
import struct
import subprocess
import threading
import time

from mount_test import (BIN, joined, main, mounted, need, nonblock, read, state_of, sub_buffer_events, until, write)
from session_test import NEST, child_of, expect, failing, session, send, take


def test_deepest_stack(w):
    """A session's stack_trace and stack_max_size are of the member with the deepest stack."""
    with session(w, "deep", boot="stacktrace") as p, mounted(w) as m:
        send(p, "new")
        expect(p, b"ready")
        until(lambda: len([n for n in os.listdir(m) if n.isdigit()]) == 2)
        child, = {int(n) for n in os.listdir(m) if n.isdigit()} - {p.pid}
        send(p, "1")
        expect(p, b"1")
        send(p, ">1")
        expect(p, b"1")
        sizes = {pid: int(read(f"{m}/{pid}/stack_max_size")) for pid in (p.pid, child)}
        assert all(sizes.values()), sizes
        assert int(read(f"{m}/deep/stack_max_size")) == max(sizes.values())
        assert read(f"{m}/deep/stack_trace") in [read(f"{m}/{pid}/stack_trace") for pid in sizes]
        assert write(f"{m}/{child}/stack_max_size", "1000000") == 0
        assert read(f"{m}/deep/stack_max_size") == "1000000\n"
        assert write(f"{m}/deep/stack_max_size", "0") == 0
        assert [read(f"{m}/{pid}/stack_max_size") for pid in sizes] == ["0\n"] * 2


def test_pipe_in_order_of_time(w):
    """trace_pipe of a session gives each record of each member once, in order of time. Members call
    at the same time; one comes later, one has ended."""
    with session(w, "both", boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at, texts = f"{m}/both", []
        child = child_of(p, m)
        t = threading.Thread(target=take, args=(f"{at}/trace_pipe", texts))
        t.start()
        for _ in range(20):
            send(p, ">1000")
            send(p, "1000")
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
        send(p, ">1000")
        expect(p, b"1000")
        os.kill(third, 9)
        send(p, "500")
        expect(p, b"500")
        until(lambda: b"".join(texts).count(b" <-") >= 3 * 41500)
        assert write(f"{at}/tracing_on", "0") == 0
        joined(t)
        lines = b"".join(texts).decode().splitlines()
        by_pid = collections.Counter(int(line.split()[0].rsplit("-", 1)[1]) for line in lines)
        assert by_pid == {p.pid: 3 * 20500, child: 3 * 20000, third: 3 * 1000}, by_pid
        stamps = [line.split()[3] for line in lines]
        assert stamps == sorted(stamps, key=lambda s: float(s[:-1]))
        assert read(f"{at}/trace").count(" <-") == 0
        assert write(f"{at}/current_tracer", "nop") == 0


def test_wrong_filter(w):
    """A wrong filter or trigger is an error of the session, too, with the errno of a process."""
    with session(w, "wrong") as p, mounted(w) as m:
        assert p.poll() is None
        for dir_ in f"{m}/wrong", f"{m}/{p.pid}":
            at = f"{dir_}/events/sched/sched_process_fork"
            for text, err in (('parent_comm == "a', errno.ESRCH), ("(parent_pid == 1", errno.ENOENT),
                              ("parent_pid == 1)", errno.EPERM), ("nosuch == 1", errno.EINVAL)):
                assert write(f"{at}/filter", text) == err, (dir_, text)
                assert write(f"{at}/trigger", f"traceoff if {text}") == err, (dir_, text)


def mount_server(w):
    """The process that serves the mount."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
            if b"mount" in words and w.path("mnt").encode() in words:
                return int(pid)
    raise AssertionError("no server")


def test_pipe_of_a_server_that_is_late(w):
    """The server of the mount does not run while a member comes and calls, for longer than a reader
    holds records back: all come in order of time."""
    with session(w, "late", boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at, texts, nr = f"{m}/late", [], 8
        child_of(p, m)      # of one member nothing is held
        server = mount_server(w)
        t = threading.Thread(target=take, args=(f"{at}/trace_pipe", texts))
        t.start()
        for n in range(nr):
            os.kill(server, signal.SIGSTOP)
            send(p, "new")
            expect(p, b"ready")
            for who in ">", "", ">", "":
                send(p, who + "20")
                expect(p, b"20")
            time.sleep(.08)     # what is held may go now
            os.kill(server, signal.SIGCONT)
            until(lambda n=n: b"".join(texts).count(b" <-") == 3 * 80 * (n + 1))
        assert write(f"{at}/tracing_on", "0") == 0
        joined(t)
        lines = b"".join(texts).decode().splitlines()
        stamps = [line.split()[3] for line in lines]
        assert stamps == sorted(stamps, key=lambda s: float(s[:-1]))
        assert len({line.split()[0] for line in lines}) == nr + 1


def test_pipes_after_exec(w):
    """A member becomes another program. A reader of trace_pipe gets its calls from before, and an
    end: of the session and its instance when tracing is switched off, of the member's old files at
    once."""
    with session(w, "forks", "ftrace=function ftrace_filter=leaf", w.compile("forks", FORKS)) as p, mounted(w) as m:
        foo = f"{m}/forks/instances/foo"
        os.mkdir(foo)
        assert write(f"{foo}/set_ftrace_filter", "leaf\n") == 0
        assert write(f"{foo}/current_tracer", "function") == 0
        send(p, "halt")
        child, = until(lambda: {int(n) for n in os.listdir(m) if n.isdigit()} - {p.pid})
        until(lambda: state_of(child) == "T")
        readers = []
        for at in f"{m}/forks", foo, f"{m}/{child}", f"{m}/{child}/instances/foo":
            # a record goes to one reader: the member's files are opened when all is taken
            fd = os.open(f"{at}/trace_pipe", os.O_RDONLY)
            readers.append((texts := [], threading.Thread(target=take, args=(fd, texts))))
            readers[-1][1].start()
            if at in (f"{m}/forks", foo):
                until(lambda t=texts: b"".join(t).count(b"leaf <-main") == 3)
        os.kill(child, signal.SIGCONT)
        expect(p, b"here")
        for texts, t in readers[2:]:
            joined(t)
            assert not texts, texts
        send(p, "call")
        until(lambda: all(b"".join(texts).count(b"leaf <-main") == 6 for texts, _ in readers[:2]))
        for at, (texts, t) in zip((f"{m}/forks", foo), readers):
            assert t.is_alive()
            assert write(f"{at}/tracing_on", "0") == 0
            joined(t)


def test_the_only_member_becomes_another_program(w):
    """Readers of a session's trace_pipe and trace_pipe_raw, and of its instance, go on."""
    prog = w.compile("nest", NEST)
    for n in range(6):
        with session(w, "solo", "ftrace=function ftrace_filter=leaf", ["sh", "-c", f"echo ready; read line; exec {prog}"]) as p, \
                mounted(w) as m:
            at, foo, readers = f"{m}/solo", f"{m}/solo/instances/foo", []
            os.mkdir(foo)
            assert write(f"{foo}/current_tracer", "function") == 0
            paths = [f"{at}/trace_pipe", f"{foo}/trace_pipe"]
            paths += [f"{at}/per_cpu/{c}/trace_pipe_raw" for c in os.listdir(f"{at}/per_cpu")]
            for path in paths[:1] if n % 2 else paths[1:]:
                readers.append((texts := [], threading.Thread(target=take, args=(os.open(path, os.O_RDONLY), texts))))
                readers[-1][1].start()
            send(p, "go")
            expect(p, b"ready")
            send(p, "5")
            expect(p, b"5")
            until(lambda: any(b"".join(texts) for texts, _ in readers))
            time.sleep(0.05)
            assert all(t.is_alive() for _, t in readers), [b"".join(texts)[-100:] for texts, _ in readers]
            p.stdin.close()
            p.wait()
            for _, t in readers:
                joined(t)


def test_raw_pages(w):
    """trace_pipe_raw of each CPU gives each call of each member, also of one that comes later."""
    with session(w, "both", boot="ftrace=function_graph ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at, known = f"{m}/both/per_cpu", []
        fds = [nonblock(f"{at}/{c}/trace_pipe_raw") for c in os.listdir(at)]
        calls = collections.Counter()
        for n in (10, 100, 1000):
            known.append(child_of(p, m, known))
            size = lambda name: int(read(f"{m}/{name}/buffer_total_size_kb"))
            until(lambda: size("both") == sum(map(size, (p.pid, *known))))
            send(p, f">{n}")
            send(p, f"{n}")
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
    """An instance of a session is an instance of each member, also of a member that comes later."""
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
        send(p, "2")
        send(p, ">3")
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


# For each line a child that calls leaf(1..3) at once, and ends; for `exec` one that becomes a
# shell, for `halt` one that stops itself before that, for `stay` one that does not end.
FORKS = r"""
#include <signal.h>
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
			if (!strcmp(line, "halt\n"))
				raise(SIGSTOP);
			if (strstr("exec\n halt\n", line))
				execl("/bin/sh", "sh", "-c", "echo here; read x", NULL);
			if (!strcmp(line, "stay\n"))
				pause();
			_exit(0);
		}
		if (!strstr("exec\n halt\n", line)) {
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
    with session(w, "forks", prog=w.compile("forks", FORKS)) as p, mounted(w) as m:
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
            send(p, "new")
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
        send(p, "exec")
        expect(p, b"here")
        files = sorted(f.partition("@")[2] for f in os.listdir(w.areas) if re.match(r"\d+\.\d+@", f))
        assert files == ["foo"] * 5 + ["own"], files


def test_a_child_does_not_get_writes_again(w):
    """A fork's child has its parent's settings. When the mount finds it, no write is repeated and
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
            send(p, "stay")
            child = int(p.stdout.readline())
            calls = lambda: read(f"{at}/trace").count("leaf <-main")
            until(lambda: calls() == 3)
            # a later write to the child alone stays: earlier writes to the session are not repeated
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
            until(lambda: state_of(child) == "Z")
        p.stdin.close()
        p.wait()
        p.stdout.close()
        w.run("clean")


def test_histograms(w):
    """A session's histogram sums the members' entries with equal keys, also of members that have
    ended."""
    source = os.environ["SOURCE_DIR"]
    with open(f"{source}/tests/targets/events/calc.c", encoding="utf-8") as f:
        prog = w.compile("calc", f.read(), "-g", f"-I{source}/include", f"-I{source}/tests/targets/events")
    p = subprocess.Popen([BIN, "run", "family", "--", prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         cwd=w.dir, env=w.env)
    try:
        send(p, "go")
        expect(p, b"done 4")
        with mounted(w) as m:
            fields, one = (f"{m}/family/events/calc/calc_{name}" for name in ("fields", "one"))
            until(lambda: os.path.exists(f"{fields}/trigger"))
            assert write(f"{fields}/trigger", "hist:keys=op:vals=flags:sort=op\n") == 0
            assert write(f"{one}/trigger", "hist:keys=at.sym\n") == 0
            children = []
            for _ in range(4):
                send(p, "fork")
                children.append(int(p.stdout.readline().split()[1]))
            send(p, "go")
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
            # a dead member's counts
            dead = f"{m}/{children[0]}/events"
            assert "calc" in os.listdir(dead) and "calc_fields" in os.listdir(f"{dead}/calc")
            assert "hist" in os.listdir(f"{dead}/calc/calc_fields")
            assert "flags:          1\n" in read(f"{dead}/calc/calc_fields/hist")
            assert read(f"{dead}/calc/calc_fields/format") == read(f"{fields}/format")
            assert not os.path.exists(f"{dead}/calc/nosuch") and not os.path.exists(f"{dead}/nosuch")
            # a child that the session found while it ran counts on
            send(p, "linger")
            p.stdout.readline()
            assert "Hits: 7\n" in read(f"{fields}/hist"), read(f"{fields}/hist")
            # cleared, or removed and made anew: the counts of dead members are gone
            assert write(f"{fields}/trigger", "hist:keys=op:vals=flags:sort=op:clear\n", 0) == 0
            assert "Hits: 0\n" in read(f"{fields}/hist")
            send(p, "fork")
            children.append(int(p.stdout.readline().split()[1]))
            assert "Hits: 1\n" in read(f"{fields}/hist"), read(f"{fields}/hist")
            assert write(f"{fields}/trigger", "!hist:keys=op:vals=flags:sort=op\n", 0) == 0
            assert read(f"{fields}/hist") == ""
            assert write(f"{fields}/trigger", "hist:keys=op:vals=flags:sort=op\n") == 0
            assert "Hits: 0\n" in read(f"{fields}/hist")
            send(p, "go")
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
    """A member that comes later gets the session's synthetic events first, then the triggers that
    make them."""
    source = os.environ["SOURCE_DIR"]
    with open(f"{source}/tests/targets/events/pairs.c", encoding="utf-8") as f:
        prog = w.compile("pairs", f.read(), "-pthread", f"-I{source}/include")
    members = []

    def start():
        members.append(subprocess.Popen([BIN, "run", "pairs", "--", prog], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=w.dir, env=w.env))
        send(members[-1], "b 0 x 0")
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
                    send(p, line)
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
    """C++ names work in the files of a process and of a session, also for a member that joins
    later."""
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
        send(p, ">1")
        expect(p, b"1")
        until(lambda: "ns4leaf" in read(f"{m}/{child}/trace"))


def test_a_mark_is_one_record(w):
    with session(w, "both") as p, mounted(w) as m:
        child = child_of(p, m)
        assert write(f"{m}/both/trace_marker", "hello\n") == 0
        assert read(f"{m}/both/trace").count(": hello") == 1
        me = f"{open('/proc/self/comm').read().strip()}-{os.getpid()} "
        assert me in read(f"{m}/{p.pid}/trace") and me not in read(f"{m}/{child}/trace")


def test_times_are_not_added_up(w):
    """The stamps in a session's statistics are a member's."""
    with session(w, "both") as p, mounted(w) as m:
        children = []
        for _ in range(2):
            send(p, "new")
            expect(p, b"ready")
            children = until(lambda n=len(children): (found := [c for c in os.listdir(m) if c.isdigit() and c != str(p.pid)])[n:] and found)
        assert write(f"{m}/both/trace_clock", "counter") == 0
        assert write(f"{m}/both/current_tracer", "function") == 0
        send(p, "3")
        expect(p, b"3")
        send(p, ">2")
        expect(p, b"2")
        assert write(f"{m}/both/tracing_on", "0") == 0
        for cpu in range(os.cpu_count()):
            stamps = lambda who, cpu=cpu: re.findall(r" ts: (\d+)$", read(f"{m}/{who}/per_cpu/cpu{cpu}/stats"), re.M)
            members = [stamps(c) for c in [str(p.pid), *children]]
            assert stamps("both") in members, (stamps("both"), members)


def test_stopped_members(w):
    """All members that cannot answer together are waited for as long as one of them."""
    with session(w, "many") as p, mounted(w) as m:
        for nr in range(1, 6):
            send(p, "new")
            expect(p, b"ready")
            until(lambda nr=nr: sum(n.isdigit() for n in os.listdir(m)) == nr + 1)
        members = [int(n) for n in os.listdir(m) if n.isdigit()]
        try:
            for pid in members:
                os.kill(pid, signal.SIGSTOP)
                until(lambda pid=pid: state_of(pid) == "T")
            begun = time.monotonic()
            assert write(f"{m}/many/tracing_on", "0") in (errno.EIO, errno.ETIMEDOUT)
            # one takes two seconds
            assert time.monotonic() - begun < 8, time.monotonic() - begun
        finally:
            for pid in members:
                os.kill(pid, signal.SIGCONT)


def test_emptied(w):
    """The records of an ended member are removed with the others' buffers."""
    with session(w, "both", boot="ftrace=function") as p, mounted(w) as m:
        calls = lambda: [line.split()[0] for line in read(f"{m}/both/trace").splitlines() if " <-" in line]
        for file, text in ("trace", None), ("current_tracer", "function_graph"):
            send(p, "new")
            expect(p, b"ready")
            child, = until(lambda: {n for n in os.listdir(m) if n.isdigit()} - {str(p.pid)})
            send(p, ">3")
            expect(p, b"3")
            os.kill(int(child), 9)
            until(lambda: open(f"/proc/{child}/stat").read().rsplit(") ", 1)[1][0] == "Z")
            send(p, "1")
            expect(p, b"1")
            assert f"nest-{child}" in calls() and f"nest-{p.pid}" in calls()
            assert write(f"{m}/both/{file}", text) == 0
            assert calls() == [] and not os.path.exists(f"{m}/{child}")


main(globals())
