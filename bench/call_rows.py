# SPDX-License-Identifier: MIT
"""The cost of a recorded call, by tracer, compiler flag and setting."""
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import time

import harness
from last import cpu_model
from harness import (BENCH, LIBRARY, PATCHABLE, PLAIN, ROOT, VESTIGE, added, calls, calls_made, compiled,
                     empty_areas, pairs, peer, recorded, row, sh)

UNPROFILED = ["-nostartfiles", "-l:crt1.o", "-l:crti.o", "-l:crtn.o"]
HOOKS = (("-pg -mfentry", ["-pg", "-mfentry", *UNPROFILED], True),
         ("-pg", ["-pg", *UNPROFILED], False),
         ("-finstrument-functions", ["-finstrument-functions"], True))


def bench_calls():
    print("a call recorded by the function tracer (16 bytes, with its caller), over a bare rdtsc")
    program = compiled("calls", PATCHABLE)
    for what, bar in (("leaf", 1.25), ("fib", 1.25)):
        ns, ratio = added(program, what)
        row(f"function, {what}", f"{ratio:.2f} ({ns:.1f} ns)", f"<= {bar}", ratio <= bar)
    five = compiled("calls5", [*PLAIN, "-fpatchable-function-entry=5"])
    ns, ratio = added(five, "leaf")
    row("function, leaf, built with =5", f"{ratio:.2f} ({ns:.1f} ns)")
    for count in (1, 4, 20, 100, 2000, 10000):
        source = f"{harness.folder}/rotate{count}.S"
        with open(source, "w", encoding="utf-8") as f:
            f.write(sh(f"{BENCH}/gen_functions", str(count)).stdout)
        program = compiled(f"rotate{count}", [*PATCHABLE, f"-DROTATE={count}"], f"{BENCH}/calls.c", source)
        ns, ratio = added(program, "rotate")
        row(f"function, {count} functions in rotation", f"{ratio:.2f} ({ns:.1f} ns)")


def bench_floor():
    """The bars of each CPU model. The best of many bursts of 1000 calls has no disturbance: it is
    the processor's own time."""
    print("a recorded call at its best: the least of 1500 bursts of 1000 calls, over bare rdtsc")
    program, hundred = compiled("calls", PATCHABLE), rotation(100)
    of_graph = 1.05 if "AMD" in cpu_model() else 1.2
    ns = {}
    for what, boot, stamps, bar in (("function", "ftrace=function", 1, 1.15), ("function_graph", "ftrace=function_graph", 2, of_graph)):
        for of, prog, kind in (("leaf", program, "leaf"), ("100 functions in rotation", hundred, "rotate")):
            ns[what, of], ratio = added(prog, kind, 1.5, boot, 1500)
            ratio /= stamps
            figure = f"{ratio:.2f} ({ns[what, of]:.1f} ns)"
            if of == "leaf":
                row(f"{what}, {of}, at its best", figure, f"<= {bar}", ratio <= bar)
            else:
                row(f"{what}, {of}, at its best", figure)
        ratio = ns[what, "100 functions in rotation"] / ns[what, "leaf"]
        row(f"{what}, 100 functions / one, at their best", f"{ratio:.2f}", "<= 1.15", ratio <= 1.15)
    best, _ = added(program, "leaf", 1.5, "ftrace=function_graph trace_clock=none", 1500)
    row("function_graph, leaf, clock none, at its best", f"{best:.1f} ns", "<= 9 ns", best <= 9)


def rotation(count, nops="6", flags=()):
    source = f"{harness.folder}/rotate{count}-{nops}.S"
    with open(source, "w", encoding="utf-8") as f:
        f.write(sh(f"{BENCH}/gen_functions", str(count), nops).stdout)
    return compiled(f"rotate{count}-{nops}", [*(flags or PATCHABLE), f"-DROTATE={count}"], f"{BENCH}/calls.c",
                    source)


