# SPDX-License-Identifier: MIT
"""area - read areas and talk to agents without any code of the project, as an oracle for both.

abi/area.h, abi/page.h, abi/record.h and abi/agent.h define the layouts.
"""
import collections
import contextlib
import ctypes
import errno
import gc
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from compiled import compiled, nm   # noqa: E402
from until import until   # noqa: E402

CLOCK_TSC = 0    # of Area.clock; 1: CLOCK_MONOTONIC
TABLES = "objects functions refused tasks clocks buffers cpus strings status pages".split()
FREE, OWNED, PUBLISHED, TAKING = range(4)
FUNCTION, ENTRY, TAIL, EXIT, UNWOUND, STACK = range(1, 7)
RETURNED = 1 << 27   # in the id of UNWOUND: returned, without an exit record
PRINT, RETURN, EVENT, UNCOMMITTED = 8, 9, 10, 15
Page = collections.namedtuple("Page", "index state seq commit base tid cpu task overrun dropped "
                                      "commit_overrun take_seq records voids")
# of ENTRY_ARGS, EXIT_VALUE and FUNCTION_ARGS the kind without, and a tuple as the payload
Record = collections.namedtuple("Record", "kind stamp id payload")

WITH_ARGS = {11: (ENTRY, 6), 13: (EXIT, 1), 12: (FUNCTION, 7)}
# Millions of records are made and none refers to another.
gc.disable()


def records_of(page, end):
    """The records of a page of @end bytes, and the number of words that are void."""
    words = struct.unpack(f"<{len(page) // 8}Q", page)
    records, voids, at, end = [], 0, 8, end // 8
    new, add = tuple.__new__, records.append
    while at < end:
        word = words[at]
        kind, ident, stamp = word >> 60, word >> 32 & 0xfffffff, word & 0xffffffff
        if ENTRY <= kind <= STACK:
            add(new(Record, (kind, stamp, ident, None)))
            at += 1
        elif kind in (FUNCTION, RETURN):
            add(new(Record, (kind, stamp, ident, words[at + 1])))
            at += 2
        elif word == 0:
            voids += 1
            at += 1
        elif kind in WITH_ARGS:
            kind, nr = WITH_ARGS[kind]
            assert at + nr < len(words), f"arguments at {8 * at} leave the page"
            add(new(Record, (kind, stamp, ident, words[at + 1:at + 1 + nr])))
            at += 1 + nr
        elif kind == EVENT:
            size = ident >> 16
            assert size, "an event of no size"
            add(new(Record, (kind, stamp, ident & 0xffff, page[8 * at + 8:8 * (at + size)])))
            at += size
        elif kind in (PRINT, UNCOMMITTED):
            assert ident and ident % 8 == 0, f"size {ident}"
            if kind == PRINT:
                add(new(Record, (kind, stamp, ident, page[8 * at + 16:8 * at + ident])))
            at += ident // 8
        else:
            raise AssertionError(f"no record begins with {word:#x} at {8 * at}")
    return records, voids


