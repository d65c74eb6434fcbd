#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""function_graph while recording is switched off and on: calls that return meanwhile leave no exit
record. Later calls stand where they were made, and no call gets the time of the pause."""
import json
import os
import re
import subprocess

from cli_test import LIBRARY, Beside, main, need

# off() and on() switch recording. `coroutine`: the calls are on a stack of their own.
PROGRAM = r"""
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#define NI __attribute__((noipa))
static ucontext_t first, second;
static char stack[1 << 16];
static jmp_buf out;
NI void work(void) { __asm__ volatile(""); }
NI void off(void) { __asm__ volatile(""); }
NI void on(void) { __asm__ volatile(""); }
NI void inner(int jumps) { work(); off(); work(); if (jumps) longjmp(out, 1); __asm__ volatile(""); }
NI void part(int jumps) { work(); inner(jumps); work(); __asm__ volatile(""); }
NI void other(void) { work(); __asm__ volatile(""); }
NI void round_of(int jumps) { if (!setjmp(out)) part(jumps); usleep(200000); on(); other(); other(); __asm__ volatile(""); }
static void on_stack(void) { for (int i = 0; i < 3; i++) { round_of(0); swapcontext(&second, &first); } }
int main(int argc, char **argv)
{
	puts("ready"); fflush(stdout); getchar();
	if (argc > 1 && !strcmp(argv[1], "coroutine")) {
		getcontext(&second);
		second.uc_stack.ss_sp = stack;
		second.uc_stack.ss_size = sizeof(stack);
		makecontext(&second, on_stack, 0);
		for (int i = 0; i < 3; i++)
			swapcontext(&first, &second);
	} else {
		for (int i = 0; i < 3; i++)
			round_of(argc > 1 && i == 1);
	}
	on();
	puts("end"); fflush(stdout); getchar();
	return 0;
}
"""
NAMES = "work|inner|part|other|round_of|on"
# what a round leaves, with the depth of each call
ROUND = ["part", " work", " inner", "  work", "on", "other", " work", "other", " work"]


def depths(lines):
    """Calls as the texts show them, with a blank for each level below `part`."""
    found = [(len(m[1]), m[2]) for line in lines if (m := re.search(rf"\|(  +)({NAMES})\(\)", line))]
    least = min(n for n, name in found if name == "part")
    return [" " * ((n - least) // 2) + name for n, name in found if name not in ("round_of", "main", "on_stack")]


def check(w, pid, at, *flags):
    where = ("-P", pid, *(("-B", at[len("instances/"):-1]) if at else ()))
    show = w.run("show", *where).stdout.decode().splitlines()
    want = ROUND * 3 + ["on"]
    # the last on() is main()'s, a level further out
    assert [n.strip() for n in depths(show)] == [n.strip() for n in want], show
    assert depths(show)[:-1] == want[:-1], show
    w.run("extract", "-o", "x.dat", *where)
    w.run("extract", "--native", "-o", "x", *where)
    for name in ("x.dat", "x"):
        found = {f["name"]: f for f in json.loads(w.run("profile", "--json", name).stdout)["functions"]}
        assert found["part"]["calls"] == found["inner"]["calls"] == 3 and found["work"]["calls"] == 12, found
        # a pause has 200 ms; the program itself may have to wait for its CPU
        for called in ("part", "inner", "work", "other", "on"):
            assert found[called]["total"] < 150e6, found[called]
        assert depths(w.run("report", name).stdout.decode().splitlines())[:-1] == want[:-1], name
    if not at:
        need("trace-cmd")
        text = subprocess.run(["trace-cmd", "report", "x.dat"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
        assert depths(text.decode().splitlines())[:-1] == want[:-1], text


def traced(w, word, at, boot=""):
    p = Beside(w, w.compile("pauses", PROGRAM), *word, env=dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT=boot))
    p.is_ready()
    if at:
        w.run("start", "-P", p.pid, "-p", "nop", "-B", "in")
    for line in ("off:traceoff", "on:traceon"):
        w.run("set", "-P", p.pid, "--append", at + "set_ftrace_filter", line)
    w.run("set", "-P", p.pid, at + "set_ftrace_notrace", "off main on_stack")
    w.run("set", "-P", p.pid, at + "current_tracer", "function_graph")
    p.p.stdin.write(b"\n")
    p.p.stdin.flush()
    assert p.p.stdout.readline() == b"end\n"
    return p


def test_top(w):
    for word in ((), ("jumps",), ("coroutine",)):
        with traced(w, word, "") as p:
            check(w, p.pid, "")
    w.run("clean")


def test_without_rseq(w):
    os.environ["GLIBC_TUNABLES"] = w.env["GLIBC_TUNABLES"] = "glibc.pthread.rseq=0"
    try:
        test_top(w)
    finally:
        del os.environ["GLIBC_TUNABLES"], w.env["GLIBC_TUNABLES"]


def test_instance(w):
    for word in ((), ("jumps",), ("coroutine",)):
        with traced(w, word, "instances/in/") as p:
            check(w, p.pid, "instances/in/")
    w.run("clean")


if __name__ == "__main__":
    main(globals())