def graph_row(what, program, kind, bar=None, boot="ftrace=function_graph"):
    """A row: the time that function_graph adds to a call, over two bare rdtsc."""
    ns, ratio = added(program, kind, boot=boot)
    ratio /= 2
    if bar:
        row(what, f"{ratio:.2f} ({ns:.1f} ns)", f"<= {bar}", ratio <= bar)
    else:
        row(what, f"{ratio:.2f} ({ns:.1f} ns)")
    return ns


def bench_graph():
    print("a call recorded by function_graph (entry and exit, 16 bytes), over two bare rdtsc")
    program = compiled("graph", PATCHABLE)
    graph_row("function_graph, leaf", program, "leaf", 1.10)
    graph_row("function_graph, fib", program, "fib", 1.10)
    graph_row("function_graph, leaf, built with =5",
              compiled("graph5", [*PLAIN, "-fpatchable-function-entry=5"]), "leaf")
    rotating = {}
    for count, bar in ((20, 1.10), (100, 1.3), (2000, None), (10000, None)):
        rotating[count] = graph_row(f"function_graph, {count} functions in rotation", rotation(count), "rotate",
                                    bar)
    # these filters need functions that exist (the compiler's clones, too): else the plain variant
    # is measured
    for what, kind, boot in (("set_graph_function", "fib", "ftrace_graph_filter=fib*"),
                             ("set_graph_notrace", "fib", "ftrace_graph_notrace=leaf*"),
                             ("max_graph_depth", "fib", "ftrace_graph_max_depth=1000"),
                             ("tracing_thresh", "leaf", "tracing_thresh=1000000")):
        beside(f"function_graph with {what}, over plain", [(program, kind, ""), (program, kind, boot)], 1.4)
    clocks = clock_names(program)
    if "none" in clocks:
        ns, _ = added(program, "leaf", boot="ftrace=function_graph trace_clock=none")
        row("function_graph, leaf, clock none", f"{ns:.1f} ns", "<= 11 ns", ns <= 11)
    else:
        row("function_graph, leaf, clock none", "not there")
    stacks = compiled("stacks", PATCHABLE, f"{BENCH}/stacks.c")
    beside("function_graph, another stack at each call, over plain",
           [(stacks, "plain", ""), (stacks, "switch", "")], 1.5)
    beside("function_graph, each call leaves for another stack, over plain",
           [(stacks, "plain", ""), (stacks, "yield", "")], None)
    graph_peers(program, rotating)


def bench_arguments():
    print("arguments and results: what they add to a call, over bare rdtsc (function: one, function_graph: two)")
    program = compiled("arguments", PATCHABLE)
    ns, ratio = added(program, "leaf", boot="ftrace=function trace_options=func-args")
    row("function, func-args", f"{ratio:.2f} ({ns:.1f} ns)")
    for options in ("funcgraph-args", "funcgraph-retval", "funcgraph-args,funcgraph-retval"):
        graph_row(f"function_graph, {options}", program, "leaf", boot=f"ftrace=function_graph trace_options={options}")


def beside(what, runs, bar):
    """
    A row: the time that the second of two traced runs adds to a call, over the first one's. @runs:
    program, kind and settings of each. The best of interleaved runs: a busy machine only ever
    adds time.
    """
    best = {}
    for _ in range(pairs(9)):
        for program, kind, boot in runs:
            for tracer in ("nop", "function_graph"):
                ns = calls(program, kind, 10, f"ftrace={tracer} {boot}")[0]
                best[kind, boot, tracer] = min(ns, best.get((kind, boot, tracer), ns))
    plain, other = (best[kind, boot, "function_graph"] - best[kind, boot, "nop"] for _, kind, boot in runs)
    row(what, f"{other / plain:.2f} ({other:.1f} ns)", f"<= {bar}" if bar else "",
        other / plain <= bar if bar else None, f"over {plain:.1f} ns")