class Area:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read(65536)
            f.seek(0)
            head = struct.unpack_from("<QHHIIIQQ", self.data)
            self.magic, self.major, self.minor, _, _, nr, _, self.pages_offset = head
            assert self.magic == int.from_bytes(b"VESTIGE\0", "little"), path
            self.pid, self.uid, self.start = struct.unpack_from("<iIQ", self.data, 40)
            self.state, self.clock, self.gen, self.nr_cpus, self.on, _, _, self.untraced = \
                struct.unpack_from("<IIQIIIIQ", self.data, 72)
            self.session = self.data[112:176].split(b"\0")[0].decode()
            self.tables = {n: struct.unpack_from("<QIII", self.data, 240 + i * 24)
                           for i, n in enumerate(TABLES[:nr])}
            self.raw = {}
            for name, (offset, size, _, count) in self.tables.items():
                f.seek(offset)
                self.raw[name] = f.read(size * count)
            self.cpus = [struct.unpack_from("<IIII13Q", self.raw["cpus"], i * 128)
                         for i in range(self.tables["cpus"][3])]
            self.pages = list(self._pages(f))

    def _pages(self, f):
        for i in range(self.tables["pages"][3]):
            seq, state = struct.unpack_from("<QI", self.raw["pages"], i * 16)
            if state not in (OWNED, PUBLISHED):
                continue
            f.seek(self.pages_offset + i * 4096)
            page = f.read(4096)
            commit, base, tid, cpu, task, _, over, drop, nest, take = \
                struct.unpack_from("<QQiIIIQQQQ", page)
            try:
                records, voids = records_of(page, min(commit, 4096))
            except (AssertionError, IndexError, struct.error) as e:
                raise AssertionError(f"page {i}: {e}") from e
            yield Page(i, state, seq, commit, base, tid, cpu, task, over, drop, nest, take, records,
                       voids)

    def string(self, offset):
        return self.raw["strings"][offset:].split(b"\0")[0].decode()

    def objects(self):
        for i in range(self.tables["objects"][3]):
            bias, lo, hi = struct.unpack_from("<QQQ", self.raw["objects"], i * 128)
            path, status, _, first, nr = struct.unpack_from("<IIIII", self.raw["objects"], i * 128 + 48)
            unload, = struct.unpack_from("<Q", self.raw["objects"], i * 128 + 120)
            yield {"bias": bias, "lo": lo, "hi": hi, "path": self.string(path), "status": status,
                   "first": first, "nr": nr, "unload": unload}

    def names(self):
        """id -> name, by nm."""
        out = {}
        functions = self.raw["functions"]
        for o in self.objects():
            if not o["nr"]:
                continue
            table = {}
            for words in nm(o["path"]):
                if len(words) == 3 and words[1] in "tTwW":
                    table[int(words[0], 16)] = words[2]
            for i in range(o["first"], o["first"] + o["nr"]):
                _, offset = struct.unpack_from("<II", functions, i * 16)
                out[i] = table.get(offset, hex(offset))
        return out

    def calls(self):
        names = self.names()
        return collections.Counter(names[r.id] for p in self.pages for r in p.records
                                   if r.kind in (FUNCTION, ENTRY, TAIL))

    def graphs(self):
        """For each (thread, stack) its records of the graph in order, and those that fit no open
        call.

        In order of time, as any reader: a handler that interrupts the change of a page has pages of
        its own, which may have been taken before and after that one. Raises AssertionError if an
        exit is not the innermost open call's.
        """
        current, open_calls, out = {}, {}, {}
        records = [(p.base + r.stamp, p.take_seq, i, p, r) for p in self.pages for i, r in enumerate(p.records)]
        for _, _, _, p, r in sorted(records, key=lambda x: x[:3]):
            if r.kind == STACK:
                current[p.tid] = r.id
                continue
            key = (p.tid, current.get(p.tid, 0))
            out.setdefault(key, []).append(r)
            calls = open_calls.setdefault(key, [])
            if r.kind in (ENTRY, TAIL):
                calls.append(r)
            for _ in range(1 if r.kind == EXIT else r.id & ~RETURNED if r.kind == UNWOUND else 0):
                while calls and calls[-1].kind == TAIL:
                    calls.pop()
                assert calls, f"page {p.index}: thread {p.tid} has no open call for {r}"
                top = calls.pop()
                assert r.kind == UNWOUND or top.id == r.id, \
                    f"page {p.index}: thread {p.tid}: {r} is not the end of {top}"
        return out, open_calls

    def nr_records(self):
        return sum(len(p.records) for p in self.pages)

    def losses(self):
        """overrun, dropped_events, commit_overrun of all CPUs."""
        return tuple(sum(c[k] for c in self.cpus) for k in (5, 6, 7))

    def status(self):
        return self.raw["status"].decode()

    def comms(self):
        return {struct.unpack_from("<i", self.raw["tasks"], i)[0]:
                self.raw["tasks"][i + 8:i + 24].split(b"\0")[0].decode()
                for i in range(0, len(self.raw["tasks"]), 64)}


def request(folder, pid, op, path, data=b"", truncate=True, timeout=60):
    """One request to an agent. Return: (result, payload)."""
    name = next(n for n in os.listdir(folder) if n.startswith(f"{pid}.") and n.endswith(".sock"))
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(timeout)
        s.connect(f"{folder}/{name}")
        s.sendall(struct.pack("<IHHII128s", 0x41545356, 1, op, int(truncate), len(data),
                              path.encode()) + data)
        got = b""
        while chunk := s.recv(65536):
            got += chunk
    if len(got) < 16:
        raise ConnectionError("the agent hung up")
    _, _, _, result, size = struct.unpack_from("<IHHiI", got)
    return result, got[16:16 + size]


def read_file(folder, pid, path):
    return request(folder, pid, 1, path)


