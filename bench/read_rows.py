# SPDX-License-Identifier: MIT
"""The cost of reading: the file, the report, the mount, the time to an answer."""
import contextlib
import glob
import lzma
import os
import re
import resource
import shutil
import statistics
import struct
import subprocess
import tempfile
import threading
import time

import harness
from harness import (BENCH, LIBRARY, PATCHABLE, PLAIN, ROOT, VESTIGE, compiled, empty_areas, lua, pairs, recorded,
                     row, sh)


def bench_readback():
    millions = int(os.environ.get("READBACK", 1 if harness.quick else 10))
    print(f"reading {millions} M calls back, beside uftrace's recording of the same run")
    program, traced = compiled("graph", PATCHABLE), compiled("graph_uftrace", [*PLAIN, "-pg"])
    dat, data = f"{harness.folder}/readback.dat", f"{harness.folder}/readback.uftrace"
    entries, lost = recorded(dat, "-p", "function_graph", "--", program, "fib", str(millions))[1:3]
    row("recorded", f"{entries / 1e6:.1f} M records", note=f"{lost} lost")
    if not shutil.which("uftrace"):
        return row("uftrace", "not installed")
    sh("uftrace", "record", "--no-libcall", "-d", data, traced, "fib", str(millions), cwd=harness.folder)

    def seconds(*argv):
        t = time.monotonic()
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.monotonic() - t

    for ours, theirs in (("report", "replay"), ("replay", "replay"), ("graph", "graph"), ("profile", "report")):
        try:
            form = ["--format=trace"] if ours == "report" else []
            t = [(seconds(VESTIGE, ours, *form, dat), seconds("uftrace", theirs, "--no-pager", "-d", data))
                 for _ in range(1 if harness.quick else 2)]
        except subprocess.CalledProcessError as e:
            row(f"uftrace {theirs} / vestige {ours}", "did not run", note=" ".join(e.cmd)[-60:])
            continue
        a, b = (min(x) for x in zip(*t))
        row(f"uftrace {theirs} / vestige {ours}", f"{b / a:.1f}", ">= 5", b / a >= 5, f"{b:.1f} s and {a:.1f} s")
    return None


@contextlib.contextmanager
def mounted():
    """Make a mount; its folder."""
    path = tempfile.mkdtemp(prefix="mnt-", dir=harness.folder)
    sh(VESTIGE, "mount", path)
    try:
        yield path
    finally:
        sh(VESTIGE, "umount", "-l", path)


@contextlib.contextmanager
def traced(program, *args, boot):
    """A running program with pipes, which is ended afterwards."""
    p = subprocess.Popen([program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": boot,
                              "VESTIGE_DIR": f"{harness.folder}/areas"})
    try:
        yield p
    finally:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()
        empty_areas()


def blocks(path):
    """The contents of @path, in cat's pieces."""
    fd = os.open(path, os.O_RDONLY)
    try:
        while block := os.read(fd, 128 << 10):
            yield block
    finally:
        os.close(fd)


def read_in_a_loop(path, going, end, sizes):
    while not end.is_set():
        going.wait()
        for block in blocks(path):
            sizes.append(len(block))
            if end.is_set() or not going.is_set():
                break


