# SPDX-License-Identifier: MIT
"""`vestige record` shows its progress while it writes the trace.dat, and Ctrl-C works then. The
test stops it for over a second where the writing must last that long."""
import contextlib
import glob
import os
import pty
import re
import select
import signal
import subprocess
import time

from cli_test import BIN, main, until

WAIT = 60


class TooFast(Exception):
    pass


class Recording:
    """A `vestige record` that has begun to write its trace.dat."""

    def __init__(self, w, calls, *flags, tty=False):
        self.w = w
        self.fd, stderr = pty.openpty() if tty else os.pipe()
        self.p = subprocess.Popen([BIN, "record", *flags, "--", w.prog, "calls", str(calls)], cwd=w.dir, env=w.env,
                                  stdout=subprocess.DEVNULL, stderr=stderr)
        os.close(stderr)
        self.said = b""
        try:
            self.wait_for_file()
        except BaseException:
            self.remove()
            raise

    def wait_for_file(self):
        # the file's temporary name, beside the spool that is there from the start
        def is_there():
            if self.p.poll() is not None:
                raise TooFast
            return glob.glob(self.w.path("trace.dat.tmp*"))
        until(is_there, lambda: os.listdir(self.w.dir), WAIT, step=0)
        self.stop()

    def signal(self, number):
        self.p.send_signal(number)

    def stop(self):
        self.signal(signal.SIGSTOP)

        def stands():
            with open(f"/proc/{self.p.pid}/stat", encoding="ascii") as f:
                state = f.read().rpartition(")")[2].split()[0]
            if state in "ZX":
                raise TooFast
            return state == "T"
        until(stands, seconds=WAIT, step=0.001)

    def go_on_after_a_second(self):
        time.sleep(1.1)
        self.signal(signal.SIGCONT)

    def read_until(self, word):
        """Return: whether it said that; False: it has ended."""
        closed = False

        def says():
            nonlocal closed
            if word not in self.said and select.select([self.fd], [], [], 0.5)[0]:
                more = b""
                with contextlib.suppress(OSError):      # of a terminal that is closed
                    more = os.read(self.fd, 65536)
                closed = not more
                self.said += more
            return word in self.said or closed
        until(says, lambda: self.said, WAIT, step=0)
        return not closed

    def ended(self):
        self.signal(signal.SIGCONT)
        self.read_until(b"(what it never says)")
        return self.p.wait(WAIT)

    def remove(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()
        for name in glob.glob(self.w.path("trace.dat*")):
            os.unlink(name)
        os.close(self.fd)


def slow_enough(w, test, *flags, tty=False):
    """Run the test again with twice the calls while the writing ends too soon."""
    calls = 200000
    while True:
        r = None
        try:
            r = Recording(w, calls, *flags, tty=tty)
            test(r, calls)
            return
        except TooFast:
            calls *= 2
            assert calls < 100000000
        finally:
            if r:
                r.remove()


def test_line_after_a_second(w):
    def test(r, calls):
        r.go_on_after_a_second()
        if r.ended() == 0 and b"Ctrl-C" not in r.said:
            raise TooFast
        lines = [line for line in r.said.decode().splitlines() if line.startswith("vestige:")]
        assert len(lines) == 1 and "vestige: the recording has ended and is being written to trace.dat" in lines[0], lines
        assert w.counts()["mid"] == calls

    slow_enough(w, test)


def test_ctrl_c_loses_nothing(w):
    def test(r, calls):
        r.go_on_after_a_second()
        if not r.read_until(b"Ctrl-C"):
            raise TooFast
        r.stop()
        r.signal(signal.SIGINT)
        status = r.ended()
        if status == 0:
            raise TooFast
        said = r.said.decode()
        assert status == 125 and "interrupted: trace.dat is not written" in said, (status, said)
        assert not os.path.exists(w.path("trace.dat")) and not glob.glob(w.path("*.tmp-*"))
        convert = re.search(r"interrupted: .*`vestige (convert \S+ \S+)` writes it", said)
        spool = convert[1].split()[1]
        w.run(*convert[1].split())
        assert w.counts()["mid"] == calls
        assert "mid" in w.run("report", "--format=trace", spool).stdout.decode()
        os.unlink(w.path(spool))

    for tracer in "function", "function_graph":     # the latter is encoded while the program runs, too
        slow_enough(w, test, "-p", tracer)


def test_early_ctrl_c_is_of_the_program(w):
    """Ctrl-C before the progress line is meant for the program."""
    def test(r, calls):
        r.signal(signal.SIGINT)
        status = r.ended()
        if status == -signal.SIGINT and os.path.exists(w.path("trace.dat")):    # it was stopped behind the writing
            raise TooFast
        assert status == 0, (status, r.said)
        assert w.counts()["mid"] == calls

    for tracer in "function", "function_graph":
        slow_enough(w, test, "-p", tracer)


def test_quiet(w):
    def test(r, calls):
        r.go_on_after_a_second()
        assert r.ended() == 0 and r.said == b"", r.said

    slow_enough(w, test, "-q")


def test_on_a_terminal(w):
    """The line shows the progress, and is gone at the end."""
    def test(r, calls):
        r.go_on_after_a_second()
        assert r.ended() == 0, r.said
        if b"\r\x1b[Kvestige: trace.dat: " not in r.said:
            raise TooFast
        assert re.search(rb"\r\x1b\[Ktrace\.dat: \d+ records in ", r.said), r.said

    slow_enough(w, test, tty=True)


main(globals())
