#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The table of commands, list and doctor."""
import os
import re
import subprocess

from cli_test import BIN, CALLS, main, nm

SOURCE = os.environ["SOURCE_DIR"]
NAMES = ["first", "last", "leaf", "mid", "thread", "main"]


def test_help_and_version(w):
    assert b"record" in w.run("--help").stdout and w.run("--help").stderr == b""
    assert re.match(rb"vestige \d+\.\d+", w.run("--version").stdout)
    assert w.run("-V").stdout == w.run("--version").stdout == w.run("version").stdout
    assert w.run("help", "help").stdout == w.run("help").stdout == w.run("--help").stdout
    for flag in "--help", "-h":
        assert w.run("help", flag).stdout == w.run("help").stdout
    for flag in "--version", "-V":
        assert w.run("help", flag).stdout == w.run("--version").stdout
    for name in ("record", "report", "profile", "list", "doctor"):
        one, two = w.run("help", name).stdout, w.run(name, "--help").stdout
        assert one == two and one.startswith(b"usage: vestige " + name.encode()), one


def test_help_has_groups(w):
    """Each command is below one heading, in 80 columns; vestige(1) has the same headings and
    order."""
    text = w.run("help").stdout.decode()
    assert all(len(line) <= 80 for line in text.splitlines()), text
    groups = [(title, re.findall(r"^  ([\w-]+) ", rows, re.M)) for title, rows in re.findall(r"^(\w.*):\n((?:  .*\n)+)", text, re.M)]
    assert len(groups) > 5 and sum(len(names) for _, names in groups) == len(COMMANDS), groups
    with open(f"{SOURCE}/docs/man/vestige.1") as f:
        page = re.findall(r"^\.Ss (.*)\n\.Bl .*\n((?:(?!\.El).*\n)*)", f.read(), re.M)
    assert [(t, re.findall(r"[\w-]+", " ".join(re.findall(r"^\.It Cm (.*)", items, re.M)))) for t, items in page] == groups


COMMANDS = ("record report replay graph profile sched list doctor flags start stop show extract reset get hang set ls run mount umount "
            "enter convert recover crash clean bootgraph leaks stacks clear restart snapshot stack attach detach stat view tui sql "
            "dump options check-events top blk listen split mem hist dot sqlhist stream atrace kd kft restore script "
            "share").split()


def test_help_of_each(w):
    """Each command's help has 80 columns, and each of its flags is in the man page."""
    assert sorted(COMMANDS) == sorted(re.findall(r"^  ([\w-]+) ", w.run("help").stdout.decode(), re.M))
    for name in COMMANDS:
        text = w.run("help", name).stdout.decode()
        assert text.startswith(f"usage: vestige {name}") and text.endswith("\n"), text
        assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines()), text
        with open(f"{SOURCE}/docs/man/vestige-{ {'umount': 'mount', 'restart': 'stop'}.get(name, name)}.1") as f:
            page = f.read().replace("Fl Fl ", "Fl -")
        for flags in re.findall(r"^  (-.*|    --.*?)(?:  |$)", text, re.M):
            for flag in re.findall(r"(?<!\S)-+(\w[\w-]*)", flags):
                assert flag in ("h", "help") or re.search(rf"\bFl -*{flag}\b", page), (name, flag)


def test_unknown_flags(w):
    """All commands refuse an unknown flag in one wording, with a suggestion."""
    for name in COMMANDS:
        p = w.run(name, "--nosuch", status=125 if name in ("record", "leaks", "kft") else 2)
        assert p.stderr.decode() == f"vestige: {name}: there is no flag --nosuch (see vestige {name} --help)\n", p.stderr
    for words, meant in ((["replay", "--demangel", "full"], "--demangle"), (["record", "--no-nativ2", "x"], "--no-native"),
                         (["clean", "--dry-rnu"], "--dry-run"), (["replay", "--hlep"], "--help")):
        err = w.run(*words, status=None).stderr.decode()
        assert f"did you mean {meant}?" in err, err
    for name in COMMANDS:
        if "--version " not in w.run(name, "--help").stdout.decode():
            err = w.run(name, "--version", status=None).stderr.decode()
            assert err == f"vestige: {name}: there is no flag --version: `vestige --version` prints it (see vestige {name} --help)\n", err
    assert "`vestige --version` prints it" in w.run("top", "-V", status=2).stderr.decode()
    assert "did you mean --version?" in w.run("--versoin", status=2).stderr.decode()
    assert "-P: not a process id: x" in w.run("get", "-P", "x", "trace", status=2).stderr.decode()
    assert "--tid wants a value: LIST" in w.run("replay", "--tid", status=2).stderr.decode()


