# SPDX-License-Identifier: MIT
"""The commands beside a program: how late `vestige stream` prints, what `vestige top` takes, and the
commands that write a recording anew."""
import os
import re
import resource
import statistics
import subprocess
import time

import harness
from harness import BENCH, LIBRARY, PATCHABLE, ROOT, VESTIGE, compiled, empty_areas, pairs, recorded, row, sh

STAMP = re.compile(rb" (\d+)\.(\d{6}): ")


def begun(program, rate, seconds, boot):
    """The program, when it can be asked."""
    env = {**os.environ, "VESTIGE_DIR": f"{harness.folder}/areas", "LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": boot}
    p = subprocess.Popen([program, "rate", str(rate), str(seconds)], env=env, stdout=subprocess.DEVNULL)
    while subprocess.run([VESTIGE, "get", "-P", str(p.pid), "tracing_on"], env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False).returncode:
        time.sleep(0.01)
    return p, env


def delays(program, rate, seconds):
    """ms between each record's stamp and the moment at which its line was read."""
    p, env = begun(program, rate, seconds + 2, "ftrace=nop")
    reader = subprocess.Popen([VESTIGE, "stream", "-P", str(p.pid), "-p", "function", "-l", "leaf"], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found, rest, end = [], b"", None
    while end is None or time.monotonic() < end:
        text = os.read(reader.stdout.fileno(), 1 << 16)
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        if not text:
            break
        *lines, rest = (rest + text).split(b"\n")
        for line in lines:
            m = STAMP.search(line)
            if m:
                end = end or time.monotonic() + seconds
                found.append((now - int(m[1]) - int(m[2]) / 1e6) * 1e3)
    reader.kill()
    reader.communicate()
    p.kill()
    p.wait()
    empty_areas()
    return sorted(found)


def top_share(program, rate, seconds):
    """CPU time of `vestige top` over that of the clock."""
    p, env = begun(program, rate, seconds + 5, "ftrace=nop")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([VESTIGE, "top", "-P", str(p.pid), "-l", "leaf", "-n", str(seconds)], env=env, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    p.kill()
    p.wait()
    empty_areas()
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / took


def bench_tools():
    print("commands beside a program, and commands that write a recording anew")
    program = compiled("steady", [*PATCHABLE, "-D_GNU_SOURCE", f"-I{ROOT}/include"], f"{BENCH}/steady.c")
    seconds = 2 if harness.quick else 5
    ms = delays(program, 10000, seconds)
    p99 = ms[len(ms) * 99 // 100] if ms else float("inf")
    row("`vestige stream` behind the program, p99", f"{p99:.1f} ms", "< 20 ms", p99 < 20,
        f"{len(ms)} records, median {statistics.median(ms or [0]):.1f} ms")
    share = statistics.median(top_share(program, 2000000, seconds) for _ in range(pairs(3)))
    row("`vestige top` at 2 M calls/s, of one CPU", f"{share * 100:.2f} %", "<= 2 %", share <= 0.02)
    dat = f"{harness.folder}/tools.dat"
    _, entries, _, _, _ = recorded(dat, "--", program, "rate", "2000000", "3")
    for what, words in (("split into files of 1 M events", ("split", "-i", dat, "-o", dat + ".part", "-r", "-e", "1000000")),
                        ("convert to version 6", ("convert", "-q", "--to", "dat6", dat, dat + ".6"))):
        times = []
        for _ in range(pairs(3)):
            began = time.monotonic()
            sh(VESTIGE, *words)
            times.append(time.monotonic() - began)
        row(what, f"{entries / statistics.median(times) / 1e6:.1f} M records/s")
    for name in os.listdir(harness.folder):
        if name.startswith("tools.dat"):
            os.unlink(f"{harness.folder}/{name}")
