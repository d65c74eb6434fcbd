#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""function_graph is right in our text and in trace-cmd's, and options shape the text."""
import os
import re
import subprocess

from cli_test import BIN, main, need

CELL = r"(?:[ +!#*@$] +[\d.]+ us +|\s{14})\|  "
CPU = r" *\d+\) "


def record(w, *args, flags=()):
    w.run("record", "-q", "-p", "function_graph", *flags, "--", w.prog, *args)


def report(w, *args):
    return w.run("report", "--format=trace", *args).stdout.decode()


def calls(text):
    """The functions with their indentation, without the columns before them."""
    out = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        m = re.match(f"^{CPU}{CELL}( *\\S.*)$", line)
        assert m, line
        out.append(m.group(1))
    return out


WANT = ["main() {", "  first();", "  mid() {", "    leaf();", "    leaf();", "  }", "  last();", "}"]


def test_calls(w):
    record(w, "calls", "1")
    text = report(w)
    assert text.startswith("# tracer: function_graph\n#\n"
                           "# CPU  DURATION                  FUNCTION CALLS\n"
                           "# |     |   |                     |   |   |   |\n"), text[:200]
    assert calls(text) == WANT, text


def test_options(w):
    record(w, "calls", "1")
    plain = report(w)
    bare = report(w, *"-O nofuncgraph-cpu -O nofuncgraph-overhead -O nofuncgraph-duration".split())
    assert bare.splitlines()[4:] == WANT, bare
    tail = report(w, "-O", "funcgraph-tail")
    assert calls(tail) == [c.replace("  }", "  } /* mid */") if c == "  }" else
                           "} /* main */" if c == "}" else c for c in WANT], tail
    proc = report(w, "-O", "funcgraph-proc", "-O", "funcgraph-abstime").splitlines()
    assert proc[2] == "#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS", proc[2]
    assert all(re.match(r"^ *\d+\.\d{6} \| +\d+\) +calls-\d+ +\| ", l) for l in proc[4:]), proc
    latency = report(w, "-O", "latency-format").splitlines()
    assert latency[2].startswith("# function_graph latency trace v1.1.5 on "), latency[:4]
    assert re.match(r"^ +\d+\)  \.{5} \| +\|  main\(\) \{$", latency[-8]), latency[-8:]
    assert report(w, "-O", "funcgraph-proc", "-O", "nofuncgraph-proc") == plain
    for bad in "funcgraph-nothing", "nono":
        p = w.run("report", "--format=trace", "-O", bad, status=2)
        assert b"funcgraph-proc" in p.stderr and p.stderr.count(b"\n") == 1, p.stderr


def test_process_options(w):
    """An area is shown with the options of its process. -O overrides them."""
    w.env["VESTIGE_BOOT"] = "ftrace=function_graph trace_options=funcgraph-tail,nofuncgraph-cpu"
    lib = BIN[:BIN.rindex("/")] + "/libvestige.so"
    subprocess.run([w.prog, "calls", "1"], cwd=w.dir, env={**w.env, "LD_PRELOAD": lib}, check=True)
    del w.env["VESTIGE_BOOT"]
    area = os.path.join(w.areas, os.listdir(w.areas)[0])
    text = report(w, area)
    assert "} /* mid */" in text and "#  DURATION  " in text, text
    text = report(w, area, "-O", "nofuncgraph-tail", "-O", "funcgraph-cpu")
    assert calls(text) == WANT, text
    os.unlink(area)


def test_as_trace_cmd(w):
    need("trace-cmd")
    record(w, "threads")
    theirs = subprocess.run(["trace-cmd", "report", "trace.dat"], cwd=w.dir, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True).stdout.decode().splitlines()[1:]
    # it folds no leaf that another CPU's event falls into: count names and ends instead
    ours = [c for c in calls("\n".join(l for l in report(w).splitlines()
                                       if re.match(f"^{CPU}{CELL}", l)))]
    names = re.compile(r"(\w+)\(\)")
    assert sorted(names.findall("\n".join(theirs))) == sorted(names.findall("\n".join(ours)))
    assert len(names.findall("\n".join(ours))) == 1 + 2 * 101 + 2, ours


def test_thresh(w):
    """With tracing_thresh there are only returns that took long, with their durations and
    depths."""
    prog = w.compile("sleeps", """
#include <unistd.h>
#define FN __attribute__((noipa))
FN void in(int us) { usleep(us); }
FN void out(int us) { in(us); in(1); }
int main(void) { out(20000); return 0; }
""")
    w.run("record", "-q", "-p", "function_graph", "--tracing-thresh", "10ms", prog)
    got = calls(report(w))
    assert got[-3:] == ["    } /* in */", "  } /* out */", "} /* main */"], got
    # how long they took is known, and what of that was spent beneath
    rows = [l.split() for l in w.run("profile").stdout.decode().splitlines()[1:]]
    assert sorted(r[-1] for r in rows) == ["in", "main", "out"], rows
    assert rows[0][-1] == "in", rows


main(globals())
