#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige dot: numbers are as in vestige profile; choices of functions, cycles, differences and
pvtrace's files work; Graphviz reads all output."""
import os
import re
import shutil
import subprocess

from cli_test import main, need

PROGRAM = r"""
#include <stdlib.h>
#define FN __attribute__((noipa))
volatile long sum;
FN void leaf(int i) { sum += i; }
FN void ping(int n);
FN void pong(int n) { if (n) ping(n - 1); leaf(n); }
FN void ping(int n) { if (n) pong(n - 1); leaf(n); }
FN void only_old(void) { leaf(1); }
FN void only_new(void) { leaf(2); }
FN int self_caller(int n) { return n ? 1 + self_caller(n - 1) : 0; }
int main(int argc, char **argv)
{
	ping(6);
	sum += self_caller(4);
	if (argc > 1) only_new(); else only_old();
	return 0;
}
"""
PVTRACE = r"""
#include <stdio.h>
#define NO __attribute__((no_instrument_function))
static FILE *f;
NO void __cyg_profile_func_enter(void *fn, void *from) { if (!f) f = fopen("trace.txt", "w"); fprintf(f, "E%p\n", fn); fflush(f); }
NO void __cyg_profile_func_exit(void *fn, void *from) { fprintf(f, "X%p\n", fn); fflush(f); }
void b(void) { }
void a(void) { b(); b(); b(); }
int main(void) { a(); a(); b(); return 0; }
"""


def recorded(w):
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-o", "old.dat", prog)
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", prog, "new")


def dot(w, *args):
    return w.run("dot", *args).stdout.decode()


def names(text):
    return dict(re.findall(r'^\t(f\d+) \[label="([^"\\]+)', text, re.M))


def edges(text):
    n = names(text)
    return {(n[a], n[b]): int(c) for a, b, c in re.findall(r'(f\d+) -> (f\d+) \[label="(\d+)', text)}


def svg(text):
    need("dot")
    p = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, timeout=100)
    assert p.returncode == 0 and not p.stderr and "<svg" in p.stdout, p.stderr
    return p.stdout


def test_numbers(w):
    recorded(w)
    text = dot(w, "--clusters", "t.dat")
    n = names(text)
    assert set(n.values()) == {"main", "ping", "pong", "leaf", "self_caller", "only_new"}, n
    assert edges(text) == {("main", "ping"): 1, ("ping", "pong"): 3, ("pong", "ping"): 3, ("ping", "leaf"): 4, ("pong", "leaf"): 3,
                           ("main", "self_caller"): 1, ("self_caller", "self_caller"): 4, ("main", "only_new"): 1,
                           ("only_new", "leaf"): 1}, text
    # cycles, and nothing else, are red
    red = {n[f] for f in re.findall(r"^\t(f\d+) \[.*color=red", text, re.M)}
    assert red == {"ping", "pong", "self_caller"}, text
    dashed = {(n[a], n[b]) for a, b in re.findall(r"(f\d+) -> (f\d+) .*dashed", text)}
    assert dashed == {("ping", "pong"), ("pong", "ping"), ("self_caller", "self_caller")}, text
    assert re.search(r'subgraph cluster_\d+ \{\n\t\tlabel="p"', text), text
    picture = svg(text)
    assert all(f">{name}</text>" in picture for name in n.values())


def test_choices(w):
    recorded(w)
    assert set(names(dot(w, "--near", "self_*", "--distance", "1", "t.dat")).values()) == {"main", "self_caller"}
    assert set(names(dot(w, "--near", "leaf", "--distance", "1", "t.dat")).values()) == {"leaf", "ping", "pong", "only_new"}
    assert set(names(dot(w, "--min-calls", "4", "t.dat")).values()) == {"leaf", "ping", "self_caller"}
    assert set(names(dot(w, "--min-percent", "100", "t.dat")).values()) == {"main"}
    p = w.run("dot", "--nodes", "2", "t.dat")
    assert "main" in names(p.stdout.decode()).values() and len(names(p.stdout.decode())) == 2
    assert b"2 functions of 6 are shown" in p.stderr
    assert set(names(dot(w, "-F", "ping", "t.dat")).values()) == {"ping", "pong", "leaf"}
    for args, status, said in ((["--near", "nosuch", "t.dat"], 1, b"no function in the recording is called nosuch"),
                               (["--color", "blue", "t.dat"], 2, b"self or total"), (["--min-percent", "101"], 2, b"percentage"),
                               (["--pvtrace", "p"], 2, b"trace.txt"), (["nosuch.dat"], 1, b"nosuch.dat")):
        assert said in w.run("dot", *args, status=status).stderr, args


def test_diff(w):
    recorded(w)
    text = dot(w, "--diff", "old.dat", "t.dat")
    n = names(text)
    assert {"only_old", "only_new"} <= set(n.values()), text
    assert re.search(r'label="only_new.*1 call \(\+1\)".*bold', text) and re.search(r'label="only_old.*0 calls \(-1\)".*dotted', text), text
    assert re.search(r'label="ping.*4 calls \(\+0\)"', text), text
    svg(text)


def test_pvtrace(w):
    """Addresses are resolved in a program at a fixed address and in a position-independent one."""
    for pie in "-no-pie", "-pie":
        prog = w.compile("pv" + pie, PVTRACE, "-fpatchable-function-entry=0", "-finstrument-functions", pie, "-fPIE" if pie == "-pie" else "-fno-pie")
        subprocess.run([prog], cwd=w.dir, check=True, timeout=60)
        text = dot(w, "--pvtrace", prog, "trace.txt")
        assert edges(text) == {("main", "a"): 2, ("a", "b"): 6, ("main", "b"): 1}, (pie, text)
        svg(text)
    assert b"has an address that is in the log" in w.run("dot", "--pvtrace", "/bin/true", "trace.txt", status=1).stderr
    with open(w.path("bad.txt"), "w") as f:
        f.write("E0x1\nhello\n")
    assert b"line 2 is not" in w.run("dot", "--pvtrace", prog, "bad.txt", status=1).stderr


def test_pictures(w):
    """The manual's SVG files: PICTURES=docs/pictures writes them there. They show the functions of
    the example."""
    source = os.environ["SOURCE_DIR"]
    prog = w.compile("shop", open(f"{source}/docs/examples/shop/shop.c").read(), f"-I{source}/docs/examples/shop", f"-I{source}/include", "-pthread")
    w.run("record", "-q", "-p", "function_graph", "-o", "shop.dat", "--", prog, "1")
    w.run("convert", "-q", "-F", "handle_order", "shop.dat", "flame.svg")
    with open(w.path("calls.svg"), "w") as f:
        f.write(svg(dot(w, "-F", "handle_order", "shop.dat")))
    for name in ("flame.svg", "calls.svg"):
        with open(w.path(name)) as f:
            text = f.read()
        assert {"handle_order", "find_price", "search"} <= set(re.findall(r"\b(handle_order|find_price|search)\b", text)), (name, text)
        assert w.dir not in text, text
        if "PICTURES" in os.environ:
            shutil.copy(w.path(name), os.environ["PICTURES"])


main(globals())
