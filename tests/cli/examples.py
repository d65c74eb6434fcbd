# SPDX-License-Identifier: MIT
"""Shared by the tests of the manual (test_examples.py: the manual pages, test_book.py: the pages of
docs/): a folder with the programs and recordings that examples name, and the lines that this
machine cannot run."""
import glob
import os
import re
import shutil

from cli_test import BIN

SOURCE = os.environ["SOURCE_DIR"]
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static int spin;
FN void parse_blank(void)
{
	/* long enough for samples */
	for (clock_t begin = clock(); !spin && clock() - begin < CLOCKS_PER_SEC / 4;)
		;
	usleep(100);
}
FN void parse_file(void) { parse_blank(); }
FN void parse(void) { parse_file(); }
FN void *heap_alloc(void) { return malloc(100); }
FN void malloc_consolidate(void) { free(heap_alloc()); }
FN void give_up(void) {}
FN int read_all(void) { return (int)write(1, "", 0); }
FN void handle(void) { parse(); malloc_consolidate(); read_all(); }
FN void handle_request(void) { handle(); give_up(); }
FN void processCommand(void) { handle_request(); }
int main(int argc, char **argv)
{
	spin = argc > 1 && !strcmp(argv[1], "spin");
	if (argc > 1 && !strcmp(argv[1], "once"))
		printf("%p\n", heap_alloc());
	do
		processCommand();
	while (spin);
	return 0;
}
"""


def missing(line):
    """A program that is missing on this machine, or an action that it forbids."""
    for tool in ("dot", "trace-cmd", "g++", "make", "sqlite3"):
        if re.search(rf"(^|[|&(]\s*){re.escape(tool)} ", line) and not shutil.which(tool):
            return tool
    if re.search(r"^vestige .* -k\b", line) and not os.access("/sys/kernel/tracing/events/sched", os.R_OK):
        return "tracefs"
    return None


def tool(w, name, text):
    path = w.path("bin/" + name)
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n" + text + "\n")
    os.chmod(path, 0o755)


def prepare(w, prog):
    """A folder with what examples name, as if made before."""
    os.mkdir(w.path("bin"))
    os.symlink(BIN, w.path("bin/vestige"))
    for name in ("flamegraph.pl", "less"):
        tool(w, name, "exec cat")
    for name in ("prog", "program", "server", "heap"):
        shutil.copy(prog, w.path(name))
    for name in ("a.cc", "b.cc"):
        with open(w.path(name), "w", encoding="ascii") as f:
            f.write("int main() { return 0; }\n" if name == "a.cc" else "int b() { return 1; }\n")
    with open(w.path("Makefile"), "w", encoding="ascii") as f:
        f.write("made: a.cc b.cc\n\tg++ $(CXXFLAGS) $^ $(LDFLAGS) -o $@\n")
    for path in glob.glob(f"{SOURCE}/docs/examples/trace/*.py"):
        shutil.copy(path, w.dir)
    w.run("record", "-q", "-p", "function_graph", "-e", "sched", "--", "./prog")
    for name in ("before.dat", "after.dat", "old.dat", "new.dat", "host.dat", "guest.dat", "now.dat"):
        shutil.copy(w.path("trace.dat"), w.path(name))
    w.run("convert", "-q", "trace.dat", "trace.json")
    w.run("record", "-q", "--native", "-o", "trace.dat.spool.1234", "--", "./prog")
    with open(w.path("kft.conf"), "w", encoding="ascii") as f:
        f.write("begin end")
    w.run("kft", "-c", "kft.conf", "-o", "kft.log", "./prog", status=None)
