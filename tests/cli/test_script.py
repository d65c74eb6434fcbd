#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libvestige-trace, its Python module, `vestige script` and each program of docs/examples/trace
give other tools' results."""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from cli_test import BIN, main, python_env, sanitizer, spinning

BUILD = os.environ["BUILD_DIR"]
SOURCE = os.environ["SOURCE_DIR"]
EXAMPLES = SOURCE + "/docs/examples/trace"

PROGRAM = r"""
#include <stdio.h>
#include <setjmp.h>
#include <unistd.h>
#include <sys/syscall.h>
#define FN __attribute__((noipa))
volatile long sum;
static jmp_buf back;
FN int leaf(int i) { sum += i; return i * 2; }
FN int fails(int i) { sum += i; return -2; }
FN void leaps(void) { longjmp(back, 1); }
FN int mid(int i) { return leaf(i) + leaf(i + 1) + fails(i); }
FN void top(void) { for (int i = 0; i < 10; i++) mid(i); syscall(SYS_getppid); }
int main(void) { for (int i = 0; i < 3; i++) top(); if (!setjmp(back)) leaps(); return 0; }
"""
CALLS = {"main": 1, "top": 3, "mid": 30, "leaf": 60, "fails": 30, "leaps": 1}


def python(w, *args, status=0):
    p = subprocess.run(["python3", *args], cwd=w.dir, env=python_env(w), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=100, text=True)
    assert p.returncode == status, (args, p.returncode, p.stdout[-2000:], p.stderr[-2000:])
    return p


def script(w, *args, status=0):
    return w.run("script", *args, env=python_env(w), status=status).stdout.decode()


def recorded(w, *flags, name="t.dat"):
    prog = w.path("p") if os.path.exists(w.path("p")) else w.compile("p", PROGRAM, "-g")
    w.run("record", "-q", "-p", "function_graph", "-e", "raw_syscalls", *flags, "-o", name, "--", prog)
    return name


def test_records(w):
    """Calls, times, stacks and fields equal the tools' output."""
    recorded(w, "-O", "funcgraph-args", "-O", "funcgraph-retval")
    out = python(w, "-c", """
import json, vestige_trace as v
with v.open("t.dat", kinds=31) as trace:
    rows = []
    for r in trace:
        rows.append({"kind": r.kind, "name": r.name, "event": r.event, "time": r.time, "duration": r.duration, "self": r.self, "depth": r.depth,
                     "flags": r.flags, "result": r.result, "text": r.text, "stack": [f.name for f in r.stack()],
                     "source": trace.source(r.address) if r.kind <= 2 else None, "tid": r.tid, "pid": r.pid,
                     "fields": r.fields if r.kind == v.EVENT else None})
    print(json.dumps([trace.info.time_is_ns, trace.info.lost, rows]))
""").stdout
    is_ns, lost, rows = json.loads(out)
    assert is_ns and lost == 0
    calls = [r for r in rows if r["kind"] == 2]
    assert collections.Counter(r["name"] for r in calls) == CALLS
    assert sum(r["kind"] == 1 for r in rows) == len(calls)
    profile = {f["name"]: f for f in json.loads(w.run("profile", "--json", "t.dat").stdout)["functions"]}
    for name, of in profile.items():
        mine = [r for r in calls if r["name"] == name]
        assert (of["calls"], of["total"], of["self"]) == (len(mine), sum(r["duration"] for r in mine), sum(r["self"] for r in mine)), of
    leaf = [r for r in calls if r["name"] == "leaf"]
    assert all(r["stack"] == ["leaf", "mid", "top", "main"] and r["depth"] == 3 for r in leaf), leaf[0]
    assert [r["result"] for r in leaf[:4]] == [0, 2, 2, 4] and leaf[1]["text"] == "2", leaf[:4]
    entered = [r for r in rows if r["kind"] == 1 and r["name"] == "leaf"]
    assert [r["text"] for r in entered[:3]] == ["(i=0)", "(i=1)", "(i=1)"]
    line = next(i for i, l in enumerate(PROGRAM.splitlines(), 1) if " leaf(" in l)
    assert leaf[0]["source"].endswith(f"p.c:{line}"), leaf[0]["source"]
    assert [r["flags"] & 2 for r in calls if r["name"] == "leaps"] == [2]
    # an event has the stack of its thread, and the fields that trace-cmd prints
    asked = [r for r in rows if r["event"] == "raw_syscalls:sys_enter" and r["fields"]["id"] == 110]
    assert len(asked) == 3 and all(r["stack"] == ["top", "main"] for r in asked), asked
    theirs = subprocess.run(["trace-cmd", "report", "-R", "t.dat"], cwd=w.dir, stdout=subprocess.PIPE, check=True, text=True).stdout
    mine = [(r["fields"]["id"], r["fields"]["args"]) for r in rows if r["event"] == "raw_syscalls:sys_enter"]
    assert len(mine) == len(re.findall(r"sys_enter:", theirs)) > 3
    for number, args in mine:
        assert re.search(rf"sys_enter: +id={number} args=ARRAY\[{', '.join('%02x' % b for a in args for b in a.to_bytes(8, 'little'))}\]", theirs), (number, args)


