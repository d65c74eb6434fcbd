#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige enter: the kernel's own clients on a process, which do not know."""
import os
import re
import subprocess

from mount_test import BIN, Skip, fuse, is_mounted, main, need, root, steps, until

TRACING = "/sys/kernel/tracing"


def enter(w, p, *command, status=0, **more):
    fuse()
    root()
    if not os.path.isdir(TRACING):
        raise Skip(f"no {TRACING}")
    return w.run("enter", p.pid, "--", *command, status=status, **more).stdout.decode()


def report(w, *args):
    out = subprocess.run(["trace-cmd", "report", *args], cwd=w.dir, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=True)
    assert b"EVENTS DROPPED" not in out.stdout and b"FAILED TO PARSE" not in out.stdout
    return out.stdout.decode()


def test_a_tree_of_its_own(w):
    before = open("/proc/self/mounts").read()
    with steps(w) as p:
        assert enter(w, p, "sh", "-c", f"echo function > {TRACING}/current_tracer; "
                                       f"cat {TRACING}/current_tracer") == "function\n"
        symbols = enter(w, p, "cat", "/proc/kallsyms")
        assert re.search(r" [tT] leaf$", symbols, re.M)
        # what clients write to the kernel stays inside
        for name in ("ftrace_enabled", "kptr_restrict"):
            path = f"/proc/sys/kernel/{name}"
            if os.path.exists(path):
                was = open(path).read()
                assert enter(w, p, "sh", "-c", f"echo 77 > {path}; cat {path}") == "77\n"
                assert open(path).read() == was
        enter(w, p, "sh", "-c", "exit 3", status=3)
        enter(w, p, "sh", "-c", "kill -9 $$", status=137)
        enter(w, p, "/nosuch/command", status=127)
        enter(w, p, "/etc", status=126)
    assert open("/proc/self/mounts").read() == before and not is_mounted(w.path("mnt"))
    assert not [n for n in os.listdir("/tmp") if n.startswith("vestige-enter-")]
    w.run("enter", "1", "--", "true", status=125)
    w.run("enter", "nosuch", "--", "true", status=125)
    w.run("enter", "12x", status=2)
    w.run("enter", "--nosuch", status=2)


def test_trace_cmd_looks(w):
    need("trace-cmd")
    with steps(w) as p:
        assert enter(w, p, "trace-cmd", "list", "-t").split() == ["function", "function_graph", "nop"]
        assert {"leaf", "mid", "main"} <= set(enter(w, p, "trace-cmd", "list", "-f").split())
        enter(w, p, "trace-cmd", "start", "-p", "function", "-l", "leaf")
        p.call(2)
        assert enter(w, p, "trace-cmd", "show").count("leaf <-mid") == 4
        stat = enter(w, p, "trace-cmd", "stat")
        assert "Tracer: function" in stat and "leaf" in stat, stat
        enter(w, p, "trace-cmd", "stop")
        enter(w, p, "trace-cmd", "extract", "-o", "extract.dat")
        assert report(w, "extract.dat").count("leaf") == 4
        enter(w, p, "trace-cmd", "reset")
        assert enter(w, p, "cat", f"{TRACING}/current_tracer") == "nop\n"


def taken(w, p):
    """Records that readers took, of all CPUs."""
    return sum(int(w.run("get", "-P", p.pid, f"per_cpu/cpu{c}/stats").stdout.split()[-1])
               for c in range(os.cpu_count()))


def recorded(w, p, *args, calls=2000):
    """Record while the process makes its calls: when trace-cmd has switched on, until they are made."""
    fifo = w.path("go")
    os.mkfifo(fifo)
    cmd = subprocess.Popen([BIN, "enter", str(p.pid), "--", "trace-cmd", "record", *args, "-o",
                            "out.dat", "sh", "-c", f"echo > {fifo}; cat {fifo}"], cwd=w.dir,
                           env=w.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with open(fifo) as f:
        f.read()
    # trace-cmd's readers are not waited for when the command ends before they have begun
    before = taken(w, p)
    p.call(calls)
    until(lambda: taken(w, p) > before)
    with open(fifo, "w") as f:
        f.write("\n")
    out = cmd.communicate(timeout=200)[0]
    os.unlink(fifo)
    assert cmd.returncode == 0, out
    return report(w, "out.dat")


def test_trace_cmd_records(w):
    need("trace-cmd")
    fuse()
    root()
    with steps(w) as p:
        for how in ([], ["--nosplice"]):
            text = recorded(w, p, "-p", "function", "-l", "leaf", "-l", "mid", *how)
            assert len(re.findall(r"function: +leaf", text)) == 4000, how
            assert len(re.findall(r"function: +mid", text)) == 2000, how
            text = recorded(w, p, "-p", "function", "-l", "l*f", *how)
            assert len(re.findall(r"function: +leaf", text)) == 4000 and "mid" not in text, how
            text = recorded(w, p, "-p", "function_graph", "-l", "leaf", "-l", "mid", *how)
            assert len(re.findall(r"\| +mid\(\) {", text)) == 2000, how
            assert len(re.findall(r"us +\| +leaf\(\);", text)) == 4000, how
            assert len(re.findall(r"funcgraph_exit: .*us +\| +}", text)) == 2000, how


main(globals())
