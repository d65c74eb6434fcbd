#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige kft: KFT's configuration language, its log of programs, recordings and running
processes."""
import re
import subprocess

from cli_test import main, nm, until

PROGRAM = r"""
#include <signal.h>
#include <unistd.h>
#define FN __attribute__((noipa))
volatile long sum;
FN void leaf(void) { sum++; }
FN void in_handler(void) { leaf(); }
FN void handler(int n) { (void)n; in_handler(); }
FN void before(void) { leaf(); }
FN void slow(void) { leaf(); usleep(2000); }
FN void setup(void) { slow(); leaf(); leaf(); }
FN void work(void) { leaf(); raise(SIGUSR1); }
FN void after(void) { leaf(); }
FN void uncalled(void) { leaf(); }
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 5) uncalled();
	signal(SIGUSR1, handler);
	before();
	for (int i = 0; i < 3; i++) { setup(); work(); }
	after();
	return 7;
}
"""

# It prints what each call of down() and leaf() has left of its stack, by pthread_getattr_np(): of
# main, 1 of a thread.
DEEP = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define FN __attribute__((noipa))
/* Bytes from the return address of the calling function to the end of its thread's stack. */
#define LEFT ((unsigned long)__builtin_dwarf_cfa() - 8 - lo)
static __thread unsigned long lo;
static unsigned long left_of[2][200];
volatile long sum;
FN void leaf(int t) { left_of[t][199] = LEFT; sum++; }
FN void down(int t, int n)
{
	volatile char frame[1000];

	left_of[t][n] = LEFT;
	frame[0] = 1;
	if (n)
		down(t, n - 1);
	else
		leaf(t);
	sum += frame[0];
}
FN void find_stack(void)
{
	pthread_attr_t attr;
	void *addr;
	size_t bytes;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &addr, &bytes);
	pthread_attr_destroy(&attr);
	lo = (unsigned long)addr;
}
FN void *in_thread(void *arg) { find_stack(); down(1, 40); return arg; }
FN void work(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_create(&t, &attr, in_thread, NULL);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	down(0, 20);
}
int main(int argc, char **argv)
{
	(void)argv;
	find_stack();
	work();
	for (int t = 0; t < 2; t++)
		for (int n = 40; n >= 0; n--)
			if (left_of[t][n])
				printf("%d %lu\n", t, left_of[t][n]);
	printf("0 %lu\n1 %lu\n", left_of[0][199], left_of[1][199]);
	fflush(stdout);
	if (argc > 2)
		work();
	while (argc == 2) {
		work();
		puts("ready");
		fflush(stdout);
		usleep(20000);
	}
	return 0;
}
"""


def conf(w, text, name="kft.conf"):
    with open(w.path(name), "w") as f:
        f.write(text)
    return name


def recorded(w):
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-O", "context", prog, status=7)


def log(w, text, *args):
    """The head of a log and its rows: name, delta, PID is of an interrupt, caller."""
    out = w.run("kft", "-c", conf(w, text), "-i", "trace.dat", "-o", "-", *args).stdout.decode()
    rows = re.findall(r"^ *(\d+) +(-?\d+|exit) +(-?\d+)   +(\S.*?)   (\S+)$", out, re.M)
    assert int(re.search(r"Number of entries after filters = (\d+)", out)[1]) == len(rows), out
    return out, [(n, d if d == "exit" else int(d), p == "-1", c) for _, d, p, n, c in rows]


def names(rows):
    return [r[0] for r in rows]


ONE = ["setup", "slow", "leaf", "leaf", "leaf", "work", "leaf", "handler", "in_handler", "leaf"]


