#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mkdir and rmdir in instances/: each instance has its own buffer, tracer and filters."""
import errno
import os
import sys
import threading
import time

sys.path.insert(0, os.environ["SOURCE_DIR"] + "/tests/engine/fire")
import area  # noqa: E402
from mount_test import main, mounted, read, steps, until, write


def failing(call):
    try:
        call()
    except OSError as e:
        return e.errno
    return 0


def test_made_anew(w):
    """mkdir() works at once after the instance was removed in another way than by the mount."""
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}/instances"
        for i in range(20):
            os.mkdir(f"{at}/foo")
            if i % 2:
                assert os.listdir(at) == ["foo"] and read(f"{at}/foo/tracing_on") == "1\n"
            assert area.request(w.areas, p.pid, 5, "instances/foo")[0] == 0


def test_behind_a_close(w):
    """What a close() of trace_pipe makes possible is possible at once: to remove the instance, and
    to change the tracer."""
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        for i in range(200):
            os.mkdir(f"{at}/instances/q")
            for dir_ in f"{at}/instances/q", at:
                fd = os.open(f"{dir_}/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
                os.close(fd)
                assert write(f"{dir_}/current_tracer", ("function", "nop")[i % 2]) == 0, (dir_, i)
            fd = os.open(f"{at}/instances/q/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
            os.close(fd)
            os.rmdir(f"{at}/instances/q")


def test_an_instance(w):
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        os.mkdir(f"{at}/instances/foo")
        assert os.listdir(f"{at}/instances") == ["foo"]
        assert failing(lambda: os.mkdir(f"{at}/instances/foo")) == errno.EEXIST
        foo = f"{at}/instances/foo"
        files = set(os.listdir(foo))
        assert {"trace", "trace_pipe", "tracing_on", "current_tracer", "set_ftrace_filter",
                "per_cpu", "options", "trace_clock"} <= files, files
        assert not {"README", "saved_cmdlines", "instances"} & files
        assert write(f"{foo}/set_ftrace_filter", "leaf\n") == 0
        assert write(f"{foo}/current_tracer", "function") == 0
        assert write(f"{at}/set_ftrace_filter", "mid\n") == 0
        assert write(f"{at}/current_tracer", "function") == 0
        p.call(3)
        assert read(f"{foo}/trace").count(" leaf <-mid") == 6 and "mid <-main" not in read(f"{foo}/trace")
        assert read(f"{at}/trace").count(" mid <-main") == 3 and "leaf <-mid" not in read(f"{at}/trace")
        fd = os.open(f"{foo}/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        assert os.read(fd, 65536).count(b"leaf <-mid") == 6
        assert "leaf <-mid" not in read(f"{foo}/trace")
        # a snapshot and events of its own
        p.call(1)
        assert write(f"{foo}/snapshot", "1") == 0
        assert read(f"{foo}/snapshot").count("leaf <-mid") == 2
        assert "Snapshot is freed" in read(f"{at}/snapshot")
        assert "header_page" in os.listdir(f"{foo}/events")
        assert write(f"{foo}/events/enable", "0") == 0
        # an open file keeps it
        assert failing(lambda: os.rmdir(foo)) == errno.EBUSY
        os.close(fd)
        until(lambda: failing(lambda: os.rmdir(foo)) != errno.EBUSY)
        assert os.listdir(f"{at}/instances") == [] and not os.path.exists(foo)
        assert failing(lambda: os.rmdir(foo)) == errno.ENOENT
        os.mkdir(foo)
        for path in (f"{foo}/nested", f"{at}/new", f"{m}/new", f"{foo}/options/new"):
            assert failing(lambda: os.mkdir(path)) == errno.EPERM, path
        for path in (f"{at}/options", f"{at}/instances", at, f"{foo}/options"):
            assert failing(lambda: os.rmdir(path)) == errno.EPERM, path
        # it stays when the process is dead
        assert write(f"{foo}/current_tracer", "function") == 0
        p.call(1)
        p.p.kill()
        p.p.wait()
        assert os.listdir(f"{at}/instances") == ["foo"]
        assert read(f"{foo}/trace").count(" leaf <-mid") == 2
        assert failing(lambda: os.mkdir(f"{at}/instances/bar")) == errno.EROFS
        os.unlink(f"{w.areas}/{[n for n in os.listdir(w.areas) if n.endswith('@foo')][0]}")


def test_under_load(w):
    """Several threads make and remove instances while the program calls and others list them."""
    end = time.monotonic() + float(os.environ.get("STRESS", "3"))
    with steps(w) as p, mounted(w) as m:
        at, wrong = f"{m}/{p.pid}/instances", []

        def maker(i):
            while time.monotonic() < end:
                path = f"{at}/i{i}"
                for err in (failing(lambda: os.mkdir(path)),
                            write(f"{path}/current_tracer", "function"),
                            failing(lambda: os.rmdir(path))):
                    # FUSE reports a close after it has returned
                    if err not in (0, errno.EBUSY, errno.EEXIST):
                        wrong.append((path, errno.errorcode[err]))

        def looker():
            while time.monotonic() < end:
                for folder, _, files in os.walk(at):
                    for name in files:
                        err = failing(lambda: os.stat(f"{folder}/{name}"))
                        # ESTALE: libfuse's word for what lay in a folder that is gone
                        if err not in (0, errno.ENOENT, errno.ESTALE):
                            wrong.append((name, errno.errorcode[err]))

        threads = [threading.Thread(target=maker, args=(i,)) for i in range(4)]
        threads.append(threading.Thread(target=looker))
        for t in threads:
            t.start()
        while time.monotonic() < end:
            p.call(1000)
        for t in threads:
            t.join()
        assert not wrong, wrong[:5]
        for name in os.listdir(at):
            os.rmdir(f"{at}/{name}")
        assert os.listdir(at) == []


main(globals())
