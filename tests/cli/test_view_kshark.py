#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The context switches that `vestige view` draws, compared with libkshark: KernelShark without its
windows.

KernelShark's model sorts the entries into bins. A CPU's bin has the task of its last entry; a
sched_switch counts for the task that comes, as KernelShark's plug-in for sched events has it. A
task's hollow green box is from sched_waking (or sched_wakeup) to the sched_switch that brings it, a
hollow red one from a sched_switch that leaves it runnable to the next that brings it."""
import bisect
import collections
import contextlib
import ctypes
import ctypes.util
import json
import lzma
import os
import shutil

from cli_test import Beside, Skip, kernel_alone, main

DATA = os.path.join(os.environ["SOURCE_DIR"], "tests/data")
BINS = 700
RUNNABLE = 0xff  # of prev_state: none of these bits (sched_switch's print format)


class Entry(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("visible", ctypes.c_uint16), ("stream_id", ctypes.c_int16), ("event_id", ctypes.c_int16),
                ("cpu", ctypes.c_int16), ("pid", ctypes.c_int32), ("offset", ctypes.c_int64), ("ts", ctypes.c_int64)]


class Histo(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("data_size", ctypes.c_size_t), ("map", ctypes.c_void_p), ("bin_count", ctypes.c_void_p),
                ("tot_count", ctypes.c_int), ("min", ctypes.c_int64), ("max", ctypes.c_int64), ("bin_size", ctypes.c_int64),
                ("n_bins", ctypes.c_int)]


def kshark():
    name = ctypes.util.find_library("kshark")
    if not name:
        raise Skip("no libkshark")
    k = ctypes.CDLL(name)
    pointer, entries = ctypes.POINTER(Entry), ctypes.POINTER(ctypes.POINTER(Entry))
    k.kshark_load_entries.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(entries)]
    k.kshark_load_entries.restype = ctypes.c_ssize_t
    k.kshark_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    k.kshark_tep_init_all_buffers.argtypes = [ctypes.c_void_p, ctypes.c_int]
    k.kshark_get_event_name.argtypes = [pointer]
    k.kshark_get_event_name.restype = ctypes.c_void_p
    k.kshark_read_event_field_int.argtypes = [pointer, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)]
    k.ksmodel_set_bining.argtypes = [ctypes.POINTER(Histo), ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64]
    k.ksmodel_fill.argtypes = [ctypes.POINTER(Histo), entries, ctypes.c_size_t]
    k.ksmodel_get_pid_back.argtypes = [ctypes.POINTER(Histo), ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_bool, ctypes.c_void_p,
                                       ctypes.POINTER(ctypes.c_ssize_t)]
    return k


class Recording:
    """A file in libkshark, or its second buffer."""

    def __init__(self, path, second_buffer=False):
        self.k = k = kshark()
        context = ctypes.c_void_p()
        assert k.kshark_instance(ctypes.byref(context))
        self.sd = k.kshark_open(context, path.encode())
        assert self.sd >= 0, path
        if second_buffer:
            assert k.kshark_tep_init_all_buffers(context, self.sd) == 1  # how many there are
            self.sd += 1
        self.rows = ctypes.POINTER(ctypes.POINTER(Entry))()
        self.nr = k.kshark_load_entries(context, self.sd, ctypes.byref(self.rows))
        assert self.nr > 0, (path, self.nr)
        self.entries = [self.rows[i] for i in range(self.nr)]
        self.names = {}
        self.events = []  # (ts, cpu, name, fields) of the switches and wakeups
        for e in self.entries:
            name = self.name(e)
            if name == "sched/sched_switch":
                fields = [self.field(e, f) for f in ("prev_pid", "prev_state", "next_pid")]
                e.contents.pid = fields[2]
            elif name in ("sched/sched_waking", "sched/sched_wakeup", "sched/sched_wakeup_new"):
                fields = [self.field(e, "pid")]
            else:
                continue
            self.events.append((e.contents.ts, e.contents.cpu, name, fields))

    def name(self, e):
        nr = e.contents.event_id
        if nr not in self.names:
            self.names[nr] = ctypes.string_at(self.k.kshark_get_event_name(e)).decode()
        return self.names[nr]

    def field(self, e, name):
        value = ctypes.c_int64()
        assert self.k.kshark_read_event_field_int(e, name.encode(), ctypes.byref(value)) == 0, name
        return value.value

    def bins(self):
        """Of each CPU, for the bins that have entries of it: (time of the last one, its task)."""
        histo = Histo()
        self.k.ksmodel_init(ctypes.byref(histo))
        first, last = self.entries[0].contents.ts, self.entries[-1].contents.ts
        self.k.ksmodel_set_bining(ctypes.byref(histo), BINS, first, last)
        self.k.ksmodel_fill(ctypes.byref(histo), self.rows, self.nr)
        out = collections.defaultdict(list)
        for cpu in {e.contents.cpu for e in self.entries}:
            for i in range(histo.n_bins):
                at = ctypes.c_ssize_t(-1)
                pid = self.k.ksmodel_get_pid_back(ctypes.byref(histo), i, self.sd, cpu, False, None, ctypes.byref(at))
                if pid >= 0:
                    out[cpu].append((self.entries[at.value].contents.ts, pid))
        self.k.ksmodel_clear(ctypes.byref(histo))
        return out

    def boxes(self):
        """The hollow boxes of tasks: (task, colour, from, to)."""
        out, open_ = set(), {}
        on = {}  # CPU: the task there
        for ts, cpu, name, fields in self.events:
            if name != "sched/sched_switch":
                # a wakeup of a task that is on a CPU, or is woken or preempted, begins nothing
                if fields[0] not in open_ and fields[0] not in on.values():
                    open_[fields[0]] = ("woken", ts)
                continue
            prev, state, next_ = fields
            if next_ in open_:
                colour, begun = open_.pop(next_)
                if ts > begun:
                    out.add((next_, colour, begun, ts))
            on[cpu] = next_
            if not state & RUNNABLE and prev:
                open_[prev] = ("preempted", ts)
            else:
                open_.pop(prev, None)
        return {b for b in out if b[0]}


def ask(w, path, query):
    return json.loads(w.run("sql", "--json", "--max-rows", "1000000", "-i", path, query).stdout)


def compare(w, path, second_buffer=False):
    """The number of bins and of boxes that were compared."""
    theirs = Recording(w.path(path), second_buffer)
    rows = collections.defaultdict(list)
    for r in ask(w, path, "SELECT start, duration, cpu, tid FROM cpus"):
        rows[r["cpu"]].append((r["start"], r["start"] + r["duration"], r["tid"]))
    # behind it there are the marks that compare the clocks of kernel and program, which we leave
    # out
    end = ask(w, path, "SELECT max(start) AS t FROM events")[0]["t"]
    nr = 0
    for cpu, bins in theirs.bins().items():
        switches = [(ts, *fields) for ts, at, name, fields in theirs.events if at == cpu and name == "sched/sched_switch"]
        for ts, pid in bins:
            # before a CPU's first switch only its events say what runs there, and at the end no
            # time is left
            if not switches or ts < switches[0][0] or ts >= end:
                continue
            # the rest of the kernel's functions that switch: they still count for the task that has
            # left
            last = switches[bisect.bisect_right(switches, (ts, 1 << 62)) - 1]
            of = [(begin, tid) for begin, end, tid in rows[cpu] if begin <= ts < end]
            # a task that has come back by a switch that is not reported, see below: since its first
            # event
            if pid == last[1] and [tid for _, tid in of] == [pid]:
                assert of[0][0] in {e.contents.ts for e in theirs.entries if e.contents.cpu == cpu and e.contents.ts > last[0]}, of
            elif pid == last[1]:
                pid = last[3]
            assert [tid for _, tid in of] == ([pid] if pid else []), (path, cpu, ts, pid, of, last)
            nr += 1
    boxes = theirs.boxes()
    ours = {(r["tid"], r["state"], r["start"], r["start"] + r["duration"])
            for r in ask(w, path, "SELECT start, duration, state, tid FROM states WHERE state IN ('woken', 'preempted')")}
    # of a program's recording we have the states of its threads alone
    traced = {r["tid"] for r in ask(w, path, "SELECT DISTINCT tid FROM states")}
    boxes = {b for b in boxes if b[3] < end and (not second_buffer or b[0] in traced)}
    ours = {b for b in ours if b[3] < end}
    assert boxes <= ours, (path, sorted(boxes - ours, key=lambda b: b[2])[:6])
    # Some switches from the idle task and from kernel threads are not reported. KernelShark has no
    # box then; ours ends where the task has its first event, and a task that was left at a CPU by
    # such a switch can be woken.
    for pid, colour, begin, end in sorted(ours - boxes):
        begins = {ts for ts, _, name, fields in theirs.events if fields[0] == pid}
        ends = {ts for ts, _, name, fields in theirs.events if name == "sched/sched_switch" and fields[2] == pid}
        own = [e.contents.ts for e in theirs.entries if e.contents.pid == pid and theirs.name(e) != "sched/sched_switch"]
        own += [ts for ts, _, name, fields in theirs.events if name == "sched/sched_switch" and fields[0] == pid]
        assert begin in begins and (end in ends or end == min((ts for ts in own if ts > begin), default=0)), \
            (path, pid, colour, begin, end)
    return nr, len(boxes)


def test_recordings_of_kernels(w):
    """Recordings of real kernels, of a 32 bit and of a big-endian machine, too."""
    colours = 0
    for name in ("kernel-v7.dat", "kernels/amd64-graph-v7.dat.xz", "kernels/i386-function-v7.dat.xz", "kernels/amd64-instances-v7.dat.xz",
                 "kernels/amd64-stack-v7.dat.xz", "kernels/amd64-tsc2nsec-v7.dat.xz", "kernels/s390x-graph-v6.dat.xz",
                 "kernels/s390x-function-v7.dat.xz"):
        if name.endswith(".xz"):
            with lzma.open(os.path.join(DATA, name)) as f, open(w.path("k.dat"), "wb") as to:
                shutil.copyfileobj(f, to)
        else:
            shutil.copy(os.path.join(DATA, name), w.path("k.dat"))
        bins, boxes = compare(w, "k.dat")
        print(name, bins, boxes)
        assert bins > 10, name
        colours += boxes
    assert colours > 100


LOADED = r"""
#include <unistd.h>
__attribute__((noipa)) void work(int n) { for (volatile int i = 0; i < n; i++) ; }
int main(void)
{
	for (int i = 0; i < 200; i++) { work(20000); usleep(200); }
}
"""


def test_kernel_and_program(w):
    """`record -k` has the kernel's switches of all tasks: the CPUs' rows have all of them. Of
    switches of the program's threads alone (-F) the rows have these alone."""
    prog = w.compile("loaded", LOADED)
    with kernel_alone(), contextlib.ExitStack() as stack:
        # no CPU is idle: switches from the idle task may not be reported
        busy = [stack.enter_context(Beside(w, "sh", "-c", "while :; do :; done")) for _ in range(os.cpu_count())]
        for flags in ([], ["-F"]):
            w.run("record", "-q", "-k", *flags, "-e", "sched_switch", "-e", "sched_waking", "-o", f"k{len(flags)}.dat", "--", prog)
        pids = {b.pid for b in busy}
    bins, boxes = compare(w, "k0.dat", True)
    assert bins > 100 and boxes > 100, (bins, boxes)
    tasks = {r["tid"] for r in ask(w, "k0.dat", "SELECT DISTINCT tid FROM cpus")}
    assert pids <= tasks, (pids, tasks)
    # what was recorded is above the other processes, of which there are events alone
    tracks = [(t["kind"] not in ("events", "cpu", "cpu-events"), t["pid"] or t["id"]) for t in ask(w, "k0.dat", "SELECT kind, id, pid FROM tracks")]
    ours = {process for has, process in tracks if has}
    order = [process in ours for has, process in tracks if process and process not in range(os.cpu_count())]
    assert order.index(False) == sum(order) and len(ours) == 1, tracks
    alone = {(r["tid"], r["name"]) for r in ask(w, "k1.dat", "SELECT DISTINCT tid, name FROM cpus")}
    assert {name for _, name in alone} <= {"loaded", "vestige"} and len({tid for tid, _ in alone}) == 1, alone


if __name__ == "__main__":
    main(globals())
