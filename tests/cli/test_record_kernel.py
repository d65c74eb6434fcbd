#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record -k writes the kernel's and the program's events into one trace.dat, and leaves nothing
behind in the kernel."""
import bisect
import os
import re
import shutil
import signal
import subprocess
import time

from cli_test import BIN, Skip, kernel_alone, main, need, own_mounts, root, until

TRACING = "/sys/kernel/tracing"
WRITES = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int fd;
__attribute__((noipa)) void put(int i)
{
	char c = (char)i;
	if (write(fd, &c, 1) != 1)
		_exit(3);
}
static void *many(void *n)
{
	for (long i = 0; i < (long)n; i++)
		put(i);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	char c;
	fd = open("/dev/null", O_WRONLY);
	if (argc > 2 && read(0, &c, 1) != 1)
		_exit(4);
	pthread_create(&t, NULL, many, (void *)atol(argv[1]));
	many((void *)atol(argv[1]));
	pthread_join(t, NULL);
	return 0;
}
"""


def tracefs():
    root()
    need("trace-cmd")
    if not os.path.isdir(TRACING + "/events/sched"):
        raise Skip("no tracefs")


def instances(pid=None):
    """The kernel's instances of a recorder; with None, of all recorders that have ended."""
    names = [n for n in os.listdir(TRACING + "/instances") if re.fullmatch(r"vestige\.\d+", n)]
    return [n for n in names if (n == f"vestige.{pid}" if pid else not os.path.exists("/proc/" + n.split(".")[1]))]


def settings():
    found = {}
    for name in ("tracing_on", "current_tracer", "buffer_size_kb", "trace_clock", "tracing_cpumask", "trace_options",
                 "set_event", "buffer_total_size_kb"):
        with open(f"{TRACING}/{name}") as f:
            found[name] = f.read()
    return found


