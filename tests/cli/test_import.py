#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Traces of other tools as input: an exported recording is the same when it is imported; files of
other tools are read."""
import json
import os
import re
import subprocess

from cli_test import Skip, main, need

PROGRAM = r"""
#include <pthread.h>
#define FN __attribute__((noipa))
volatile long sum;
FN void leaf(int i) { sum += i; }
FN void deep(int n) { leaf(n); if (n) deep(n - 1); leaf(n); }
FN void *thread(void *a) { for (int i = 0; i < 20; i++) deep(i % 5); return a; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	for (int i = 0; i < 20; i++) deep(i % 3);
	pthread_join(t, NULL);
}
"""


def recorded(w):
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", prog)


def profile(w, name):
    return {r["name"]: (r["calls"], r["self"], r["total"]) for r in json.loads(w.run("profile", "--json", name).stdout)["functions"]}


def written(w, name, text):
    with open(w.path(name), "w") as f:
        f.write(text)
    return name


def folded(w, name):
    return dict((s, int(v)) for s, v in (l.rsplit(" ", 1) for l in w.run("convert", "--to", "folded", name, "-").stdout.decode().splitlines()))


def test_back(w):
    """Calls exported as Chrome's JSON or systrace's text have the same times in every command."""
    recorded(w)
    want = profile(w, "t.dat")
    for name in ("t.json", "t.systrace"):
        w.run("convert", "-q", "t.dat", name)
        assert profile(w, name) == want, name
        w.run("convert", "-q", name, name + ".dat")
        assert profile(w, name + ".dat") == want, name
        assert folded(w, name) == folded(w, "t.dat")
        lines = [len(w.run(*c).stdout.splitlines()) for f in ("t.dat", name) for c in (("replay", f), ("graph", f))]
        assert lines[:2] == lines[2:], lines
        assert len(re.findall(rb"\bleaf\b", w.run("report", "--format=trace", name).stdout)) == want["leaf"][0], name


def test_chrome(w):
    """Phases, units, strings and an array without its end are read."""
    t = written(w, "a.json", r"""[
{"ph":"B","name":"a \"\u00e9\ud83d\ude00\\","cat":"lib","pid":7,"tid":7,"ts":1.5,"args":{"deep":[{"x":[1,2,{"y":"}]"}]}]}},
{"ph":"X","name":"b","pid":7,"tid":7,"ts":2,"dur":0.25}, {"ph":"X","name":"c","pid":"8","tid":"7","ts":2e0,"dur":1},
{"ph":"E","pid":7,"tid":7,"ts":10.001}, {"ph":"C","name":"n","pid":7,"ts":3,"args":{"v":1}},
{"ph":"i","name":"here","pid":7,"tid":7,"ts":4,"s":"t"},
{"ph":"M","name":"thread_name","pid":8,"tid":7,"args":{"name":"other"}},
""")
    assert folded(w, t) == {'<...>;a_"é😀\\': 8251, '<...>;a_"é😀\\;b': 250, "other;c": 1000}, folded(w, t)
    assert re.search(r"/\* here \*/", w.run("report", "--format=trace", t).stdout.decode()), w.run("report", "--format=trace", t).stdout
    for text, word in (('{"traceEvents":[{"ph":"X",}]}', b"key"), ('{"traceEvents":[{"ph":"X"', b"brace"), ('{"traceEvents":{}}', b"array"),
                       ('{"traceEvents":[]}', b"no record"), ('[{"ph":"\\q"}]', b"escape")):
        p = w.run("report", "--format=trace", written(w, "bad.json", text), status=1)
        assert word in p.stderr and b"Chrome" in p.stderr, (text, p.stderr)


def lines_of(text):
    found = [re.match(r" *(.+)-(\d+) +\[(\d+)\] +(?:\S+ +)?(\d+\.\d+): +(\w+): *(.*)$", l) for l in text.splitlines()]
    return [m.groups() for m in found if m]


def test_ftrace(w):
    """The kernel's text and trace-cmd's text give the same report."""
    data = os.environ["SOURCE_DIR"] + "/tests/data/kernel-v6.dat"
    text = w.run("report", "--format=trace", data).stdout.decode()
    back = w.run("report", "--format=trace", written(w, "k.txt", text)).stdout.decode()
    assert len(lines_of(text)) > 100 and lines_of(back) == lines_of(text), (lines_of(back)[:3], lines_of(text)[:3])
    need("trace-cmd")
    text = subprocess.run(["trace-cmd", "report", data], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.decode()
    back = w.run("report", "--format=trace", written(w, "c.txt", text)).stdout.decode()
    assert len(lines_of(text)) > 100 and lines_of(back) == lines_of(text), (lines_of(back)[:3], lines_of(text)[:3])
    w.run("record", "-q", "-p", "function", "-o", "f.dat", "--", w.prog, "calls", 4)
    text = w.run("report", "--format=trace", "f.dat").stdout.decode()
    assert len(re.findall(": leaf <-mid", w.run("report", "--format=trace", written(w, "f.txt", text)).stdout.decode())) == 8
    # a name of C++ has colons
    line = "   a-7     [000] .....  1.000000: {}ns::work(int) <-ns::main::all()\n"
    back = w.run("report", "--format=trace", written(w, "n.txt", "# tracer: function\n#\n" + line.format(""))).stdout.decode()
    assert line.format("").split(": ", 1)[1] in back, back
    back = w.run("report", "--format=trace", written(w, "e.txt", "# tracer: nop\n#\n" + line.format("work: x::y=1 "))).stdout.decode()
    assert ": work: x::y=1 ns::work(int)" in back, back
    p = w.run("report", "--format=trace", written(w, "g.txt", "# tracer: function_graph\n#\n 0)   0.1 us    |  leaf();\n"), status=1)
    assert b"no stamps" in p.stderr, p.stderr


PERF = """# captured on: today
prog thread  123/124 [001]    10.000000:       3000 cpu-clock:u:
\t    55d0 leaf+0x4 (/usr/bin/prog)
\t    55e0 mid+0x10 (/usr/bin/prog)
\t    55f0 main+0x1 (/usr/bin/prog)

prog thread  123/124 [001]    10.000003:       3000 cpu-clock:u:
\t    5600 operator+(x)+0x4 (/usr/lib/libx.so.1)
\t    55e0 mid+0x20 (/usr/bin/prog)
\t    55f0 main+0x1 (/usr/bin/prog)

other   130    10.000004:          1 sched:sched_waking: comm=prog pid=124

prog thread  123/124    10.000005: sched:sched_switch: prev_pid=124 prev_state=S
\tffffffff82265ec8 __schedule+0x628 ([kernel.kallsyms])
\t    7fbb0cf2 nanosleep+0x17 (/usr/lib/libc.so.6)

prog thread  123/124    10.000005:          1 page-faults:u:
\t    55f0 main+0x9 (/usr/bin/prog)

prog thread  123/124 [000]    12.000010:       3000 cpu-clock:u:
\t    55f0 main+0x9 (/usr/bin/prog)

prog thread  123/124 [000]    12.000014:       3000 cpu-clock:u:
\tffffffff81000000 [unknown] ([unknown])

swapper     0 [000]    12.000015:       3000 cpu-clock:u:
\tffffffff81000000 idle ([kernel.kallsyms])

swapper     0 [001]    12.000016:       3000 cpu-clock:u:
\tffffffff81000000 idle ([kernel.kallsyms])
"""


def test_perf(w):
    """A sample stands for its period; a function that is in the next sample, too, is one call where
    the two touch. Samples of other events have text and stack, and no time."""
    t = written(w, "perf.txt", PERF)
    want = {"prog_thread;main;mid;leaf": 3000, "prog_thread;main;mid;operator+(x)": 3000, "prog_thread;main": 3000, "prog_thread;[unknown]": 3000,
            "swapper/0;idle": 3000, "swapper/1;idle": 3000}
    got = {s.replace(" ", "_"): v for s, v in folded(w, t).items() if v}
    assert got == want, got
    assert {n: c for n, (c, _, _) in profile(w, t).items()} == {"main": 2, "mid": 1, "leaf": 1, "operator+(x)": 1, "[unknown]": 1, "idle": 2}
    report = w.run("report", t).stdout.decode()
    for event in ("sched_waking: +comm=prog pid=124", "sched_switch: +prev_pid=124 prev_state=S stack=__schedule<-nanosleep", "page-faults.*stack=main"):
        assert re.search(event + "$", report, re.M), (event, report)
    # where the period counts something else, a period is the time between most samples
    lines = ["p 9 1.%06d: %d cycles:P:\n\t 1 %s (/p)\n\n" % (1000 * i + 900000 * (i > 60), 4000, "ab"[i % 2]) for i in range(100)]
    assert folded(w, written(w, "c.txt", "".join(lines))) == {"p;a": 50000000, "p;b": 50000000}
    # and where it has none, too; one that is late gets no more
    lines = [l.replace(" 4000 cycles", " cycles") for l in lines]
    assert folded(w, written(w, "d.txt", "".join(lines))) == {"p;a": 50000000, "p;b": 50000000}


SLEEPER = r"""
#include <pthread.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noipa)) static void often(void) { for (int i = 0; i < 4000000; i++) sum += i; }
__attribute__((noipa)) static void rarely(void) { for (int i = 0; i < 2000000; i++) sum ^= i; }
static void *work(void *a) { for (int i = 0; i < 12; i++) { often(); rarely(); usleep(20000); } return a; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
}
"""


def test_perf_report(w):
    """The shares of functions are perf report's, though threads sleep and wait."""
    need("perf")
    prog = w.compile("sleeper", SLEEPER, "-fno-omit-frame-pointer")
    done = subprocess.run(["perf", "record", "-q", "-g", "-e", "cpu-clock:u", "-o", "p.data", prog], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Skip("perf may not record: " + done.stdout.decode()[:200])

    def perf(*args):
        return subprocess.run(["perf", *args, "-i", "p.data"], cwd=w.dir, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    table = perf("report", "--stdio", "--no-children", "-g", "none", "--sort", "sym")
    want = {n: float(share) for share, n in re.findall(r"^ +([\d.]+)% +\[.\] (\S+)", table, re.M)}
    got = profile(w, written(w, "p.txt", perf("script")))
    total = sum(own for _, own, _ in got.values())
    for name in "often", "rarely":
        assert want[name] > 10 and abs(100 * got[name][1] / total - want[name]) < 2, (name, got[name], total, want)


KFT = """Kernel Instrumentation Run ID 3

 Entry      Delta      PID            Function                    Called At
--------   --------   -----   -------------------------   -------------------------
       1       100       0              start_kernel   L6+0x0
      25        50       0                setup_arch   start_kernel+0x35
      30        20      -1                    do_IRQ   ret_from_intr+0x0
      40         0       0                never_left   setup_arch+0xb5
      60        -1       9                still_open   worker+0x101
      61        -2       9                   watched   worker+0x101
"""


def test_kft(w):
    """KFT's log gives calls with their lengths. An open call ends with the log."""
    t = written(w, "kft.log", KFT)
    assert folded(w, t) == {"<idle>;start_kernel": 50000, "<idle>;start_kernel;setup_arch": 50000, "interrupt;do_IRQ": 20000, "<...>;still_open": 41000}, folded(w, t)
    assert profile(w, t)["never_left"][0] == 1 and "watched" not in profile(w, t), profile(w, t)
    p = w.run("profile", written(w, "kft.log", KFT.replace("   100 ", "   99999999999999999999 ")), status=1)
    assert b"too large" in p.stderr and b"KFT's log" in p.stderr, p.stderr


def test_refused(w):
    for text in ("hello\nworld\n", "{}", "\0\0\0", "[1, 2]", "# a comment\n"):
        p = w.run("report", "--format=trace", written(w, "x", text), status=1)
        assert b"neither a trace.dat" in p.stderr, (text, p.stderr)
    assert b"is empty" in w.run("report", "--format=trace", written(w, "x", ""), status=1).stderr


if __name__ == "__main__":
    main(globals())
