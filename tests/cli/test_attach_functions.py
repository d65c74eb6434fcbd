#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach: functions that were built without any flag, switched on while threads run in them. What
the programs print is as without."""
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

from cli_test import BIN, Beside, children_of, main, need, until

PLAIN = "-fpatchable-function-entry=0"

# Threads are nearly always among the first instructions of a function, by themselves or where a
# handler goes back to: the jump would replace three of them.
FILLS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#define F(n) __asm__(".text\n.p2align 4,0xcc\n.type fill" #n ",@function\n.globl fill" #n "\nfill" #n ":\n" \
	".cfi_startproc\npushq %rbx\n.cfi_adjust_cfa_offset 8\nmovq %rdx,%rcx\nrep stosb\nmovl $" #n ",%eax\n" \
	"popq %rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size fill" #n ",.-fill" #n "\n"); \
	long fill##n(void *to, long unused, long bytes);
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4)
ALL(F)
#define P(n) fill##n,
static long (*const fills[])(void *, long, long) = {ALL(P)};
#define NR (sizeof(fills) / sizeof(*fills))
static volatile int over;
static long loops[4];
__attribute__((noinline)) void in_handler(int sig)
{
	char some[64];

	(void)sig;
	fills[3](some, 0, sizeof(some));
}
static void *work(void *arg)
{
	static __thread unsigned char bytes[4096];
	long *n = arg, k, got, wrong = 0;

	for (; !over; ++*n)
		for (k = 0; k < (long)NR; k++) {
			memset(bytes, 1, 16);
			__asm__ volatile("" : : : "memory");
			got = fills[k](bytes, 0, sizeof(bytes));
			wrong += got != 10 * (1 + k / 8) + k % 8 || bytes[0] != bytes[4095];
		}
	return (void *)wrong;
}
int main(void)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	struct sigaction sa = {.sa_handler = in_handler, .sa_flags = SA_RESTART};
	pthread_t t[4];
	void *wrong;
	long sum = 0;
	char c;

	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, &loops[i]);
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) >= 0)
		over = 1;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &wrong);
		sum += (long)wrong;
	}
	printf("wrong %ld\n", sum);
	return 0;
}
"""

# Handlers that sleep above such an instruction: only what the kernel has saved on the stack shows
# where the thread goes back to.
SLEEPS = FILLS.replace("\tfills[3](some, 0, sizeof(some));\n", "\tfills[3](some, 0, sizeof(some));\n\tusleep(4000);\n")

# Calls that a stop ends with EINTR, unless they are begun again.
WAITS = FILLS.replace("static volatile int over;", r"""
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
static volatile int over;
static void *polls(void *arg)
{
	int fd = epoll_create1(0);
	struct epoll_event e;
	long ended = 0;

	while (!over)
		ended += epoll_wait(fd, &e, 1, 100) < 0 && errno == EINTR;
	printf("epoll_wait %ld\n", ended);
	return arg;
}
static void *sigwaits(void *arg)
{
	long ended = 0;
	sigset_t none;

	sigemptyset(&none);
	while (!over)
		ended += sigtimedwait(&none, NULL, &(struct timespec){0, 100000000}) < 0 && errno == EINTR;
	printf("sigtimedwait %ld\n", ended);
	return arg;
}
""").replace("sigaction(SIGPROF", r"""
	pthread_t p[2];

	pthread_create(&p[0], NULL, polls, NULL);
	pthread_create(&p[1], NULL, sigwaits, NULL);
	sigaction(SIGUSR2""").replace("setitimer(ITIMER_PROF, &often, NULL);", "(void)often;").replace(
    "\tfor (int i = 0; i < 4; i++) {", "\tpthread_join(p[0], NULL);\n\tpthread_join(p[1], NULL);\n"
    "\tfor (int i = 0; i < 4; i++) {")