def report(w, *flags):
    """By trace-cmd: (whether it is the kernel's, thread, ns, event, the rest) a line."""
    text = subprocess.run(["trace-cmd", "report", "-t", *flags, "trace.dat"], cwd=w.dir, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout.decode()
    found = []
    for m in re.finditer(r"^(kernel:)? +(.*)-(\d+) +\[\d+\] +(\d+)\.(\d{9}): (\w+): *(.*)$", text, re.M):
        found.append((bool(m[1]), int(m[3]), int(m[4]) * 1000000000 + int(m[5]), m[6], m[7]))
    return found


@kernel_alone()
def test_each_write_encloses_its_system_call(w):
    tracefs()
    before = settings()
    nr = 5000
    prog = w.compile("writes", WRITES)
    p = w.run("record", "-k", "-e", "syscalls:sys_*_write", "-e", "sched", "-p", "function_graph", "-l", "put", "--", prog, nr)
    said = re.search(rb"^trace\.dat: \d+ records in [\d.]+ s, 0 lost, the kernel's clock within (\d+) ns$", p.stderr, re.M)
    assert said and int(said[1]) < 1000000, p.stderr
    lines = report(w)
    # ours shows both buffers as trace-cmd does, line for line
    theirs = subprocess.run(["trace-cmd", "report", "trace.dat"], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            check=True).stdout.splitlines()
    ours = w.run("report").stdout.splitlines()
    assert ours == theirs, [x for x in zip(ours, theirs) if x[0] != x[1]][:3]
    stamps = [l[2] for l in lines]
    assert stamps == sorted(stamps)
    calls, begun = {}, {}
    for kernel, tid, ts, event, rest in lines:
        if not kernel and event == "funcgraph_entry":
            leaf = re.match(r"[!+#*@$]* *([\d.]+) us +\| +put\(\);", rest)
            assert leaf or "put() {" in rest, rest
            if leaf:
                calls.setdefault(tid, []).append((ts, ts + round(float(leaf[1]) * 1000)))
            else:
                begun[tid] = ts
        elif not kernel and event == "funcgraph_exit":
            calls.setdefault(tid, []).append((begun.pop(tid), ts))
    assert len(calls) == 2 and all(len(c) == nr for c in calls.values()), {t: len(c) for t, c in calls.items()}
    begins = {tid: [b for b, _ in c] for tid, c in calls.items()}
    seen = {tid: ([], []) for tid in calls}
    for kernel, tid, ts, event, rest in lines:
        if kernel and tid in calls and event in ("sys_enter_write", "sys_exit_write"):
            i = bisect.bisect_right(begins[tid], ts) - 1
            # what the library writes when a thread starts is more than a byte, and in no call
            if not re.search(r"count: 0x0*1$" if event == "sys_enter_write" else r"^0x1$", rest):
                continue
            assert i >= 0 and ts <= calls[tid][i][1], f"{event} {rest} of {tid} at {ts} is in no call: {calls[tid][i:i + 2]}"
            seen[tid][event == "sys_exit_write"].append(i)
    assert all(enters == exits == list(range(nr)) for enters, exits in seen.values())
    assert any(k and e == "sched_switch" and "==>" in r for k, _, _, e, r in lines)
    # the kernel's switches are the ones that `sched` uses
    table = w.run("sched", "latency").stdout.decode()
    assert all(re.search(rf"-{tid} .* ms", table) for tid in calls), table
    assert instances() == [] and settings() == before


def writers(lines, kernel):
    """How many bytes each thread has put: by its calls, or by the kernel."""
    counts = {}
    for k, tid, _, event, rest in lines:
        if k == kernel and (re.search("count: 0x0*1$", rest) if kernel else event == "function" and "put" in rest):
            counts[tid] = counts.get(tid, 0) + 1
    return counts


def check_threads(w, nr):
    """No other writer is in the kernel's part, and the threads are there from their first byte to
    their last."""
    lines = report(w)
    calls = writers(lines, False)
    assert sorted(calls.values()) == [nr, nr], calls
    assert writers(lines, True) == calls, (writers(lines, True), calls)
    others = {l[1] for l in lines if l[0] and l[3] == "sys_enter_write"} - set(calls)
    assert not [t for t in others if os.path.exists(f"/proc/{t}")], others
    assert instances() == []


def test_threads_of_a_program_alone(w):
    """-F: of the program's threads, also the ones that it makes; -P is so by itself. Beside them
    another process writes."""
    tracefs()
    nr = 300
    prog = w.compile("writes", WRITES)
    flags = ("-k", "-e", "syscalls:sys_enter_write", "-p", "function", "-l", "put")
    with subprocess.Popen(["sh", "-c", "while :; do echo > /dev/null; done"]) as other:
        try:
            w.run("record", "-q", "-F", *flags, "--", prog, nr)
            check_threads(w, nr)
            with subprocess.Popen([prog, str(nr), "wait"], stdin=subprocess.PIPE, env=w.env) as p, \
                    subprocess.Popen([BIN, "record", *flags, "-P", str(p.pid)], cwd=w.dir, env=w.env, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE) as r:
                said = b""
                while b"Ctrl-C to end" not in said:
                    said += (line := r.stderr.readline())
                    assert line, said
                p.communicate(b"x")
                said += r.communicate()[1]
                assert r.returncode == 0, said
            check_threads(w, nr)
            # without it the other one is there, too
            w.run("record", "-q", *flags, "--", prog, nr)
            assert other.pid in {l[1] for l in report(w) if l[0]}
        finally:
            other.kill()
    w.run("clean")


def test_kernel_tracer(w):
    """The kernel's tracer in the instance; one that the kernel refuses is refused with its reason
    and the list."""
    tracefs()
    with kernel_alone():
        kernel_tracer(w)


def kernel_tracer(w):
    before = settings()
    with open(TRACING + "/available_tracers", encoding="ascii") as f:
        tracers = f.read().split()
    p = w.run("record", "-q", "-k", "-F", "--kernel-tracer", "function", "--", w.prog, "fork", "1", status=None)
    if p.returncode:
        assert b"--kernel-tracer function: the kernel " in p.stderr and " ".join(tracers).encode() in p.stderr, p.stderr
        assert "function" not in tracers or b"refuses this tracer: " in p.stderr, p.stderr
    else:
        lines = report(w)
        calls = {l[1] for l in lines if not l[0]}
        kernel = [l for l in lines if l[0] and l[3] == "function"]
        assert kernel and {l[1] for l in kernel} <= calls, (len(kernel), calls)
    w.run("record", "-q", "-k", "--kernel-tracer", "nop", "-e", "sched_process_exit", "--", w.prog, "fork", "1")
    assert "sched_process_exit" in {l[3] for l in report(w) if l[0]}
    alone = [t for t in tracers if t in ("blk", "mmiotrace", "wakeup_dl", "hwlat")][:1]
    for name, why in [("functoin", "no such tracer, did you mean function"), ("xyz", "no such tracer. It has: ")] + \
            [(t, f"`vestige start -k -p {t}`") for t in alone if t == "blk"]:
        if name == "functoin" and "function" not in tracers:
            continue
        err = w.run("record", "-k", "--kernel-tracer", name, "--", w.prog, status=125).stderr.decode()
        assert why in err and err.count("\n") == 1, err
    assert b"goes with -k" in w.run("record", "--kernel-tracer", "nop", "--", w.prog, status=125).stderr
    assert instances() == [] and settings() == before


def test_signal_while_the_kernel_is_set_up(w):
    """A signal between the making of the spool and the program's start leaves neither a spool nor
    an instance."""
    tracefs()
    for sig in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        p = subprocess.Popen([BIN, "record", "-q", "-k", "-e", "sched", "--", w.prog, "spin"], cwd=w.dir, env=w.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=lambda s=sig: signal.signal(s, signal.SIG_DFL))
        until(lambda: os.path.exists(w.path(f"trace.dat.spool.{p.pid}")))
        p.send_signal(sig)
        said = p.communicate(timeout=60)[1].decode()
        assert p.returncode == 128 + sig, (p.returncode, said)
        # where the program was there already, it got the signal, and a recording was made
        left = [f for f in os.listdir(w.dir) if f.startswith("trace.dat")]
        assert left == ["trace.dat"] or (not left and f"by signal {int(sig)} before " in said), (left, said)
        for name in left:
            os.unlink(w.path(name))
        assert instances(p.pid) == []


def test_no_event_is_left(w):
    tracefs()
    for words in (["-v", "-e", "sched"], ["-e", "sched_switch", "-v", "-e", "sched"]):
        err = w.run("record", "-k", *words, "--", w.prog, status=125).stderr
        assert b"-e" in err and b"in front of -v" in err and err.count(b"\n") == 1, err
    p = w.run("record", "-q", "-k", "-i", "-e", "nosuch_event", "--", w.prog, "fork", "1")
    assert b"no event of the kernel is recorded" in p.stderr, p.stderr
    assert instances() == []


def test_the_kernels_half_is_kept(w):
    """Where the file cannot be written both halves stay, and the command that is named makes one
    file of them."""
    tracefs()
    p = w.run("record", "-q", "-k", "-e", "sched_process_exit", "-e", "sys_exit_mkdir", "--", "mkdir", "trace.dat", status=125)
    spool, = (n for n in os.listdir(w.dir) if re.fullmatch(r"trace\.dat\.spool\.\d+", n))
    assert f"{spool}.kernel, which".encode() in p.stderr, p.stderr
    convert = re.search(r"`vestige (convert \S+ \S+)` writes both", p.stderr.decode())[1].split()
    os.rmdir(w.path("trace.dat"))
    w.run(*convert)
    lines = report(w)
    assert {"sys_exit_mkdir", "sched_process_exit"} <= {l[3] for l in lines if l[0]}, p.stderr
    assert [l for l in lines if not l[0]]
    w.run("recover", spool, "-o", "again.dat")
    assert w.run("report", "again.dat").stdout == w.run("report").stdout
    for name in (spool, spool + ".kernel"):
        os.unlink(w.path(name))


def test_views_show_both(w):
    """Each put() of replay has its own system call between its lines; exports and SQL have the
    events, a trace.dat of the trace.dat has both buffers, and the marks that compare the clocks are
    in none of them."""
    tracefs()
    nr = 300
    prog = w.compile("writes", WRITES)
    w.run("record", "-q", "-k", "-e", "syscalls:sys_*_write", "-p", "function_graph", "-l", "put", "--", prog, nr)
    text = w.run("replay").stdout.decode()
    inside = {}
    seen = 0
    for line in text.splitlines()[1:]:
        tid, what = re.fullmatch(r".*\[ *(\d+)\] \| (.*)", line).groups()
        # what the library writes when a thread starts is more than a byte, and in no call
        if "sys_" in what and not re.search(r"count: (0x0*)?1\)|-> 0x1 ", what):
            continue
        if what == "put() {":
            assert tid not in inside, line
            inside[tid] = []
        elif what == "} /* put */":
            assert inside.pop(tid) == ["enter", "exit"], line
            seen += 1
        elif what.startswith("  /* kernel: syscalls:sys_"):
            inside[tid].append(re.match(r"  /\* kernel: syscalls:sys_(\w+)_write", what)[1])
        else:
            assert "put" not in what, line
    assert seen == 2 * nr and not inside, (seen, inside)
    assert "vestige clock" not in text
    assert "sys_enter" not in w.run("replay", "-t", "1s").stdout.decode()
    w.run("convert", "trace.dat", "trace.csv")
    with open(w.path("trace.csv")) as f:
        rows = f.read()
    assert rows.count("syscalls:sys_enter_write") >= 2 * nr and "vestige clock" not in rows
    both = report(w)
    for version in "dat6", "dat":
        w.run("convert", "--to", version, "trace.dat", "again.dat")
        os.rename(w.path("again.dat"), w.path(f"{version}.dat"))
    os.rename(w.path("dat6.dat"), w.path("trace.dat"))
    assert report(w) == both
    os.rename(w.path("dat.dat"), w.path("trace.dat"))
    assert report(w) == both
    events = [l for l in text.splitlines() if "/* kernel: syscalls:" in l]
    assert events
    parts = [w.run("replay", "--cpu", cpu).stdout.decode() for cpu in range(os.cpu_count())]
    assert sorted(l.split("|")[1].strip() for p in parts for l in p.splitlines() if "/* kernel: syscalls:" in l) == \
        sorted(l.split("|")[1].strip() for l in events)


def test_events_that_are_left_out(w):
    """-v leaves out the events of the -e behind it, of the kernel and of the program. With -i a
    missing event is no error."""
    tracefs()
    w.run("record", "-q", "-k", "-e", "sched", "-v", "-e", "*wak*", "-e", "sched_switch", "--", w.prog, "fork", "3")
    events = {l[3] for l in report(w) if l[0]}
    assert "sched_process_exit" in events and not [e for e in events if "wak" in e or e == "sched_switch"], events
    w.run("record", "-q", "-e", "sched", "-v", "-e", "sched_switch,sched_process_exit", "--", w.prog, "fork", "3")
    events = {l[3] for l in report(w)}
    assert "sched_process_fork" in events and not events & {"sched_switch", "sched_process_exit"}, events
    p = w.run("record", "-q", "-k", "-e", "nosuch_event", "-e", "sched_process_exit", "--", w.prog, "fork", "3", status=125)
    assert b"nosuch_event: the kernel has no such event" in p.stderr, p.stderr
    p = w.run("record", "-q", "-i", "-k", "-e", "nosuch_event", "-e", "sched_process_exit", "--", w.prog, "fork", "3")
    assert b"nosuch_event" in p.stderr and b"left out" in p.stderr, p.stderr
    assert "sched_process_exit" in {l[3] for l in report(w)}
    assert instances() == []


def test_stamps_of_the_day(w):
    """--date and --ts-offset change the times, in trace-cmd's reading and in ours."""
    tracefs()
    begin = time.time()
    w.run("record", "-q", "--date", "-k", "-e", "sched_process_exit", "-p", "function", "--", w.prog, "fork", "1")
    end = time.time()
    lines = report(w)
    assert {l[0] for l in lines} == {True, False}
    assert all(begin - .01 <= l[2] / 1e9 <= end + .01 for l in lines), (begin, lines[:2], end)
    for sign in (1, -1):
        begin = time.monotonic()
        w.run("record", "-q", "--ts-offset", sign * 1000000000, "-p", "function", "--", w.prog, "fork", "1")
        lines, end = report(w), time.monotonic()
        assert lines and all(begin <= l[2] / 1e9 - sign <= end for l in lines), (begin, lines[:2], end)
        first = w.run("report", "-t").stdout.decode()
        assert f"{lines[0][2] // 1000000000}.{lines[0][2] % 1000000000:09}" in first
    assert b"not a number" in w.run("record", "--ts-offset", "x", "--", w.prog, status=125).stderr
    for big, why in (("9223372036854775808", b"more than 63 bits"), ("9223372036854775807", b"beyond 63 bits"), ("-9223372036854775807", b"below 0")):
        err = w.run("record", "--ts-offset", big, "--", w.prog, status=125).stderr
        assert why in err and err.count(b"\n") == 1, err
    for big, why in (("9223372036854775808", b"more than 63 bits"), ("-9223372036854775807", b"would move times of 'trace.dat' below 0")):
        err = w.run("report", "-i", "trace.dat", "--ts-offset", big, status=None).stderr
        assert why in err and err.count(b"\n") == 1, err
    assert b"leave out --date" in w.run("record", "--native", "--date", "--", w.prog, status=125).stderr


def test_events_of_both(w):
    """-e means the kernel's event and prog: the program's. The same event of both stays
    distinct."""
    tracefs()
    p = w.run("record", "-q", "-k", "-e", "sched_process_exit", "-e", "prog:sched_process_fork", "-e", "prog:sched_process_exit",
              "--", w.prog, "fork", "3")
    assert p.stderr == b"", p.stderr
    lines = report(w)
    events = {(l[0], l[3]) for l in lines}
    assert (True, "sched_process_exit") in events and (False, "sched_process_fork") in events, events
    assert (True, "sched_process_fork") not in events, events
    assert instances() == []
    # a kernel whose formats have arguments adds none to the program's calls
    w.run("record", "-q", "-k", "-F", "-e", "sched", "-e", "prog:sched", "-p", "function_graph", "--", w.prog, "fork", "3")
    assert b"CORRUPTED" not in w.run("report").stdout
    calls = [l for l in report(w) if l[3].startswith("funcgraph_")]
    assert calls and not any(l[0] for l in calls), calls


def test_the_kernels_stacks(w):
    """-R stacktrace of an event of the kernel: report and stock trace-cmd print its stacks. Without
    a record of the program the last line names no time."""
    tracefs()
    with kernel_alone():
        p = w.run("record", "-k", "-e", "sys_enter_openat", "-R", "stacktrace", "-p", "nop", "-o", "k.dat", "--", "cat", "/dev/null")
    assert re.search(rb"^k\.dat: \d+ records, 0 lost, the kernel's clock within \d+ ns$", p.stderr, re.M), p.stderr
    texts = [w.run("report", "k.dat").stdout.decode()]
    if shutil.which("trace-cmd"):
        texts.append(subprocess.run(["trace-cmd", "report", "k.dat"], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode())
    for text in texts:
        calls, stacks = len(re.findall("sys_enter_openat: ", text)), len(re.findall(r"kernel_stack: +<stack trace ?>\n=> ", text))
        assert calls == stacks > 0, (calls, stacks, text[:3000])


@kernel_alone()
def test_nothing_is_left(w):
    tracefs()
    before = settings()
    for words, why in ((["-e", "nosuch"], "-e nosuch: the kernel has no such event"),
                       (["-e", "no*such"], "-e no*such: the kernel has no such event"),
                       (["-e", "sched_swicth"], "the kernel has no such event, did you mean sched_switch?"),
                       (["-e", "sched:sched_swich"], "no such event, did you mean sched:sched_switch?")):
        err = w.run("record", "-k", *words, "--", w.prog, status=125).stderr.decode()
        assert why in err and err.count("\n") == 1, err
    for words in (["-k"], ["-k", "-e", "prog:sched"], ["-k", "-e", "sched", "--native"], ["-k", "-e", "sched", "--file-version", "6"]):
        assert b"(see vestige record --help)" in w.run("record", *words, "--", w.prog, status=125).stderr
    w.run("record", "-k", "-e", "sched", "--", "./nosuch", status=127)
    assert instances() == [] and settings() == before
    # Ctrl-C
    with subprocess.Popen([BIN, "record", "-q", "-k", "-e", "sched_switch", "--", w.prog, "spin"], cwd=w.dir, env=w.env,
                          stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        assert len(instances(p.pid)) == 1
        # a live recorder's is not removed
        assert b"vestige." + str(p.pid).encode() not in w.run("clean").stdout and len(instances(p.pid)) == 1
        p.send_signal(signal.SIGINT)
        p.stdout.read()
        p.wait()
    assert instances() == [] and any(l[3] == "sched_switch" for l in report(w))
    assert settings() == before


@kernel_alone()
def test_after_sigkill(w):
    tracefs()
    before = settings()
    for _ in range(20):
        with subprocess.Popen([BIN, "record", "-q", "-k", "-e", "sched_switch", "--", w.prog, "spin"], cwd=w.dir, env=w.env,
                              stdout=subprocess.PIPE) as p:
            assert p.stdout.readline() == b"ready\n"
            name, = instances(p.pid)
            p.kill()
            p.wait()
        path = f"{TRACING}/instances/{name}"
        would = w.run("clean", "-n").stdout.decode()
        did = w.run("clean").stdout.decode()
        assert not os.path.exists(path)
        if f"would remove {path}\n" in would and f"removed {path}\n" in did:
            break  # not by `vestige clean` of a test that runs at the same time
    else:
        raise AssertionError((path, would, did))
    assert instances() == [] and settings() == before
    for left in os.listdir(w.dir):
        if ".spool" in left:
            os.unlink(w.path(left))
    until(lambda: w.run("clean") and not os.listdir(w.areas))


def test_full_disk(w):
    """What has arrived is kept, all of it is in the file, and the end says how much is lost."""
    tracefs()
    disk = w.path("disk")
    os.mkdir(disk)
    busy = "i=0; while [ $i -lt 40000 ]; do echo $i; i=$((i+1)); done >/dev/null"
    p = own_mounts(f"mount -t tmpfs -o size=6m none {disk} && cd {disk} && "
                   f"{BIN} record -k -p nop -e sched -e syscalls -o k.dat -- sh -c '{busy}'; status=$?; cp k.dat {w.dir}; ls; exit $status",
                   env=w.env)
    said = p.stderr.decode()
    assert p.returncode == 125 and p.stdout == b"k.dat\n", (p.returncode, p.stdout, said)
    assert "the kernel's records that come from here on are lost, those until here are kept: No space left" in said, said
    left = int(re.search(r"the kernel's first records are in the recording, its last (\d+) are lost; make room, or name another disk", said)[1])
    kernel = said[said.index("kernel CPU: 0"):]
    taken, lost = w.stats(kernel.encode(), "read events"), w.stats(kernel.encode(), "overrun")
    assert left == w.stats(kernel.encode(), "entries") > 1000 and taken > 10000, said
    assert re.search(rf"^k\.dat: {taken} records, {left + lost} lost(, the kernel's clock within \d+ ns)?$", said, re.M), said
    shown = subprocess.run(["trace-cmd", "report", w.path("k.dat")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    # a stack or a line of text has no stamp; a marker may have several lines
    assert len(re.findall(rb"^kernel: .*\[\d+\] +\d+\.\d+: ", shown, re.M)) == taken, (taken, len(re.findall(rb"^kernel: .*\[\d+\] +\d+\.\d+: ", shown, re.M)))


RARE = r"""
#include <fcntl.h>
#include <unistd.h>
static int fd;
__attribute__((noipa)) void rare(void) { char c = 1; if (write(fd, &c, 1) != 1) _exit(3); }
int main(void)
{
	char c = 1;
	fd = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 30; i++) {
		rare();
		for (int n = 0; n < 20000; n++)
			if (write(fd, &c, 1) != 1)
				return 1;
	}
	return 0;
}
"""


def test_full_disk_by_the_kernel(w):
    """The kernel's records fill the disk; all of the program's few records are in the file."""
    tracefs()
    disk, prog = w.path("disk"), w.compile("rare", RARE)
    os.mkdir(disk)
    p = own_mounts(f"mount -t tmpfs -o size=8m none {disk} && cd {disk} && "
                   f"{BIN} record -k -p function_graph -e syscalls -o k.dat -- {prog}; status=$?; cp k.dat {w.dir}; ls; exit $status",
                   env=w.env)
    said = p.stderr.decode()
    assert p.returncode == 125 and p.stdout == b"k.dat\n", (p.returncode, p.stdout, said)
    assert "the kernel's records that come from here on are lost, those until here are kept: No space left" in said, said
    assert "the kernel's first records are in the recording" in said and "the recording stops" not in said, said
    assert w.counts("k.dat")["rare"] == 30, said


def test_statistics(w):
    """--stat has the kernel's buffer, too."""
    tracefs()
    for flag, shown in (("--stat", True), ("-q", False)):
        p = w.run("record", "-k", flag, "-e", "sched", "--", w.prog, "calls", 5)
        assert (b"\nkernel CPU: 0\nentries: 0\noverrun: 0\n" in p.stderr) == shown, p.stderr


main(globals())
