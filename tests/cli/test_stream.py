#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stream does what start and show -p do, and all settings are as before at the end."""
import os
import re
import signal
import subprocess

from cli_test import BIN, Beside, kernel_alone, main, root, spinning, until
from test_kernel import TRACING, settings


def calls(text):
    return re.findall(r" (\w+) <-\w+$", text, re.M)


def test_program(w):
    """Each call, in order; the program's own output and status."""
    p = w.run("stream", "-l", "mid", "-l", "leaf", "--", w.prog, "calls", "3")
    assert calls(p.stdout.decode()) == ["mid", "leaf", "leaf"] * 3, p.stdout
    assert w.run("stream", "-l", "mid", "--", w.prog, "exit", "7", status=7).stdout == b""
    assert b"no such program" in w.run("stream", "--", "./nosuch", status=127).stderr
    assert b"did you mean sched_switch" in w.run("stream", "-e", "sched_swich", "--", w.prog, status=1).stderr


def test_process(w):
    """A process that runs: until Ctrl-C, and its settings are as before."""
    files = ("current_tracer", "set_ftrace_filter", "set_event", "buffer_size_kb", "options/sym-offset", "tracing_on",
             "events/syscalls/sys_enter_write/filter", "events/syscalls/sys_enter_write/enable")

    def state():
        return {f: w.run("get", "-P", p.pid, f).stdout for f in files}
    with spinning(w) as p:
        before = state()
        with open(w.path("out"), "wb") as out:
            s = subprocess.Popen([BIN, "stream", "-P", str(p.pid), "-p", "function", "-l", "leaf", "-b", "128", "-O", "sym-offset",
                                  "-e", "sys_enter_write", "-f", "fd == 1"], env=w.env, stdout=out, stderr=subprocess.PIPE)
            try:
                def text():
                    assert s.poll() is None, s.stderr.read()
                    with open(w.path("out"), encoding="utf8") as f:
                        return f.read()
                until(lambda: text().count("leaf") > 100 and "sys_write" in text())
                s.send_signal(signal.SIGINT)
                assert s.wait() == 0, s.stderr.read()
            finally:
                s.kill()
                s.wait()
                s.stderr.close()
        assert state() == before


def test_the_reader_goes(w):
    """A closed pipe, as by head, ends stream and top, and the settings are as before."""
    def state():
        return {f: w.run("get", "-P", p.pid, f).stdout for f in ("current_tracer", "tracing_on", "function_profile_enabled")}
    with spinning(w) as p:
        before = state()
        for words in ("stream", "-P", p.pid, "-p", "function"), ("top", "-P", p.pid, "-d", "0.1"):
            with Beside(w, BIN, *words, stderr=subprocess.PIPE) as s:
                assert s.p.stdout.readline()
                s.p.stdout.close()
                assert s.p.wait(100) == 0, s.p.stderr.read()
            assert state() == before, words
        assert not [f for f in os.listdir(w.areas) if "borrowed" in f]


def test_kernel(w):
    """In an instance of ours, which is gone at the end; nothing else has changed."""
    root()
    with kernel_alone():
        before, instances = settings(TRACING), os.listdir(TRACING + "/instances")
        p = w.run("stream", "-k", "-e", "sched:sched_process_exec", "--", w.prog, "exit", "5", status=5)
        assert f"filename={w.prog} " in p.stdout.decode(), p.stdout
        assert b"nosuch" in w.run("stream", "-k", "-e", "nosuch", status=1).stderr
        assert settings(TRACING) == before
    mine = [n for n in os.listdir(TRACING + "/instances") if n not in instances and n.startswith("vestige.")
            and not os.path.exists(f"/proc/{n.split('.')[1]}")]
    assert mine == [], mine


def test_errors(w):
    for words, text in ((["-B", "x"], "leave out -B"), (["-k"], "-k: say what"), (["-P", "1", "--", "true"], "leave out true")):
        err = w.run("stream", *words, status=2).stderr.decode()
        assert text in err and err.count("\n") == 1, (words, err)


if __name__ == "__main__":
    main(globals())
