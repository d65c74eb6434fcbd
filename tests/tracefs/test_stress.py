#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writers and readers use all files of several instances while threads call at full speed. Nothing
breaks, no request hangs, and an instance that is not written to has each of its calls, which the
program counts. STRESS: seconds."""
import errno
import os
import random
import re
import subprocess
import threading
import time

from mount_test import LIBRARY, main, mounted, read, until, write
from test_writes import INCLUDE, table

# Threads call mid() and, every thousandth time, counted(), until a line comes; then the program
# prints how often counted() was called. A line N calls mid() N times in one thread.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <vestige/event.h>
VESTIGE_EVENT(sched, sched_process_fork, (const char *, parent_comm), (int, parent_pid), (int, child_pid));
VESTIGE_EVENT(sched, sched_switch, (const char *, prev_comm), (int, prev_pid));
#define FN __attribute__((noipa))
#define NOTRACE __attribute__((patchable_function_entry(0)))
volatile long sum;
static int stop;
FN void leaf(long i) { sum = i; }
FN void mid(long i) { leaf(i); leaf(i + 1); }
FN void counted(void) { sum = 0; }
NOTRACE static void *run(void *arg)
{
	long n = 0;

	(void)arg;
	for (; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
		counted();
		trace_sched_switch("storm", (int)n);
		trace_sched_process_fork("storm", (int)(n & 7), 1);
		for (int i = 0; i < 1000; i++) mid(i);
	}
	return (void *)n;
}
NOTRACE int main(void)
{
	pthread_t t[4];
	long n = 0, k;
	void *made;

	puts("ready"), fflush(stdout), getchar();
	for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, NULL);
	puts("running"), fflush(stdout), getchar();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++) pthread_join(t[i], &made), n += (long)made;
	printf("%ld\n", n), fflush(stdout);
	while (scanf("%ld", &n) == 1) {
		for (k = 0; k < n; k++) mid(k);
		puts("done"), fflush(stdout);
	}
	return 0;
}
"""

NAMES = ("one", "two", "three")
# Errors that a live process may answer; any other means a hung, dead or broken process
REFUSALS = {errno.EINVAL, errno.EBUSY, errno.EEXIST, errno.ENOENT, errno.ERANGE, errno.ENOMEM, errno.EPERM,
            errno.ENODEV, errno.ESRCH, errno.EBADF, errno.EOVERFLOW, errno.EACCES, errno.EFBIG, errno.ENOSPC,
            errno.EISDIR, errno.EOPNOTSUPP}


def texts_of():
    """Good and bad texts for a file, by the last part of its name."""
    texts = {}
    for name, how, text, _, _ in table():
        for a, b in ((b"vfs_read", b"leaf"), (b"vfs_write", b"mid"), (b"vfs_*", b"m*")):
            text = text.replace(a, b)
        # large sizes are left out: one could take half the machine's memory
        if how != "R" and not (name.endswith("_kb") and len(text) > 4):
            texts.setdefault(os.path.basename(name), set()).add(text)
    return {name: sorted(some) for name, some in texts.items()}


