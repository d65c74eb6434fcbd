#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach finds a point in programs that change while it looks, and in those that are nearly always in code
that no file has."""
import os
import re
import subprocess
import time

from cli_test import BIN, Beside, main

# Says `ready` and does one thing, in its only thread, until SIGTERM ends it.
DOES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int over;
static volatile long n;
static void ends(int sig)
{
	over = sig;
}
static void spin(volatile int *until)
{
	while (!*until)
		n++;
}
static int is_traced(const char *status)
{
	char text[4096] = "", *at;
	FILE *f = fopen(status, "r");

	fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	at = strstr(text, "TracerPid:");
	return at && atoi(at + 10);
}
/* Its thread cannot be stopped, until attach has read the objects and has asked it to stop. */
static void wait_attach(void)
{
	int self = getpid();
	char status[64];

	snprintf(status, sizeof(status), "/proc/%d/status", self);
	if (!vfork()) {
		write(1, "ready\n", 6);
		while (getppid() == self && !is_traced(status))
			usleep(1000);
		_exit(0);
	}
}
int main(int argc, char **argv)
{
	const char *what = argv[1];
	struct timespec t;
	struct timeval v;

	signal(SIGTERM, ends);
	if (strcmp(what, "again") && strcmp(what, "execs") && strcmp(what, "loads")) {
		puts("ready");
		fflush(stdout);
	}
	if (!strcmp(what, "execs")) {
		wait_attach();
		execl("/proc/self/exe", argv[0], "again", NULL);
	}
	if (!strcmp(what, "loads")) {
		void (*fn)(volatile int *);
		void *library;

		wait_attach();
		library = dlopen(argv[2], RTLD_NOW);
		fn = (void (*)(volatile int *))dlsym(library, "spin");
		fn(&over);
	}
	if (!strcmp(what, "again"))
		spin(&over);
	if (!strcmp(what, "clock"))
		for (; !over; n++)
			clock_gettime(CLOCK_MONOTONIC, &t);
	if (!strcmp(what, "time"))
		for (; !over; n++)
			time(NULL);
	if (!strcmp(what, "gettimeofday"))
		for (; !over; n++)
			gettimeofday(&v, NULL);
	puts("over");
	return 0;
}
"""

LOADED = "void spin(volatile int *until) { static volatile long n; while (!*until) n++; }\n"


class Program(Beside):
    def __init__(self, w, *words):
        super().__init__(w, w.path("does"), *words, stderr=subprocess.STDOUT, text=True)
        self.is_ready()

    def end(self):
        self.p.terminate()
        out, _ = self.p.communicate(timeout=60)
        assert (self.p.returncode, out) == (0, "over\n"), (self.p.returncode, out)


def attach(w, pid, *words):
    """Attach, and see that the engine answers. Return: attempts, and seconds until it was there."""
    begun = time.monotonic()
    said = w.run("attach", "-v", *words, pid).stderr.decode()
    took = time.monotonic() - begun
    assert w.run("get", "-P", pid, "current_tracer").stdout == b"nop\n"
    return int(re.search(r"at attempt (\d+),", said).group(1)), took


def build(w):
    w.compile("library", LOADED, "-shared", "-fPIC", "-O2", "-fpatchable-function-entry=0")
    w.compile("does", DOES, "-O2", "-fpatchable-function-entry=0", "-ldl")


def test_executes_another_program(w):
    """A process that executes a program while attach looks for a point in it: the engine is in that
    program then."""
    build(w)
    for _ in range(3):
        with Program(w, "execs") as p:
            attach(w, p.pid)
            assert b"again" in open(f"/proc/{p.pid}/cmdline", "rb").read()
            p.end()
    w.run("clean")


def test_loads_a_library(w):
    """A thread that runs in an object that was loaded after attach had begun."""
    build(w)
    for _ in range(3):
        with Program(w, "loads", w.path("library")) as p:
            attach(w, p.pid)
            p.end()
    w.run("clean")


def test_just_started(w):
    """`PROGRAM & vestige attach $!` of a shell: its child has yet to execute the program, or its loader
    works. If the engine came into the shell's child it is gone with it, and attach comes a second time."""
    build(w)
    for _ in range(30):
        script = '"$0" again & trap "kill $!" EXIT; "$1" attach -q $! && "$1" get -P $! current_tracer'
        p = subprocess.run(["bash", "-c", script, w.path("does"), BIN], env=w.env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=100)
        assert "no thread" not in p.stderr and "glibc" not in p.stderr, p.stderr
        if p.returncode:
            print(f"     {p.stderr.strip()}")
    w.run("clean")


def test_in_the_vdso(w):
    """A thread that does nothing but ask for the time, in the kernel's vdso."""
    build(w)
    for how in "clock", "time", "gettimeofday":
        for _ in range(3):
            with Program(w, how) as p:
                tries, took = attach(w, p.pid)
                p.end()
            print(f"     {how}: attempt {tries}, {took * 1000:.0f} ms")
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
