#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bash, zsh and fish complete commands, flags and values; each command's completion has the flags
of its --help."""
import os
import re
import shutil
import subprocess

from cli_test import BIN, LIBRARY, Skip, main

SCRIPTS = os.environ["SOURCE_DIR"] + "/scripts/completion"


def complete(w, *words):
    out = w.run("--complete", *words).stdout.decode()
    return {line.partition("\t")[0]: line.partition("\t")[2] for line in out.splitlines()}


def commands(w):
    return re.findall(r"^  ([\w-]+) +\S", w.run("--help").stdout.decode(), re.M)


def test_same_table_as_help(w):
    names = commands(w)
    assert set(names) == set(complete(w, "")) - {"help"}
    for name in names:
        text = w.run(name, "--help").stdout.decode()
        for letter, long in re.findall(r"^  (?:-(\w),? |    ) ?(?:--([\w-]+))?", text, re.M):
            if long:
                assert f"--{long}" in complete(w, name, f"--{long}"), (name, long)
            elif letter:
                assert f"-{letter}" in complete(w, name, f"-{letter}"), (name, letter)
    assert set(complete(w, "st")) == {n for n in names if n.startswith("st")}


def test_values(w):
    p = subprocess.Popen([w.compile("waits", "int main(void) { extern int pause(void); return pause(); }")],
                         env=dict(w.env, LD_PRELOAD=LIBRARY))
    try:
        for _ in range(2000):
            if any(n.endswith(".sock") for n in os.listdir(w.areas)):
                break
            subprocess.run(["sleep", "0.01"])
        pid = str(p.pid)
        assert complete(w, "top", "-P", "") == {pid: "waits"}
        assert "sched:sched_switch" in complete(w, "start", "-P", pid, "-e", "sched:")
        assert set(complete(w, "start", "-p", "function_")) == {"function_graph"}
        assert complete(w, "start", "-l", "mai") == {"main": "function"}
        assert "current_tracer" in complete(w, "set", "-P", pid, "current")
        clocks = w.run("get", "trace_clock").stdout.decode().replace("[", "").replace("]", "").split()
        assert set(complete(w, "start", "-C", "")) == set(clocks) and "mono" in clocks
        w.run("set", "-P", pid, "tracing_on", "1")
    finally:
        p.kill()
        p.wait()
        w.run("clean")
    for words in (["top", "-P", ""], ["start", "-e", ""], ["no_such", ""], ["top", "--sort=x"], ["report", "--no", "x", "-"]):
        complete(w, *words)


def test_values_of_tables(w):
    formats = re.findall(r"^([\w-]+) +\S", w.run("convert", "--list").stdout.decode(), re.M)
    assert set(complete(w, "convert", "--to", "")) == set(formats) and len(formats) > 10
    assert complete(w, "convert", "--to=spe") == {"speedscope": "speedscope's JSON"}
    assert set(complete(w, "kd", "-s", "")) == set("Fctalmn")
    assert set(complete(w, "dot", "--color", "")) == {"self", "total"}
    assert set(complete(w, "dot", "--color=t")) == {"total"}


def test_words(w):
    """The words that a flag takes; the command takes each of them."""
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", w.prog, "calls", 5)
    for flag, some in (("--sort", {"total", "p99", "name"}), ("--by", {"function", "thread", "object"}),
                       ("--demangle", {"full", "short", "none"}), ("--color", {"auto", "always", "never"})):
        words = set(complete(w, "profile", flag, ""))
        assert some <= words and set(complete(w, "profile", f"{flag}=")) == words, (flag, words)
        for word in words - {"tid"}:
            w.run("profile", flag, word, "t.dat")
    assert set(complete(w, "record", "--file-version", "")) == {"6", "7"}
    assert set(complete(w, "top", "-s", "")) == {"rate", "total", "self", "p50", "p99", "max", "name"}
    options = complete(w, "report", "-O", "")
    printed = w.run("options").stdout.decode()
    assert set(options) == set(re.findall(r"^  option:\t(.*)$", printed, re.M)) | set(re.findall(r"^  (\S+)$", printed, re.M)), options
    assert set(complete(w, "report", "-O", "funcgraph-pr")) == {"funcgraph-proc"} and "tailprint" in options


def in_path(w):
    os.symlink(BIN, w.path("vestige"))
    return dict(w.env, PATH=w.dir + ":" + os.environ["PATH"], HOME=w.dir, TERM="dumb")


def test_bash(w):
    if not shutil.which("bash"):
        raise Skip("no bash")
    env = in_path(w)

    def bash(*words):
        text = f"source {SCRIPTS}/vestige.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _vestige 2>/dev/null; " \
            "printf '%s\\n' \"${COMPREPLY[@]}\""
        return subprocess.run(["bash", "--norc", "-c", text, "-", *words], env=env, check=True, stdout=subprocess.PIPE,
                              cwd=w.dir).stdout.decode().split()

    assert bash("vestige", "snap") == ["snapshot"]
    assert bash("vestige", "top", "--iter") == ["--iterations"]
    assert bash("vestige", "record", "-p", "function_") == ["function_graph"]


def test_zsh(w):
    if not shutil.which("zsh"):
        raise Skip("no zsh")
    env = in_path(w)
    # what its own functions would do with the names is not ours
    text = f"words=(\"$@\"); CURRENT=$#; _files() {{ print -- FILES }}; _describe() {{ print -l -- ${{(P)4}} }}; source {SCRIPTS}/_vestige"

    def zsh(*words):
        return subprocess.run(["zsh", "-f", "-c", text, "-", *words], env=env, check=False, stdout=subprocess.PIPE,
                              cwd=w.dir).stdout.decode().splitlines()

    assert [line.split(":")[0] for line in zsh("vestige", "snap")] == ["snapshot"]
    assert [line.split(":")[0] for line in zsh("vestige", "top", "--iter")] == ["--iterations"]
    assert zsh("vestige", "report", "") == ["FILES"]


def test_fish(w):
    if not shutil.which("fish"):
        raise Skip("no fish")
    env = in_path(w)

    def fish(line):
        text = f"source {SCRIPTS}/vestige.fish; complete -C '{line}'"
        out = subprocess.run(["fish", "--no-config", "-c", text], env=env, check=True, stdout=subprocess.PIPE, cwd=w.dir)
        return [line.split("\t")[0] for line in out.stdout.decode().splitlines()]

    assert fish("vestige snap") == ["snapshot"]
    assert fish("vestige top --iter") == ["--iterations"]
    assert fish("vestige record -p function_") == ["function_graph"]


if __name__ == "__main__":
    main(globals())