def test_filters(w):
    recorded(w)
    out = python(w, "-c", """
import errno, vestige_trace as v
def names(**filters):
    with v.open("t.dat", **filters) as trace:
        return sorted(set(r.event for r in trace))
def refused(err, **filters):
    try:
        names(**filters)
    except OSError as why:
        assert why.errno == err and why.strerror, why
    else:
        raise AssertionError(filters)
assert names(kinds=v.CALL, functions=["mid"]) == ["fails", "leaf", "mid"]
assert names(kinds=v.CALL, functions=["m*", "leaf"], notrace=["mid", "top"]) == ["leaps", "main"], names(kinds=v.CALL, functions=["m*"], notrace=["mid"])
assert names(kinds=v.CALL, max_depth=2) == ["leaps", "main", "top"]
assert names(events=["*:sys_exit"], kinds=v.EVENT) == ["raw_syscalls:sys_exit"]
assert names(tids=[1]) == []
with v.open("t.dat", kinds=v.CALL) as trace:
    tops = [(r.time, r.end) for r in trace if r.name == "top"]
with v.open("t.dat", kinds=v.CALL, start=tops[1][0], end=tops[1][1] + 1) as trace:
    rows = list(trace)
assert [r.name for r in rows].count("top") == 1 and [r.name for r in rows].count("leaf") == 20
(main,) = [r for r in rows if r.name == "main"]
assert main.flags & v.CUT_BEGIN and main.flags & v.CUT_END and main.time == tops[1][0], main.flags
def times(**filters):
    with v.open("t.dat", kinds=31, **filters) as trace:
        return [r.time for r in trace]
all_times = times()
assert times(relative=True, start=0, end=2**62) == all_times
def cut_at(start):
    with v.open("t.dat", kinds=v.CALL, relative=True, start=start) as trace:
        return [r.time for r in trace if r.name == "main"][0]
half = (tops[1][0] - all_times[0]) // 2
assert cut_at(half + 7) - cut_at(half) == 7 and all_times[0] < cut_at(half) + 1000
assert len(times(cpus="0")) <= len(all_times)
refused(errno.EINVAL, kinds=64)
assert names(kinds=v.CALL, functions="mid", cpus=None) == ["fails", "leaf", "mid"]
refused(errno.EINVAL, functions=[""])
refused(errno.EINVAL, start=5, end=4)
refused(errno.E2BIG, functions=["f"] * 257)
refused(errno.EINVAL, cpus="x")
with v.open("t.dat") as trace:
    first = next(trace)
    next(trace)
    try:
        first.text
    except ValueError:
        pass
    else:
        raise AssertionError("a record that is gone")
    try:
        trace.filter(tids=[1])
    except OSError as why:
        assert why.errno == errno.EBUSY
for path, err in (("none", errno.ENOENT), (".", None), ("p.c", errno.EINVAL)):
    try:
        v.open(path)
    except OSError as why:
        assert (err is None or why.errno == err) and path in str(why), why
    else:
        raise AssertionError(path)
try:
    v.live(2**30)
except OSError as why:
    assert why.errno == errno.ESRCH, why
print("good")
""").stdout
    assert out == "good\n"