def test_empty_values(w):
    """All commands refuse a flag's empty value as they refuse a missing one."""
    found = 0
    for name in COMMANDS:
        text = w.run(name, "--help").stdout.decode()
        for letter, long, value in re.findall(r"^  (-\w)?(?:, |    )?(--[\w-]+)? ([A-Z][A-Z.:,|/=-]*)(?:$|  )", text, re.M):
            for words in ([letter, ""],) * bool(letter) + ([long, ""], [f"{long}="]) * bool(long):
                found += 1
                p = w.run(name, *words, status=None)
                err = p.stderr.decode()
                assert p.returncode in (2, 125), (name, words, p)
                assert f": {words[0].rstrip('=')} wants a value: {value} (" in err, (name, words, err)
    assert found > 50, found


def test_one_file(w):
    """Commands of one FILE refuse a second one in one wording, and name the FILE that is not
    there."""
    with_i = {"mem", "hist", "dump", "sched", "replay", "profile"}
    for name in sorted(with_i | {"kd", "bootgraph", "stacks"}):
        for words in (["a.dat", "b.dat"],) + (["-i", "a.dat", "b.dat"],) * (name in with_i):
            words = ["map", *words] if name == "sched" else words
            err = w.run(name, *words, status=2).stderr.decode()
            assert err == f"vestige: {name}: one file at a time; one more is b.dat (see vestige {name} --help)\n", (words, err)
        words = ["map"] if name == "sched" else []
        assert "there is no trace.dat here: `vestige record PROGRAM`" in w.run(name, *words, status=1).stderr.decode(), name


def test_a_file_that_cannot_be_read(w):
    """All commands have one wording for a file that is missing, empty, or no recording."""
    for name, data in ("bad.dat", bytes(range(256)) * 4), ("tiny.dat", b"abc"), ("empty.dat", b""):
        with open(w.path(name), "wb") as f:
            f.write(data)
    reads = [(name,) for name in ("replay", "graph", "profile", "report", "dump", "mem", "hist", "tui", "stacks", "kd", "bootgraph", "dot")] + \
        [("sched", "map"), ("report", "--format=trace")]
    for words in (*reads, ("recover",), ("crash",), ("umount",), ("script",), ("sqlhist", "-f"), ("dot", "--pvtrace", BIN), ("blk", "times", "bad", "--trace"),
                  ("restore", "tiny.dat", "-i"), ("split", "-i")):
        assert w.run(*words, "/none/x", status=1).stderr.decode() == "vestige: cannot open '/none/x': No such file or directory\n", words
    for words in reads:
        for name, text in (("bad.dat", "is neither a trace.dat nor a spool nor an area"), ("tiny.dat", "is neither a trace.dat nor a spool nor an area"),
                           ("empty.dat", "is empty"), (".", "is a folder that no known tool has written")):
            if words == ("dump",):   # reads a trace.dat alone
                text = text.replace("neither a trace.dat nor a spool nor an area", "not a trace.dat").replace(
                    "a folder that no known tool has written", "not a regular file")
            err = w.run(*words, name, status=1).stderr.decode()
            assert err.startswith(f"vestige: '{name}' {text}"), (words, err)
    for words, text in ((("recover", "tiny.dat"), "'tiny.dat' is too short to be a spool"), (("recover", "."), "'.' is not a regular file"),
                        (("dot", "--pvtrace", BIN, "."), "cannot read '.': Is a directory"), (("crash", "."), "'.' is not an area"), (("recover", BIN), f"'{BIN}' is not a spool")):
        assert w.run(*words, status=1).stderr.decode() == f"vestige: {text}\n", words


def test_a_fifo_is_not_waited_for(w):
    """A FIFO without a writer is refused at once."""
    os.mkfifo(w.path("fifo"))
    for words in (["report"], ["replay"], ["recover"], ["crash"], ["dump"], ["view"], ["graph", "-i"],
                  ["sql", "select 1", "-i"], ["convert", "-o", "x.dat"], ["profile"]):
        r = subprocess.run([BIN, *words, w.path("fifo")], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=60, check=False)
        assert r.returncode and "fifo" in r.stderr, (words, r)


def test_unknown_commands(w):
    assert b"record" in w.run("recrod", status=2).stderr
    assert w.run("frobnicate", status=2).stderr == b"vestige: there is no command frobnicate (see vestige --help)\n"
    assert b"--nosuch" in w.run("--nosuch", status=2).stderr
    assert w.run("", status=2).stderr == b"vestige: no command is named: the word for it is empty (see vestige --help)\n"
    assert b"did you mean list" in w.run("help", "lits", status=2).stderr
    assert b"no flag of help --color" in w.run("help", "--color", status=2).stderr
    w.run(status=2)


