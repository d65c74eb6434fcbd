#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach: refusals are one line that names the remedy and the errno, and the process goes on as
without."""
import errno
import os
import re
import shutil
import signal
import struct
import subprocess

from cli_test import BIN, Skip, children_of, main, need, own_mounts, root, state_of, until
from test_attach import Program, has_engine

NOBODY = 65534
WAITS = r"""
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char c;
	puts("ready");
	fflush(stdout);
	printf("read %d\n", (int)read(0, &c, 1));
	return 0;
}
"""
GO_NOTE = r"""
__asm__(".pushsection .note.go.buildid,\"a\",@note; .balign 4; .long 4, 4, 4; .ascii \"Go\\0\\0\"; .long 1; .popsection");
"""
# Its child lives until a line comes, and shares its memory.
VFORKS = WAITS.replace("int main(void)\n{\n\tchar c;", "int main(void)\n{\n\tint pid;\n\tchar c;").replace(
    '\tprintf("read %d\\n", (int)read(0, &c, 1));', '\tif (!(pid = vfork()))\n\t\t_exit(read(0, &c, 1));\n\tprintf("read %d\\n", pid > 0);')

# The tool as another user, and in a system whose Yama refuses ptrace(), with no filter of ours in
# the program. A sanitizer looks for leaks by ptrace(), which is refused here.
NO_LEAKS = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
UNDER_YAMA = r"""
import ctypes, os, struct, sys
os.setgid(%d)
os.setuid(%d)
class F(ctypes.Structure): _fields_ = [('nr', ctypes.c_ushort), ('code', ctypes.c_char_p)]
LD, JEQ, RET = 0x20, 0x15, 6
code = [(LD, 0, 0, 0)]
for nr in 101, 310:   # ptrace, process_vm_readv: EPERM
    code += [(JEQ, 0, 1, nr), (RET, 0, 0, 0x50001)]
