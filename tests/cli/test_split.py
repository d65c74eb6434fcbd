#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige split` against stock trace-cmd: the same files, by what trace-cmd report prints of
them."""
import collections
import glob
import lzma
import os
import re
import subprocess

from cli_test import main, need

KERNELS = os.path.join(os.environ["SOURCE_DIR"], "tests", "data", "kernels")


def report(w, name, *flags):
    p = subprocess.run(["trace-cmd", "report", *flags, name], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # what function's plug-in indents depends on the calls before
    return [" ".join(l.split()) for l in p.stdout.decode().splitlines() if not l.startswith("cpus=")]


def recording(w):
    need("trace-cmd")
    w.run("record", "-p", "function", "--no-native", "-o", "t.dat", "-q", "--", w.prog, "threads")
    return "t.dat"


def parts(w, name):
    return [os.path.basename(p) for p in sorted(glob.glob(w.path(name + ".*")))]


def both(w, dat, *flags):
    w.run("split", "-i", dat, "-o", "ours", *flags)
    subprocess.run(["trace-cmd", "split", "-i", dat, "-o", "theirs", *flags], cwd=w.dir, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ours, theirs = ([report(w, p) for p in parts(w, n)] for n in ("ours", "theirs"))
    for p in parts(w, "ours") + parts(w, "theirs"):
        os.unlink(w.path(p))
    return ours, theirs


def test_as_trace_cmd(w):
    dat = recording(w)
    whole = report(w, dat)
    assert len(whole) > 200, len(whole)
    at = [re.search(r" (\d+\.\d+):", l).group(1) for l in report(w, dat, "-t")]
    cpu = str(int(re.search(r"\[(\d+)\]", whole[0]).group(1)))
    for flags in ([], ["-r", "-e", "50"], ["-e", "33"], ["-c", "-e", "20"], ["-C", cpu]):
        ours, theirs = both(w, dat, *flags)
        assert ours == theirs and ours, (flags, [len(p) for p in ours], [len(p) for p in theirs])
    # trace-cmd's may have more: a CPU's first record twice, and one behind the end
    ours, theirs = both(w, dat, at[20], at[150])
    ours, theirs = collections.Counter(ours[0]), collections.Counter(theirs[0])
    assert ours == collections.Counter(whole[20:151]), (ours, whole[20:151])
    assert not ours - theirs and (theirs - ours).total() <= os.cpu_count() + 1, theirs - ours
    ours, _ = both(w, dat, "-r", "-e", "50")
    assert sum(ours, []) == whole and all(len(p) == 50 for p in ours[:-1]) and len(ours) > 4


def test_limits(w):
    dat = recording(w)
    whole = report(w, dat, "-t")
    for flags in (["-u", "50"], ["-p", "1"], ["-m", "1"], ["-s", "1"]):
        w.run("split", "-i", dat, "-r", *flags)
        names = parts(w, "t.dat")
        assert names[0] == "t.dat.0001"
        assert sorted(sum((report(w, n, "-t") for n in names), [])) == sorted(whole), flags
        for n in names:
            lines = report(w, n, "-t")
            ns = [int(float(re.search(r" (\d+\.\d+):", l).group(1)) * 1e9) for l in lines]
            if flags[0] == "-u":
                assert max(ns) - min(ns) <= 50_001, (n, min(ns), max(ns))
            os.unlink(w.path(n))


def test_own_files(w):
    """What vestige reads besides records: names, types, tasks. And a file of version 6."""
    dat = recording(w)
    w.run("record", "-p", "function_graph", "-o", "g.dat", "-q", "--", w.prog, "calls", "40")
    w.run("split", "-i", "g.dat", "-o", "p")
    assert w.run("report", "p.1").stdout == w.run("report", "g.dat").stdout
    assert w.run("replay", "p.1").stdout == w.run("replay", "g.dat").stdout
    w.run("convert", "--to", "dat6", "t.dat", "six.dat")
    w.run("split", "-i", "six.dat")
    assert report(w, "six.dat.1") == report(w, dat)


def test_kernels_files(w):
    """Recordings of kernels: instances are kept, both byte orders, 32 and 64 bit."""
    done = 0
    for path in sorted(glob.glob(KERNELS + "/*.dat.xz")):
        name = w.path(os.path.basename(path).removesuffix(".xz"))
        with (lzma.open(path) if path.endswith(".xz") else open(path, "rb")) as f, open(name, "wb") as to:
            to.write(f.read())
        p = w.run("split", "-i", name, "-o", "p", status=None)
        if p.returncode:
            assert b"latency tracer" in p.stderr or b"no record in this range" in p.stderr, (path, p.stderr)
        else:
            # a time before the first record of a sub-buffer may be there twice: by lines
            assert w.run("report", "p.1").stdout == w.run("report", name).stdout, path
            done += 1
            os.unlink(w.path("p.1"))
        os.unlink(name)
    assert done > 10, done


def instances(w):
    """A kernel's recording with instances, of each version: its name, and its lines by buffer, by
    trace-cmd."""
    for path in sorted(glob.glob(KERNELS + "/*instances-v*.dat*")):
        name = w.path(os.path.basename(path).removesuffix(".xz"))
        with (lzma.open(path) if path.endswith(".xz") else open(path, "rb")) as f, open(name, "wb") as to:
            to.write(f.read())
        lines = collections.defaultdict(list)
        for l in report(w, name):
            buffer, colon, _ = l.partition(": ")
            lines[buffer if colon and re.fullmatch(r"[\w.-]+", buffer) and not l.startswith("CPU") else ""].append(l)
        if len(lines) > 1:
            yield name, lines


def test_some_buffers(w):
    """-B keeps the instances that it names, --top the top buffer: by trace-cmd report of the whole
    and of the part."""
    need("trace-cmd")
    done = 0
    for name, lines in instances(w):
        names = [n for n in lines if n]
        for flags, want in ((["-B", names[0]], names[:1]), (["--top"], [""]), (["--top", "-B", names[-1]], ["", names[-1]]),
                            ([f for n in names for f in ("-B", n)], names)):
            w.run("split", "-i", name, "-o", "p", *flags)
            ours = [l for l in report(w, "p.1") if not l.startswith("CPU ")]
            wanted = [l for n in want for l in lines[n] if not l.startswith("CPU ")]
            # of one buffer alone the lines have no name
            bare = [re.sub(r"^[\w.-]+: ", "", l) if len(want) == 1 else l for l in wanted]
            assert sorted(ours) in (sorted(wanted), sorted(bare)) and ours, (name, flags, len(ours), len(wanted), ours[:3], wanted[:3])
            assert w.run("report", "p.1").stdout
            os.unlink(w.path("p.1"))
            done += 1
        err = w.run("split", "-i", name, "-B", "nosuch", status=1).stderr.decode()
        assert "has no buffer 'nosuch'" in err and err.count("\n") == 1, err
    assert done >= 8, done


def by_buffer(lines):
    """{buffer: its lines without the name and the blanks that align them}."""
    found = collections.defaultdict(list)
    for l in lines:
        m = re.match(r"\s*([\w.-]+): +(?=\S+-\d+ )", l)
        # the lines of a stack have no name
        if re.search(r"-\d+ +\[\d+\]", l):
            found[m[1] if m else ""].append(" ".join((l[m.end():] if m else l).split()))
    return {name: sorted(lines) for name, lines in found.items()}


def test_other_names(w):
    """-t makes an instance the top buffer, --top -b makes the top buffer an instance: by trace-cmd
    report of whole and part."""
    need("trace-cmd")
    done = 0
    for name, lines in instances(w):
        was = by_buffer(l for some in lines.values() for l in some)
        one = next(n for n in lines if n)
        for flags, want in ((["-B", one, "-t"], {"": was[one]}),
                            (["--top", "-b", "old", "-B", one, "-t"], {"old": was[""], "": was[one]}),
                            (["--top", "-b", "old", "-B", one], {"old": was[""], one: was[one]})):
            w.run("split", "-i", name, "-o", "p", *flags)
            ours = by_buffer(report(w, "p.1"))
            assert ours == want, (name, flags, {n: len(l) for n, l in ours.items()}, {n: len(l) for n, l in want.items()})
            assert by_buffer(w.run("report", "p.1").stdout.decode().splitlines()[1:]) == want
            os.unlink(w.path("p.1"))
            done += 1
        w.run("split", "-i", name, "-o", "p", "--top", "-b", "old")
        assert sum(map(len, by_buffer(report(w, "p.1")).values())) == len(was[""])
        for flags, status, why in ((["-t"], 2, "after its -B"), (["-b", "x"], 2, "behind --top"),
                                   (["--top", "-B", one, "-t"], 1, "give the present one a name with -b"),
                                   (["--top", "-b", one, "-B", one], 1, f"would have the name '{one}'"),
                                   (["--top", "-b", ""], 2, "wants a value")):
            err = w.run("split", "-i", name, *flags, status=status).stderr.decode()
            assert why in err and err.count("\n") == 1, err
    assert done >= 6, done


def test_errors(w):
    dat = recording(w)
    for words, status, why in ((["-i", "nosuch"], 1, "nosuch"), (["-r"], 2, "-r repeats a limit"), (["-e", "1", "-s", "1"], 2, "at a time"),
                               (["-e", "0"], 2, "not a number"), (["x"], 2, "not a time in seconds: x"), (["1", "y"], 2, "seconds: y"),
                               (["1", "2", "3"], 2, "enough"), (["-i", dat, "99999999"], 1, "no record in this range"),
                               (["-i", dat, "-C", "4000"], 1, "no record in this range"), (["-C", "-1"], 2, "not a CPU"),
                               (["-i", dat, "-o", "no/such"], 1, "no/such")):
        err = w.run("split", *words, status=status).stderr.decode()
        assert why in err and err.count("\n") == 1, (words, err)
    with open(w.path(dat), "rb") as f:
        whole = f.read()
    for n in (100, 5000, len(whole) // 2, len(whole) - 10):
        with open(w.path("cut.dat"), "wb") as f:
            f.write(whole[:n])
        assert w.run("split", "-i", "cut.dat", "-o", "cut", status=None).returncode in (0, 1)
        for p in parts(w, "cut"):
            if p != "cut.dat":
                os.unlink(w.path(p))


main(globals())