def slowed(program, mnt):
    """CPU time of laps while `trace` is read in a loop, over the CPU time of laps without; and the
    bytes that were read."""
    with traced(program, "lap", "300000", boot="ftrace=function ftrace_filter=leaf") as p:
        p.stdout.readline()
        going, end, times, sizes = threading.Event(), threading.Event(), ([], []), []
        reader = threading.Thread(target=read_in_a_loop, args=(f"{mnt}/{p.pid}/trace", going, end, sizes))
        reader.start()
        for i in range(2 * pairs(51)):
            on = (i + i // 2) % 2  # so that neither is always first
            (going.set if on else going.clear)()
            time.sleep(0.02)
            p.stdin.write("\n")
            p.stdin.flush()
            times[on].append(float(p.stdout.readline().split()[1]))
        end.set()
        going.set()
        reader.join()
    return statistics.median(b / a for a, b in zip(*times)), min(times[1]) / min(times[0]), sum(sizes) / 1e6


def bench_mount():
    print("the files of a process: trace_pipe that follows, `cat trace`, and what reading costs the program")
    program = compiled("steady", [*PATCHABLE, "-D_GNU_SOURCE", f"-I{ROOT}/include"], f"{BENCH}/steady.c")
    boot = "ftrace=function ftrace_filter=leaf trace_options=nooverwrite trace_buf_size="
    with mounted() as mnt:
        seconds, millions = os.environ.get("BENCH_SECONDS", "5" if harness.quick else "60"), 1 if harness.quick else 10
        share = 64 // os.sysconf("SC_NPROCESSORS_CONF") or 1
        with traced(program, "rate", "1000000", seconds, boot=f"{boot}{share}m") as p:
            while not os.path.exists(f"{mnt}/{p.pid}/trace_pipe"):
                time.sleep(0.001)
            lines = lost = 0
            for block in blocks(f"{mnt}/{p.pid}/trace_pipe"):
                lines += block.count(b"leaf <-")
                lost += block.count(b"LOST")
            made = int(re.search(r"calls (\d+)", p.stdout.read())[1])
        row(f"trace_pipe, 1 M calls/s for {seconds} s, 64 MiB: lost", f"{made - lines}", "0",
            made == lines and not lost, f"{lines / 1e6:.1f} M lines")
        with traced(program, "made", f"{millions}000000", boot=f"{boot}{millions * 40}m") as p:
            p.stdout.readline()
            rates = []
            for _ in range(pairs(5)):
                t, lines = time.monotonic(), 0
                for block in blocks(f"{mnt}/{p.pid}/trace"):
                    lines += block.count(b"\n")
                rates.append(lines / (time.monotonic() - t))
        rate = statistics.median(rates) / 1e6
        row(f"`cat trace` of {lines / 1e6:.1f} M lines", f"{rate:.1f} M lines/s", ">= 3", rate >= 3)
        median, best, mb = slowed(program, mnt)
        row("reading `trace` in a loop, over not reading", f"{median:.3f}", "<= 1.02", median <= 1.02,
            f"best laps {best:.3f}; {mb:.0f} MB read")


def bench_spool():
    print("what a recording takes: Lua at work under `vestige record`")
    dat = f"{harness.folder}/spool.dat"
    sizes, rates, bytes_a_call = [], [], []
    for _ in range(pairs(3)):
        spool, entries, lost, took, _ = recorded(dat, "--", lua(), f"{ROOT}/tests/workloads/work.lua", "0.5")
        bytes_a_call.append(spool / entries)
        rates.append(entries / took)
        sizes.append(os.path.getsize(dat) / entries)
    row("function: spool, bytes a call", f"{statistics.median(bytes_a_call):.2f}")
    row("function: trace.dat (v7, zstd), bytes a call", f"{statistics.median(sizes):.2f}")
    row("transcoding, from the program's end to ours", f"{statistics.median(rates) / 1e6:.1f} M records/s",
        note=f"{entries / 1e6:.1f} M records, {lost} lost")


def bench_report():
    print("reading a trace.dat of more than a million events")
    dat = f"{harness.folder}/report.dat"
    sh(VESTIGE, "record", "-q", "-o", dat, "--", lua(), f"{ROOT}/tests/workloads/work.lua", "0.05")
    lines = 0
    with subprocess.Popen([VESTIGE, "report", "--format=trace", dat], stdout=subprocess.PIPE) as p:
        lines = sum(block.count(b"\n") for block in iter(lambda: p.stdout.read(1 << 20), b""))

    def seconds(*argv):
        t = time.monotonic()
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.monotonic() - t
    ours, theirs = [], []
    for _ in range(pairs(5)):
        ours.append(seconds(VESTIGE, "report", "--format=trace", dat))
        theirs.append(seconds("trace-cmd", "report", "-i", dat))
    ratio = statistics.median(b / a for a, b in zip(ours, theirs))
    row("trace-cmd report / vestige report --format=trace", f"{ratio:.1f}", ">= 10", ratio >= 10,
        f"{lines / 1e6:.2f} M lines in {statistics.median(ours):.2f} s")


def kernel_shaped(path, records):
    """A trace.dat of version 6 as a kernel writes it, of @records about: the sub-buffers of a
    recording of two CPUs (sched_switch, sched_waking, ...) again and again, each time later.
    Returns how many there are."""
    with lzma.open(f"{ROOT}/tests/data/kernels/amd64-instances-v6.dat.xz") as f:
        whole = f.read()
    table = whole.index(b"flyrecord\0") + 10
    where = struct.unpack_from("<4Q", whole, table)
    cpus = [[whole[at + i:at + i + 4096] for i in range(0, size, 4096)] for at, size in (where[:2], where[2:])]
    times = records // 274 + 1
    with open(path, "wb") as f:
        f.write(whole)
        f.write(b"\0" * (-len(whole) % 4096))
        placed = []
        for pages in cpus:
            at = f.tell()
            for lap in range(times):
                for page in pages:
                    f.write(struct.pack("<Q", struct.unpack_from("<Q", page)[0] + lap * 200_000_000) + page[8:])
            placed += [at, f.tell() - at]
        f.seek(table)
        f.write(struct.pack("<4Q", *placed))
    return times * 274


def bench_kernel():
    print("recordings of a kernel, without a block of ours: report, and a merge of four")

    def seconds(*argv):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    dat = f"{harness.folder}/kernel.dat"
    records = kernel_shaped(dat, 1_000_000)
    ours, theirs = [], []
    for _ in range(pairs(5)):
        ours.append(seconds(VESTIGE, "report", dat))
        theirs.append(seconds("trace-cmd", "report", "-i", dat))
    ratio = min(theirs) / min(ours)
    row("kernel's events: trace-cmd report / vestige report, CPU", f"{ratio:.1f}", ">= 10", ratio >= 10,
        f"{records / 1e6:.1f} M records in {min(ours):.2f} s")
    millions = 1 if harness.quick else 10
    files = [f"{harness.folder}/kernel{i}.dat" for i in range(4)]
    for name in files:
        records = kernel_shaped(name, millions * 1_000_000)
    took = seconds(VESTIGE, "report", *files)
    row(f"merge of 4 x {records / 1e6:.1f} M records", f"{4 * records / took / 1e6:.1f} M records/s", note=f"{took:.1f} s of CPU")
    for name in (dat, *files):
        os.unlink(name)


def bench_answer():
    print("from the program's start to the answer: SQLite's workload under function_graph")
    program = sh(f"{ROOT}/scripts/build-workload", "sqlite", "gcc", "-O2", "-g",
                 "-fpatchable-function-entry=6").stdout.strip()
    dat, old, native, db = (f"{harness.folder}/answer.{name}" for name in ("dat", "dat6", "native", "db"))
    argv = (program, db, f".read {ROOT}/tests/workloads/work.sql")

    def seconds(*argv, out=subprocess.DEVNULL):
        for name in glob.glob(f"{db}*"):
            os.unlink(name)
        t = time.monotonic()
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, cwd=harness.folder)
        return time.monotonic() - t

    def run(output, *flags):
        for name in glob.glob(f"{db}*"):
            os.unlink(name)
        _, entries, lost, took, ran = recorded(output, *flags, "-p", "function_graph", "--", *argv)
        return entries, lost, took, ran

    def lines_a_second(command):
        path = f"{harness.folder}/answer.txt"
        # The second time, with the pages of the first: memory that a virtual machine has not used
        # lately comes from its host, which takes longer than the report. They are not written to
        # the disk meanwhile.
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            with open(path, "wb") as f:
                took = seconds(VESTIGE, *command.split(), dat, out=f)
        with open(path, "rb") as f:
            lines = sum(block.count(b"\n") for block in iter(lambda: f.read(1 << 20), b""))
        os.unlink(path)
        return lines / took / 1e6
    plain, whole, whole6, at_once, profiles, answers, lines = [], [], [], [], [], [], {}
    for _ in range(pairs(5)):
        plain.append(seconds(*argv))
        entries, lost, took, ran = run(dat)
        whole.append(took / ran)
        recorded_in = ran
        _, _, took, ran = run(native, "--native", "-q")
        at_once.append(took / ran)
        profiles.append(seconds(VESTIGE, "profile", native))
        answers.append(took + ran + profiles[-1])
        for command in "report --format=trace", "report", "replay":
            lines.setdefault(command, []).append(lines_a_second(command))
        _, _, took, ran = run(old, "--file-version", "6")
        whole6.append(took / ran)
        os.unlink(old)
    for what, path in (("native form", native), ("trace.dat (v7, zstd)", dat)):
        row(f"function_graph: {what}, bytes a call", f"{os.path.getsize(path) / (entries / 2):.2f}")
    note = f"{entries / 1e6:.1f} M records, {lost} lost, recorded in {recorded_in:.2f} s, untraced {min(plain):.2f} s"
    for what, ratios, bar in (("record --native, after the program's end / its time", at_once, 0.1),
                              ("record, after the program's end / its time", whole, 1.0),
                              ("record --file-version 6, after the program's end / its time", whole6, 1.0)):
        ratio = statistics.median(ratios)
        row(what, f"{ratio:.2f}", f"<= {bar}", ratio <= bar, note)
        note = ""
    rate = entries / statistics.median(profiles) / 1e6
    row("profile, until it is on the screen", f"{statistics.median(profiles):.2f} s", ">= 90 M/s", rate >= 90,
        f"{rate:.0f} M records/s")
    for command, rates in lines.items():
        rate, bar = statistics.median(rates), 8 if command == "replay" else 15
        row(f"{command} to a file", f"{rate:.1f} M lines/s", f">= {bar}", rate >= bar)
    ours = statistics.median(answers)
    row("time to the answer", f"{ours:.2f} s", note="record, and profile, from the program's start")
    if not shutil.which("uftrace"):
        row("uftrace record + report", "not installed")
        return
    traced = sh(f"{ROOT}/scripts/build-workload", "sqlite", "gcc", "-O2", "-g", "-pg").stdout.strip()
    data = f"{harness.folder}/answer.uftrace"
    try:
        theirs = min(seconds("uftrace", "record", "--no-libcall", "-d", data, traced, *argv[1:]) +
                     seconds("uftrace", "report", "--no-pager", "-d", data) for _ in range(2))
        row("uftrace record + report / vestige record + profile", f"{theirs / ours:.1f}", note=f"{theirs:.1f} s")
    except subprocess.CalledProcessError as e:
        row("uftrace record + report", "did not run", note=" ".join(e.cmd)[-60:])