def test_triggers(w):
    """Triggers at entries, exits and times begin and end the log; -1 marks what is open at its
    end."""
    recorded(w)
    out, rows = log(w, "begin end")
    assert names(rows) == ["main", "before", "leaf", *3 * ONE, "after", "leaf"], names(rows)
    assert "by the begin of the records" in out and rows[0][3] == "-" and rows[1][3] == "main", out
    out, rows = log(w, "begin trigger start entry setup trigger stop entry work end")
    assert names(rows) == ONE[:5] and "started at" in out, names(rows)
    assert re.search(r"started at \d+ usec by entry to function setup\n.*stopped at \d+ usec by entry to function work\n", out), out
    assert rows[1][1] >= 2000 and rows[0][1] >= rows[1][1] > rows[2][1], rows
    out, rows = log(w, "begin trigger start exit slow trigger stop exit setup end")
    assert names(rows) == ["leaf", "leaf"] and "Entries not found = 1" in out and "by exit from function slow" in out, out
    out, rows = log(w, "begin trigger start entry setup trigger stop entry in_handler end")
    assert [(r[0], r[1]) for r in rows if r[1] < 0] == [("work", -1), ("handler", -1)], rows
    out, rows = log(w, "begin trigger start time 100 trigger stop time 2000 end")
    assert names(rows)[-2:] == ["slow", "leaf"] or "slow" not in names(rows), names(rows)
    assert int(re.search(r"stopped at (\d+)", out)[1]) - int(re.search(r"started at (\d+)", out)[1]) == 2000, out
    p = w.run("kft", "-c", conf(w, "begin trigger start exit main end"), "-i", "trace.dat", "-o", "-")
    assert b"did not start" in p.stdout or b"by exit from function main" in p.stdout, p


def test_wrong_names(w):
    """A function that does not exist is an error with the nearest name, after the log; one that is
    not called is none."""
    recorded(w)
    for text, what in (("trigger start entry setpu", b"trigger start: no function of the program is named setpu: did you mean setup?"),
                       ("trigger stop exit wrok", b"trigger stop: no function of the program is named wrok: did you mean work?"),
                       ("filter funclist slow aftre fend", b"filter funclist: no function of the program is named aftre: did you mean after?"),
                       ("trigger start entry zz*", b"is named zz*\n")):
        p = w.run("kft", "-c", conf(w, f"begin {text} end"), "-i", "trace.dat", "-o", "-", status=125)
        assert what in p.stderr and b"Number of entries after filters" in p.stdout, (text, p)
    p = w.run("kft", "-c", conf(w, "begin trigger start entry setpu end"), "--", w.path("p"), status=125)
    assert b"did you mean setup?" in p.stderr, p
    p = w.run("kft", "-c", conf(w, "begin trigger start entry uncalled end"), "-i", "trace.dat", "-o", "-")
    assert b"did not start" in p.stdout and b"nothing was the trigger to start" in p.stderr, p


def test_filters(w):
    """Filters by time, list and signal handler, and their counters."""
    recorded(w)
    _, every = log(w, "begin end")
    out, rows = log(w, "begin filter mintime 1500 end")
    # a machine that is busy makes others long, too
    assert rows == [r for r in every if r[1] >= 1500] and names(rows).count("slow") == 3, (rows, every)
    short = len(every) - len(rows)
    assert f"Execution time filter count = {short}\n" in out and f"Total entries filtered = {short}\n" in out and "1500 usecs minimum" in out, out
    assert b"with *" in w.run("kd", "--", log_of(w, out)).stderr
    out, rows = log(w, "begin filter maxtime 1500 filter noints end")
    assert not {"main", "slow", "handler", "in_handler"} & set(names(rows)) and "Interrupt filter count = 9\n" in out, out
    out, rows = log(w, "begin filter onlyints end")
    assert names(rows) == 3 * ["handler", "in_handler", "leaf"] and all(r[2] for r in rows), rows
    out, rows = log(w, "begin filter funclist slow work fend end")
    assert names(rows) == 3 * ["slow", "work"] and rows[0][3] == "setup", rows


def log_of(w, text):
    return conf(w, text, "kept.log")


def test_sizes(w):
    """A full log ends the run, overwrites its oldest entries, or is filled by several runs. Entries
    can be without times."""
    recorded(w)
    out, rows = log(w, "begin logentries 5 end")
    assert names(rows) == ["main", "before", "leaf", "setup", "slow"] and "by buffer full" in out, out
    out, rows = log(w, "begin logentries 3 overwrite end")
    assert names(rows) == ["leaf", "after", "leaf"], names(rows)
    out, rows = log(w, "begin trigger start entry work trigger stop entry in_handler logentries 8 autorepeat end")
    assert names(rows) == [*2 * ["work", "leaf", "handler"], "work", "leaf"] and "by buffer full" in out, out
    out, rows = log(w, "begin trigger start entry work trigger stop exit handler untimed end")
    assert [(r[0], r[1]) for r in rows] == [("work", 0), ("leaf", 0), ("leaf", "exit"), ("handler", 0), ("in_handler", 0), ("leaf", 0),
                                            ("leaf", "exit"), ("in_handler", "exit"), ("handler", "exit")], rows


