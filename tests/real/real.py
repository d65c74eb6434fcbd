# SPDX-License-Identifier: MIT
"""real - shared by the programs of tests/real: kept builds, runs, verdicts.

A program is a file beside this one with

	SHORT		whether the checks run its short form; `make soak` runs the full form of all
	TRACERS		with which tracers it is run, besides without the engine; +TRACER: with all
			functions that were built without any flag, too, of all objects but the
			system's own (libc, the loader, ...)
	prepare()	builds it if needed. Return: the first argument of run(). Raises Skip.
	run(it, full, only, env, folder)
			runs its tests (only: these names alone; one that cannot choose may run
			more) with that environment in an empty folder. Return: {name of a test:
			its verdict}, "ok", "skip" or another word
	LEAST		how many processes leave records at least, with a tracer: the tests may
			empty the environment
	UID		optional: the user that runs the tests and owns the folder and the areas;
			else ours
"""
import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests")     # for the modules that all tests share
CACHE = os.environ.get("VESTIGE_SOURCES", os.path.join(ROOT, ".cache"))
FLAG = "-fpatchable-function-entry=6"
# libraries of the system's folders that do the work of the programs here
UNMODIFIED = "1,libsqlite3*,libcrypto*,libssl*,libz.*,libpcre2*,libreadline*,libtinfo*,libgmp*,libmpfr*,libisl*,liblzma*," \
             "libstdc++*,libpq*,libjemalloc*,liblua*,libuv*,_*.cpython*"
ALL_TRACERS = ["nop", "function", "function_graph"]
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LEFT_S = 20	# how long what a run has started may live on
LEFT = "no process is left"


class Skip(Exception):
    pass


def fetch(package):
    """The folder of a Debian source package."""
    p = subprocess.run([f"{ROOT}/scripts/fetch-source", package], stdout=subprocess.PIPE, text=True, check=False)
    if p.returncode:
        raise Skip(f"the source of {package} cannot be had")
    return p.stdout.strip()


def built(name, package, make, *, recipe):
    """A folder under .cache/build where make(source, folder) was carried out once for this source
    and recipe.

    @recipe: text that stands for how it is built.
    """
    source = fetch(package)
    key = hashlib.sha256(f"{os.path.basename(source)}\n{recipe}".encode()).hexdigest()[:12]
    place = f"{CACHE}/build/real-{name}-{key}"
    os.makedirs(f"{CACHE}/build", exist_ok=True)
    with open(f"{CACHE}/build/real-{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(f"{place}/whole"):
            shutil.rmtree(place, ignore_errors=True)
            os.mkdir(place)
            make(source, place)
            with open(f"{place}/whole", "w", encoding="utf-8"):
                pass
    return place


def call(argv, **more):
    """Run a step of a build; its output is shown when it fails."""
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors="replace", check=False, **more)
    assert p.returncode == 0, f"{' '.join(argv)}: status {p.returncode}\n{p.stdout[-4000:]}"


