#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""replay, graph, profile of a recording with entries and exits, and `vestige ./prog`."""
import json
import os
import re
import shutil
import subprocess

from cli_test import BIN, Skip, main, need

LINE = re.compile(r"^(.{10}) \[ *(\d+)\] \| ( *)(.*)$")
TIME = re.compile(r"^ *\d+\.\d{3} (us|ms| s| m| h)$")

CXX = r"""
#include <stdexcept>
#define FN __attribute__((noipa))
namespace ns {
template <class T> struct Box { T v; FN T get(int more) const { return v + more; } };
FN void thrower(int i) { if (i) throw std::runtime_error("x"); }
FN int between(int i) { thrower(i); return i; }
}
FN int catcher(int i) { try { return ns::between(i); } catch (...) { return ns::Box<long>{3}.get(i); } }
int main() { return catcher(1) + catcher(0) == 4 ? 0 : 1; }
"""


# one thread: what its two stacks do takes main()'s time, each moment on one of them
COROUTINE = r"""
#include <ucontext.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static ucontext_t home, there;
static char stack[65536];
FN void step(void) { asm(""); }
FN void nap(void) { usleep(20000); }
FN void yields(void) { step(); swapcontext(&there, &home); step(); }
FN void worker(void) { for (;;) yields(); }
FN void resumes(void) { step(); swapcontext(&home, &there); step(); }
int main(void)
{
	int i;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, worker, 0);
	for (i = 0; i < 10; i++) {
		resumes();
		nap();
	}
	return 0;
}
"""


# an event before, in and behind a call
MARKS = r"""
#include <vestige/event.h>
#define FN __attribute__((noipa))
VESTIGE_EVENT(shop, order, (int, number));
FN void inner(void) { trace_order(2); }
FN void outer(void) { trace_order(1); inner(); trace_order(3); }
int main(void) { outer(); return 0; }
"""


def record(w, *args, name="trace.dat", prog=None):
    return w.run("record", "-q", "-p", "function_graph", "-o", name, "--", prog or w.prog, *args)


