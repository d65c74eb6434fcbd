#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sqlhist: SQL as histograms and synthetic events, of a process, of a copy of a tracefs, of the
kernel."""
import os
import re

from cli_test import main, root, spinning, until
from test_kernel import TRACING, instance, read

# libtracefs keeps no frame pointers; lsan.supp names one of its functions.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":fast_unwind_on_malloc=0"

JOIN = ("select end.prev_pid as pid, (end.TIMESTAMP - start.TIMESTAMP) as took from sys_enter_write as start "
        "join sys_exit_write as end on start.common_pid = end.common_pid").replace("end.prev_pid", "end.ret")


def test_process(w):
    """The histogram counts; the synthetic event is there and is made."""
    with spinning(w) as p:
        simple = "SELECT fd, count FROM sys_enter_write"
        out = w.run("sqlhist", "-P", p.pid, simple).stdout.decode()
        assert out == "echo 'hist:keys=fd,count' > events/syscalls/sys_enter_write/trigger\n", out
        assert "hist:" not in w.run("get", "-P", p.pid, "events/syscalls/sys_enter_write/trigger").stdout.decode()
        assert w.run("sqlhist", "-e", "-P", p.pid, *simple.split()).stdout.decode() == out
        until(lambda: "fd:" in w.run("get", "-P", p.pid, "events/syscalls/sys_enter_write/hist").stdout.decode())
        with open(w.path("sql"), "w") as f:
            f.write(JOIN)
        out = w.run("sqlhist", "-e", "-n", "write_time", "-P", p.pid, "-f", w.path("sql")).stdout.decode()
        assert out.count("\n") == 3 and "> dynamic_events" in out, out
        w.run("set", "-P", p.pid, "events/synthetic/write_time/enable", "1")
        until(lambda: re.search(r"write_time: pid=\d+ took=[1-9]", w.run("show", "-P", p.pid).stdout.decode()))


def test_kernel(w):
    """-e with -B: in that instance alone. -m, -c, -s, -T and -S as the kernel takes them."""
    root()
    with instance(w) as (name, folder):
        has_hist = "hist" in os.listdir(f"{folder}/events/sched/sched_switch")
        p = w.run("sqlhist", "-k", "-B", name, "-e", "SELECT prev_pid FROM sched_switch", status=0 if has_hist else 1)
        assert p.stdout.decode() == f"echo 'hist:keys=prev_pid' > {folder}/events/sched/sched_switch/trigger\n", p
        assert not has_hist or "hist:keys=prev_pid" in read(folder, "events/sched/sched_switch/trigger")
        assert "hist:keys=prev_pid:" not in read(TRACING, "events/sched/sched_switch/trigger")
    sql = "SELECT end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sched_waking AS start " \
          "JOIN sched_switch AS end ON start.pid = end.next_pid WHERE end.next_prio < 100"
    for flags, text in ((["-m", "lat", "-s"], r":onmax\(\$\w*lat\w*\)\.snapshot\(\)"), (["-c", "lat"], r":onchange\(\$\w*lat\w*\)\.wake\("),
                        (["-m", "lat", "-T", "-S", "prev_comm,prev_pid"], r"\.save\(prev_comm,prev_pid\).*\.wake\(.*\.snapshot\(\)")):
        out = w.run("sqlhist", "-k", "-n", "wake", *flags, sql).stdout.decode()
        assert re.search(text, out) and "if next_prio < 100" in out, (flags, out)


def test_copy_and_errors(w):
    """-t: of a copy, which needs no target. What is wrong is named."""
    os.makedirs(w.path("copy/events/sys/ev"))
    with open(w.path("copy/events/sys/ev/format"), "w") as f:
        f.write("name: ev\nID: 900\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\n\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", REC->value\n")
    out = w.run("sqlhist", "-t", w.path("copy"), "SELECT value FROM ev").stdout.decode()
    assert "'hist:keys=value'" in out and out.endswith("events/sys/ev/trigger\n"), out
    for words, text in ((["SELECT value FROM nosuch"], "event not found"), (["SELECT nosuch FROM ev"], "has a field 'nosuch'\n"),
                        (["SELECT valeu FROM ev"], "has a field 'valeu', did you mean value?"), (["SELECT CAST(vale AS SYM) x FROM ev"], "'vale'"),
                        (["SELECT value v FROM ev WHERE vlue > 3"], "has a field 'vlue', did you mean value?"),
                        (["SELECT a.value FROM ev AS a JOIN ev b ON a.value = b.vallue"], "'vallue', did you mean value?"),
                        (["SELECT x.value FROM ev AS a JOIN ev AS b ON a.value = b.value"], "is each event and alias"), (["SELCT x"], "syntax error"), ([], "SELECT"),
                        (["-m", "v", "SELECT value FROM ev"], "no JOIN"), (["-s", "SELECT value FROM ev"], "-m or -c"),
                        (["-e", "SELECT value FROM ev"], "leave out -e"), (["-f", "/nosuch"], "/nosuch")):
        err = w.run("sqlhist", "-t", w.path("copy"), *words, status=None)
        assert err.returncode in (1, 2) and text in err.stderr.decode() and err.stderr.count(b"\n") == 1, (words, err)


if __name__ == "__main__":
    main(globals())
