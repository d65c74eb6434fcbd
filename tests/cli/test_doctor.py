# SPDX-License-Identifier: MIT
"""vestige doctor and list -f say by which compiler flag each function can be traced."""
import json
import os
import resource
import re
import subprocess

from cli_test import BIN, FLAG, main, need, root

TEXT = """
__attribute__((noipa)) int one(int n) { return n + 1; }
__attribute__((noipa)) int two(int n) { return n + 2; }
int main(int argc, char **argv) { (void)argv; return one(argc) + two(argc) == 5; }
"""
WAYS = r"""
#define F(name, text) __asm__(".text\n.p2align 4,0xcc\n.type " name ",@function\n.globl " name "\n" \
	name ": .cfi_startproc\n" text "\n.cfi_endproc\n.size " name ",.-" name "\n");
F("begin", "xorl %ebp,%ebp\nmovl $60,%eax\nsyscall\nhlt")
F("long_one", "movl $1,%eax\nret")
F("moved", "pushq %rbp\nmovq %rsp,%rbp\npushq %rbx\npopq %rbx\npopq %rbp\nret")
F("into", "pushq %rbp\n1: incl %eax\nnop\ndecl %edi\njnz 1b\npopq %rbp\nret")
F("again", "decl %edi\ndecl %edi\nincl %eax\njnz again\nret")
F("vfork", "movl $1,%eax\nret")
F("calls", "pushq %rbp\ncall *%rax\nmovl $1,%eax\npopq %rbp\nret")
F("outer.cold", "ud2\nnop\nnop\nnop\nnop")
__asm__(".p2align 4,0xcc\n.type tiny,@function\n.globl tiny\ntiny: nop\nret\n.size tiny,2\n"
	".type near,@function\n.globl near\nnear: movl $1,%eax\nret\n.size near,6\n.fill 300,1,0x90\nret\n");
F("behind", "movl (%rdi),%eax\n1: incl %eax\nnop\ndecl %edi\njnz 1b\nret")
"""
NAMES = ["main", "one", "two"]
# compiled with -pg, but without the start-up code that profiles
UNPROFILED = ["-nostartfiles", "-l:crt1.o", "-l:crti.o", "-l:crtn.o"]


def said(w, flags, *more):
    w.compile("prog", TEXT, "-fpatchable-function-entry=0", *flags)
    names = w.run("list", "-f", "./prog").stdout.decode().split()
    rows = json.loads(w.run("list", "--json", "-f", "./prog").stdout)
    assert [r["name"] for r in rows] == names and all(r["module"] is r["source"] is None for r in rows), rows
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