def test_program(w):
    """A program built with a flag or none keeps its exit status and output, and gives a log that
    vestige kd reads. Triggers can be addresses."""
    for flags in ((), ("-fpatchable-function-entry=0",)):
        prog = w.compile("p", PROGRAM, *flags)
        w.run("kft", "-c", conf(w, "new begin\n trigger start entry setup # here\n trigger stop exit work\nend\n"), "--", prog, status=7)
        table = {l.split()[0]: l.split()[1:] for l in w.run("kd", "kft.log").stdout.decode().splitlines()[2:]}
        assert {n: int(r[0]) for n, r in table.items()} == {"setup": 1, "slow": 1, "leaf": 5, "work": 1, "handler": 1, "in_handler": 1}, table
    where = next(words[0].lstrip("0") for words in nm(prog) if words[1:] == ["T", "work"])
    w.run("kft", "-c", conf(w, f"begin filter funclist 0x{where} fend end"), "-o", "a.log", prog, status=7)
    with open(w.path("a.log")) as f:
        assert len(re.findall(" work   -$", f.read(), re.M)) == 3
    assert not [n for n in __import__("os").listdir(w.dir) if n.endswith(".dat")]


def deep(w, *args):
    """Record a program with all stacks. Return: for 0 main and 1 a thread the bytes that calls had
    left, the outermost first."""
    out = w.run("record", "-q", "-p", "function_graph", "-e", "stack:stack_left", w.compile("deep", DEEP), *args).stdout.decode().split()
    return lefts(out)


def lefts(words):
    pairs = list(zip(words[::2], map(int, words[1::2])))
    return [[left for t, left in pairs if t == which] for which in ("0", "1")]


def stacks(lefts_of, below):
    """The rows of a watch: of the thread's calls with less than that left, each with its
    callers."""
    every = ["in_thread", *["down"] * 41, "leaf"]
    return [name for i, left in enumerate(lefts_of[1]) if left < below for name in every[:i + 2]]


def watched(rows):
    return [r[0] for r in rows if r[1] == -2]


def test_watch(w):
    """A watch logs the stack of each call that has too little left, as the program measures it,
    whatever the filters."""
    left = deep(w)
    assert len(left[0]) == 22 and len(left[1]) == 42 and left[1] == sorted(left[1], reverse=True), left
    seen = re.findall(r"stack_left: +(?:down|leaf) <-\S+ left=(\d+)", w.run("report").stdout.decode())
    assert sorted(map(int, seen)) == sorted(left[0] + left[1]), (seen, left)
    want = stacks(left, 30000)
    assert want.count("leaf") == 1 and want.count("in_thread") > 10
    out, rows = log(w, "begin watch stack 30000 end")
    assert watched(rows) == want, (watched(rows), want)
    first = next(i for i, r in enumerate(rows) if r[1] == -2)
    assert [r[3] for r in rows[first:first + 3]] == ["-", "in_thread", "down"] and len(rows) == len(want) + 69, (len(rows), rows)
    # the bytes themselves are not less than themselves
    _, rows = log(w, f"begin watch stack {left[1][30]} end")
    assert watched(rows) == stacks(left, left[1][30]) and rows
    for text in ("filter mintime 3000000", "filter onlyints", "filter funclist work fend", "untimed filter funclist work fend"):
        _, rows = log(w, f"begin watch stack 30000 {text} end")
        assert watched(rows) == want and {r[0] for r in rows if r[1] != -2} <= {"work"}, (text, rows)
    # a trigger is one at this entry, too
    _, rows = log(w, "begin trigger start entry leaf watch stack 30000 end")
    assert watched(rows) == stacks(left, left[1][40])[-43:], rows
    _, rows = log(w, "begin trigger stop entry leaf watch stack 30000 end")
    assert watched(rows) == want[:-43], rows
    said = w.run("kft", "-c", conf(w, "begin watch stack 100 end"), "-i", "trace.dat", "-o", "-")
    assert b"the watch logged no stack" in said.stderr and b" -2 " not in said.stdout, said
    conf(w, out, "deep.log")
    table = w.run("kd", "-f", "Fc", "deep.log").stdout.decode().split()[4:]
    assert dict(zip(table[::2], table[1::2]))["down"] == str(41 + 21), table


