#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""get, set, ls, start, stop, show, reset, extract, clean and recover work on live, stopped and dead
processes."""
import contextlib
import fcntl
import glob
import os
import re
import signal
import struct
import socket
import subprocess
import time

from cli_test import BIN, LIBRARY, Beside, children_of, main, need, root, stop, until

SOURCE = os.environ["SOURCE_DIR"]


@contextlib.contextmanager
def target(w, *args, boot="", **env):
    p = subprocess.Popen([w.prog, *(args or ("spin",))], stdout=subprocess.PIPE, cwd=w.dir,
                         env=dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT=boot, **env))
    try:
        if not args:
            assert p.stdout.readline() == b"ready\n"
        yield p
    finally:
        with contextlib.suppress(ProcessLookupError):
            p.send_signal(signal.SIGCONT)
        p.kill()
        p.wait()
        p.stdout.close()
        w.run("clean")


def get(w, p, name):
    return w.run("get", "-P", p.pid, name).stdout.decode()


def put(w, p, *args, status=0):
    return w.run("set", "-P", p.pid, *args, status=status).stderr.decode()


def said(p, word):
    """Check that stderr is one line of ours with @text in it."""
    text = p.stderr.decode() if hasattr(p, "stderr") else p
    assert text.startswith("vestige: ") and text.count("\n") == 1 and word in text, text


def calls(text):
    return set(re.findall(r": (\w+) <-", text))


def recorded(w, p, *names):
    """Wait until each of these functions has been recorded. Return: all recorded functions."""
    return until(lambda: (seen := calls(get(w, p, "trace"))) >= set(names) and seen)


def test_a_live_process_is_steered(w):
    with target(w) as p:
        assert get(w, p, "current_tracer") == "nop\n"
        assert get(w, p, "set_ftrace_filter") == "#### all functions enabled ####\n"
        assert get(w, p, "set_ftrace_notrace") == "#### no functions disabled ####\n"
        assert get(w, p, "enabled_functions") == ""
        names = get(w, p, "available_filter_functions").split()
        assert sorted(names) == ["first", "last", "leaf", "main", "mid", "thread"], names
        assert calls(get(w, p, "trace")) == set()
        put(w, p, "set_ftrace_filter", "leaf")
        put(w, p, "current_tracer", "function")
        assert get(w, p, "set_ftrace_filter") == "leaf\n"
        assert get(w, p, "enabled_functions") == "leaf (1)           \n"
        assert recorded(w, p, "leaf") == {"leaf"}
        put(w, p, "--append", "set_ftrace_filter", "m*d nosuch", status=1)
        put(w, p, "-a", "set_ftrace_filter", "m*d")
        assert get(w, p, "set_ftrace_filter") == "leaf\nmid\n"
        put(w, p, "set_ftrace_notrace", "leaf")
        assert get(w, p, "set_ftrace_notrace") == "leaf\n"
        put(w, p, "set_ftrace_filter", "")
        assert get(w, p, "set_ftrace_filter") == "#### all functions enabled ####\n"
        before = get(w, p, "trace").count("\n")
        until(lambda: get(w, p, "trace").count("\n") != before)
        text = get(w, p, "trace")
        assert text.startswith("# tracer: function\n#\n# entries-in-buffer/entries-written: ")
        assert text.rstrip().rsplit("\n", 1)[1].endswith("mid <-main"), text[-200:]
        assert f"{p.pid} calls\n" in get(w, p, "saved_cmdlines")


def test_the_only_process_needs_no_name(w):
    assert b"no traced process" in w.run("get", "trace", status=1).stderr
    with target(w) as p:
        assert w.run("get", "current_tracer").stdout == b"nop\n"
        with target(w) as q:
            said(w.run("get", "current_tracer", status=1), "2 traced processes live")
            assert get(w, q, "tracing_on") == get(w, p, "tracing_on") == "1\n"


def test_filters_change_while_it_is_recorded(w):
    r = subprocess.Popen([BIN, "record", "-q", "-l", "mid", w.prog, "spin"], cwd=w.dir, env=w.env,
                         stdout=subprocess.PIPE)
    try:
        assert r.stdout.readline() == b"ready\n"
        w.run("set", "set_ftrace_filter", "leaf")
        for _ in range(2):  # the second time all calls began later
            assert r.stdout.readline() == b"ready\n"
    finally:
        r.terminate()
        r.wait()
        r.stdout.close()
    names = re.findall(r": (\w+) <-", w.run("report", "--format=trace").stdout.decode())
    turn = names.index("leaf")
    assert turn > 10 and set(names[:turn]) == {"mid"} and set(names[turn:]) == {"leaf"}, set(names)


def test_files_are_those_of_the_engine(w):
    rows = []  # (name, scope)
    for path in glob.glob(f"{SOURCE}/engine/control/*.c"):
        with open(path) as f:
            rows += re.findall(r'^\t\{"(\w+)", 0\d+,(?: \.scope = TREE_(\w+))?', f.read(), re.M)
    assert len(rows) > 60
    with target(w) as p:
        listed = w.run("ls", "-P", p.pid).stdout.decode().split()
        assert sorted(r[0] for r in rows if r[1] not in ("CPU", "OPTION")) == \
            sorted(n for n in listed if "/" not in n)
        assert sorted("per_cpu/cpu0/" + r[0] for r in rows if r[1] == "CPU") == \
            sorted(n for n in listed if n.startswith("per_cpu/cpu0/"))
        options = [n[8:] for n in listed if n.startswith("options/")]
        shown = [n.removeprefix("no") for n in get(w, p, "trace_options").split()]
        assert set(shown) <= set(options) and "print-parent" in options
        readme = get(w, p, "README")
        assert all(f"  {r[0]}\t- " in readme for r in rows if r[1] not in ("CPU", "OPTION"))
        cpus = {n.split("/")[1] for n in listed if n.startswith("per_cpu")}
        assert "cpu0" in cpus and "per_cpu/cpu0/stats" in listed and "per_cpu/cpu0/trace" in listed
        for name in listed:
            if not re.search("trace_pipe|trace_marker|free_buffer", name):  # it waits; it cannot be read
                get(w, p, name)
        for name in ("nosuch", "per_cpu/cpu9999/stats", "per_cpu/cpu0/nosuch", "per_cpu/x", "x" * 200):
            said(w.run("get", "-P", p.pid, name, status=1), f"{name}: No such file or directory")


def test_errno_of_the_kernel(w):
    with target(w) as p:
        said(put(w, p, "current_tracer", "nosuch", status=1),
             f"current_tracer: Invalid argument: there is no tracer 'nosuch' (see `vestige get -P {p.pid} available_tracers`)")
        said(put(w, p, "tracing_on", "x", status=1), "tracing_on: Invalid argument")
        said(put(w, p, "available_tracers", "x", status=1), "available_tracers: Permission denied")
        said(put(w, p, "nosuch", "x", status=1), "nosuch: No such file or directory")
        said(put(w, p, "set_ftrace_filter", "no_such_*", status=1), "set_ftrace_filter: Invalid argument")
        assert get(w, p, "current_tracer") == "nop\n"


def test_reset_of_all(w):
    with target(w) as p:
        for name in ("one", "two"):
            w.run("start", "-P", p.pid, "-B", name)
        w.run("stop", "-P", p.pid, "-a")
        w.run("start", "-P", p.pid)
        w.run("reset", "-P", p.pid, "-a", "-t")
        assert [get(w, p, f"{at}{f}") for at in ("", "instances/one/", "instances/two/")
                for f in ("current_tracer", "tracing_on")] == ["nop\n", "1\n"] * 3
        w.run("reset", "-P", p.pid, "-a", "-d")
        assert b"instances/" not in w.run("ls", "-P", p.pid).stdout


def test_show_of_an_event(w):
    """--hist and --trigger print the files of the events that a name finds."""
    with target(w) as p:
        at = ("show", "-P", p.pid)
        w.run("set", "-P", p.pid, "events/kmem/kmalloc/trigger", "hist:keys=bytes_req")
        for flag in "hist", "trigger":
            there = w.run("get", "-P", p.pid, f"events/kmem/kmalloc/{flag}").stdout
            assert b"hist:keys=bytes_req" in there, there
            for name in "kmem:kmalloc", "kmalloc":
                assert w.run(*at, f"--{flag}", name).stdout == there
        assert w.run(*at, "-f", "--trigger", "kmalloc").stdout == b"events/kmem/kmalloc/trigger\n" + there
        assert w.run(*at, "--buffer_percent").stdout == w.run("get", "-P", p.pid, "buffer_percent").stdout
        said(w.run(*at, "--hist", "no_such", status=1), "no_such")
        said(w.run(*at, "--hist", "kmalloc", "--trigger", "kmalloc", status=2), "one file at a time")


def test_start_stop_show_reset(w):
    with target(w) as p:
        w.run("start", "-P", p.pid, "-p", "function", "-l", "mid", "-l", "leaf", "-n", "mid")
        recorded(w, p, "leaf")
        w.run("stop", "-P", p.pid)
        assert get(w, p, "tracing_on") == "0\n"
        one = w.run("show", "-P", p.pid).stdout
        time.sleep(0.05)
        two = w.run("show").stdout
        # a newer pair of clocks may move a stamp's last digit
        assert re.sub(rb"\d+\.\d{6}: ", b"", one) == re.sub(rb"\d+\.\d{6}: ", b"", two)
        assert calls(one.decode()) == {"leaf"}, one.decode()[:3000]
        w.run("reset", "-P", p.pid)
        assert get(w, p, "current_tracer") == "nop\n" and get(w, p, "tracing_on") == "1\n"
        assert get(w, p, "set_ftrace_filter").startswith("####")
        assert get(w, p, "set_ftrace_notrace").startswith("####")
        w.run("start")
        recorded(w, p, "leaf", "mid")
        assert calls(w.run("show").stdout.decode()) == {"leaf", "mid"}
        said(w.run("start", "-p", "nosuch", status=1), "current_tracer: Invalid argument: there is no tracer 'nosuch'")


def test_extract_of_a_live_process(w):
    need("trace-cmd")
    with target(w, boot="ftrace=function") as p:
        until(lambda: get(w, p, "trace").count(" mid <-") > 20)
        w.run("extract", "-P", p.pid, "-o", "x.dat")
        counts = w.counts("x.dat")
        assert counts["main"] == counts["first"] == 1 and counts["mid"] > 10, counts
        assert counts["leaf"] in range(2 * counts["mid"] - 2, 2 * counts["mid"] + 1), counts
        assert get(w, p, "tracing_on") == "1\n" and p.poll() is None
        w.run("extract", "--native", "-P", p.pid, "-o", "x.native")
        with open(w.path("x.native"), "rb") as f:
            assert f.read(8) == b"VESPOOL\0"
        assert get(w, p, "tracing_on") == "1\n" and p.poll() is None
        said(w.run("extract", "-o", "/nosuch/x.dat", status=1), "/nosuch/x.dat")
        said(w.run("extract", "--native", "-o", "/nosuch/x", status=1), "/nosuch/x")
    # the process is gone: what was taken of it is read without it
    w.run("convert", "-q", "x.native", "x.dat")
    later = w.counts("x.dat")
    assert later["main"] == later["first"] == 1 and later["mid"] >= counts["mid"], (counts, later)


def test_stats_add_up(w):
    with target(w, boot="ftrace=function") as p:
        until(lambda: get(w, p, "trace").count(" mid <-") > 20)
        put(w, p, "tracing_on", "0")
        entries = 0
        for name in w.run("ls", "-P", p.pid).stdout.decode().split():
            if not name.endswith("/stats"):
                continue
            text = get(w, p, name)
            assert re.fullmatch(r"entries: \d+\noverrun: 0\ncommit overrun: 0\nbytes: \d+\n"
                                r"oldest event ts: +\d+\.\d{6}\nnow ts: +\d+\.\d{6}\n"
                                r"dropped events: 0\nread events: 0\n", text), text
            entries += int(text.split()[1])
            lines = get(w, p, name.replace("stats", "trace"))
            assert len(re.findall(r" <-", lines)) == int(text.split()[1])
        assert entries == len(re.findall(r" <-", get(w, p, "trace"))) > 0


def test_a_stopped_process(w):
    with target(w, boot="ftrace=function ftrace_filter=mid") as p:
        assert get(w, p, "current_tracer") == "function\n"  # its agent is there
        recorded(w, p, "mid")
        stop(p)
        # it cannot be asked, but it left what it was
        assert get(w, p, "current_tracer") == "function\n"
        assert get(w, p, "per_cpu/cpu0/buffer_size_kb") != "0\n"
        begin = time.monotonic()
        said(put(w, p, "tracing_on", "0", status=1), f"process {p.pid} is stopped or hangs")
        assert time.monotonic() - begin > 1.9
        assert get(w, p, "set_ftrace_filter") == "mid\n"
        assert calls(w.run("show").stdout.decode()) == {"mid"}
        assert "current_tracer\n" in w.run("ls").stdout.decode()
        p.send_signal(signal.SIGCONT)
        assert get(w, p, "current_tracer") == "function\n"
        # a request that its client gave up was not carried out later
        assert get(w, p, "tracing_on") == "1\n"


def test_a_dead_process(w):
    with target(w, boot="ftrace=function ftrace_filter=mid") as p:
        recorded(w, p, "mid")
        p.kill()
        p.wait()
        assert get(w, p, "current_tracer") == "function\n"
        assert get(w, p, "options/print-parent") == "1\n"
        said(w.run("get", "-P", p.pid, "nosuch", status=1), "No such file")
        said(put(w, p, "tracing_on", "0", status=1), "has ended")
        said(w.run("get", "-P", p.pid, "trace_stat/function0", status=1), "has ended and left no text of it")
        said(w.run("get", "-P", p.pid, "trace_stat", status=1), "Is a directory")
        assert get(w, p, "set_ftrace_filter") == "mid\n"
        assert calls(w.run("show", "-P", p.pid).stdout.decode()) == {"mid"}
        w.run("extract", "-P", p.pid)
        assert calls(w.run("report", "--format=trace").stdout.decode()) == {"mid"}
        # all that is there, with its times, whatever the form
        w.run("extract", "--native", "-P", p.pid, "-o", "dead.native")
        # of this one reading: each measures the clock anew, which may move a time by a nanosecond
        w.run("convert", "dead.native", "dead.dat")
        assert w.run("report", "--format=trace", "dead.native").stdout == w.run("report", "--format=trace", "dead.dat").stdout
        assert w.run("profile", "dead.native").stdout == w.run("profile", "dead.dat").stdout
        assert calls(w.run("report", "--format=trace", "dead.native").stdout.decode()) == {"mid"}
        listed = w.run("ls", "-P", p.pid).stdout.decode().split()
        assert "current_tracer" in listed
        for name in listed:
            if not re.search("trace_marker|free_buffer", name):
                get(w, p, name)
        said(w.run("show", status=1), "no traced process of yours lives")
        w.run("clean")
        said(w.run("show", "-P", p.pid, status=1), f"there is no process {p.pid}")


def test_depth_is_changed_while_calls_are_open(w):
    """Calls that began under another max_graph_depth count once. A tail call is as deep as the call
    whose place it takes."""
    prog = w.compile("steps", r"""
