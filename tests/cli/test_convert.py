#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The native form of a recording is complete at once and self-contained, and convert writes all
other forms of it."""
import glob
import os
import re
import signal
import subprocess
import time

from cli_test import BIN, main, stop, until

VIEWS = (["report", "--format=trace"], ["replay"], ["graph"], ["profile"], ["profile", "--callers", "--json"])


def record(w, name, *flags):
    return w.run("record", "-q", "--native", "-p", "function_graph", *flags, "-o", name, "--", w.prog, "calls", 50)


def texts(w, name):
    out = [w.run(*view, name) for view in VIEWS]
    assert all(p.stdout and not p.stderr for p in out), [p.stderr for p in out]
    return [p.stdout for p in out]


def by_trace_cmd(w, name):
    return subprocess.run(["trace-cmd", "report", "-R", "-i", name], cwd=w.dir, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout


def test_native_is_read_by_all(w):
    """The views print the same of it as of the trace.dat. No other file is left."""
    before = set(os.listdir(w.dir))
    record(w, "native")
    assert set(os.listdir(w.dir)) - before == {"native"}
    with open(w.path("native"), "rb") as f:
        assert f.read(8) == b"VESPOOL\0"
    umask = os.umask(0)
    os.umask(umask)
    assert os.stat(w.path("native")).st_mode & 0o777 == 0o666 & ~umask
    w.run("convert", "-q", "native", "of.dat")
    assert texts(w, "native") == texts(w, "of.dat")
    os.unlink(w.path("native"))
    os.unlink(w.path("of.dat"))


def test_statistics(w):
    p = w.run("record", "--stat", "--native", "-o", "native", "--", w.prog, "calls", 50)
    assert b"entries: " in p.stderr and not os.path.exists(w.path("trace.dat")), p.stderr
    os.unlink(w.path("native"))


def test_it_needs_no_object(w):
    """All names are in the file: without the program, the views print the same."""
    prog = w.compile("gone", open(w.path("calls.c")).read())
    w.run("record", "-q", "--native", "-p", "function_graph", "-o", "native", "--", prog, "calls", 50)
    here = texts(w, "native")
    os.unlink(prog)
    assert texts(w, "native") == here
    assert any(b"mid" in text for text in here)
    w.run("convert", "-q", "native", "of.dat")
    assert texts(w, "of.dat") == here
    assert b"mid" in by_trace_cmd(w, "of.dat") or b"funcgraph_entry" in by_trace_cmd(w, "of.dat")
    os.unlink(w.path("native"))
    os.unlink(w.path("of.dat"))


def test_formats(w):
    """Each format can be written, also over the input, and trace-cmd reads input and output
    alike."""
    rows = dict(line.split(maxsplit=1) for line in w.run("convert", "--list").stdout.decode().splitlines())
    assert {"dat", "dat6", "native"} <= set(rows), rows
    record(w, "native")
    here = texts(w, "native")
    for name, version in (("dat", b"7"), ("dat6", b"6")):
        w.run("convert", "-q", "--to", name, "native", f"of.{name}")
        with open(w.path(f"of.{name}"), "rb") as f:
            assert f.read(11)[-1:] == version
        assert texts(w, f"of.{name}") == here
    assert by_trace_cmd(w, "of.dat") == by_trace_cmd(w, "of.dat6") != b""
    w.run("convert", "-q", "--to", "dat", "--no-native", "of.dat6", "of.dat")
    assert by_trace_cmd(w, "of.dat") == by_trace_cmd(w, "of.dat6")
    w.run("convert", "-q", "--to", "native", "native", "again")
    assert texts(w, "again") == here
    w.run("convert", "-q", "again", "of.again")
    assert by_trace_cmd(w, "of.again") == by_trace_cmd(w, "of.dat6")
    said = w.run("convert", "-q", "--to", "native", "of.dat6", "no", status=1).stderr
    assert b"made of an area or a spool" in said and not os.path.exists(w.path("no")), said
    os.unlink(w.path("again"))
    os.unlink(w.path("of.again"))
    w.run("convert", "-q", "native", "native")
    assert by_trace_cmd(w, "native") == by_trace_cmd(w, "of.dat6")
    for name in ("native", "of.dat", "of.dat6"):
        os.unlink(w.path(name))


def test_errors(w):
    record(w, "native")
    assert b"not a format of --list: nosuch" in w.run("convert", "--to", "nosuch", "native", "x", status=2).stderr
    assert b"name the input" in w.run("convert", "native", status=2).stderr
    w.run("convert", "nothing", "x", status=1)
    assert not os.path.exists(w.path("x"))
    os.unlink(w.path("native"))


def test_a_cut_one(w):
    """A file that is cut anywhere is read up to the cut, or refused."""
    record(w, "native")
    size = os.path.getsize(w.path("native"))
    for end in range(size, 0, -max(1, size // 40)):
        os.truncate(w.path("native"), end)
        assert w.run("report", "--format=trace", "native", status=None).returncode in (0, 1), end
    os.unlink(w.path("native"))


def test_a_copy_of_the_native_form(w):
    """It has the end of its original, and none where that has none."""
    record(w, "native.vst")
    w.run("convert", "-q", "native.vst", "a.vst")
    ends = []
    for name in ("native", "a"):
        w.run("convert", "-q", f"{name}.vst", f"{name}.dat")
        ends.append(re.findall(r"^now ts: +([1-9].*)$", w.run("report", "--stat", f"{name}.dat").stdout.decode(), re.M))
        os.unlink(w.path(f"{name}.dat"))
    assert ends[0] == ends[1] != [], ends
    assert not w.run("report", "-q", "a.vst").stderr
    os.truncate(w.path("native.vst"), os.path.getsize(w.path("native.vst")) // 2)
    w.run("convert", "-q", "native.vst", "a.vst")
    assert b"a.vst has no end" in w.run("report", "a.vst").stderr
    for name in ("native.vst", "a.vst"):
        os.unlink(w.path(name))


def test_stamps_are_moved(w):
    """--date and --ts-offset, as at `record`."""
    begin = time.time()
    record(w, "native")
    end = time.time()
    w.run("convert", "-q", "native", "plain.dat")
    w.run("convert", "-q", "--ts-offset", "1000000000", "native", "later.dat")
    w.run("convert", "-q", "--date", "native", "date.dat")
    first = {}
    for name in ("plain.dat", "later.dat", "date.dat"):
        line = subprocess.run(["trace-cmd", "report", "-t", "-i", name], cwd=w.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True).stdout.decode().splitlines()[1]
        first[name] = float(line.split("]")[1].split(":")[0])
        ours = w.run("report", "-t", name).stdout.decode().splitlines()[1]
        assert abs(float(ours.split("]")[1].split(":")[0]) - first[name]) < 1e-8, (name, ours, line)
    assert abs(first["later.dat"] - first["plain.dat"] - 1) < 1e-6, first
    assert begin - .001 <= first["date.dat"] <= end + .001, (begin, first, end)
    assert b"--date goes with" in w.run("convert", "--date", "native", "x.json", status=2).stderr
    for name in ("native", *first):
        os.unlink(w.path(name))


def test_it_ends_by_a_signal(w):
    """Also where the input is a trace.dat, with the native part or without."""
    for flags in ([], ["--no-native"]):
        w.run("record", "-q", "-p", "function_graph", *flags, "-o", "big.dat", "--", w.prog, "calls", 300000)
        for to in ("dat", "dat6", "json"):
            for _ in range(20):     # it may have ended before it is stopped
                p = subprocess.Popen([BIN, "convert", "-q", "--to", "chrome" if to == "json" else to, "big.dat", "out"],
                                     cwd=w.dir, env=w.env, stderr=subprocess.PIPE)
                until(lambda: glob.glob(w.path("out.tmp*")) or p.poll() is not None, step=0)
                if p.poll() is None:
                    stop(p)
                p.send_signal(signal.SIGTERM)
                p.send_signal(signal.SIGCONT)
                said = p.communicate(timeout=100)[1]
                if p.returncode:
                    break
                os.unlink(w.path("out"))
            assert p.returncode == 1 and b"interrupted: out is not written" in said, (to, p.returncode, said)
            assert not glob.glob(w.path("out*")), os.listdir(w.dir)
    os.unlink(w.path("big.dat"))


def test_a_suffix_of_no_format(w):
    """Where the end of OUT's name chooses no format, the format that was taken is named."""
    w.run("record", "-q", "-p", "function_graph", w.prog)
    text = "vestige: x.foo is a trace.dat (the format dat): no format of --list has the suffix .foo; --to chooses one\n"
    assert w.run("convert", "trace.dat", "x.foo").stderr.decode() == text
    assert w.run("replay", "x.foo").stdout == w.run("replay").stdout
    for words in (["-q", "trace.dat", "x.foo"], ["--to", "dat", "trace.dat", "x.foo"], ["trace.dat", "x.dat"], ["trace.dat", "./x"], ["trace.dat", "x.json"]):
        assert "suffix" not in w.run("convert", *words).stderr.decode(), words


main(globals())
