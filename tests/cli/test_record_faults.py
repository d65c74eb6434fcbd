#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige record when something is wrong: one line that names the remedy, the right status, and
nothing that was recorded is lost."""
import os
import pty
import shutil
import signal
import struct
import subprocess
import time

from cli_test import BIN, CALLS, Skip, main, need, own_mounts, root


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
    refused(w, 125, ["6 or 7"], "--file-version", "5", w.prog)
    refused(w, 125, ["no program"])
    refused(w, 125, ["not a tracer"], "-p", "", w.prog)
    refused(w, 125, ["no tracer nosuch", "-p function"], "-p", "nosuch", w.prog)
    refused(w, 125, ["nosuch", "list -f"], "-l", "nosuch", w.prog)
    refused(w, 125, ["nosuch", "list -f"], "-l", "leaf", "-n", "nosuch*", w.prog)
    refused(w, 125, ["nosuch", "list -f"], "-l", "nosuch,leaf", w.prog)


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


def test_setuid(w):
    root()
    shutil.copy(w.prog, w.path("suid"))
    os.chown(w.path("suid"), 65534, 65534)
    os.chmod(w.path("suid"), 0o4755)
    refused(w, 125, ["set-user-ID", "LD_PRELOAD"], "./suid")


def test_nothing_to_trace(w):
    w.compile("plain", CALLS, "-fpatchable-function-entry=0")
    p = w.run("record", "-q", "./plain", "calls", 3, status=125)
    assert b"-fpatchable-function-entry=6" in p.stderr and b"doctor" in p.stderr
    w.run("record", "-q", "./plain", "exit", 9, status=9)
    w.run("record", "-q", "-p", "nop", "./plain")
    p = w.run("record", "-q", "env", "-i", w.prog, "calls", 3, status=125)
    assert b"calls" in p.stderr and b"LD_PRELOAD" in p.stderr, p.stderr
    with open(w.path("s.sh"), "w") as f:
        f.write("#!/bin/sh\ntrue\n")
    os.chmod(w.path("s.sh"), 0o755)
    p = w.run("record", "-q", "./s.sh", status=125)
    assert b"script for /bin/sh" in p.stderr, p.stderr


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


def test_disk_full(w):
    disk = w.path("disk")
    os.mkdir(disk)
    p = own_mounts(f"mount -t tmpfs -o size=3m none {disk} && cd {disk} && "
                   f"{BIN} record -o t.dat {w.prog} calls 3000000; echo status $?; ls; "
                   f"for f in t.dat*; do {BIN} profile $f; done", env=w.env)
    out = p.stdout.decode()
    assert "status 125" in out and "leaf" in out, p
    assert b"No space left" in p.stderr, p
    # The program's own failure comes first.
    p = own_mounts(f"mount -t tmpfs -o size=64k none {disk} && cd {disk} && "
                   f"{BIN} record -q -o t.dat {w.prog} die 6; echo status $?", env=w.env)
    assert b"status 134" in p.stdout, p


def spinning(w, *flags):
    p = subprocess.Popen([BIN, "record", "-q", *flags, w.prog, "spin"], cwd=w.dir, env=w.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                         # whoever runs the tests may ignore SIGHUP (nohup): a program would inherit it
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
        assert p.wait(20) == 128 + sig
        assert b"leaf <-mid" in w.run("report").stdout


def test_program_is_killed(w):
    p = spinning(w)
    os.kill(child_of(p.pid), signal.SIGKILL)
    assert p.wait(20) == 137
    assert b"leaf <-mid" in w.run("report").stdout


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
    time.sleep(1)
    p.kill()
    p.wait(20)
    # The program goes on: it never waits for the recorder.
    time.sleep(0.1)
    os.kill(child, 0)
    os.kill(child, signal.SIGKILL)
    spools = [n for n in os.listdir(w.dir) if ".spool" in n]
    assert len(spools) == 1, spools
    spooled = w.run("report", spools[0]).stdout.count(b"leaf <-mid")
    left = [os.path.join(w.areas, n) for n in os.listdir(w.areas)]
    area = [n for n in left if not n.endswith(".sock")][0]
    # What came after the recorder lies in the area of the dead process.
    assert spooled > 100 and b"leaf <-mid" in w.run("report", area).stdout
    for name in left:
        os.unlink(name)
    os.unlink(w.path(spools[0]))


main(globals())
