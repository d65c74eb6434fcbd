#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""start and set with trace-cmd's flags: the settings that they make in the files of a tracefs, of
the kernel in instances beside stock trace-cmd's, and of a process."""
import os
import pwd
import subprocess

from cli_test import main, need, running, spinning, until
from test_kernel import instance, read, write

FILES = ("tracing_on", "current_tracer", "buffer_size_kb", "trace_clock", "tracing_cpumask", "trace_options", "set_event",
         "set_event_pid")


def state(folder, *more):
    return {f: read(folder, f) for f in (*FILES, *more)}


def test_without_functions(w):
    """A tracer of functions is switched on, and it is said that there are none."""
    with running(w, "sleep", "100") as p:
        said = w.run("start", "-P", p.pid).stderr.decode()
        assert f"process {p.pid} has no function that can be traced now: `vestige get -P {p.pid} vestige_status`" in said, said
        assert w.run("start", "-P", p.pid, "-p", "nop", "-e", "signal").stderr == b""
    # functions of an instance are not in enabled_functions of its area
    with running(w, w.prog, "spin") as p:
        assert w.run("start", "-P", p.pid, "-B", "calls", "-p", "function", "-l", "mid").stderr == b""
        for file in "enabled_functions", "touched_functions":
            assert w.run("get", "-P", p.pid, file).stdout.startswith(b"mid (1)")
            said = w.run("get", "-P", p.pid, "-B", "calls", file, status=1).stderr.decode()
            assert f"{file} is of the whole process: read it without -B" in said, said


def test_filter_that_nothing_passes(w):
    """A filter that waits for an object is taken, and it is said that nothing is traced."""
    with running(w, w.prog, "spin") as p:
        said = w.run("start", "-P", p.pid, "-p", "function", "-l", "*:mod:later*").stderr.decode()
        assert f"process {p.pid} has no function now that can be traced and is left by its filters" in said, said
        assert w.run("start", "-P", p.pid, "-p", "function", "-l", "mid").stderr == b""