#include <unistd.h>
__attribute__((noipa)) void last(void) { __asm__ volatile(""); }
__attribute__((noipa)) void work(void) { __asm__ volatile(""); }
__attribute__((noipa)) void step(void)
{
	char c;
	work();
	if (read(0, &c, 1) != 1 || write(1, &c, 1) != 1) _exit(0);
	last();
}
int main(void) { for (;;) step(); }
""")
    p = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd=w.dir,
                         env=dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT="ftrace=function_graph"))

    def steps():
        for _ in range(4):
            p.stdin.write(b"x")
            p.stdout.read(1)
    try:
        steps()
        for depth, want in ((2, {"step"}), (0, {"step", "work", "last"}), (3, {"step", "work", "last"}),
                            (1, set()), (2, {"step"})):
            put(w, p, "max_graph_depth", depth)
            steps()
            put(w, p, "trace", "")
            steps()
            seen = set(re.findall(r"(\w+)\(\)", get(w, p, "trace")))
            assert seen == want, (depth, seen)
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()
        w.run("clean")


def test_instances(w):
    """-B NAME works on instances of live and dead processes."""
    with target(w, boot="ftrace=function ftrace_filter=mid") as p:
        at = ("-P", p.pid, "-B", "in side")
        said(w.run("show", *at, status=1), "instances/in side: No such file or directory")
        w.run("start", *at, "-l", "leaf")
        w.run("start", "-P", p.pid, "-B", "graph", "-p", "function_graph")
        assert w.run("get", *at, "set_ftrace_filter").stdout == b"leaf\n"
        assert get(w, p, "set_ftrace_filter") == "mid\n"
        put(w, p, "-B", "graph", "set_ftrace_filter", "mid")
        put(w, p, "--append", "instances/graph/set_ftrace_filter", "leaf")
        assert get(w, p, "instances/graph/set_ftrace_filter") == "leaf\nmid\n"
        said(put(w, p, "instances/graph/max_graph_depth", "1", status=1), "No such file or directory")
        said(put(w, p, "instances/none/tracing_on", "1", status=1), "instances/none: No such file")
        listed = w.run("ls", "-P", p.pid).stdout.decode().splitlines()
        assert {"instances/in side", "instances/graph", "current_tracer"} <= set(listed), listed
        listed = w.run("ls", *at).stdout.decode().splitlines()
        assert "set_ftrace_pid" in listed and "README" not in listed, listed
        assert recorded(w, p, "mid") == {"mid"}
        until(lambda: "leaf();" in get(w, p, "instances/graph/trace") and calls(get(w, p, "instances/in side/trace")))
        assert calls(w.run("show", *at).stdout.decode()) == {"leaf"}
        w.run("start", "-P", p.pid, "-B", "short")
        w.run("reset", "-P", p.pid, "-B", "short")
        assert get(w, p, "instances/short/current_tracer") == "nop\n"
        said(w.run("reset", "-P", p.pid, "-d", status=2), "-B")
        said(w.run("reset", "-P", p.pid, "-B", "short", "-d", "-b", "100", status=2), "leave out -b")
        w.run("start", "-P", p.pid, "-B", "short2")
        w.run("reset", "-P", p.pid, "-B", "short", "-B", "short2", "-b", "72")
        assert [get(w, p, f"instances/{n}/buffer_size_kb") for n in ("short", "short2")] == ["72\n"] * 2
        assert get(w, p, "buffer_size_kb") != "72\n" and get(w, p, "instances/short2/current_tracer") == "nop\n"
        w.run("reset", "-P", p.pid, "-B", "short", "-B", "short2", "-d")
        said(w.run("stop", "-P", p.pid, "-B", "short2", status=1), "instances/short2")
        said(w.run("stop", "-P", p.pid, "-B", "short", status=1), "instances/short")
        w.run("stop", *at)
        assert get(w, p, "tracing_on") == "1\n" and w.run("get", *at, "tracing_on").stdout == b"0\n"
        p.kill()
        p.wait()
        assert calls(w.run("show", *at).stdout.decode()) == {"leaf"}
        assert w.run("get", *at, "current_tracer").stdout == b"function\n"
        assert "leaf();" in w.run("show", "-P", p.pid, "-B", "graph").stdout.decode()
        w.run("extract", *at, "-o", "side.dat")
        assert set(w.counts("side.dat")) == {"leaf"}, w.counts("side.dat")
        assert w.run("clean", "-n").stdout.decode().count("would remove") >= 3
        # another image of the process has none of it
        name = next(n for n in os.listdir(w.areas) if n.endswith("@graph"))
        with open(f"{w.areas}/{name}", "r+b") as f:
            f.seek(56)
            f.write(bytes(16))
        said(w.run("show", "-P", p.pid, "-B", "graph", status=1), "instances/graph: No such file")


def test_exec_leaves_the_old_area(w):
    with target(w, "exec", w.prog, "exec", w.prog, "calls", "3", boot="ftrace=function") as p:
        p.wait()
        names = sorted(os.listdir(w.areas), key=lambda n: int(n.split(".")[1]))
        assert len(names) == 3 and {n.split(".")[0] for n in names} == {str(p.pid)}, names
        # the program's last image is what the process shows; those before read by their paths
        assert "mid" in calls(w.run("show", "-P", p.pid).stdout.decode())
        for name in names[:2]:
            assert calls(w.run("report", "--format=trace", f"{w.areas}/{name}").stdout.decode()) == {"main", "first"}
        w.run("clean")
        assert os.listdir(w.areas) == [], os.listdir(w.areas)
    # an area without records is removed
    with target(w, "exec", w.prog, "calls", "3") as p:
        p.wait()
        assert os.listdir(w.areas) == [], os.listdir(w.areas)
    # the socket of an agent goes with its image, also where the next one has none
    with target(w, "agentless", w.prog) as p:
        assert p.stdout.readline() == b"ready\n"
        names = os.listdir(w.areas)
        assert len(names) == 1 and not names[0].endswith(".sock"), names


def test_a_process_that_is_not_traced(w):
    said(w.run("get", "-P", os.getpid(), "trace", status=1), "is not traced")
    os.mkdir(w.path("elsewhere"), 0o700)
    # each command follows the folder that the process's environment names, unless that is a link
    with target(w, VESTIGE_DIR=w.path("elsewhere")) as p:
        assert w.run("get", "-P", p.pid, "current_tracer").stdout == b"nop\n"
        os.rename(w.path("elsewhere"), w.path("moved"))
        os.symlink(w.path("moved"), w.path("elsewhere"))
        said(w.run("get", "-P", p.pid, "trace", status=1), "has libvestige.so, but its area is not where this command looks")
    said(w.run("get", "-P", 4194304 + 1, "trace", status=1), "there is no process")


def test_another_users_process(w):
    """All commands of root's follow the folder of another user's process, from root's own folder
    and from that one, and leave none of root's files there."""
    root()
    his = w.path("his_areas")
    os.chmod(w.dir, 0o755)
    os.chmod(w.prog, 0o755)
    os.mkdir(his, 0o700)
    os.chown(his, 65534, 65534)
    with subprocess.Popen([w.prog, "cat"], env=dict(w.env, VESTIGE_DIR=his), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          cwd="/", user=65534, group=65534, extra_groups=[]) as p:
        until(lambda: os.path.basename(os.readlink(f"/proc/{p.pid}/exe")) == os.path.basename(w.prog))
        for folder in his, w.areas:
            env = dict(w.env, VESTIGE_DIR=folder)
            for words in (("attach",), ("start", "-p", "function", "-P"), ("start", "-P"), ("reset", "-P"),
                          ("top", "-n", "1", "-d", "0.1", "-P"), ("stop", "-P"), ("reset", "-P"), ("detach",)):
                said = w.run(*words, p.pid, env=env).stderr.decode()
                assert "was loaded into" not in said, (folder, words, said)
            command = subprocess.Popen([BIN, "stream", "-P", str(p.pid), "-p", "function"], env=env, stdout=subprocess.PIPE)
            until(lambda: w.run("get", "-P", p.pid, "current_tracer", env=env).stdout == b"function\n")
            command.send_signal(signal.SIGINT)
            assert command.wait(60) == 0, command.returncode
            command.stdout.close()
            names = os.listdir(his)
            assert len(names) == 2 and all(n.startswith(f"{p.pid}.") for n in names), names
        p.communicate()


