#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Return probes at functions that were built without any flag and that nothing has traced before:
the probe alone makes their calls seen. Hits are the returns that the program counts."""
import os
import re
import signal
import subprocess

from cli_test import BIN, Beside, compiled, main, until

PLAIN = ("-fpatchable-function-entry=0", "-O2")

# Each line that it reads makes it do something, and it prints the numbers of returns.
RETURNS = r"""
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN extern "C" __attribute__((noipa))
extern "C" long in_library(long n);
struct nr { long plain, middle, leaps, library, outer; } *nr;
static volatile int over;
static thread_local jmp_buf back;
static long counts[4];
FN long plain(long n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
FN long middle(long n) { if (n & 1) throw n; return plain(n) + 1; }
FN long leaps(long n) { if (n & 1) longjmp(back, 1); return plain(n) + 2; }
FN long outer(long n) { return plain(n) + in_library(n); }
FN long sleeps(long us) { return usleep((unsigned)us) + us; }
FN void *caller(void) { return __builtin_return_address(0); }
__asm__(".text\n.p2align 4,0xcc\n.type looped,@function\n.globl looped\nlooped: .cfi_startproc\naddl $1,%eax\n"
	"decq %rdi\njns looped\nmovl $1,%eax\nret\n.cfi_endproc\n.size looped,.-looped\n");
extern "C" long looped(long n);
static long wrong;
static void *spin(void *arg)
{
	long *n = (long *)arg;

	for (; !over; ++*n) {
		wrong += plain(*n) != *n * 3;
		try {
			wrong += middle(*n) != *n * 3 + 1 || *n & 1;
		} catch (long at) {
			wrong += at != *n;
		}
		if (!setjmp(back))
			wrong += leaps(*n) != *n * 3 + 2 || *n & 1;
		wrong += outer(*n) != *n * 3 + *n + 7;
	}
	return nullptr;
}
int main()
{
	char line[64];
	pthread_t t[3];

	puts("ready");
	while (fflush(stdout), fgets(line, sizeof(line), stdin)) {
		struct nr n = {};

		if (!strcmp(line, "spin\n")) {
			over = 0;
			for (int i = 0; i < 3; i++)
				pthread_create(&t[i], nullptr, spin, &counts[i]);
		} else if (!strcmp(line, "stop\n")) {
			over = 1;
			for (int i = 0; i < 3; i++)
				pthread_join(t[i], nullptr);
		} else if (!strcmp(line, "slow\n")) {
			sleeps(40000);
		} else if (!strcmp(line, "fork\n")) {
			int status;

			if (!fork()) {
				for (volatile long i = 0; i < 5; i = i + 1)
					wrong += plain(i) != i * 3;
				_exit((int)wrong);
			}
			wait(&status);
			wrong += status != 0;
		} else {
			for (volatile long i = 0; i < 20; i = i + 1) {
				n.plain += plain(i) == i * 3;
				try {
					n.middle += middle(i) == i * 3 + 1;
					n.plain++;
				} catch (long) {
				}
				if (!setjmp(back)) {
					n.leaps += leaps(i) == i * 3 + 2;
					n.plain++;
				}
				n.outer += outer(i) == i * 3 + i + 7;
				n.plain++;
				n.library++;
			}
			wrong += caller() == nullptr || looped(3) != 1;
		}
		printf("plain %ld middle %ld leaps %ld in_library %ld outer %ld wrong %ld\n", n.plain, n.middle, n.leaps,
		       n.library, n.outer, wrong);
	}
	return 0;
}
"""

NAMES = "plain", "middle", "leaps", "in_library", "outer"


def build(w, branches="none"):
    """@branches: full: each function begins with endbr64."""
    flags = (*PLAIN, "-fcf-protection=" + branches)
    with open(w.path("own.c"), "w", encoding="utf-8") as f:
        f.write("long in_library(long n) { return n + 7; }\n")
    compiled(["cc", "-shared", "-fPIC", *flags, "own.c"], "libown.so", cwd=w.dir)
    with open(w.path("returns.cc"), "w", encoding="utf-8") as f:
        f.write(RETURNS)
    compiled(["g++", *flags, "returns.cc", "-L.", "-lown", "-Wl,-rpath," + w.dir, "-lpthread"], "returns", cwd=w.dir)


class Program(Beside):
    def __init__(self, w, *words, **more):
        super().__init__(w, *words, **more)
        self.w = w
        self.is_ready()

    def say(self, line):
        """Return: the program's numbers."""
        self.p.stdin.write(line.encode() + b"\n")
        self.p.stdin.flush()
        said = self.p.stdout.readline().decode()
        found = {name: int(n) for name, n in re.findall(r"(\w+) (-?\d+)", said)}
        assert found.pop("wrong") == 0, said
        return found

    def get(self, name):
        return self.w.run("get", "-P", self.pid, name).stdout.decode()

    def set(self, name, text, *flags, status=0):
        return self.w.run("set", "-P", self.pid, *flags, name, text, status=status).stderr.decode()

    def hits(self):
        """{probe: (hits, missed)}"""
        return {n: (int(h), int(m)) for n, h, m in re.findall(r"(\S+) +(\d+) +(\d+)", self.get("kprobe_profile"))}

    def end(self):
        self.p.communicate(timeout=60)
        assert self.p.returncode == 0, self.p.returncode


def code_of(pid, name):
    """The code of an object as memory has it. Behind its end attach writes."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        lo, hi = next([int(n, 16) for n in line.split()[0].split("-")] for line in f if f"/{name}" in line and " r-xp " in line)
    with open(f"/proc/{pid}/mem", "rb") as f:
        f.seek(lo)
        return f.read(hi - lo).rstrip(b"\0")


def test_hits(w):
    """Each return is a hit, with its value; calls that longjmp() or an exception leaves are none.
    At last all code is as before."""
    for branches in "none", "full":
        build(w, branches)
        check_hits(w)


def check_hits(w):
    with Program(w, "./returns") as p:
        before = {name: code_of(p.pid, name) for name in ("returns", "libown.so")}
        w.run("attach", "-q", p.pid)
        assert not p.get("enabled_functions")
        # at the same entry, before anything has redirected the function
        p.set("dynamic_events", "p:entry/e plain n=$arg1:s64")
        p.set("events/entry/enable", "1")
        for name in NAMES:
            p.set("dynamic_events", f"r:x/{name} {name} v=$retval:s64 n=$arg1:s64", "-a")
        p.set("events/x/enable", "1")
        assert set(re.findall(r"^\w+", p.get("enabled_functions"), re.M)) == set(NAMES), p.get("enabled_functions")
        p.set("events/x/outer/trigger", "stacktrace")
        done = p.say("round")
        hits = p.hits()
        assert hits.pop("e") == (done["plain"], 0), (hits, done)
        p.set("events/entry/enable", "0")
        p.set("dynamic_events", "-:entry/e", "-a")
        assert {n: h for n, (h, _) in hits.items()} == done and min(done.values()) >= 10, (p.hits(), done)
        text = p.get("trace")
        values = re.findall(r" middle: \(.*\) v=(\d+) n=(\d+)", text)
        assert values == [(str(3 * n + 1), str(n)) for n in range(0, 20, 2)], values
        assert " => main" in text and " in_library: (outer+0x" in text, text[-3000:]
        for tracer in "function_graph", "nop", "function", "nop":
            p.set("current_tracer", tracer)
            was, done = p.hits(), p.say("round")
            assert {n: h - was[n][0] for n, (h, _) in p.hits().items()} == done, (tracer, was, p.hits(), done)
        # a child's hits are its own
        was = p.hits()
        p.say("fork")
        assert p.hits() == was
        p.set("events/x/enable", "0")
        p.set("events/x/outer/trigger", "!stacktrace")
        for name in NAMES:
            p.set("dynamic_events", f"-:x/{name}", "-a")
        assert not p.get("enabled_functions") and not p.get("dynamic_events")
        p.say("round")
        w.run("detach", "-q", p.pid)
        assert all(code_of(p.pid, name).startswith(code) for name, code in before.items())
        # the engine wakes again, and a probe with it
        p.set("kprobe_events", "r:again plain")
        p.set("events/kprobes/again/enable", "1")
        done = p.say("round")
        assert p.hits() == {"again": (done["plain"], 0)}, p.hits()
        p.end()
    w.run("clean")


def test_load(w):
    """Probes come and go, and a graph with them, while three threads run in the functions."""
    build(w)
    with Program(w, "./returns") as p:
        before = code_of(p.pid, "returns")
        w.run("attach", "-q", p.pid)
        p.set("buffer_size_kb", "64")
        p.say("spin")
        for i in range(8):
            for name in NAMES:
                p.set("dynamic_events", f"r:x/{name} {name} v=$retval", "-a")
            p.set("events/x/enable", "1")
            if i % 3 == 1:
                p.set("current_tracer", "function_graph")
            until(lambda: all(p.hits().get(n, (0, 0))[0] > 10 for n in NAMES))
            if i & 1:
                p.set("events/x/enable", "0")
            p.set("current_tracer", "nop")
            p.set("events/x/enable", "0")
            p.set("dynamic_events", "", status=0)
            assert not p.get("dynamic_events")
            if i == 5:
                w.run("detach", "-q", p.pid)
                assert code_of(p.pid, "returns").startswith(before), p.get("vestige_status")
        p.say("stop")
        p.end()
    w.run("clean")


def test_refused(w):
    """Where calls cannot be wrapped, the errno is the kernel's, and error_log has the reason."""
    build(w)
    with Program(w, "./returns") as p:
        w.run("attach", "-q", p.pid)
        for name, why in (("looped", "no return probe: the function's entry cannot be redirected: a branch leads back to its start"),
                          ("caller", "no return probe: the function uses its return address"),
                          ("libc.so.6:write", "no return probe: no function of its object is traced; a filter FUNC:mod:OBJECT may")):
            said = p.set("dynamic_events", f"r:x/y {name}", status=1)
            assert "Invalid argument" in said, said
            assert f"trace_kprobe: error: {why}" in p.get("error_log") and why in p.get("vestige_status"), p.get("error_log")
            p.set("dynamic_events", f"p:x/y {name}")
            p.set("dynamic_events", "")
            if ":" in name:
                continue
            said = w.run("record", "--flight", "1s", "--on", f"call({name})>1ms", "-P", p.pid, status=125).stderr.decode()
            assert name in said and why in said, said
        # named by a filter, the object is traced, and so the returns of its functions
        p.set("set_ftrace_filter", "write:mod:libc.so.6")
        p.set("dynamic_events", "r:x/y libc.so.6:write $retval:s32")
        p.set("events/x/enable", "1")
        p.say("round")
        assert p.hits()["y"][0] == 1 and " y: (" in p.get("trace"), p.get("trace")
        p.say("round")
        p.end()
    w.run("clean")


def test_flight(w):
    """A slow call triggers, in a program that runs and in one that record starts."""
    for branches in "none", "full":
        build(w, branches)
        check_flight(w)


def check_flight(w):
    words = ["record", "--flight", "0.5s", "--after", "0.1s", "--on", "call(sleeps)>20ms", "-p", "function_graph"]
    with Program(w, "./returns") as p:
        with Beside(w, BIN, *words, "-P", p.pid, stderr=subprocess.PIPE) as r:
            said = r.p.stderr.readline().decode()
            while "waiting for" not in said:
                assert said and "cannot" not in said, said
                said = r.p.stderr.readline().decode()
            p.say("round")
            p.say("slow")
            until(lambda: os.path.exists(w.path("trace-1.dat")))
            r.p.send_signal(signal.SIGINT)
            said = r.p.communicate()[1].decode()
            assert "call(sleeps)>20ms" in said and r.p.returncode == 0, said
        assert "sleeps" in w.counts("trace-1.dat"), w.counts("trace-1.dat")
        assert not p.get("dynamic_events")
        p.end()
    os.unlink(w.path("trace-1.dat"))
    w.run("clean")
    for more in [], ["--unmodified"]:
        p = w.run(*words, "-o", "new.dat", *more, "--", "./returns", input=b"round\nslow\nround\n")
        assert p.stdout.count(b" wrong 0\n") == 3 and b"wrote new-1.dat" in p.stderr, p
        assert "sleeps" in w.counts("new-1.dat"), w.counts("new-1.dat")
        os.unlink(w.path("new-1.dat"))


if __name__ == "__main__":
    main(globals())