def in_group():
    """Start a process group that is killed as a whole, and with its parent."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    end_with_parent()


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def output(argv, timeout, **more):
    """Run a command. Return: (status, output). A test that hangs is killed with all that it
    started: status -9."""
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                             preexec_fn=in_group, **more)
        try:
            status = p.wait(timeout)
        except subprocess.TimeoutExpired:
            status = -9
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()
        out.seek(0)
        return status, out.read().decode(errors="replace")


def children():
    """Names of our children; a zombie that cannot be waited for has a thread that lives."""
    names = []
    for pid in (n for n in os.listdir("/proc") if n.isdigit()):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                before, _, rest = f.read().rpartition(")")
            state, parent = rest.split()[:2]
            if int(parent) == os.getpid():
                names.append((int(pid), f"{before.partition('(')[2]}{' (zombie)' if state == 'Z' else ''}"))
    return names


def none_is_left():
    """Wait for our children, those that lost their parent among them. Return: "ok", or the names of
    those that had to be killed."""
    left, end = set(), time.monotonic() + LEFT_S
    with contextlib.suppress(ChildProcessError):
        while True:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                if time.monotonic() > end:
                    for pid, name in children():
                        left.add(name)
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.05)
    return " ".join(sorted(left)) or "ok"


def with_init(function):
    """
    Carry out function(), which returns a dict of strings, in a process of its own; what it leaves
    behind becomes a child of another. Return: the dict, and under LEFT what none_is_left() says.
    """
    def init(out):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        worker = os.fork()
        if not worker:
            end_with_parent()
            out.write(json.dumps(function()).encode())
            out.flush()
            return
        while (ended := os.wait())[0] != worker:
            pass
        assert ended[1] == 0, "see above"
        out.seek(0)
        verdicts = {**json.loads(out.read()), LEFT: none_is_left()}
        out.seek(0)
        out.truncate()
        out.write(json.dumps(verdicts).encode())
        out.flush()

    sys.stdout.flush()
    with tempfile.TemporaryFile() as out:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                end_with_parent()
                init(out)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0, "see above"
        out.seek(0)
        return json.loads(out.read())


class Areas:
    """A folder of areas of our own, beside the default one; @uid: its owner, None: this user."""

    def __init__(self, uid=None):
        self.uid = uid

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="vestige-real-", dir="/dev/shm")
        os.chmod(self.path, 0o700)
        if self.uid is not None:
            os.chown(self.path, self.uid, self.uid)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def env(self, tracer):
        env = {k: v for k, v in os.environ.items() if not k.startswith("VESTIGE") and k != "LD_PRELOAD"}
        if not tracer:
            return env
        env = {**env, "LD_PRELOAD": os.environ["BUILD_DIR"] + "/libvestige.so", "VESTIGE_DIR": self.path,
               "VESTIGE_BOOT": f"ftrace={tracer.lstrip('+')} trace_buf_size=256k"}
        return {**env, "VESTIGE_UNMODIFIED": UNMODIFIED} if tracer.startswith("+") else env

    def files(self):
        return [n for n in os.listdir(self.path) if n != "kept"]

    def sweep(self):
        """Start and end one more traced process, which removes the areas of killed ones."""
        subprocess.run(["/bin/true"], env=self.env("nop"), check=True, user=self.uid, group=self.uid)


def kept_as_promised(areas, tracer, least):
    """What is left of a run: nothing without records; else the records of that number of processes,
    and no more than the limit."""
    found = sum("." in n and not n.endswith(".sock") for n in areas.files())
    assert tracer == "nop" or found >= least, f"{tracer}: {found} processes recorded something, not {least}"
    for _ in range(200):
        areas.sweep()
        files = areas.files()
        if not files or (tracer != "nop" and all(".sock" not in n for n in files)):
            break
    left = f"{tracer}: left behind: {len(files)} files, {' '.join(files[:5])}"
    assert tracer != "nop" or not files, left
    size = sum(os.stat(f"{areas.path}/{n}").st_blocks * 512 for n in files)
    assert len(files) <= 4000 and size <= (1 << 30) + (64 << 20), f"{left}: {size} bytes"
    for n in files:
        os.unlink(f"{areas.path}/{n}")


TRIES = 3


def compare(program, it, full, areas, folder):
    """Compare each tracer's verdicts with the verdicts without the engine. Return: (number of
    tests, tests that differ)."""
    def run(tracer, only=()):
        place = tempfile.mkdtemp(dir=folder)
        if areas.uid is not None:
            os.chown(place, areas.uid, areas.uid)
        only = [t for t in only if t != LEFT]
        # of its own: a program of another user cannot write in ours
        env = {**areas.env(tracer), "TMPDIR": place}
        verdicts = with_init(lambda: program.run(it, full, only or None, env, place))
        shutil.rmtree(place, ignore_errors=True)
        return verdicts

    plain = run(None)
    wrong = []
    for tracer in program.TRACERS:
        traced = run(tracer)
        differ = {t for t in plain.keys() | traced.keys() if plain.get(t) != traced.get(t)}
        # the machine's load may have decided, traced or not: once more, these alone
        for _ in range(TRIES):
            if not differ:
                break
            a, b = run(None, sorted(differ)), run(tracer, sorted(differ))
            differ = {t for t in differ if a.get(t) != b.get(t)}
        wrong += [f"{t}: {plain.get(t)} untraced, {traced.get(t)} with {tracer}" for t in sorted(differ)]
        kept_as_promised(areas, tracer, program.LEAST)
    return plain, wrong


def main(program, form):
    full = form == "full"
    try:
        it = program.prepare()
        with Areas(getattr(program, "UID", None)) as areas, tempfile.TemporaryDirectory(prefix="vestige-real-") as folder:
            os.chmod(folder, 0o755)
            plain, wrong = compare(program, it, full, areas, folder)
    except Skip as why:
        print(why)
        return 77
    assert sum(v == "ok" for v in plain.values()) > len(plain) / 2, plain
    print("\n".join(wrong))
    print(f"{len(plain)} tests, {sum(v == 'ok' for v in plain.values())} ok without the engine; "
          f"{', '.join(program.TRACERS)}: {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit("run tests/real/run")
