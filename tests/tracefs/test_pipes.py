#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""trace_pipe and trace_pipe_raw give each record once; a reader waits, is refused and is woken as
in the kernel."""
import contextlib
import errno
import os
import re
import select
import signal
import struct
import subprocess
import threading
import time

from mount_test import Skip, drain, joined, main, mounted, nonblock, read, steps, sub_buffer_events, until, untimed, write


def test_reading_consumes(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        p.call(1000)
        shown = read(f"{at}/trace")
        # a reader that reads little takes little
        p.call(0)
        head = subprocess.run(["head", "-n", "1", f"{at}/trace_pipe"], stdout=subprocess.PIPE).stdout
        first = [line for line in shown.splitlines(True) if not line.startswith("#")]
        assert head.decode() == first[0]
        left = read(f"{at}/trace").count(" <-")
        assert 0 < 3000 - left < 3000, left
        fd = nonblock(f"{at}/trace_pipe")
        text = drain(fd)
        # but for the last digit of a time: each reader measures the clock anew
        assert text.count(" <-") == left and untimed(text) == untimed("".join(first[-left:]))
        assert not text.startswith("#")
        assert read(f"{at}/trace").count(" <-") == 0
        stats = [read(f"{at}/per_cpu/{c}/stats") for c in os.listdir(f"{at}/per_cpu")]
        field = lambda name: sum(int(s.split(f"{name}: ")[1].split()[0]) for s in stats)
        assert field("entries") == 0 and field("read events") == 3000 and field("overrun") == 0
        # and what comes later is there
        p.call(1)
        assert drain(fd, 100).count(" <-") == 3
        os.close(fd)


def take(path, texts):
    with open(path, "rb", buffering=0) as f:
        while chunk := f.read(65536):
            texts.append(chunk)


SPLICE = """
import os, signal, sys
class Ended(Exception):
    pass
def end(*_):
    raise Ended
signal.signal(signal.SIGUSR1, end)
fd = os.open(sys.argv[1], os.O_RDONLY | (os.O_NONBLOCK if "nonblock" in sys.argv else 0))
r, w = os.pipe()
try:
    print("begins", flush=True)
    while True:
        n = os.splice(fd, w, 4096)
        if n:
            os.read(r, n)
        print(n, flush=True)
        if not n:
            break
except OSError as e:
    print(e.strerror, flush=True)
except Ended:
    print("interrupted", flush=True)
