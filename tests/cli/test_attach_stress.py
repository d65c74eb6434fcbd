#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach and detach, many times and in bad moments: programs print and return what they do without.
STRESS=20, as `make soak` has it: 200 attaches of each program, 500 tools that are killed, 2,000
times on and off."""
import os
import random
import signal
import subprocess
import time

from cli_test import BIN, main
from test_attach import DOES, Program, below_root

STRESS = int(os.environ.get("STRESS", "0"))
ROUNDS, KILLS, TOGGLES = (10 * STRESS, 25 * STRESS, 100 * STRESS) if STRESS else (3, 12, 20)

# What is in the middle of something nearly always.
MORE = DOES.replace("int main(int argc", r"""
#include <dlfcn.h>
#include <sys/prctl.h>
static int dlopens(void)
{
	int good = 1;

	while (!over) {
		void *lib = dlopen(DLOPENED, RTLD_NOW);
		int (*fn)(int) = lib ? (int (*)(int))dlsym(lib, "twice") : NULL;

		good &= fn && fn(21) == 42 && !dlclose(lib);
	}
	return printf("dlopens %d\n", good);
}
/* Executes itself, for as long as its input is open. */
static int execs(char **argv)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	char left[16];
	long n = strtol(argv[2], NULL, 10);

	if (poll(&p, 1, 0) || !n)
		return printf("execs\n");
	for (int i = 0; i < 2000; i++)
		work(i);
	snprintf(left, sizeof(left), "%ld", n + 1);
	return execl("/proc/self/exe", argv[0], "execs", left, NULL);
}
static int vforks(void)
{
	int good = 1;

	while (!over) {
		int status = 0, pid = vfork();

		if (!pid)
			_exit(7);
		good &= waitpid(pid, &status, 0) == pid && status == 7 << 8;
	}
	return printf("vforks %d\n", good);
}
int main(int argc""").replace('puts("ready");', 'if (strcmp(argv[1], "execs") || !strcmp(argv[2], "1")) puts("ready");').replace(
    'if (!strcmp(argv[1], "waits")) {', r"""if (!strcmp(argv[1], "execs")) {
		execs(argv);
		return 0;
	}
	if (!strcmp(argv[1], "mdwe")) {
		if (prctl(65, 1, 0, 0, 0))
			puts("no MDWE");
		argv[1] = "allocates";
	}
	if (!strcmp(argv[1], "waits")) {""").replace('else if (!strcmp(argv[1], "forks"))', r"""else if (!strcmp(argv[1], "dlopens"))
			dlopens();
		else if (!strcmp(argv[1], "vforks"))
			vforks();
		else if (!strcmp(argv[1], "exits")) {
			while (now() - begun < 0.02)
				work(1);
			puts("exits");
			exit(0);
		}
		else if (!strcmp(argv[1], "forks"))""").replace("pthread_t t;\n\n\t(void)argc;", "pthread_t t;\n\tdouble begun = now();\n\n\t(void)argc;")

WAYS = {("allocates",): "allocates 1\n", ("dlopens",): "dlopens 1\n", ("churns", "4"): "threads 4\n", ("churns", "64"): "threads 64\n",
        ("forks",): "forks 1\n", ("vforks",): "vforks 1\n", ("mdwe",): "allocates 1\n", ("execs", "1"): "execs\n"}


def build(w):
    w.compile("lib", "int twice(int n) { return 2 * n; }\n", "-shared", "-fPIC", "-O2", "-fpatchable-function-entry=0")
    w.compile("does", MORE, "-O2", "-fpatchable-function-entry=0", f'-DDLOPENED="{w.path("lib")}"', "-ldl")


def once(w, pid, must):
    """The engine comes, traces, and sleeps. Without @must the process may have become another."""
    status = 0 if must else None
    w.run("attach", "-q", pid, status=status)
    w.run("start", "-P", pid, "-p", random.choice(("function", "function_graph")), "-l", "work", status=None)
    w.run("detach", "-q", pid, status=status)


def test_again_and_again(w):
    """Programs that allocate, load objects, make threads, fork, vfork, exec, and one whose memory
    may not become executable."""
    build(w)
    for words, want in WAYS.items():
        with Program(w, *words) as p:
            for _ in range(ROUNDS):
                once(w, p.pid, words[0] != "execs")
            status, out = p.end()
            assert status == 0 and out.startswith(want), (words, status, out)
    w.run("clean")


def test_new_each_time(w):
    """The engine comes into a program that has none: one that loads objects, one that makes
    threads, and one that ends meanwhile."""
    build(w)
    for words, want in ((("dlopens",), "dlopens 1\n"), (("churns", "64"), "threads 64\n"), (("exits",), "exits\n")):
        for _ in range(ROUNDS):
            with Program(w, *words) as p:
                once(w, p.pid, words[0] != "exits")
                status, out = p.end() if words[0] != "exits" else (p.p.wait(), p.p.stdout.read())
                assert status == 0 and out.startswith(want), (words, status, out)
            w.run("clean")


def test_waits_on(w):
    """Programs that wait in the kernel: without a time limit, in which the engine comes and sleeps
    again and again, and with one, a program for each time."""
    build(w)
    for how, want in (("read", "read 1"), ("poll", "poll 1"), ("epoll", "epoll 1"), ("wait", "wait 5")):
        with Program(w, "waits", how) as p:
            for _ in range(ROUNDS):
                once(w, p.pid, True)
            status, out = p.end()
            assert status == 0 and out.startswith(want), (how, status, out)
    for how, want in (("poll-time", "poll-time 0 late"), ("nanosleep", "nanosleep 0 late"), ("select", "select 0 late"),
                      ("sem-time", "sem-time 7 late"), ("cond", "cond 110 late"), ("vfork", "vfork 5 late")):
        for _ in range(ROUNDS):
            with Program(w, "waits", how) as p:
                once(w, p.pid, False)  # it may be over on a slow machine
                status, out = p.end()
                assert status == 0 and out.startswith(want), (how, status, out)
        w.run("clean")


def test_stopped(w):
    """A program that is stopped at any moment of attach, start and detach: each does its work or is
    refused, and it goes on as without."""
    build(w)
    with Program(w, "allocates") as p:
        for n in range(ROUNDS):
            tool = subprocess.Popen([BIN, *(["attach"], ["start", "-l", "work", "-P"], ["detach"])[n % 3], str(p.pid)], env=w.env,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.random() / 20)
            os.kill(p.pid, signal.SIGSTOP)
            time.sleep(random.random() / 20)
            os.kill(p.pid, signal.SIGCONT)
            assert tool.wait(60) in (0, 1)
        once(w, p.pid, True)
        status, out = p.end()
        assert status == 0 and out.startswith("allocates 1\n"), (status, out)
    w.run("clean")


def test_below_root(w):
    """A program of another root and PID namespace, with and without a /proc there."""
    build(w)
    for before in "mount -t proc proc ROOT/proc", "true":
        with below_root(w, w.path("does"), ["allocates"], before) as (_, pid):
            for _ in range(ROUNDS):
                once(w, pid, True)


def test_tool_is_killed(w):
    """SIGKILL at any moment of attach, of start and of detach: the program goes on as without, and
    the next tool does its work."""
    build(w)
    for words, want in ((("allocates",), "allocates 1\n"), (("churns", "4"), "threads 4\n")):
        done = 0
        with Program(w, *words) as p:
            begun = time.monotonic()
            w.run("attach", "-q", p.pid)
            long = 1.2 * (time.monotonic() - begun)
            p.end()
        while done < KILLS // 2:
            with Program(w, *words) as p:
                for what in (["attach"], ["start", "-l", "work", "-P"], ["start", "-p", "function_graph", "-l", "work", "-P"], ["detach"]):
                    tool = subprocess.Popen([BIN, *what, str(p.pid)], env=w.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    time.sleep(random.random() * long)
                    tool.kill()
                    tool.wait()
                    done += 1
                    assert p.p.poll() is None, what
                once(w, p.pid, True)
                status, out = p.end()
                assert status == 0 and out.startswith(want), (words, status, out)
            # many areas of the dead, and engines would remove the oldest and note that they did
            w.run("clean")


def test_toggles(w):
    """More than 2,600 functions of python3 on and off, and the jumps to their islands in and out,
    while four threads run in them and a timer's handler, too."""
    script = ("import ctypes, json, re, signal, sys, threading\n"
              "over, right = [], []\n"
              "sys.setswitchinterval(0.0001)\n"
              "def work():\n"
              "    n = bad = 0\n"
              "    while not over:\n"
              "        bad += json.loads(json.dumps({'a': [n, 'x']}))['a'][0] != n or re.sub('a+', 'b', 'caat') != 'cbt'\n"
              "        n += 1\n"
              "    right.append(not bad)\n"
              "signal.signal(signal.SIGPROF, lambda *_: None)\n"
              "signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)\n"
              "threads = [threading.Thread(target=work) for _ in range(4)]\n"
              "for t in threads: t.start()\n"
              "print('ready', flush=True)\n"
              "toggles = int(sys.stdin.readline())\n"
              "# file_write of struct vestige_api (include/vestige/vestige.h)\n"
              "api = ctypes.CDLL(None).vestige_api_1\n"
              "call = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)\n"
              "write = call(ctypes.c_void_p.from_address(ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(None), 'vestige_api_1')) + 16).value)\n"
              "def put(file, text):\n"
              "    n = write(file.encode(), text.encode(), len(text), 1)\n"
              "    assert n == len(text), (file, text, n)\n"
              "for n in range(toggles):\n"
              "    put('current_tracer', ('function', 'function_graph')[n // 7 % 2] if n % 2 == 0 else 'nop')\n"
              "    if n % 20 == 19: put('vestige_attached', '0')\n"
              "signal.setitimer(signal.ITIMER_PROF, 0)\n"
              "print('toggled', flush=True)\n"
              "over.append(1)\n"
              "for t in threads: t.join()\n"
              "print('right', len(right), all(right))\n")
    with subprocess.Popen([os.path.realpath("/usr/bin/python3"), "-c", script], env=w.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        w.run("attach", "-q", p.pid)
        w.run("set", "-P", p.pid, "buffer_size_kb", "64")
        total = w.run("get", "-P", p.pid, "available_filter_functions").stdout.count(b"\n")
        assert total > 2600, total
        out, _ = p.communicate(f"{TOGGLES}\n", timeout=36000)
        assert (p.returncode, out) == (0, "toggled\nright 4 True\n"), (p.returncode, out[-2000:])
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
