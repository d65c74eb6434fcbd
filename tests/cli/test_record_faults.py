#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""When something is wrong, vestige record prints one line that names the remedy, has the right exit
status, and keeps all records."""
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from cli_test import BIN, CALLS, Skip, is_sanitized, main, need, own_mounts, root, running, until

LIBRARY = os.environ["BUILD_DIR"] + "/libvestige.so"


def refused(w, status, words, *args, env=None):
    p = w.run("record", "-q", *args, status=status, env=env)
    lines = p.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("vestige: "), lines
    for word in words:
        assert word in lines[0], lines
    assert not os.path.exists(w.path("trace.dat"))


def test_flags(w):
    refused(w, 125, ["-z", "--help"], "-z")
    refused(w, 125, ["--nosuch"], "--nosuch")
    refused(w, 125, ["-b wants a value"], "-b")
    refused(w, 125, ["-b", "x4"], "-b", "x4", w.prog)
    refused(w, 125, ["-m", "-1"], "-m", "-1", w.prog)
    cpus = os.sysconf("SC_NPROCESSORS_CONF")
    refused(w, 125, ["-b 4000000000", f"{(64 << 20) // cpus} KB at most"], "-b", "4000000000", w.prog)
    refused(w, 127, ["no program is named"], "")
    refused(w, 125, ["6 or 7"], "--file-version", "5", w.prog)
    refused(w, 125, ["no program"])
    refused(w, 125, ["-p wants a value: TRACER"], "-p", "", w.prog)
    refused(w, 125, ["not a tracer"], "-p", "a b", w.prog)
    refused(w, 125, ["--native", "leave out --file-version"], "--native", "--file-version", "6", w.prog)
    refused(w, 125, ["--native", "leave out --file-version"], "--file-version=7", "--native", w.prog)
    refused(w, 125, ["--native", "leave out --no-native"], "--native", "--no-native", w.prog)
    refused(w, 125, ["no tracer nosuch", "vestige-tracers"], "-p", "nosuch", w.prog)
    refused(w, 125, ["nosuch", "list -f"], "-l", "nosuch", w.prog)
    refused(w, 125, ["nosuch", "list -f"], "-l", "leaf", "-n", "nosuch*", w.prog)
    refused(w, 125, ["nosuch", "list -f"], "-l", "nosuch,leaf", w.prog)
    refused(w, 125, ["-F goes with -k"], "-F", "-e", "sched", w.prog)
    for words in (["sched", "-v", "-e", "sched"], ["sched:sched_switch", "-v", "-e", "sched"], ["sched_switch", "-v", "-e", "*sw*"],
                  ["sched:sched_switch", "-e", "libcall", "-v", "-e", "*"]):
        refused(w, 125, ["a later -v -e takes it away", "no event is left"], "-e", *words, w.prog)
    # with a tracer there are calls, and here one event is left
    w.run("record", "-q", "-p", "function", "-e", "sched", "-v", "-e", "sched", w.prog)
    w.run("record", "-q", "-e", "sched", "-v", "-e", "sched_switch", w.prog)
    os.unlink(w.path("trace.dat"))


def test_program_cannot_be_started(w):
    refused(w, 127, ["nosuch-prog"], "nosuch-prog")
    refused(w, 127, ["./nosuch"], "./nosuch")
    refused(w, 126, ["calls.c"], "./calls.c")
    refused(w, 126, ["/tmp"], "/tmp")
    with open(w.path("bad"), "w") as f:
        f.write("#!/nosuch/interpreter\n")
    os.chmod(w.path("bad"), 0o755)
    refused(w, 126, ["/nosuch/interpreter"], "./bad")
    with open(w.path("text"), "w") as f:
        f.write("words\n")
    os.chmod(w.path("text"), 0o755)
    refused(w, 126, ["text"], "./text")


def test_static(w):
    w.compile("st", CALLS, "-static")
    refused(w, 125, ["st", "static"], "./st")
    w.compile("sp", CALLS, "-static-pie")
    refused(w, 125, ["sp", "static"], "./sp")


def patched(w, name, old, new):
    with open(w.prog, "rb") as f:
        data = f.read()
    assert old in data
    with open(w.path(name), "wb") as f:
        f.write(data.replace(old, new.ljust(len(old), b"\0"), 1))
    os.chmod(w.path(name), 0o755)


def test_other_c_library(w):
    with open(w.prog, "rb") as f:
        if b"/lib64/ld-linux-x86-64.so.2\0" not in f.read():
            raise Skip("made for x86-64")
    patched(w, "musl", b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-musl-x86_64.so.1")
    refused(w, 125, ["another C library", "ld-musl", "glibc"], "./musl")


def test_other_machine(w):
    with open(w.prog, "rb") as f:
        data = bytearray(f.read())
    struct.pack_into("<H", data, 18, 243)
    with open(w.path("riscv"), "wb") as f:
        f.write(data)
    os.chmod(w.path("riscv"), 0o755)
    refused(w, 125, ["riscv"], "./riscv")


def test_tables_without_memory(w):
    """A packed or changed program may have headers that name no memory; it runs all the same."""
    with open(w.prog, "rb") as f:
        data = bytearray(f.read())
    first, number = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    tables = [at for at in range(first, first + 56 * number, 56) if struct.unpack_from("<I", data, at)[0] == 0x6474e550]
    assert tables  # PT_GNU_EH_FRAME
    for at in tables:
        struct.pack_into("<Q", data, at + 16, 0x30000000)
    with open(w.path("elsewhere"), "wb") as f:
        f.write(data)
    os.chmod(w.path("elsewhere"), 0o755)
    for words in ("-p", "function"), ("-p", "function", "--unmodified"), ("-p", "function", "-l", "leaf", "-O", "stacktrace"):
        w.run("record", "-q", *words, "./elsewhere", "calls", 5)
        assert b": leaf <-" in w.run("report", "--format=trace").stdout, words


def test_setuid(w):
    root()
    shutil.copy(w.prog, w.path("suid"))
    os.chown(w.path("suid"), 65534, 65534)
    os.chmod(w.path("suid"), 0o4755)
    refused(w, 125, ["set-user-ID", "LD_PRELOAD"], "./suid")


def test_nothing_to_trace(w):
    w.compile("plain", CALLS, "-fpatchable-function-entry=0")
    p = w.run("record", "-q", "--built-only", "./plain", "calls", 3, status=125)
    assert b"-fpatchable-function-entry=6" in p.stderr and b"doctor" in p.stderr
    w.run("record", "-q", "./plain", "exit", 9, status=9)
    w.run("record", "-q", "-p", "nop", "./plain")
    # sites that have too little room
    w.compile("small", CALLS, "-fpatchable-function-entry=2")
    p = w.run("record", "-q", "./small", "calls", 3, status=125)
    assert b"`vestige record --unmodified` traces it as it is" in p.stderr, p.stderr
    w.run("record", "-q", "--unmodified", "./small", "calls", 3)
    assert (w.counts()["mid"], w.counts()["leaf"]) == (3, 6), w.counts()
    for flags, status in (["--built-only"], 125), ([], 0):
        p = w.run("record", "-q", *flags, "env", "-i", w.prog, "calls", 3, status=status)
        assert b"calls" in p.stderr and b"LD_PRELOAD" in p.stderr, p.stderr
    with open(w.path("s.sh"), "w") as f:
        f.write("#!/bin/sh\ntrue\n")
    os.chmod(w.path("s.sh"), 0o755)
    p = w.run("record", "-q", "./s.sh", status=125)
    assert b"script for /bin/sh" in p.stderr and b"record --unmodified" in p.stderr, p.stderr
    w.run("record", "-q", "--unmodified", "./s.sh")


def test_nothing_that_function_graph_can_follow(w):
    """Of programs built with -pg, function has the calls and function_graph says why it has
    none."""
    for name, flags in (("mcount", ("-pg",)), ("fentry", ("-pg", "-mfentry"))):
        w.compile(name, CALLS, "-fpatchable-function-entry=0", *flags)
        p = w.run("record", "-q", "-p", "function_graph", "--", f"./{name}", "calls", 3, status=125)
        assert p.stdout == b"" and not os.path.exists(w.path("trace.dat")), p   # it did not run
        assert f"function_graph can follow no function of ./{name} (`vestige doctor ./{name}` says why); -p function" in p.stderr.decode(), p.stderr
        assert b"no function_graph" in w.run("doctor", f"./{name}", status=None).stdout
        w.run("record", "-q", "-p", "function", "--", f"./{name}", "calls", 3)
        assert w.run("report").stdout.count(b" leaf\n") == 6
        os.remove(w.path("trace.dat"))


def test_output(w):
    refused(w, 125, ["/nosuch/t.dat", "-o"], "-o", "/nosuch/t.dat", w.prog)
    refused(w, 125, ["/dev/null", "-o"], "-o", "/dev/null", w.prog)
    refused(w, 125, ["regular file", "-o"], "-o", w.dir, w.prog)
    assert os.path.exists("/dev/null")


def test_folder_of_areas(w):
    refused(w, 125, ["VESTIGE_DIR"], w.prog, env={"VESTIGE_DIR": "/nosuch/folder"})
    refused(w, 125, ["VESTIGE_DIR"], w.prog, env={"VESTIGE_DIR": w.prog})
    os.mkdir(w.path("open"), 0o755)
    refused(w, 125, ["chmod 700"], w.prog, env={"VESTIGE_DIR": w.path("open")})
    if os.geteuid() == 0:
        os.mkdir(w.path("other"), 0o700)
        os.chown(w.path("other"), 65534, 65534)
        refused(w, 125, ["65534", "VESTIGE_DIR"], w.prog, env={"VESTIGE_DIR": w.path("other")})
        # root's, seen by a user that may not go into it
        with tempfile.TemporaryDirectory(dir="/dev/shm") as outer:
            os.chmod(outer, 0o755)
            os.mkdir(outer + "/mine", 0o700)
            with open(BIN, "rb") as f:
                os.set_inheritable(f.fileno(), True)
                p = subprocess.run([f"/proc/self/fd/{f.fileno()}", "stat", "-P", "1"], env=dict(w.env, VESTIGE_DIR=outer + "/mine"),
                                   stderr=subprocess.PIPE, user=65534, group=65534, extra_groups=[], close_fds=False, cwd="/",
                                   check=False)
        assert p.returncode == 1 and b"/mine is user 0's (Permission denied): be that user, or root, or set VESTIGE_DIR" in p.stderr, p


def test_shm_missing_or_full(w):
    run = f"exec {BIN} record -q -o {w.dir}/x.dat {w.prog} calls 300000"
    env = dict(w.env)
    del env["VESTIGE_DIR"]
    p = own_mounts(f"mount -t tmpfs -o ro none /dev/shm && {run}", env=env)
    assert p.returncode == 125 and b"VESTIGE_DIR" in p.stderr, p
    p = own_mounts(f"mount -t tmpfs -o size=64k none /dev/shm && {run}", env=env)
    assert p.returncode == 125 and b"full" in p.stderr and b"VESTIGE_DIR" in p.stderr, p
    p = own_mounts(f"mount -t tmpfs -o size=2m none /dev/shm && {run}", env=env)
    assert p.returncode == 0, p
    assert b"was full" in p.stderr, p
    assert b"leaf" in w.run("profile", "x.dat").stdout


def test_program_in_a_sandbox(w):
    """When executed programs have another /dev/shm (bwrap --dev), the message names the remedy."""
    env = dict(w.env)
    del env["VESTIGE_DIR"]
    p = own_mounts(f"cd {w.dir} && exec {BIN} record -q --built-only -o x.dat -- unshare -m sh -c 'mount -t tmpfs none /dev; exec {w.prog} calls 3'",
                   env=env)
    assert p.returncode == 125 and b"sandbox" in p.stderr and b"--bind /dev/shm/vestige-" in p.stderr, p
    # what it advises
    folder = f"/dev/shm/vestige-{os.geteuid()}"
    p = own_mounts(f"cd {w.dir} && exec {BIN} record -q -o x.dat -- unshare -m sh -c 'mkdir areas; mount --bind {folder} areas; "
                   f"mount -t tmpfs none /dev; mkdir -p {folder}; mount --bind areas {folder}; exec {w.prog} calls 3'", env=env)
    assert p.returncode == 0 and b"leaf" in w.run("report", "--format=trace", "x.dat").stdout, p


def test_disk_full(w):
    disk = w.path("disk")
    os.mkdir(disk)
    p = own_mounts(f"mount -t tmpfs -o size=3m none {disk} && cd {disk} && "
                   f"{BIN} record -o t.dat {w.prog} calls 3000000; echo status $?; ls; "
                   f"for f in t.dat*; do {BIN} profile $f; done", env=w.env)
    out = p.stdout.decode()
    assert "status 125" in out and "leaf" in out, p
    assert b"No space left" in p.stderr, p
    # what is full is the disk, and not the ring
    assert b"make room on the disk of t.dat" in p.stderr and b"enlarge" not in p.stderr, p
    # The program's own failure comes first.
    p = own_mounts(f"mount -t tmpfs -o size=64k none {disk} && cd {disk} && "
                   f"{BIN} record -q -o t.dat {w.prog} die 6; echo status $?", env=w.env)
    assert b"status 134" in p.stdout, p


def test_full_disk_keeps_what_fits(w):
    """The recorder gets many pages at once: those that fit are kept, with and without a limit."""
    disk = w.path("disk")
    os.mkdir(disk)
    for flags in (), ("-m", "4096"):
        for size in 400, 700, 1000:
            p = own_mounts(f"mount -t tmpfs -o size={size}k none {disk} && cd {disk} && "
                           f"{BIN} record -q -p function_graph {' '.join(flags)} -o t.dat {w.prog} calls 500000; ls; "
                           f"for f in t.dat*; do {BIN} profile --json $f; done", env=w.env)
            assert b"what is recorded so far is kept" in p.stderr, p
            assert b'"name": "leaf"' in p.stdout, (flags, size, p)


TWO = """
#include <pthread.h>
volatile long sum;
__attribute__((noipa)) static void leaf(long i) { sum += i; }
__attribute__((noipa)) static void mid(long i) { leaf(i); leaf(i + 1); }
static void *go(void *arg) { for (long i = 0; i < 300000; i++) mid(i); return arg; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, go, 0);
	go(0);
	return pthread_join(t, 0);
}
"""


def test_convert_on_a_disk_with_room_for_the_output(w):
    """The output's chunks wait in files beside it for their places. They take no room of their own
    there: a disk that has room for the output is large enough."""
    prog, disk = w.compile("two", TWO, "-O2", "-pthread", "-fpatchable-function-entry=6"), w.path("disk")
    w.run("record", "-q", "--native", "-p", "function_graph", "-o", "two.vestige", prog)
    w.run("convert", "-q", "two.vestige", "two.dat")
    size = os.path.getsize(w.path("two.dat"))
    os.mkdir(disk)
    for part, want in (11, 0), (8, 1):
        p = own_mounts(f"mount -t tmpfs -o size={size * part // 10} none {disk} && "
                       f"{BIN} convert -q {w.path('two.vestige')} {disk}/two.dat", env=w.env)
        assert p.returncode == want and (b"No space left" in p.stderr) == bool(want), (size, part, p)


def spinning(w, *flags):
    p = subprocess.Popen([BIN, "record", "-q", *flags, w.prog, "spin"], cwd=w.dir, env=w.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                         # the tests may be run with SIGHUP ignored (nohup): a program would inherit
                         # that
                         preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL)
                                             for s in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)])
    assert p.stdout.readline() == b"ready\n"
    return p


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return int(f.read().split()[0])


def test_sigterm_and_sighup_reach_the_program(w):
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        p = spinning(w)
        p.send_signal(sig)
        assert p.wait(60) == 128 + sig
        assert b"leaf <-mid" in w.run("report", "--format=trace").stdout


def test_signal_before_the_program_runs(w):
    """Whenever the signal comes, no spool is left that nothing can read: there is none, or a whole
    trace.dat."""
    seen = set()
    for sig in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        wait = .001
        while (True, True) not in seen or wait < .1:
            p = subprocess.Popen([BIN, "record", "-q", w.prog, "spin"], cwd=w.dir, env=w.env, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(sig, signal.SIG_DFL))
            time.sleep(wait)     # any moment will do; the program runs at some of them
            wait *= 1.4
            p.send_signal(sig)
            said = p.communicate(timeout=60)[1]
            assert p.returncode in (-sig, 128 + sig), (p.returncode, said)
            left = [f for f in os.listdir(w.dir) if f.startswith("trace.dat")]
            assert left in ([], ["trace.dat"]), (left, said)
            seen.add((p.returncode > 0, bool(left)))
            if left:
                w.run("report")
                os.unlink(w.path("trace.dat"))
            w.run("clean")
    assert (False, False) in seen, seen


def test_ctrl_c_before_main_leaves_no_area(w):
    """Ctrl-C goes to the program, too, at any moment of its start: neither an area nor a file
    without records is left."""
    for words, own in ((["record", "-q", w.prog, "spin"], True), (["list", "-f", w.prog], False), (["doctor", w.prog], False)):
        wait = .004
        while wait < .3:
            p = subprocess.Popen([BIN, *words], cwd=w.dir, env=w.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            time.sleep(wait)     # any moment will do
            wait *= 1.1
            os.killpg(p.pid, signal.SIGINT)
            said = p.communicate(timeout=60)[1]
            assert p.returncode in (0, -signal.SIGINT, 128 + signal.SIGINT), (p.returncode, said)
            areas = [n for n in os.listdir(w.areas) if n[0].isdigit()] if os.path.exists(w.areas) else []
            assert not areas, (words, wait, p.returncode, areas, said)
            assert b"did not start" not in said, (words, wait, said)
            if os.path.exists(w.path("trace.dat")):
                assert own
                os.unlink(w.path("trace.dat"))


def test_program_is_killed(w):
    p = spinning(w)
    os.kill(child_of(p.pid), signal.SIGKILL)
    assert p.wait(60) == 137
    assert b"leaf <-mid" in w.run("report", "--format=trace").stdout


def test_no_reader_of_its_messages(w):
    """With `record ... 2>&1 | head -1` the file is written, and no spool is left."""
    reader, writer = os.pipe()
    os.close(reader)
    p = subprocess.run([BIN, "record", w.prog, "calls", "20"], cwd=w.dir, env=w.env, stdout=subprocess.DEVNULL,
                       stderr=writer, timeout=100, check=False)
    os.close(writer)
    assert p.returncode == 0, p
    assert [f for f in os.listdir(w.dir) if "trace.dat" in f] == ["trace.dat"], os.listdir(w.dir)
    assert w.run("report", "--format=trace").stdout.count(b"mid <-main") == 20


def test_limit_of_file_size(w):
    """At the limit of file size, as on a full disk, the program runs on and the records so far are
    kept."""
    p = spinning(w)
    resource.prlimit(p.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    until(lambda: p.poll() is not None or select.select([p.stderr], [], [], 0)[0])
    if p.poll() is not None:    # the program lives on and has our pipes
        os.killpg(p.pid, signal.SIGKILL)
    assert p.returncode is None and b"File too large" in p.stderr.readline(), p.returncode
    os.kill(child_of(p.pid), signal.SIGKILL)
    assert p.wait(60) == 137
    found = [f for f in os.listdir(w.dir) if f.startswith("trace.dat")]
    assert len(found) == 1 and b"leaf" in w.run("profile", found[0]).stdout, found


def test_limits_that_leave_no_room(w):
    """A limit under which there can be no area, or no tracer, is named; nothing is left."""
    def under(what, limit, *args):
        p = subprocess.run([BIN, *args], cwd=w.dir, env=w.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           timeout=100, check=False, preexec_fn=lambda: resource.setrlimit(what, (limit, limit)))
        w.nothing_left()
        return p.returncode, p.stderr
    for args in (("record", w.prog, "calls", "2"), ("run", "s", w.prog, "calls", "2"), ("doctor", w.prog)):
        status, said = under(resource.RLIMIT_FSIZE, 10240, *args)
        assert status == (1 if args[0] == "doctor" else 125) and b"ulimit -f" in said, (args, status, said)
    for args in (("record", w.prog, "calls", "2"), ("doctor", w.prog)):
        status, said = under(resource.RLIMIT_FSIZE, 1 << 20, *args)
        assert b"did not start" in said and b"`ulimit -f` leave room" in said, (args, status, said)
    if not is_sanitized():
        graph = "record", "-p", "function_graph", w.prog, "calls", "2"
        status, said = under(resource.RLIMIT_DATA, 24 << 20, *graph)
        assert status == 125 and b"no memory for the tracer function_graph" in said and b"ulimit -v" in said, said
        status, said = under(resource.RLIMIT_AS, 64 << 20, *graph)
        assert status == 125 and b"did not start" in said and b"`ulimit -v` and" in said, said
        # the area leaves room for both
        status, said = under(resource.RLIMIT_AS, 155 << 20, *graph)
        assert status == 0 and b" 0 lost" in said, (status, said)


SIGNALS = r"""
#include <signal.h>
#include <stdio.h>
__attribute__((noipa)) static int ignored(int sig)
{
	struct sigaction sa;
	return !sigaction(sig, NULL, &sa) && sa.sa_handler == SIG_IGN;
}
int main(void)
{
	printf("%d %d %d\n", ignored(SIGQUIT), ignored(SIGPIPE), ignored(SIGXFSZ));
	return 0;
}
"""


def test_signals_are_as_they_were(w):
    """The program does not ignore the signals that `record` ignores for itself."""
    program, signals = w.compile("signals", SIGNALS), (signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ)
    for wanted in ((), (signal.SIGPIPE,), (signal.SIGQUIT, signal.SIGXFSZ)):
        def before(wanted=wanted):
            for sig in signals:
                signal.signal(sig, signal.SIG_IGN if sig in wanted else signal.SIG_DFL)
        p = subprocess.run([BIN, "record", "-q", program], cwd=w.dir, env=w.env, stdout=subprocess.PIPE,
                           restore_signals=False, preexec_fn=before, text=True, timeout=100, check=True)
        assert p.stdout.split() == [str(int(sig in wanted)) for sig in signals], (wanted, p.stdout)


def test_ctrl_c(w):
    need("trace-cmd")
    pid, tty = pty.fork()
    if pid == 0:
        os.chdir(w.dir)
        os.environ.update(w.env)
        os.execv(BIN, [BIN, "record", "-q", w.prog, "spin"])
    seen = b""
    while b"ready" not in seen:
        seen += os.read(tty, 1000)
    os.write(tty, b"\x03")
    try:
        while os.read(tty, 1000):
            pass
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert w.counts()["mid"] > 10


def test_killed_recorder_leaves_a_readable_spool(w):
    p = spinning(w)
    child = child_of(p.pid)
    until(lambda: w.run("report", "--format=trace", f"trace.dat.spool.{p.pid}", status=None).stdout.count(b"leaf <-mid") > 200)
    p.kill()
    p.wait(60)
    # The program goes on: it never waits for the recorder.
    areas = [os.path.join(w.areas, n) for n in os.listdir(w.areas) if not n.endswith(".sock")]
    until(lambda: b"leaf <-mid" in w.run("report", "--format=trace", areas[0]).stdout)
    os.kill(child, 0)
    os.kill(child, signal.SIGKILL)
    spools = [n for n in os.listdir(w.dir) if ".spool" in n]
    assert len(spools) == 1, spools
    spooled = w.run("report", "--format=trace", spools[0]).stdout.count(b"leaf <-mid")
    left = [os.path.join(w.areas, n) for n in os.listdir(w.areas)]
    area = [n for n in left if not n.endswith(".sock")][0]
    # What came after the recorder lies in the area of the dead process.
    assert spooled > 100 and b"leaf <-mid" in w.run("report", "--format=trace", area).stdout
    for name in left:
        os.unlink(name)
    os.unlink(w.path(spools[0]))


AGAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	char left[16];
	int n = argc > 1 ? atoi(argv[1]) : 0;

	leaf();
	snprintf(left, sizeof(left), "%d", n - 1);
	return n ? execl("/proc/self/exe", argv[0], left, NULL) : 0;
}
"""


