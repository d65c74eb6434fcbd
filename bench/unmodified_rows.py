# SPDX-License-Identifier: MIT
"""The cost of functions that were built without a flag: by kind of redirect, beside a flag, at
start, in memory."""
import os
import re
import shutil
import subprocess

import harness
from harness import BENCH, LIBRARY, PLAIN, ROOT, VESTIGE, calls, compiled, cpu_seconds, empty_areas, pairs, row, sh

ALL = {"VESTIGE_UNMODIFIED": "1,all"}


def by_way():
    print("a call of a function that was built without a flag, over the same untraced")
    program = compiled("ways", PLAIN, f"{BENCH}/ways.c")
    runs = [("ftrace=nop", {}), ("ftrace=nop", ALL), ("ftrace=function", ALL), ("ftrace=function_graph", ALL)]
    for way in "long", "move", "padding":
        best = [1e9] * len(runs)
        for _ in range(pairs(9)):
            for i, (boot, env) in enumerate(runs):
                best[i] = min(best[i], calls(program, way, 5, boot, env)[0])
        off, on, graph = (ns - best[0] for ns in best[1:])
        row(f"redirected by way: {way}, off", f"{off:.1f} ns", "<= 3.3 ns", off <= 3.3)
        row(f"redirected by way: {way}, function", f"{on:.1f} ns")
        row(f"redirected by way: {way}, function_graph", f"{graph:.1f} ns")


def sqlite(*flags):
    return sh(f"{ROOT}/scripts/build-workload", "sqlite", "gcc", "-O2", "-g", *flags).stdout.strip()


def beside_the_flag():
    """SQLite built without the flag for sites, and with it, else alike: CPU time of a workload."""
    plain, flagged = sqlite(), sqlite("-fpatchable-function-entry=6")
    script = f"{harness.folder}/one.sql"
    with open(script, "w", encoding="utf-8") as f:
        f.write(f".open {harness.folder}/one.db\n.read {ROOT}/tests/workloads/work.sql\n")
    for tracer, bar in ("nop", None), ("function", None), ("function_graph", 1.15):
        best = {}
        for _ in range(pairs(9)):
            for program, env in (plain, ALL), (flagged, {}):
                seconds = cpu_seconds([program], {"LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": f"ftrace={tracer}",
                                                  "VESTIGE_DIR": f"{harness.folder}/areas", **env}, script, harness.folder)
                os.unlink(f"{harness.folder}/one.db")
                empty_areas()
                best[program] = min(seconds, best.get(program, seconds))
        ratio = best[plain] / best[flagged]
        row(f"SQLite, {tracer}: redirected / built with the flag", f"{ratio:.2f}", f"<= {bar}" if bar else "",
            ratio <= bar if bar else None)
    return plain


def functions_of(path):
    text = sh(VESTIGE, "doctor", "-o", path).stdout
    return int(re.search(r"(\d+) of \d+ functions could be reached", text)[1])


def anonymous_kb(program, env):
    """Private memory of a program that waits for input."""
    p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": "ftrace=nop",
                              "VESTIGE_DIR": f"{harness.folder}/areas", **env})
    p.stdin.write("select 'ready';\n")
    p.stdin.flush()
    p.stdout.readline()
    with open(f"/proc/{p.pid}/smaps_rollup", encoding="utf-8") as f:
        kb = int(re.search(r"^Anonymous: +(\d+)", f.read(), re.M)[1])
    p.communicate()
    empty_areas()
    return kb


def memory(program):
    """Memory of all functions: the islands, their unwind rules, the slots, and the text's pages
    that become private."""
    kb = min(anonymous_kb(program, ALL) for _ in range(3)) - min(anonymous_kb(program, {}) for _ in range(3))
    n = functions_of(program)
    row("memory an island, with its rows, slot and page of text", f"{1024 * kb / n:.0f} bytes", note=f"{kb} KB for {n} functions")


def at_start():
    """All functions made traceable, and none traced: the records of the start itself are counted
    elsewhere."""
    for argv in ["/usr/bin/git", "--version"], ["/usr/bin/python3", "-S", "-c", "pass"]:
        if not shutil.which(argv[0]):
            row(f"start-up, {argv[0]}", "not installed")
            continue
        best = {}
        cache = f"{harness.folder}/kept_ways"
        sh(VESTIGE, "record", "-q", "-p", "function", "-o", f"{harness.folder}/ways.dat", *argv, env={"VESTIGE_CACHE": cache})
        for _ in range(pairs(15)):
            for names, kept in ("0", "0"), ("1,all", "0"), ("1,all", cache):
                seconds = cpu_seconds(argv, {"LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": "ftrace=nop trace_buf_size=64k",
                                             "VESTIGE_DIR": f"{harness.folder}/areas", "VESTIGE_UNMODIFIED": names,
                                             "VESTIGE_CACHE": kept},
                                      "/dev/null", harness.folder)
                empty_areas()
                best[names, kept] = min(seconds, best.get((names, kept), seconds))
        n = functions_of(argv[0])
        for kept, words in ("0", ""), (cache, ", analysed before"):
            ms = 1e3 * (best["1,all", kept] - best["0", "0"])
            row(f"start-up, {n} functions without a flag{words}: CPU of 10,000", f"{ms * 10000 / n:.0f} ms", "<= 60 ms",
                ms * 10000 / n <= 60, f"{os.path.basename(argv[0])}: {ms:.1f} ms")


def libcalls():
    print("a call into a library, by record --libcall, over the same untraced")
    program = compiled("libcalls", [*PLAIN, "-fno-builtin"], f"{BENCH}/libcalls.c")
    best = [[1e9] * 3, [1e9] * 3]
    for _ in range(pairs(9)):
        for i, words in enumerate(([program], [VESTIGE, "record", "-q", "--libcall", "-p", "nop", "-o",
                                               f"{harness.folder}/libcalls.dat", program])):
            for k, ns in enumerate(sh(*words).stdout.split()):
                best[i][k] = min(best[i][k], float(ns))
    row("a call into a library, a number", f"{best[1][0] - best[0][0]:.0f} ns")
    row("a call into a library, a string and its result", f"{best[1][1] - best[0][1]:.0f} ns")
    row("a call into a library, numbers and its result", f"{best[1][2] - best[0][2]:.0f} ns")


def bench_unmodified():
    by_way()
    libcalls()
    memory(beside_the_flag())
    at_start()