def test_damaged(w):
    """A file that is cut anywhere gives an error or fewer records, never a crash."""
    recorded(w)
    with open(w.path("t.dat"), "rb") as f:
        whole = f.read()
    for i in range(24):
        with open(w.path(f"cut{i}.dat"), "wb") as f:
            f.write(whole[:len(whole) * i // 24])
    out = python(w, "-c", """
import vestige_trace as v
for i in range(24):
    try:
        with v.open(f"cut{i}.dat", kinds=31) as trace:
            print(i, sum(len(r.text) >= 0 for r in trace))
    except OSError as why:
        assert str(why), i
        print(i, "refused")
""").stdout
    assert "refused" in out, out


def test_examples(w):
    """Each example prints what another tool prints of the same recording."""
    recorded(w, "-O", "funcgraph-retval")
    recorded(w, name="u.dat")
    def at(name):
        return f"{EXAMPLES}/{name}"
    profile = {f["name"]: f for f in json.loads(w.run("profile", "--json", "t.dat").stdout)["functions"]}

    lines = python(w, at("slowest.py"), "t.dat").stdout.splitlines()
    # as a rule the second one is `top < main`; on a machine that is busy any call may be slow
    second = max((f for n, f in profile.items() if n != "main"), key=lambda f: f["max"])["name"]
    assert len(lines) == 10 and lines[0].split()[-1] == "main" and lines[1].split()[2] == second, (lines, second)
    assert all(line.split()[-1] == "main" for line in lines), lines
    rows = [l.split() for l in script(w, "-i", "t.dat", at("profile.py")).splitlines()]
    assert {r[5]: (int(r[0]), round(float(r[1]) * 1000), round(float(r[3]) * 1000)) for r in rows} == \
        {n: (f["calls"], f["total"], f["self"]) for n, f in profile.items()}
    folded = script(w, "-i", "t.dat", at("folded.py")).splitlines()
    theirs = w.run("convert", "-q", "--to", "folded", "t.dat", "-").stdout.decode().splitlines()
    # theirs has the thread in front
    assert sorted(folded) == sorted(l.split(";", 1)[1] for l in theirs), (folded, theirs)
    assert re.search(r"^ +3 +110 top$", script(w, "-i", "t.dat", at("syscalls.py")), re.M)
    assert script(w, "-i", "t.dat", at("errors.py")) == "      30 fails = -2\n"
    rows = [l.split() for l in script(w, "-i", "t.dat", at("histogram.py"), "leaf").splitlines()]
    assert sum(int(r[2]) for r in rows) == 60, rows
    tree = script(w, "-i", "t.dat", "-F", "mid", at("tree.py"))
    assert tree.splitlines()[0].strip() == "mid() {" and tree.count("leaf() {") == 60 and tree.count("= -2 /* fails") == 30, tree[:500]
    out = python(w, at("compare.py"), "t.dat", "u.dat").stdout
    assert set(l.split()[-1] for l in out.splitlines()) == set(CALLS), out
    events = script(w, "-i", "t.dat", at("unhandled.py")).splitlines()
    report = w.run("report", "t.dat").stdout.decode()
    assert len(events) == len(re.findall(r"sys_(?:enter|exit):", report)) and "raw_syscalls:sys_enter: NR 110 (" in "\n".join(events)


def test_c_examples(w):
    """The header in C and in C++, pkg-config's words aside; the programs end as they should."""
    recorded(w)
    cc, *flags = (sanitizer()[0], "-fsanitize=address,undefined") if sanitizer() else ("gcc",)
    cxx = {"gcc": "g++", "clang": "clang++"}[cc]
    for name in ("calls", "events"):
        subprocess.run([cc, *flags, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"{EXAMPLES}/{name}.c", f"-I{SOURCE}/include",
                        f"-L{BUILD}", "-lvestige-trace", f"-Wl,-rpath,{BUILD}", "-o", w.path(name)], check=True)
    with open(w.path("x.cc"), "w", encoding="utf-8") as f:
        f.write("#include <vestige-trace.h>\nint main() { return vestige_trace_open(nullptr) != nullptr; }\n")
    subprocess.run([cxx, *flags, "-Wall", "-Wextra", "-Werror", w.path("x.cc"), f"-I{SOURCE}/include", f"-L{BUILD}", "-lvestige-trace",
                    f"-Wl,-rpath,{BUILD}", "-o", w.path("x")], check=True)

    def run(*args, status=0):
        p = subprocess.run(args, cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert p.returncode == status, (args, p.returncode, p.stderr[-2000:])
        return p
    run("./x")
    rows = [l.split() for l in run("./calls", "t.dat").stdout.splitlines()]
    assert collections.Counter(r[3] for r in rows) == CALLS
    assert run("./calls", "none", status=1).stderr.startswith("calls: cannot open 'none': ")
    rows = run("./events", "t.dat", "*:sys_enter").stdout.splitlines()
    assert rows and all(re.match(r"\d+ raw_syscalls:sys_enter id=\d+ args=\[48 bytes\]$", r) for r in rows), rows


def test_script(w):
    """uftrace's and perf's hooks are called, flags are obeyed, and errors are reported."""
    recorded(w)
    with open(w.path("hooks.py"), "w", encoding="utf-8") as f:
        f.write("""
import sys
seen = {}
def trace_begin(): print("trace_begin", sys.argv)
def uftrace_begin(ctx): print("begin", ctx["cmds"])
def uftrace_entry(ctx): seen["entry"] = seen.get("entry", 0) + 1; assert set(("tid", "depth", "timestamp", "name", "address")) <= set(ctx)
def uftrace_exit(ctx): seen["exit"] = seen.get("exit", 0) + 1; assert ctx["duration"] >= 0
def uftrace_event(ctx): seen["event"] = seen.get("event", 0) + 1
def raw_syscalls__sys_exit(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, ret):
    seen[event_name] = seen.get(event_name, 0) + 1
    assert common_comm == "p" and common_secs * 10**9 + common_nsecs == context.time
def trace_unhandled(event_name, context, event_fields_dict, sample):
    seen[event_name] = seen.get(event_name, 0) + 1
    assert "id" in event_fields_dict and "common_pid" in event_fields_dict
def uftrace_end(): print(sorted(seen.items()))
def trace_end(): print("trace_end")
""")
    lines = script(w, "-i", "t.dat", "hooks.py", "-x", "word").splitlines()
    assert lines[0] == "trace_begin ['hooks.py', '-x', 'word']" and lines[1].startswith("begin ") and lines[-1] == "trace_end", lines
    nr = sum(CALLS.values())
    report = w.run("report", "t.dat").stdout.decode()
    enters, exits = len(re.findall("sys_enter:", report)), len(re.findall("sys_exit:", report))
    assert eval(lines[-2]) == [("entry", nr), ("event", enters + exits), ("exit", nr), ("raw_syscalls__sys_enter", enters),
                               ("raw_syscalls__sys_exit", exits)], lines[-2]
    assert script(w, "hooks.py", "-i", status=1) == ""   # there is no trace.dat
    lines = script(w, "-i", "t.dat", "-F", "mid", "-e", "*:sys_exit", "hooks.py").splitlines()
    assert eval(lines[-2]) == [("entry", 120), ("event", exits), ("exit", 120), ("raw_syscalls__sys_exit", exits)], lines[-2]
    for args, text in ((("script",), b"name a script"), (("script", "-P", "1", "-i", "x", "s.py"), b"name one of them"),
                       (("script", "--srcline", "s.py"), b"trace.source"), (("script", "-e", "", "s.py"), b"-e")):
        assert text in w.run(*args, status=2).stderr, args
    assert b"cannot open 'none.py'" in w.run("script", "none.py", status=1).stderr
    err = w.run("script", sys.executable, status=1, env=python_env(w)).stderr.decode()
    assert err.count("\n") == 1 and "is not a Python script" in err, err
    with open(w.path("empty.py"), "w", encoding="utf-8") as f:
        f.write("x = 1\n")
    text = w.run("script", "--help").stdout.decode()
    assert "--time-range" in text and not re.search("demangle|srcline", text), text
    env = python_env(w)
    assert b"none of the hooks" in w.run("script", "-i", "t.dat", "empty.py", status=1, env=env).stderr
    # a BOM, a script that fails: its own frames alone; no stdout
    with open(w.path("bom.py"), "wb") as f:
        f.write(b"\xef\xbb\xbfdef uftrace_exit(ctx):\n    raise ValueError('mine')\n")
    err = w.run("script", "-i", "t.dat", "bom.py", status=1, env=env).stderr.decode()
    assert "ValueError: mine" in err and "vestige_trace.py" not in err and "line 2, in uftrace_exit" in err, err
    p = subprocess.run(["sh", "-c", f"'{BIN}' script -i t.dat bom.py >&-"], cwd=w.dir, env=python_env(w), stderr=subprocess.PIPE)
    assert b"ValueError: mine" in p.stderr and b"AttributeError" not in p.stderr, p
    # what was lost is said
    w.run("record", "-q", "-b", "64", "-p", "function_graph", "-o", "lost.dat", "--", w.prog, "calls", "1000000")
    p = w.run("script", "-i", "lost.dat", f"{EXAMPLES}/profile.py", env=env)
    assert re.search(rb"vestige: script: (some|\d+) records were lost", p.stderr), p.stderr
    assert not w.run("script", "-i", "t.dat", f"{EXAMPLES}/profile.py", env=env).stderr
    # a reader that goes away is no error
    p = subprocess.run(["sh", "-c", f"'{BIN}' script -i t.dat '{EXAMPLES}/tree.py' | head -1"], cwd=w.dir, env=python_env(w),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout == b"main() {\n" and b"Traceback" not in p.stderr, p


@contextlib.contextmanager
def script_on(w, pid, name, *flags):
    """@pid: None of trace.dat."""
    of = ["-P", str(pid)] if pid else []
    p = subprocess.Popen([BIN, "script", *of, *flags, name], cwd=w.dir, env=python_env(w), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    try:
        yield p
    finally:
        p.kill()
        p.communicate()


def test_live(w):
    """A script gets records while the process runs, and ends with the process or at Ctrl-C."""
    with open(w.path("hooks.py"), "w", encoding="utf-8") as f:
        f.write("""
import sys
seen = {}
def uftrace_exit(ctx):
    seen[ctx["name"]] = seen.get(ctx["name"], 0) + 1
    if sum(seen.values()) in (1000, 4000):
        print(sorted(seen), [f.name for f in ctx["record"].stack()][-1:], flush=True)
def uftrace_end(): print("end", seen["mid"] > 0, flush=True)
""")
    with spinning(w, boot="ftrace=function_graph") as prog:
        with script_on(w, prog.pid, "hooks.py") as p:
            assert "'leaf', 'mid'" in p.stdout.readline()
            # another tracer and back: the reader's tables are made anew
            w.run("set", "-P", prog.pid, "current_tracer", "nop")
            w.run("set", "-P", prog.pid, "current_tracer", "function_graph")
            assert "'leaf', 'mid'" in p.stdout.readline()
            prog.kill()
            out, err = p.communicate(timeout=100)
            assert out == "end True\n" and p.returncode == 0, (out, err)
        prog.wait()
        w.run("clean")
    with spinning(w, boot="ftrace=function_graph") as prog, script_on(w, prog.pid, "hooks.py") as p:
        assert "'leaf', 'mid'" in p.stdout.readline()
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=100)
        assert p.returncode == 130 and out.endswith("end True\n"), (p.returncode, out, err)
    # at whatever moment Ctrl-C comes, also while Python starts
    w.run("record", "-q", "-p", "function_graph", "--", w.prog, "calls", 10)
    for i in range(20):
        with script_on(w, None, "hooks.py") as p:
            time.sleep(i * 0.01)
            p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=100)
            assert "Traceback" not in err and p.returncode in (0, 130, -signal.SIGINT), (p.returncode, err)
    # a time limit: nothing is recorded
    with spinning(w) as prog:
        out = python(w, "-c", f"""
import vestige_trace as v
with v.live({prog.pid}, timeout_ms=50) as trace:
    try:
        next(trace)
    except TimeoutError as why:
        print(why)
""").stdout
        assert "no record came within 50 ms" in out, out


def test_live_example(w):
    with spinning(w, boot="ftrace=function_graph") as prog:
        p = subprocess.Popen(["python3", EXAMPLES + "/live.py", str(prog.pid)], cwd=w.dir, env=python_env(w), stdout=subprocess.PIPE,
                             text=True)
        try:
            line = p.stdout.readline()
            # a busy machine: the first records may be of the program's start
            assert re.match(r"\d+ \[\('leaf', \d+\), .*\('mid', \d+\)", line), line
        finally:
            p.kill()
            p.communicate()


def test_recording_without_calls(w):
    """Hooks of calls and a recording that has none: the line of replay. Another hook that got a
    record is enough, and so is a recording whose calls the filters leave out."""
    prog = w.compile("p", PROGRAM, "-g")
    w.run("record", "-q", "-p", "function", "-e", "raw_syscalls", "-o", "f.dat", "--", prog)
    recorded(w)
    said = w.run("replay", "-i", "f.dat", status=1).stderr
    with open(w.path("calls.py"), "w", encoding="utf-8") as f:
        f.write("def uftrace_entry(ctx): print(ctx['name'])\ndef uftrace_end(): print('end')\n")
    p = w.run("script", "-i", "f.dat", "calls.py", env=python_env(w), status=1)
    assert said.count(b"\n") == 1 and b"no calls with entry and exit" in said and (p.stdout, p.stderr) == (b"end\n", said), (said, p)
    p = w.run("script", "-i", "t.dat", "-F", "nothing", "calls.py", env=python_env(w))
    assert (p.stdout, p.stderr) == (b"end\n", b""), p
    with open(w.path("events.py"), "w", encoding="utf-8") as f:
        f.write("def uftrace_exit(ctx): pass\ndef raw_syscalls__sys_enter(*args): print('event')\n")
    p = w.run("script", "-i", "f.dat", "events.py", env=python_env(w))
    assert b"event" in p.stdout and p.stderr == b"", p


def test_tree_that_the_loader_does_not_know(w):
    """A tree of `make install` at another place (DESTDIR, an archive): the library of that tree is
    loaded, unless another one is named."""
    recorded(w)
    with open(f"{BUILD}/meson-info/intro-buildoptions.json", encoding="utf-8") as f:
        libdir = next(o["value"] for o in json.load(f) if o["name"] == "libdir")
    files = {"bin": BIN, libdir: f"{BUILD}/libvestige-trace.so.1", "lib/python3/dist-packages": f"{BUILD}/vestige_trace.py"}
    for folder, path in files.items():
        os.makedirs(w.path("tree/" + folder), exist_ok=True)
        shutil.copy(path, w.path("tree/" + folder))
    with open(w.path("h.py"), "w", encoding="utf-8") as f:
        f.write("""
names = set()
def uftrace_entry(ctx): names.add(ctx["name"])
def uftrace_end(): print(sorted(names), [l.split()[-1] for l in open("/proc/self/maps") if "libvestige-trace" in l][0])
""")
    for more, status, wanted in (({}, 0, w.path(f"tree/{libdir}/libvestige-trace.so.1")), ({"VESTIGE_TRACE_LIBRARY": "/nowhere.so"}, 1, None),
                                 ({"VESTIGE_TRACE_LIBRARY": f"{BUILD}/libvestige-trace.so.1"}, 0, f"{BUILD}/libvestige-trace.so.1")):
        p = subprocess.run([w.path("tree/bin/vestige"), "script", "-i", "t.dat", "h.py"], cwd=w.dir, text=True, timeout=100,
                           env=dict(python_env(w), **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert p.returncode == status, (more, p.returncode, p.stdout, p.stderr[-2000:])
        if wanted:
            assert "'leaf', 'leaps', 'main'" in p.stdout and os.path.samefile(p.stdout.split()[-1], wanted), p.stdout
        else:
            assert "nowhere.so" in p.stderr, p.stderr


main(globals())
