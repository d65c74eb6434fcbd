# SPDX-License-Identifier: MIT
"""events - shared by the tests of events: programs with tracepoints, control files, traces as
text."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

BUILD = os.environ["BUILD_DIR"]
SOURCE = os.environ["SOURCE_DIR"]
BIN = os.environ["VESTIGE_BIN"]
sys.path.insert(0, os.path.join(SOURCE, "tests/engine/fire"))
import area     # noqa: E402
from until import until     # noqa: E402
TARGETS = os.path.join(SOURCE, "tests/targets/events")
LIBRARY = os.path.join(BUILD, "libvestige.so")
PRIO = str(120 + os.nice(0))    # the kernel's `prio` of an ordinary thread: the tests may run under nice
OWN = {"files", "kmem", "lock", "lockdep", "raw_syscalls", "sched", "signal", "stack", "syscalls", "timer"}     # systems that every process has


class Program:
    """A program of a test, traced: control files, rounds of work, its trace."""

    def __init__(self, bench, argv, boot=None, environ=None, **more):
        env = dict(bench.env, LD_PRELOAD=LIBRARY, **(environ or {}))
        if boot:
            env["VESTIGE_BOOT"] = boot
        self.bench = bench
        self.answered = False
        self.p = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, cwd=bench.dir, **more)

    def ask(self, line):
        """Send a line. Return: the line that the program answers."""
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().rstrip("\n")

    def round(self, line="go"):
        out = self.ask(line)
        assert out.startswith("done "), out
        return int(out.split()[1])

    def wait_for_agent(self):
        """Wait until the agent listens or the program has ended. The first call alone waits."""
        def answers():
            with contextlib.suppress(StopIteration, OSError):
                area.read_file(self.bench.areas, self.p.pid, "current_tracer")
                self.answered = True
            return self.answered or self.p.poll() is not None
        self.answered or until(answers, "no agent", 60)

    def vestige(self, *args, data=None):
        self.wait_for_agent()
        return subprocess.run([BIN, args[0], "-P", str(self.p.pid), *args[1:]], env=self.bench.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, input=data,
                              timeout=60, check=False)

    def get(self, path):
        p = self.vestige("get", path)
        assert p.returncode == 0, f"{path}: {p.stderr}"
        return p.stdout

    def set(self, path, text, append=False):
        """Return: the name of errno in the message, or None."""
        p = self.vestige("set", *(["-a"] if append else []), path, text)
        return p.stderr.strip() or f"status {p.returncode}" if p.returncode else None

    def write(self, path, text):
        """Write to a control file by the agent's socket, which is quicker than a command. The text
        is appended. Return: 0 or -errno."""
        self.wait_for_agent()
        return min(area.write_file(self.bench.areas, self.p.pid, path, text, truncate=False), 0)

    def request(self, op, path, data=b""):
        """area.request() to the program's agent, after waiting for the agent."""
        self.wait_for_agent()
        return area.request(self.bench.areas, self.p.pid, op, path, data)

    def trace(self):
        """(event, text) of each line."""
        return lines_of(self.get("trace"))

    def events(self, path="available_events"):
        """SYSTEM:NAME of the program's own events among those that the file lists."""
        return [e for e in self.get(path).split() if e.split(":")[0] not in OWN]

    def clear(self):
        assert self.set("trace", "") is None

    def end(self):
        self.p.stdin.close()
        self.p.stdout.close()
        assert self.p.wait(60) == 0, self.p.returncode

    def __enter__(self):
        return self

    def __exit__(self, *what):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()


def lines_of(text):
    out = []
    for line in text.splitlines():
        m = re.match(r"^ *\S.*-\d+ +\[\d+\] \S* *[\d.]+: +(\w+): +(.*)$", line)
        if m and not line.startswith("#"):
            out.append((m[1], m[2]))
    return out


class Bench:
    """A folder for programs and areas."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="vestige-events-")
        self.areas = os.path.join(self.dir, "areas")
        os.mkdir(self.areas, 0o700)
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("LD_PRELOAD", "VESTIGE_BOOT", "VESTIGE_SESSION", "VESTIGE")}
        self.env["VESTIGE_DIR"] = self.areas

    def build(self, source, name=None, compiler="gcc", flags=("-O2",)):
        out = os.path.join(self.dir, name or os.path.splitext(os.path.basename(source))[0])
        if not os.path.isabs(source):
            source = os.path.join(TARGETS, source)
        lang = ["-x", "c++"] if compiler.endswith("++") else []
        if not shutil.which(compiler):
            return None
        area.compiled([compiler, *flags, "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/include",
                       f"-I{TARGETS}", *lang, source], out)
        return out

    def program(self, *argv, **more):
        return Program(self, argv, **more)

    def vestige(self, *args, status=0):
        p = subprocess.run([BIN, *args], env=self.env, cwd=self.dir, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=100, check=False)
        assert p.returncode == status, f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}"
        return p

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def main(tests):
    """Run the functions test_* (those named in argv, or all)."""
    failed = 0
    chosen = sys.argv[1:]
    for name, test in list(tests.items()):
        if not name.startswith("test_") or (chosen and name[5:] not in chosen):
            continue
        bench = Bench()
        try:
            test(bench)
            print(f"ok   {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {name}", flush=True)
            traceback.print_exc()
        finally:
            bench.remove()
    sys.exit(1 if failed else 0)
