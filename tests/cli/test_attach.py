#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach: the engine comes into programs that were started without it. They say and return what
they do without, whatever they were in the middle of, and whenever the tool is killed."""
import contextlib
import os
import random
import re
import resource
import shutil
import subprocess
import time

from cli_test import BIN, Beside, Skip, children_of, main, state_of, until

# Says `ready`, does one thing until a line comes on stdin or it is over, and says what came of it.
DOES = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noinline))
static volatile int over;
static int mark;
static long counted;
FN long work(long n)
{
	double x = n;

	for (int i = 0; i < 100; i++)
		x = x * 1.0000001 + i;
	counted++;
	return (long)x;
}
static void *reader(void *arg)
{
	char c;

	if (read(0, &c, 1) >= 0)
		over = 1;
	return arg;
}
FN int allocates(void)
{
	unsigned long sum = 0, again = 0;
	long n = 0;

	for (; !over || !n; n++) {
		void *p = malloc((size_t)(n * 37 % 3000));
		char *s = strdup("a text");

		sum += (unsigned long)work(n) + strlen(s);
		free(p);
		free(s);
	}
	for (long i = 0; i < n; i++)
		again += (unsigned long)work(i) + 6;
	return printf("allocates %d\n", sum == again);
}
static void *one(void *arg) { return (void *)work((long)arg); }
static void *churner(void *arg)
{
	for (long n = 0; !over; n++) {
		pthread_t t;
		void *got;

		if (pthread_create(&t, NULL, one, (void *)n) || pthread_join(t, &got) || (long)got != work(n))
			return NULL;
	}
	return arg;
}
static int churns(int threads)
{
	pthread_t t[64];
	int good = 0;

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, churner, &mark);
	for (int i = 0; i < threads; i++) {
		void *got;

		pthread_join(t[i], &got);
		good += got == &mark;
	}
	return printf("threads %d\n", good);
}
static void *loops(void *arg)
{
	while (!over)
		work(1);
	return arg;
}
/* All of its threads were there before; main() leaves by pthread_exit(). */
static int ends(int threads, pthread_t waits)
{
	pthread_t t[8];

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, loops, &mark);
	puts("begun");
	fflush(stdout);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	pthread_join(waits, NULL);
	puts("ends");
	pthread_exit(NULL);
}
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static int newest(void)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	int tid = 0;

	while (d && (e = readdir(d)))
		tid = atoi(e->d_name) > tid ? atoi(e->d_name) : tid;
	if (d)
		closedir(d);
	return tid;
}
static void run_on(int pid, int cpu, int policy)
{
	const struct sched_param p = {.sched_priority = policy == SCHED_FIFO};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setscheduler(pid, policy, &p) || sched_setaffinity(pid, sizeof(set), &set))
		perror("run_on");
}
/*
 * A thread that gets no CPU time for 0.9 s before its first instruction: long enough for an attach,
 * and shorter than the 0.95 s of each second that the kernel leaves to SCHED_FIFO.
 */
static int is_born(int cpu, int busy, pthread_t waits)
{
	int end[2], pid = pipe(end) ? -1 : fork();
	pthread_t t;
	char c;

	if (!pid) {
		double until = now() + 0.9;

		run_on(0, busy, SCHED_FIFO);
		if (write(end[1], "x", 1) == 1)
			while (now() < until)
				;
		_exit(0);
	}
	if (pid < 0 || read(end[0], &c, 1) != 1)
		return 1;
	/* of this thread's priority, on its CPU, the new one waits */
	run_on(0, cpu, SCHED_FIFO);
	pthread_create(&t, NULL, loops, &mark);
	run_on(newest(), busy, SCHED_OTHER);
	run_on(0, cpu, SCHED_OTHER);
	puts("begun");
	fflush(stdout);
	pthread_join(t, NULL);
	pthread_join(waits, NULL);
	waitpid(pid, NULL, 0);
	puts("ends");
	pthread_exit(NULL);
}
static int forks(void)
{
	int good = 1;

	while (!over) {
		int status = 0, pid = fork();

		if (!pid)
			_exit(7);
		good &= waitpid(pid, &status, 0) == pid && status == 7 << 8;
	}
	return printf("forks %d\n", good);
}
static int waits(const char *how)
{
	struct timespec t = {4, 0};
	struct pollfd p = {.fd = 0, .events = POLLIN};
	int ret = -2, fd = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	double begun = now();
	char b;

	epoll_ctl(fd, EPOLL_CTL_ADD, 0, &e);
	if (!strcmp(how, "read"))
		ret = (int)read(0, &b, 1);
	else if (!strcmp(how, "poll"))
		ret = poll(&p, 1, -1);
	else if (!strcmp(how, "poll-time"))
		ret = poll(NULL, 0, 4000);
	else if (!strcmp(how, "nanosleep"))
		ret = nanosleep(&t, NULL);
	else if (!strcmp(how, "epoll"))
		ret = epoll_wait(fd, &e, 1, -1);
	else if (!strcmp(how, "select"))
		ret = select(0, NULL, NULL, NULL, &(struct timeval){4, 0});
	else if (!strcmp(how, "sem-time")) {
		sem_t s;

		sem_init(&s, 0, 0);
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec += 4;
		ret = sem_timedwait(&s, &t) ? errno == ETIMEDOUT ? 7 : -1 : 0;
	} else if (!strcmp(how, "cond")) {
		pthread_mutex_lock(&m);
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec += 4;
		ret = pthread_cond_timedwait(&c, &m, &t);
	} else if (!strcmp(how, "vfork")) {
		int status = 0, pid = vfork();

		if (!pid) {
			poll(NULL, 0, 1500);
			_exit(5);
		}
		ret = waitpid(pid, &status, 0) == pid ? status >> 8 : -1;
		while (read(0, &b, 1) < 0)
			;
	} else if (!strcmp(how, "wait")) {
		int status = 0, pid = fork();

		if (!pid)
			_exit(read(0, &b, 1) == 1 ? 5 : 6);
		ret = waitpid(pid, &status, 0) == pid ? status >> 8 : -1;
	}
	return printf("%s %d %s\n", how, ret, ret < 0 ? strerror(errno) : now() - begun >= (!strcmp(how, "vfork") ? 1.45 : 3.95) ? "late" : "soon");
}
int main(int argc, char **argv)
{
	pthread_t t;

	(void)argc;
	puts("ready");
	fflush(stdout);
	if (!strcmp(argv[1], "waits")) {
		waits(argv[2]);
	} else {
		pthread_create(&t, NULL, reader, NULL);
		if (!strcmp(argv[1], "allocates"))
			allocates();
		else if (!strcmp(argv[1], "churns"))
			churns(atoi(argv[2]));
		else if (!strcmp(argv[1], "ends"))
			ends(atoi(argv[2]), t);
		else if (!strcmp(argv[1], "is_born"))
			is_born(atoi(argv[2]), atoi(argv[3]), t);
		else if (!strcmp(argv[1], "forks"))
			forks();
		pthread_join(t, NULL);
	}
	printf("calls %d\n", counted > 0);
	return 0;
}
"""


