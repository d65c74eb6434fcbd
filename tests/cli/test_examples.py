#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The EXAMPLES of the man pages: each block is a script that is run in a folder with the programs
and recordings that it names. What cannot be run here is in SKIPPED, with the reason."""
import contextlib
import glob
import os
import re
import shutil
import subprocess

from cli_test import LIBRARY, main, running
from examples import PROGRAM, SOURCE, missing, prepare

OTHER_TOOL = "a file of another tool, see test_import*.py"
MACHINE = "it would change the buffers and settings of the whole machine, which other tests use"
HOST = "another host, or a running `vestige listen`, see test_listen.py"
DEVICE = "a block device and the kernel's blk tracer, see test_blk_record.py"
FUSE = "a mount, see tests/tracefs"
# a page, a part of a line that is left out, and why
SKIPPED = (
    ("attach", "--children", "it attaches to the shell for as long as that lives"),
    ("blk", "", DEVICE),
    ("clear", "-k", MACHINE), ("set", "-k", MACHINE), ("stop", "-k", MACHINE), ("extract", "-k", "an instance of the kernel's"),
    ("convert", "perf.txt", OTHER_TOOL), ("convert", "uftrace.data", OTHER_TOOL),
    ("convert", "sda.blktrace.0", OTHER_TOOL), ("convert", "lttng-traces", OTHER_TOOL), ("kd", "raw.log", "a log of a kernel with KFT"),
    ("crash", "", "a program that has crashed, see tests/engine"),
    ("enter", "", FUSE), ("mount", "", FUSE), ("run", "", FUSE), ("listen", "", HOST),
    ("restore", "", "what an interrupted trace-cmd has left, see test_restore.py"),
    ("script", "-P", "it goes on until Ctrl-C, which ends Python at any place while it starts; see test_script.py"),
    ("split", "-B kernel", "a recording of the kernel, too, see test_split.py"),
    ("split", "12.5 12.75", "times of somebody's recording"), ("view", "2s~3s", "times of somebody's recording"),
    ("share", "-r", "times of somebody's recording"),
    ("tui", "vestige tui", "a terminal, see test_tui.py"),
    ("view", "vestige view\n", "a browser, see test_view.py"), ("view", "--record", "a browser, see test_view_record.py"),
    ("view", "--align", "a browser, see test_view.py"),
)
# what their status of 1 says is an answer, see EXIT STATUS of the page
ANSWERS = re.compile(r"^vestige (doctor -v /bin/true|check-events -k)$", re.M)
# they go on until Ctrl-C
LIVE = re.compile(r"^vestige (stream -[Pk]|top (?!.*-n )|record --flight)", re.M)


def blocks():
    """(page, script) of each example; of a session with prompts the lines behind them."""
    for path in sorted(glob.glob(f"{SOURCE}/docs/man/*.1")):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        examples = re.search(r"\.Sh EXAMPLES\n(.*?)(?=\.Sh |\Z)", text, re.S)
        page = re.search(r"vestige-?(.*)\.1$", path)[1]
        for block in re.findall(r"\.Bd[^\n]*\n(.*?)\.Ed", examples[1] if examples else "", re.S):
            block = block.replace("\\e", "\\").replace("\\&", "")
            if re.match(r"\$ ", block):
                block = "".join(l[2:] + "\n" for l in block.splitlines() if l.startswith("$ "))
            yield page, block


def left(page, block):
    """The lines that are run."""
    lines = []
    for line in block.splitlines(keepends=True):
        why = next((why for p, part, why in SKIPPED if p == page and part in line), None) or missing(line)
        if why:
            print(f"     left out of {page or 'vestige'}(1): {line.strip()}: {why}")
        else:
            lines.append(line)
    return "".join(lines)


@contextlib.contextmanager
def process(w, page, script):
    """The running one that examples name by its number, or mean: with the engine, but where they
    load it."""
    if not re.search(r"\$PID|\b(1234|4711|15310)\b", script) and page not in ("get", "set", "show", "snapshot", "stack"):
        yield 0
    elif page == "attach":
        with subprocess.Popen(["./prog", "spin"], cwd=w.dir, env=w.env) as p:
            try:
                yield p.pid
            finally:
                p.kill()
    else:
        with running(w, "./prog", "spin") as p:
            yield p.pid


def run_script(w, page, script):
    with process(w, page, script) as pid:
        text = re.sub(r"\b(1234|4711|15310)\b(?!\.)", str(pid), script) if pid else script
        text = text.replace(f"spool.{pid}", "spool.1234").replace("sleep 600", "sleep 1").replace("--flight 30s", "--flight 1s")
        text = LIVE.sub(lambda m: "timeout --preserve-status -k 30 -s INT 5 " + m[0], text)
        text = ANSWERS.sub(lambda m: m[0] + " || [ $? = 1 ]", text)
        # a person types the next line later than this
        there = "\nuntil vestige get tracing_on >/dev/null 2>&1; do sleep 0.1; done"
        text = text.replace("LD_PRELOAD=libvestige.so ./server &", "LD_PRELOAD=libvestige.so ./server spin &" + there)
        text = "trap 'kill $(jobs -p) 2>/dev/null || :; wait || :' EXIT\n" + text.replace("./server &", "./server spin &")
        env = dict(w.env, PATH=w.path("bin") + ":" + os.environ["PATH"], HOME=w.dir, PID=str(pid),
                   LD_LIBRARY_PATH=os.path.dirname(LIBRARY))
        p = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=w.dir, env=env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        assert p.returncode == 0, f"{page}(1): status {p.returncode}\n{text}\n{p.stdout[-300:]}\n{p.stderr.decode()[-700:]}"


def test_examples(w):
    pages = {}
    for page, block in blocks():
        script = left(page, block)
        if script.strip():
            pages.setdefault(page, []).append(script)
    assert len(pages) > 30, len(pages)
    only = os.environ.get("VESTIGE_TEST_PAGES", "").split()
    prepare(w, w.compile("example", PROGRAM, "-g"))
    made, failed = w.dir, []
    for page, scripts in pages.items():
        if only and page not in only:
            continue
        w.dir = made + "-page"
        shutil.copytree(made, w.dir, symlinks=True)
        try:
            for script in scripts:
                run_script(w, page, script)
        except (AssertionError, subprocess.TimeoutExpired) as why:
            failed.append(str(why))
            print(why, flush=True)
        finally:
            shutil.rmtree(w.dir)
            w.dir = made
    w.run("clean")
    # the limit that `vestige clean --keep` has set
    with contextlib.suppress(FileNotFoundError):
        os.unlink(w.areas + "/kept")
    os.unlink(w.path("trace.dat.spool.1234"))
    assert not failed, f"{len(failed)} pages"


main(globals())
