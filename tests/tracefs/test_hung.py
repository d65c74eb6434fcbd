#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A request to a stopped, killed or dead process gets an answer or ETIMEDOUT; no other request
waits for it."""
import contextlib
import errno
import os
import re
import signal
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from mount_test import STEPS, main, mounted, read, steps, until, write

SECONDS = 60  # no answer takes that long, however busy the machine
# Errors of write-only files (EPERM of inject), of empty pipes, and of a pipe that another read
# still has open
FINE = {0, errno.EINVAL, errno.EPERM, errno.EAGAIN, errno.EBUSY}


def all_files(at):
    found = []
    for folder, folders, names in os.walk(at):
        if folder.endswith("/events/syscalls"):     # 700 that are alike
            del folders[8:]
        found += [os.path.join(folder, name) for name in names]
    return found


def look(path):
    """One read that does not wait. Return: 0 or the errno."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as e:
        return e.errno
    try:
        os.read(fd, 4096)
        return 0
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)


def timed(call, *args):
    begin = time.monotonic()
    answer = call(*args)
    took = time.monotonic() - begin
    assert took < SECONDS, (args, took)
    return answer


def test_every_file_of_a_stopped_process(w):
    with steps(w, boot="ftrace=function") as p, steps(w) as other, mounted(w) as m:
        at = f"{m}/{p.pid}"
        p.call(2)
        os.mkdir(f"{at}/instances/foo")
        files = all_files(at)
        assert len(files) > 100, len(files)
        p.stop()
        with ThreadPoolExecutor(8) as pool:
            answers = dict(zip(files, pool.map(lambda f: timed(look, f), files)))
            # the text that it left is read; write-only files and empty pipes say so
            wrong = {f: errno.errorcode[e] for f, e in answers.items() if e not in FINE
                     and e not in (errno.ETIMEDOUT, errno.ENODATA)}
            assert not wrong, wrong
            # only the process itself knows its profile, hist_debug, events that were never on and
            # system calls that were never looked up
            known = {e.split(":")[0] for e in read(f"{at}/available_events").split()} | {"ftrace"}
            assert "sched" in known
            silent = [f for f, e in answers.items() if e == errno.ETIMEDOUT and "/trace_stat/" not in f and
                      not re.search(r"/events/([^/]+/filter|[^/]+/[^/]+/(format|hist|hist_debug|id|inject))$", f) and
                      (re.search(r"/events/([^/]+)/", f) or ["", "sched"])[1] in known]
            assert not silent, silent
            # its folders list, and the other's files answer meanwhile
            pending = [pool.submit(timed, write, f"{at}/{f}", "1") for f in
                       ("tracing_on", "set_ftrace_filter", "trace", "options/overwrite", "trace_marker")]
            assert timed(os.listdir, at) and timed(os.listdir, f"{at}/instances") == ["foo"]
            assert timed(write, f"{m}/{other.pid}/current_tracer", "function") == 0
            for call in (lambda: os.mkdir(f"{at}/instances/bar"), lambda: os.rmdir(f"{at}/instances/foo")):
                try:
                    timed(call)
                    raise AssertionError("a stopped process did it")
                except OSError as e:
                    assert e.errno == errno.ETIMEDOUT, e
            assert {f.result() for f in pending} == {errno.ETIMEDOUT}
        p.p.send_signal(signal.SIGCONT)
        assert until(lambda: write(f"{at}/current_tracer", "function") == 0)
        # a refused write was not carried out in part later: all still answer
        assert {look(f) for f in files} <= FINE


EVENTS = STEPS.replace("#include <stdio.h>", """#include <vestige/event.h>
VESTIGE_EVENT(shop, order, (int, number));
VESTIGE_EVENT(shop, paid, (int, cents));
VESTIGE_EVENT(shop, closed);""", 1).replace("mid(i);", "{ mid(i); trace_order(i); trace_paid(i); }")


def test_events_of_a_process_that_cannot_answer(w):
    """A stopped and then dead process shows its events, switches, filters and triggers as
    before."""
    prog = w.compile("shop", EVENTS, f"-I{os.environ['SOURCE_DIR']}/include")
    with steps(w, prog=prog) as p, mounted(w) as m:
        at = f"{m}/{p.pid}/events"
        for path, text in (("shop/order/enable", "1"), ("shop/order/filter", "number > 3 && number < 9"),
                           ("shop/paid/trigger", "stacktrace:5 if cents == 2\n"), ("sched/sched_process_exit/enable", "1"),
                           ("shop/order/filter", "nosuch == 1")):
            assert write(f"{at}/{path}", text, 0) == (errno.EINVAL if "nosuch" in text else 0), path
        p.call(2)
        files = [f"shop/{e}/{f}" for e in ("order", "paid", "closed") for f in ("enable", "filter", "trigger")] + \
            ["shop/enable", "enable", "shop/order/id", "shop/order/format", "../set_event"]
        alive = {f: read(f"{at}/{f}") for f in files}
        assert alive["shop/enable"] == alive["enable"] == "X\n" and alive["shop/paid/trigger"].startswith("stacktrace:count=")
        assert "^" in alive["shop/order/filter"] and alive["shop/closed/filter"] == "none\n"
        # a count goes on without a write: as it was when something was written last
        assert write(f"{at}/shop/closed/enable", "0", 0) == 0
        p.stop()
        for dead in False, True:
            if dead:
                p.p.kill()
                p.p.wait()
            left = {f: read(f"{at}/{f}") for f in files}
            assert left == alive, [(f, left[f], alive[f]) for f in files if left[f] != alive[f]]
            # events of system calls are made at their first use
            assert {"shop:order", "sched:sched_process_exit"} <= set(read(f"{at}/../available_events").split())
            assert {"order", "paid", "closed", "enable"} <= set(os.listdir(f"{at}/shop"))
            assert {"shop", "sched", "enable", "ftrace"} <= set(os.listdir(at))
            assert write(f"{at}/shop/order/enable", "0", 0) == (errno.EROFS if dead else errno.ETIMEDOUT)
        assert w.run("get", "-P", p.pid, "events/shop/order/enable").stdout == b"1\n"