class Program(Beside):
    def __init__(self, w, *words, **more):
        super().__init__(w, w.path("does"), *words, stderr=subprocess.STDOUT, text=True, **more)
        self.is_ready()

    def end(self, line="\n"):
        out, _ = self.p.communicate(line, timeout=60)
        return self.p.returncode, out


def has_engine(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return "libvestige.so" in f.read()


def still_ms(p):
    return float(re.search(r"stood still for ([0-9.]+) ms", p.stderr.decode()).group(1))


def test_is_traced(w):
    """Functions that were built with the flag, and events that need none, of a program that
    runs."""
    w.compile("does", DOES, "-O2")
    with Program(w, "allocates") as p:
        said = w.run("attach", "-v", p.pid)
        assert f"vestige start -P {p.pid}" in said.stderr.decode(), said.stderr
        assert b"already" in w.run("attach", p.pid).stderr
        w.run("start", "-P", p.pid, "-l", "work")
        until(lambda: b": work <-allocates" in w.run("show", "-P", p.pid).stdout)
        w.run("start", "-P", p.pid, "-p", "function_graph", "-l", "work")
        until(lambda: re.search(rb" us +\| +work\(\);", w.run("show", "-P", p.pid).stdout))
        w.run("start", "-P", p.pid, "-p", "nop", "-e", "kmem:kmalloc")
        until(lambda: b" kmalloc: call_site=" in w.run("show", "-P", p.pid).stdout)
        assert p.end() == (0, "allocates 1\ncalls 1\n")
    # `start` loads it where it is not
    with Program(w, "allocates") as p:
        assert b"was loaded" in w.run("start", "-P", p.pid, "-l", "work").stderr
        assert w.run("start", "-P", p.pid, "-l", "work").stderr == b""
        until(lambda: b": work <-allocates" in w.run("show", "-P", p.pid).stdout)
        assert p.end() == (0, "allocates 1\ncalls 1\n")
    w.run("clean")


def test_waits(w):
    """A thread that waits in the kernel waits on, as long as it would have."""
    w.compile("does", DOES, "-O2", "-fpatchable-function-entry=0")
    ways = {"read": "read 1", "poll": "poll 1", "poll-time": "poll-time 0 late", "nanosleep": "nanosleep 0 late",
            "epoll": "epoll 1", "select": "select 0 late", "sem-time": "sem-time 7 late", "cond": "cond 110 late",
            "wait": "wait 5", "vfork": "vfork 5 late"}
    programs = {}
    try:
        for how in ways:
            # not before it is its turn: some wait for a limited time
            p = programs[how] = Program(w, "waits", how)
            until(lambda p=p: state_of(p.pid) in "SD")
            w.run("attach", p.pid)
            assert p.p.poll() is None, how
            assert w.run("get", "-P", p.pid, "current_tracer").stdout == b"nop\n"
        for how, p in programs.items():
            status, out = p.end()
            assert status == 0 and out.startswith(ways[how]) and out.endswith("calls 0\n"), (how, status, out)
    finally:
        for p in programs.values():
            p.__exit__()
    w.run("clean")


def test_busy(w):
    """Programs that allocate, make threads and fork all the time: their results are as without."""
    w.compile("does", DOES, "-O2")
    stood = []
    for words, want in ((("allocates",), "allocates 1\n"), (("churns", "4"), "threads 4\n"),
                        (("churns", "60"), "threads 60\n"), (("forks",), "forks 1\n")):
        for _ in range(3):
            with Program(w, *words) as p:
                stood.append(still_ms(w.run("attach", "-v", p.pid)))
                time.sleep(0.05)
                status, out = p.end()
                assert status == 0 and out.startswith(want), (words, status, out)
        w.run("clean")
    print(f"a thread stood still for {min(stood):.1f} to {max(stood):.1f} ms, half of them below "
          f"{sorted(stood)[len(stood) // 2]:.1f}")


def test_threads_are_being_made(w):
    """Of stacks that are too large for libc's cache each thread gets new memory, with the values of
    the libraries that are there. Threads of which libc makes that memory while it loads the engine
    lack the engine's."""
    w.compile("does", DOES, "-O2")
    large = lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 26, 1 << 26))
    for n in range(24):
        with Program(w, "churns", "60", preexec_fn=large) as p:
            if n % 2:
                w.run("attach", p.pid)
            else:
                w.run("start", "-P", p.pid, "-p", "function_graph" if n % 4 else "function", "-l", "work")
            ended = p.end()
            assert ended[0] == 0 and ended[1].startswith("threads 60\n"), (n, ended)
        w.run("clean")


