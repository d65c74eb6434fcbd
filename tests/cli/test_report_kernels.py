#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige report against trace-cmd report, line for line: recordings of three kernels
(tests/data/kernels)."""
import lzma
import os
import re
import subprocess

from cli_test import main, need

KERNELS = os.path.join(os.environ["SOURCE_DIR"], "tests", "data", "kernels")
ENV = dict(os.environ, TZ="UTC", LC_ALL="C")


def unpacked(w):
    need("trace-cmd")
    names = []
    for name in sorted(os.listdir(KERNELS)):
        with lzma.open(f"{KERNELS}/{name}") as f, open(w.path(name[:-3]), "wb") as out:
            out.write(f.read())
        names.append(name[:-3])
    assert len(names) >= 15, names
    return names


def theirs(w, *args):
    return subprocess.run(["trace-cmd", "report", *args], cwd=w.dir, env=ENV, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.decode(errors="replace").splitlines()


def ours(w, *args):
    return w.run("report", *args).stdout.decode(errors="replace").splitlines()




def squeezed(lines):
    return [re.sub(r" +", " ", l).replace(" |", "|").strip() for l in lines]


def aliases(w, name):
    """{function: the first function at the same address}."""
    first, by = {}, {}
    for l in theirs(w, "-f", "-i", name):
        addr, function = l.split()[:2]
        by[function] = first.setdefault(addr, function)
    return by


def same(w, name, *args):
    want, got = theirs(w, *args, "-i", name), ours(w, *args, "-i", name)
    if want == got:
        return
    # of two names of one address trace-cmd has one by chance of its search
    by = aliases(w, name)
    want, got = ([re.sub(r"[\w.]+", lambda m: by.get(m[0], m[0]), l) for l in lines] for lines in (want, got))
    for a, b in zip(want, got):
        assert a == b, f"{name} {args}:\n{b}\nnot\n{a}"
    assert len(want) == len(got), f"{name} {args}: {len(got)} lines, not {len(want)}"


def test_all_files(w):
    kinds = (("-l",), ("-R",), ("-t", "--ts-diff"), ("-N",), ("--raw-ts",))
    lists = (("-e",), ("-P",), ("-E",), ("--cpus",), ("--first-event", "--last-event"), ("--uname",), ("--version",))
    for i, name in enumerate(unpacked(w)):
        same(w, name)
        args = kinds[i % len(kinds)]
        # of a short stack's array trace-cmd prints what lies behind the record, ours zeros
        if not ("-R" in args and any("kernel_stack" in l for l in ours(w, name))):
            same(w, name, *args)
        for args in (lists[i % len(lists)], lists[(i + 3) % len(lists)]):
            want, got = theirs(w, *args, "-i", name), ours(w, *args, "-i", name)
            if "irqsoff" in name and want != got:  # of the text of a latency tracer it says nothing
                continue
            if args == ("-P",):  # texts that the kernel lists twice are there once
                want = sorted(set(want))
            assert want == got, (name, args, [x for x in zip(want, got) if x[0] != x[1]][:3], len(want), len(got))


def test_flags(w):
    unpacked(w)
    graph, instances, stack, host = "amd64-graph-v7.dat", "amd64-instances-v7.dat", "amd64-stack-v7.dat", "amd64-host-g1.dat"
    for name in (graph, "amd64-probes-v7.dat"):
        assert ours(w, "-L", name) == theirs(w, "-L", "-i", name)
        assert sorted(ours(w, "-f", name)) == sorted(theirs(w, "-f", "-i", name))
        assert set(ours(w, "-P", name)) == set(theirs(w, "-P", "-i", name))
    for args in (("-w",), ("--align-ts",), ("--stat",)):
        same(w, instances, *args)
    for args in (("-n", "sched", "-r", "sched_switch"), ("-F", "sched: prev_pid != 0 && next_prio > 100", "--ts2secs", "1000000")):
        same(w, "s390x-function-v7.dat", *args)
    for args in (("--cpu", "1"), ("-I", "-S"), ("--nodate", "-R"), ("-n", "sched_.*"), ("-r", "sched_switch"),
                 ("-F", "sched_switch: next_pid == 0", "-F", "irq/softirq_raise"), ("-F", "sched_switch: prev_comm ~ \"s.*\""),
                 ("-v", "-F", "sched"), ("-F", "sched", "-v", "-F", "sched_switch:prev_state==0"), ("-F", ".*:COMM == \"sh\""),
                 ("--stat",)):
        same(w, graph, *args)
    for args in (("-T", "-F", "sched:prev_pid==0"), ("-T", "-F", "sched_switch:bogus==1||common_pid==2"), ("-O", "fgraph:tailprint"),
                 ("-O", "tailprint=1")):
        same(w, graph, *args)
    # trace-cmd's split leaves the statistics out
    p = subprocess.run(["trace-cmd", "split", "-i", "i386-function-v7.dat", "-o", "part.dat"], cwd=w.dir, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    assert p.returncode == 0 and " No stats in this file" in theirs(w, "--stat", "-i", "part.dat.1"), p
    same(w, "part.dat.1", "--stat")
    for args in (("-O", "parent"), ("-O", "function:parent=1", "-O", "offset"), ("-O", "indent=0")):
        same(w, "s390x-function-v7.dat", *args)
    assert any("[" in l and "EVENTS DROPPED]" in l for l in ours(w, "amd64-lost-v7.dat"))
    for args in ((graph, "-i", instances), (instances, "-i", graph, "--ts-offset", "-1000000"), (stack, "-i", host, "-t")):
        assert squeezed(theirs(w, "-N", "-i", *args)) == squeezed(ours(w, "-N", "-i", *args)), args


def test_formats(w):
    """Formats are printed for files of version 6 alone, as by trace-cmd 3.1.6."""
    unpacked(w)
    want = [l for l in theirs(w, "--events", "-i", "amd64-instances-v6.dat") if l]
    got = [l for l in ours(w, "--events", "-i", "amd64-instances-v6.dat") if l]
    assert "system: sched" in want and sorted(want) == sorted(got)
    assert [l for l in ours(w, "--event", "sch:^sched_switch$", "-i", "amd64-graph-v7.dat") if l.startswith("name")] == \
        ["name: sched_switch"]
    assert ours(w, "--check-events", "-i", "amd64-graph-v7.dat") == []


def test_converted(w):
    """A converted file has longs of its input's size, and is little-endian: trace-cmd prints the
    same of both."""
    names = [n for n in unpacked(w) if n.startswith(("i386-", "s390x-")) and "instances" not in n]
    assert len({n[:4] for n in names}) == 2, names
    for name in names:
        w.run("convert", "-q", "--to", "dat", name, "out.dat")
        with open(w.path("out.dat"), "rb") as f:
            head = f.read(14)
        assert head[12:14] == (b"\0\4" if name.startswith("i386-") else b"\0\x08"), head
        want = theirs(w, name)
        assert theirs(w, "out.dat") == want and len(want) > 100, name


def test_converted_buffers(w):
    """All buffers of a file are in version 6 and in version 7, and stock trace-cmd reads and
    converts them as it does the first one."""
    unpacked(w)
    for name in ("amd64-instances-v6.dat", "amd64-instances-v7.dat"):
        want = theirs(w, name)
        assert {"one:", "two:"} <= {line.split()[0] for line in want}
        for to in ("dat6", "dat"):
            said = w.run("convert", "-q", "--to", to, name, "out.dat").stderr
            assert not said, said
            assert theirs(w, "out.dat") == want and ours(w, "out.dat") == want, (name, to)
            w.run("convert", "-q", "--to", "dat", "out.dat", "back.dat")
            assert theirs(w, "back.dat") == want, (name, to)
            for version in ("6", "7"):
                subprocess.run(["trace-cmd", "convert", "-i", "out.dat", "-o", "stock.dat", "--file-version", version], cwd=w.dir,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
                assert theirs(w, "stock.dat") == want, (name, to, version)


def test_stacks_go_with_their_events(w):
    """-F shows the stacks of the events that it shows. trace-cmd shows each of these stacks, and of
    some events that it leaves out."""
    unpacked(w)
    name = "amd64-stack-v7.dat"
    heads = [l for l in ours(w, name) if "[00" in l]
    behind, last = {}, {}      # the event of each stack, by the stack's line
    for line in heads:
        cpu = line[line.index("[00"):][:5]
        if ": kernel_stack:" in line:
            behind[line] = last[cpu]
        else:
            last[cpu] = line
    for args, is_shown in ((("-F", "kmalloc"), lambda l: ": kmalloc:" in l),
                           (("-F", "kmalloc: bytes_req > 4000", "-F", "sched_switch"), lambda l: ": sched_switch:" in l or "bytes_req=4096" in l),
                           (("-v", "-F", "kmalloc"), lambda l: ": kmalloc:" not in l)):
        shown = [l for l in ours(w, *args, name) if "[00" in l]
        assert shown == [l for l in heads if is_shown(behind.get(l, l))] and len(shown) > 10, args
        assert set(shown) <= set(theirs(w, *args, name)), args
    assert {l for l in ours(w, "-F", "kernel_stack", name) if "[00" in l} == set(behind)


def test_refusals(w):
    names = unpacked(w)
    for args, said in ((("-F", "sched_switch:("), b"filter"), (("-F", "nosuch"), b"nosuch"), (("-r", "("), b"regular expression"),
                       (("--cpu", "99"), b"99"), (("-O", "bogus"), b"bogus")):
        p = w.run("report", *args, "-i", names[0], status=1)
        assert said in p.stderr and p.stderr.count(b"\n") == 1, (args, p.stderr)
    # a field that no event has; one that the other event has
    p = w.run("report", "-F", "sched_switch: bogus == 1", "s390x-function-v7.dat", status=1)
    assert b"'sched_switch: bogus == 1' matches nothing" in p.stderr and p.stdout.count(b"\n") <= 1, p
    assert b"sched_wak" in w.run("report", "-F", "sched_.*: target_cpu >= 0", "s390x-function-v7.dat").stdout
    for args in (("--ts-offset", "1"), ("--ts2secs", "x"), ("--format", "x"), ("--format=trace", "-w"), ("--format=trace", "-i", names[1]),
                 ("--format=trace-cmd", "-O", "funcgraph-proc")):
        p = w.run("report", *args, names[0], status=2)
        assert b"--help" in p.stderr, (args, p.stderr)
    # damaged: an error or fewer lines, never a crash
    with open(w.path("s390x-graph-v6.dat"), "rb") as f:
        whole = f.read()
    for at in range(0, len(whole), len(whole) // 20):
        broken = bytearray(whole)
        broken[at:at + 8] = b"\xff" * 8
        with open(w.path("broken.dat"), "wb") as f:
            f.write(broken)
        for words in (("report", "broken.dat"), ("sql", "broken.dat", "SELECT count(*) FROM events")):
            assert w.run(*words, status=None).returncode in (0, 1), (at, words)


main(globals())
