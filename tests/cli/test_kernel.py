#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The kernel as a target (-k), in an instance of the test's own; clear, restart, show and snapshot
of the kernel and of a process, against what trace-cmd says and does."""
import contextlib
import glob
import os
import re
import shutil
import subprocess

import cli_test
from cli_test import BIN, Skip, main, need, root, spinning, until
from kernel_instance import make_instance

TRACING = "/sys/kernel/tracing"


@contextlib.contextmanager
def instance(w, name=""):
    """The name and the folder of an instance of the kernel's."""
    root()
    if not os.path.isdir(TRACING + "/instances"):
        raise Skip("no tracefs")
    name = f"vestige-test-{os.getpid()}{name}"
    folder = f"{TRACING}/instances/{name}"
    make_instance(folder)
    try:
        yield name, folder
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(folder)


def read(*path):
    with open("/".join(path)) as f:
        return f.read()


def write(text, *path):
    with open("/".join(path), "w") as f:
        f.write(text)


def settings(folder):
    """The instance's settings that a command could change."""
    return {f: read(folder, f) for f in ("tracing_on", "current_tracer", "buffer_size_kb", "trace_clock",
                                         "tracing_cpumask", "trace_options", "set_event")}


def trace_cmd(w, *args):
    need("trace-cmd")
    p = subprocess.run(["trace-cmd", *args], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return p.stdout.decode()


def lines(text):
    return [l for l in text.splitlines() if l and not l.startswith("#")]


def test_files(w):
    with cli_test.kernel_alone():
        check_files(w)


def check_files(w):
    top = settings(TRACING)
    with instance(w) as (name, folder):
        at = ("-k", "-B", name)
        assert w.run("get", *at, "tracing_on").stdout == b"1\n"
        w.run("set", *at, "buffer_size_kb", "64")
        assert read(folder, "buffer_size_kb") == w.run("get", *at, "buffer_size_kb").stdout.decode()
        assert 64 <= int(read(folder, "buffer_size_kb")) < 100  # it rounds
        assert w.run("get", "-k", f"instances/{name}/buffer_size_kb").stdout.decode() == read(folder, "buffer_size_kb")
        names = w.run("ls", *at).stdout.decode().split()
        assert {"trace", "events/enable", "per_cpu/cpu0/stats", "events/sched/sched_switch/format"} <= set(names)
        assert not any(n.startswith("instances") for n in names)
        for words, why in ((["get", *at, "nosuch"], "nosuch: No such file"), (["get", "-k", "-P", "1", "trace"], "name one of them"),
                           (["set", *at, "tracing_on", "x"], "tracing_on: Invalid argument"),
                           (["get", "-k", "-B", "..", "trace"], "Invalid argument"),
                           (["get", "-k", "-B", "no/such", "trace"], "Invalid argument"),
                           (["get", "-k", "-B", "nosuch", "trace"], "the kernel has no instance 'nosuch' (`vestige list -k -B` shows"),
                           (["stop", "-k", "-B", "nosuch"], "the kernel has no instance 'nosuch' (`vestige list -k -B` shows"),
                           (["set", "-k", "-B", name, "-C", "nosuch"], "there is no clock 'nosuch' (see `vestige get -k trace_clock`)"),
                           (["set", "-k", "-B", name, "-C", "mon"], "there is no clock 'mon', did you mean mono?"),
                           (["set", "-k", "-B", name, "-p", "xyzzyxyzzy"], "(see `vestige get -k available_tracers`)"),
                           (["start", "-k", "-B", name, "-e", "xyzzyxyzzy"], "(see `vestige get -k available_events`)"),
                           (["set", "-k", "-B", name, "-O", "xyzzyxyzzy"], "(see `vestige get -k trace_options`)"),
                           (["top", "-k", "-d", "1", "-n", "1", "-e", "xyzzyxyzzy"], "(see `vestige get -k available_events`)"),
                           (["get", "-k", "-B", name, "stack_trace"], "stack_trace: instances do not have it")):
            err = w.run(*words, status=1).stderr.decode()
            assert why in err and err.count("\n") == 1, err
    assert settings(TRACING) == top


def test_fix_is_named(w):
    """What the kernel refuses, and what it has not, says what to do."""
    root()
    if not os.path.isdir(TRACING + "/instances"):
        raise Skip("no tracefs")
    for file, config in (("set_graph_function", "FUNCTION_GRAPH_TRACER"), ("stack_trace", "STACK_TRACER")):
        if not os.path.exists(f"{TRACING}/{file}"):
            err = w.run("get", "-k", file, status=1).stderr.decode()
            assert err == f"vestige: {file}: this kernel was built without CONFIG_{config}: No such file or directory\n", err
    try:
        with open(TRACING + "/set_ftrace_filter", "rb"):
            pass
    except PermissionError:
        err = w.run("set", "-k", "-l", "schedule", status=1).stderr
        assert b"the kernel forbids it here, to root too" in err and b"events (-e)" in err, err
    except FileNotFoundError:
        pass
    if os.stat(TRACING).st_mode & 0o005 or not shutil.which("setpriv"):
        return
    p = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", BIN, "get", "-k", "tracing_on"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, env=w.env)
    assert p.returncode == 1 and b"run this as root (sudo)" in p.stderr, p


def test_list(w):
    root()
    if os.path.isdir(TRACING + "/instances"):
        assert w.run("list", "-t", "-k").stdout.decode() == read(TRACING, "available_tracers")


def test_clear(w):
    """Like trace-cmd's, clear empties the named buffers and changes nothing else."""
    with instance(w, "a") as (one, a), instance(w, "b") as (two, b):
        for folder in (a, b):
            write("100", folder, "buffer_size_kb")
            write("1", folder, "tracing_on")
            write("from a test\n", folder, "trace_marker")
        before = settings(a)
        assert "from a test" in read(a, "trace")
        w.run("clear", "-k", "-B", one)
        assert lines(read(a, "trace")) == [] and "from a test" in read(b, "trace") and settings(a) == before
        write("again\n", a, "trace_marker")
        w.run("clear", "-k", "-B", one, "-B", two)
        assert lines(read(a, "trace")) == lines(read(b, "trace")) == []
        write("again\n", a, "trace_marker")
        trace_cmd(w, "clear", "-B", one)
        assert lines(read(a, "trace")) == []
        assert b"nosuch" in w.run("clear", "-k", "-B", "nosuch", status=1).stderr


def test_stop_and_restart(w):
    with cli_test.kernel_alone(), instance(w, "a") as (one, a), instance(w, "b") as (two, b):
        w.run("stop", "-k", "-B", one)
        assert (read(a, "tracing_on"), read(b, "tracing_on"), read(TRACING, "tracing_on")) == ("0\n", "1\n", "1\n")
        w.run("restart", "-k", "-B", one)
        w.run("stop", "-k", "-B", one, "-B", two)
        assert read(a, "tracing_on") == read(b, "tracing_on") == "0\n" and read(TRACING, "tracing_on") == "1\n"
        trace_cmd(w, "restart", "-B", one, "-B", two)
        assert read(a, "tracing_on") == read(b, "tracing_on") == "1\n"
        w.run("stop", "-k", "-B", two)
        w.run("restart", "-k", "-B", two)
        assert read(b, "tracing_on") == "1\n"


def test_show(w):
    with instance(w) as (name, folder):
        at = ("-k", "-B", name)
        write("one line\n", folder, "trace_marker")
        assert w.run("show", *at).stdout.decode() == read(folder, "trace") == trace_cmd(w, "show", "-B", name)
        cpus = [glob.glob(f"{folder}/per_cpu/cpu*")[0][-1]]
        for cpu in cpus:
            assert w.run("show", *at, "-c", cpu).stdout.decode() == trace_cmd(w, "show", "-B", name, "-c", cpu)
        for flag in ("tracing_on", "current_tracer", "buffer_size", "buffer_total_size", "cpumask"):
            ours, theirs = w.run("show", *at, "--" + flag).stdout.decode(), trace_cmd(w, "show", "-B", name, "--" + flag)
            assert ours.strip() == theirs.strip() and ours.strip(), (flag, ours, theirs)
        assert w.run("show", *at, "-f", "--tracing_on").stdout == b"tracing_on\n1\n"
        with subprocess.Popen([BIN, "show", *at, "-p"], stdout=subprocess.PIPE) as p:
            assert b"one line" in p.stdout.readline()
            write("and one more\n", folder, "trace_marker")
            assert b"and one more" in p.stdout.readline()
            p.send_signal(2)
            assert p.wait() == 0
        assert lines(read(folder, "trace")) == []
        for words in (["-p", "-s"], ["-c", "x"], ["-s", "--tracing_on"], ["--tracing_on", "--cpumask"], ["-c", "0", "--cpumask"]):
            assert b"(see vestige show --help)" in w.run("show", *at, *words, status=2).stderr


def test_start_and_reset(w):
    with instance(w) as (name, folder):
        at = ("-k", "-B", name)
        write("0", folder, "tracing_on")
        w.run("start", *at, "-e", "sched:sched_switch", "-e", "irq")
        events = read(folder, "set_event").split()
        assert "sched:sched_switch" in events and all(e.startswith("irq:") for e in events if e != "sched:sched_switch") \
            and len(events) > 2 and read(folder, "tracing_on") == "1\n" and read(folder, "current_tracer") == "nop\n"
        until(lambda: "sched_switch:" in read(folder, "trace"))
        err = w.run("start", *at, "-e", "nosuch", status=1).stderr
        assert b"set_event: Invalid argument" in err, err
        event = folder + "/events/sched/sched_switch"
        cpus = read(folder, "tracing_cpumask")
        write("prev_pid > 1", event, "filter")
        write("stacktrace", event, "trigger")
        write("traceon:1", event, "trigger")
        write("1", folder, "tracing_cpumask")
        write(str(os.getpid()), folder, "set_event_pid")
        err = w.run("reset", *at).stderr.decode()
        assert read(event, "filter") == "none\n" and lines(read(event, "trigger")) == [], read(event, "trigger")
        assert read(folder, "tracing_cpumask") == cpus and read(folder, "set_event_pid") == ""
        assert err == "" or (err.count("\n") == 1 and "stay as they are: " in err and "(Operation not permitted)" in err), err
        assert lines(read(folder, "trace")) == [] and read(folder, "set_event") == "" and read(folder, "tracing_on") == "1\n"
        w.run("start", "-k", "-B", name + "x", "-e", "sched_switch")
        assert os.path.isdir(folder + "x")
        # filters of one -e are joined, and -i is for events that are not there
        w.run("start", "-k", "-B", name + "x", "-e", "sched_switch", "-f", "prev_pid != 0", "-f", "prev_prio < 120")
        assert read(folder + "x", "events/sched/sched_switch/filter") == "(prev_pid != 0)&&(prev_prio < 120)\n"
        w.run("start", "-k", "-B", name + "x", "-i", "-e", "nosuch", "-f", "x == 1")
        w.run("start", "-k", "-B", name + "x", "-i", "-e", "sched:sched_switch", "-f", "nofield == 1", status=1)
        w.run("set", "-k", "-B", name + "x", "events/sched/sched_switch/filter", "0")
        # the kernel takes one word at a time
        w.run("set", "-k", "-B", name + "x", "set_event", "sched:sched_switch sched:sched_waking\nsched:sched_wakeup")
        assert set(read(folder + "x", "set_event").split()) == {f"sched:sched_{e}" for e in ("switch", "waking", "wakeup")}
        w.run("reset", "-k", "-B", name + "x", "-d")
        assert not os.path.exists(folder + "x")


def test_histogram_of_a_kernel_without(w):
    """A kernel that was built without them refuses a hist trigger, and the reason is said."""
    with instance(w) as (name, folder):
        event = "events/sched/sched_switch"
        has = os.path.exists(f"{folder}/{event}/hist")
        p = w.run("set", "-k", "-B", name, event + "/trigger", "hist:keys=next_pid", status=0 if has else 1)
        assert has or b"built without CONFIG_HIST_TRIGGERS): Invalid argument" in p.stderr, p
        # another mistake has another reason
        p = w.run("set", "-k", "-B", name, event + "/trigger", "nosuch:keys=next_pid", status=1)
        assert b"CONFIG_HIST" not in p.stderr and b"Invalid argument" in p.stderr, p


def test_snapshot_of_a_kernel_without(w):
    with instance(w) as (name, folder):
        if os.path.exists(folder + "/snapshot"):
            w.run("snapshot", "-k", "-B", name, "-s")
            assert w.run("snapshot", "-k", "-B", name).stdout.decode() == read(folder, "snapshot")
            w.run("snapshot", "-k", "-B", name, "-f")
        else:
            assert b"this kernel was built without CONFIG_TRACER_SNAPSHOT" in w.run("snapshot", "-k", "-B", name, status=1).stderr


def test_of_a_process(w):
    def recorded(*words):
        return len(lines(w.run("show", *words).stdout.decode()))

    with spinning(w, "ftrace=function"):
        until(recorded)
        w.run("stop")
        assert w.run("show", "--tracing_on").stdout == b"0\n" and recorded() > 0
        w.run("clear")
        assert recorded() == 0 and w.run("show", "--current_tracer").stdout == b"function\n"
        w.run("restart")
        assert w.run("show", "--tracing_on").stdout == b"1\n"
        until(recorded)
        w.run("snapshot", "-s")
        until(lambda: recorded("-s"))
        # a thread leaves the page that the snapshot took with its next record
        until(lambda: lines((held := w.run("snapshot").stdout).decode()) and
              held == w.run("get", "snapshot").stdout == w.run("show", "-s").stdout)
        w.run("snapshot", "-r")
        assert recorded("-s") == 0
        w.run("snapshot", "-f")
        assert b"Snapshot is freed" in w.run("snapshot").stdout
        w.run("stack", "--start")
        until(lambda: re.search(rb"\d+\) +\d+ +\d+ +\w+", w.run("stack").stdout))
        w.run("stack", "--stop")
        assert w.run("get", "stack_tracer_enabled").stdout == b"0\n"
        assert w.run("stack").stdout == w.run("get", "stack_trace").stdout
        w.run("stack", "--reset")
        assert w.run("get", "stack_max_size").stdout == b"0\n"
        assert b"one at a time" in w.run("stack", "--start", "--stop", status=2).stderr
        # instances, and all of them
        w.run("start", "-B", "one", "-p", "nop")
        w.run("start", "-B", "two", "-p", "nop")
        w.run("stop", "-a")
        assert [w.run("get", f).stdout for f in ("tracing_on", "instances/one/tracing_on", "instances/two/tracing_on")] == \
            [b"1\n", b"0\n", b"0\n"]
        w.run("restart", "-B", "one")
        w.run("stop", "-t", "-B", "one")
        assert w.run("get", "tracing_on").stdout == w.run("get", "instances/one/tracing_on").stdout == b"0\n"
        w.run("restart", "-a", "-t")
        w.run("stop", "-a", "-t")
        w.run("clear", "-a")
        assert recorded() == recorded("-B", "one") == 0
        with subprocess.Popen([BIN, "show", "-p"], stdout=subprocess.PIPE, env=w.env) as p:
            w.run("restart")
            assert b"<-" in p.stdout.readline()
            p.send_signal(2)
            p.stdout.read()
            assert p.wait() == 0


if __name__ == "__main__":
    main(globals())
