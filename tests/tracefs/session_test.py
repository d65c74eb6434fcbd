# SPDX-License-Identifier: MIT
"""Shared by the tests of sessions: a program that starts copies of itself, and a session of it."""
import contextlib
import os
import subprocess

from mount_test import BIN, nm, until

ALL = "#### all functions enabled ####\n"

# Starts a copy of itself for each line `new`. A line `>TEXT` goes on to the youngest copy as TEXT.
# A number N calls mid() N times.
NEST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long sum;
#define FN __attribute__((noipa))
FN void leaf(int i) { sum += i; }
FN void mid(int i) { leaf(i); leaf(i + 1); }
int main(int argc, char **argv)
{
	char line[64];
	FILE *to = NULL;
	puts("ready"); fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "new\n")) {
			int p[2], both = pipe(p);
			if (both) return 1;
			if (!fork()) {
				dup2(p[0], 0); close(p[0]); close(p[1]);
				execv(argv[0], argv);
				_exit(1);
			}
			close(p[0]);
			if (to) fclose(to);
			to = fdopen(p[1], "w");
			continue;
		}
		if (line[0] == '>') { fputs(line + 1, to); fflush(to); continue; }
		for (int i = 0, n = atoi(line); i < n; i++) mid(i);
		puts(line); fflush(stdout);
	}
	if (to) fclose(to);
	while (wait(NULL) > 0) ;
	return 0;
}
"""


@contextlib.contextmanager
def session(w, name, boot="", prog=None):
    prog = prog or w.compile("nest", NEST)
    p = subprocess.Popen([BIN, "run", name, "--", *([prog] if isinstance(prog, str) else prog)], stdin=subprocess.PIPE, cwd=w.dir,
                         stdout=subprocess.PIPE, env=dict(w.env, VESTIGE_BOOT=boot))
    try:
        expect(p, b"ready")
        yield p
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()
        w.run("clean")


def failing(call, path):
    try:
        call(path)
    except OSError as e:
        return e.errno
    return 0


def send(p, line):
    p.stdin.write(line.encode() + b"\n")
    p.stdin.flush()


def expect(p, line):
    while (got := p.stdout.readline().strip()) != line:
        assert got == b"", got


def child_of(p, m, known=()):
    """Start another member; its pid."""
    send(p, "new")
    expect(p, b"ready")
    child, = until(lambda: {int(n) for n in os.listdir(m) if n.isdigit()} - {p.pid, *known})
    return child


def take(path, texts):
    with open(path, "rb", buffering=0) as f:
        while chunk := f.read(65536):
            texts.append(chunk)


def offset_of(prog, symbol):
    """The offset of @symbol in the file @prog, which is also its address in the file."""
    return "0x" + next(words[0] for words in nm(prog) if words[-1] == symbol)
