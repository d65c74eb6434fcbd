#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige sched has the known reasons and times for which threads wait, by the program's own clock
and perf sched."""
import json
import os
import re
import subprocess

from cli_test import BIN, LIBRARY, Skip, kill_and_wait, main, need, root, until

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
DURATION = re.compile(r"(\d+\.\d+) +(us|ms|s)\b")

# Each thread does one thing ten times and prints how long that took by its own clock.
WAITERS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t taken, tried;
static int pipes[2];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void hold_long(void)
{
	pthread_mutex_lock(&lock);
	sem_post(&taken);
	usleep(20000);
	pthread_mutex_unlock(&lock);
	sem_wait(&tried);
}

static void *holder(void *arg)
{
	pthread_setname_np(pthread_self(), "holder");
	for (int i = 0; i < 10; i++)
		hold_long();
	return arg;
}

__attribute__((noinline)) static double wait_for_lock(void)
{
	double begin = now();
	pthread_mutex_lock(&lock);
	begin = now() - begin;
	pthread_mutex_unlock(&lock);
	return begin;
}

static void *waiter(void *arg)
{
	double sum = 0;
	pthread_setname_np(pthread_self(), "waiter");
	for (int i = 0; i < 10; i++) {
		while (sem_trywait(&taken))
			usleep(100);
		sum += wait_for_lock();
		sem_post(&tried);
	}
	printf("lock %.9f %d\n", sum, gettid());
	return arg;
}

static void *reader(void *arg)
{
	double sum = 0;
	pthread_setname_np(pthread_self(), "reader");
	for (int i = 0; i < 10; i++) {
		char c;
		double begin = now();
		if (read(pipes[0], &c, 1) != 1)
			break;
		sum += now() - begin;
	}
	printf("read %.9f %d\n", sum, gettid());
	return arg;
}

static void *writer(void *arg)
{
	double sum = 0;
	pthread_setname_np(pthread_self(), "writer");
	for (int i = 0; i < 10; i++) {
		double begin = now();
		usleep(15000);
		sum += now() - begin;
		if (write(pipes[1], "x", 1) != 1)
			break;
	}
	printf("sleep %.9f %d\n", sum, gettid());
	return arg;
}

static void *volatile spun;
static void *spinner(void *arg)
{
	for (int i = 0; i < 100; i++) {
		for (volatile int k = 0; k < 100000; k++)
			spun = arg;
		usleep(500);
	}
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const all[])(void *) = {holder, waiter, reader, writer};
	pthread_t t[4];

	(void)argv;
	if (pipe(pipes) || sem_init(&taken, 0, 0) || sem_init(&tried, 0, 0))
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, argc > 1 ? spinner : all[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
"""


def seconds(text):
    """The durations in a line, in seconds."""
    return [float(v) * UNITS[u] for v, u in DURATION.findall(text)]


def needs_tracepoints():
    """Skip where the kernel's tracepoints may not be opened: they need root."""
    root()
    if not os.access("/sys/kernel/tracing/events/sched/sched_switch/id", os.R_OK):
        raise Skip("no tracefs of the kernel's")


def table(text):
    """Lines of a table by thread: (durations, rest of the line)."""
    out = {}
    for line in text.splitlines():
        m = re.match(r"(\S.*?)-(\d+) +(.*)", line)
        if m and not line.startswith("#"):
            out.setdefault(int(m[2]), []).append((seconds(m[3].split("  at ")[0]), line))
    return out


def recorded(w):
    """The program's own account of its waits: {what: (seconds, thread)}."""
    prog = w.compile("waiters", WAITERS)
    said = w.run("sched", "record", "-q", "-o", "t.dat", "--", prog).stdout.decode()
    return {f[0]: (float(f[1]), int(f[2])) for f in (l.split() for l in said.splitlines())}


def one_of_a_few(attempt, *args):
    """Try a few times: on a busy machine perf may lose a sample, for us or for perf itself."""
    for run in range(12):
        try:
            attempt(*args)
            return
        except AssertionError as e:
            if run == 11:
                raise
            print(f"once more: {e}")