def write_file(folder, pid, path, text, truncate=True):
    return request(folder, pid, 2, path, text.encode(), truncate)[0]


def wait_until_off(pid):
    """After tracing was turned off: until no thread is amid a record that it began before. Each has
    run for a millisecond, or waits for something."""
    def run_ns(tid):
        with contextlib.suppress(OSError):
            state = open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8", errors="replace").read().rpartition(") ")[2][0]
            run = int(open(f"/proc/{pid}/task/{tid}/schedstat", encoding="utf-8").read().split()[0])
            return float("inf") if state in "SDTZ" else run
        return float("inf")
    begun = {tid: run_ns(tid) for tid in os.listdir(f"/proc/{pid}/task")}
    until(lambda: all(run_ns(tid) >= ns + 1e6 for tid, ns in begun.items() if ns != float("inf")),
          f"a thread of {pid} does not run", 60)


def wait_for_agent(folder, pid, seconds=60):
    def answer():
        with contextlib.suppress(StopIteration, OSError):
            return [read_file(folder, pid, "current_tracer")]
        return None
    return until(answer, lambda: f"no agent of {pid} in {os.listdir(folder)}", seconds)[0]


class Filter(ctypes.Structure):
    _fields_ = [("nr", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def without_unshare():
    """unshare() is refused with EPERM, as in many containers."""
    load, equal, answer, nr, allow = 0x20, 0x15, 0x06, 272, 0x7fff0000
    code = b"".join(struct.pack("<HBBI", *op) for op in (
        (load, 0, 0, 0), (equal, 0, 1, nr), (answer, 0, 0, 0x50000 | errno.EPERM), (answer, 0, 0, allow)))
    libc = ctypes.CDLL(None)
    assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, ctypes.byref(Filter(4, code)), 0, 0)


class Bench:
    """A folder with a built target that can be run traced. Removes what it made."""

    def __init__(self, *sources, flags="-O2 -fpatchable-function-entry=6", cc="gcc", libs=(), also=()):
        self.root = tempfile.mkdtemp(prefix="vestige-fire-")
        self.areas = f"{self.root}/areas"
        os.mkdir(self.areas, 0o700)
        self.source = os.environ["SOURCE_DIR"]
        self.library = os.environ["BUILD_DIR"] + "/libvestige.so"
        self.program = f"{self.root}/target"
        self.children = []
        targets = f"{self.source}/tests/targets"
        include = ["-I" + targets, "-I" + self.source + "/include"]
        for name, source, how in libs:
            compiled([cc, *flags.split(), *include, *how, "-fPIC", "-shared", f"{targets}/{source}"],
                     f"{self.root}/{name}")
        compiled([cc, *flags.split(), *include, *[f"{targets}/{s}" for s in sources], *also,
                  "-lpthread", "-ldl"], self.program)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.children:
            if p.poll() is None:
                p.kill()
            p.wait()
        shutil.rmtree(self.root)

    def env(self, boot="", **more):
        return {**{k: v for k, v in os.environ.items() if not k.startswith("VESTIGE")},
                "LD_PRELOAD": self.library, "VESTIGE_DIR": self.areas, "VESTIGE_BOOT": boot, **more}

    def start(self, *args, boot="ftrace=function", env=None, **more):
        p = subprocess.Popen([self.program, *map(str, args)], env=self.env(boot, **(env or {})),
                             **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True,
                                "stdin": subprocess.DEVNULL, **more})
        self.children.append(p)
        return p

    def run(self, *args, timeout=120, **more):
        p = self.start(*args, **more)
        out, _ = p.communicate(timeout=timeout)
        return p, out

    def area_of(self, pid, instance=""):
        return Area(next(f"{self.areas}/{n}" for n in os.listdir(self.areas)
                         if n.startswith(f"{pid}.") and not n.endswith(".sock") and n.partition("@")[2] == instance))


def static_flags():
    """The flags of a program that has the engine inside it."""
    return " ".join(["-static", os.environ["BUILD_DIR"] + "/libvestige.a", "-Wl,-u,vestige_inside", "-Wl,--wrap=syscall",
                     "-Wl,-u,syscall"])


def has_library(name):
    """Whether the linker finds a shared object of that name."""
    return subprocess.run(["gcc", "-shared", "-o", "/dev/null", f"-l:{name}"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def signal_name(status):
    return signal.Signals(-status).name if status < 0 else str(status)


def set_no_new_uid(uid):
    ctypes.CDLL(None).setresuid(uid, uid, uid)
