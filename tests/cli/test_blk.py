#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige blk parse and times print the text of stock blkparse and btt, for recordings of other
machines and, where the tools are installed, of this one. Hostile files do no harm."""
import lzma
import os
import re
import shutil
import struct
import subprocess
import tarfile

from cli_test import BIN, main, need

DATA = os.environ["SOURCE_DIR"] + "/tests/data/blk"
ENV = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
FMT = "%D %2c %8s %5T.%9t %5p %2a %3d %C|%S+%n=%N %M,%m e%e P%P z%z\\n"
RECORDINGS = {"amd64-mixed": ["mixed"], "amd64-bfq": ["bfq"], "amd64-two": ["sda", "nullb0"], "amd64-bad": ["bad"], "s390x-fs": ["fs"]}


def folder(w, name):
    path = os.path.join(w.dir, name)
    if not os.path.isdir(path):
        with tarfile.open(f"{DATA}/{name}.tar.xz") as tar:
            tar.extractall(w.dir)
    return path


def text(path, name):
    with lzma.open(f"{path}/{name}.txt.xz", "rt") as f:
        return f.read()


def run(path, *args, ok=True, stdin=None):
    p = subprocess.run([BIN, "blk", *args], cwd=path, env=ENV, capture_output=True, text=True, stdin=stdin, timeout=60)
    assert (p.returncode == 0) == ok, (args, p.returncode, p.stdout[-300:], p.stderr)
    return p.stdout if ok else p.stderr


def without_stray(lines):
    """Mask lines in which blkparse prints uninitialized memory: the time of an issue whose request
    was not inserted."""
    out, inserted = [], set()
    for line in lines.splitlines():
        m = re.match(r"([ \d]+,\d+) +\d+ +\d+ +[\d.]+ +\d+ +([A-Z]+) +[A-Z]+ (\d+ \+)?", line)
        if m and m[2] == "I":
            inserted.add((m[1], m[3]))
        elif m and m[2] == "D":
            if (m[1], m[3]) not in inserted:
                line = re.sub(r"\( *\d+\)", "(X)", line)
            inserted.discard((m[1], m[3]))
        out.append(line)
    return "\n".join(out)


def same(got, expected, what):
    if got == expected:
        return
    a, b = got.splitlines(), expected.splitlines()
    for i, (x, y) in enumerate(zip(a, b)):
        assert x == y, f"{what}, line {i + 1}:\n  ours  {x}\n  stock {y}"
    raise AssertionError(f"{what}: {len(a)} lines, stock has {len(b)}")


def test_parse_as_blkparse(w):
    for name, bases in RECORDINGS.items():
        path = folder(w, name)
        inputs = [x for b in bases for x in ("-i", b)]
        for file, args in (("blkparse", []), ("blkparse-s", ["-s"]), ("blkparse-t", ["-q", "-t"]),
                           ("blkparse-F", ["-q", "-t", "-F", "Q,Q %S %n\\n", "-F", "U,U %U\\n", "-F", "C,C %S %e\\n"]),
                           ("blkparse-f", ["-q", "-t", "-f", FMT]), ("blkparse-w", ["-q", "-w", "0.02:0.2"]),
                           ("blkparse-a-write-fs", ["-q", "-a", "write", "-a", "fs"])):
            got, expected = run(path, "parse", *inputs, *args), text(path, file)
            if "-t" in args:
                got, expected = without_stray(got), without_stray(expected)
            if file == "blkparse-f":     # the time of day: stock prints the start's, not the first record's
                got, expected = (re.sub(" z[0-9:.]*", "", t) for t in (got, expected))
            same(got, expected, f"{name} {file}")


def test_times_as_btt(w):
    for name, bases in RECORDINGS.items():
        path = folder(w, name)
        same(run(path, "times", *bases), text(path, "btt"), f"{name} btt")
        same(run(path, "times", "-A", *bases), text(path, "btt-A"), f"{name} btt -A")


def test_merged_file(w):
    """-d writes blkparse's file, byte for byte, and both commands read it."""
    path = folder(w, "amd64-mixed")
    run(path, "parse", "-O", "-d", "ours.bin", "mixed")
    with open(f"{path}/ours.bin", "rb") as f, lzma.open(f"{path}/merged.bin.xz") as g:
        assert f.read() == g.read()
    same(run(path, "times", "ours.bin"), text(path, "btt"), "btt of the merged file")
    with open(f"{path}/ours.bin", "rb") as f:
        lines = run(path, "parse", "-q", "-", stdin=f)
    assert len(lines.splitlines()) == 1315, len(lines.splitlines())
    assert lines.splitlines()[0] == text(path, "blkparse").splitlines()[0]