def follow(path, ends):
    """Read until the end. Return: the errno that ended it, or 0."""
    try:
        with open(path, "rb", buffering=0) as f:
            while f.read(65536):
                pass
        ends[path] = 0
    except OSError as e:
        ends[path] = e.errno


def test_killed_while_it_is_read(w):
    for n in range(3):
        with steps(w, boot="ftrace=function" + ("_graph" if n % 2 else "")) as p, mounted(w) as m:
            at, ends, stop = f"{m}/{p.pid}", {}, threading.Event()

            def again(path):
                while not stop.is_set():
                    follow(path, ends)

            threads = [threading.Thread(target=follow, args=(f"{at}/trace_pipe", ends)),
                       threading.Thread(target=follow, args=(f"{at}/per_cpu/cpu0/trace_pipe_raw", ends)),
                       threading.Thread(target=again, args=(f"{at}/trace",)),
                       threading.Thread(target=again, args=(f"{at}/set_ftrace_filter",)),
                       threading.Thread(target=again, args=(f"{at}/current_tracer",))]
            for t in threads:
                t.start()
            p.start(1000000000)
            until(lambda: sum(int(read(f"{at}/per_cpu/{c}/stats").split()[-1])
                              for c in os.listdir(f"{at}/per_cpu")) > 1000 * n)
            p.p.kill()
            p.p.wait()
            for t in threads[:2]:
                t.join(SECONDS)
                assert not t.is_alive(), "a reader of the dead waits"
            stop.set()
            for t in threads[2:]:
                t.join(SECONDS)
                assert not t.is_alive(), "a reader of the dead waits"
            assert set(ends.values()) <= {0, errno.ENODEV}, ends
            assert ends[f"{at}/trace_pipe"] == 0, ends
            # it lists and reads as the dead do
            assert {look(f) for f in all_files(at)} <= FINE | {errno.ENODATA}
            assert write(f"{at}/tracing_on", "1") == errno.EROFS


def test_killed_while_it_is_written(w):
    """A write gets an answer when the process is killed meanwhile."""
    for _ in range(5):
        with steps(w, boot="ftrace=function") as p, mounted(w) as m:
            at, answers = f"{m}/{p.pid}", []

            def writer():
                for k in range(100000):
                    answers.append(write(f"{at}/current_tracer", ("nop", "function")[k % 2]))
                    if answers[-1]:
                        return

            threads = [threading.Thread(target=writer) for _ in range(4)]
            for t in threads:
                t.start()
            until(lambda: len(answers) > 20)
            p.p.kill()
            p.p.wait()
            for t in threads:
                t.join(SECONDS)
                assert not t.is_alive(), "a writer to the dead waits"
            # ETIMEDOUT: killed, not dead yet, and no longer answering
            assert set(answers) <= {0, errno.ENODEV, errno.EROFS, errno.ENOENT, errno.ETIMEDOUT}, set(answers)


def is_open(pid, name):
    """Whether the process has a file open whose path ends with @name. A file that is closed
    meanwhile does not count."""
    for f in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f.path).endswith(name):
                return True
    return False


def test_a_reader_of_a_stopped_process_can_be_interrupted(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        p.stop()
        cat = subprocess.Popen(["cat", f"{m}/{p.pid}/trace_pipe"], stdout=subprocess.DEVNULL)
        try:
            until(lambda: is_open(cat.pid, "trace_pipe"))
            cat.send_signal(signal.SIGINT)
            assert cat.wait(SECONDS) == -signal.SIGINT
        finally:
            with contextlib.suppress(ProcessLookupError):
                cat.kill()
            cat.wait()


def test_stopped_while_it_wrote_its_files(w):
    """Files are listed and read from a half-written list of files, which a killed or stopped
    process can leave."""
    with steps(w, boot="ftrace=function") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        names = set(os.listdir(at))
        area = next(n for n in os.listdir(w.areas) if "." in n and not n.endswith(".sock"))
        p.stop()
        with open(f"{w.areas}/{area}", "r+b") as f:
            f.seek(240 + 10 * 24)  # abi/area.h: the row of the table of files in the table of tables
            offset, = struct.unpack("<Q", f.read(8))
            f.seek(offset)
            gen, size = struct.unpack("<II", f.read(8))
            assert not gen & 1
            text = f.read(size)
            cut = text.index(b" set_ftrace_pid\n") - 4
            new = text[:cut].replace(b" 00000 trace_clock", b" 00002 trace_clock\nxy", 1)
            f.seek(offset)
            f.write(struct.pack("<II", gen + 1, size) + (new + text[len(new):])[:size])
        assert len(names) > 30 and len(names - set(os.listdir(at))) <= 3, names - set(os.listdir(at))
        assert read(f"{at}/current_tracer") == "function\n"
        assert read(f"{at}/options/overwrite") == "1\n"
        w.run("ls", "-P", p.pid)
        p.p.kill()
        p.p.wait()
        assert read(f"{at}/current_tracer") == "function\n"
        assert w.run("get", "-P", p.pid, "current_tracer").stdout == b"function\n"


main(globals())
