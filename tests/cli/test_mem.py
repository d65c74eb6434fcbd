#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige mem` has the numbers of stock trace-cmd mem, and the allocations that a program
makes."""
import json
import lzma
import os
import subprocess

from cli_test import main, need

KERNELS = os.path.join(os.environ["SOURCE_DIR"], "tests", "data", "kernels")


def kernels(w, name):
    """A recording of a kernel, unpacked."""
    with lzma.open(f"{KERNELS}/{name}.dat.xz") as f, open(w.path(name + ".dat"), "wb") as to:
        to.write(f.read())
    return w.path(name + ".dat")

HEAP = r"""
#include <stdlib.h>
#define FN __attribute__((noipa))
void *kept[1000];
FN void keeps(void) { for (int i = 0; i < 100; i++) kept[i] = malloc(100); }
FN void *one(void) { return malloc(1000); }
FN void gives_back(void) { for (int i = 0; i < 50; i++) free(one()); }
int main(void) { keeps(); gives_back(); return 0; }
"""


def rows(text):
    return {l.split()[0]: [int(n) for n in l.split()[1:]] for l in text.splitlines()[2:]}


def test_as_trace_cmd(w):
    """Rows equal trace-cmd's where no address is allocated again without its kfree. Totals are
    equal otherwise."""
    need("trace-cmd")
    for name in ("amd64-stack-v7", "i386-instances-v7"):
        dat = kernels(w, name)
        theirs = subprocess.run(["trace-cmd", "mem", dat], stdout=subprocess.PIPE, check=True).stdout.decode()
        ours = w.run("mem", dat).stdout.decode()
        assert ours.splitlines()[:2] == theirs.splitlines()[:2]
        a, b = rows(ours), rows(theirs)
        assert a.keys() == b.keys() and len(a) > 2
        assert sum(a[f] == b[f] for f in a) >= len(a) - 1, (a, b)
        assert all(a[f][3:5] == b[f][3:5] for f in a), (a, b)
        waste = [r[0] for r in a.values()]
        assert waste == sorted(waste, reverse=True)


def test_program(w):
    w.compile("heap", HEAP)
    w.run("record", "-e", "kmem", "-o", "h.dat", "-q", "--", "./heap")
    a = rows(w.run("mem", "h.dat").stdout.decode())
    keeps, one = a["keeps"], a["one"]
    assert keeps[2] == 100 * 100 == keeps[4] == keeps[6] and keeps[1] >= keeps[2] and keeps[0] == keeps[1] - keeps[2], keeps
    assert one[:3] == [0, 0, 0] and one[4] == 50 * 1000 and one[6] == 1000, one
    for r in json.loads(w.run("mem", "--json", "-i", "h.dat").stdout):
        assert a[r["function"]] == [r[k] for k in ("waste", "alloc", "req", "total_alloc", "total_req", "max_alloc", "max_req", "max_waste")]
    w.run("record", "-p", "function", "-o", "f.dat", "-q", "--", "./heap")
    assert b"record with -e kmem" in w.run("mem", "f.dat", status=1).stderr
    assert b"nosuch" in w.run("mem", "nosuch", status=1).stderr
    assert b"one more is b" in w.run("mem", "a", "b", status=2).stderr


main(globals())
