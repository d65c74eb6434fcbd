#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The kernel's own test suite of ftrace on a process: unmodified, from Debian's package of the
kernel's source, unpacked below .cache/ (or $VESTIGE_SOURCES) and nowhere else.

	ftracetest.py [-v] [-j N] [--update] [CASE...]

Runs the cases (parts of their names; default: all that can mean something in a process), each in a
`vestige enter` of its own over a stand-in program that has the functions and events which the cases
name (standin.c), and prints for each PASS or `not yet` and why. The exit status is 1 if a case that
docs/conformance/cases.tsv calls `works` does not pass. --update writes what passed into that list.
"""
import argparse
import concurrent.futures
import contextlib
import fcntl
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD_DIR", os.path.join(ROOT, "build"))
BIN = os.environ.get("VESTIGE_BIN", os.path.join(BUILD, "vestige"))
LIBRARY = os.path.join(BUILD, "libvestige.so")
CACHE = os.environ.get("VESTIGE_SOURCES", os.path.join(ROOT, ".cache"))
CASES = os.path.join(ROOT, "docs/conformance/cases.tsv")
SOURCE = "/usr/src/linux-source-6.12.tar.xz"
# Cases that came with 7.2 are `7.2/test.d/...` in the list. No package has that suite: it is an
# archive of tools/testing/selftests/ftrace, as ftrace/, in one of these places.
NEWER = "7.2/"
NEWER_SOURCES = (os.environ.get("FTRACETEST_7_2", ""), os.path.join(CACHE, "ftracetest-7.2.tar.xz"),
                 os.path.join(os.path.dirname(ROOT), "shared/reference/ftracetest-7.2.tar.xz"))
SESSION = "conformance"
SUITE = "tools/testing/selftests/ftrace/"
TIMEOUT = 120
# Cases about what their own shell does: they run over a session of which it is a member, too
# (shell.c). In some of them only the shell and its children may make events.
ALONE = {"trigger/trigger-hist-mod.tc", "trigger/trigger-multihist.tc"}
# Of these it is a program that they start, and which is woken from outside.
INTER = "trigger/inter-event/trigger-"
OF_PING = {f"{INTER}{name}.tc" for name in
           ("field-variable-support", "inter-event-combined-hist", "onchange-action-hist", "onmatch-action-hist",
            "onmax-action-hist", "snapshot-action-hist", "trace-action-hist", "synthetic-event-dynstring")}
OF_PING.add(f"{NEWER}{INTER}fully-qualified-var-ref.tc")
OF_THE_SHELL = {"dynevent/add_remove_eprobe.tc", "dynevent/add_remove_uprobe.tc", "event/event-pid.tc",
                "ftrace/fgraph-retval.tc", "ftrace/func-filter-pid.tc", "kprobe/kprobe_args_char.tc",
                "kprobe/kprobe_args_string.tc", "kprobe/kprobe_args_type.tc", "trigger/trigger-hist.tc",
                "trigger/trigger-trace-marker-synthetic-kernel.tc", f"{NEWER}dynevent/enable_disable_tprobe.tc",
                f"{NEWER}trigger/trigger-hist-poll.tc"} | ALONE | OF_PING


class Missing(Exception):
    """A needed program or package is missing."""


def source():
    """The folder of the suite, unpacked once for each version of the package."""
    if not os.path.exists(SOURCE):
        raise Missing(f"no {SOURCE}: it is of Debian's package linux-source-6.12")
    st = os.stat(SOURCE)
    folder = os.path.join(CACHE, f"ftracetest-{st.st_size}-{int(st.st_mtime)}")
    if os.path.isdir(folder):
        return folder
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "ftracetest.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            unpack(folder)
    return folder


def newer_source():
    """The folder of the suite of 7.2, with the program that one of its cases compiles, or None if
    it is not here."""
    archive = next((a for a in NEWER_SOURCES if a and os.path.exists(a)), None)
    if not archive:
        return None
    st = os.stat(archive)
    folder = os.path.join(CACHE, f"ftracetest-7.2-{st.st_size}-{int(st.st_mtime)}")
    if os.path.isdir(folder):
        return f"{folder}/ftrace"
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "ftracetest.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            new = tempfile.mkdtemp(dir=CACHE)
            os.chmod(new, 0o755)
            with tarfile.open(archive) as tar:
                tar.extractall(new, members=[m for m in tar if (m.isfile() or m.isdir()) and ".." not in m.name])
            subprocess.run(["cc", "-O1", f"{new}/ftrace/poll.c", "-o", f"{new}/ftrace/poll"], check=True)
            os.rename(new, folder)
    return f"{folder}/ftrace"


def unpack(folder):
    new = tempfile.mkdtemp(dir=CACHE)
    try:
        # one pass over a big archive: its members come in their order
        with tarfile.open(SOURCE, "r|xz") as tar:
            seen = False
            for member in tar:
                _, _, name = member.name.partition("/")
                if not name.startswith(SUITE):
                    if seen:
                        break
                    continue
                seen = True
                member.name = name[len(SUITE):]
                if member.name and (member.isfile() or member.isdir()) and ".." not in member.name:
                    tar.extract(member, new)
        if not os.path.exists(os.path.join(new, "ftracetest")):
            raise Missing(f"no {SUITE}ftracetest in {SOURCE}")
        os.chmod(new, 0o755)
        os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def compile_standins(folder):
    subprocess.run(["cc", "-O1", "-g", "-fpatchable-function-entry=5", f"-I{ROOT}/include", f"-I{HERE}",
                    f"{HERE}/standin.c", f"{HERE}/standin_too.c", f"{HERE}/standin_many.c", "-o", f"{folder}/standin", "-lpthread"], check=True)
    subprocess.run(["cc", "-O1", "-g", "-fpatchable-function-entry=6", "-shared", "-fPIC",
                    f"{HERE}/shell.c", "-o", f"{folder}/shell.so"], check=True)
    os.mkdir(f"{folder}/modules")
    subprocess.run(["cc", "-O1", "-g", "-fpatchable-function-entry=6", "-shared", "-fPIC",
                    f"-I{ROOT}/include", "-Wno-format-security", f"{HERE}/trace_printk.c", "-o", f"{folder}/modules/trace_printk"], check=True)
    os.mkdir(f"{folder}/bin")
    for name in "modprobe", "rmmod":
        os.symlink(f"{HERE}/modprobe", f"{folder}/bin/{name}")


@contextlib.contextmanager
def standin(folder, tmp, env, *words):
    """A stand-in that runs; its pid. modprobe and rmmod of @env talk to it."""
    fifo = f"{tmp}/in"
    os.mkfifo(fifo)
    fd = os.open(fifo, os.O_RDWR)
    p = subprocess.Popen([f"{folder}/standin", *words], stdin=fd, stdout=subprocess.PIPE,
                         env=dict(env, LD_PRELOAD=LIBRARY))
    env["PATH"] = f"{folder}/bin:{env['PATH']}"
    env["STANDIN"] = f"{p.pid} {fifo} {folder}/modules"
    try:
        if p.stdout.readline() != b"ready\n":
            raise RuntimeError("the stand-in program did not start")
        yield p.pid
    finally:
        p.kill()
        p.wait()
        os.close(fd)
        p.stdout.close()


def reason(log):
    """The reason in a failed case's log: the shell's last command, and the output after it."""
    lines = [line for line in log.splitlines() if line.strip()]
    required = [line for line in lines if line.startswith("Required ")]
    if required:
        return required[0]
    last = max((i for i, line in enumerate(lines) if line.startswith("+ ")
                and line[2:] not in ("exit_fail", "exit 1", "exit_unsupported", "exit_unresolved", "exit 0")
                and not re.match(r"\+ (kill -s|do_reset|echo (nop|0)$)", line)), default=0)
    said = [line for line in lines[last:] if not line.startswith("+ exit") and "kill -s" not in line]
    return " | ".join(said[:3])[:300]


def run_case(suite, name, folder):
    """[(result, why)] of a case: of its run, and of its run in an instance where it has one."""
    with tempfile.TemporaryDirectory(prefix="vestige-ftracetest-", dir=folder) as tmp:
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp
        areas = tempfile.mkdtemp(prefix="vestige-test-areas-", dir=shm)
        env = dict(os.environ, VESTIGE_DIR=areas)
        for n in ("LD_PRELOAD", "VESTIGE_BOOT", "VESTIGE_SESSION", "VESTIGE"):
            env.pop(n, None)
        if name in OF_THE_SHELL:
            env["VESTIGE_SESSION"] = SESSION
        try:
            with standin(folder, tmp, env, *(["quiet"] if name in ALONE else [])) as pid:
                command = ["/bin/sh", "./ftracetest"]
                if name in OF_THE_SHELL:
                    command = ["env", f"LD_PRELOAD={LIBRARY} {folder}/shell.so", *command]
                return run_suite(suite, name.removeprefix(NEWER), [str(pid) if name not in OF_THE_SHELL else SESSION, "--", *command],
                                 tmp, env)
        finally:
            shutil.rmtree(areas, ignore_errors=True)


def run_suite(suite, name, command, tmp, env):
    logs = os.path.join(tmp, "logs")
    p = subprocess.Popen([BIN, "enter", *command, "-k", "-l", logs,
                          os.path.join("test.d", name)], cwd=suite, env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out = p.communicate(timeout=TIMEOUT)[0].decode(errors="replace")
        hung = False
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out = p.communicate()[0].decode(errors="replace")
        hung = True
    results = []
    for m in re.finditer(r"^\[(\d+)\](.*)\t\[(\w+)\]$", out, re.M):
        text = ""
        for log in glob.glob(os.path.join(logs, m[1] + "-*")):
            with open(log, encoding="utf-8", errors="replace") as f:
                text = f.read()
        results.append((m[3], text if m[3] not in ("PASS", "XFAIL") else ""))
    if hung or not results:
        text = ""
        for log in sorted(glob.glob(os.path.join(logs, "*-log.*"))):
            with open(log, encoding="utf-8", errors="replace") as f:
                text = f.read()
        results.append((f"HANGS after {TIMEOUT} s" if hung else "BROKEN", text or out))
    return results


def passed(results):
    return all(r in ("PASS", "XFAIL") for r, _ in results)


def table():
    """[[word, case, description, why]], and the comment above."""
    rows, head = [], []
    with open(CASES, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                head.append(line)
            else:
                rows.append((line.rstrip("\n").split("\t") + [""])[:4])
    return rows, head


def write_table(rows, head):
    with open(CASES, "w", encoding="utf-8") as f:
        f.writelines(head)
        f.writelines("\t".join(row).rstrip("\t") + "\n" for row in rows)


def check_machine():
    if os.geteuid() != 0:
        raise Missing("the suite runs as root only")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise Missing("needs a /dev/fuse that may be opened")
    if not os.path.isdir("/sys/kernel/tracing"):
        raise Missing("no /sys/kernel/tracing on which to lay the process's files")
    if not shutil.which("cc"):
        raise Missing("no C compiler")
    p = subprocess.run([BIN, "mount", "/dev/null/x"], stderr=subprocess.PIPE, check=False)
    if b"without libfuse3" in p.stderr:
        raise Missing("built without libfuse3")


def run(names, again, jobs, each):
    """Run cases; each(name, results, seconds) as they end, in the order of the names.

    The cases of @again get a second and a third try: the suite waits a second or less for things to
    happen, which on a machine that is busy with other tests is not always enough.
    """
    check_machine()
    suites = {"": source()}
    if any(n.startswith(NEWER) for n in names):
        suites[NEWER] = newer_source()
    with tempfile.TemporaryDirectory(prefix="vestige-conformance-") as folder:
        compile_standins(folder)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            def attempt(name):
                suite = suites[NEWER if name.startswith(NEWER) else ""]
                if not suite:
                    return [("SKIP", "no archive of the suite of 7.2 is here")], 0
                start = time.monotonic()
                for _ in range(3):
                    results = run_case(suite, name, folder)
                    if passed(results) or name not in again:
                        break
                return results, time.monotonic() - start

            for name, (results, seconds) in zip(names, pool.map(attempt, names)):
                each(name, results, seconds)


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    p.add_argument("-v", action="store_true", help="print the log of each case that does not pass")
    p.add_argument("-j", type=int, default=3, metavar="N", help="cases at once")
    p.add_argument("--works", action="store_true", help="those alone that the list says work")
    p.add_argument("--update", action="store_true", help="write the list anew")
    p.add_argument("case", nargs="*")
    args = p.parse_args()
    rows, head = table()
    by_name = {row[1].replace("test.d/", "", 1): row for row in rows}
    names = [n for n, row in by_name.items()
             if row[0] != "never" and (not args.case or any(c in n for c in args.case))
             and (row[0] == "works" or not args.works)]
    lost, count = [], {}

    def each(name, results, seconds):
        row, ok = by_name[name], passed(results)
        if results[0][0] == "SKIP":
            print(f"SKIP     {name}: {results[0][1]}")
            return
        if name.startswith("tracer/wakeup") and results[0][0] == "UNSUPPORTED":
            print(f"SKIP     {name}: the kernel's tracepoints may not be opened here")
            return
        count[ok] = count.get(ok, 0) + 1
        bad = [(r, log) for r, log in results if r not in ("PASS", "XFAIL")]
        where = " (instance)" if len(results) > 1 and results[0][0] in ("PASS", "XFAIL") else ""
        if ok:
            print(f"PASS     {name}: {row[2]}{' (also in an instance)' if len(results) > 1 else ''} [{seconds:.1f} s]")
        else:
            print(f"not yet  {name}{where}: {bad[0][0]}: {row[3] or reason(bad[0][1])}")
            if args.v:
                print(bad[0][1])
        sys.stdout.flush()
        if row[0] == "works" and not ok:
            lost.append(name)
        if args.update and ok:
            row[0], row[3] = "works", ""

    try:
        run(names, {n for n in names if by_name[n][0] == "works"}, args.j, each)
    except Missing as why:
        print(f"skipped: {why}")
        sys.exit(77)
    never = [row for row in rows if row[0] == "never"]
    if not args.case and not args.works:
        for row in never:
            print(f"never    {row[1].replace('test.d/', '', 1)}: {row[3] or row[2]}")
    print(f"\n{count.get(True, 0)} of {len(names)} pass, {count.get(False, 0)} not yet; "
          f"{len(never)} of {len(rows)} can mean nothing in a process")
    if args.update:
        write_table(rows, head)
    for name in lost:
        print(f"LOST: {name} worked, says docs/conformance/cases.tsv", file=sys.stderr)
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
