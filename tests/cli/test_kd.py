#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige kd: KFT's logs by function and call by call, local times and their marks, addresses,
KFI's form, recordings."""
import json
import re

from cli_test import main, nm

HEAD = """
Kernel Instrumentation Run ID 3

Logging started at 6785045 usec by entry to function start_kernel
Logging stopped at 8423650 usec by entry to function to_usermode

Filters:
%s
Filter Counters:

Execution time filter count = %d
Total entries filtered = %d
Entries not found = 0

Number of entries after filters = 8

"""
COLUMNS = """ Entry      Delta      PID            Function                    Called At
--------   --------   -----   -------------------------   -------------------------
"""
ROWS = """       1     23662       0              start_kernel   L6+0x0
      25      8762       0                setup_arch   start_kernel+0x35
    1000      2000       0            paging_init(int)   setup_arch+0xa5
    4000       500      -1                   do_IRQ   ret_from_intr+0x0
    4100       100      -1                 irq_enter   do_IRQ+0x9
    5000         0       0                 never_left   setup_arch+0xb5
    6000      1000       7                  schedule   worker+0x1
   10000     12000       0                calibrate   start_kernel+0x99
   23000        -1       0                still_open   start_kernel+0x101
   23500        -2       0                  watched   still_open+0x3
"""
TABLE = """\
Function                            Count        Time     Average       Local
--------------------------------- ------- ----------- ----------- -----------
start_kernel                            1       23662       23662        2900
calibrate                               1       12000       12000       12000
setup_arch                              1        8762        8762        6762
paging_init(int)                        1        2000        2000        2000
schedule                                1        1000        1000        1000~
do_IRQ                                  1         500         500         400
irq_enter                               1         100         100         100
never_left                              1           0           0           0
still_open                              1           0           0           0
"""
TRACE = """\
 Entry      Duration   Local           Pid Trace
---------- ---------- ------------ ------- ---------------------------------
         1      23662       2900         0 start_kernel
        25       8762       6762         0 |  setup_arch
      1000       2000       2000         0 |  |  paging_init(int)
                                           |  |  |  !!!! start
      4000        500        400        -1 |  |  |  !  do_IRQ
      4100        100        100        -1 |  |  |  !  !  irq_enter
                                           |  |  |  !!!! end
      5000          0          -         0 |  |  never_left
                                           ---- another thread
      6000       1000       1000~        7 schedule
                                           ---- another thread
     10000      12000      12000         0 |  calibrate
     23000         -1          -         0 |  still_open
     23500         -2          -         0 |  |  watched
"""


def written(w, name, text):
    with open(w.path(name), "w") as f:
        f.write(text)
    return name


def kd(w, *args):
    p = w.run("kd", *args)
    return [l.rstrip() for l in p.stdout.decode().splitlines()], p.stderr.decode()


def rows(w, *args):
    return [l.split() for l in kd(w, *args)[0][2:]]


def test_table(w):
    """The table of a log has the right columns and obeys the choices."""
    log = written(w, "kft.log", HEAD % ("", 0, 0) + COLUMNS + ROWS)
    out, err = kd(w, log)
    assert out == TABLE.splitlines(), "\n".join(out)
    assert "with ~" in err and "with *" not in err and "1 lines of stack watches" in err, err
    assert [r[0] for r in rows(w, "-n", "2", "-s", "l", log)] == ["calibrate", "setup_arch"]
    assert [r[0] for r in rows(w, "-t", "8762", log)] == ["start_kernel", "calibrate", "setup_arch"]
    assert rows(w, "-f", "lFmn", "-n", "1", log) == [["2900", "start_kernel", "calibrate", "1"]]
    assert [r[0] for r in rows(w, "-s", "F", "-n", "2", log)] == ["calibrate", "do_IRQ"]


def test_filters(w):
    """Filters that left calls out make local times wrong: they are marked; a filter that left none
    out does not."""
    one = "    500 usecs minimum execution time\n"
    for text, marked in ((HEAD % (one, 12, 12), True), (HEAD % (one, 0, 0), False), ("Kernel Instrumentation Run ID 0\nFilters:\n" + one + "\n", True)):
        out, err = kd(w, written(w, "kft.log", text + COLUMNS + ROWS))
        assert ("with *" in err) == marked, (text, err)
        assert all(l.split()[-1].rstrip("~").endswith("*") == marked for l in out[2:]), out