def has_library(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return "libvestige.so" in f.read()


def test_a_folder_that_the_engine_refuses(w):
    """The engine prints nothing: each command for the process says why it is not traced, in
    whichever environment the command runs. A folder that is not there is made."""
    outside = {"VESTIGE_DIR": ""}
    open_to_all, file = w.path("open"), w.path("file")
    os.mkdir(open_to_all, 0o755)
    with open(file, "w", encoding="utf-8"):
        pass
    os.mkdir(w.path("his"), 0o700)
    os.chown(w.path("his"), 12345, -1)
    for folder, why, does in ((open_to_all, f"its VESTIGE_DIR {open_to_all} is open to others: chmod 700", ": Operation not permitted"),
                              (file, "is no folder", ": Not a directory"),
                              (w.path("his"), "is user 12345's, and the process user 0's", ": Operation not permitted"),
                              (w.path("none/none"), "could not be made: mkdir -p -m 700", ": No such file or directory")):
        if os.geteuid() and folder == w.path("his"):
            continue
        with subprocess.Popen([w.prog, "cat"], env=dict(w.env, VESTIGE_DIR=folder, LD_PRELOAD=LIBRARY), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as p:
            p.stdin.write(b"a\n")
            p.stdin.flush()
            until(lambda: has_library(p.pid))
            for command in ("get", "-P", p.pid, "trace"), ("show", "-P", p.pid), ("attach", p.pid):
                if command[0] == "attach" and folder != w.path("none/none"):
                    continue   # it looks into the process's folder, and refuses that itself
                line = w.run(*command, status=1, env=outside).stderr.decode()
                assert (why in line or command[0] == "attach") and line.rstrip().endswith(does), (command, line)
            assert p.communicate()[0] == b"a\n"
    with target(w, VESTIGE_DIR=open_to_all, VESTIGE="0") as p:
        said(w.run("get", "-P", p.pid, "trace", status=1, env=outside), "VESTIGE=0 in its environment")
    with target(w, VESTIGE_DIR=w.path("made")) as p:
        until(lambda: os.path.isdir(w.path("made")))
        assert os.stat(w.path("made")).st_mode & 0o777 == 0o700
        until(lambda: w.run("get", "-P", p.pid, "current_tracer", status=None, env=dict(w.env, VESTIGE_DIR=w.path("made"))).stdout == b"nop\n")
    doctor = w.run("doctor", status=None, env=dict(w.env, VESTIGE_DIR=open_to_all)).stdout.decode()
    assert re.search(r"^less areas .*is open to others: chmod 700", doctor, re.M), doctor


def test_no_agent(w):
    with target(w, boot="ftrace=function", VESTIGE_AGENT="0") as p:
        said(w.run("get", "-P", p.pid, "current_tracer", status=1), "VESTIGE_AGENT=0")
        assert "mid" in recorded(w, p, "mid")
        assert "mid" in calls(w.run("show").stdout.decode())


def test_a_socket_of_somebody_else(w):
    with target(w) as p:
        get(w, p, "tracing_on")
        path = next(f"{w.areas}/{n}" for n in os.listdir(w.areas) if n.endswith(".sock"))
        os.unlink(path)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            s.listen()
            said(w.run("get", "-P", p.pid, "current_tracer", status=1), "belongs to process")


def test_flags(w):
    for command in ("get", "set", "ls", "start", "stop", "show", "reset", "extract", "clean", "recover"):
        assert w.run(command, "--help").stdout.startswith(f"usage: vestige {command} ".encode())
        said(w.run(command, "--nosuch", status=2), command)
    for command in ("ls", "stop", "show", "reset", "start", "extract", "clean"):
        said(w.run(command, "word", status=2), command)
    for pid in ("0", "-1", "x", "99999999999"):
        said(w.run("ls", "-P", pid, status=2), "not a process id")
    said(w.run("ls", "-P", status=2), "wants a value")
    said(w.run("ls", "-P", "", status=2), "wants a value")
    said(w.run("set", "tracing_on", status=2), "one text")


def test_clean(w):
    with target(w, boot="ftrace=function") as live, target(w, boot="ftrace=function") as dead:
        for p in (live, dead):
            get(w, p, "current_tracer")  # its agent is there
        dead.kill()
        dead.wait()
        before = sorted(os.listdir(w.areas))
        old = [n for n in before if n.startswith(f"{dead.pid}.")]
        assert len(old) == 2, before
        # the pid of one that lives, of another time; a link; and what no engine names so
        again = f"{live.pid}.1"
        for name in (again, "1.2.sock", "keep.1", "12"):
            with open(f"{w.areas}/{name}", "w"):
                pass
        os.symlink("/etc/passwd", f"{w.areas}/77.1")
        # files of sessions: of a server that lives, of one that was killed, of an instance
        sessions = [open(f"{w.areas}/session.{n}", "w") for n in ("lives", "killed", "killed:inst")]
        fcntl.flock(sessions[0], fcntl.LOCK_EX)
        os.symlink("/etc/passwd", f"{w.areas}/session.link")
        out = w.run("clean", "-n").stdout.decode().split("\n")
        want = sorted(old + [again, "session.killed", "session.killed:inst"])
        assert sorted(out[:-1]) == sorted(f"would remove {w.areas}/{n}" for n in want), out
        assert len(os.listdir(w.areas)) == len(before) + 9
        out = w.run("clean").stdout.decode().split("\n")
        assert sorted(out[:-1]) == sorted(f"removed {w.areas}/{n}" for n in want), out
        assert w.run("clean").stdout == b""
        assert get(w, live, "current_tracer") == "function\n"
        for name in ("1.2.sock", "keep.1", "12", "77.1", "session.lives", "session.link"):
            os.unlink(f"{w.areas}/{name}")
        for f in sessions:
            f.close()
    assert os.listdir(w.areas) == []


def test_keep(w):
    """The limit of kept areas of dead processes can be set and shown, and is obeyed."""
    for text, shown in (("5", "5 and "), ("3M", "4000 and 3 MiB"), ("7,2G", "7 and 2048 MiB"), ("2g,7", "7 and 2048 MiB"),
                        ("all", "all are kept"), ("none", "none is kept"), ("default", "4000 and ")):
        out = w.run("clean", "-k", text).stdout.decode()
        assert out.startswith(f"Areas of dead processes in {w.areas}: 0, 0 MiB; {shown}"), out
    said(w.run("clean", "--keep", "", status=2), "wants a value")
    for text in ("x", "-1", "5,", ",5", "5,6", "1G,2G", "5T", "5 ", "99999999999999999999", "99999999999G", "all,5"):
        said(w.run("clean", "--keep", text, status=1), "not a limit")
    said(w.run("clean", "-n", "-k", "5", status=2), "cannot be used together")
    w.run("clean", "-k", "2")
    env = dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT="ftrace=function")
    out = until(lambda: subprocess.run([w.prog], env=env, stdout=subprocess.DEVNULL, check=True) and
                "older ones" in (said := w.run("doctor", w.prog).stdout.decode()) and said)
    assert re.search(r"Areas of dead processes in \S+: [23], \d+ MiB; 2 and \d+ MiB are kept, \d+ older ones "
                     r"\(\d+ MiB\) were removed since \d{4}-\d\d-\d\d \d\d:\d\d \(`vestige clean --keep`\)\n$", out), out
    w.run("clean")
    os.unlink(f"{w.areas}/kept")


def test_did_you_mean(w):
    with target(w) as p:
        for words, text in ((["start", "-P", p.pid, "-p", "functoin_graph"], "did you mean function_graph?"),
                            (["start", "-P", p.pid, "-e", "sched_swich"], "did you mean sched_switch?"),
                            (["start", "-P", p.pid, "-O", "stacktarce"], "did you mean stacktrace?"),
                            (["start", "-P", p.pid, "-e", "sched:sched_swich"], "did you mean sched:sched_switch?"),
                            (["start", "-P", p.pid, "-e", "syscalls:sys_enter_opne"], "did you mean syscalls:sys_enter_open?"),
                            (["start", "-P", p.pid, "-l", "laef"], "did you mean leaf?"),
                            (["set", "-P", p.pid, "current_tracer", "xyzzyxyzzy"], f"vestige get -P {p.pid} available_tracers"),
                            (["start", "-P", p.pid, "-O", "ovrwrite"], "did you mean overwrite?")):
            err = w.run(*words, status=1).stderr.decode()
            assert text in err and err.count("\n") == 1, (words, err)
    err = w.run("record", "-q", "-e", "sys_exit_raed", "--", w.prog).stderr.decode()
    assert "no event sys_exit_raed, did you mean syscalls:sys_exit_read?" in err, err


def test_why_a_tracer_is_refused(w):
    with target(w) as p:
        absent = dict(re.findall(r"^(\S+) is absent: (.*)$", w.run("list", "-t", "-P", p.pid).stdout.decode(), re.M))
        assert absent, "nothing to refuse: no machine has power's states and the branches of a processor and all else"
        for tracer, why in absent.items():
            for words in ("set", "-P", p.pid, "current_tracer", tracer), ("start", "-P", p.pid, "-p", tracer), ("record", "-P", p.pid, "-p", tracer):
                said(w.run(*words, status=None), f"there is no tracer {tracer} here: {why}")
        said(w.run("start", "-P", p.pid, "-p", "nosuch", status=1), "there is no tracer 'nosuch'")
    for tracer, why in absent.items():
        said(w.run("record", "-p", tracer, w.prog, status=125), f"tracer {tracer} here")


def test_recover(w):
    need("trace-cmd")
    r = subprocess.Popen([BIN, "record", "-q", w.prog, "spin"], cwd=w.dir, env=w.env,
                         stdout=subprocess.PIPE)
    assert r.stdout.readline() == b"ready\n"
    until(lambda: w.run("report", "--format=trace", f"trace.dat.spool.{r.pid}", status=None).stdout.count(b" mid <-") > 20)
    child = children_of(r.pid)[0]
    r.kill()
    r.wait()
    r.stdout.close()
    os.kill(child, signal.SIGKILL)
    spool = next(n for n in os.listdir(w.dir) if ".spool." in n)
    w.run("recover", "-o", "saved.dat", spool)
    counts = w.counts("saved.dat")
    assert counts["main"] == counts["first"] == 1 and counts["mid"] > 10, counts
    said(w.run("recover", "saved.dat", status=1), "is not a spool")
    os.unlink(w.path(spool))
    until(lambda: not os.path.exists(f"/proc/{child}"))
    w.run("clean")


TWICE = r"""
#include <signal.h>
#include <stdio.h>
#define FN __attribute__((noipa))
FN void leaf(int i) { (void)i; }
FN void before(void) { for (int i = 0; i < 3000; i++) leaf(i); }
FN void after(void) { for (int i = 0; i < 2000; i++) leaf(i); }
int main(void)
{
	before();
	puts("ready");
	fflush(stdout);
	getchar();
	after();
	puts("ready");
	fflush(stdout);
	getchar();
	raise(SIGKILL);
	return 0;
}
"""


def test_recover_takes_what_the_area_still_has(w):
    """The recorder is killed amid the recording: recover has all records up to the program's end,
    each once."""
    need("trace-cmd")
    with Beside(w, BIN, "record", "-q", "--", w.compile("twice", TWICE)) as r:
        r.is_ready()
        spool = f"trace.dat.spool.{r.pid}"
        child = children_of(r.pid)[0]
        r.p.kill()
        r.p.wait()
        r.p.stdin.write(b"x")
        r.p.stdin.flush()
        r.is_ready()
        all_calls = {"main": 1, "before": 1, "after": 1, "leaf": 5000}
        # while the program runs, and after its end
        for ends in False, True:
            if ends:
                r.p.stdin.write(b"x")
                r.p.stdin.flush()
                until(lambda: not os.path.exists(f"/proc/{child}"))
            err = w.run("recover", "-o", "saved.dat", spool).stderr.decode()
            assert w.counts("saved.dat") == all_calls, w.counts("saved.dat")
            assert "5003 records are read, with those that the areas of 1 process still had" in err, err
        said(w.run("report", spool), "`vestige recover` takes those that are left")
    with open(w.path(spool), "rb") as f:
        whole = f.read()
    # of a recorder that was killed before it had written a word about the program
    head = struct.unpack_from("=QHHI", whole)[3]
    with open(w.path(spool), "wb") as f:
        f.write(whole[:head])
    left = w.counts("saved.dat") if not w.run("recover", "-o", "saved.dat", spool).returncode else {}
    assert left["leaf"] >= 2000 and left["after"] == 1, left
    w.run("clean")
    # nothing is anywhere: the file that is written has no record
    err = w.run("recover", "-o", "saved.dat", spool, status=None)
    assert err.returncode == 1 and b"nothing was recorded" in err.stderr or w.counts("saved.dat") == {}, err
    os.unlink(w.path(spool))


main(globals())