def waited_for_cpu():
    """Seconds since the machine's start in which some thread waited for a CPU; 0: the kernel does
    not say."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as f:
            return int(re.search(r"^some .*total=(\d+)", f.read(), re.M)[1]) / 1e6
    except OSError:
        return 0


def test_threads_end(w):
    """Those that were there before the engine: their ends are seen, and the process ends with the
    last of them, whatever thread loaded the engine."""
    w.compile("does", DOES, "-O2", "-fpatchable-function-entry=0")
    for _ in range(4):
        with Program(w, "ends", "4") as p:
            assert p.p.stdout.readline() == "begun\n"
            w.run("start", "-P", p.pid, "-p", "nop", "-e", "sched:sched_process_exit")
            assert b"threads that were there" not in w.run("get", "-P", p.pid, "vestige_status").stdout
            begun, waited = time.monotonic(), waited_for_cpu()
            # an agent that outlives main's pthread_exit() loses what exit() is to flush
            ended = p.end()
            assert ended == (0, "ends\n"), ended
            # the process waits 10 s for an agent that does not end
            assert time.monotonic() - begun < 9 + waited_for_cpu() - waited, "the agent kept the process"
            gone = re.findall(rb"sched_process_exit: .*pid=(\d+)", w.run("show", "-P", p.pid).stdout)
            assert len(set(gone)) == 6, gone
        w.run("clean")


# A thread of libc's for each tick of a timer.
TICKS = r"""
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
__attribute__((noipa)) void tick(union sigval v) { (void)v; __asm__ volatile(""); }
int main(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tick};
	struct itimerspec each = {{0, 1000000}, {0, 1000000}};
	timer_t timer;
	char c;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &each, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	return read(0, &c, 1) != 1;
}
"""


def test_threads_of_libc(w):
    """They were not there before the engine, so their ends take nothing from those that were."""
    with Beside(w, w.compile("ticks", TICKS), stdin=subprocess.PIPE) as r:
        assert r.p.stdout.readline() == b"ready\n"
        w.run("start", "-P", r.p.pid, "-l", "tick")
        for _ in range(3):
            before = w.run("show", "-P", r.p.pid).stdout.count(b": tick <-")
            until(lambda before=before: w.run("show", "-P", r.p.pid).stdout.count(b": tick <-") > before + 100)
        assert w.run("get", "-P", r.p.pid, "current_tracer").stdout == b"function\n"
        r.p.stdin.write(b"\n")
        r.p.stdin.flush()
        assert r.p.wait() == 0
    w.run("clean")


def test_a_thread_is_born(w):
    """A thread that has not run its first instruction when the engine comes: its end is seen,
    too."""
    cpus = sorted(os.sched_getaffinity(0))
    if os.geteuid() or len(cpus) < 2:
        raise Skip("needs root, for SCHED_FIFO, and two CPUs")
    w.compile("does", DOES, "-O2", "-fpatchable-function-entry=0")
    with Program(w, "is_born", *map(str, cpus[:2])) as p:
        assert p.p.stdout.readline() == "begun\n"
        w.run("start", "-P", p.pid, "-p", "nop", "-e", "sched:sched_process_exit")
        ended = p.end()
        assert ended == (0, "ends\n"), ended
        gone = re.findall(rb"sched_process_exit: .*pid=(\d+)", w.run("show", "-P", p.pid).stdout)
        assert len(set(gone)) == 3, gone
    w.run("clean")


def test_tool_is_killed(w):
    """At any moment of it: the program goes on as without, with the engine or not."""
    w.compile("does", DOES, "-O2")
    came = 0
    with Program(w, "allocates") as p:
        begun = time.monotonic()
        w.run("attach", p.pid)
        long = 1.2 * (time.monotonic() - begun)
        p.end()
    for _ in range(30):
        with Program(w, "allocates") as p:
            tool = subprocess.Popen([BIN, "attach", str(p.pid)], env=w.env, stderr=subprocess.DEVNULL)
            time.sleep(random.random() * long)
            tool.kill()
            tool.wait()
            time.sleep(0.02)
            came += has_engine(p.pid)
            assert p.p.poll() is None
            status, out = p.end()
            assert status == 0 and out.startswith("allocates 1\n"), (status, out)
    w.run("clean")
    print(f"the engine came {came} times of 30")


# Sets a filter that ends all calls but the ones that @rules ALLOW, and waits for a line.
FILTERED = r"""
import ctypes, struct, sys
class F(ctypes.Structure): _fields_ = [('nr', ctypes.c_ushort), ('code', ctypes.c_char_p)]
LD, JEQ, JSET, RET, ALLOW = 0x20, 0x15, 0x45, 6, 0x7fff0000
code = [(LD, 0, 0, 4), (JEQ, 1, 0, 0xc000003e), (RET, 0, 0, ALLOW)]
for nr, arg, bits, action in eval(sys.argv[1]):
    code += [(LD, 0, 0, 0), (JEQ, 0, 3 if bits else 1, nr)]
    code += [(LD, 0, 0, 16 + 8 * arg), (JSET, 0, 1, bits)] if bits else []
    code += [(RET, 0, 0, action)]