def test_waits(w):
    """Each wait has its reason and its time. The program's clock also includes the delay until the
    thread has a CPU."""
    needs_tracepoints()
    one_of_a_few(waits_as_said, w)


def waits_as_said(w):
    said = recorded(w)
    waits, delays = (table(w.run("sched", v, "t.dat").stdout.decode()) for v in ("waits", "latency"))
    for what, reason in (("lock", r"mutex 0x[0-9a-f]+ held by holder-\d+$"), ("read", r"read\(\d+ pipe:\[\d+\]\)"),
                         ("sleep", r"sleep \(clock_nanosleep\)$")):
        own, tid = said[what]
        found = [d for d, line in waits[tid] if re.search(reason, line)]
        assert len(found) == 1, (what, waits[tid])
        blocked, delay = found[0][0], delays[tid][0][0][1]
        slack = max(own * 0.05, 50e-6 * 10)
        assert blocked <= own + slack and blocked + delay >= own - slack, (what, own, blocked, delay)
        print(f"{what}: {own * 1e3:.3f} ms by its own clock, blocked {blocked * 1e3:.3f} ms, delays {delay * 1e3:.3f} ms")
    # a lock that is held 20 ms each time
    assert said["lock"][0] > 0.1


# A thread that waits for each of these, 20 ms each: a named pipe, who connects to two sockets and
# what comes from there; and the other side for what it answers.
FILES = r"""
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int listener[2];

static void *server(void *arg)
{
	char c;
	int i, fd = open("fifo", O_RDWR);

	if (read(fd, &c, 1) != 1)
		return arg;
	for (i = 0; i < 2; i++) {
		fd = accept(listener[i], NULL, NULL);
		if (read(fd, &c, 1) != 1)
			return arg;
		usleep(20000);
		if (write(fd, "x", 1) != 1)
			return arg;
	}
	return NULL;
}

int main(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "sock"};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr *at[2] = {(struct sockaddr *)&un, (struct sockaddr *)&in};
	socklen_t bytes[2] = {sizeof(un), sizeof(in)};
	pthread_t t;
	void *failed = &t;
	char c;
	int i, fd;

	mkfifo("fifo", 0600);
	for (i = 0; i < 2; i++) {
		listener[i] = socket(at[i]->sa_family, SOCK_STREAM, 0);
		if (bind(listener[i], at[i], bytes[i]) || listen(listener[i], 1) ||
		    getsockname(listener[i], at[i], &bytes[i]))
			return 1;
	}
	printf("%d\n", ntohs(in.sin_port));
	pthread_create(&t, NULL, server, NULL);
	fd = open("fifo", O_WRONLY);
	usleep(20000);
	if (write(fd, "x", 1) != 1)
		return 2;
	for (i = 0; i < 2; i++) {
		usleep(20000);
		fd = socket(at[i]->sa_family, SOCK_STREAM, 0);
		if (connect(fd, at[i], bytes[i]))
			return 3;
		usleep(20000);
		if (write(fd, "x", 1) != 1 || read(fd, &c, 1) != 1)
			return 4;
	}
	pthread_join(t, &failed);
	return failed ? 5 : 0;
}
"""


def test_files(w):
    """Waits for files and peers have their names."""
    needs_tracepoints()
    one_of_a_few(files_by_name, w, w.compile("files", FILES))


def files_by_name(w, prog):
    for name in "sock", "fifo":
        if os.path.exists(os.path.join(w.dir, name)):
            os.unlink(os.path.join(w.dir, name))
    port = w.run("sched", "record", "-q", "-o", "t.dat", "--", prog).stdout.decode().strip()
    waits = w.run("sched", "waits", "t.dat").stdout.decode()
    # a socket whose peer has no name has its own
    for reason, times in ((r"read\(\d+ /\S+/fifo\)", 1), (r"accept\(\d+ unix:sock\)", 1), (r"read\(\d+ unix:sock\)", 2),
                          (rf"accept\(\d+ 127\.0\.0\.1:{port}\)", 1), (r"read\(\d+ 127\.0\.0\.1:\d+\)", 2)):
        rows = [line for line in waits.splitlines() if re.search(rf" {reason}$", line)]
        assert len(rows) == times and all(seconds(row)[0] >= 0.015 for row in rows), (reason, waits)


