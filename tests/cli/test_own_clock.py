#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A program, or a library like libfaketime before libc, that has a clock_gettime() of its own: the
engine does not call it, and stamps are the machine's."""
import re
import time

from cli_test import main

LIES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noipa)) void work(void) { __asm__ volatile(""); }
static int asked;
int clock_gettime(clockid_t clock, struct timespec *t)
{
	asked++;
	(void)clock;
	t->tv_sec = 1;
	t->tv_nsec = 5;
	return 0;
}
static void show(void) { fprintf(stderr, "asked %d times\n", asked); }
__attribute__((constructor(101))) static void first(void) { atexit(show); } /* the last function at exit */
int main(void) { work(); work(); return 0; }
"""
LIBRARY = r"""
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *t) { (void)clock; t->tv_sec = 1; t->tv_nsec = 5; return 0; }
"""
PLAIN = r"""
__attribute__((noipa)) void work(void) { __asm__ volatile(""); }
int main(void) { work(); work(); return 0; }
"""


def check(w, *command):
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    p = w.run("record", "-q", "-p", "function", "-l", "work", "-o", "t.dat", "--", *command)
    end = time.clock_gettime(time.CLOCK_MONOTONIC)
    report = w.run("report", "t.dat").stdout.decode()
    stamps = [float(s) for s in re.findall(r"([0-9.]+): function: +work", report)]
    assert len(stamps) == 2 and begin <= stamps[0] <= stamps[1] <= end, (begin, stamps, end)
    return p.stderr.decode()


def test_program(w):
    assert "asked 0 times" in check(w, w.compile("lies", LIES))


def test_library(w):
    library = w.compile("lies.so", LIBRARY, "-shared", "-fPIC", "-fpatchable-function-entry=0")
    check(w, "sh", "-c", 'LD_PRELOAD="$1 $LD_PRELOAD" exec "$2"', "sh", library, w.compile("plain", PLAIN))


if __name__ == "__main__":
    main(globals())