def starts_of(path):
    """Where functions, pieces of functions and the linker's stubs begin, by readelf."""
    text = subprocess.run(["readelf", "-W", "--debug-dump=frames", path], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    text = text[text.find(".eh_frame section"):]
    return {int(at, 16) for at, end in re.findall(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", text) if at != end}


def test_unmodified(w):
    """Each function that readelf finds in the system's objects has a way to be traced, or a reason
    against it."""
    for path in "/bin/bash", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib/x86_64-linux-gnu/libc.so.6":
        if not os.path.exists(path):
            continue
        # a stripped copy: all but what is exported goes by its address
        copy = w.path(os.path.basename(path) + ".copy")
        subprocess.run(["strip", "-o", copy, path], check=True)
        out = w.run("doctor", "-o", "-a", copy).stdout.decode()
        reached, functions = map(int, re.search(r"(\d+) of (\d+) functions could be reached", out).groups())
        parts = int((re.search(r"(\d+) pieces", out) or [0, 0])[1])
        starts = starts_of(path)
        # the entry point has none everywhere, and the linker's stubs have up to three
        assert len(starts) - 3 <= functions + parts <= len(starts) + 1, (path, functions, parts, len(starts))
        unnamed = {int(at, 16) for at in re.findall(rf"^    {re.escape(os.path.basename(copy))}\+0x([0-9a-f]+): ", out, re.M)}
        assert unnamed and unnamed <= starts, (path, [hex(at) for at in sorted(unnamed - starts)])
        lines = re.findall(r"^    \S+: (by|not at all)", out, re.M)
        assert len(lines) == functions and lines.count("by") == reached > 0.97 * functions, (path, len(lines), functions)


def test_unmodified_reasons(w):
    """Functions that are made for this test get the expected way, or the expected reason."""
    w.compile("ways", WAYS, "-fpatchable-function-entry=0", "-nostartfiles", "-Wl,-e,begin")
    out = w.run("doctor", "-o", "-a", "./ways").stdout.decode()
    ways = dict(re.findall(r"^    (\w+): (.*)$", out, re.M))
    assert ways["long_one"].startswith("by one store, its first") and ways["moved"].startswith("by moving"), ways
    assert ways["into"] == "not at all, a branch leads among its first instructions", ways
    assert ways["tiny"] == "not at all, another function begins too near", ways
    assert ways["again"] == "not at all, a branch leads back to its start", ways
    assert ways["begin"] == "not at all, where the program begins", ways
    assert ways["vfork"] == "not at all, returns twice", ways
    assert ways["calls"] == "not at all, a call among its first instructions", ways
    assert ways["behind"] == "by one store, through padding", ways
    assert "1 pieces of functions" in out and "outer.cold" not in ways, out


def test_unmodified_not_elf(w):
    with open(w.path("text"), "w", encoding="utf-8") as f:
        f.write("no program")
    p = w.run("doctor", "-o", "./text", status=1)
    assert b"not an ELF file" in p.stderr, p.stderr


def test_the_command_it_names(w):
    """The last line is a command that a shell can run, for any path of the program."""
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


def test_machine_of_a_user(w):
    """Where the user may not look, the remedy is a permission, not another kernel."""
    root()
    need("setpriv")
    os.chmod(w.dir, 0o755)
    # the build folder may be closed to others: the program is passed as a descriptor
    with open(BIN, "rb") as f:
        p = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", f"/proc/self/fd/{f.fileno()}", "doctor",
                            "--json"], pass_fds=[f.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", check=False)
    rows = {r["name"]: r for r in json.loads(p.stdout)["checks"]}
    for name in "tracefs", "kernel profiler", "kernel probes", "FUSE":
        if "Permission denied" in rows[name]["is"]:
            assert "run vestige as root" in rows[name]["remedy"] and "CONFIG_" not in rows[name]["remedy"], rows[name]
    assert "run vestige as root" in rows["privileges"]["remedy"] and "Permission denied" in rows["tracefs"]["is"], rows["tracefs"]


def test_machine(w):
    """Without a program, each row shows a state of the machine and, where tracing is limited, the
    remedy."""
    text = w.run("doctor").stdout.decode()
    rows = json.loads(w.run("doctor", "--json").stdout)["checks"]
    assert {r["name"] for r in rows} >= {"privileges", "ptrace", "perf events", "tracefs", "clock", "room"}, rows
    for r in rows:
        assert f"{'ok  ' if r['ok'] else 'less'} {r['name']}" in text, (r, text)
        assert (r["remedy"] is None) == r["ok"] and (r["ok"] or f"to change it: {r['remedy']}" in text), (r, text)
    by = {r["name"]: r for r in rows}
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        assert by["perf events"]["is"] == f"kernel.perf_event_paranoid = {f.read().strip()}"
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as f:
        assert by["clock"]["is"].endswith(f.read().strip())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    p = subprocess.run([BIN, "doctor", "--json"], env=w.env, stdout=subprocess.PIPE, check=True,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard)))
    assert not {r["name"]: r for r in json.loads(p.stdout)["checks"]}["open files"]["ok"], soft
    p = subprocess.run([BIN, "doctor"], env=dict(w.env, VESTIGE_DIR="/no/such"), stdout=subprocess.PIPE, check=True)
    assert b"less room" in p.stdout
    w.run("doctor", "--all", status=2)
    w.run("doctor", "--json", "-v", "./prog", status=2)


def test_nothing(w):
    w.compile("prog", TEXT, "-fpatchable-function-entry=0")
    # its own functions are of Go: none of them is redirected
    subprocess.run(["objcopy", "--add-section", ".gopclntab=prog.c", "prog"], cwd=w.dir, check=True)
    out = w.run("doctor", "./prog", status=1).stdout.decode()
    assert "can be traced     0" in out and "Nothing can be traced" in out, out
    assert b"nothing was recorded" in w.run("record", "-q", "./prog", status=1).stderr


def test_as_it_is(w):
    """A program without the flag: doctor, list and record agree on its functions."""
    w.compile("prog", TEXT, "-fpatchable-function-entry=0", "-falign-functions=32")
    out = w.run("doctor", "-a", "./prog").stdout.decode()
    n = int(re.search(r"^(\d+) functions can be traced as they are: vestige record -- ./prog$", out, re.M).group(1))
    assert "Nothing can be traced" not in out and f"    {n} by a redirect" in out, out
    names = w.run("list", "-f", "./prog").stdout.decode().split()
    assert len(names) == n and all(f"    {name}\n" in out for name in (*names, *NAMES)), (out, names)
    w.run("record", "-q", "--", "./prog", status=1)
    assert set(NAMES) <= set(w.counts()) <= set(names), w.counts()
    said = json.loads(w.run("doctor", "--json", "./prog").stdout)
    assert (said["functions"], said["without_flag"]) == (n, True), said
    built = w.compile("built", TEXT)
    said = json.loads(w.run("doctor", "--json", built).stdout)
    assert (said["functions"], said["without_flag"]) == (3, False), said
    assert "as they are" not in w.run("doctor", built).stdout.decode()
    with open(w.path("s.sh"), "w", encoding="ascii") as f:
        f.write("#!/bin/sh\ntrue\n")
    os.chmod(w.path("s.sh"), 0o755)
    out = w.run("doctor", "./s.sh", status=1).stdout.decode()
    assert "`vestige record --unmodified` traces /bin/sh as it is" in out, out


main(globals())