def test_worst_watch(w):
    """Each stack of worst-stack has less left than the one before it. A full log ends the run, or
    overwrites whole rows."""
    left = deep(w)
    alone = "filter funclist work fend"
    _, rows = log(w, f"begin watch worst-stack 30000 {alone} end")
    assert watched(rows) == stacks(left, 30000), rows
    _, rows = log(w, f"begin watch worst-stack {left[0][-1] + 1} {alone} end")
    # the thread ends before main's calls, which have more left than it had: they are not worse
    assert watched(rows)[-43:] == ["in_thread", *["down"] * 41, "leaf"] and "main" not in watched(rows), rows
    _, rows = log(w, f"begin watch stack {left[0][-1] + 1} {alone} end")
    assert watched(rows)[-24:] == ["main", "work", *["down"] * 21, "leaf"], rows
    # what comes again is not worse
    assert deep(w, "and", "again")[1] == left[1]
    _, rows = log(w, f"begin watch worst-stack 30000 {alone} end")
    assert watched(rows) == stacks(left, 30000), rows
    _, rows = log(w, f"begin watch stack 30000 {alone} end")
    assert watched(rows) == 2 * stacks(left, 30000), rows
    deep(w)
    out, rows = log(w, "begin watch stack 30000 filter onlyints logentries 50 end")
    assert watched(rows) == stacks(left, 30000)[:50] and "by buffer full" in out, out
    for size in (10, 43, 50):
        _, rows = log(w, f"begin watch stack 30000 filter onlyints overwrite logentries {size} end")
        assert watched(rows) == stacks(left, 30000)[-size:] and len(rows) == size, (size, rows)
    assert rows[-1][3] == "down", rows


def test_watch_of_a_program(w):
    """The watch is switched on in a program, and in a process that runs, where it ends with the
    run."""
    prog = w.compile("deep", DEEP)
    config = conf(w, "begin watch stack 30000 filter funclist work fend end")
    left = lefts(w.run("kft", "-c", config, prog).stdout.decode().split())
    with open(w.path("kft.log")) as f:
        names_of = re.findall(r"^ *\d+ +-2 +\d+   +(\S+)   ", f.read(), re.M)
    assert names_of == stacks(left, 30000), names_of
    with subprocess.Popen([prog, "again"], cwd=w.dir, env=w.env, stdout=subprocess.PIPE) as p:
        try:
            words = b" ".join(iter(p.stdout.readline, b"ready\n")).decode().split()
            whole = " ".join(stacks(lefts(words), 30000))
            pid = str(p.pid)
            w.run("kft", "-c", config, "-P", pid, "prime")
            status = lambda: w.run("kft", "-c", config, "-P", pid, "status").stdout.decode()   # noqa: E731
            assert "  watch stack 30000\n" in status()
            w.run("kft", "-c", config, "-P", pid, "start")
            until(lambda: int(status().split()[-1]) > 2 * len(names_of) + 100)
            w.run("kft", "-c", config, "-P", pid, "-o", "live.log", "stop")
            with open(w.path("live.log")) as f:
                live = re.findall(r"^ *\d+ +-2 +\d+   +(\S+)   ", f.read(), re.M)
            # the first and the last thread may be there in part
            assert whole in " ".join(live), (words, " ".join(live)[:3000])
            assert w.run("get", "-P", pid, "events/stack/stack_left/enable").stdout == b"0\n"
            # main is seen, too, though it ran before the engine came
            w.run("set", "-P", pid, "events/stack/stack_left/enable", "1")
            first = f"down <-work left={lefts(words)[0][0]} ".encode()
            until(lambda: first in w.run("get", "-P", pid, "trace").stdout, first)
        finally:
            p.kill()
    w.run("clean")


