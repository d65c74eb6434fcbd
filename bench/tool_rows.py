# SPDX-License-Identifier: MIT
"""The commands beside a program: the delay of `vestige stream`, the CPU time of `vestige top`, and
the commands that rewrite a recording."""
import os
import re
import resource
import signal
import statistics
import subprocess
import time

import harness
from harness import BENCH, LIBRARY, PATCHABLE, ROOT, VESTIGE, compiled, cpu_seconds, empty_areas, pairs, recorded, row, sh

STAMP = re.compile(rb" (\d+)\.(\d{6}): ")


def begun(program, rate, seconds, boot):
    """The program, once its agent answers."""
    env = {**os.environ, "VESTIGE_DIR": f"{harness.folder}/areas", "LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": boot}
    p = subprocess.Popen([program, "rate", str(rate), str(seconds)], env=env, stdout=subprocess.DEVNULL)
    while subprocess.run([VESTIGE, "get", "-P", str(p.pid), "tracing_on"], env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False).returncode:
        time.sleep(0.01)
    return p, env


def delays_of(fd, seconds):
    """ms between each record's stamp and the moment at which its line was read, sorted."""
    found, rest, end = [], b"", None
    while end is None or time.monotonic() < end:
        text = os.read(fd, 1 << 16)
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        if not text:
            break
        *lines, rest = (rest + text).split(b"\n")
        for line in lines:
            m = STAMP.search(line)
            if m:
                end = end or time.monotonic() + seconds
                found.append((now - int(m[1]) - int(m[2]) / 1e6) * 1e3)
    return sorted(found)


def stop(p):
    p.kill()
    p.wait()


def delays(program, rate, seconds):
    """As delays_of(): of a process, by `vestige stream`."""
    p, env = begun(program, rate, seconds + 2, "ftrace=nop")
    reader = subprocess.Popen([VESTIGE, "stream", "-P", str(p.pid), "-p", "function", "-l", "leaf"], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = delays_of(reader.stdout.fileno(), seconds)
    reader.kill()
    reader.communicate()
    stop(p)
    empty_areas()
    return found


def session_delays(program, rate, seconds):
    """As delays_of(): of a session of two processes, by its trace_pipe."""
    where = f"{harness.folder}/mnt"
    env = {**os.environ, "VESTIGE_DIR": f"{harness.folder}/areas", "VESTIGE_BOOT": "ftrace=function ftrace_filter=leaf"}
    os.mkdir(where)
    both = f'"$0" rate {rate // 2} {seconds + 5} & "$0" rate {rate // 2} {seconds + 5} & wait'
    p = subprocess.Popen([VESTIGE, "run", "bench", "--", "sh", "-c", both, program], env=env, stdout=subprocess.DEVNULL,
                         start_new_session=True)
    subprocess.run([VESTIGE, "mount", where], env=env, check=True, stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(f"{where}/bench/trace_pipe"):
            time.sleep(0.01)
        fd = os.open(f"{where}/bench/trace_pipe", os.O_RDONLY)
        found = delays_of(fd, seconds)
        os.close(fd)
    finally:
        subprocess.run(["umount", where], check=True)
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        os.rmdir(where)
    empty_areas()
    return found


def top_share(program, rate, seconds):
    """CPU time of `vestige top` over the time on the clock."""
    p, env = begun(program, rate, seconds + 5, "ftrace=nop")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([VESTIGE, "top", "-P", str(p.pid), "-l", "leaf", "-n", str(seconds)], env=env, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    stop(p)
    empty_areas()
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / took


def bench_tools():
    print("commands beside a program, and commands that write a recording anew")
    program = compiled("steady", [*PATCHABLE, "-D_GNU_SOURCE", f"-I{ROOT}/include"], f"{BENCH}/steady.c")
    seconds = 2 if harness.quick else 5
    for what, of, bar in (("`vestige stream`", delays, 20), ("trace_pipe of a session of two", session_delays, 80)):
        ms = of(program, 10000, seconds)
        p99 = ms[len(ms) * 99 // 100] if ms else float("inf")
        row(f"{what} behind the program, p99", f"{p99:.1f} ms", f"< {bar} ms", p99 < bar,
            f"{len(ms)} records, median {statistics.median(ms or [0]):.1f} ms")
    start = statistics.median(cpu_seconds([VESTIGE, "--version"], {}, "/dev/null", None) /
                              cpu_seconds(["/bin/true"], {}, "/dev/null", None) for _ in range(pairs(31)))
    row("a command's start, CPU time / that of `true`", f"{start:.1f}")
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
