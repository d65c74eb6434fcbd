#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record --libcall records the calls of a program into its libraries with the arguments and results
that ltrace shows, and the errors that strace shows."""
import collections
import errno
import os
import re
import shutil
import subprocess

from cli_test import compiled, main, need, until
from test_attach_functions import Program

CALLS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **a)
{
	static char text[100];
	char name[64] = "";
	long k;
	int fd = open("/etc/passwd", O_RDONLY), other = open((const char *)8, O_WRONLY);

	k = read(fd, name, 4);
	close(fd);
	memset(text, 'y', sizeof(text) - 1);
	setenv("NAME", text, 1);
	for (int i = 0; i < 3 * n; i++)
		free(strdup(getenv("NAME")));
	puts("said");
	return k != 4 || other != -1 || a[n];
}
"""

# Ways out of a call other than its return, and calls within calls. It knows itself what is right.
JUMPS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static jmp_buf back;
static int compare(const void *x, const void *y)
{
	if (*(const int *)x == 3)
		longjmp(back, 1);
	return *(const int *)x - *(const int *)y;
}
static void handler(int s)
{
	(void)s;
	getenv("IN");
}
int tail(const char *s)
{
	return puts(s);
}
static void *thread(void *a)
{
	for (int i = 0; i < 1000; i++)
		free(strdup("x"));
	pthread_exit(a);
}
int main(void)
{
	int v[8] = {5, 4, 3, 9, 1}, st, good = 1;
	pthread_attr_t attr;
	pthread_t t[4];
	pid_t p;

	for (int i = 0; i < 300; i++)
		if (!setjmp(back)) {
			qsort(v, 8, 4, compare);
			good = 0;
		}
	signal(SIGALRM, handler);
	for (int i = 0; i < 50; i++) {
		char *s;

		raise(SIGALRM);
		s = strdup("abc");
		good &= !strcmp(s, "abc");
		free(s);
	}
	good &= access("/nowhere", 0) == -1 && errno == ENOENT;
	p = fork();
	if (!p)
		_exit(access("/", 0) ? 4 : 3);
	good &= waitpid(p, &st, 0) == p && WEXITSTATUS(st) == 3;
	p = vfork();
	if (!p)
		_exit(5);
	good &= waitpid(p, &st, 0) == p && WEXITSTATUS(st) == 5;
	good &= dlsym(RTLD_NEXT, "puts") && dlopen(NULL, RTLD_NOW);
	pthread_attr_init(&attr);
	for (int i = 0; i < 4; i++)
		good &= !pthread_create(&t[i], &attr, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	tail("tail");
	return printf("good %d\n", good) == 7 ? 0 : 1;
}
"""
RETURNS = {"fork": 2, "raise": 50, "signal": 1, "strdup": 4050, "strcmp": 50, "getenv": 50, "pthread_create": 4, "pthread_join": 4, "access": 2, "waitpid": 2,
           "puts": 1, "printf": 1}

MANY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *args[] = {"true", NULL}, path[4096];
	int fd = open("/dev/null", O_RDONLY), st;
	pid_t p;

	isatty(fd);
	fcntl(fd, F_GETFD);
	ioctl(fd, FIONREAD, &st);
	p = fork();
	if (!p)
		_exit(3);
	wait(&st);
	wait(&st);
	p = vfork();
	if (!p)
		_exit(4);
	waitpid(p, &st, 0);
	posix_spawn(&p, "/bin/true", NULL, NULL, args, environ);
	wait4(p, &st, 0, NULL);
	return !realpath("/no/where", path) && st == 0 ? 7 : 1;
}
"""

LIBRARY = "#include <unistd.h>\nint mine(const char *s) { return access(s, 4); }\n"
USER = "int mine(const char *); int main(void) { return mine(\"/nowhere\") != -1; }\n"

WAITS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <poll.h>
#include <unistd.h>
static void *other(void *a)
{
	while (!usleep(1000))
		getpgid(0);
	return a;
}
/* Its calls are seen when it is deep in its stack, and when it is not. */
static long down(int depth)
{
	volatile char room[500] = {1};

	return getenv("HOME") == NULL ? room[0] : depth ? down(depth - 1) + room[1] : 0;
}
int main(void)
{
	pthread_t t;
	long n = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, other, NULL);
	puts("ready");
	fflush(stdout);
	while (!poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 1))
		n += down(20) + (getenv("HOME") == NULL);
	printf("n %ld\n", n);
	return 0;
}
"""

BUILDS = [("gcc", []), ("gcc", ["-fpatchable-function-entry=6"]), ("gcc", ["-no-pie", "-fno-pie"]),
          ("gcc", ["-fcf-protection=full", "-Wl,-z,ibtplt"]), ("gcc", ["-Wl,-z,now"]), ("clang", ["-fuse-ld=lld"])]


def write(w, name, text):
    with open(w.path(name), "w", encoding="utf-8") as f:
        f.write(text)


def calls(w, name="trace.dat"):
    """[(function, its arguments)] in their order."""
    out = w.run("report", name).stdout.decode()
    # (what the start files call is not the program's)
    return [(m[1], m[2]) for m in re.finditer(r"^ .*: (\w+): +\([0-9a-f]+\) ?(.*)$", out, re.M)
            if not m[1].startswith("__")]


def returns(w, name="trace.dat"):
    """[(function, its result as it is printed)] in their order."""
    out = w.run("report", name).stdout.decode()
    return re.findall(r"^ .*: (\w+)__return: +\([0-9a-f]+ <- [0-9a-f]+\) (.*)$", out, re.M)


def by_ltrace(w, program):
    p = subprocess.run(["ltrace", "-s", "200", "-o", "ltrace.txt", program], cwd=w.dir, stdout=subprocess.PIPE, check=False)
    with open(w.path("ltrace.txt"), encoding="utf-8") as f:
        return p, [m[1] for m in re.finditer(r"^(\w+)\(", f.read(), re.M) if not m[1].startswith("__")]


def test_ltrace(w):
    """Calls and their order are ltrace's for every way of building. Strings are whole, cut, or a
    fault."""
    need("ltrace")
    write(w, "calls.c", CALLS)
    right = None
    for n, (compiler, flags) in enumerate(BUILDS):
        if compiler == "clang" and not (shutil.which("clang") and shutil.which("ld.lld")):
            continue
        compiled([compiler, "-O1", "-fno-builtin", *flags, "calls.c"], f"calls{n}", cwd=w.dir)
        plain, expected = by_ltrace(w, f"./calls{n}")
        right = right or expected
        # it sees the first call alone of each function where stubs begin with endbr64
        assert plain.returncode == 0 and (expected == right or set(expected) == set(right)), (flags, expected)
        assert right.count("strdup") == 3, right
        p = w.run("record", "-q", "--libcall", "-p", "nop", f"./calls{n}")
        assert p.stdout == plain.stdout == b"said\n", p
        seen = calls(w)
        assert [name for name, _ in seen] == right, (flags, seen, right)
        args = dict(seen[:3] + seen[-6:])
        assert seen[0][1].endswith('path="/etc/passwd" flags=0x0'), seen[0]
        assert seen[1][1].startswith('path=(fault) flags=0x1') or seen[1][1].startswith('path="(fault)" flags=0x1'), seen[1]
        assert args["puts"] == 'text="said"' and args["getenv"] == 'name="NAME"', args
        assert args["strdup"] == 'text="' + 63 * "y" + '"', args
        assert re.match(r"fd=3 to=0x[0-9a-f]+ bytes=4$", args["read"]), args
    w.nothing_left()


def test_results(w):
    """Results are those that ltrace shows, errors those that strace shows."""
    need("ltrace")
    need("strace")
    write(w, "calls.c", CALLS)
    compiled(["gcc", "-O1", "-fno-builtin", "calls.c"], "calls", cwd=w.dir)
    by_ltrace(w, "./calls")
    with open(w.path("ltrace.txt"), encoding="utf-8") as f:
        right = [m.groups() for m in re.finditer(r"^(\w+)\(.* = (\S+)$", f.read(), re.M) if m[2] != "<void>"]
    subprocess.run(["strace", "-e", "trace=openat", "-o", "strace.txt", "./calls"], cwd=w.dir, stdout=subprocess.DEVNULL, check=True)
    with open(w.path("strace.txt"), encoding="utf-8") as f:
        failed = re.search(r"openat\(AT_FDCWD, 0x8, .* = -1 (\w+)", f.read())[1]
    w.run("record", "-q", "--libcall", "-p", "nop", "./calls")
    seen = returns(w)
    assert [name for name, _ in seen] == [name for name, _ in right], (seen, right)
    for (name, result), (_, value) in zip(seen, right):
        said = dict(word.split("=") for word in result.split())
        if value.startswith(('"', "0x")):  # an address, which is another one each time
            assert int(said["ret"], 16) and said.get("errno", "0") == "0", (name, result, value)
            assert name != "getenv" or said["text"] == '"' + 63 * "y" + '"', result
        else:
            assert int(said["ret"], 0) == int(value, 0), (name, result, value)
            assert said.get("errno", "0") == (str(getattr(errno, failed)) if value == "-1" else "0"), (name, result, failed)
    assert ("open", f"ret=-1 errno={errno.EFAULT}") in seen and len(seen) > 12, seen
    w.nothing_left()


def test_processes_and_devices(w):
    """Calls about processes and devices, with results and errors; each call is there once, in each
    process."""
    write(w, "many.c", MANY)
    compiled(["gcc", "-O1", "-w", "-fno-builtin", "many.c"], "many", cwd=w.dir)
    w.run("record", "-q", "--libcall", "-p", "nop", "./many", status=7)
    seen = [(name, re.sub(r"0x7f\w+", "AT", args)) for name, args in calls(w)]
    begun = collections.Counter(name for name, _ in seen)
    assert begun == {"open": 1, "isatty": 1, "fcntl": 1, "ioctl": 1, "fork": 1, "_exit": 2, "wait": 2, "vfork": 1, "waitpid": 1,
                     "posix_spawn": 1, "wait4": 1, "realpath": 1}, begun
    for call in (("open", 'path="/dev/null" flags=0x0'), ("isatty", "fd=3"), ("fcntl", "fd=3 command=1"),
                 ("ioctl", "fd=3 request=0x541b arg=AT"), ("posix_spawn", 'pid=AT path="/bin/true"')):
        assert call in seen, (call, seen)
    said = returns(w)
    for name, result in (("isatty", f"ret=0 errno={errno.ENOTTY}"), ("ioctl", f"ret=-1 errno={errno.ENOTTY}"), ("fork", "ret=0 errno=0"),
                         ("wait", f"ret=-1 errno={errno.ECHILD}"), ("posix_spawn", "ret=0"),
                         ("realpath", f'ret=0x0 text="(fault)" errno={errno.ENOENT}')):
        assert (name, result) in said, (name, said)
    assert "vfork" not in dict(said)
    # some of them
    w.run("record", "-q", "--libcall", "-p", "nop", "-e", "libcall:wai*", "./many", status=7)
    assert [name for name, _ in calls(w)] == ["wait", "wait", "waitpid", "wait4"], calls(w)
    w.nothing_left()


def test_jumps(w):
    """Each return is recorded once, and none of calls that are left by longjmp(), pthread_exit(), a
    child; programs with sites, without, and their tracers make no difference."""
    write(w, "jumps.c", JUMPS)
    for flags in [], ["-fpatchable-function-entry=6"]:
        compiled(["gcc", "-O2", "-fno-builtin", *flags, "jumps.c", "-pthread"], "jumps", cwd=w.dir)
        for tracer in "nop", "function", "function_graph":
            p = w.run("record", "-q", "--libcall", "-p", tracer, "./jumps")
            assert p.stdout == b"tail\ngood 1\n" and b"not recorded" not in p.stderr, (flags, tracer, p)
            seen = collections.Counter(name for name, _ in returns(w))
            assert seen == RETURNS, (flags, tracer, seen)
    w.nothing_left()


def test_graph(w):
    """The graph shows library calls, which are events, within the calls that made them."""
    write(w, "calls.c", CALLS)
    compiled(["gcc", "-O1", "-fno-builtin", "-fpatchable-function-entry=6", "calls.c"], "calls", cwd=w.dir)
    w.run("record", "-q", "--libcall", "-p", "function_graph", "./calls")
    lines = w.run("report", "--format=trace").stdout.decode().splitlines()
    begin = next(i for i, line in enumerate(lines) if "main() {" in line)
    end = next(i for i, line in enumerate(lines) if i > begin and line.endswith("|  }"))
    said = [m[1] for m in (re.search(r"/\* (\w+): \(\w+@plt\+\S+\)", line) for line in lines[begin:end]) if m]
    assert said[:4] == ["open", "open", "read", "close"] and said[-1] == "puts", lines


def test_library(w):
    """Calls of the program's own libraries are recorded, too, and calls of the system's are not."""
    write(w, "mine.c", LIBRARY)
    write(w, "user.c", USER)
    compiled(["gcc", "-O1", "-shared", "-fPIC", "mine.c"], "libmine.so", cwd=w.dir)
    compiled(["gcc", "-O1", "user.c", "-L.", "-lmine", "-Wl,-rpath," + w.dir], "user", cwd=w.dir)
    w.run("record", "-q", "--libcall", "-p", "nop", "./user")
    assert calls(w) == [("mine", ""), ("access", 'path="/nowhere" mode=0x4')], calls(w)


def test_running(w):
    """Calls of a running process are recorded, and the process is as before afterwards."""
    write(w, "waits.c", WAITS)
    compiled(["gcc", "-O1", "-pthread", "waits.c"], "waits", cwd=w.dir)
    with Program(w, "./waits") as p:
        w.run("attach", p.pid)
        with subprocess.Popen([os.environ["VESTIGE_BIN"], "record", "-q", "--libcall", "-p", "nop", "-P", str(p.pid)],
                              cwd=w.dir, env=w.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as r:
            until(lambda: re.search(r"getenv +[1-9]", w.run("get", "-P", p.pid, "uprobe_profile").stdout.decode()))
            r.send_signal(2)
            assert r.wait(60) == 0, r.stderr.read()
        seen = calls(w)
        assert ("getenv", 'name="HOME"') in seen and {name for name, _ in seen} == {"poll", "getenv", "usleep", "getpgid"}, seen[:9]
        # one may be on its way in each thread when it begins, and when it ends
        begun, ended = collections.Counter(name for name, _ in seen), collections.Counter(name for name, _ in returns(w))
        assert all(abs(begun[name] - ended[name]) <= 2 for name in ("poll", "getenv", "usleep")) and "getpgid" not in ended, (begun, ended)
        for name in "dynamic_events", "set_event":
            assert w.run("get", "-P", p.pid, name).stdout == b"", name
        status, out = p.end()
        assert status == 0 and re.fullmatch(r"n \d+\n", out), (status, out)
    w.run("clean")


def test_refused(w):
    """Impossible requests get an error that names the remedy."""
    write(w, "calls.c", CALLS)
    compiled(["gcc", "-O1", "-fno-builtin", "-fno-plt", "calls.c"], "without", cwd=w.dir)
    compiled(["gcc", "-O1", "calls.c"], "a b", cwd=w.dir)
    err = w.run("record", "--libcall", "-p", "nop", "./without", status=125).stderr.decode()
    assert "without" in err and "-fno-plt" in err, err
    err = w.run("record", "--libcall", "-p", "nop", "./a b", status=125).stderr.decode()
    assert "blank" in err and "link" in err, err
    write(w, "waits.c", WAITS)
    compiled(["gcc", "-O1", "-pthread", "waits.c"], "waits", cwd=w.dir)
    err = w.run("record", "-e", "libcall:open", "-p", "nop", "./waits", status=125).stderr.decode()
    assert "-e libcall:open: --libcall makes the events" in err and err.count("\n") == 1, err
    with Program(w, "./waits") as p:
        w.run("attach", p.pid)
        err = w.run("record", "-e", "libcall:poll", "-p", "nop", "-P", p.pid, status=125).stderr.decode()
        assert "-e libcall:poll: --libcall makes the events" in err, err
        err = w.run("record", "--libcall", "-e", "libcall:pol", "-p", "nop", "-P", p.pid, status=125).stderr.decode()
        assert "did you mean libcall:poll?" in err, err
        with subprocess.Popen([os.environ["VESTIGE_BIN"], "record", "-q", "--libcall", "-e", "libcall:us*", "-p", "nop", "-P", str(p.pid)],
                              cwd=w.dir, env=w.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as r:
            until(lambda: re.search(r"usleep +[1-9]", w.run("get", "-P", p.pid, "uprobe_profile").stdout.decode()))
            r.send_signal(2)
            assert r.wait(60) == 0, r.stderr.read()
        assert {name for name, _ in calls(w)} == {"usleep"}, calls(w)[:9]
        assert w.run("get", "-P", p.pid, "dynamic_events").stdout == b""
        p.end()
    w.run("clean")
    w.nothing_left()


if __name__ == "__main__":
    raise SystemExit(main(globals()))
