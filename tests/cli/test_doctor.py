# SPDX-License-Identifier: MIT
"""vestige doctor, and list -f: by which flag of the compiler a function can be traced."""
import os
import subprocess

from cli_test import BIN, FLAG, main

TEXT = """
__attribute__((noipa)) int one(int n) { return n + 1; }
__attribute__((noipa)) int two(int n) { return n + 2; }
int main(int argc, char **argv) { (void)argv; return one(argc) + two(argc) == 5; }
"""
NAMES = ["main", "one", "two"]
# compiled with -pg, but without the start-up code that profiles
UNPROFILED = ["-nostartfiles", "-l:crt1.o", "-l:crti.o", "-l:crtn.o"]


def said(w, flags, *more):
    w.compile("prog", TEXT, "-fpatchable-function-entry=0", *flags)
    names = w.run("list", "-f", "./prog").stdout.decode().split()
    assert sorted(names) == NAMES, names
    return w.run("doctor", *more, "./prog").stdout.decode()


def test_nops(w):
    out = said(w, [FLAG])
    assert "can be traced     3 (" in out and " by -" not in out.split("libc")[0], out


def test_fentry(w):
    out = said(w, ["-pg", "-mfentry", *UNPROFILED])
    assert "    3 by -pg -mfentry\n" in out and "gmon" not in out, out


def test_mcount(w):
    out = said(w, ["-pg", *UNPROFILED])
    assert "    3 by -pg: calls alone, no function_graph" in out and "gmon" not in out, out


def test_profiled(w):
    for flags in ["-pg", "-mfentry"], ["-pg"]:
        out = said(w, flags)
        assert "    3 profile the program" in out and "vestige_status:\nprofiled by gmon" in out, out


def test_cyg(w):
    out = said(w, ["-finstrument-functions"])
    assert "    3 by -finstrument-functions: two calls each" in out, out


def test_the_command_it_names(w):
    """Its last line is one that a shell takes, whatever the program's path is."""
    folder = w.path("it's a $folder")
    os.mkdir(folder)
    w.compile("prog", TEXT, FLAG)
    os.rename(w.path("prog"), f"{folder}/prog")
    line = w.run("doctor", f"{folder}/prog").stdout.decode().splitlines()[-1]
    command = line.partition(": vestige ")[2]
    p = subprocess.run(["sh", "-c", f'"$0" {command}', BIN], cwd=w.dir, env=w.env, stderr=subprocess.PIPE, check=False)
    assert p.returncode in (0, 1) and os.path.exists(w.path("trace.dat")), (line, p)


def test_two_flags(w):
    with open(w.path("other.c"), "w") as f:
        f.write("int other(int n) { return n + 3; }\n")
    w.compile("prog", TEXT + "int other(int); int (*used)(int) = other;\n", "-finstrument-functions",
              "-fpatchable-function-entry=0", "-c")
    subprocess.run(["cc", "-O1", FLAG, "-o", "prog2", "prog", "other.c"], cwd=w.dir, check=True)
    out = w.run("doctor", "./prog2").stdout.decode()
    assert "    1 by -fpatchable-function-entry\n" in out and "    3 by -finstrument-functions" in out, out


def test_nothing(w):
    w.compile("prog", TEXT, "-fpatchable-function-entry=0")
    out = w.run("doctor", "./prog", status=1).stdout.decode()
    assert "can be traced     0" in out and "Nothing can be traced" in out, out


main(globals())
