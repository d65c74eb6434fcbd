#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tasks that CPUs ran, where records were lost: of `record -k`, in the kernel's buffer or in
the program's.

A recording without losses is the oracle. Sub-buffers of the kernel's buffer are taken out of a
copy, as if they had been overwritten."""
import collections
import ctypes
import ctypes.util
import json
import re
import struct

from cli_test import Beside, kernel_alone, main
from test_view_kshark import ask, compare

MISSED = 1 << 31     # of a sub-buffer's commit: records are missing before it
PAGE = 4096
LOADED = r"""
#include <unistd.h>
__attribute__((noipa)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void)
{
	int sum = 0;
	for (int i = 0; i < TIMES; i++) { sum += fib(DEEP); usleep(PAUSE); }
	return sum == 0;
}
"""


def zstd(call, data, room, *more):
    z = ctypes.CDLL(ctypes.util.find_library("zstd"))
    f = getattr(z, call)
    f.restype, f.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t] + [ctypes.c_int] * len(more)
    out = ctypes.create_string_buffer(room)
    nr = f(out, room, data, len(data), *more)
    assert nr <= room, (call, nr)
    return out.raw[:nr]


def recorded(w, name, times, deep, pause, *flags):
    prog = w.compile(f"deep{deep}", LOADED.replace("TIMES", str(times)).replace("DEEP", str(deep)).replace("PAUSE", str(pause)))
    with kernel_alone(), Beside(w, "sh", "-c", "while :; do :; done"), Beside(w, "sh", "-c", "while sleep 0.0005; do :; done"):
        w.run("record", "-q", "-k", "-p", "function_graph", *flags, "-e", "sched_switch", "-e", "sched_waking", "-o", name, "--", prog)
    return w.path(name)


def cut(w, path, out):
    """Take each third sub-buffer of the kernel's buffer out, but for the last of a CPU. Return:
    (CPU, number in the CPU's) of those that come behind a gap."""
    text = w.run("dump", "--flyrecord", "-i", path).stdout.decode()
    cpus = re.findall(r"^ +(\d+) (\d+)\t(\d+)", text[text.index('"kernel" [name]'):], re.M)
    with open(path, "rb") as f:
        data = bytearray(f.read())
    behind = []
    for cpu, at, size in ((int(x) for x in row) for row in cpus):
        if not size:
            continue
        (chunks,) = struct.unpack_from("<I", data, at)
        at, nr = at + 4, 0
        for chunk in range(chunks):
            packed, unpacked = struct.unpack_from("<II", data, at)
            pages = bytearray(zstd("ZSTD_decompress", bytes(data[at + 8:at + 8 + packed]), unpacked))
            assert len(pages) == unpacked
            last = unpacked // PAGE - 1
            if last < 2:   # nothing to take out
                at, nr = at + 8 + packed, nr + last + 1
                continue
            for page in range(1, last, 3):
                pages[page * PAGE + 8:(page + 1) * PAGE] = bytes(PAGE - 8)
                (commit,) = struct.unpack_from("<Q", pages, (page + 1) * PAGE + 8)
                struct.pack_into("<Q", pages, (page + 1) * PAGE + 8, commit | MISSED)
                behind.append((cpu, nr + page + 1))
            new = zstd("ZSTD_compress", bytes(pages), packed, 19)
            # what is left of the chunk's place is a frame that is skipped
            room = packed - len(new)
            assert not room or room >= 8, room
            if room:
                new += struct.pack("<II", 0x184d2a50, room - 8) + bytes(room - 8)
            data[at + 8:at + 8 + packed] = new
            at, nr = at + 8 + packed, nr + last + 1
    with open(out, "wb") as f:
        f.write(data)
    return behind


def dropped(w, path):
    """The number of gaps that `report` has."""
    return len(re.findall(r"CPU:\d+ \[.*EVENTS DROPPED\]$", w.run("report", "-i", path).stdout.decode(), re.M))


def rows(w, path):
    """Of each CPU (from, to, tid), in order, with neighbours of one task as one."""
    out = collections.defaultdict(list)
    for r in ask(w, path, "SELECT start, duration, cpu, tid FROM cpus ORDER BY cpu, start"):
        of = out[r["cpu"]]
        if of and of[-1][1] == r["start"] and of[-1][2] == r["tid"]:
            of[-1] = (of[-1][0], r["start"] + r["duration"], r["tid"])
        else:
            of.append((r["start"], r["start"] + r["duration"], r["tid"]))
    return out


def test_gaps_of_the_kernels_buffer(w):
    """Behind a gap a CPU's row has no task of which it is not known that it ran."""
    whole = recorded(w, "whole.dat", 300, 4, 200)
    gaps = cut(w, whole, w.path("cut.dat"))
    assert len(gaps) > 3, gaps
    assert dropped(w, "cut.dat") == len(gaps)
    # the program's calls are all there
    for words in ("profile",), ("graph",), ("replay",):
        said = w.run(*words, "cut.dat").stderr.decode()
        assert said == "vestige: buffer 'kernel': records were lost, how many is not known: its events are too few\n", said
    of_calls, of_all = (json.loads(w.run("profile", "--json", name).stdout) for name in ("cut.dat", "whole.dat"))
    assert of_calls["lost"] == of_all["lost"] == 0 and of_calls["calls"] == of_all["calls"] > 300, (of_calls["lost"], of_all["lost"])
    truth, seen = rows(w, "whole.dat"), rows(w, "cut.dat")
    # Some switches are not reported (test_view_kshark.py). Then another CPU's record may say that
    # the task had left, which the copy may lack.
    switches = {(r["cpu"], r["start"]) for r in ask(w, "whole.dat", "SELECT start, cpu FROM events WHERE name = 'sched:sched_switch'")}
    assert switches
    wrong, nr = [], 0
    for cpu, of in seen.items():
        for begin, end, tid in of:
            nr += 1
            parts = [(max(begin, b), min(end, e)) for b, e, t in truth[cpu] if t == tid and b < end and e > begin]
            ran = sum(e - b for b, e in parts)
            if ran != end - begin and (not parts or parts[0][0] > begin or (cpu, parts[0][1]) in switches):
                wrong.append((cpu, begin, end, tid, parts))
    had = sum(len(of) for of in truth.values())
    assert had / 3 < nr < had, (nr, had)
    assert not wrong, (len(wrong), nr, wrong[:5])


def test_gaps_of_the_programs_buffer(w):
    """The program's buffer was too small: the CPUs' rows are of the kernel's and lack nothing."""
    for _ in range(5):
        path = recorded(w, "k.dat", 60, 18, 5000, "-O", "nooverwrite", "-b", "64")
        assert dropped(w, path) > 3
        assert re.search(rb"^vestige: \d+ records were lost: counts and times are too low$", w.run("profile", path).stderr), path
        assert b"buffer 'kernel'" not in w.run("profile", path).stderr
        bins, boxes = compare(w, "k.dat", True)
        if bins > 100 and boxes > 20:   # on a busy machine a recording has fewer switches
            break
    else:
        raise AssertionError((bins, boxes))


if __name__ == "__main__":
    main(globals())