def replay(w, *args):
    """Lines as (tid, depth, text). The times are checked here and left out."""
    out = []
    p = w.run("replay", *args)
    for line in p.stdout.decode().splitlines():
        if line.startswith("#"):
            continue
        m = LINE.match(line)
        assert m, line
        opens = m[4].endswith("() {")
        assert not m[1].strip() if opens else TIME.match(m[1]), line
        assert len(m[3]) % 2 == 0
        out.append((int(m[2]), len(m[3]) // 2, m[4]))
    return out


def raw_lines(w, *args):
    """The lines as printed, without a check of times."""
    found = [LINE.match(l) for l in w.run("replay", *args).stdout.decode().splitlines()[1:]]
    return [(int(m[2]), len(m[3]) // 2, m[4]) for m in found]


def texts(lines):
    return [" " * d + t for _, d, t in lines]


WHOLE = ["main() {", " first();", " mid() {", "  leaf();", "  leaf();", " } /* mid */", " mid() {",
         "  leaf();", "  leaf();", " } /* mid */", " last();", "} /* main */"]


def test_events_below_the_calls_of_F(w):
    """replay -F shows the events that happened in the calls that it shows, and no others."""
    prog = w.compile("marks", MARKS, "-I" + os.environ["SOURCE_DIR"] + "/include")
    w.run("record", "-q", "-p", "function_graph", "-e", "shop", prog)
    events = lambda *args: re.findall(r"/\* shop:order: .*number=(\d+)", w.run("replay", *args).stdout.decode())
    assert events() == ["1", "2", "3"]
    assert events("-F", "inner") == ["2"] and events("-F", "outer") == ["1", "2", "3"]
    assert events("-F", "outer", "-N", "inner") == ["1", "3"] and events("-F", "outer", "-D", "1") == ["1", "3"]
    assert events("-F", "nosuch") == []


def test_replay(w):
    record(w, "calls", "2")
    assert texts(replay(w)) == WHOLE
    assert texts(replay(w, "-i", "trace.dat")) == texts(replay(w, "trace.dat")) == WHOLE
    assert len({tid for tid, _, _ in replay(w)}) == 1


def test_replay_filters(w):
    record(w, "calls", "2")
    mid = ["mid() {", " leaf();", " leaf();", "} /* mid */"]
    assert texts(replay(w, "-F", "mid")) == mid * 2
    assert texts(replay(w, "-F", "m?[d-e]")) == mid * 2
    assert texts(replay(w, "-F", "mid", "-D", "1")) == ["mid();"] * 2
    assert texts(replay(w, "-F", "leaf")) == ["leaf();"] * 4
    assert texts(replay(w, "-N", "mid")) == ["main() {", " first();", " last();", "} /* main */"]
    assert texts(replay(w, "-F", "main", "-N", "leaf")) == \
        ["main() {", " first();", " mid();", " mid();", " last();", "} /* main */"]
    assert texts(replay(w, "-D", "2")) == \
        ["main() {", " first();", " mid();", " mid();", " last();", "} /* main */"]
    assert texts(replay(w, "-D", "1")) == ["main();"]
    assert texts(replay(w, "-r", "0us~1m")) == texts(replay(w, "-t", "0ns")) == WHOLE
    for nothing in (["-t", "60m"], ["-r", "1m~"], ["-r", "~0.000001"], ["-F", "nosuch"], ["--tid", "1"]):
        p = w.run("replay", *nothing)
        assert b"matches the flags" in p.stderr and p.stdout == b"", p
        assert w.run("graph", *nothing).stdout == b""
    # a time that only main takes
    w.compile("sleeps", "#include <unistd.h>\n__attribute__((noipa)) void nap(void) { usleep(30000); }\n"
              "__attribute__((noipa)) void quick(void) { asm(\"\"); }\n"
              "__attribute__((noipa)) void around(void) { quick(); nap(); quick(); }\n"
              "int main(void) { quick(); around(); quick(); }")
    record(w, prog=w.path("sleeps"))
    assert texts(replay(w, "-t", "30ms")) == \
        ["main() {", " around() {", "  nap();", " } /* around */", "} /* main */"]


def test_record_filters(w):
    """The engine's filters and replay's filters leave the same calls."""
    record(w, "calls", "2")
    for engine, view in ((["--max-graph-depth", "2"], ["-D", "2"]), (["-g", "mid"], ["-F", "mid"]),
                         (["--graph-notrace", "m*d"], ["-N", "m*d"]),
                         (["-g", "main", "--graph-notrace", "leaf"], ["-F", "main", "-N", "leaf"]),
                         (["-g", "mid", "--max-graph-depth", "1"], ["-F", "mid", "-D", "1"])):
        w.run("record", "-q", "-p", "function_graph", "-o", "some.dat", *engine, w.prog, "calls", "2")
        assert texts(replay(w, "some.dat")) == texts(replay(w, *view)), engine
    for bad in (["--max-graph-depth", "0"], ["--max-graph-depth", "x"], ["--tracing-thresh", "1ns"],
                ["--tracing-thresh", "x"], ["-g", ""], ["--graph-notrace"], ["--tracing-thresh"]):
        p = w.run("record", "-p", "function_graph", *bad, status=125)
        assert p.stderr.count(b"\n") == 1, p
    for flag in ("-g", "--graph-notrace"):
        p = w.run("record", "-p", "function_graph", flag, "nosuch", w.prog, status=125)
        assert b"no function that can be traced matches nosuch" in p.stderr, p


def test_replay_many_lines(w):
    """replay prints all lines when more of them wait for a call's end than it can hold."""
    record(w, "calls", "30000")
    lines = replay(w)
    assert len(lines) == 2 + 2 + 30000 * 4
    assert texts(lines[:6]) == WHOLE[:6]
    assert texts(replay(w, "-N", "leaf"))[1:4] == [" first();", " mid();", " mid();"]
    assert len(replay(w, "-t", "1ns")) > 30000


def test_replay_threads(w):
    record(w, "threads")
    whole = replay(w)
    tids = sorted({tid for tid, _, _ in whole})
    assert len(tids) == 3
    for tid in tids:
        one = replay(w, "--tid", tid)
        assert one == [l for l in whole if l[0] == tid]
    worker = [l for l in whole if l[0] == tids[1]]
    assert texts(worker) == ["thread() {"] + [" leaf();"] * 100 + ["} /* thread */"]
    columns = replay(w, "--column")
    assert [(t, x) for t, _, x in columns] == [(t, x) for t, _, x in whole]
    assert len({d for _, d, x in columns if x == "leaf();"}) == 2


def node(nodes, *path):
    for name in path:
        found = [n for n in nodes if n["name"] == name]
        assert len(found) == 1, (name, nodes)
        nodes = found[0]["calls"]
    return found[0]


def test_graph(w):
    record(w, "calls", "50")
    head, *rows = w.run("graph").stdout.decode().splitlines()
    assert head.split() == ["#", "TOTAL", "SELF", "CALLS", "AVG", "MIN", "MAX", "FUNCTION"]
    rows = [re.match(r"^((?: .{10}){2}) +(\d+)((?: .{10}){3})  ( *)(\S+)$", r) for r in rows]
    assert sorted((m[5], int(m[2]), len(m[4])) for m in rows) == \
        [("first", 1, 2), ("last", 1, 2), ("leaf", 100, 4), ("main", 1, 0), ("mid", 50, 2)]
    tree = json.loads(w.run("graph", "--json").stdout)["tree"]
    whole = node(tree, "main")
    assert whole["count"] == 1 and whole["min"] == whole["max"] == whole["total"]
    kids = sum(n["total"] for n in whole["calls"])
    assert whole["self"] + kids == whole["total"]
    mid = node(tree, "main", "mid")
    assert mid["count"] == 50 and mid["min"] * 50 <= mid["total"] <= mid["max"] * 50
    assert node(tree, "main", "mid", "leaf")["count"] == 100
    limited = json.loads(w.run("graph", "--json", "-D", "2").stdout)["tree"]
    assert node(limited, "main", "mid")["calls"] == []


def test_graph_of_a_file_that_is_none(w):
    """A word that names a file which is no recording: the error is about that file."""
    for name, data in ("bad.dat", bytes(range(256)) * 4), ("empty.dat", b""):
        with open(w.path(name), "wb") as f:
            f.write(data)
    said = {"bad.dat": "'bad.dat' is neither a trace.dat nor a spool nor an area", "empty.dat": "'empty.dat' is empty",
            ".": "'.' is a folder that no known tool has written", "calls": "'calls' is neither a trace.dat nor a spool nor an area",
            "/nonexistent/x": "cannot open '/nonexistent/x': No such file or directory"}
    for name, text in said.items():
        p = w.run("graph", name, status=1)
        assert p.stdout == b"" and p.stderr.decode() == f"vestige: {text}\n", p
    record(w, "calls", "1")
    for name, text in said.items():
        more = "" if "/" in name else f", and 'trace.dat' has no call of {name}"
        p = w.run("graph", name, status=1)
        assert p.stdout == b"" and p.stderr.decode().splitlines()[-1] == f"vestige: {text}{more}", p
    w.run("record", "-q", "-p", "function", w.prog, "calls", "1")
    for name, text in said.items():
        more = "" if "/" in name else ", and 'trace.dat' has no calls with entry and exit"
        p = w.run("graph", name, status=1)
        assert p.stdout == b"" and p.stderr.decode().splitlines()[-1].startswith(f"vestige: {text}{more}"), p


def test_graph_of_a_function(w):
    record(w, "calls", "50")
    j = json.loads(w.run("graph", "--json", "leaf").stdout)
    assert node(j["callers"], "leaf", "mid", "main")["count"] == 100
    assert node(j["tree"], "leaf")["count"] == 100
    j = json.loads(w.run("graph", "--json", "mid", "trace.dat").stdout)
    assert node(j["tree"], "mid", "leaf")["count"] == 100 and node(j["callers"], "mid")["count"] == 50
    text = w.run("graph", "leaf").stdout.decode()
    assert "# who called leaf" in text and "<- mid" in text and "# beneath leaf" in text
    assert b"nosuch" in w.run("graph", "nosuch", status=1).stderr
    # a program of the function's name is no recording
    shutil.copy(w.prog, w.path("mid"))
    assert w.run("graph", "mid").stdout == w.run("graph", "mid", "trace.dat").stdout
    record(w, "threads")
    trees = json.loads(w.run("graph", "--json", "--threads").stdout)["tree"]
    assert sorted(n["count"] for t in trees for n in t["calls"]) == [1, 1, 1]


def functions(w, *args):
    return {f["name"]: f for f in json.loads(w.run("profile", "--json", *args).stdout)["functions"]}


def test_profile(w):
    record(w, "calls", "200")
    f = functions(w)
    assert {n: x["calls"] for n, x in f.items()} == \
        {"main": 1, "first": 1, "last": 1, "mid": 200, "leaf": 400}
    assert sum(x["self"] for x in f.values()) == f["main"]["total"]
    assert f["mid"]["total"] == f["mid"]["self"] + f["leaf"]["total"]
    for x in f.values():
        assert x["min"] <= x["p50"] <= x["p90"] <= x["p99"] <= x["max"]
        assert x["min"] <= x["avg"] <= x["max"]
    head, *rows = w.run("profile", "--top", "2", "-s", "calls").stdout.decode().splitlines()
    assert head.split() == ["#", "SELF", "SHARE", "TOTAL", "CALLS", "AVG", "P50", "P90", "P99", "MAX",
                            "FUNCTION"]
    assert [r.split()[-1] for r in rows] == ["leaf", "mid"]
    for key in ("self", "total", "calls", "avg", "min", "max", "p50", "p90", "p99"):
        values = [x[key] for x in json.loads(w.run("profile", "--json", "-s", key).stdout)["functions"]]
        assert values == sorted(values, reverse=True), key
    by_name = w.run("profile", "-s", "name").stdout.decode().splitlines()[1:]
    assert [r.split()[-1] for r in by_name] == sorted(f)
    j = json.loads(w.run("profile", "--callers", "--json").stdout)["functions"]
    assert [c for x in j if x["name"] == "leaf" for c in x["callers"]][0]["calls"] == 400
    assert b"<-mid" in w.run("profile", "--callers").stdout
    assert functions(w, "-F", "mid").keys() == {"mid", "leaf"}


OVERLOADED = """
__attribute__((noipa)) int f(int n) { return n < 2 ? n : f(n - 1) + 1; }
__attribute__((noipa)) int f(double n) { return (int)n; }
int main() { int sum = 0; for (int i = 0; i < 10; i++) sum += f(20); return sum + f(1.0) == 0; }
"""


def test_one_name(w):
    """--diff joins functions of one name; a caller's total counts recursion once."""
    with open(w.path("o.cc"), "w", encoding="utf-8") as f:
        f.write(OVERLOADED)
    subprocess.run(["g++", "-O1", "o.cc", "-o", "overloaded"], cwd=w.dir, check=True)
    record(w, prog=w.path("overloaded"))
    rows = [x for x in json.loads(w.run("profile", "--json", "--callers").stdout)["functions"] if x["name"] == "f"]
    assert sorted(x["calls"] for x in rows) == [1, 200], rows
    for x in rows:
        assert all(c["total"] <= x["total"] for c in x["callers"]), x
    lines = [line for line in w.run("profile", "--diff", "trace.dat").stdout.decode().splitlines() if line.split()[-1] in ("f", "(gone)")]
    assert len(lines) == 1 and "201" in lines[0], lines


def test_suspended_stacks(w):
    """Time in which a coroutine is suspended is no function's own time."""
    w.compile("coroutine", COROUTINE)
    record(w, prog=w.path("coroutine"))
    w.run("record", "-q", "-p", "function_graph", "--file-version", "6", "-o", "v6.dat", "--", w.path("coroutine"))
    for name in ("trace.dat", "v6.dat"):
        f = functions(w, name)
        assert f["yields"]["calls"] == 10 and f["nap"]["self"] == f["nap"]["total"] > 200_000_000, f
        # but the moment between the coming of a new stack and the first call on it
        own = sum(x["self"] for x in f.values())
        assert 0.9 * f["main"]["total"] < own <= f["main"]["total"], f
        assert f["main"]["suspended"] == f["nap"]["suspended"] == f["step"]["suspended"] == 0, f
        # it waits for nine naps and for the end, or the last in the middle of a call
        assert 9 * 20_000_000 < f["yields"]["suspended"] < f["main"]["total"], f
        assert f["yields"]["suspended"] + f["yields"]["self"] <= f["yields"]["total"], f
        assert 0 < f["resumes"]["suspended"] < f["resumes"]["total"], f
        assert f["worker"]["total"] > 9 * 20_000_000 > f["worker"]["self"] + f["worker"]["suspended"], f
        head = w.run("profile", "-s", "suspended", name).stdout.decode().splitlines()
        assert head[0].split()[:4] == ["#", "SELF", "SHARE", "SUSPENDED"] and head[1].split()[-1] == "yields", head
        tree = json.loads(w.run("graph", "--json", name).stdout)["tree"]
        assert node(tree, "worker", "yields")["suspended"] == f["yields"]["suspended"], tree
        beneath = json.loads(w.run("graph", "--json", "yields", name).stdout)
        assert node(beneath["tree"], "yields")["suspended"] == f["yields"]["suspended"], beneath
        assert "SUSPENDED" in w.run("graph", name).stdout.decode().splitlines()[0]
        rows = json.loads(w.run("profile", "--by", "thread", "--json", name).stdout)
        assert len(rows["threads"]) == 1 and rows["self"] == own, rows
        assert rows["suspended"] == f["yields"]["suspended"] + f["resumes"]["suspended"] + \
            f["worker"]["suspended"], rows


def test_profile_by(w):
    record(w, "threads")
    rows = json.loads(w.run("profile", "--by", "thread", "--json").stdout)["threads"]
    assert sorted((r["comm"], r["calls"]) for r in rows) == [("alpha", 101), ("beta", 101), ("calls", 3)]
    assert all(r["self"] == r["total"] for r in rows)
    rows = json.loads(w.run("profile", "--threads", "--json").stdout)["functions"]
    assert sorted(r["calls"] for r in rows if r["name"] == "leaf") == [100, 100]
    rows = json.loads(w.run("profile", "--by", "object", "--json").stdout)["objects"]
    assert [(r["name"], r["calls"]) for r in rows] == [(None, 205)]
    assert b"alpha-" in w.run("profile", "--by", "thread").stdout


def test_profile_diff(w):
    record(w, "calls", "10", name="old.dat")
    record(w, "calls", "30", name="new.dat")
    rows = json.loads(w.run("profile", "--json", "--diff", "old.dat", "new.dat").stdout)["functions"]
    assert {r["name"]: (r["calls"], r["old"]["calls"]) for r in rows} == \
        {"main": (1, 1), "first": (1, 1), "last": (1, 1), "mid": (30, 10), "leaf": (60, 20)}
    text = w.run("profile", "--diff", "old.dat", "new.dat").stdout.decode()
    assert re.search(r" 60 +\+40  leaf$", text, re.M), text
    record(w, name="none.dat")
    assert re.search(r" 0 +-30  mid \(gone\)$", w.run("profile", "--diff", "new.dat", "none.dat").stdout.decode(), re.M)
    assert re.search(r"mid \(new\)$", w.run("profile", "--diff", "none.dat", "new.dat").stdout.decode(), re.M)
    w.run("record", "-q", "-o", "plain.dat", w.prog)
    # threads have other numbers in each recording: they are paired by name
    record(w, "threads", name="t1.dat")
    record(w, "threads", name="t2.dat")
    rows = json.loads(w.run("profile", "--json", "--by", "thread", "--diff", "t1.dat", "t2.dat").stdout)["threads"]
    assert {r["comm"]: (r["calls"], r["old"]["calls"]) for r in rows} == {"alpha": (101, 101), "beta": (101, 101), "calls": (3, 3)}, rows
    assert not any("tid" in r for r in rows), rows
    text = w.run("profile", "--by", "thread", "--diff", "t1.dat", "t2.dat").stdout.decode()
    assert sorted(line.split()[-1] for line in text.splitlines()[1:]) == ["alpha", "beta", "calls"], text
    text = w.run("profile", "--by", "thread", "--diff", "t1.dat", "new.dat").stdout.decode()
    assert re.search(r" 0 +-101  alpha \(gone\)$", text, re.M) and re.search(r" 93 +\+90  calls$", text, re.M), text
    text = w.run("profile", "--threads", "--diff", "t1.dat", "t2.dat").stdout.decode()
    assert re.search(r" 100 +\+0  beta leaf$", text, re.M), text
    assert b"plain.dat" in w.run("profile", "--diff", "plain.dat", "new.dat", status=1).stderr


def test_function_records_have_no_calls(w):
    """A recording without calls gives an error, and no line of a table before it."""
    w.run("record", "-q", "-p", "function", "--", w.prog, "calls", "2")
    for words in (["replay"], ["graph"], ["graph", "leaf"], ["graph", "--json"]):
        p = w.run(*words, status=1)
        assert b"has no calls with entry and exit: record it with -p function_graph" in p.stderr, p.stderr
        assert p.stdout == b"", p.stdout


def test_function_records_have_no_times(w):
    w.run("record", "-q", w.prog)
    for args in (["--by", "thread"], ["-F", "main"], ["-s", "self"], ["--diff", "x"]):
        p = w.run("profile", *args, status=1)
        assert p.stderr.count(b"\n") == 1 and p.stdout == b"", p
    assert w.run("profile", "-s", "hits").stdout.startswith(b"  Function ")


def test_errors(w):
    for command in ("replay", "graph", "profile"):
        for bad in (["-D", "0"], ["-D", "x"], ["-t", "x"], ["-t", "5d"], ["-r", "5"], ["-r", "5~1"], ["-r", "2ms~1ms"], ["-r", "~"], ["-r", "x~"],
                    ["--tid", "x"], ["--tid", "1,"], ["--demangle", "some"], ["-F", ""], ["-F"], ["--nosuch"],
                    ["a", "b", "c"]):
            p = w.run(command, *bad, status=2)
            assert p.stdout == b"" and p.stderr.count(b"\n") == 1 and b"--help" in p.stderr, p.stderr
        assert b"trace.dat" in w.run(command, status=1).stderr
        assert b"none.dat" in w.run(command, "-i", "none.dat", status=1).stderr
        assert w.run(command, "--help").stdout == w.run("help", command).stdout
    assert b"--by" in w.run("profile", "--by", "x", status=2).stderr
    record(w, "calls", "1")
    for command in ("replay", "graph", "profile"):
        with open("/dev/full", "w") as full:
            p = subprocess.run([BIN, command], cwd=w.dir, stdout=full, stderr=subprocess.PIPE)
        assert p.returncode == 1 and b"cannot write" in p.stderr, p


def test_broken_pipe(w):
    record(w, "calls", "20000")
    for ignored in (False, True):
        p = subprocess.Popen([BIN, "replay"], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             restore_signals=not ignored)
        assert p.stdout.readline().startswith(b"#")
        p.stdout.close()
        assert p.stderr.read() == b""
        assert p.wait() in (0, -13), p.returncode
        p.stderr.close()


def test_cxx_names(w):
    with open(w.path("cxx.cc"), "w") as f:
        f.write(CXX)
    need("g++")
    subprocess.run(["g++", "-O1", "-fpatchable-function-entry=6", "cxx.cc", "-o", "cxx"], cwd=w.dir, check=True)
    record(w, prog=w.path("cxx"))
    lines = texts(replay(w))
    assert lines[:4] == ["main() {", " catcher() {", "  ns::between() {", "   ns::thrower();"] or \
        "unwound" in lines[3], lines
    # the function that threw is shown, and the catch block's calls are the catching function's
    assert "  ns::Box::get();" in lines and any("unwound" in l for l in lines), lines
    assert "  } /* ns::between, unwound */" in lines, lines
    full = texts(replay(w, "--demangle=full"))
    assert any(l.strip() == "ns::Box<long>::get(int) const();" for l in full), full
    assert any(l.strip().startswith("_ZN2ns7thrower") for l in texts(replay(w, "--no-demangle")))
    report = w.run("report", "--format=trace").stdout.decode()
    assert "_ZN2ns7throwerEi" in report and "ns::thrower" not in report
    report = w.run("report", "--format=trace", "--demangle=short").stdout.decode()
    assert "_ZN2ns7throwerEi" not in report and "ns::thrower" in report
    assert b"--help" in w.run("report", "--format=trace", "--demangle=x", status=2).stderr
    # patterns may be any of the names
    for pattern in ("ns::thrower", "_ZN2ns7throwerEi"):
        assert len(replay(w, "-F", pattern)) == 2
    # on another machine the program is not there
    os.unlink(w.path("cxx"))
    assert texts(replay(w)) == lines


def test_source_lines(w):
    w.compile("lines", open(w.prog + ".c").read(), "-g")
    record(w, "calls", "1", prog=w.path("lines"))
    where = [i for i, l in enumerate(open(w.path("lines.c")), 1) if "void mid(" in l][0]
    assert f"mid() {{ /* {w.path('lines.c')}:{where} */" in [t for _, _, t in raw_lines(w, "--srcline")]
    assert f"  mid [{w.path('lines.c')}:{where}]" in w.run("graph", "--srcline").stdout.decode()
    assert f"  mid [{w.path('lines.c')}:{where}]" in w.run("profile", "--srcline").stdout.decode()
    # the lines are in a debug file
    for command in (["objcopy", "--only-keep-debug", "lines", "lines.debug"], ["strip", "-s", "lines"],
                    ["objcopy", "--add-gnu-debuglink=lines.debug", "lines"]):
        subprocess.run(command, cwd=w.dir, check=True)
    assert f":{where}]" in w.run("graph", "--srcline").stdout.decode()
    # so are the names
    record(w, "calls", "1", prog=w.path("lines"))
    assert texts(replay(w))[:2] == WHOLE[:2]
    # a FIFO in its place is not waited for
    os.rename(w.path("lines.debug"), w.path("kept"))
    os.mkfifo(w.path("lines.debug"))
    assert ".c:" not in w.run("graph", "--srcline").stdout.decode()
    os.rename(w.path("kept"), w.path("lines.debug"))
    # a file that was built again has other lines
    w.compile("lines", "\n" + open(w.prog + ".c").read(), "-g")
    assert ".c:" not in w.run("graph", "--srcline").stdout.decode()


def test_program_without_a_command(w):
    tmp = w.path("tmp")
    os.mkdir(tmp)
    env = {"TMPDIR": tmp}
    p = w.run("./calls", "calls", "2", env=env)
    got = [LINE.match(l)[3][::2] + LINE.match(l)[4] for l in p.stdout.decode().splitlines()[1:]]
    assert got == WHOLE and p.stderr == b"", p
    w.run("./calls", "exit", "7", env=env, status=7)
    assert b"no such program" in w.run("./nosuch", env=env, status=127).stderr
    # an executable in PATH, without a slash
    p = w.run("calls", env=dict(env, PATH=w.dir + ":" + os.environ["PATH"]))
    assert b"main() {" in p.stdout
    assert os.listdir(tmp) == [], os.listdir(tmp)
    # a misspelt command gets an error and is not run
    shutil.copy(w.prog, w.path("sart"))
    assert b"did you mean start" in w.run("sart", env=dict(env, PATH=w.dir), status=2).stderr
    assert b"vestige --help" in w.run("frobnicate", status=2).stderr


def test_pager(w):
    env = dict(w.env, PAGER="cat >paged; echo seen", TMPDIR=w.dir)
    main_side, side = os.openpty()
    p = subprocess.Popen([BIN, "./calls", "calls", "2"], cwd=w.dir, env=env, stdout=side, stderr=subprocess.PIPE)
    os.close(side)
    seen = b""
    while b"seen" not in seen:
        seen += os.read(main_side, 1000)
    assert p.wait() == 0 and p.stderr.read() == b""
    p.stderr.close()
    os.close(main_side)
    with open(w.path("paged")) as f:
        assert "main() {" in f.read()


def test_as_uftrace(w):
    """Calls by function equal uftrace's, of the same run of a program."""
    need("uftrace")
    with open(w.prog + ".c") as f:
        source = f.read()
    w.compile("pg", source, "-pg", "-fpatchable-function-entry=0")
    p = subprocess.run(["uftrace", "record", "--no-libcall", "-d", w.path("ud"), w.path("pg"), "calls", "500"],
                       cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=w.env)
    if p.returncode:
        raise Skip("uftrace cannot record here")
    p = subprocess.run(["uftrace", "report", "--no-pager", "-d", w.path("ud")], stdout=subprocess.PIPE, check=True)
    theirs = {}
    for line in p.stdout.decode().splitlines():
        words = line.split()
        if len(words) >= 6 and words[4].isdigit() and not words[5].startswith("linux:"):
            theirs[words[5]] = int(words[4])
    record(w, "calls", "500")
    assert {n: x["calls"] for n, x in functions(w).items()} == theirs


main(globals())
