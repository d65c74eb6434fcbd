#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The marks of vestige/atrace.h in the exports: sections are slices with the program's own times,
in every format."""
import collections
import json
import os

from cli_test import main

PROGRAM = r"""
#include <stdio.h>
#include <time.h>
#include <vestige/atrace.h>
static inline __attribute__((always_inline)) long ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static inline __attribute__((always_inline)) void wait_for(long n) { for (long begun = ns(); ns() - begun < n;) ; }
int main(void)
{
	for (int i = 0; i < 20; i++) {
		vestige_async_begin(net, "request, \"slow\"", i);
		vestige_begin(gfx, "frame|all");
		vestige_begin(gfx, "part");
		wait_for(1000000);
		vestige_end(gfx);
		vestige_counter(gfx, "rows", i - 5);
		wait_for(500000);
		vestige_end(gfx);
		vestige_async_end(net, "request, \"slow\"", i);
	}
	vestige_begin(gfx, "left open");
}
"""


def check(sections):
    """By name: the number, and the least time that the program waits in each. On a busy machine
    most take longer."""
    for name, least in (("part", 1000000), ("frame|all", 1500000)):
        assert len(sections[name]) == 20 and least <= min(sections[name]) < least + 1000000, (name, sections)


def test_marks(w):
    prog = w.compile("marked", PROGRAM, "-I" + os.environ["SOURCE_DIR"] + "/include")
    for tracer in "nop", "function_graph":
        w.env["VESTIGE_BOOT"] = "atrace_tags=gfx,net"
        w.run("record", "-q", "-p", tracer, "-o", "t.dat", "--", prog)
        del w.env["VESTIGE_BOOT"]

        events = json.loads(w.run("convert", "-q", "--to", "chrome", "t.dat", "-").stdout)["traceEvents"]
        open_, sections = [], collections.defaultdict(list)
        for e in events:
            if e["ph"] == "B":
                open_.append(e)
            elif e["ph"] == "E":
                begun = open_.pop()
                sections[begun["name"]].append(round(1000 * (e["ts"] - begun["ts"])))
        check(sections)
        assert [e["name"] for e in open_] == ["left open"]
        times = {ph: {e["id"]: e["ts"] for e in events if e["ph"] == ph and e["name"] == 'request, "slow"'} for ph in "be"}
        assert len(times["b"]) == 20 and times["b"].keys() == times["e"].keys(), times
        assert min(times["e"][i] - times["b"][i] for i in times["b"]) >= 1500, times
        assert [e["args"]["value"] for e in events if e["ph"] == "C" and e["name"] == "rows"] == list(range(-5, 15))
        assert not [e for e in events if e["ph"] == "i"]

        rows = w.rows("t.dat")
        lines = [json.loads(l) for l in w.run("convert", "-q", "--to", "jsonl", "t.dat", "-").stdout.splitlines()]
        for table in rows, lines:
            of = collections.defaultdict(list)
            for r in table:
                if r["kind"] == "section":
                    of[r["name"]].append(int(r["duration"]))
                    assert r["name"] != "frame|all" or 0 < int(r["self"]) < int(r["duration"])
            check(of)
            assert [r["text"] for r in table if r["name"] == "left open"] == ["unfinished"]
            assert [int(r["text"]) for r in table if r["kind"] == "counter"] == list(range(-5, 15))
            assert [r["text"] for r in table if r["kind"] == "async_end"] == [str(i) for i in range(20)]

        w.run("convert", "-q", "t.dat", "t.pftrace")
        of = {r["name"]: r for r in json.loads(w.run("profile", "--json", "t.pftrace").stdout)["functions"]}
        for name, ns in (("part", 20000000), ("frame|all", 30000000), ('request, "slow"', 30000000)):
            assert of[name]["calls"] == 20 and of[name]["total"] >= ns, (name, of[name])
        assert tracer == "nop" or of["main"]["calls"] == 1, of["main"]


if __name__ == "__main__":
    main(globals())