class Storm:
    def __init__(self, at, seconds):
        self.at, self.seconds = at, seconds
        self.texts, self.wrong, self.done, self.seen = texts_of(), [], [0, 0], (set(), set())
        self.files = [self.files_of(at)] + [self.files_of(f"{at}/instances/{name}") for name in NAMES]

    def files_of(self, root):
        """All files, in two lists: files of events, which are most of them, and the rest."""
        found, of_events = [], []
        for folder, folders, names in os.walk(root):
            if folder.endswith("/events/syscalls"):  # all 700 are alike, and there are other files
                del folders[8:]
            if root == folder == self.at:
                folders.remove("instances")
            (of_events if "/events/" in folder else found).extend(os.path.join(folder, name) for name in names)
        return found, of_events

    def text(self, rng, path):
        name = os.path.basename(path)
        if f"/options/{name}" in path:
            name = "overwrite"
        text = rng.choice(self.texts.get(name) or [b"0", b"1", b"x"])
        if name == "vestige_attached":
            text = b"1"     # 0 removes all instances, and the counted one is looked at in the end
        if rng.random() < 0.2:  # texts that no user would write
            text = bytearray(text or b"x")
            for _ in range(rng.randrange(1, 4)):
                text.insert(rng.randrange(len(text) + 1), rng.randrange(1, 256))
        return bytes(text)

    def once(self, rng, path, writes):
        flags = os.O_WRONLY | rng.choice((0, os.O_TRUNC, os.O_APPEND)) if writes else os.O_RDONLY
        fd = os.open(path, flags | os.O_NONBLOCK)
        try:
            if writes:
                os.write(fd, self.text(rng, path))
                return
            for _ in range(20):  # a trace may be long
                if not os.read(fd, rng.choice((1, 100, 4096, 65536))):
                    return
        finally:
            os.close(fd)

    def worker(self, i):
        rng, writes = random.Random(i), i % 2
        while time.monotonic() < self.end:
            for path in rng.sample(files := rng.choice(rng.choice(self.files)), min(20, len(files))):
                begin = time.monotonic()
                try:
                    self.once(rng, path, writes)
                except BlockingIOError:
                    pass
                except OSError as e:
                    if e.errno not in REFUSALS:
                        self.wrong.append(f"{path[len(self.at):]}: {errno.errorcode[e.errno]} "
                                          f"after {time.monotonic() - begin:.1f} s")
                self.done[writes] += 1
                self.seen[writes].add(path)

    def run(self):
        self.end = time.monotonic() + self.seconds
        threads = [threading.Thread(target=self.worker, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(f"{self.done[0]} reads of {len(self.seen[0])} files, {self.done[1]} writes of {len(self.seen[1])}, of "
              f"{sum(len(some) for both in self.files for some in both)}")
        assert min(self.done) > 0 and not self.wrong, "\n".join(self.wrong[:20])


def states(root):
    names = ("current_tracer", "tracing_on", "trace_options", "set_ftrace_filter", "set_ftrace_notrace",
             "set_ftrace_pid", "set_ftrace_notrace_pid", "trace_clock", "buffer_size_kb", "tracing_cpumask")
    return {name: read(f"{root}/{name}") for name in names}


def without_triggers(files):
    """Remove all triggers: a snapshot trigger, for example, would empty the trace at any time."""
    for path in files:
        if os.path.basename(path) != "trigger":
            continue
        for line in read(path).splitlines():
            if not line.startswith("#"):
                write(path, "!" + re.sub(r" \[.*", "", line).replace(":unlimited", "").strip() + "\n", os.O_APPEND)
        assert not [t for t in read(path).splitlines() if not t.startswith("#")], (path, read(path))


def test_all_files_at_full_speed(w):
    seconds = float(os.environ.get("STRESS", "5"))
    prog = w.compile("storm", PROGRAM, INCLUDE)
    p = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env=dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT="trace_buf_size=1m"))

    def ask(line):
        p.stdin.write(line.encode() + b"\n")
        p.stdin.flush()
        return p.stdout.readline()

    try:
        p.stdout.readline()
        with mounted(w) as m:
            at = f"{m}/{p.pid}"
            for name in (*NAMES, "counted"):
                os.mkdir(f"{at}/instances/{name}")
            counted = f"{at}/instances/counted"
            for name, text in (("options/overwrite", "0"), ("buffer_size_kb", str(16 << 10)),
                               ("set_ftrace_filter", "counted\n"), ("current_tracer", "function")):
                assert write(f"{counted}/{name}", text) == 0, name
            ask("")
            mask = read(f"{at}/tracing_cpumask")
            options = {n: read(f"{at}/options/{n}") for n in os.listdir(f"{at}/options")}
            for root in (at, f"{at}/instances/one"):
                assert write(f"{root}/current_tracer", "function_graph" if root == at else "function") == 0
            storm = Storm(at, seconds)
            storm.run()
            calls = int(ask(""))
            text = read(f"{counted}/trace")
            assert text.count(": counted <-run") == calls > 0, (text.count("counted <-"), calls)
            # the other instances obey again
            for _, of_events in storm.files:
                without_triggers(of_events)
            for root, tracer in ((at, "function"), *((f"{at}/instances/{n}", "function") for n in NAMES)):
                until(lambda: write(f"{root}/current_tracer", "nop") == 0)
                until(lambda: write(f"{root}/vestige_paused", "0") == 0 and read(f"{root}/vestige_paused") == "0\n")
                assert not os.path.exists(f"{root}/events/enable") or write(f"{root}/events/enable", "0") == 0
                for command in ("traceon", "traceoff", "dump", "cpudump", "snapshot", "stacktrace"):
                    write(f"{root}/set_ftrace_filter", f"!*:{command}:0\n", os.O_APPEND)
                    write(f"{root}/set_ftrace_filter", f"!*:{command}\n", os.O_APPEND)
                for name in os.listdir(f"{root}/options"):
                    if name in options:  # others are a tracer's own
                        assert write(f"{root}/options/{name}", options[name]) == 0, name
                for name, text in (("buffer_size_kb", "1024"), ("set_ftrace_filter", "leaf\n"), ("set_ftrace_notrace", None),
                                   ("set_ftrace_pid", ""), ("set_ftrace_notrace_pid", ""),
                                   ("trace_clock", "local"), ("tracing_cpumask", mask),
                                   ("current_tracer", tracer), ("tracing_on", "1"), ("trace", None)):
                    assert write(f"{root}/{name}", text) == 0, name
            ask("100")
            for root in (at, *(f"{at}/instances/{n}" for n in NAMES)):
                text = read(f"{root}/trace")
                assert text.count("leaf <-mid") == 200, (root, text[:2000], states(root))
    finally:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()
        w.run("clean")


if __name__ == "__main__":
    main(globals())