def test_trace(w):
    """The call trace has indents and local times, with interrupts and other threads in between."""
    log = written(w, "kft.log", HEAD % ("", 0, 0) + COLUMNS + ROWS)
    out, _ = kd(w, "-c", "-l", "-i", log)
    assert out == TRACE.splitlines(), "\n".join(out)
    plain, _ = kd(w, "-c", log)
    assert plain[2:5] == ["         1      23662       0 start_kernel", "        25       8762       0 |  setup_arch",
                          "      1000       2000       0 |  |  paging_init(int)"], plain
    assert len(plain) == 12 and plain[6].endswith("-1 |  irq_enter"), plain


def test_addresses(w):
    """Bare addresses, with and without 0x, get names from a System.map, a program at any address,
    or a recording's table."""
    kfi = COLUMNS.replace("Called At", "Caller") + """[    1.0] some line of the console
       5       100     1   c0001010   c0001000
      10        20     1   0xc0002004   c0001010
"""
    log = written(w, "kfi.log", "\tKernel Instrumentation Run ID 0\n" + kfi)
    assert [r[0] for r in rows(w, log)] == ["c0001010", "0xc0002004"]
    names = written(w, "System.map", "c0001000 T first\nc0002000 t second\n")
    assert rows(w, "--names", names, log) == [["first", "1", "100", "100", "80"], ["second", "1", "20", "20", "20"]]
    where = {name: int(addr, 16) for addr, _, name in nm(w.prog, "--defined-only")}
    text = "".join(f"{10 * i} 5 1 {0x555555554000 + where[n]:x} 0\n" for i, n in enumerate(("main", "first", "last", "mid")))
    assert {r[0] for r in rows(w, "--names", w.prog, written(w, "pie.log", COLUMNS + text))} == {"main", "first", "last", "mid"}
    w.run("record", "-q", "-p", "function_graph", w.prog, "calls", "3")
    ips = {n: ip for ip, n in re.findall(r"([0-9a-f]{16}) [tT] (\w+)", w.run("dump", "--kallsyms", "trace.dat", status=None).stdout.decode())}
    if ips:
        text = "".join(f"{10 * i} 5 1 {ips[n]} 0\n" for i, n in enumerate(("main", "mid")))
        assert {r[0] for r in rows(w, "--names", "trace.dat", written(w, "dat.log", COLUMNS + text))} == {"main", "mid"}


def test_recording(w):
    """A recording's numbers equal vestige profile's."""
    w.run("record", "-q", "-p", "function_graph", w.prog, "threads")
    want = {f["name"]: f for f in json.loads(w.run("profile", "--json", "--no-demangle").stdout)["functions"]}
    got = {r[0]: r[1:] for r in rows(w)}
    assert set(got) == set(want), (got, want)
    for name, (count, time, _, local) in got.items():
        assert int(count) == want[name]["calls"], name
        assert abs(float(local.strip("*~")) * 1000 - want[name]["self"]) < 1.5, (name, local, want[name])
        assert abs(float(time) * 1000 - want[name]["total"]) < 1.5, (name, time, want[name])
    out, _ = kd(w, "-c")
    assert len(out) - 2 == sum(f["calls"] for f in want.values())
    assert any(re.search(r"\d \|  leaf$", l) for l in out) and re.search(r" main$", out[2]), out[:9]


def test_errors(w):
    """Each error is one line."""
    log = written(w, "kft.log", HEAD % ("", 0, 0) + COLUMNS + ROWS)
    for args, status, said in ((["-l", log], 2, b"with -c"), (["-f", "Fx", log], 2, b"not columns"), (["-s", "tt", log], 2, b"not a column"),
                               (["-c", "-s", "t", log], 2, b"without -c"), (["no.log"], 1, b"cannot open 'no.log'"), (["--names", "no.map", log], 1, b"cannot open 'no.map'"),
                               (["--names", log, log], 1, b"neither a program"), ([written(w, "empty.log", HEAD % ("", 0, 0) + COLUMNS)], 1, b"no call is in"),
                               ([written(w, "big.log", COLUMNS + "1 99999999999999999999 0 f g\n")], 1, b"line 3: a number is too large")):
        p = w.run("kd", *args, status=status)
        assert said in p.stderr, (args, p.stderr)


if __name__ == "__main__":
    main(globals())