def test_files_of_an_earlier_recorder_stay(w):
    """An interrupted recorder with the same PID, as in another container, has left its files."""
    script = "for n in $$ $$.2.kernel; do echo kept >trace.dat.spool.$n; done; exec \"$@\""
    p = subprocess.Popen(["sh", "-c", script, "sh", BIN, "record", "-q", "--", w.prog, "calls", "20"], cwd=w.dir, env=w.env)
    assert p.wait() == 0
    left = {n for n in os.listdir(w.dir) if ".spool." in n}
    assert left == {f"trace.dat.spool.{p.pid}", f"trace.dat.spool.{p.pid}.2.kernel"}, left
    for n in left:
        with open(w.path(n), encoding="utf-8") as f:
            assert f.read() == "kept\n", n
        os.unlink(w.path(n))
    assert w.counts()["leaf"] == 40
    os.unlink(w.path("trace.dat"))


def test_output_by_a_link(w):
    """Into the folder to which it leads, also in another file system."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="vestige-test-link-") as there:
        for flags, name in ((["--native"], "out.vst"), ([], "out.dat")):
            os.symlink(f"{there}/{name}", w.path("link"))
            with open(f"{there}/{name}", "wb"):
                pass
            w.run("record", "-q", *flags, "-o", "link", "--", w.prog, "calls", 20)
            assert os.path.islink(w.path("link")) and b"leaf" in w.run("report", "link").stdout
            assert os.listdir(there) == [name] and not [n for n in os.listdir(w.dir) if "spool" in n]
            os.unlink(w.path("link"))
            os.unlink(f"{there}/{name}")
    os.symlink("nowhere/at/all", w.path("link"))
    assert b"cannot follow the link link" in w.run("record", "-q", "-o", "link", "--", w.prog, "calls", 20, status=125).stderr
    os.unlink(w.path("link"))


def test_nohup(w):
    """An ignored SIGHUP ends nothing, as after nohup(1). SIGINT does, also where a shell ignores
    it."""
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def mask(pid, name):
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            return int(re.search(rf"^{name}:\t(\w+)$", f.read(), re.M)[1], 16)
    with running(w, w.prog, "spin") as p:
        r = subprocess.Popen([BIN, "record", "-P", str(p.pid), "-l", "mid"], cwd=w.dir, env=w.env, stderr=subprocess.PIPE,
                             preexec_fn=ignore)
        until(lambda: w.run("get", "-P", p.pid, "current_tracer", status=None).stdout == b"function\n")
        assert mask(r.pid, "SigBlk") & 3 == 2 and mask(r.pid, "SigIgn") & 1
        r.send_signal(signal.SIGHUP)
        r.send_signal(signal.SIGINT)
        said = r.communicate(timeout=100)[1]
        assert r.returncode == 0, said
    os.unlink(w.path("trace.dat"))


def test_many_execs(w):
    """The records of each image that exec replaces are kept: with a recorder, without one, and in a
    session of `run`."""
    prog = w.compile("again", AGAIN)
    w.run("record", "-p", "function", "-l", "leaf", prog, "60")
    assert w.run("report", "--format=trace").stdout.count(b": leaf <-") == 61
    boot = {"VESTIGE_BOOT": "ftrace=function ftrace_filter=leaf"}
    for start in (lambda: subprocess.run([prog, "60"], env=dict(w.env, LD_PRELOAD=LIBRARY, **boot), check=True),
                  lambda: w.run("run", "execs", "--", prog, "60", env=boot)):
        start()
        left = [os.path.join(w.areas, n) for n in os.listdir(w.areas)]
        kept = sum(w.run("report", "--format=trace", n).stdout.count(b": leaf <-") for n in left if not n.endswith(".sock"))
        assert kept == 61, (kept, len(left))
        for name in left:
            os.unlink(name)


def test_small_stack(w):
    """The tools need little of the stack: a service may have a small one."""
    if is_sanitized():
        raise Skip("sanitizers need more of the stack")
    for kb in 100, 80:
        for args in ("record", "-q", "-o", "s.dat", w.prog, "calls", "10"), \
                    ("record", "-q", "-p", "function_graph", "-o", "s.dat", w.prog, "calls", "1000"), \
                    ("record", "-q", "-m", "1000", "-o", "s.dat", w.prog, "calls", "10"), ("leaks", w.prog), ("report", "s.dat"):
            p = subprocess.run(["sh", "-c", f'ulimit -s {kb}; exec "$0" "$@"', BIN, *args], cwd=w.dir, env=w.env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=100, check=False)
            assert p.returncode == 0, (kb, args, p.returncode, p.stderr)
    assert b"leaf" in p.stdout, p


main(globals())
