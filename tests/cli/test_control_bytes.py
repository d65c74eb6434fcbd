#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Control bytes in a program's strings and names: none reaches a terminal, and a newline begins no
new line."""
import os
import signal
import subprocess

from cli_test import BIN, main

SOURCE = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <vestige/vestige.h>
#include <vestige/event.h>
VESTIGE_EVENT(shop, order, (int, number), (const char *, item));
__attribute__((noipa)) void work(void) { trace_order(1, HOSTILE); trace_order(2, NULL); trace_printk("%s", HOSTILE); }
int main(int argc, char **argv)
{
	work();
	if (argc > 1) { puts("ready"); fflush(stdout); pause(); }
	return 0;
}
""".replace("HOSTILE", r'"a\033[2Jb\nforged-77 [000] 9.0: c\302\2334d\r\177"')
ESCAPED = rb"a\x1b[2Jb\nforged-77 [000] 9.0: c\xc2\x9b4d\x0d\x7f"
RAW = b"a\033[2Jb\nforged-77 [000] 9.0: c\302\2334d\r\177"


def on_terminal(w, *words, env=(), **more):
    """What a terminal gets, with the newlines of a pipe. No colours, no pager."""
    ours, side = os.openpty()
    env = {**w.env, "TERM": "xterm", "NO_COLOR": "1", "PAGER": "", **dict(env)}
    with subprocess.Popen([BIN, *map(str, words)], cwd=w.dir, env=env, stdin=subprocess.DEVNULL, stdout=side,
                          stderr=subprocess.PIPE, **more) as p:
        os.close(side)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:     # the last one that has it open has ended
            pass
        err = p.stderr.read()
        assert p.wait() == 0, (words, p.returncode, seen[-500:], err)
    os.close(ours)
    return seen.replace(b"\r\n", b"\n")


def check(seen, words):
    assert not set(seen) & (set(range(32)) - {9, 10} | {127}), (words, seen)
    assert b"\xc2\x9b" not in seen, (words, seen)
    assert not any(line.startswith(b"forged") for line in seen.splitlines()), (words, seen)


def test_strings_of_a_program(w):
    prog = w.compile("hostile", SOURCE, "-I" + os.environ["SOURCE_DIR"] + "/include")
    w.run("record", "-q", "-p", "function_graph", "-e", "shop", prog)
    for words in (["report"], ["report", "--format=trace"], ["report", "--format=trace", "-O", "latency-format"],
                  ["report", "-R"], ["replay"], ["report", "--events"], ["list", "-f", prog], ["sql", "trace.dat", "select * from events"],
                  ["report", "-l"], ["dump", "--all", "trace.dat"], ["profile"]):
        seen = on_terminal(w, *words)
        check(seen, words)
        if words[0] != "list" and "--events" not in words and words[0] not in ("dump", "profile") and words[1:] != ["-R"]:
            assert ESCAPED in seen, (words, seen)
        assert on_terminal(w, *words, env={"PAGER": "cat -"}) == seen, words
    # the kernel's text is as the kernel has it where there is no terminal
    assert w.run("report", "--format=trace").stdout.count(RAW) == 2
    assert w.run("report").stdout.count(ESCAPED.replace(rb"\n", b"\n")) == 2
    assert b"item=(null)" in w.run("report").stdout.replace(b'"', b"")


def test_a_process_that_runs(w):
    prog = w.compile("hostile", SOURCE, "-I" + os.environ["SOURCE_DIR"] + "/include")
    with subprocess.Popen([BIN, "run", "hostile", "--", prog, "wait"], cwd=w.dir, stdout=subprocess.PIPE,
                          env=dict(w.env, VESTIGE_BOOT="trace_event=shop:*")) as p:
        try:
            assert p.stdout.readline() == b"ready\n"
            pid = int(next(name for name in os.listdir(w.areas) if name[0].isdigit()).split(".")[0])
            for words in (["show", "-P", pid], ["get", "-P", pid, "trace"]):
                seen = on_terminal(w, *words)
                check(seen, words)
                assert ESCAPED in seen, (words, seen)
            assert w.run("get", "-P", pid, "trace").stdout.count(RAW) == 2
        finally:
            os.kill(pid, signal.SIGKILL)
            p.wait()
            w.run("clean")


def test_names_in_messages(w):
    """A message is one line, whatever the name in it."""
    name = "no\033[2J\nvestige: forged"
    for words in (["report", name], ["replay", name], ["convert", name, "x.json"], ["split", "-i", name], ["dump", name], ["hist", name],
                  ["get", "-P", name, "trace"], [name], ["report", "--" + name], ["hang", name], ["sched", "latency", name]):
        err = w.run(*words, status=None).stderr
        assert err and b"\033" not in err and b"\nvestige: forged" not in err, (words, err)


main(globals())