def test_empty_flush(w):
    """Steps of a flush without data count neither as steps nor as time of the device; a requeue is
    time. btt says the same."""
    def request(ms, acts, **more):
        return [record(time=(ms + i) * 10**6, action=ACTIONS[a] | 2 << 16, **more) for i, a in enumerate(acts)]
    for act, percent in (("Q", 20), ("G", 20), ("I", 20), ("D", 20), ("C", 20), ("M", 20), ("F", 20), ("S", 20), ("R", 10)):
        path = w.path(f"{act}.bin")
        with open(path, "wb") as f:
            f.write(b"".join([*request(0, "QG"), record(time=2 * 10**6, action=ACTIONS["P"], bytes=0), *request(3, "I"),
                              record(time=5 * 10**6, action=ACTIONS["U"], bytes=0, pdu=struct.pack(">Q", 1)), *request(6, "D"), *request(10, "C"),
                              *request(11, "QGIDC", sector=16), *request(30, act, sector=0, bytes=0)]))
        out = run(w.dir, "times", "-A", path)
        assert re.search(r"% Time Q Plugged\n.*\n.*\| +([\d.]+)%", out)[1] == f"{percent}.000000000", (act, out)
        if shutil.which("btt"):
            stock = subprocess.run(["btt", "-A", "-i", path], cwd=w.dir, env=ENV, capture_output=True, text=True, timeout=60).stdout
            same(out, stock, f"btt with an empty {act}")


def test_messages(w):
    path = folder(w, "amd64-mixed")
    lines = run(path, "parse", "-q", "-m", "mixed").splitlines()
    found = [x for x in lines if "  m   N " in x]
    assert len(found) == 1 and found[0].endswith("a message from user space"), found


def test_stock_tools_read_ours(w):
    """btt of this machine prints the same of our merged file as of its own."""
    need("btt")
    need("blkparse")
    path = folder(w, "s390x-fs")
    run(path, "parse", "-O", "-d", "ours.bin", "fs")
    out = subprocess.run(["btt", "-A", "-i", "ours.bin"], cwd=path, env=ENV, capture_output=True, text=True, timeout=60).stdout
    same(out, text(path, "btt-A"), "btt of ours")
    for args in (["-s", "-h"], ["-A", "40"], ["-a", "complete", "-f", "%-12C|%5S|%T.%3t|%%\\n"]):
        stock = subprocess.run(["blkparse", "-i", "fs", *args], cwd=path, env=ENV, capture_output=True, text=True, timeout=60)
        same(run(path, "parse", "fs", *args), stock.stdout + stock.stderr, f"blkparse {args}")


ACTIONS = {"Q": 1, "M": 2, "F": 3, "G": 4, "S": 5, "R": 6, "D": 7, "C": 8, "P": 9, "U": 10, "I": 12}


def record(**fields):
    v = {"magic": 0x65617407, "seq": 1, "time": 1, "sector": 8, "bytes": 512, "action": 0x01110001, "pid": 1, "dev": 8 << 20,
         "cpu": 0, "error": 0, "pdu": b"", **fields}
    n = v.get("pdu_bytes", len(v["pdu"]))
    return struct.pack("<IIQQIIIIIHH", v["magic"], v["seq"], v["time"], v["sector"], v["bytes"], v["action"], v["pid"], v["dev"],
                       v["cpu"], v["error"], n) + v["pdu"]


def test_hostile_files(w):
    good = record()
    for name, data, lines, said in (
            ("cut", good + good[:20], 1, "the last record is cut"), ("pdu", good + record(pdu_bytes=500), 1, "payload of the last"),
            ("magic", good + b"x" * 48, 1, "no record of blktrace at byte 48"), ("version", record(magic=0x65617409), 0, "version 9"),
            ("cpu", good + record(cpu=7), 1, "of CPU 7 in the file of CPU 0"), ("remap", record(action=0x0111000f), 1, ""),
            ("unplug", record(action=0x0100000a, pdu=b"abc"), 1, ""), ("action", record(action=0x01110077), 0, "number 119")):
        with open(f"{w.dir}/{name}.blktrace.0", "wb") as f:
            f.write(data)
        p = subprocess.run([BIN, "blk", "parse", "-q", name], cwd=w.dir, capture_output=True, text=True, timeout=60)
        shown = [x for x in p.stdout.splitlines() if "Input file" not in x]
        assert p.returncode == 0 and len(shown) == lines and said in p.stderr, (name, p)
        run(w.dir, "times", "-A", name)
    with open(f"{w.dir}/wild", "wb") as f:
        f.write(record(cpu=0xfffffff0))
    assert "CPU 4294967280" in run(w.dir, "parse", "wild", ok=False)


def test_errors(w):
    assert "there is no nothing.blktrace.0" in run(w.dir, "parse", "nothing", ok=False)
    assert "is a folder" in run(w.dir, "times", w.dir, ok=False)
    assert "did you mean parse" in run(w.dir, "prase", ok=False)
    for args, said in ((["-a", "wirte"], "not an action"), (["-F", "Q%S"], "not an action's letter"), (["-w", "2:1"], "not after"),
                       (["-f", "\\x"], "there are"), (["-A", "zz"], "hexadecimal"), ([], "name a recording")):
        p = subprocess.run([BIN, "blk", "parse", *args, *(["x"] if args else [])], cwd=w.dir, capture_output=True, text=True, timeout=60)
        assert p.returncode == 2 and said in p.stderr, (args, p)


main(globals())
