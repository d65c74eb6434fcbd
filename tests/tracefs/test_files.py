#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The files of a process in the mount: their contents, and which writes they accept and refuse, of
a live, a stopped and a dead process."""
import contextlib
import errno
import os
import re
import stat
import subprocess
import threading
import time

from mount_test import BIN, LIBRARY, is_mounted, main, mounted, read, steps, until, untimed, write

ALL = "#### all functions enabled ####\n"


def test_a_process_is_a_folder(w):
    with steps(w) as a, steps(w) as b, mounted(w) as m:
        assert set(os.listdir(m)) == {str(a.pid), str(b.pid), "kernel"}
        assert os.readlink(f"{m}/kernel") == "/sys/kernel/tracing"
        listed = w.run("ls", "-P", a.pid).stdout.decode().split()
        for name in listed:
            st = os.stat(f"{m}/{a.pid}/{name}")
            assert stat.S_ISREG(st.st_mode), name
            assert st.st_size == 0 or name.endswith("trace_pipe_raw"), name
        for folder, dirs, files in os.walk(f"{m}/{a.pid}"):
            for d in dirs:
                assert os.stat(f"{folder}/{d}").st_mode & 0o700 == 0o700
        for name in ("nosuch", "per_cpu/cpu999", "per_cpu/cpu00", "options/nosuch", "trace/x"):
            assert not os.path.exists(f"{m}/{a.pid}/{name}"), name
        for name in ("1", "999999999999", "abc", f"{a.pid}x", "-1", f"0{a.pid}"):
            assert not os.path.exists(f"{m}/{name}"), name


def test_files_read_as_get_prints_them(w):
    with steps(w, boot="ftrace=function") as p, mounted(w) as m:
        p.call(3)
        write(f"{m}/{p.pid}/tracing_on", "0")
        for name in w.run("ls", "-P", p.pid).stdout.decode().split():
            if "trace_pipe" in name or not os.stat(f"{m}/{p.pid}/{name}").st_mode & 0o444:
                continue
            text = read(f"{m}/{p.pid}/{name}")
            printed = w.run("get", "-P", p.pid, name).stdout.decode()
            if name.endswith("stats"):
                text, printed = (re.sub("(now|event) ts: .*", "", t) for t in (text, printed))
            assert untimed(text) == untimed(printed), name
        # of its records the trace has all, in small reads too, and again from the start
        trace = untimed(w.run("show", "-P", p.pid).stdout.decode())
        assert trace.count("leaf <-mid") == 6
        with open(f"{m}/{p.pid}/trace", "rb", buffering=0) as f:
            text = b"".join(iter(lambda: f.read(7), b"")).decode()
            assert untimed(text) == trace
            f.seek(0)
            text = f.read(65536).decode()
            assert untimed(text) == trace
            f.seek(1000)
            assert f.read(65536).decode() == text[1000:]


def test_writes(w):
    """Each write gives the expected result and errno, and leaves the expected contents."""
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        for name, text, err, then in (
                ("current_tracer", "function\n", 0, "function\n"),
                ("current_tracer", "nosuch", errno.EINVAL, "function\n"),
                ("current_tracer", " nop \n", 0, "nop\n"),
                ("tracing_on", "0", 0, "0\n"),
                ("tracing_on", "2\n", 0, "1\n"),
                ("tracing_on", "x", errno.EINVAL, "1\n"),
                ("tracing_on", "99999999999999999999", errno.ERANGE, "1\n"),
                ("set_ftrace_filter", "leaf\n", 0, "leaf\n"),
                ("set_ftrace_filter", "nosuch\n", errno.EINVAL, ALL),
                ("set_ftrace_filter", "l*f m?d\n", 0, "leaf\nmid\n"),
                ("set_ftrace_filter", "\n", 0, ALL),
                ("set_ftrace_filter", "mid", 0, "mid\n"),
                ("set_ftrace_filter", "nosuch", errno.EINVAL, ALL),
                ("options/sym-addr", "1", 0, "1\n"),
                ("options/sym-addr", "2", errno.EINVAL, "1\n"),
                ("options/sym-addr", "0\n", 0, "0\n"),
                ("buffer_size_kb", "100\n", 0, "100\n"),
                ("buffer_size_kb", "0", errno.EINVAL, "100\n"),
                ("per_cpu/cpu0/buffer_size_kb", "200", 0, "200\n"),
                ("error_log", "anything", 0, ""),
                ("available_tracers", "x", errno.EINVAL, None),
                ("stats", "x", errno.ENOENT, None)):
            assert write(f"{at}/{name}", text) == err, (name, text)
            if then is not None:
                assert read(f"{at}/{name}") == then, (name, text, read(f"{at}/{name}"))


def test_events_come_and_go(w):
    """The server asks for folders of events once, and again whenever there may be new events."""
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        os.mkdir(f"{at}/instances/foo")
        for define in (lambda text: write(f"{at}/kprobe_events", text),
                       lambda text: w.run("set", "-P", p.pid, "kprobe_events", text).returncode):
            for folder in (f"{at}/events", f"{at}/instances/foo/events"):
                assert "mine" not in os.listdir(folder) and os.path.isdir(f"{folder}/sched/sched_switch")
            assert define("p:mine/one leaf\n") == 0
            for folder in (f"{at}/events", f"{at}/instances/foo/events"):
                assert sorted(os.listdir(f"{folder}/mine")) == ["enable", "filter", "one"]
                assert os.path.exists(f"{folder}/mine/one/id") and not os.path.exists(f"{folder}/mine/two")
            assert define("") == 0
        os.rmdir(f"{at}/instances/foo")
        assert os.listdir(f"{at}/instances") == []


def test_more_text_than_the_area_has_room_for(w):
    """Files keep their names and their text when written text outgrows the area's room."""
    with steps(w) as s, mounted(w) as m:
        at = f"{m}/{s.pid}"
        before = os.listdir(at)
        text = " || ".join(f"common_pid == {i}" for i in range(1000, 1150))
        assert write(f"{at}/events/syscalls/filter", text) == 0     # of 700 events
        assert write(f"{at}/set_event", "syscalls:sys_enter_getppid\n") == 0
        assert os.listdir(at) == before and read(f"{at}/set_event") == "syscalls:sys_enter_getppid\n"
        assert read(f"{at}/events/syscalls/sys_enter_read/filter") == text + "\n"
        assert write(f"{at}/current_tracer", "function") == 0 and read(f"{at}/current_tracer") == "function\n"