def bench_instances():
    """Several instances at once, and set_ftrace_pid: the cost of a call, over its cost
    with the top instance alone."""
    print("a call that instances want, over one that the top instance alone records; leaf")
    program = compiled("instances", [*PATCHABLE, f"-I{ROOT}/include"], f"{BENCH}/calls.c", f"{BENCH}/instances.c")
    runs = [("function", "", "", None), ("function", "", "set_ftrace_pid", 1.4), ("function", "", "set_ftrace_notrace_pid", 1.4),
            ("nop", "function", "", None), ("function", "function", "", None),
            ("function", "function function function", "", None),
            ("function_graph", "", "", None), ("function_graph", "", "set_ftrace_notrace_pid", 1.4),
            ("nop", "function_graph", "", None), ("function_graph", "function_graph", "", None)]
    best = {}
    for _ in range(pairs(9)):
        for top, others, file, _ in [("nop", "", "", None), *runs]:
            env = {"BENCH_INSTANCES": others} | ({"BENCH_PID": file} if file else {})
            ns = calls(program, "leaf", 10, f"ftrace={top}", env)[0]
            best[top, others, file] = min(ns, best.get((top, others, file), ns))
    off = best["nop", "", ""]
    for top, others, file, bar in runs:
        tracer = "function_graph" if "graph" in top + others else "function"
        ns, plain = best[top, others, file] - off, best[tracer, "", ""] - off
        what = f"top {top}" + (f", instances {others}" if others else "") + (f", {file}" if file else "")
        row(what, f"{ns / plain:.2f} ({ns:.1f} ns)", f"<= {bar}" if bar else "", ns / plain <= bar if bar else None)


def bench_profiler():
    """function_profile_enabled with self times and buckets, as `vestige top` has it; and the CPU
    time of top itself."""
    print("a call counted by the function profiler; vestige top beside a program that calls without a pause")
    program = compiled("profiler", PATCHABLE)
    p = subprocess.Popen([program, "leaf", "100000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         env={**os.environ, "LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": "ftrace=nop",
                              "VESTIGE_DIR": f"{harness.folder}/areas"})
    try:
        for _ in range(500):
            if not sh(VESTIGE, "get", "-P", str(p.pid), "tracing_on", check=False).returncode:
                break
            time.sleep(0.01)
        seconds = 3 if harness.quick else 20
        before = os.times()
        text = sh(VESTIGE, "top", "-P", str(p.pid), "-n", str(seconds), "-d", "1", "--json").stdout
        after = os.times()
    finally:
        p.kill()
        p.wait()
        empty_areas()
    rates = [r["rate"] for line in text.splitlines() for r in json.loads(line)["rows"] if r["name"].split(".")[0] == "leaf"]  # gcc: leaf.isra.0
    rate = statistics.median(rates)
    used = after.children_user + after.children_system - before.children_user - before.children_system
    row("top, of one CPU", f"{100 * used / seconds:.2f} % at {rate / 1e6:.1f} M calls/s", "<= 2 % at 2 M/s",
        100 * used / seconds <= 2 and rate >= 2e6)
    row("function profiler, leaf", f"{1e9 / max(rates):.1f} ns a call")


def bench_hooks():
    """The cost of each other flag, with nothing traced and traced. crt1.o: not profiled."""
    print("the other flags of the compiler, fib: off, over a program built without; on, over bare rdtsc")
    plain = compiled("hooks_plain", PLAIN)
    for flag, words, graph in HOOKS:
        program = compiled("hooks" + flag.replace(" ", ""), [*PLAIN, *words])
        # -pg keeps a frame pointer, and the call's registers are saved for it: the flag's own cost
        off = statistics.median(calls(program, "fib", 20, "ftrace=nop")[0] - calls(plain, "fib", 20)[0]
                                for _ in range(pairs(9)))
        bar = 5.0 if flag == "-finstrument-functions" else None
        row(f"{flag}, off", f"{off:.1f} ns", f"<= {bar} ns" if bar else "", off <= bar if bar else None)
        ns, ratio = added(program, "fib", 10)
        row(f"{flag}, function", f"{ratio:.2f} ({ns:.1f} ns)")
        if graph:
            ns, ratio = added(program, "fib", 10, "ftrace=function_graph")
            row(f"{flag}, function_graph, over two", f"{ratio / 2:.2f} ({ns:.1f} ns)")


