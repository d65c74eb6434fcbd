#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach finds a point in programs that change while it looks, and in those that are nearly always
in code that no file has."""
import re
import subprocess
import time

from cli_test import BIN, Beside, main

# Says `ready` and does one thing, in its only thread, until SIGTERM ends it.
DOES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
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
/*
 * (rdi: a word that ends it, rsi: a function): counts down, calls the function, begins again. No frame
 * pointer, no unwind tables.
 */
static unsigned char code[] = {
	0x53, 0x41, 0x54, 0x50,        /* push %rbx; push %r12; push %rax */
	0x48, 0x89, 0xf3,              /* mov %rsi,%rbx */
	0x49, 0x89, 0xfc,              /* mov %rdi,%r12 */
	0xb9, 0x40, 0x0d, 0x03, 0x00,  /* mov $200000,%ecx */
	0xff, 0xc9, 0x75, 0xfc,        /* dec %ecx; jne */
	0xff, 0xd3,                    /* call *%rbx */
	0x41, 0x83, 0x3c, 0x24, 0x00,  /* cmpl $0,(%r12) */
	0x74, 0xee,                    /* je, to the mov of %ecx */
	0x58, 0x41, 0x5c, 0x5b, 0xc3,  /* pop %rax; pop %r12; pop %rbx; ret */
};
static void (*made)(volatile int *, pid_t (*)(void));
static pid_t nothing(void)
{
	return 0;
}
static void ready(void)
{
	puts("ready");
	fflush(stdout);
}
static void in_handler(int sig)
{
	ready();
	made(&over, nothing);
	(void)sig;
}
static int under_lock(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	ready();
	made(&over, nothing);
	(void)info;
	(void)bytes;
	return arg == NULL;
}
static void make(const char *what)
{
	int fd = strstr(what, "memfd") ? memfd_create("made", 0) : -1;
	void *at;

	if (strstr(what, "leaves"))
		code[26] = code[27] = 0x90;
	if (fd >= 0)
		ftruncate(fd, 4096);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	memcpy(at, code, sizeof(code));
	made = (void (*)(volatile int *, pid_t (*)(void)))at;
}
int main(int argc, char **argv)
{
	const char *what = argv[1];
	struct timespec t;
	struct timeval v;

	signal(SIGTERM, ends);
	if (strcmp(what, "again") && strcmp(what, "execs") && strcmp(what, "loads") &&
	    strcmp(what, "handler") && strcmp(what, "lock"))
		ready();
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
	make(what);
	if (!strncmp(what, "made", 4))
		for (; !over; n++)
			made(&over, strstr(what, "calls") ? getppid : nothing);
	signal(SIGUSR1, in_handler);
	if (!strcmp(what, "handler"))
		raise(SIGUSR1);
	if (!strcmp(what, "lock"))
		dl_iterate_phdr(under_lock, NULL);
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
    """`PROGRAM & vestige attach $!` of a shell: its child has yet to execute the program, or its
    loader works. If the engine came into the shell's child it is gone with it, and attach comes a
    second time."""
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


def test_in_made_code(w):
    """A thread that is nearly always in code that the program has made, as JIT compilers do: it
    calls libc now and then, or nothing, and leaves that code now and then, or never."""
    build(w)
    for how in "made", "made-calls", "made-leaves", "made-leaves-calls", "made-memfd", "made-memfd-calls":
        refused = 0
        for _ in range(3):
            with Program(w, how) as p:
                said = w.run("attach", "-v", "--wait", "2", p.pid, status=None).stderr.decode()
                # a stack may have the address of a call that has returned; another one seldom has
                # it, too
                refused += "has left its address on the stack" in said
                assert "at attempt" in said or "has left its address on the stack" in said, said
                p.end()
        assert refused < 2, how
    w.run("clean")


def test_made_code_above_a_lock(w):
    """Made code that was called from a signal handler, which may have come amid malloc(), or from a
    function that holds the loader's lock: refused, with what to do, and the program goes on."""
    build(w)
    for how, why in (("handler", "signal handler"), ("lock", "a function that may hold a lock has called")):
        with Program(w, how) as p:
            said = w.run("attach", "--wait", "1", p.pid, status=1).stderr.decode()
            assert "code that no file has" in said and why in said and "vestige run" in said, said
            p.end()


if __name__ == "__main__":
    raise SystemExit(main(globals()))
