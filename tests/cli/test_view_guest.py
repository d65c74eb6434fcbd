#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige view` of a host's and its guest's trace.dat: which thread runs which CPU, and the
guest's times."""
import ctypes
import lzma
import os
import re
import shutil
import struct
import subprocess

from cli_test import main, need
from test_view import server
from test_view_kshark import kshark

DATA = os.path.join(os.environ["SOURCE_DIR"], "tests/data")
CPUSTAT, TRACEID, TIME_SHIFT, GUEST = 2, 11, 12, 13


def option(data, nr, pattern):
    """The offset and the length of an option whose data is so."""
    m = re.search(re.escape(struct.pack("<H", nr)) + b"(..\0\0)" + pattern, data, re.S)
    return m.start(), struct.unpack("<I", m[1])[0]


def files(w, vcpus, name="guest"):
    """A guest's file, and a real host's in which the option GUEST is put in place of a CPUSTAT: no
    recording of a host that we have says which threads run the CPUs."""
    with lzma.open(f"{DATA}/kernels/amd64-host-g1.dat.xz") as f:
        guest = bytearray(f.read())
    # this guest was its host: their clocks differed by the error of the samples. Now by 5 s, and a
    # ms a sample.
    at, _ = option(bytes(guest), TIME_SHIFT, b".{12}" + struct.pack("<I", 2))
    for cpu in range(2):
        assert struct.unpack_from("<I", guest, at + 22 + 52 * cpu) == (2,)
        struct.pack_into("<qq", guest, at + 22 + 52 * cpu + 20, 5_000_000_000, 5_001_000_000)
    guest = bytes(guest)
    at = re.search(re.escape(struct.pack("<HI", TRACEID, 8)) + b"(.{8})", guest, re.S)
    with open(f"{DATA}/kernel-v7.dat", "rb") as f:
        host = bytearray(f.read())
    begin, size = option(bytes(host), CPUSTAT, b"CPU: 0")
    body = at[1] + struct.pack("<I", len(vcpus)) + b"".join(struct.pack("<II", *v) for v in vcpus)
    body = name.encode().ljust(size - len(body) - 1, b"_") + b"\0" + body
    assert len(body) == size
    host[begin:begin + 6 + size] = struct.pack("<HI", GUEST, size) + body
    for path, data in (("host.dat", host), ("guest.dat", guest)):
        with open(w.path(path), "wb") as f:
            f.write(data)
    return bytes(host), guest


class Map(ctypes.Structure):
    """struct kshark_host_guest_map."""
    _fields_ = [("guest_id", ctypes.c_int), ("host_id", ctypes.c_int), ("guest_name", ctypes.c_char_p), ("vcpu_count", ctypes.c_int),
                ("cpu_pid", ctypes.POINTER(ctypes.c_int))]


def as_kernelshark(w):
    """What KernelShark makes its combined plots of."""
    k = kshark()
    context = ctypes.c_void_p()
    assert k.kshark_instance(ctypes.byref(context))
    streams = [k.kshark_open(context, w.path(name).encode()) for name in ("host.dat", "guest.dat")]
    found = ctypes.POINTER(Map)()
    assert k.kshark_tracecmd_get_hostguest_mapping(ctypes.byref(found)) == 1
    m = found[0]
    return streams.index(m.host_id), streams.index(m.guest_id), [[cpu, m.cpu_pid[cpu]] for cpu in range(m.vcpu_count)]


def test_combined(w):
    """The threads are KernelShark's; the guest's times are `trace-cmd report`'s of both files."""
    need("trace-cmd")
    vcpus = [[0, 26346], [1, 2440]]
    files(w, vcpus)
    assert as_kernelshark(w) == (0, 1, vcpus)
    with server(w, "host.dat", "guest.dat") as c:
        info = c.ask("info")
        assert info["hosts"] == [None, [0, vcpus]]
        assert {t["id"] for t in info["tracks"] if t["file"] == 0} >= {26346, 2440}
        entries = c.ask("list", at=0, nr=info["list"])
    ours = sorted(e[0] + int(info["first"]) for e in entries if info["tracks"][e[3]]["file"] == 1)
    text = subprocess.run(["trace-cmd", "report", "-t", "-i", "host.dat", "-i", "guest.dat"], cwd=w.dir, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout.decode()
    theirs = sorted(int(m[1]) * 10**9 + int(m[2]) for m in re.finditer(r"^ *guest\.dat: .*? (\d+)\.(\d{9}): ", text, re.M))
    assert len(ours) == len(theirs) > 50, (len(ours), len(theirs), text[:400])
    # trace-cmd shifts each CPU by its own samples, which were not taken at the same time
    worst = max(abs(a - b) for a, b in zip(ours, theirs))
    print("worst", worst)
    assert worst < 500_000, worst
    with server(w, "guest.dat", "--no-index") as c:
        info = c.ask("info")
        assert info["hosts"] == [None]
        plain = sorted(e[0] + int(info["first"]) for e in c.ask("list", at=0, nr=info["list"]))
    assert len(plain) == len(ours) and min(abs(a - b) for a, b in zip(plain, theirs)) > 4_000_000_000


def test_others(w):
    """A guest without its host, files of no guest, and damaged options."""
    host, guest = files(w, [[0, 26346]])
    shutil.copy(f"{DATA}/kernel-v7.dat", w.path("other.dat"))
    for names in (("other.dat", "guest.dat"), ("host.dat", "other.dat")):
        with server(w, *names) as c:
            assert c.ask("info")["hosts"] == [None, None]
    # counts that the option has no room for
    at = host.index(struct.pack("<IIi", 1, 0, 26346))
    with open(w.path("host.dat"), "wb") as f:
        f.write(host[:at] + struct.pack("<I", 0xffffffff) + host[at + 4:])
    with server(w, "host.dat", "guest.dat") as c:
        assert c.ask("info")["hosts"] == [None, None]
    files(w, [[0, 26346]])
    at, _ = option(guest, TIME_SHIFT, b".{12}" + struct.pack("<I", 2))
    for nr, places in ((0xffffffff, (12, 16)), (0x00ffffff, (12, 16)), (0, (12, 16))):
        for place in places:
            with open(w.path("guest.dat"), "wb") as f:
                f.write(guest[:at + 6 + place] + struct.pack("<I", nr) + guest[at + 10 + place:])
            with server(w, "host.dat", "guest.dat") as c:
                assert c.ask("info")["list"] > 0


if __name__ == "__main__":
    main(globals())
