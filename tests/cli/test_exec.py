#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls that are open when exec() puts another program in a program's place end there: the start of
that program is in no call. The programs say themselves when they began, before they make a call
that is recorded."""
import csv
import json
import os
import re

from cli_test import main

# Before main(), unseen: says when it was, and takes its time, as a program with many libraries
# does.
EXECS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noipa))
__attribute__((constructor, patchable_function_entry(0, 0))) static void begins(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	dprintf(3, "%lld\n", t.tv_sec * 1000000000LL + t.tv_nsec);
	usleep(300000);
}
static int ready[2];
FN void leaf(void) { asm(""); }
FN void replaces(char **argv) { leaf(); execv(argv[0], argv); abort(); }
FN void waits(void) { write(ready[1], "", 1); for (;;) pause(); }
FN void *thread(void *arg) { char c; if (arg && read(ready[0], &c, 1)) replaces(arg); waits(); return NULL; }
FN void main_waits(void) { write(ready[1], "", 1); for (;;) pause(); }
FN void last(void) { leaf(); }
int main(int argc, char **argv)
{
	char c;
	pthread_t t;

	leaf();
	if (!strcmp(argv[1], "end")) {
		last();
		return 0;
	}
	pipe(ready);
	if (strcmp(argv[1], "one")) {
		pthread_create(&t, NULL, thread, NULL);
		read(ready[0], &c, 1);
	}
	if (strcmp(argv[1], "other")) {
		argv[1] = "end";
		replaces(argv);
	}
	argv[1] = "end";
	pthread_create(&t, NULL, thread, argv);
	main_waits();
}
"""


def executed(w, *words, path="begun", flags=()):
    """A recording of it; when each program began."""
    with open(w.path(path), "wb") as f:
        w.run("record", "-q", "-p", "function_graph", *flags, "--", "sh", "-c", 'exec 3>"$0"; exec "$@"', f.name, *words)
    with open(w.path(path), encoding="ascii") as f:
        return [int(line) for line in f]


def slices(w, name, file="trace.dat"):
    """Start and end of the calls of a function."""
    out = w.run("sql", "--json", file, f"SELECT start, start + duration AS e FROM slices WHERE name = '{name}' ORDER BY start").stdout
    return [(row["start"], row["e"]) for row in json.loads(out)]


def test_calls_end_where_the_program_does(w):
    prog = w.compile("execs", EXECS, "-pthread")
    for how, names in (("one", "main replaces"), ("threads", "main replaces waits thread"), ("other", "main main_waits replaces waits thread")):
        begun = executed(w, prog, how)
        assert len(begun) == 2, begun
        for name in names.split():
            old = [(a, b) for a, b in slices(w, name) if a < begun[1]]
            assert old, (how, name)
            assert all(b < begun[1] for _, b in old), (how, name, old, begun)
        # what came behind it is whole
        (new,) = slices(w, "last")
        assert new[0] > begun[1] + 300_000_000, (new, begun)
        (after,) = [(a, b) for a, b in slices(w, "main") if a > begun[1]]
        assert after[0] <= new[0] <= new[1] <= after[1], (after, new)


def ns(text):
    n, unit = re.match(r"([\d.]+) (us|ms|s)$", text).groups()
    return float(n) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def test_all_views_agree(w):
    prog = w.compile("execs", EXECS, "-pthread")
    begun = executed(w, prog, "one", flags=("-o", "t.dat"))
    (start, end), = slices(w, "replaces", "t.dat")
    inner = sum(b - a for a, b in slices(w, "leaf", "t.dat") if start <= a and b <= end)
    assert end < begun[1]
    for command in "profile", "graph":
        words = w.run(command, "t.dat").stdout.decode().splitlines()
        head = re.split(r" {2,}", words[0].lstrip("# "))
        (line,) = [x for x in words if re.search(r"[ ]replaces$", x)]
        row = dict(zip(head, re.findall(r"[\d.]+ (?:us|ms|s|%)|\S+", line)))
        assert abs(ns(row["TOTAL"]) - (end - start)) <= 1000, (command, row, end - start)
        assert abs(ns(row["SELF"]) - (end - start - inner)) <= 1000, (command, row, inner)
        assert "SUSPENDED" not in row, row
    w.run("convert", "--to", "csv", "t.dat", "t.csv")
    with open(w.path("t.csv"), encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert [(int(r["time"]), int(r["time"]) + int(r["duration"])) for r in rows if r["name"] == "replaces"] == [(start, end)]
    w.run("convert", "--to", "chrome", "t.dat", "t.json")
    with open(w.path("t.json"), encoding="utf-8") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("name") == "replaces"]
    assert len(events) == 1 and abs(events[0]["dur"] * 1000 - (end - start)) <= 1000, events
    # it did not return, so its end is no line
    lines = [x.split("| ")[1].strip() for x in w.run("replay", "t.dat").stdout.decode().splitlines()[1:]]
    assert "replaces() {" in lines and "} /* replaces */" not in lines, lines