def test_stdout_full(w):
    for words in (["--help"], ["record", "--help"], ["help", "report"], ["--version"]):
        with open("/dev/full", "w") as full:
            p = subprocess.run([BIN, *words], stdout=full, stderr=subprocess.PIPE)
        assert p.returncode == 1 and p.stderr == b"vestige: cannot write to stdout: No space left on device\n", (words, p.stderr)


def test_list_of_a_program(w):
    in_order = [words[-1] for words in nm(w.prog, "-n") if words[-1] in NAMES]
    assert w.run("list", "-f", w.prog).stdout.decode().split() == in_order
    assert w.run("list", "-f", "./calls").stdout.decode().split() == in_order


def test_list_of_a_library(w):
    w.compile("lib.so", "int in_lib(int x) { return x; }", "-shared", "-fPIC")
    w.compile("user", "int in_lib(int); int main(void) { return in_lib(0); }",
              w.path("lib.so"), "-Wl,-rpath," + w.dir)
    out = w.run("list", "-f", "./user").stdout.decode().splitlines()
    assert out == ["main", "in_lib [lib.so]"], out


def test_list_never_runs_main(w):
    w.compile("touch", "#include <stdio.h>\nint main(void) { fopen(\"ran\", \"w\"); return 0; }\n"
              "__attribute__((constructor)) static void c(void) { fopen(\"ran\", \"w\"); }")
    assert w.run("list", "-f", "./touch").stdout.split() in ([b"c", b"main"], [b"main", b"c"])
    w.run("doctor", "./touch")
    assert not os.path.exists(w.path("ran"))


def test_list_of_a_recording(w):
    w.run("record", "-q", w.prog)
    out = w.run("list", "-f").stdout.decode().splitlines()
    assert set(NAMES) <= set(out) and not [n for n in out if n.startswith(".") or "@plt" in n]
    assert not [n for n in out if "[libvestige.so]" in n or "[vdso]" in n], out[:4]
    modules = ["[" in n for n in out]
    assert modules == sorted(modules), "the program's functions are not the first"


def test_list_faults(w):
    assert b"trace.dat" in w.run("list", "-f", status=1).stderr
    assert b"-f" in w.run("list", status=2).stderr
    assert b"-q" in w.run("list", "-q", status=2).stderr
    assert len(w.run("list", "-f", "/bin/true").stdout.splitlines()) > 20
    assert b"no such program" in w.run("list", "-f", "./nosuch", status=1).stderr


def test_doctor(w):
    out = w.run("doctor", w.prog).stdout.decode()
    assert re.search(r"can be traced +6 ", out), out
    out = w.run("doctor", "--all", w.prog).stdout.decode()
    for name in NAMES:
        assert re.search(rf"^ +{name}$", out, re.M), out


def test_doctor_tells_why_not(w):
    src = CALLS.replace("FN void leaf", "__attribute__((patchable_function_entry(0))) FN void leaf") \
               .replace("FN void mid", "__attribute__((patchable_function_entry(3))) FN void mid")
    w.compile("holes", src)
    out = w.run("doctor", "-v", "./holes").stdout.decode()
    assert re.search(r"can be traced +4 ", out), out
    assert re.search(r"^ +leaf: not built", out, re.M), out
    assert re.search(r"^ +mid: built with too few", out, re.M), out
    assert "-fpatchable-function-entry=6" in out


def test_doctor_faults(w):
    out = w.run("doctor", "/bin/true").stdout
    assert b"functions can be traced as they are: vestige record /bin/true\n" in out and b"-fpatchable-function-entry=6" in out
    w.compile("st", CALLS, "-static")
    assert b"static" in w.run("doctor", "./st", status=1).stderr
    assert b"no program" in w.run("doctor", "--all", status=2).stderr
    assert b"no such" in w.run("doctor", "./nosuch", status=1).stderr


def test_stripped_program_keeps_places_apart(w):
    subprocess.run(["strip", "-s", w.prog], check=True)
    out = w.run("list", "-f", w.prog).stdout.decode().split()
    assert len(out) == 6 and all(n.startswith("calls+0x") for n in out), out
    w.run("record", "-q", w.prog, "calls", 4)
    hits = re.findall(r"calls\+0x\w+ +(\d+)", w.run("profile").stdout.decode())
    assert sorted(map(int, hits)) == [1, 1, 1, 4, 8], hits


main(globals())