"""


def test_splice_waits(w):
    """splice() waits for a full sub-buffer, as the kernel's does. A signal, the process's end or
    O_NONBLOCK ends the wait."""
    def start(*more):
        p = subprocess.Popen(["/usr/bin/python3", "-c", SPLICE, f"{at}/per_cpu/{cpu}/trace_pipe_raw", *more],
                             stdout=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "begins\n"
        return p

    def wait_until_it_sleeps(p):
        until(lambda: open(f"/proc/{p.pid}/stat").read().split(") ")[1][0] in "SDZ")
        time.sleep(0.2)
        assert p.poll() is None

    with steps(w, boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        cpu = f"cpu{min(os.sched_getaffinity(p.pid))}"
        os.sched_setaffinity(p.pid, {int(cpu[3:])})
        q = start("nonblock")
        assert q.communicate()[0] == "Resource temporarily unavailable\n"
        q = start()
        wait_until_it_sleeps(q)
        p.call(1000)
        assert q.stdout.readline() == "4096\n"
        wait_until_it_sleeps(q)
        q.send_signal(signal.SIGUSR1)
        assert q.communicate(timeout=60)[0].splitlines()[-1] == "interrupted"
        # while tracing is off it takes what there is, and waits
        p.call(10)
        assert write(f"{at}/tracing_on", "0\n") == 0
        q = start()
        assert int(q.stdout.readline()) > 0
        wait_until_it_sleeps(q)
        assert write(f"{at}/tracing_on", "1\n") == 0
        p.call(1000)
        assert int(q.stdout.readline()) > 0
        p.end()
        assert q.communicate(timeout=60)[0].splitlines()[-1] == "0"
    # the last sub-buffer is not full when the process is killed
    with steps(w, boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        cpu = f"cpu{min(os.sched_getaffinity(p.pid))}"
        os.sched_setaffinity(p.pid, {int(cpu[3:])})
        q = start()
        p.call(10)
        wait_until_it_sleeps(q)
        p.end()
        assert q.communicate(timeout=60)[0].splitlines() == ["4096", "0"]


def test_each_record_once_while_it_runs(w):
    """Readers get each record once while the program calls, with option overwrite and without. Some
    readers come and go."""
    for boot in ("", " trace_options=nooverwrite"):
        with steps(w, boot="ftrace=function ftrace_filter=leaf,mid" + boot) as p, mounted(w) as m:
            at, texts = f"{m}/{p.pid}", []
            t = threading.Thread(target=take, args=(f"{at}/trace_pipe", texts))
            t.start()
            for _ in range(100):
                p.call(1000)
            until(lambda: b"".join(texts).count(b" <-") >= 300000 or b"LOST" in b"".join(texts))
            write(f"{at}/tracing_on", "0")
            joined(t)
            lines = b"".join(texts).decode().splitlines()
            assert len(lines) == 300000, (boot, len(lines))
            assert sum(" leaf <-mid" in line for line in lines) == 200000
            stamps = [line.split()[3] for line in lines]
            assert stamps == sorted(stamps, key=lambda s: float(s[:-1]))


def test_calls_go_on_over_reads(w):
    with steps(w, boot="ftrace=function_graph ftrace_filter=leaf,mid") as p, mounted(w) as m:
        fd = nonblock(f"{m}/{p.pid}/trace_pipe")
        for n in (1, 3):
            p.call(n)
            text = drain(fd)
            assert text.count("|  mid() {") == n and text.count("|    leaf();") == 2 * n
            assert text.count("|  }") == n, text
        os.close(fd)


PRINTS = r"""
#include <stdio.h>
#include <vestige/vestige.h>
int main(void)
{
	int n;
	puts("ready"); fflush(stdout);
	while (scanf("%d", &n) == 1) {
		if (n == 1) trace_printk("one is %d\n", n);
		else if (n == 2) trace_printk("two is %s\n", "two");
		else if (n == 3) trace_puts("three\n");
		else trace_printk("many: %d\n", n);
		printf("%d\n", n); fflush(stdout);
	}
	return 0;
}
"""


def test_formats_that_come_later(w):
    """A waiting reader gets a format of trace_printk() with the first record that uses it."""
    prog = w.compile("prints", PRINTS, "-I" + os.environ["SOURCE_DIR"] + "/include")
    with steps(w, prog=prog) as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        fd, raw = nonblock(f"{at}/trace_pipe"), []
        for n, text in enumerate(("one is 1", "two is two", "three", "many: 4", "many: 5"), 1):
            p.call(n)
            assert drain(fd, 100).rstrip("\n").endswith(": main: " + text), (n, text)
        os.close(fd)
        for n in (1, 3):
            p.call(n)
        for c in sorted(os.listdir(f"{at}/per_cpu")):
            fd = nonblock(f"{at}/per_cpu/{c}/trace_pipe_raw")
            with contextlib.suppress(BlockingIOError):
                raw += [e for _, _, e in sub_buffer_events(os.read(fd, 4096))]
            os.close(fd)
        numbers = {struct.unpack_from("<Q", e, 16)[0] for e in raw}
        listed = dict(line.split(" : ") for line in read(f"{at}/printk_formats").splitlines())
        assert {listed[f"0x{number:016x}"] for number in numbers} == {r'"one is %d\n"', r'"three\n"'}, (raw, listed)


def test_waiting_and_interruption(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        cat = subprocess.Popen(["cat", f"{at}/trace_pipe"], stdout=subprocess.PIPE)
        p.call(1)
        assert b" leaf <-mid" in cat.stdout.readline()
        # the second reader, and another tracer
        for name in ("trace_pipe", "per_cpu/cpu0/trace_pipe"):
            try:
                os.open(f"{at}/{name}", os.O_RDONLY)
                raise AssertionError("two read")
            except OSError as e:
                assert e.errno == errno.EBUSY
        assert write(f"{at}/current_tracer", "nop") == errno.EBUSY
        assert write(f"{at}/current_tracer", "function") == 0
        assert write(f"{at}/current_tracer", "nosuch") == errno.EINVAL
        cat.send_signal(signal.SIGINT)
        assert cat.wait(timeout=60) == -signal.SIGINT
        cat.stdout.close()
        until(lambda: write(f"{at}/current_tracer", "nop") == 0)
        fd = nonblock(f"{at}/trace_pipe")
        drain(fd)
        try:
            os.read(fd, 100)
            raise AssertionError("something was read")
        except BlockingIOError:
            pass
        os.close(fd)


def test_poll_and_select(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        fd = nonblock(f"{m}/{p.pid}/trace_pipe")
        drain(fd)
        assert select.select([fd], [], [], 0.05)[0] == []
        threading.Timer(0.2, p.start, (1,)).start()
        assert select.select([fd], [], [], 60)[0] == [fd]
        assert p.p.stdout.readline() == b"1\n"
        assert until(lambda: drain(fd)).count("leaf") in (1, 2)
        os.close(fd)


def ready(fd, seconds):
    p = select.poll()
    p.register(fd, select.POLLIN)
    return bool(p.poll(seconds * 1000))


def test_buffer_percent(w):
    """poll() of one CPU's buffer waits until buffer_percent of it is full, while recording is on;
    read() does not."""
    cpu = min(os.sched_getaffinity(0))
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        os.sched_setaffinity(p.pid, {cpu})
        assert read(f"{at}/buffer_percent") == "50\n"
        assert write(f"{at}/per_cpu/cpu{cpu}/buffer_size_kb", "256") == 0
        files = [f"{at}/per_cpu/cpu{cpu}/{name}" for name in ("trace_pipe_raw", "trace_pipe")]

        def fill(kb, path):
            """Make calls that need @kb of the buffer, 16 bytes each. Return: whether the pipe is
            ready then."""
            assert write(f"{at}/trace", None) == 0
            fd = nonblock(path)
            drain_raw = 0
            p.call(kb * 1024 // 32)
            answer = ready(fd, 0.15)
            while answer and drain_raw < 1000:
                try:
                    drain_raw += 1
                    if not os.read(fd, 65536):
                        break
                except BlockingIOError:
                    break
            os.close(fd)
            return answer

        for path in files:
            for percent, kb, want in ((50, 60, False), (50, 200, True), (20, 60, True), (90, 200, False), (0, 1, True)):
                assert write(f"{at}/buffer_percent", str(percent)) == 0
                assert fill(kb, path) == want, (path, percent, kb)
        assert write(f"{at}/buffer_percent", "100") == 0
        assert fill(1, f"{at}/trace_pipe")
        # a waiting reader is woken when no more will come
        for path in files:
            assert write(f"{at}/trace", None) == 0
            fd = nonblock(path)
            p.call(100)
            assert not ready(fd, 0.1)
            stop = threading.Timer(0.1, write, (f"{at}/tracing_on", "0"))
            stop.start()
            assert ready(fd, 60)
            stop.join()
            assert write(f"{at}/tracing_on", "1") == 0
            os.close(fd)
        # a read is not poll()
        fd = os.open(files[0], os.O_RDONLY)
        p.call(10)
        assert len(os.read(fd, 65536)) == 4096
        p.call(10)
        assert not ready(fd, 0.1)
        p.p.kill()
        assert ready(fd, 60)
        os.close(fd)


def test_of_one_cpu(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        p.call(50)
        cpus = os.listdir(f"{at}/per_cpu")
        counts = {c: read(f"{at}/per_cpu/{c}/trace").count("leaf <-") for c in cpus}
        assert sum(counts.values()) == 100
        for c in cpus:
            fd = nonblock(f"{at}/per_cpu/{c}/trace_pipe")
            assert drain(fd).count("leaf <-") == counts[c]
            os.close(fd)
            assert read(f"{at}/per_cpu/{c}/trace").count("leaf <-") == 0


def test_when_the_process_ends(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf") as p, mounted(w) as m:
        texts = []
        t = threading.Thread(target=take, args=(f"{m}/{p.pid}/trace_pipe", texts))
        t.start()
        p.call(5)
        p.p.kill()
        p.p.wait()
        joined(t)
        assert b"".join(texts).count(b"leaf <-mid") == 10


def test_raw_pages(w):
    with steps(w, boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at = f"{m}/{p.pid}/per_cpu"
        p.call(1000)
        seen = []
        for c in os.listdir(at):
            fd = nonblock(f"{at}/{c}/trace_pipe_raw")
            while True:
                try:
                    page = os.read(fd, 65536)
                except BlockingIOError:
                    break
                assert len(page) == 4096
                seen += sub_buffer_events(page)
            os.close(fd)
        assert len(seen) == 3000 and all(kind == 1 and len(data) == 24 for _, kind, data in seen)
        pids = {struct.unpack_from("<i", data, 4)[0] for _, _, data in seen}
        assert pids == {p.pid}
        assert read(f"{m}/{p.pid}/trace").count(" <-") == 0
        # in pieces, and waiting
        fd = os.open(f"{at}/cpu0/trace_pipe_raw", os.O_RDONLY)
        os.sched_setaffinity(p.pid, {0})
        threading.Timer(0.1, p.start, (1,)).start()
        page = b"".join(os.read(fd, 1000) for _ in range(5))
        assert len(page) == 4096 and 1 <= len(list(sub_buffer_events(page))) <= 3
        os.close(fd)


def test_one_raw_file_of_several_threads(w):
    """Threads that read one descriptor in pieces get each piece once."""
    with steps(w, boot="trace_buf_size=16m") as p, mounted(w) as m:
        fd = nonblock(f"{m}/{p.pid}/per_cpu/cpu0/trace_pipe_raw")
        os.sched_setaffinity(p.pid, {0})
        # its argument makes each piece another
        assert write(f"{m}/{p.pid}/kprobe_events", "p:leaf leaf n=%di:u32\n") == 0
        assert write(f"{m}/{p.pid}/events/kprobes/leaf/enable", "1\n") == 0
        pieces, over = [], threading.Event()

        def take_pieces():
            while True:
                ends = over.is_set()
                try:
                    pieces.append(os.pread(fd, 1024, 0))  # read() would take turns
                except BlockingIOError:
                    if ends:
                        return

        threads = [threading.Thread(target=take_pieces) for _ in range(6)]
        for t in threads:
            t.start()
        p.call(40000)
        over.set()
        for t in threads:
            t.join()
        os.close(fd)
        assert len(pieces) % 4 == 0 and {len(piece) for piece in pieces} == {1024}, len(pieces)
        some = [piece for piece in pieces if any(piece)]
        assert len(some) == len(set(some)), (len(some), len(set(some)))
        read_events = int(re.search(r"read events: (\d+)", read(f"{m}/{p.pid}/per_cpu/cpu0/stats"))[1])
        # by what begins a page, its time and how much is in it: each page's 4 pieces
        heads = [piece for piece in some if 0 < struct.unpack_from("<I", piece, 4)[0] < 1 << 24 and
                 0 < struct.unpack_from("<Q", piece, 8)[0] <= 4080]
        assert len(heads) * 4 == len(pieces) and read_events > 10000, (len(heads), len(pieces), read_events)


def test_raw_pages_of_other_sizes(w):
    """Sub-buffers have the size in buffer_subbuf_size_kb, and events/header_page says so."""
    with steps(w, boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        os.sched_setaffinity(p.pid, {0})
        for kb in (16, 512, 4):
            p.call(10)
            write(f"{at}/buffer_subbuf_size_kb", str(kb))
            assert read(f"{at}/trace").count(" <-") == 0, "a change empties the buffer"
            assert f"char data;\toffset:16;\tsize:{kb * 1024 - 16};" in read(f"{at}/events/header_page")
            p.call(1000)
            fd = nonblock(f"{at}/per_cpu/cpu0/trace_pipe_raw")
            seen, sizes = [], []
            while True:
                try:
                    page = b""
                    while len(page) < kb * 1024:
                        page += os.read(fd, kb * 1024 - len(page))
                except BlockingIOError:
                    break
                sizes.append(struct.unpack_from("<Q", page, 8)[0])
                seen += sub_buffer_events(page)
            os.close(fd)
            assert not page and len(seen) == 3000, (kb, len(seen))
            # 28 bytes an event: full, and then what is left
            assert all(kb * 1024 - 16 - 48 < n <= kb * 1024 - 16 for n in sizes[:-1]), (kb, sizes)
            assert len(sizes) == -(-3000 * 28 // (kb * 1024 - 16)), (kb, sizes)


def test_raw_pages_of_the_snapshot(w):
    """snapshot_raw gives each reader all records of the snapshot."""
    with steps(w, boot="ftrace=function ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at = f"{m}/{p.pid}"
        os.sched_setaffinity(p.pid, {0})
        p.call(0)
        for cpu in os.listdir(f"{at}/per_cpu"):
            assert open(f"{at}/per_cpu/{cpu}/snapshot_raw", "rb").read() == b""
        write(f"{at}/trace", None)
        p.call(1000)
        write(f"{at}/snapshot", "1")
        p.call(10)
        for _ in range(2):
            pages = open(f"{at}/per_cpu/cpu0/snapshot_raw", "rb").read()
            assert len(pages) % 4096 == 0
            seen = [e for i in range(0, len(pages), 4096) for e in sub_buffer_events(pages[i:i + 4096])]
            assert len(seen) == 3000 == read(f"{at}/snapshot").count(" <-"), len(seen)
            assert [ts for ts, _, _ in seen] == sorted(ts for ts, _, _ in seen)


def test_raw_pages_while_it_runs(w):
    with steps(w, boot="ftrace=function_graph ftrace_filter=leaf,mid") as p, mounted(w) as m:
        at = f"{m}/{p.pid}/per_cpu"
        fds = [nonblock(f"{at}/{c}/trace_pipe_raw") for c in os.listdir(at)]
        for _ in range(20):
            p.start(2000)
            kinds = []
            while len(kinds) < 12000:
                for fd in fds:
                    try:
                        kinds += [kind for _, kind, _ in sub_buffer_events(os.read(fd, 4096))]
                    except BlockingIOError:
                        pass
            p.p.stdout.readline()
            assert kinds.count(10) == kinds.count(11) == 6000, (len(kinds), kinds.count(10))
        for fd in fds:
            os.close(fd)


def test_raw_pages_beside_a_reader_that_waits(w):
    """A reader gets its CPU's records while the reader of another CPU takes nothing and its queue
    is full."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        raise Skip("one CPU")
    with steps(w, boot="ftrace=function ftrace_filter=leaf,mid trace_buf_size=32m") as p, mounted(w) as m:
        still, fd = [nonblock(f"{m}/{p.pid}/per_cpu/cpu{c}/trace_pipe_raw") for c in cpus]
        os.sched_setaffinity(p.pid, {cpus[0]})
        p.call(260000)  # 28 bytes an event: more than 4,096 sub-buffers
        os.sched_setaffinity(p.pid, {cpus[1]})
        for i in range(3):
            p.call(10)
            seen = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    seen += sub_buffer_events(os.read(fd, 4096))
            assert len(seen) == 30, (i, len(seen))
        # and those that waited, in turn
        seen = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                seen += len(list(sub_buffer_events(os.read(still, 4096))))
        assert seen == 3 * 260000, seen
        os.close(still)
        os.close(fd)