def test_offcpu(w):
    """Folded stacks have the calls into the wait and the waker. Their sum equals `waits`."""
    needs_tracepoints()
    one_of_a_few(folded_waits, w)


def folded_waits(w):
    recorded(w)
    text = w.run("sched", "offcpu", "t.dat").stdout.decode()
    rows = [l.rsplit(" ", 1) for l in text.splitlines()]
    by_lock = [l for l, _ in rows if re.search(r"\[mutex .* held by holder-\d+\]", l)]
    assert by_lock and all(re.match(r"waiter;.*;wait_for_lock;.*\[woken by holder-\d+\]$", l) for l in by_lock), by_lock
    assert any(re.match(r"writer;.*;usleep;.*\[sleep", l) for l, _ in rows), rows
    assert any(re.match(r"reader;.*;(__)?read;\[read\(\d+ pipe:\[\d+\]\)\];\[woken by writer-\d+\]$", l) for l, _ in rows), rows
    total = sum(d[0] for rows_ in table(w.run("sched", "waits", "t.dat").stdout.decode()).values() for d, _ in rows_)
    folded = sum(int(v) for _, v in rows) * 1e-6
    assert abs(total - folded) < 1e-6 * len(rows) + total * 1e-3, (total, folded)


def test_as_strace(w):
    """A thread's waits in futex() equal strace's of the same run. strace's times include the delay
    until the thread has a CPU; its stops are blocks, too."""
    needs_tracepoints()
    need("strace")
    one_of_a_few(same_as_strace, w, w.compile("waiters", WAITERS))


def futex_waits(text, tid, lock):
    """Seconds of each wait. An interrupted line of strace is two lines, the second with the
    time."""
    out, here = [], False
    for line in re.findall(rf"^{tid} +(.*futex.*)$", text, re.M):
        if line.startswith("futex("):
            here = line.startswith(f"futex({lock}, FUTEX_WAIT")
        took = re.search(r"<(\d+\.\d+)>$", line)
        if here and took:
            out.append(float(took[1]))
    return out


def same_as_strace(w, prog):
    said = w.run("sched", "record", "-q", "-o", "t.dat", "--", "strace", "-f", "-T", "-e", "trace=futex", "-o", "s.txt",
                 prog).stdout.decode()
    tid = {f[0]: int(f[2]) for f in (line.split() for line in said.splitlines())}["lock"]
    waits, delays = (table(w.run("sched", v, "t.dat").stdout.decode()) for v in ("waits", "latency"))
    (rows, line), = [(d, line) for d, line in waits[tid] if re.search(r"mutex 0x[0-9a-f]+ held by holder-\d+$", line)]
    with open(os.path.join(w.dir, "s.txt"), encoding="utf-8") as f:
        theirs = futex_waits(f.read(), tid, re.search(r"mutex (0x[0-9a-f]+)", line)[1])
    delay, slack = delays[tid][0][0][1], 0.05 * sum(theirs)
    assert len(theirs) >= 10 and sum(theirs) > 0.15, (theirs, line)
    assert rows[0] <= sum(theirs) + slack and rows[0] + delay >= sum(theirs) - slack, (rows, delay, theirs)
    print(f"strace: {len(theirs)} waits, {sum(theirs) * 1e3:.3f} ms; ours {rows[0] * 1e3:.3f} ms, delays {delay * 1e3:.3f} ms")