def clock_names(program):
    """The clocks in trace_clock, read from a running process."""
    p = subprocess.Popen([program, "leaf", "100000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         env={**os.environ, "LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": "ftrace=nop",
                              "VESTIGE_DIR": f"{harness.folder}/areas"})
    try:
        for _ in range(500):
            got = sh(VESTIGE, "get", "-P", str(p.pid), "trace_clock", check=False)
            if got.returncode == 0:
                return got.stdout.replace("[", "").replace("]", "").split()
            time.sleep(0.01)
        raise SystemExit(f"bench: no agent answers: {got.stderr}")
    finally:
        p.kill()
        p.wait()
        empty_areas()


def graph_peers(program, rotating):
    """The peers that record entry and exit, on the same program: under `record`, as they are
    used."""
    dat, data = f"{harness.folder}/graph.dat", f"{harness.folder}/graph.uftrace"
    ours = peer("vestige record, function_graph, fib", lambda: calls(program, "fib", 10, "ftrace=nop")[0],
                lambda: calls(program, "fib", 10, prefix=(
                    VESTIGE, "record", "-q", "-p", "function_graph", "-o", dat, "--"))[0])
    if not shutil.which("uftrace"):
        return row("uftrace", "not installed")
    plain, traced = compiled("graph_plain", PLAIN), compiled("graph_uftrace", [*PLAIN, "-pg"])
    record = ("uftrace", "record", "--no-libcall", "-d", data)

    def uftrace(what, kind, base, with_it, n=2):
        def once():
            ns = calls(with_it, kind, n, prefix=record)[0]
            shutil.rmtree(data, ignore_errors=True)
            return ns
        return peer(what, lambda: calls(base, kind, n)[0], once, 3)
    try:
        theirs = uftrace("uftrace record, fib", "fib", plain, traced)
        row("uftrace / vestige, fib", f"{theirs / ours:.1f}", ">= 4.5", theirs / ours >= 4.5)
        for count in (2000, 10000):
            theirs = uftrace(f"uftrace record, {count} functions in rotation", "rotate",
                             rotation(count, "0", PLAIN), rotation(count, "fentry", [*PLAIN, "-pg"]))
            row(f"uftrace / vestige, {count} functions in rotation", f"{theirs / rotating[count]:.1f}")
        spool, entries, lost, _, _ = recorded(dat, "-p", "function_graph", "--", program, "fib", "5")
        made = calls_made(program, 5)
        sh(*record, traced, "fib", "5", cwd=harness.folder)
        size = sum(os.path.getsize(f) for f in glob.glob(f"{data}/[0-9]*.dat"))
        row("function_graph: spool, bytes a call", f"{spool / made:.1f}", note=f"{entries / 1e6:.1f} M records, {lost} lost")
        ratio = spool / size
        row("spool / uftrace's data", f"{ratio:.2f}", "<= 0.5", ratio <= 0.5, f"uftrace {size / made:.1f} bytes a call")
    except (subprocess.CalledProcessError, TypeError) as e:
        row("uftrace", "did not run", note=str(getattr(e, "stderr", e)).strip()[-60:])
    return None


def bench_throws():
    print("four threads that throw without pause, only an unrelated function traced")
    program = compiled("throws", ["-std=c++17", "-O2", "-fpatchable-function-entry=6"], f"{BENCH}/throws.cc",
                       cc="g++", libs=["-lpthread"])

    def rate(boot):
        env = {"LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": boot} if boot else {}
        text = sh(program, "4", "0.5", env=env).stdout
        empty_areas()
        return float(re.search(r"throws_per_s (\d+)", text)[1])

    for what, boot, bar in (("unrelated traced", "ftrace=function_graph ftrace_filter=unrelated", 0.9),
                            ("all wrapped", "ftrace=function_graph", None)):
        ratio = statistics.median(r[1] / r[0] for r in ((rate(None), rate(boot)) for _ in range(pairs(9))))
        row(f"throws a second, {what} / untraced", f"{ratio:.2f}", f">= {bar}" if bar else "",
            ratio >= bar if bar else None)