def test_lists_by_parts(w):
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}/set_ftrace_filter"
        assert write(at, "leaf\n") == 0
        # >> adds, > replaces, and a file that is opened with O_TRUNC and closed is empty
        assert write(at, "mid\n", os.O_APPEND) == 0
        assert read(at) == "leaf\nmid\n"
        assert write(at, None) == 0
        until(lambda: read(at) == ALL)
        # a word cut by the end of a write goes on in the next
        fd = os.open(at, os.O_WRONLY | os.O_TRUNC)
        assert os.write(fd, b"le") == 2
        assert read(at) == ALL
        assert os.write(fd, b"af mi") == 5
        assert read(at) == "leaf\n"
        assert os.write(fd, b"d") == 1
        os.close(fd)
        assert read(at) == "leaf\nmid\n"
        # a shell's > opens, duplicates and closes before it writes: nothing is emptied in between
        fd = os.open(at, os.O_WRONLY | os.O_TRUNC)
        other = os.dup(fd)
        os.close(fd)
        assert read(at) == "leaf\nmid\n"
        os.write(other, b"mid\n")
        os.close(other)
        assert read(at) == "mid\n"


def test_a_control_file_that_stays_open(w):
    with steps(w) as p, mounted(w) as m:
        fd = os.open(f"{m}/{p.pid}/tracing_on", os.O_RDWR)
        for value in (b"0", b"1", b"0"):
            assert os.write(fd, value) == 1
            assert os.pread(fd, 10, 0) == value + b"\n"
            assert os.pread(fd, 10, 2) == b""
        os.close(fd)