def test_views(w):
    """Every run on a CPU is in timehist, every switch in map, and their sums are in latency."""
    needs_tracepoints()
    recorded(w)
    latency = table(w.run("sched", "latency", "t.dat").stdout.decode())
    assert w.run("sched", "-i", "t.dat").stdout == w.run("sched", "latency", "t.dat").stdout
    history = table("\n".join(re.sub(r"^ *\d+\.\d+ \[\d+\] ", "", l) for l in
                              w.run("sched", "timehist", "t.dat").stdout.decode().splitlines()))
    text = w.run("report", "--format=trace", "t.dat").stdout.decode()
    for tid, rows in latency.items():
        stays = [d for d, _ in history[tid]]
        comes = len(re.findall(rf"==> next_comm=.* next_pid={tid} ", text))
        nr_in, delays = (int(n) for n in re.search(r"s +(\d+) +(\d+) +\d", rows[0][1]).groups())
        # the kernel does not report some switches from the idle task; each switch to another task
        # it does. A thread that came last has not left
        goes = re.findall(rf" (?:prev_pid={tid} .* ==>|(next)_comm=.* next_pid={tid} )", text)
        goes = goes.count("") + (goes[-1:] == ["next"])
        assert comes <= nr_in <= max(comes, goes) and nr_in <= len(stays) <= nr_in + 1, (tid, comes, goes, nr_in, len(stays))
        waited = rows[0][0][3] * delays
        assert abs(sum(d[1] for d in stays) - waited) < waited * 0.01 + 1e-4, (tid, rows, waited)
    shown = [l for l in w.run("sched", "map", "t.dat").stdout.decode().splitlines() if "*" in l]
    assert len(shown) == len(re.findall(r" sched_switch: ", text)), len(shown)
    assert len(re.findall(r" => \w+-\d+$", "\n".join(shown), re.M)) == len(latency)


def test_json(w):
    """The rows of the text with the same numbers."""
    needs_tracepoints()
    recorded(w)
    keys = {"latency": ("running", "runnable", "blocked", "average", "longest"), "waits": ("blocked", "average", "longest"),
            "timehist": ("blocked", "delay", "running")}
    for view, names in keys.items():
        lines = [l for l in w.run("sched", view, "t.dat").stdout.decode().splitlines() if not l.startswith("#")]
        rows = json.loads(w.run("sched", view, "--json", "t.dat").stdout)
        assert len(rows) == len(lines) > 0, (view, len(rows), len(lines))
        for line, row in zip(lines, rows):
            assert f"{row['comm']}-{row['tid']} " in line, (line, row)
            shown = [float(n) * UNITS[u] for n, u in DURATION.findall(line)]
            for name, seconds in zip(names, shown):
                assert abs(row[name] / 1e9 - seconds) <= seconds * 0.001 + 1e-9, (name, line, row)
            assert view == "latency" or line.endswith("  " + row["why" if view == "waits" else "then"]), (line, row)
    folded = w.run("sched", "offcpu", "t.dat").stdout.decode().splitlines()
    rows = json.loads(w.run("sched", "offcpu", "--json", "t.dat").stdout)
    assert [f"{r['stack']} {(r['blocked'] + 500) // 1000}" for r in rows] == folded
    assert b"--json: map is a picture" in w.run("sched", "map", "--json", "t.dat", status=2).stderr


def preemptions(text, tid):
    """The delays after a preemption in the kernel (R+), and the longest of the thread's other
    delays."""
    since, preempted, others = None, [], [0]
    for line in text.splitlines():
        m = re.search(r" (\d+\.\d+): (\w+): (.*)$", line)
        if not m:
            continue
        ts, event, rest = float(m[1]), m[2], m[3]
        if event == "sched_switch" and f"prev_pid={tid} " in rest:
            state = re.search(r"prev_state=(\S+)", rest)[1]
            since = (ts, state == "R+") if state[0] == "R" else None
        elif event == "sched_switch" and f"next_pid={tid} " in rest:
            if since:
                (preempted if since[1] else others).append(ts - since[0])
            since = None
        elif event.startswith("sched_wakeup") and f" pid={tid} " in rest and not since:
            since = (ts, False)
    return preempted, max(others)


def test_preemptions(_w):
    """From prepared records: preemptions that perf before 6.12 leaves out, and those that it
    has."""
    text = """a-1 [000] ..... 1.000000: sched_wakeup_new: comm=b pid=7 prio=120 target_cpu=000
a-1 [000] ..... 1.000010: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=7 next_prio=120
b-7 [000] ..... 1.000020: sched_switch: prev_comm=b prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=a next_pid=1 next_prio=120
a-1 [000] ..... 1.000920: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=7 next_prio=120
b-7 [000] ..... 1.001000: sched_switch: prev_comm=b prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=120
a-1 [000] ..... 1.001030: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=7 next_prio=120
"""
    preempted, longest = preemptions(text, 7)
    assert [round(d * 1e6) for d in preempted] == [900] and round(longest * 1e6) == 30, (preempted, longest)