def test_writers_and_readers(w):
    """No request fails while four threads write and four read, and recording works afterwards."""
    end = time.monotonic() + float(os.environ.get("STRESS", "3"))
    with steps(w, boot="ftrace=function") as p, mounted(w) as m:
        at, wrong = f"{m}/{p.pid}", []

        def worker(i):
            names = ("trace", "set_ftrace_filter", "tracing_on", "per_cpu/cpu0/stats", "README",
                     "available_filter_functions", "saved_cmdlines", "trace_options")
            k = i
            while time.monotonic() < end:
                k += 1
                try:
                    if i % 2:
                        read(f"{at}/{names[k % len(names)]}")
                    else:
                        err = (write(f"{at}/set_ftrace_filter", "leaf\n"),
                               write(f"{at}/tracing_on", str(k % 2)),
                               write(f"{at}/trace", None),
                               write(f"{at}/current_tracer", ("nop", "function")[k % 2]))
                        assert err == (0, 0, 0, 0), err
                except Exception as e:
                    wrong.append(repr(e))

        threads = [threading.Thread(target=worker, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        while time.monotonic() < end:
            p.call(1000)
        for t in threads:
            t.join()
        assert not wrong, wrong[:5]
        assert write(f"{at}/current_tracer", "function") == write(f"{at}/tracing_on", "1") == 0
        assert write(f"{at}/trace", None) == 0
        p.call(3)
        assert read(f"{at}/trace").count("leaf <-mid") == 6


main(globals())
