#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Colours and the pager: on a terminal, with each switch for both, and nothing of them
elsewhere."""
import os
import re
import subprocess

from cli_test import BIN, main

# of each command that prints: words that need only trace.dat and the program
COMMANDS = (["replay"], ["graph"], ["profile"], ["report"], ["report", "--format=trace"], ["sched", "latency"],
            ["list", "-f", "./calls"], ["dump", "--summary", "trace.dat"], ["doctor", "./calls"], ["profile", "--json"])
ESCAPE = re.compile(rb"\x1b\[\d*m")


def record(w):
    w.run("record", "-q", "-p", "function_graph", "-e", "sched", "--", w.prog, "fork", 3)


def flagged(words, *flags):
    """Flags end where a program is named."""
    return [words[0], *flags, *words[1:]] if words[0] in ("list", "doctor") else [*words, *flags]


def on_terminal(w, *words, status=0, **env):
    """What is printed on a terminal, with the newlines of a pipe."""
    ours, side = os.openpty()
    more = dict(w.env, TERM="xterm", **env)
    for name in ("NO_COLOR", "PAGER", "VESTIGE_PAGER"):
        if name not in env:
            more.pop(name, None)
    with subprocess.Popen([BIN, *words], cwd=w.dir, env=more, stdin=subprocess.DEVNULL, stdout=side, stderr=subprocess.PIPE) as p:
        os.close(side)
        seen = b""
        try:
            while more := os.read(ours, 65536):
                seen += more
        except OSError:     # the last one that has it open has ended
            pass
        err = p.stderr.read()
        assert p.wait() == status, (words, p.returncode, seen[-500:], err)
    os.close(ours)
    return seen.replace(b"\r\n", b"\n")


def test_flags_in_front_of_the_command(w):
    """--color and --no-pager are taken there, too, as git's are."""
    record(w)
    for flags in (["--color=always"], ["--color", "always"], ["--no-pager", "--color=always"]):
        text = w.run(*flags, "replay").stdout
        assert text == w.run("replay", "--color=always").stdout and ESCAPE.search(text), flags
    assert on_terminal(w, "--no-pager", "--color=never", "replay") == w.run("replay").stdout
    assert w.run("--no-pager", "get", "--help").stdout == w.run("get", "--help").stdout
    assert w.run("--color=never", "--version").stdout == w.run("--version").stdout
    for words, said in ((["--color=blue", "replay"], "not auto, always or never: blue"), (["--color"], "--color wants a value: WHEN (see vestige --help)"), (["--color="], "--color wants a value: WHEN (see vestige --help)"),
                        (["--no-pager"], "no command is named"), (["--colour=never", "replay"], "did you mean --color")):
        err = w.run(*words, status=2).stderr.decode()
        assert said in err and err.count("\n") == 1, err


def test_nothing_where_there_is_no_terminal(w):
    """The text is the terminal's without its colours, byte for byte; --color=always has them in a
    file, too."""
    record(w)
    painted = 0
    for words in COMMANDS:
        plain = w.run(*words, status=None, env={"TERM": "xterm", "VESTIGE_PAGER": "false"}).stdout
        assert plain and b"\x1b" not in plain, words
        assert w.run(*flagged(words, "--color=never"), status=None).stdout == plain, words
        always = w.run(*flagged(words, "--color=always", "--no-pager"), status=None).stdout
        seen = on_terminal(w, *flagged(words, "--no-pager"), status=w.run(*words, status=None).returncode)
        if words[0] == "doctor":    # it measures
            always, seen, plain = (re.sub(rb"[\d.]+", b"N", ESCAPE.sub(b"", t)) for t in (always, seen, plain))
        assert ESCAPE.sub(b"", always) == plain, words
        assert ESCAPE.sub(b"", seen) == plain, (words, seen[:2000], plain[:2000])
        painted += ESCAPE.search(always) is not None
    assert painted >= 6, painted
    assert not ESCAPE.search(w.run("profile", "--json", "--color=always").stdout)


def test_what_has_colours(w):
    record(w)
    assert b"\x1b[1m#" in on_terminal(w, "profile", "--no-pager")
    assert b"\x1b[2m/*" in on_terminal(w, "replay", "--no-pager")
    assert b": \x1b[36mfuncgraph_entry\x1b[0m:" in on_terminal(w, "report", "--no-pager")
    for flags, env in ((["--color=never"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
        with_term = dict(env)
        term = with_term.pop("TERM", None)
        seen = on_terminal(w, "profile", "--no-pager", *flags, **with_term) if not term else \
            subprocess.run(["env", f"TERM={term}", "script", "-qec", f"{BIN} profile --no-pager", "/dev/null"], cwd=w.dir, env=w.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
        assert b"SELF" in seen and b"\x1b" not in seen, (flags, env, seen[:200])
    assert b"\x1b[1m#" in on_terminal(w, "profile", "--no-pager", "--color", "always", NO_COLOR="1")
    assert b"\x1b[1m#" in on_terminal(w, "profile", "--no-pager", NO_COLOR="")
    assert b"--color: not auto, always or never: sometimes" in w.run("profile", "--color=sometimes", status=2).stderr


def test_the_pager(w):
    record(w)
    mark = "sed s/^/P:/"
    plain = w.run("profile").stdout
    paged = b"".join(b"P:" + line + b"\n" for line in plain.splitlines())
    assert on_terminal(w, "profile", "--color=never", PAGER=mark) == paged
    assert on_terminal(w, "profile", "--color=never", VESTIGE_PAGER=mark, PAGER="false") == paged
    assert ESCAPE.sub(b"", on_terminal(w, "profile", PAGER=mark)) == paged
    for env in ({"PAGER": ""}, {"PAGER": "cat"}, {"VESTIGE_PAGER": "", "PAGER": mark}):
        assert on_terminal(w, "profile", "--color=never", **env) == plain, env
    assert on_terminal(w, "profile", "--color=never", "--no-pager", PAGER=mark) == plain
    # a pager that is left early is no error, and much text does not block
    w.run("record", "-q", "-p", "function_graph", "--", w.prog, "calls", 20000)
    for command in ("replay", "report"):
        assert on_terminal(w, command, PAGER="head -n 1").count(b"\n") == 1
    # an error is on stderr, with its status
    on_terminal(w, "profile", "nosuch.dat", status=1, PAGER=mark)


main(globals())