def test_as_perf(w):
    """Figures equal perf sched latency's of the same run, within 1 %."""
    needs_tracepoints()
    need("perf")
    try:
        one_of_a_few(same_as_perf, w, w.compile("waiters", WAITERS))
    except AssertionError:
        if unseen := cpus_without_idle(w.path("perf.data")):
            raise Skip(f"Linux gives perf no samples of the idle threads of the CPUs {unseen}, until it is booted again") from None
        raise


def cpus_without_idle(path):
    """CPUs whose idle thread came in a recording of sched_switch of the whole machine and has no
    sample of its own. Linux 6.18 can come to a state in which no perf user gets any. perf sched
    latency is then wrong: it calls these context switch bugs."""
    text = subprocess.run(["perf", "script", "-F", "tid,cpu,event,trace", "-i", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout
    came = set(re.findall(r"\[(\d+)\] +sched:sched_switch:.* ==> .*next_pid=0 ", text))
    return sorted(came - set(re.findall(r"^ *0 \[(\d+)\] +sched:sched_switch:", text, re.M)))


def same_as_perf(w, prog):
    names = ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_stat_runtime")
    # perf of Debian 12 makes no use of sched_waking
    perf = [f"-esched:{n}" for n in (*names, "sched_migrate_task")]
    ours = [f"-e{n}" for n in names]
    p = subprocess.run(["perf", "record", "-q", "-a", "-R", "-c", "1", "-m", "2048", *perf, "-o", "perf.data", "--",
                        BIN, "record", "-q", *ours, "-o", "t.dat", "--", prog, "spin"], cwd=w.dir, env=w.env,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
    if p.returncode:
        raise Skip(f"perf: {p.stdout.decode()[-200:]}")
    theirs = subprocess.run(["perf", "sched", "latency", "-p", "-i", "perf.data"], cwd=w.dir, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True).stdout.decode()
    mine = table(w.run("sched", "latency", "t.dat").stdout.decode())
    records = w.run("report", "--format=trace", "t.dat").stdout.decode()
    threads = [found for found in re.findall(
        r"^ +(\S+):(\d+) +\| +([\d.]+) ms \| +(\d+) \| avg: +([\d.]+) ms \| max: +([\d.]+) ms", theirs, re.M)
        if found[0] == "waiters"]
    first = min(int(found[1]) for found in threads)
    compared = 0
    for _, tid, runtime, nr, avg, most in threads:
        if int(tid) == first or int(nr) < 50:
            continue    # the first thread has a life before the engine's
        (running, _, _, average, longest), line = mine[int(tid)][0]
        delays = int(re.search(r"s +\d+ +(\d+) +\d", line)[1])
        # perf of before 6.12 has no letter for the state of a thread that was preempted in the
        # kernel, and takes it for one that sleeps: the time until it runs again is no delay to it
        preempted, others = preemptions(records, int(tid))
        if preempted and delays == int(nr) + len(preempted):
            delays -= len(preempted)
            average = (average * (delays + len(preempted)) - sum(preempted)) / delays
            longest = others if max(preempted) > longest - 2e-6 else longest
        for what, a, b, step in (("runtime", running, float(runtime) / 1e3, 2e-6), ("delays", delays, int(nr), 0),
                                 ("average", average, float(avg) / 1e3, 2e-6), ("longest", longest, float(most) / 1e3, 2e-6)):
            assert abs(a - b) <= b * 0.01 + step, (tid, what, a, b, line)
        compared += 1
    assert compared == 4, theirs
    print(f"{compared} threads as perf has them")


def test_bad(w):
    for args, said in ((("sched", "nonsense"), "none of latency, map"), (("sched", "map", "a", "b"), "one file at a time"),
                       (("sched", "--nonsense"), "--nonsense"), (("sched", "record"), "no program is named")):
        p = w.run(*args, status=None)
        assert p.returncode in (2, 125) and said in p.stderr.decode(), (args, p)
    w.run("record", "-q", "-o", "f.dat", "--", w.prog, "calls", "5")
    p = w.run("sched", "latency", "f.dat", status=1)
    assert "no context switch is recorded" in p.stderr.decode(), p


SLOW = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* Starts a program; the first perf_event_open() of each thread takes 0.6 s. */
static void *slow(void *fd)
{
	struct seccomp_notif call;
	struct seccomp_notif_resp answer;
	unsigned int last = 0;

	for (;;) {
		call = (struct seccomp_notif){0};
		if (ioctl((int)(long)fd, SECCOMP_IOCTL_NOTIF_RECV, &call))
			continue;
		if (call.pid != last)
			usleep(600000);
		last = call.pid;
		answer = (struct seccomp_notif_resp){.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		ioctl((int)(long)fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {4, code};
	int fd, status = 1;
	pthread_t t;

	(void)argc;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	if (fd < 0)
		return 77;
	pthread_create(&t, NULL, slow, (void *)(long)fd);
	if (!fork()) {
		close(fd);
		execv(argv[1], argv + 1);
		_exit(1);
	}
	wait(&status);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
"""
SHORT = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static struct rusage begin, end;
__attribute__((noipa)) static void *thread(void *a)
{
	getrusage(RUSAGE_THREAD, &begin);
	for (int i = 0; i < 20; i++)
		usleep(100);
	getrusage(RUSAGE_THREAD, &end);
	return a;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	printf("%ld\n", end.ru_nvcsw - begin.ru_nvcsw);
	return 0;
}
"""


def sleeps(w, *argv):
    """How often the thread of SHORT slept: by its own count, and by the switches inside its
    call."""
    p = subprocess.run([BIN, "record", "-q", "-p", "function_graph", "-e", "sched_switch", "-o", "s.dat", "--", *argv],
                       cwd=w.dir, env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if p.returncode == 77:
        raise Skip("a seccomp filter with a listener is refused here")
    assert p.returncode == 0, p
    rows = w.rows("s.dat")
    call = next(r for r in rows if r["name"] == "thread")
    begin, end = int(call["time"]), int(call["time"]) + int(call["duration"])
    return int(p.stdout), sum(r["tid"] == call["tid"] and begin <= int(r["time"]) <= end and
                              bool(re.search(rf"prev_pid={call['tid']} .*prev_state=[SD]", r["text"])) for r in rows)


def test_the_last_records(w):
    """The program's own thread writes the last records at its exit: of the thread that they are
    about, with their times."""
    short = w.compile("short", SHORT)
    for _ in range(5):
        own, ours = sleeps(w, short)
        assert own == ours, (own, ours)


def test_a_slow_start(w):
    """On a busy machine the engine opens perf's events late: the program waits for them."""
    own, ours = sleeps(w, w.compile("slow", "#define _GNU_SOURCE\n" + SLOW), w.compile("short", SHORT))
    assert own == ours, (own, ours)


def test_asked_while_it_starts(w):
    """A command that reads the table of control files waits for it; no file is left out."""
    slow = w.compile("slow", "#define _GNU_SOURCE\n" + SLOW)
    for words in ["ls"], ["list", "-o"]:
        with subprocess.Popen([slow, "/usr/bin/env", f"LD_PRELOAD={LIBRARY}", "VESTIGE_BOOT=trace_event=sched:sched_switch", w.prog, "spin"],
                              env=w.env, stdout=subprocess.PIPE) as p:
            sockets = []
            until(lambda: sockets.extend(n for n in os.listdir(w.areas) if n.endswith(".sock")) or sockets or p.poll() is not None)
            if p.poll() == 77:
                raise Skip("a seccomp filter with a listener is refused here")
            pid = int(sockets[0].split(".")[0])
            try:
                early = w.run(words[0], "-P", pid, *words[1:]).stdout
                assert p.stdout.readline() == b"ready\n"
                assert early == w.run(words[0], "-P", pid, *words[1:]).stdout and early, (words, early)
            finally:
                kill_and_wait(pid)
        w.run("clean")


if __name__ == "__main__":
    main(globals())