def test_trace_is_emptied_when_opened(w):
    with steps(w, boot="ftrace=function") as p, mounted(w) as m:
        p.call(5)
        at = f"{m}/{p.pid}"
        assert read(f"{at}/trace").count("leaf") == 10
        fd = os.open(f"{at}/trace", os.O_WRONLY | os.O_TRUNC)
        assert "leaf" not in read(f"{at}/trace")
        os.close(fd)
        p.call(1)
        assert read(f"{at}/trace").count("leaf") == 2
        assert write(f"{at}/trace", "x", os.O_APPEND) == 0
        assert read(f"{at}/trace").count("leaf") == 2
        assert sum(read(f"{at}/per_cpu/{c}/trace").count("leaf")
                   for c in os.listdir(f"{at}/per_cpu")) == 2


def test_marks_name_their_writer(w):
    """A mark has the pid and name of the thread that wrote it, of any process, as the kernel's
    marks do."""
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        sh = subprocess.Popen(["sh", "-c", f"echo one > {at}/trace_marker"])
        assert sh.wait() == 0
        w.run("set", "-P", p.pid, "trace_marker", "two")
        assert write(f"{at}/trace_marker", "three\n") == 0
        os.mkdir(f"{at}/instances/foo")
        assert write(f"{at}/instances/foo/trace_marker", "four\n") == 0
        head = r"^ +(\S+)-(\d+) .*tracing_mark_write: %s$"
        writer = lambda text, file="trace": re.search(head % text, read(f"{at}/{file}"), re.M).groups()
        me = (open("/proc/self/comm").read().strip(), str(os.getpid()))
        assert writer("one") == ("sh", str(sh.pid))
        assert writer("two")[0] == "vestige" and writer("three") == me
        assert writer("four", "instances/foo/trace") == me
        assert re.search(rf"^{sh.pid} sh$", read(f"{at}/saved_cmdlines"), re.M)
        # the same with trace_marker_raw
        raw = subprocess.Popen(["sh", "-c", rf"printf '\001\000\000\000abcd' > {at}/trace_marker_raw"])
        assert raw.wait() == 0
        assert write(f"{at}/instances/foo/trace_marker_raw", "\2\0\0\0abcd") == 0
        head = r"^ +(\S+)-(\d+) .*: # %s buf: 61 62 63 64$"
        assert writer("1") == ("sh", str(raw.pid)) and writer("2", "instances/foo/trace") == me
        # many writers do not take the rows of the process's own threads
        rows = read(f"{at}/saved_cmdlines").count("\n")
        for _ in range(70):
            subprocess.run(["sh", "-c", f"echo x > {at}/trace_marker"], check=True)
        assert read(f"{at}/saved_cmdlines").count("\n") <= rows + 64


def test_marks(w):
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        for text in ("hello world\n", "no newline", "x" * 9000):
            assert write(f"{at}/trace_marker", text) == 0
        lines = [line.split(": ", 1)[1] for line in read(f"{at}/trace").splitlines()
                 if not line.startswith("#")]
        assert lines[:2] == ["tracing_mark_write: hello world", "tracing_mark_write: no newline"]
        assert "".join(line.removeprefix("tracing_mark_write: ") for line in lines[2:]) == "x" * 9000
        assert write(f"{at}/options/markers", "0") == 0
        assert write(f"{at}/trace_marker", "x") == errno.EINVAL
        assert write(f"{at}/options/markers", "1") == write(f"{at}/tracing_on", "0") == 0
        assert write(f"{at}/trace_marker", "x") == errno.EBADF
        fd = os.open(f"{at}/trace_marker", os.O_WRONLY if os.geteuid() else os.O_RDWR)
        if not os.geteuid():
            try:
                os.read(fd, 1)
                raise AssertionError("it was read")
            except OSError as e:
                assert e.errno == errno.EINVAL
        os.close(fd)