code += [(RET, 0, 0, ALLOW)]
code = b''.join(struct.pack('<HBBI', *i) for i in code)
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, ctypes.byref(F(len(code) // 8, code)), 0, 0)
print('ready', flush=True)
sys.stdin.readline()
print('right')
"""
KILL, FAIL = 0x80000000, 0x00050001


def test_seccomp(w):
    """Filters are read: with those that let the engine work it comes, with others it does not, and
    both programs go on."""
    if os.geteuid():
        raise Skip("filters are root's to read")
    for rules, forbidden in (((), None),
                             (((169, 0, 0, KILL), (101, 0, 0, FAIL)), None),                # reboot, ptrace
                             (((272, 0, 0, FAIL), (298, 0, 0, FAIL), (435, 0, 0, 0x50026)), None),  # unshare, perf, clone3
                             (((257, 0, 0, KILL),), "openat"), (((41, 0, 0, FAIL),), "socket"),
                             (((10, 2, 4, FAIL),), None), (((10, 2, 4, KILL),), "mprotect"),       # memory may not become code
                             (((10, 2, 4, FAIL), (319, 0, 0, FAIL)), "mprotect"),                  # nor be a memfd
                             (((9, 2, 4, KILL),), "mmap"),
                             (((272, 0, 0, KILL),), "unshare")):
        with subprocess.Popen(["/usr/bin/python3", "-c", FILTERED, repr(rules)], env=w.env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as p:
            assert p.stdout.readline() == "ready\n"
            said = w.run("attach", p.pid, status=1 if forbidden else 0).stderr.decode()
            if forbidden:
                assert f"seccomp filter that forbids what the engine needs ({forbidden})" in said, said
                assert "vestige run`: Operation not permitted\n" in said and not has_engine(p.pid)
            else:
                assert w.run("get", "-P", p.pid, "current_tracer").stdout == b"nop\n"
                w.run("detach", "-P", p.pid)
            assert p.communicate("\n", timeout=60)[0] == "right\n" and p.returncode == 0
    w.run("clean")


@contextlib.contextmanager
def below_root(w, program, words, before="mount -t proc proc ROOT/proc"):
    """@program, after its `ready`, below a chroot(), in a PID and mount namespace of its own, like
    a container. @before: a command for that namespace. Yield: the process with its pipes, its
    number here."""
    if os.geteuid():
        raise Skip("chroot() is root's")
    root = w.path("root")
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout)
    for path in [*libraries, program]:
        to = root + (path if path != program else "/does")
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
    for folder in "tmp", "dev/shm", "proc":
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    os.chmod(f"{root}/dev/shm", 0o1777)
    env = {k: v for k, v in w.env.items() if k != "VESTIGE_DIR"}
    script = f"{before.replace('ROOT', root)} && exec chroot {root} /does {' '.join(words)}"
    with subprocess.Popen(["unshare", "-p", "-f", "-m", "sh", "-c", script], env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        pid = children_of(p.pid)[0]
        assert re.search(r"^NSpid:\t\d+\t1$", open(f"/proc/{pid}/status").read(), re.M)
        yield p, pid
        assert os.listdir(f"{root}/tmp") == []
        said = p.communicate("\n", timeout=60)[0]
        assert (said, p.returncode) == (f"{words[0]} 1\ncalls 1\n", 0), (said, p.returncode)


@contextlib.contextmanager
def folder_of_all(w):
    """Without VESTIGE_DIR, which is for the test's processes alone: processes of other roots have
    another folder."""
    before = w.env
    w.env = {k: v for k, v in before.items() if k != "VESTIGE_DIR"}
    try:
        yield
    finally:
        w.env = before


def test_another_root(w):
    """With a /proc there; without one; and where no file can be made."""
    program = w.compile("does", DOES, "-O2")
    with below_root(w, program, ["allocates"]) as (_, pid):
        w.run("attach", pid)
        w.run("start", "-P", pid, "-l", "work")
        until(lambda: b": work <-allocates" in w.run("show", "-P", pid).stdout)
        # by its number here, and as the only one that there is, unless another program of this user
        # is traced, too
        files = w.run("ls", "-P", pid).stdout
        assert b"\ncurrent_tracer\n" in files, files
        with folder_of_all(w):
            alone = w.run("ls", status=None)
        assert alone.stdout == files or re.search(rb": \d+ traced processes live: name one", alone.stderr), alone
        w.run("detach", "-q", pid)
    with below_root(w, program, ["allocates"], "true") as (_, pid):
        w.run("attach", pid)
        w.run("start", "-P", pid, "-p", "nop", "-e", "kmem:kmalloc")
        until(lambda: b" kmalloc: call_site=" in w.run("show", "-P", pid).stdout)
        w.run("detach", "-q", pid)
    read_only = "mount --bind ROOT ROOT && mount -o remount,bind,ro ROOT"
    with below_root(w, program, ["allocates"], read_only) as (_, pid):
        said = w.run("attach", pid, status=1).stderr.decode()
        assert f"process {pid} has another root, and no folder below it (/tmp, /run, /var/tmp, /dev/shm) takes a file" in said, said
        assert re.search(r"copy /\S+/libvestige.so there, to the same path", said) and not has_engine(pid), said


def test_cgroup(w):
    """All processes of a group and of one below it, by its path and by its name."""
    w.compile("does", DOES, "-O2")
    roots = [r for r in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup") if os.access(r + "/cgroup.procs", os.W_OK)]
    if not roots:
        raise Skip("no control group can be made")
    name = f"vestige-test-{os.getpid()}.service"
    group = f"{roots[0]}/{name}"
    os.makedirs(f"{group}/below")
    programs = []
    try:
        for at in group, f"{group}/below":
            programs.append(Program(w, "allocates"))
            with open(f"{at}/cgroup.procs", "w", encoding="utf-8") as f:
                f.write(str(programs[-1].pid))
        for which in name, group:
            w.run("attach", "-q", "--cgroup", which)
            assert all(has_engine(p.pid) for p in programs)
        for p in programs:
            assert p.end() == (0, "allocates 1\ncalls 1\n")
        assert b"there is no process in" in w.run("attach", "--cgroup", name, status=1).stderr
    finally:
        for p in programs:
            p.__exit__()
        until(lambda: not any(open(f"{at}/cgroup.procs").read() for at in (group, f"{group}/below")))
        os.rmdir(f"{group}/below")
        os.rmdir(group)
    assert b"no control group nosuch" in w.run("attach", "--cgroup", "nosuch.service", status=1).stderr
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