# A call that waits for a child with the same memory: such a thread cannot be stopped.
VFORKS = r"""
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) long often(long n)
{
	volatile long a[4] = {n, 2, 3};

	return a[n & 3] + 1;
}
static void *waits(void *arg)
{
	char c;
	int status, pid = vfork();

	if (!pid)
		_exit(read(0, &c, 1) == 1 ? 5 : 9);
	waitpid(pid, &status, 0);
	printf("status %d\n", status >> 8);
	fflush(stdout);
	return arg;
}
int main(void)
{
	pthread_t t;
	long n = 0;

	pthread_create(&t, NULL, waits, NULL);
	puts("ready");
	fflush(stdout);
	pthread_join(t, NULL);
	while (!poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 1))
		n ^= often(n);
	return n == 12345678;
}
"""


# Each call adds one to a number in a file, which outlives a kill, after the call's record was made.
COUNTS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long *number;
__attribute__((noinline, noclone)) void counted(void)
{
	*number = *number + 1;
}
int main(void)
{
	int fd = open("number", O_RDWR);

	number = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (number == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	while (access("go", 0))
		;
	for (;;)
		counted();
}
"""


class Program(Beside):
    def __init__(self, w, *words):
        super().__init__(w, *words, stderr=subprocess.STDOUT)
        self.is_ready()

    def end(self):
        out, _ = self.p.communicate(b"\n", timeout=60)
        return self.p.returncode, out.decode()


def enabled(w, pid):
    return {line.split()[0] for line in w.run("get", "-P", pid, "enabled_functions").stdout.decode().splitlines()}


def test_threads_are_in_them(w):
    """32 functions are redirected while four threads run in them, and a signal's handler goes back
    to them."""
    fills = {f"fill{a}{b}" for a in range(1, 5) for b in range(8)}
    w.compile("fills", FILLS, PLAIN, "-O2", "-fcf-protection=none")
    with Program(w, "./fills") as p:
        w.run("start", "-P", p.pid, "-l", "fill*")
        assert enabled(w, p.pid) == fills, enabled(w, p.pid)
        until(lambda: b": fill13 <-in_handler" in w.run("show", "-P", p.pid).stdout)
        for _ in range(5):
            w.run("start", "-P", p.pid, "-p", "function_graph", "-l", "fill*", "-l", "in_handler")
            w.run("start", "-P", p.pid, "-p", "function", "-l", "fill1*")
        w.run("start", "-P", p.pid, "-p", "function_graph", "-l", "fill*", "-l", "in_handler")
        until(lambda: re.search(rb"in_handler\(\) \{\n.* us .* fill13\(\);\n", w.run("show", "-P", p.pid).stdout))
        assert p.end() == (0, "wrong 0\n")
    w.run("clean")


def test_handlers_sleep_above_them(w):
    """The same where nearly all threads are in handlers, from which they go back to such
    functions."""
    fills = {f"fill{a}{b}" for a in range(1, 5) for b in range(8)}
    w.compile("fills", SLEEPS, PLAIN, "-O2", "-fcf-protection=none")
    for _ in range(3):
        with Program(w, "./fills") as p:
            w.run("start", "-P", p.pid, "-l", "fill*")
            assert enabled(w, p.pid) == fills, enabled(w, p.pid)
            until(lambda: b": fill13 <-in_handler" in w.run("show", "-P", p.pid).stdout)
            assert p.end() == (0, "wrong 0\n")
        w.run("clean")


def text_of(pid, program):
    """The program's code as memory has it, and the words of its tables."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        parts = [line.split() for line in f if program in line]
    ranges = [[int(n, 16) for n in p[0].split("-")] for p in parts if p[1] in ("r-xp", "r--p")]
    with open(f"/proc/{pid}/mem", "rb") as f:
        return {lo: f.seek(lo) and f.read(hi - lo).rstrip(b"\0") for lo, hi in ranges}


def is_as(pid, program, before):
    """Whether both are as before. Behind the code, where the file has zeros, attach has written."""
    now = text_of(pid, program)
    return now.keys() == before.keys() and all(now[at].startswith(before[at]) for at in now)


def has_calls(w, pid):
    """The buffer is full in no time: a reader sees calls when recording stands still."""
    w.run("stop", "-P", pid)
    return b"fill" in w.run("show", "-P", pid).stdout or w.run("restart", "-P", pid) is None


def test_detach(w):
    """The program's code and tables are as they were, while its threads run in them; the engine
    wakes again, and again."""
    fills = {f"fill{a}{b}" for a in range(1, 5) for b in range(8)}
    w.compile("fills", FILLS, PLAIN, "-O2", "-fcf-protection=none")
    with Program(w, "./fills") as p:
        before = text_of(p.pid, "/fills")
        threads = os.listdir(f"/proc/{p.pid}/task")
        w.run("attach", p.pid)
        w.run("set", "-P", p.pid, "buffer_size_kb", "64")
        for n in range(4):
            tracer = "function_graph" if n & 1 else "function"
            w.run("start", "-P", p.pid, "-p", tracer, "-l", "fill*")
            assert enabled(w, p.pid) == fills
            until(lambda: has_calls(w, p.pid))
            assert w.run("get", "-P", p.pid, "vestige_attached").stdout == b"1\n"
            if n == 3:
                w.run("start", "-P", p.pid, "-B", "more", "-p", "nop", "-e", "syscalls:*")
                w.run("set", "-P", p.pid, "kprobe_events", "p:mine fill12")
            assert not is_as(p.pid, "/fills", before)
            w.run("detach", "-q", p.pid)
            assert is_as(p.pid, "/fills", before)
            assert w.run("get", "-P", p.pid, "vestige_attached").stdout == b"0\n"
            assert enabled(w, p.pid) == set()
            if n == 2:
                assert b"awake again" in w.run("attach", p.pid).stderr
                assert w.run("get", "-P", p.pid, "vestige_attached").stdout == b"1\n"
        assert len(os.listdir(f"/proc/{p.pid}/task")) == len(threads) + 1
        assert p.end() == (0, "wrong 0\n")
    w.run("clean")


def kill_helpers(pid, threads, over, killed):
    """Every second child that the process has made by a thread that is not one of its own."""
    seen = []
    while not over:
        for tid in set(os.listdir(f"/proc/{pid}/task")) - threads:
            try:
                children = children_of(pid, tid)
            except OSError:   # the thread has ended
                continue
            for child in set(children) - set(seen):
                seen.append(child)
                if len(seen) % 2:
                    try:
                        os.kill(child, signal.SIGKILL)
                        killed.append(child)
                    except ProcessLookupError:
                        pass


def number_of(w):
    with open(w.path("number"), "rb") as f:
        return int.from_bytes(f.read(8), "little")


def test_program_is_killed(w):
    """SIGKILL at any moment of a record: the area has each call before it, and of the call that it
    was in at most the record of its entry."""
    w.compile("counts", COUNTS, PLAIN, "-O2")
    for n, tracer in enumerate(("function", "function_graph") * 4):
        with open(w.path("number"), "wb") as f:
            f.write(bytes(8))
        with Program(w, "./counts") as p:
            w.run("attach", "-q", p.pid)
            w.run("set", "-P", p.pid, "buffer_size_kb", "65536")
            w.run("set", "-P", p.pid, "options/overwrite", "0")
            w.run("start", "-P", p.pid, "-p", tracer, "-l", "counted")
            with open(w.path("go"), "wb"):
                until(lambda: number_of(w))
            time.sleep(0.0007 * n)
            p.p.kill()
            p.p.wait()
            w.run("extract", "-P", p.pid, "-o", "killed.dat")
        os.unlink(w.path("go"))
        lost = re.findall(r"^(?:overrun|dropped events): (\d+)$", w.run("report", "--stat", "killed.dat").stdout.decode(), re.M)
        assert lost and not any(map(int, lost)), lost
        out = w.run("report", "killed.dat").stdout.decode()
        calls = len(re.findall(r": (?:function|funcgraph_entry): .*counted", out))
        assert calls - number_of(w) in (0, 1), (tracer, calls, number_of(w))
    w.run("clean")


def writable_code(pid):
    """Mappings of a process that are writable and executable at once."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return [line for line in f if line.split()[1][1:3] == "wx"]


def test_text_is_closed(w):
    """No memory of the process is writable and executable when a change of its text is over:
    redirects, probes amid functions, libraries' calls, for engines that came at start or later."""
    w.compile("fills", FILLS, PLAIN, "-O2", "-fcf-protection=none")
    steps = [("start", "-p", "function", "-l", "fill*"), ("start", "-p", "function_graph", "-l", "fill1*"),
             ("set", "dynamic_events", "p:amid fill30+4"), ("set", "events/kprobes/amid/enable", "1"),
             ("set", "set_event", "syscalls:*"), ("set", "events/kprobes/amid/enable", "0"), ("set", "current_tracer", "nop")]
    with Program(w, "./fills") as p:
        w.run("attach", "-q", p.pid)
        assert not writable_code(p.pid), writable_code(p.pid)
        for _ in range(2):
            for command, *words in steps:
                w.run(command, "-P", p.pid, *words)
                assert not writable_code(p.pid), (command, words, writable_code(p.pid))
            w.run("detach", "-q", p.pid)
            assert not writable_code(p.pid), writable_code(p.pid)
        assert p.end() == (0, "wrong 0\n")
    w.run("clean")


def test_helper_is_killed(w):
    """The child that stops the threads and writes the jumps dies by SIGKILL: all threads go on, and
    another one does its work."""
    fills = {f"fill{a}{b}" for a in range(1, 5) for b in range(8)}
    w.compile("fills", FILLS, PLAIN, "-O2", "-fcf-protection=none")
    over, killed = [], []
    with Program(w, "./fills") as p:
        threads = set(os.listdir(f"/proc/{p.pid}/task"))
        w.run("attach", p.pid)
        killer = threading.Thread(target=kill_helpers, args=(p.pid, threads, over, killed))
        killer.start()
        try:
            for _ in range(20):
                w.run("start", "-P", p.pid, "-l", "fill*")
                w.run("detach", "-q", p.pid)
                if len(killed) >= 3:
                    break
        finally:
            over.append(1)
            killer.join()
        assert killed
        w.run("start", "-P", p.pid, "-l", "fill*")
        assert enabled(w, p.pid) == fills, enabled(w, p.pid)
        assert p.end() == (0, "wrong 0\n")
    w.run("clean")
    print(f"{len(killed)} were killed")


def test_waits_go_on(w):
    """Threads that wait are stopped once for each function that is new, and see nothing of it."""
    w.compile("waits", WAITS, PLAIN, "-O2", "-fcf-protection=none")
    with Program(w, "./waits") as p:
        for n in range(8):
            w.run("start", "-P", p.pid, "-l", f"fill1{n}", "-l", f"fill2{n}")
        assert enabled(w, p.pid) == {"fill17", "fill27"}, enabled(w, p.pid)
        status, out = p.end()
        assert status == 0 and set(out.splitlines()) == {"epoll_wait 0", "sigtimedwait 0", "wrong 0"}, (status, out)
    w.run("clean")


# A thread that waits counts the handler's runs and the waits that a handler has ended.
ENDED_WAITS = r"""
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#define F(n) __attribute__((noipa)) int f##n(int i) { return i + n; }
F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(20) F(21) F(22) F(23) F(24) F(25) F(26) F(27)
static volatile int runs;
static void handler(int sig) { (void)sig; runs++; }
int main(void)
{
	struct sigaction act = {.sa_handler = handler};
	struct epoll_event e;
	int fd = epoll_create1(0), n = 0;

	sigaction(SIGUSR1, &act, NULL);
	dprintf(1, "ready\n");
	while (epoll_wait(fd, &e, 1, -1) < 0 && errno == EINTR)
		dprintf(1, "%d %d\n", ++n, runs);
	return 1;
}
"""


def test_a_handler_ends_a_wait(w):
    """A signal that comes while a stop ends, before the thread runs again, ends its wait as any
    other. The thread has a low priority on a busy CPU. What the kernel itself loses stays: where it
    takes the CPU from the thread between its look for signals and the call that begins again."""
    w.compile("ended", ENDED_WAITS, PLAIN, "-O2")
    cpu, lost = min(os.sched_getaffinity(0)), 0
    hog = subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass"])
    p = subprocess.Popen(["./ended"], cwd=w.dir, env=w.env, stdout=subprocess.PIPE, text=True)
    try:
        assert p.stdout.readline() == "ready\n"
        w.run("attach", p.pid)
        os.sched_setaffinity(p.pid, [cpu])
        os.setpriority(os.PRIO_PROCESS, p.pid, 10)
        for n in range(16):
            w.run("start", "-P", p.pid, "-l", f"f{1 + n // 8}{n % 8}")
            os.kill(p.pid, signal.SIGUSR1)
            if select.select([p.stdout], [], [], 5)[0]:
                assert p.stdout.readline() == f"{n + 1 - lost} {n + 1}\n"
            else:
                lost += 1
    finally:
        for q in hog, p:
            q.kill()
            q.wait()
        p.stdout.close()
    w.run("clean")
    assert lost <= 2, f"{lost} of 16 signals have not ended the wait"


# Calls zlib in four threads; it is loaded before a line comes, or then. A second line ends it.
ZIPS = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int over;
static int (*compresses)(void *, unsigned long *, const void *, unsigned long);
static int (*uncompresses)(void *, unsigned long *, const void *, unsigned long);
static void *work(void *arg)
{
	char text[600], packed[1200], back[600];
	unsigned long bytes, n, wrong = 0;

	for (unsigned int i = 0; !over; i++) {
		for (n = 0; n < sizeof(text); n++)
			text[n] = (char)(n * i % 251);
		bytes = sizeof(packed);
		wrong += compresses(packed, &bytes, text, sizeof(text)) != 0;
		n = sizeof(back);
		wrong += uncompresses(back, &n, packed, bytes) || memcmp(text, back, sizeof(text));
	}
	return (void *)(wrong + (unsigned long)arg);
}
static void begin(pthread_t *t)
{
	void *z = dlopen("libz.so.1", RTLD_NOW);

	*(void **)&compresses = dlsym(z, "compress");
	*(void **)&uncompresses = dlsym(z, "uncompress");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, NULL);
}
int main(int argc, char **argv)
{
	pthread_t t[4];
	unsigned long sum = 0;
	char line[64];
	void *wrong;

	(void)argv;
	if (argc == 1)
		begin(t);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (argc > 1)
		begin(t);
	puts("works");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	over = 1;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &wrong);
		sum += (unsigned long)wrong;
	}
	printf("wrong %lu\n", sum);
	return 0;
}
"""


def test_libraries_of_the_system(w):
    """A library of a system folder is traced from when a filter names it, in whichever way the
    engine came: one that is there, and one that dlopen() brings later."""
    w.compile("zips", ZIPS, PLAIN, "-O2", "-ldl")
    for later in ([], ["later"]):
        for attached in True, False:
            with Program(w, *([] if attached else [BIN, "run", "--unmodified", "zips", "--"]), "./zips", *later) as p:
                pid = p.pid
                if attached:
                    w.run("attach", "-q", pid)
                    assert b"compress" not in w.run("get", "-P", pid, "available_filter_functions").stdout
                w.run("start", "-P", pid, "-p", "function_graph", "-l", "compress*:mod:libz*", "-l", "uncompress:mod:libz*")
                p.p.stdin.write(b"\n")
                p.p.stdin.flush()
                assert p.p.stdout.readline() == b"works\n"
                until(lambda p=pid: {"compress", "uncompress"} <= enabled(w, p))
                until(lambda p=pid: b"uncompress [libz" in w.run("show", "-P", p).stdout)
                # not functions of other libraries, nor a word that takes away
                assert b"pthread_join" not in w.run("get", "-P", pid, "available_filter_functions").stdout
                w.run("set", "-P", pid, "set_ftrace_notrace", "*:mod:libc.so*")
                assert b"pthread_join" not in w.run("get", "-P", pid, "available_filter_functions").stdout
                w.run("start", "-P", pid, "-p", "function", "-l", "*:mod:libz*")
                assert len(enabled(w, pid)) > 60, enabled(w, pid)
                if attached:
                    w.run("detach", "-q", pid)
                    w.run("start", "-P", pid, "-p", "function", "-l", "deflate:mod:libz*")
                    assert enabled(w, pid) == {"deflate"}, enabled(w, pid)
                assert p.end() == (0, "wrong 0\n")
    w.run("clean")


def test_files_that_were_replaced(w):
    """The names of a program and a library whose files are gone or others by now, as after an
    upgrade, are the names of the files that the process has."""
    w.compile("zips", ZIPS, PLAIN, "-O2", "-ldl")
    shutil.copy("/usr/lib/x86_64-linux-gnu/libz.so.1", w.path("libz.so.1"))
    with Program(w, "env", f"LD_LIBRARY_PATH={w.dir}", "./zips") as p:
        w.run("start", "-P", p.pid, "-p", "function", "-l", "compress", "-l", "work")
        os.unlink(w.path("zips"))
        w.compile("libz.so.new", "int another;\n", "-shared", "-fPIC")
        os.rename(w.path("libz.so.new"), w.path("libz.so.1"))
        until(lambda: b": compress <-work\n" in w.run("show", "-P", p.pid).stdout)
        assert not w.run("show", "-P", p.pid).stderr
        p.p.stdin.write(b"\n")
        p.p.stdin.flush()
        assert p.p.stdout.readline() == b"works\n"
        assert p.end() == (0, "wrong 0\n")
    w.run("clean")


def test_a_thread_cannot_stop(w):
    """It is named; what one store changes is traced even so, and the rest when it goes on."""
    w.compile("vforks", VFORKS, PLAIN, "-O2", "-fcf-protection=none")
    with Program(w, "./vforks") as p:
        until(lambda: any(children_of(p.pid, t) for t in os.listdir(f"/proc/{p.pid}/task")))
        w.run("start", "-P", p.pid, "-l", "often", "-l", "main")
        said = w.run("get", "-P", p.pid, "vestige_status").stdout.decode()
        assert re.search(r"left out: thread \d+ did not", said), said
        before = enabled(w, p.pid)
        p.p.stdin.write(b"\n")
        p.p.stdin.flush()
        assert p.p.stdout.readline() == b"status 5\n"
        w.run("start", "-P", p.pid, "-l", "often", "-l", "main")
        assert enabled(w, p.pid) == {"often", "main"} > before, (before, enabled(w, p.pid))
        until(lambda: b": often <-main" in w.run("show", "-P", p.pid).stdout)
        assert p.end() == (0, "")
    w.run("clean")


def test_walks_its_stacks(w):
    """node: the graph has no function of it, and start says why."""
    need("node")
    with Beside(w, "node", "-e", "console.log('ready'); setInterval(() => JSON.stringify([...'cab'].sort()), 1)") as p:
        assert p.p.stdout.readline() == b"ready\n"
        w.run("attach", "-q", p.pid)
        said = w.run("start", "-P", p.pid, "-p", "function_graph").stderr.decode()
        assert "can follow no function of the program" in said and "V8 finds its callers by return addresses" in said, said
        assert w.run("start", "-P", p.pid, "-p", "function").stderr == b""
    w.run("clean")


def test_python(w):
    """A program of the system, with its libraries outside of the system's folders."""
    script = ("import json, re, sys, threading\n"
              "over, sums = [], []\n"
              "def work():\n"
              "    n = 0\n"
              "    while not over:\n"
              "        n += json.loads(json.dumps({'a': [n, 'x']}))['a'][0] == n and re.sub('a+', 'b', 'caat') == 'cbt'\n"
              "        sums.append(n)\n"
              "        del sums[:-4]\n"
              "threads = [threading.Thread(target=work) for _ in range(3)]\n"
              "for t in threads: t.start()\n"
              "print('ready', flush=True)\n"
              "sys.stdin.readline()\n"
              "over.append(1)\n"
              "for t in threads: t.join()\n"
              "print('right', all(sums))\n")
    python = os.path.realpath("/usr/bin/python3")
    with Program(w, python, "-c", script) as p:
        for tracer in "function", "function_graph", "function", "function_graph":
            w.run("start", "-P", p.pid, "-p", tracer)
            until(lambda: b"PyObject_" in w.run("show", "-P", p.pid).stdout)
        assert len(enabled(w, p.pid)) > 3000
        w.run("start", "-P", p.pid, "-p", "nop")
        assert p.end() == (0, "right True\n")
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