def test_a_shell_that_executes(w):
    """A program as it is shipped, in the native form, and with the events of the exec beside it."""
    prog = w.compile("execs", EXECS, "-pthread")
    for flags in (("--native", "-o", "t.dat"), ("-e", "sched", "-o", "t.dat"), ("--no-native", "-o", "t.dat")):
        begun = executed(w, prog, "end", flags=flags)
        assert len(begun) == 1, begun
        out = w.run("sql", "--json", "t.dat", "SELECT count(*) AS n, max(start + duration) AS e FROM slices "
                    f"WHERE start < {begun[0]}").stdout
        (row,) = json.loads(out)
        assert row["n"] > 10 and row["e"] < begun[0], (flags, row, begun)


# A process that its parent kills 50 ms after its last call; the parent goes on for 300 ms.
KILLS = r"""
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static int ready[2];
FN void leaf(void) { asm(""); }
FN void killed(void) { leaf(); write(ready[1], "", 1); for (;;) pause(); }
FN void kills(pid_t pid)
{
	struct timespec t;
	char c;

	read(ready[0], &c, 1);
	usleep(50000);
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("%lld\n", t.tv_sec * 1000000000LL + t.tv_nsec);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	usleep(300000);
}
int main(void)
{
	pid_t pid;

	pipe(ready);
	pid = fork();
	if (!pid)
		killed();
	kills(pid);
	leaf();
	return 0;
}
"""


def test_a_killed_process(w):
    """Its calls last until its last record, not until its parent's."""
    w.compile("kills", KILLS)
    for flags in ((), ("--native",), ("--no-native",), ("--file-version", "6")):
        when = int(w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", *flags, "./kills").stdout)
        w.run("convert", "-q", "t.dat", "again.dat")
        w.run("share", "-q", "t.dat", "shared.dat")
        for name in "t.dat", "again.dat", "shared.dat":
            (start, end), = slices(w, "killed", name)
            assert start <= end < when, (flags, name, start, end, when)
            (start, end), = slices(w, "kills", name)
            assert start < when and end > when + 300e6, (flags, name, start, end, when)
        os.unlink(w.path("shared.dat"))


# Functions that never return; main() goes on for 300 ms after its threads, and exit() is called
# below it.
LEAVES = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN void inner(void) { usleep(20000); pthread_exit(NULL); }
FN void *outer(void *arg) { inner(); return arg; }
FN void canceled(void) { for (;;) usleep(20000); }
FN void *cancels(void *arg) { canceled(); return arg; }
FN void leaves(void) { usleep(20000); exit(0); }
int main(void)
{
	pthread_t t, u;

	pthread_create(&t, NULL, outer, NULL);
	pthread_create(&u, NULL, cancels, NULL);
	pthread_join(t, NULL);
	pthread_cancel(u);
	pthread_join(u, NULL);
	usleep(300000);
	leaves();
}
"""


def test_ends_of_threads_and_of_the_program(w):
    """Calls that pthread_exit(), pthread_cancel() and exit() leave open end then, and say so."""
    w.compile("leaves", LEAVES, "-pthread")
    w.run("record", "-q", "-p", "function_graph", "./leaves")
    text = w.run("replay").stdout.decode()
    assert text.count("unwound") == 6, text
    ends = {}
    for name, least in ("inner", 20), ("outer", 20), ("canceled", 0), ("cancels", 0), ("leaves", 20), ("main", 340):
        (start, end), = slices(w, name)
        assert end - start >= least * 1e6, (name, end - start)
        ends[name] = end
    # the threads' calls do not last until the program's end
    assert max(ends[n] for n in ("inner", "outer", "canceled", "cancels")) < ends["main"] - 300e6, ends


def test_the_name_is_the_later_images(w):
    """Of two images of one process the name of the later one stays, in whatever order their areas
    are found."""
    for _ in range(10):
        w.run("record", "-q", "-e", "raw_syscalls:sys_enter", "-o", "e.dat", "--", "bash", "-c", "exec sort /dev/null")
        names = set(re.findall(r"^ *(\S+)-\d+ +\[", w.run("report", "e.dat").stdout.decode(), re.M))
        assert names == {"sort"}, names


if __name__ == "__main__":
    main(globals())