def test_process(w):
    """A running process can be primed, started and stopped, by hand or by a trigger, and is as
    before afterwards."""
    with subprocess.Popen([w.prog, "spin"], cwd=w.dir, env=w.env, stdout=subprocess.PIPE) as p:
        try:
            p.stdout.readline()
            pid = str(p.pid)
            by_hand = conf(w, "begin filter funclist mid leaf fend end")
            status = lambda c: w.run("kft", "-c", c, "-P", pid, "status").stdout.decode().splitlines()   # noqa: E731
            w.run("kft", "-c", by_hand, "-P", pid, "prime")
            assert status(by_hand)[:2] == ["status: run id 0, primed", "config:"]
            w.run("kft", "-c", by_hand, "-P", pid, "start")
            until(lambda: int(status(by_hand)[-1].split()[1]) > 10)
            assert status(by_hand)[0] == "status: run id 0, primed, triggered"
            w.run("kft", "-c", by_hand, "-P", pid, "-o", "hand.log", "stop")
            with open(w.path("hand.log")) as f:
                text = f.read()
            assert re.search("started at .* by user\n.*stopped at .* by user\n", text) and re.search(r" leaf   mid$", text, re.M), text[:600]
            assert status(by_hand)[0] == "status: run id 0, configured"
            assert b"is not primed" in w.run("kft", "-c", by_hand, "-P", pid, "start", status=125).stderr
            triggered = conf(w, "begin trigger start entry mid trigger stop exit mid end", "t.conf")
            wrong = conf(w, "begin trigger start entry leef end", "wrong.conf")
            said = w.run("kft", "-c", wrong, "-P", pid, "prime", status=125).stderr
            assert b"leef" in said and b"leaf" in said, said
            w.run("kft", "-c", triggered, "-P", pid, "prime")
            until(lambda: "complete" in status(triggered)[0])
            w.run("kft", "-c", triggered, "-P", pid, "-o", "t.log", "stop")
            rows = w.run("kd", "-f", "Fc", "t.log").stdout.decode().split()[4:]
            assert sorted(zip(rows[::2], rows[1::2])) == [("leaf", "2"), ("mid", "1")], rows
        finally:
            p.kill()
    w.run("clean")


def test_errors(w):
    """A wrong configuration is refused with its line, and so is an impossible one."""
    recorded(w)
    for text, said in (("end", b"begins with 'begin', not 'end'"), ("begin\ntrigger start\nentry f", b"line 3: a configuration ends with 'end'"),
                       ("begin trigger go", b"'start' or 'stop', not 'go'"), ("begin trigger stop entry", b"a function is wanted, not 'the end"),
                       ("begin trigger start time x end", b"number of microseconds"), ("begin\n\n filter slow end", b"line 3: a filter is"),
                       ("begin filter funclist a b end", b"ends with 'fend'"), ("begin filter funclist fend end", b"a function is wanted"),
                       ("begin watch stack x end", b"limit of a watch is a number of bytes"), ("begin\nwatch heap 1 end", b"line 2: a watch is of 'stack'"),
                       ("begin watch stack 0 end", b"less than 0 bytes"), ("begin watch stack 9 watch worst-stack 8 end", b"a second watch"),
                       ("begin watch stack 99999999999999 end", b"at most"), ("begin watch", b"'worst-stack', not 'the end of the file'"),
                       ("begin logentries 0 end", b"no entry"), ("begin end more", b"nothing is behind"),
                       ("begin logentries 99999999999 end", b"at most"), ("begin filter noints filter onlyints end", b"leave nothing"),
                       ("begin untimed filter mintime 3 end", b"have no time"), ("begin autorepeat end", b"without a trigger to stop"),
                       ("begin trigger start time 1 trigger start time 2 end", b"second trigger"), ("begin what end", b"an entry is"),
                       ("begin filter mintime 5 filter maxtime 4 end", b"leaves nothing"), ("begin trigger start entry 0x10 end", b"named by its path")):
        p = w.run("kft", "-c", conf(w, text), "-i", "trace.dat", status=125)
        assert said in p.stderr and p.stderr.count(b"\n") == 1, (text, p.stderr)
    ok = conf(w, "begin end")
    for args, said in ((["-i", "trace.dat"], b"-c FILE"), (["-c", ok], b"no program is named"), (["-c", ok, "-P", "1", "go"], b"there is one word"),
                       (["-c", "none.conf", "-i", "trace.dat"], b"cannot open 'none.conf'"), (["-c", ok, "-i", "trace.dat", "-o", "no/dir"], b"cannot write no/dir")):
        assert said in w.run("kft", *args, status=125).stderr, args


if __name__ == "__main__":
    main(globals())
