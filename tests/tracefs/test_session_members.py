#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Members of a session are found when they start, have earlier writes from their first instruction
on, and leave."""
import collections
import contextlib
import errno
import os
import re
import subprocess

from mount_test import (BIN, STEPS, cpu_seconds, fuse, main, mounted, need, read, root, server_of, until, write)
from session_test import expect, offset_of, send, session


def test_the_dead_cost_nothing(w):
    """Control files of a session cost the same after hundreds of short members as after one."""
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
    """The server keeps no file open of a session whose files were read once and never written."""
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
        send(p, "new")
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
        send(p, "2")
        expect(p, b"2")
        send(p, ">3")
        expect(p, b"3")
        lines = [line.split() for line in read(f"{at}/trace").splitlines() if " <-" in line]
        assert [line[0].rsplit("-", 1)[1] for line in lines] == [str(p.pid)] * 4 + [str(child)] * 6
        assert [line[3] for line in lines] == sorted((line[3] for line in lines),
                                                     key=lambda s: float(s[:-1]))
        send(p, "new")
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
        # trace_pipe takes all records, so that the second reader has to wait
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
    """A new member carries out earlier writes once, before its own code runs."""
    prog = w.compile("short", SHORT, "-g")
    with session(w, "brief") as p, mounted(w) as m:
        at = f"{m}/brief"

        def run_some(n=5):
            for _ in range(n):
                subprocess.run([BIN, "run", "brief", "--", prog], env=w.env, check=True)

        def calls():
            return collections.Counter(re.findall(r"short-\d+ .* (\w+):? .*n=(\d+)", read(f"{at}/trace")))

        send(p, "1")
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
    """A probe on a named argument is in a new member from its first instruction on, where its own
    build has the argument."""
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

        # another build: it gets the writes in their order, the definition and then the switch
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


def test_make(w):
    """All processes that make starts, and their children, are members of the session."""
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
    """make, the compiler's driver, its children and the program that was built are all members."""
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
    """A session may have more members than the soft limit of open files."""
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
    """A write during a member's execve() reaches the new program, however early it comes."""
    where = "events/sched/sched_process_exec/filter"
    with session(w, "execs", prog=w.compile("execs", EXECS)) as p, mounted(w) as m:
        assert write(f"{m}/execs/{where}", "pid > 1000000\n") == 0
        for i in range(60):
            send(p, "")
            expect(p, b"ready")
            # while the session's only member changes it may have no files for a moment
            until(lambda: write(f"{m}/execs/{where}", f"pid > {i}\n") == 0, 20)
            until(lambda: read(f"{m}/{p.pid}/{where}") == f"pid > {i}\n", 20)


def test_from_the_first_moment(w):
    """Earlier writes apply once to a very short program, and only while they are in force."""
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
            send(p, "new")
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
            send(p, "new" if text is kept else ">new")
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
        send(p, "new")
        expect(p, b"ready")
        w.run("enter", "both", "--", "sh", "-c", "cd /sys/kernel/tracing; "
              "echo leaf > set_ftrace_filter; echo function > current_tracer")
        send(p, "1")
        expect(p, b"1")
        send(p, ">2")
        expect(p, b"2")
        text = w.run("enter", "both", "--", "cat", "/sys/kernel/tracing/trace").stdout.decode()
        assert text.count("leaf <-mid") == 6, text


def test_trace_cmd(w):
    """Stock trace-cmd records a session, by spliced and by read pages, while a member comes."""
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
            send(p, "1000")
            expect(p, b"1000")
            send(p, "new")
            expect(p, b"ready")
            child, = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
            # it gets the writes too, soon
            until(lambda: w.run("get", "-P", child, "current_tracer").stdout == b"function_graph\n" and
                  w.run("get", "-P", child, "tracing_on").stdout == b"1\n")
            send(p, ">2000")
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