def test_pause_on_trace(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        for option, meanwhile in (("1", 0), ("0", 2)):
            assert write(f"{at}/options/pause-on-trace", option) == 0
            assert write(f"{at}/trace", None) == 0
            p.call(1)
            with open(f"{at}/trace", "rb", buffering=0) as f:
                p.call(1)
                assert f.read(65536).count(b"leaf <-mid") == 2 + meanwhile
                assert read(f"{at}/vestige_paused") == f"{option}\n" and read(f"{at}/tracing_on") == "1\n"
            # the file's pause ends with the reader's close
            p.call(1)
            assert write(f"{at}/options/pause-on-trace", "0") == 0
            assert read(f"{at}/trace").count("leaf <-mid") == 4 + meanwhile
        # tracing_on that is switched off meanwhile stays off
        assert write(f"{at}/options/pause-on-trace", "1") == 0
        with open(f"{at}/trace", "rb", buffering=0) as f:
            assert write(f"{at}/tracing_on", "0") == 0
        assert read(f"{at}/tracing_on") == "0\n"
        with open(f"{at}/trace", "rb", buffering=0):
            pass
        assert read(f"{at}/tracing_on") == "0\n" and read(f"{at}/vestige_paused") == "0\n"


def test_the_end_of_the_server_closes_open_files(w):
    """A file that is open when the server ends gets no release(): its pause of tracing ends all the
    same."""
    path = w.path("ending")
    with steps(w, boot="ftrace=function") as p, mounted(w) as m:
        server = subprocess.Popen([BIN, "mount", "-f", path], env=w.env, stderr=subprocess.DEVNULL)
        until(lambda: is_mounted(path))
        assert write(f"{path}/{p.pid}/options/pause-on-trace", "1") == 0
        fd = os.open(f"{path}/{p.pid}/trace", os.O_RDONLY)
        os.read(fd, 4096)
        assert read(f"{m}/{p.pid}/vestige_paused") == "1\n"
        server.terminate()
        server.wait()
        assert read(f"{m}/{p.pid}/vestige_paused") == "0\n"
        with contextlib.suppress(OSError):  # ENOTCONN
            os.close(fd)
        subprocess.run(["umount", "-l", path], stderr=subprocess.DEVNULL)
        os.rmdir(path)


def test_the_end_of_the_server_ends_its_readers(w):
    """Readers that wait for records do not keep a server that gets SIGTERM."""
    path = w.path("ending")
    with steps(w) as p:
        for file in "trace_pipe", "per_cpu/cpu0/trace_pipe_raw":
            server = subprocess.Popen([BIN, "mount", "-f", path], env=w.env, stderr=subprocess.DEVNULL)
            reader = None
            try:
                until(lambda: is_mounted(path))
                reader = subprocess.Popen(["cat", f"{path}/{p.pid}/{file}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                until(lambda r=reader: read(f"/proc/{r.pid}/wchan").startswith("request_wait"), lambda r=reader: read(f"/proc/{r.pid}/wchan"))
                server.terminate()
                assert server.wait(60) is not None
                assert reader.wait(60) != 0
            finally:
                server.kill()   # else the reader cannot be killed
                server.wait()
                if reader:
                    reader.kill()
                    reader.wait()
                subprocess.run(["umount", "-l", path], stderr=subprocess.DEVNULL)
            os.rmdir(path)


def test_a_relative_folder_of_areas(w):
    """A server in the background has another current folder."""
    path = w.path("relative")
    with steps(w) as p:
        env = dict(w.env, VESTIGE_DIR=os.path.relpath(w.areas, w.dir))
        subprocess.run([BIN, "mount", path], env=env, cwd=w.dir, check=True)
        try:
            assert read(f"{path}/{p.pid}/tracing_on") == "1\n" and str(p.pid) in os.listdir(path)
        finally:
            w.run("umount", path)
    os.rmdir(path)


def test_snapshot(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        assert "# * Snapshot is freed *" in read(f"{at}/snapshot")
        assert write(f"{at}/snapshot", "1") == 0
        assert "# * Snapshot is allocated *" in read(f"{at}/snapshot")
        p.call(3)
        assert write(f"{at}/snapshot", "1") == 0
        assert read(f"{at}/snapshot").count("leaf <-mid") == 6
        assert read(f"{at}/trace").count("leaf <-mid") == 0
        p.call(2)
        assert read(f"{at}/trace").count("leaf <-mid") == 4
        assert read(f"{at}/snapshot").count("leaf <-mid") == 6
        assert write(f"{at}/snapshot", "1\n") == 0
        assert read(f"{at}/snapshot").count("leaf <-mid") == 4
        assert write(f"{at}/snapshot", "2") == 0
        assert "# * Snapshot is allocated *" in read(f"{at}/snapshot")
        for bad in ("x", "-1"):
            assert write(f"{at}/snapshot", bad) == errno.EINVAL
        assert write(f"{at}/tracing_on", "0") == write(f"{at}/snapshot", "1") == 0
        assert read(f"{at}/tracing_on") == "0\n"
        assert write(f"{at}/snapshot", "0") == 0
        assert "# * Snapshot is freed *" in read(f"{at}/snapshot")
        assert write(f"{at}/tracing_on", "1") == 0
        p.call(1)
        assert write(f"{at}/snapshot", "1") == 0
        p.p.kill()
        p.p.wait()
        assert read(f"{at}/snapshot").count("leaf <-mid") == 2


def test_nothing_else_can_be_done(w):
    with steps(w) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        for err, call in ((errno.EACCES, lambda: os.open(f"{at}/new", os.O_CREAT | os.O_WRONLY)),
                          (errno.EPERM, lambda: os.mkdir(f"{at}/new")),
                          (errno.EPERM, lambda: os.unlink(f"{at}/trace")),
                          (errno.EPERM, lambda: os.rmdir(f"{at}/options")),
                          (errno.EPERM, lambda: os.rename(f"{at}/trace", f"{at}/other")),
                          (errno.EISDIR, lambda: os.open(f"{at}/options", os.O_WRONLY))):
            try:
                call()
                raise AssertionError("it could be done")
            except OSError as e:
                assert e.errno == err, (e, err)
        os.truncate(f"{at}/trace", 100)
        # files that clients open with O_CREAT exist already
        os.close(os.open(f"{at}/tracing_on", os.O_CREAT | os.O_WRONLY | os.O_TRUNC))


def test_a_stopped_process_delays_no_other(w):
    with steps(w, boot="ftrace=function") as p, steps(w) as other, mounted(w) as m:
        p.call(2)
        at = f"{m}/{p.pid}"
        assert read(f"{at}/current_tracer") == "function\n"
        p.stop()
        answers = []
        t = threading.Thread(target=lambda: answers.append(write(f"{at}/tracing_on", "0")))
        t.start()
        # meanwhile
        assert write(f"{m}/{other.pid}/current_tracer", "function") == 0
        assert read(f"{at}/current_tracer") == "function\n"
        assert read(f"{at}/trace").count("leaf") == 4
        assert "trace" in os.listdir(at)
        t.join()
        # a file that needs no answer is read while the writer waits: on a busy machine, in one of
        # some tries
        for tries in range(20):
            t = threading.Thread(target=lambda: answers.append(write(f"{at}/tracing_on", "0")))
            t.start()
            assert read(f"{at}/options/overwrite") == "1\n"
            first = t.is_alive()
            t.join()
            if first:
                break
        assert first and set(answers) == {errno.ETIMEDOUT}, answers
        p.p.send_signal(18)
        assert until(lambda: read(f"{at}/tracing_on") == "1\n")


def test_a_dead_process_is_read_only(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        p.call(4)
        at = f"{m}/{p.pid}"
        held = os.open(f"{at}/tracing_on", os.O_RDWR)
        trace = read(f"{at}/trace")
        p.p.kill()
        p.p.wait()
        assert os.listdir(m).count(str(p.pid)) == 1
        assert read(f"{at}/trace") == trace and trace.count("leaf") == 8
        assert read(f"{at}/current_tracer") == "function\n"
        assert read(f"{at}/set_ftrace_filter") == "leaf\n"
        assert read(f"{at}/options/print-parent") == "1\n"
        assert write(f"{at}/tracing_on", "0") == errno.EROFS
        try:
            os.write(held, b"0")
            raise AssertionError("written")
        except OSError as e:
            assert e.errno == errno.ENODEV, e
        os.close(held)
        # its records can still be taken, and then are gone
        assert read(f"{at}/trace_pipe").count("leaf") == 8
        assert "leaf" not in read(f"{at}/trace")
        w.run("clean")
        assert not os.path.exists(at)


def test_mount_and_umount(w):
    with mounted(w) as m:
        p = w.run("mount", m, status=1)
        assert b"is mounted already" in p.stderr, p.stderr
        assert is_mounted(m)
        w.run("umount", m)
        assert not is_mounted(m)
        p = w.run("umount", m, status=1)
        assert b"vestige has no mount" in p.stderr
        w.run("mount", m)
    for args in (("mount", "--nosuch"), ("umount", "a", "b"), ("mount", "a", "b")):
        w.run(*args, status=2)
    w.run("mount", "/dev/null/x", status=1)


def test_folders_that_a_mount_would_hide(w):
    for folder, there in ((w.areas, "areas"), (os.path.dirname(w.areas), "areas"), ("/", "areas"), ("/proc", "/proc")):
        said = w.run("mount", folder, status=1).stderr.decode()
        assert there in said and "name another folder" in said, said
    del w.env["VESTIGE_DIR"]
    for folder in ("/dev/shm", "/dev"):
        assert b"name another folder" in w.run("mount", folder, status=1).stderr
    with open("/proc/self/mounts", encoding="utf-8") as f:
        assert not any(line.split()[1] in ("/", "/proc", "/dev", "/dev/shm") for line in f if "vestige" in line.split()[0])


def test_the_same_twice(w):
    with steps(w, boot="ftrace=function") as p:
        p.call(2000)
        with mounted(w) as m:
            text = read(f"{m}/{p.pid}/trace")
            assert text.count("leaf") == 4000
            # the times, too, though each reader measures the clocks
            for _ in range(5):
                time.sleep(0.05)
                assert read(f"{m}/{p.pid}/trace") == text
            p.call(1)
            assert read(f"{m}/{p.pid}/trace") != text


LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *lib = dlopen(argv[argc - 1], RTLD_NOW);
	puts(lib ? "loaded" : dlerror()); fflush(stdout);
	getchar();
	dlclose(lib);
	puts("unloaded"); fflush(stdout);
	return getchar() == 'x';
}
"""


def test_a_filter_of_unloaded_functions(w):
    """A filter of functions that were unloaded lists none of them, and still does not mean `all
    functions`."""
    lib = w.compile("lib", "int plugin(void) { return 1; }", "-shared", "-fPIC")
    p = subprocess.Popen([w.compile("loads", LOADS), lib], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env=dict(w.env, LD_PRELOAD=LIBRARY))
    try:
        assert p.stdout.readline() == b"loaded\n"
        with mounted(w) as m:
            at = f"{m}/{p.pid}/set_ftrace_filter"
            assert read(at) == ALL and write(at, "plugin") == 0
            assert read(at).startswith("plugin")
            p.stdin.write(b"\n")
            p.stdin.flush()
            assert p.stdout.readline() == b"unloaded\n"
            assert read(at) == ""
            # carried out by the last close, which is not waited for
            assert write(at, None) == 0 and until(lambda: read(at) == ALL)
    finally:
        p.communicate()
        w.run("clean")


main(globals())