code = b''.join(struct.pack('<HBBI', *i) for i in code + [(RET, 0, 0, 0x7fff0000)])
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, ctypes.byref(F(len(code) // 8, code)), 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
""" % (NOBODY, NOBODY)


def refused(w, pid, why, errno, *words, **more):
    p = w.run("attach", *words, pid, status=1, **more)
    said = p.stderr.decode()
    assert why in said and said.endswith(f": {errno}\n") and said.count("\n") == 1, said
    assert not has_engine(pid)


def is_in(state, pid):
    until(lambda: state_of(pid) in state)


def ends(p):
    status, out = p.end()
    assert status == 0 and out == "read 1\n", (status, out)


def as_nobody(w):
    """Its files are for all to execute."""
    root()
    os.chmod(w.dir, 0o755)
    os.chmod(w.path("does"), 0o755)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": ()}


def test_its_folder(w):
    """With a folder that the engine would refuse, nothing is loaded, and a later attach works."""
    root()
    w.compile("does", WAITS)
    os.mkdir(w.path("open"), 0o755)
    with Program(w, env=dict(w.env, VESTIGE_DIR=w.path("open"))) as p:
        refused(w, p.pid, f"its VESTIGE_DIR {w.path('open')} is open to others: chmod 700", "Operation not permitted")
        os.chown(w.path("open"), 12345, -1)
        os.chmod(w.path("open"), 0o700)
        refused(w, p.pid, "is user 12345's, and the process user 0's", "Operation not permitted")
        os.chown(w.path("open"), 0, -1)
        w.run("attach", p.pid)
        assert has_engine(p.pid)
        ends(p)


def test_states(w):
    """Stopped, traced, a zombie, a thread of the kernel."""
    need("strace")
    w.compile("does", WAITS)
    p = w.run("attach", 2, status=1)
    assert b"there is no process 4194303" in w.run("attach", 4194303, status=1).stderr
    assert b"vestige attach PID" in w.run("attach", "x", status=2).stderr
    assert p.stderr == b"vestige: process 2 is a thread of the kernel: the kernel's ftrace has it: Operation not permitted\n", p.stderr
    with Program(w) as p:
        os.kill(p.pid, signal.SIGSTOP)
        is_in("T", p.pid)
        refused(w, p.pid, f"kill -CONT {p.pid}", "Device or resource busy")
        is_in("T", p.pid)
        os.kill(p.pid, signal.SIGCONT)
        is_in("S", p.pid)
        tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(p.pid)])
        until(lambda: f"\nTracerPid:\t{tracer.pid}\n" in open(f"/proc/{p.pid}/status", encoding="utf-8").read())
        refused(w, p.pid, f"traced by process {tracer.pid}", "Device or resource busy")
        # as a debugger holds it
        os.kill(p.pid, signal.SIGSTOP)
        is_in("tT", p.pid)
        refused(w, p.pid, "end that first", "Device or resource busy")
        os.kill(p.pid, signal.SIGCONT)
        tracer.terminate()
        tracer.wait()
        ends(p)
    # both look in a folder that cannot be made
    env = dict(w.env)
    w.env["VESTIGE_DIR"] = w.path("missing/areas")
    with Program(w) as p:
        refused(w, p.pid, "mkdir -p -m 700 " + w.path("missing/areas"), "No such file or directory")
        ends(p)
    w.env = env
    gone = subprocess.Popen(["true"])
    is_in("Z", gone.pid)
    p = w.run("attach", gone.pid, status=1)
    assert b"has ended (it is a zombie): No such process\n" in p.stderr, p.stderr
    gone.wait()


def test_vfork(w):
    """A process whose only thread waits for a child with its memory: the child is named."""
    w.compile("does", VFORKS)
    with Program(w) as p:
        child = until(lambda: children_of(p.pid))[0]
        is_in("D", p.pid)
        refused(w, p.pid, f"vfork() or posix_spawn() until its child has executed a program or has ended (process {child})",
                "Resource temporarily unavailable", "--wait", "1")
        ends(p)
    assert b"not a number of seconds" in w.run("attach", "--wait", "0", "1", status=2).stderr


def test_programs(w):
    """Static, of another C library, of Go, of 32 bits."""
    w.compile("does", WAITS, "-static")
    with Program(w) as p:
        refused(w, p.pid, "link libvestige.a into it", "Operation not supported")
        ends(p)
    if shutil.which("musl-gcc"):
        subprocess.run(["musl-gcc", "-o", "does", "does.c"], cwd=w.dir, check=True)
        with Program(w) as p:
            refused(w, p.pid, "ld-musl-x86_64.so.1), libvestige.so is for glibc", "Operation not supported")
            ends(p)
    else:
        print("no musl-gcc")
    # what is known of Go is its linker's note
    w.compile("does", WAITS + GO_NOTE)
    with Program(w) as p:
        refused(w, p.pid, "is a Go program", "Operation not supported")
        ends(p)
    with open(w.path("does"), "wb") as f:
        f.write(of_32_bits())
    try:
        with Program(w) as p:
            refused(w, p.pid, "is a program of 32 bits", "Exec format error")
            ends(p)
    except OSError as e:
        assert e.errno == errno.ENOEXEC, e
        print("this kernel runs no program of 32 bits")


def of_32_bits():
    """An i386 program that does what WAITS does: no compiler here makes one."""
    base, at = 0x8048000, 84   # behind the ELF header and one program header
    texts = b"ready\nread 1\n"
    code_bytes = 3 * 22 + 9

    def call(nr, fd, address, count):
        return b"".join(struct.pack("<BI", op, n) for op, n in ((0xb8, nr), (0xbb, fd), (0xb9, address), (0xba, count))) + b"\xcd\x80"

    text_at = base + at + code_bytes
    code = (call(4, 1, text_at, 6) + call(3, 0, text_at + len(texts), 1) + call(4, 1, text_at + 6, 7) +
            b"\x31\xdb\xb8\x01\x00\x00\x00\xcd\x80")   # exit(0)
    assert len(code) == code_bytes
    size = at + code_bytes + len(texts)
    head = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + at, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    return head + struct.pack("<IIIIIIII", 1, 0, base, base, size, size + 1, 7, 0x1000) + code + texts


def test_users(w):
    """Another user's process, and a set-user-ID program that the same user runs."""
    w.compile("does", WAITS)
    nobody = as_nobody(w)
    with Program(w) as p:
        refused(w, p.pid, "another user's (0): attach as root", "Operation not permitted", **nobody)
        ends(p)
    os.chmod(w.path("does"), 0o4755)
    with Program(w, **nobody) as p:
        if not re.search(r"^Uid:\t65534\t0\t", open(f"/proc/{p.pid}/status", encoding="utf-8").read(), re.M):
            raise Skip("set-user-ID does not work in this folder (nosuid)")
        refused(w, p.pid, "runs a set-user-ID program", "Operation not permitted", **nobody)
        ends(p)


def test_engine_does_not_start(w):
    """Where there is no room for an area, or the counter may not be read: that is said, and the
    program goes on."""
    first = '#include <sys/prctl.h>\n#include <sys/resource.h>\n#include <sys/mman.h>\n' + WAITS
    for what in ("prctl(PR_SET_TSC, PR_TSC_SIGSEGV)", "setrlimit(RLIMIT_AS, &(struct rlimit){1 << 25, 1 << 25})",
                 "setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096})"):
        w.compile("does", first.replace("\tputs(", f"\tif ({what})\n\t\treturn 1;\n\tputs("))
        with Program(w) as p:
            said = w.run("attach", p.pid, status=1).stderr.decode()
            assert "but the engine did not start" in said and said.endswith(": Operation not supported\n"), said
            ends(p)


def test_few_descriptors(w):
    """A limit on open files is not called a seccomp filter."""
    first = "#include <sys/resource.h>\n" + WAITS
    for limit in 5, 6, 7:
        w.compile("does", first.replace("\tputs(", "\tif (setrlimit(RLIMIT_NOFILE, &(struct rlimit){%d, %d}))\n\t\treturn 1;\n\tputs("
                                        % (limit, limit)), "-fpatchable-function-entry=0")
        with Program(w) as p:
            if w.run("attach", "-q", p.pid, status=None).returncode == 0:
                w.run("start", "-P", p.pid, "-p", "function", status=None)
                said = w.run("get", "-P", p.pid, "vestige_status").stdout.decode()
                assert "seccomp" not in said, said
            ends(p)
    w.run("clean")


def test_locked_memory(w):
    """Under mlockall(MCL_FUTURE) the area has the memory that it uses, not all that it may."""
    root()
    first = "#include <sys/mman.h>\n" + WAITS
    w.compile("does", first.replace("\tputs(", "\tif (mlockall(MCL_CURRENT | MCL_FUTURE))\n\t\tputs(\"not locked\");\n\tputs("))
    with Program(w) as p:
        w.run("attach", "-q", p.pid)
        kib = sum(os.stat(os.path.join(w.areas, name)).st_blocks for name in os.listdir(w.areas)) // 2
        assert kib < 65536, kib
        w.run("start", "-P", p.pid, "-p", "function_graph")
        ends(p)
    w.run("clean")


def test_yama(w):
    """Where Yama refuses ptrace(): a stand-in, of its control file and of the calls that it
    refuses."""
    w.compile("does", WAITS)
    nobody = as_nobody(w)
    with Program(w, **nobody) as p:
        for mode, why in ((1, "kernel.yama.ptrace_scope is 1): attach as root, or start the program with `vestige run`"),
                          (2, "kernel.yama.ptrace_scope is 2): attach as root"), (3, "forbids ptrace() for good")):
            said = own_mounts(f"mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo {mode} >"
                              f"/proc/sys/kernel/yama/ptrace_scope && exec /usr/bin/python3 -c \"$CODE\" {BIN} attach {p.pid}",
                              env=dict(w.env, CODE=UNDER_YAMA, ASAN_OPTIONS=NO_LEAKS)).stderr.decode()
            assert why in said and said.endswith(": Operation not permitted\n") and said.count("\n") == 1, said
            assert not has_engine(p.pid)
        ends(p)


if __name__ == "__main__":
    raise SystemExit(main(globals()))
