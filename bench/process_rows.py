# SPDX-License-Identifier: MIT
"""The cost for a whole process: asleep, at its start, under a steady load."""
import os
import re
import statistics
import subprocess
import time

import harness
from harness import BENCH, LIBRARY, PATCHABLE, ROOT, VESTIGE, compiled, cpu_seconds, empty_areas, live, pairs, recorded, row, sh


def bench_nop():
    print("a patchable build under tracer nop, over a build without the flag: SQLite, CPU time")
    plain = sh(f"{ROOT}/scripts/build-workload", "sqlite", "gcc", "-O2", "-g").stdout.strip()
    flagged = sh(f"{ROOT}/scripts/build-workload", "sqlite", "gcc", "-O2", "-g",
                 "-fpatchable-function-entry=6").stdout.strip()
    script = f"{harness.folder}/many.sql"
    times = 5 if harness.quick else 10
    with open(script, "w", encoding="utf-8") as f:
        for i in range(times):
            f.write(f".open {harness.folder}/work{i}.db\n.read {ROOT}/tests/workloads/work.sql\n")

    def once(program, env):
        seconds = cpu_seconds([program], env, script, harness.folder)
        for i in range(times):
            os.unlink(f"{harness.folder}/work{i}.db")
        empty_areas()
        return seconds

    nop = {"LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": "ftrace=nop", "VESTIGE_DIR": f"{harness.folder}/areas"}
    ratios, bare = [], []
    for i in range(pairs(15)):
        # the order of the runs changes, too
        runs = [(plain, {}, "plain"), (flagged, {}, "flagged"), (flagged, nop, "nop")]
        t = {name: once(program, env) for program, env, name in (runs if i % 2 else runs[::-1])}
        ratios.append(t["nop"] / t["plain"])
        bare.append(t["flagged"] / t["plain"])
    ratio = statistics.median(ratios)
    row("nop, SQLite workload", f"{ratio:.3f}", "<= 1.02", ratio <= 1.02)
    row("the flag alone, without vestige", f"{statistics.median(bare):.3f}")


def bench_start():
    print("start-up added to a program, from fork to exit")
    start = compiled("start", ["-O2"], f"{BENCH}/start.c")
    empty = f"{harness.folder}/empty.c"
    with open(empty, "w", encoding="utf-8") as f:
        f.write("int main(void) { return 0; }\n")
    source = f"{harness.folder}/many.S"
    with open(source, "w", encoding="utf-8") as f:
        f.write(sh(f"{BENCH}/gen_functions", "100000").stdout)
    none = compiled("none", ["-O2"], empty)
    many = compiled("many", ["-O2"], empty, source)

    def one(program, boot, n):
        text = sh(start, str(n), LIBRARY, boot, program).stdout
        m = re.search(r"plain_us ([\d.]+) preloaded_us ([\d.]+)", text)
        return (float(m[2]) - float(m[1])) / 1000

    ms = one(none, "ftrace=function", pairs(201))
    row("start-up, no sites", f"{ms:.2f} ms", "<= 0.7 ms", ms <= 0.7)
    ms = one(many, "ftrace=function", pairs(41))
    row("start-up, 100,000 sites, function", f"{ms:.1f} ms", "<= 30 ms", ms <= 30)
    ms = one(many, "ftrace=nop", pairs(41))
    row("start-up, 100,000 sites, nop", f"{ms:.1f} ms", "<= 30 ms", ms <= 30)


def bench_live():
    print("while the program runs: threads at once, and functions switched under a caller")
    source = f"{harness.folder}/live.S"
    with open(source, "w", encoding="utf-8") as f:
        f.write(sh(f"{BENCH}/gen_functions", "100000").stdout)
    program = compiled("live", [*PATCHABLE, "-D_GNU_SOURCE", f"-I{ROOT}/include"], f"{BENCH}/live.c", source,
                       libs=["-lpthread"])
    ratios = []
    for _ in range(pairs(9)):
        one = live(program, "threads", 1, boot="ftrace=function ftrace_filter=leaf")
        two = live(program, "threads", 2, boot="ftrace=function ftrace_filter=leaf")
        ratios.append(two["ns_per_call"] / two["ns_rdtsc"] / (one["ns_per_call"] / one["ns_rdtsc"]))
    ratio = statistics.median(ratios)
    row("2 threads / 1 thread, each over its bare rdtsc", f"{ratio:.2f}", "<= 1.1", ratio <= 1.1)
    runs = [live(program, "switch") for _ in range(pairs(5))]
    median = {k: statistics.median(r[k] for r in runs) for k in runs[0]}
    functions = median["functions"]
    row(f"switching {functions:,.0f} functions, warm", f"{median['warm_ms']:.1f} ms", "<= 20 ms",
        median["warm_ms"] <= 20)
    row("the same, the first time", f"{median['cold_ms']:.1f} ms", "<= 50 ms", median["cold_ms"] <= 50)
    row("resident memory that the first switch adds", f"{median['rss_kb'] / 1024:.1f} MiB",
        note=f"{median['rss_kb'] * 1024 / functions:.0f} bytes a function, text included")


def first_record(program):
    """ms from the beginning of a write to current_tracer, by the vestige program, to the first
    record."""
    env = {**os.environ, "VESTIGE_DIR": f"{harness.folder}/areas", "LD_PRELOAD": LIBRARY,
           "VESTIGE_BOOT": "trace_options=nooverwrite trace_buf_size=1m"}
    p = subprocess.Popen([program, "until"], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdout.readline()
    sh(VESTIGE, "get", "-P", str(p.pid), "current_tracer")
    began = time.monotonic()
    sh(VESTIGE, "set", "-P", str(p.pid), "current_tracer", "function")
    took = time.monotonic() - began
    text = ""
    while " <-" not in text:
        text = sh(VESTIGE, "show", "-P", str(p.pid)).stdout
    p.communicate("\n")
    empty_areas()
    stamp = float(re.search(r" (\d+\.\d{6}): ", text)[1])
    return (stamp - began) * 1e3, took * 1e3


def bench_steady():
    print("callbacks of the program's own, a write from outside, a steady rate under `vestige record`")
    program = compiled("steady", [*PATCHABLE, "-D_GNU_SOURCE", f"-I{ROOT}/include"], f"{BENCH}/steady.c")
    runs = [live(program, "callback", 1000000) for _ in range(pairs(5))]
    m = {k: statistics.median(r[k] for r in runs) for k in runs[0]}
    row("callback, leaf", f"{m['callback_ns'] - m['off_ns']:.1f} ns",
        note=f"all state saved; {(m['callback_ns'] - m['off_ns']) / m['rdtsc_ns']:.1f} bare rdtsc")
    times = [first_record(program) for _ in range(pairs(9))]
    row("`vestige set current_tracer` to the first record", f"{statistics.median(t[0] for t in times):.1f} ms",
        note=f"the command took {statistics.median(t[1] for t in times):.1f} ms")
    seconds, rate = os.environ.get("BENCH_SECONDS", "3" if harness.quick else "10"), 2000000
    dat = f"{harness.folder}/steady.dat"
    _, entries, lost, _, _ = recorded(dat, "--", program, "rate", str(rate), seconds)
    row(f"spool, {rate / 1e6:.0f} M calls/s for {seconds} s: lost", f"{lost}", "0", lost == 0,
        f"{entries / 1e6:.1f} M records")
    os.unlink(dat)
