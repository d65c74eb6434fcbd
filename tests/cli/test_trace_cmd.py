#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""docs/trace-cmd.md against trace-cmd's manual pages and our own --help."""
import glob
import gzip
import os
import re
import subprocess

from cli_test import BIN, Skip, main

SOURCE = os.environ["SOURCE_DIR"]
PAGES = "/usr/share/man/man1/trace-cmd-*.1*"
# in the pages of 3.3.1 (Debian 13's), and not in the pages of 3.1.6
NEWER = {"attach": {"-c", "-s"}, "record": {"--daemonize", "--subbuf-size"}, "split": {"-B", "--top", "-b", "-t"},
         "show": {"--buffer_percent", "--buffer_subbuf_size", "--hist", "--trigger"}}
STATES = ("works", "differs", "other", "nothing")


def pages():
    """Of each command the flags that its page's options begin with, and those named in their text's
    first place."""
    found = {}
    for path in glob.glob(PAGES):
        with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as f:
            text = f.read().replace("\\-", "-")
        command = re.search(r"trace-cmd-([\w-]+)\.1", path).group(1)
        options = text[text.index('.SH "DESCRIPTION"'):text.index('.SH "SEE ALSO"')].split('.SH "EXAMPLES"')[0]
        heads = "\n".join(l for l in options.splitlines() if l.startswith(r"\fB-"))
        if '.SH "OPTIONS"' not in options:  # they are named in sentences
            heads = options
        flags = set()
        for group in re.findall(r"\\fB(-[^\\]*)\\fR", heads):
            flags |= set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", group))
        found[command] = flags
    if not found:
        raise Skip("no manual pages of trace-cmd")
    for command, flags in NEWER.items():
        found.setdefault(command, set()).update(flags)
    return found


def table():
    """By command: {flag: (state, what is said of it)}."""
    found, at = {}, []
    with open(f"{SOURCE}/docs/trace-cmd.md") as f:
        for line in f:
            if line.startswith("## "):
                at = line[3:].strip().split(", ")
                for command in at:
                    assert command not in found, f"{command} is there twice"
                    found[command] = {}
            elif line.startswith("| `"):
                flags, state, said = (c.strip() for c in line.strip().strip("|").split("|", 2))
                assert state in STATES, line
                assert said or state == "works", f"nothing is said: {line}"
                for flag in re.findall(r"`(-[^`]*)`", flags):
                    for command in at:
                        assert flag not in found[command], f"{command} {flag} is there twice"
                        found[command][flag] = (state, said)
    return found


def test_every_flag_is_there(w):
    theirs, ours = pages(), table()
    assert len(theirs) >= 25 and sum(map(len, theirs.values())) > 200, theirs
    lacks = {c: sorted(f - set(ours.get(c, {}))) for c, f in theirs.items()}
    lacks = {c: f for c, f in lacks.items() if f or c not in ours}
    assert not lacks, f"docs/trace-cmd.md lacks {lacks}"


def test_listed_commands_exist(w):
    checked = 0
    commands = set(re.findall(r"^  ([\w-]+) ", w.run("help").stdout.decode(), re.M))
    for command, flags in table().items():
        mine = set()
        if command in commands:
            text = w.run("help", command).stdout.decode()
            for head in re.findall(r"^  (-.*?|    --.*?)(?:  |$)", text, re.M):
                mine |= set(re.findall(r"(?<!\S)--?\w[\w-]*", head))
        for flag, (state, said) in flags.items():
            assert (flag in mine) == (state in ("works", "differs")) or state in ("nothing", "other"), \
                f"{command} {flag} is said to be {state!r}: --help has {sorted(mine)}"
            checked += 1
            # what it names is there
            for word in re.findall(r"`vestige (\w+)", said):
                assert word in commands, said
    assert checked > 200, checked


def test_a_flag_of_trace_cmd_alone_says_why(w):
    """What the table says is what the command says."""
    commands = set(re.findall(r"^  ([\w-]+) ", w.run("help").stdout.decode(), re.M))
    checked = 0
    for command, flags in table().items():
        if command not in commands:
            continue
        for flag, (state, said) in flags.items():
            if state in ("works", "differs") or flag == "--help":
                continue
            err = subprocess.run([BIN, command, flag], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            text = err.stderr.decode()
            if f"trace-cmd's {flag} " in text:
                assert said in text and text.count("\n") == 1 and err.returncode in (2, 125), (command, flag, err)
                checked += 1
            else:  # it is a flag here that means another thing
                assert flag in w.run("help", command).stdout.decode(), (command, flag, err)
    assert checked > 40, checked
    assert b"recorded, always" in w.run("record", "-c", "true", status=125).stderr
    for command in set(table()) - commands:  # a command of trace-cmd alone
        err = w.run(command, status=2).stderr.decode()
        assert f"trace-cmd's {command} is another word here: " in err and err.count("\n") == 1, err
        assert w.run("help", command, status=2).stderr.decode() == err
    assert b"did you mean" not in w.run("record", "--temp=/tmp", "true", status=125).stderr


main(globals())
