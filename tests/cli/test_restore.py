#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige restore` against stock trace-cmd: the same files of CPUs give the same report; each
reads the other's partial files. The files of CPUs are the kernel's own pages, as trace-cmd record
keeps them."""
import contextlib
import lzma
import os
import shutil
import struct
import subprocess

from cli_test import main, need
from test_kernel import TRACING, instance

SOURCE = os.environ["SOURCE_DIR"]
PAGE = 4096


def write(path, text, mode="w"):
    with open(path, mode) as f:
        f.write(text)


def pages(w):
    """Make files of the CPUs, with records of this machine: c.dat.cpuN."""
    need("trace-cmd")
    names = []
    with instance(w) as (_, at):
        write(f"{at}/trace_clock", "mono")
        write(f"{at}/events/sched/sched_switch/enable", "1")
        for cpu in sorted(os.sched_getaffinity(0)):
            subprocess.run(["taskset", "-c", str(cpu), "true"], check=True)
            write(f"{at}/trace_marker", f"after {cpu}\n")
        write(f"{at}/tracing_on", "0")
        for cpu in range(os.cpu_count()):
            names.append(f"c.dat.cpu{cpu}")
            fd = os.open(f"{at}/per_cpu/cpu{cpu}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
            with open(w.path(names[-1]), "wb") as f, contextlib.suppress(BlockingIOError):
                while page := os.read(fd, PAGE):
                    f.write(page.ljust(PAGE, b"\0"))
            os.close(fd)
    return names


def stock(w, *args):
    p = subprocess.run(["trace-cmd", *args], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.returncode == 0, (args, p.stderr)
    return p.stdout.decode()


def test_as_trace_cmd(w):
    cpus = pages(w)
    # one partial file for all: tasks get new names meanwhile
    w.run("restore", "-c", "-o", "p.dat")
    stock(w, "restore", "-i", "p.dat", "-o", "theirs.dat", *cpus)
    want = stock(w, "report", "theirs.dat")
    assert want.count("sched_switch:") > 10 and "after 0" in want, want
    w.run("restore", "-i", "p.dat", "-o", "ours.dat", *cpus)
    assert stock(w, "report", "ours.dat") == want
    assert w.run("report", "ours.dat").stdout.decode() == want
    # theirs is of version 7; the names say which CPU it is
    stock(w, "restore", "-c", "-o", "their-p.dat")
    w.run("restore", "-i", "their-p.dat", "-o", "ours.dat", *reversed(cpus))
    names_aside = [l[l.find("["):] for l in want.splitlines()]
    assert [l[l.find("["):] for l in stock(w, "report", "ours.dat").splitlines()] == names_aside
    # of this machine, without a partial file, into the usual place
    assert not w.run("restore", *cpus).stderr
    assert [l[l.find("["):] for l in stock(w, "report").splitlines()] == names_aside


def test_other_machine(w):
    """-t and -k take a copy of a tracefs, with an event that this kernel lacks."""
    cpus = pages(w)
    shutil.copytree(f"{TRACING}/events", w.path("copy/events"), ignore=lambda d, names: [
        n for n in names if n in ("enable", "filter", "trigger", "id", "hist", "inject") or (d.endswith("/events") and n not in (
            "header_page", "header_event", "ftrace", "sched"))])
    with open(w.path("copy/events/sched/sched_switch/format")) as f:
        text = f.read()
    os.mkdir(w.path("copy/events/sched/sched_own"))
    write(w.path("copy/events/sched/sched_own/format"), text.replace("sched_switch", "sched_own").replace("ID: ", "ID: 6"))
    write(w.path("copy/saved_cmdlines"), "1 someone\n")
    write(w.path("copy/printk_formats"), "")
    write(w.path("names"), "ffffffff81000000 T own_function\n")
    w.run("restore", "-c", "-t", "copy", "-k", "names")
    w.run("restore", "-i", "trace-partial.dat", *cpus)
    events = stock(w, "report", "--events")
    assert "name: sched_own" in events and "name: kmalloc" not in events
    assert "own_function" in stock(w, "report", "-f")
    assert "sched_switch" in stock(w, "report")


def test_kernels_files(w):
    """Files of other kernels, cut into files of CPUs, are restored: 32 and 64 bit, big-endian."""
    need("trace-cmd")
    for name in ("amd64-probes-v7", "i386-function-v7", "s390x-graph-v6"):
        with lzma.open(f"{SOURCE}/tests/data/kernels/{name}.dat.xz") as f:
            data = f.read()
        write(w.path("whole.dat"), data, "wb")
        if name.endswith("v7"):
            stock(w, "convert", "--file-version", "6", "-i", "whole.dat", "-o", "six.dat")
            os.rename(w.path("six.dat"), w.path("whole.dat"))
            with open(w.path("whole.dat"), "rb") as f:
                data = f.read()
        options, table = data.index(b"options  \0"), data.index(b"flyrecord\0") + 10
        order = ">" if data[12] else "<"
        write(w.path("p.dat"), data[:options - 4], "wb")
        names = []
        for cpu in range(struct.unpack_from(order + "I", data, options - 4)[0]):
            offset, size = struct.unpack_from(order + "QQ", data, table + 16 * cpu)
            names.append(f"k.cpu{cpu}")
            write(w.path(names[-1]), data[offset:offset + size], "wb")
        w.run("restore", "-i", "p.dat", *names)
        # options say the clock: without them a stamp may be shown in another unit
        ours, want = ([l.split(b":", 1)[1:] for l in w.run("report", n).stdout.splitlines()] for n in ("trace.dat", "whole.dat"))
        assert ours == want and len(ours) > 3, name


def test_cut_and_wrong(w):
    cpus = pages(w)
    w.run("restore", "-c", "-o", "p.dat")
    w.run("restore", "-i", "p.dat", "-o", "whole.dat", *cpus)
    with open(w.path("p.dat"), "rb") as f:
        partial = f.read()
    write(w.path("cut.dat"), partial[:5000], "wb")
    write(w.path("tiny.dat"), partial[:12], "wb")
    write(w.path("page.dat"), partial[:14] + b"\3\0\0\0" + partial[18:], "wb")
    write(w.path("text"), "no trace.dat, this is only a text\n")
    write(w.path("a.cpu1"), "")
    write(w.path("noise.cpu0"), bytes(range(1, 255)) * 100, "wb")
    write(w.path("short.cpu0"), "x" * 3000)
    write(w.path("back.cpu0"), b"".join(struct.pack("<QQ", ts, 16).ljust(PAGE, b"\0") for ts in (20, 10)), "wb")
    os.mkfifo(w.path("pipe.cpu3"))
    for words, status, why in (
            ([], 2, "no files of CPUs"), (["-c", "x"], 2, "-c takes no files"), (["-c", "-i", "p.dat"], 2, "-i reads one"),
            (["-t", "x", "a.cpu1"], 2, "-t is of -c"), (["-k", "x", "a.cpu1"], 2, "-k is of -c"),
            (["-i", "p.dat", "no.cpu1"], 1, "cannot open 'no.cpu1'"), (["-i", "no.dat", "a.cpu1"], 1, "cannot open 'no.dat'"),
            (["-i", "p.dat", "c.dat.cpu1", "a.cpu1"], 1, "are both of CPU 1"), (["-i", "p.dat", "pipe.cpu3"], 1, "not a regular file"),
            (["-i", "p.dat", "."], 1, "'.' is not a regular file"), (["-i", "pipe.cpu3", "a.cpu1"], 1, "not a regular file"),
            (["-i", "cut.dat", "a.cpu1"], 1, "'cut.dat' does not go"), (["-i", "tiny.dat", "a.cpu1"], 1, "it is cut"),
            (["-i", "page.dat", "a.cpu1"], 1, "its page has 3 bytes"), (["-i", "text", "a.cpu1"], 1, "'text' is no trace.dat"),
            (["-i", "whole.dat", *cpus], 1, "it has records of its own"), (["-i", "p.dat", "-o", "no/such", "a.cpu1"], 1, "no/such"),
            (["noise.cpu0"], 1, "'noise.cpu0' has no records of a CPU: its page at 0 is none"),
            (["short.cpu0"], 1, "'short.cpu0' has no records of a CPU: it is shorter than a page of 4096 bytes"),
            (["back.cpu0"], 1, "'back.cpu0' has no records of a CPU: its page at 4096 is none"),
            (["-c", "-t", "nosuch"], 1, "nosuch"), (["-c", "-t", "."], 1, "events/header_page"),
            (["-c", "-k", "nosuch"], 1, "cannot open 'nosuch'")):
        err = w.run("restore", *words, status=status).stderr.decode()
        assert why in err and err.count("\n") == 1, (words, err)
        assert not os.path.exists(w.path("trace.dat")) and not os.path.exists(w.path("trace-partial.dat")), words
    with open(w.path(cpus[0]), "ab") as f:
        f.write(b"x" * 100)
    err = w.run("restore", "-i", "p.dat", *cpus).stderr.decode()
    assert "100 bytes of a page that is not whole are left out" in err and err.count("\n") == 1, err
    assert w.run("report").stdout == w.run("report", "whole.dat").stdout


main(globals())