def test_kernel_beside_trace_cmd(w):
    """The same flags by both, in an instance each: the same files afterwards."""
    need("trace-cmd")
    more = ("events/sched/sched_switch/filter", "events/sched/sched_waking/trigger", "events/sched/sched_waking/enable")
    for flags in (["-e", "sched:sched_switch", "-f", "prev_prio < 100"], ["-e", "irq", "-v", "-e", "*exit*"],
                  ["-v", "-e", "sched_waking", "-R", "traceoff:1"], ["-b", "200", "-C", "mono", "-M", "1"],
                  ["-O", "nooverwrite", "-e", "sched_wakeup"]):
        with instance(w, "a") as (one, a), instance(w, "b") as (two, b):
            for folder in (a, b):
                write("0", folder, "tracing_on")
            w.run("set", "-k", "-B", one, *flags)
            p = subprocess.run(["trace-cmd", "set", "-B", two, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            ours, theirs = state(a, *more), state(b, *more)
            if p.returncode == 0:
                assert {f: v for f, v in ours.items() if f != "tracing_on"} == {f: v for f, v in theirs.items() if f != "tracing_on"}, flags
            # it stops at files that this kernel refuses: what it came to is ours, too
            assert ours["tracing_on"] == "0\n"
            for f in (a, b):
                if "trigger" not in flags[0] and "-R" in flags:
                    write("!traceoff:1", f, "events/sched/sched_waking/trigger") if "traceoff" in read(f, more[1]) else None


def test_kernel(w):
    with instance(w, "a") as (one, a):
        w.run("set", "-k", "-B", one, "-e", "sched:sched_switch", "-f", "prev_prio < 100", "-e", "irq*", "-v", "-e", "*exit*")
        assert read(a, "events/sched/sched_switch/filter") == "prev_prio < 100\n"
        on = read(a, "set_event").split()
        assert "sched:sched_switch" in on and any(e.startswith("irq:") for e in on) and not any("exit" in e for e in on), on
        w.run("set", "-k", "-B", one, "-v", "-e", "sched_switch")
        assert "sched:sched_switch" not in read(a, "set_event").split()
        w.run("set", "-k", "-B", one, "-e", "sched:sched_switch", "-e", "nosuch", "-i")
        assert b"no event matches 'nosuch*'" in w.run("set", "-k", "-B", one, "-e", "nosuch*", status=1).stderr
        w.run("set", "-k", "-P", os.getpid(), "-c", "-B", one, "-b", "100", "-C", "mono", "-M", "1")
        assert read(a, "set_event_pid").split() == [str(os.getpid())] and read(a, "options/event-fork") == "1\n"
        assert "[mono]" in read(a, "trace_clock") and int(read(a, "tracing_cpumask"), 16) == 1
        w.run("set", "-k", "-B", one, "-M", "-1")
        assert int(read(a, "tracing_cpumask"), 16) == (1 << os.sysconf("SC_NPROCESSORS_CONF")) - 1
        write("", a, "set_event_pid")
        # a program behind the flags, as a user
        user = pwd.getpwuid(65534).pw_name
        got = w.run("start", "-k", "-B", one, "-e", "sched_switch", "--user", user, "--", "id", "-un")
        assert got.stdout.decode() == user + "\n" and read(a, "tracing_on") == "1\n"
        assert w.run("set", "-k", "-B", one, "-e", "sched_switch", "--", "sh", "-c", "exit 7", status=7)
        assert b"no user nosuch-user" in w.run("start", "-k", "-B", one, "--user", "nosuch-user", "--", "true", status=125).stderr
        w.run("set", "-k", "-v", "-B", one)
        assert not os.path.exists(a)
        os.mkdir(a)
    for words, why in ((["-f", "x"], "after its -e"), (["-M", "x"], "not a mask"), (["-b", "x"], "not a number"), ([], "name one control file")):
        assert why in w.run("set", "-k", *words, status=2).stderr.decode()


def test_process(w):
    with spinning(w, "ftrace=nop") as p:
        at = ("-P", p.pid)
        get = lambda f: w.run("get", *at, f).stdout.decode()   # noqa: E731
        w.run("set", *at, "tracing_on", "0")
        w.run("set", *at, "-l", "leaf", "-l", "mid", "-g", "mid", "--max-graph-depth", "3", "-p", "function", "-O", "func-args",
              "-e", "sched:sched_switch", "-f", "prev_pid > 0", "-e", "signal*", "-v", "-e", "signal_deliver")
        assert sorted(get("set_ftrace_filter").split()) == ["leaf", "mid"] and get("set_graph_function").split() == ["mid"]
        assert get("max_graph_depth") == "3\n" and get("current_tracer") == "function\n" and get("tracing_on") == "0\n"
        assert get("events/sched/sched_switch/filter") == "prev_pid > 0\n" and get("events/sched/sched_switch/enable")[0] == "1"
        assert get("events/signal/signal_generate/enable")[0] == "1" and get("events/signal/signal_deliver/enable")[0] == "0"
        assert "\nfunc-args\n" in "\n" + get("trace_options")
        w.run("start", *at, "-e", "signal_deliver", "-B", "one", "-p", "function", "-n", "leaf")
        assert get("events/signal/signal_deliver/enable")[0] == "1" and get("tracing_on") == "1\n"
        assert get("instances/one/set_ftrace_notrace").split() == ["leaf"] and get("instances/one/current_tracer") == "function\n"
        until(lambda: "mid" in w.run("show", *at, "-B", "one").stdout.decode())
        w.run("set", *at, "-v", "-B", "one")
        assert b"No such file" in w.run("get", *at, "-B", "one", "trace", status=1).stderr
        assert b"did you mean function" in w.run("set", *at, "-p", "functoin", status=1).stderr
        assert b"did you mean" in w.run("start", *at, "-e", "sched_swicth", status=1).stderr
        # patterns: the file's own, as with -e; a word that names nothing is the kernel's EINVAL
        signals = {"signal:signal_deliver", "signal:signal_generate"}
        for words in (["set_event", "sig*"], ["set_event", "*:signal_*"], ["-e", "signal_[dg]*"], ["-e", "si?nal"]):
            w.run("set", *at, "set_event", "")
            w.run("set", *at, *words)
            assert set(get("set_event").split()) == signals, (words, get("set_event"))
        w.run("set", *at, "--append", "set_event", "!signal_d*")
        assert get("set_event").split() == ["signal:signal_generate"], get("set_event")
        assert b"Invalid argument: no event matches 'nosuch*'" in w.run("set", *at, "set_event", "nosuch*", status=1).stderr
        # FILE TEXT stays
        w.run("set", *at, "max_graph_depth", "0")
        assert get("max_graph_depth") == "0\n"


if __name__ == "__main__":
    main(globals())
