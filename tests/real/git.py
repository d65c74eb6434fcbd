# SPDX-License-Identifier: MIT
"""Scripts of git's own tests: each runs git some hundred times, with pipes, signals, hooks, editors
and daemons."""
import concurrent.futures
import glob
import inspect
import os
import re
import shutil
import socket

import real

SHORT = False  # minutes of CPU time
TRACERS = ["function", "function_graph"]
LEAST = 1000
OPTIONS = ["CC=gcc", f"CFLAGS=-O1 -g1 -w {real.FLAG}", "NO_CURL=1", "NO_EXPAT=1", "NO_GETTEXT=1", "NO_OPENSSL=1",
           "NO_PYTHON=1", "NO_TCLTK=1"]
SHORT_SCRIPTS = ["t0005-signals", "t0061-run-command", "t1350-config-hooks-path", "t5407-post-rewrite-hook",
                 "t5570-git-daemon", "t5601-clone"]
FULL_SCRIPTS = SHORT_SCRIPTS + [
    "t0001-init", "t0021-conversion", "t1006-cat-file", "t1400-update-ref", "t3200-branch", "t3404-rebase-interactive",
    "t3903-stash", "t4015-diff-whitespace", "t5300-pack-object", "t5510-fetch", "t6030-bisect-porcelain",
    "t7400-submodule-basic", "t7600-merge", "t9300-fast-import"]
WAIT_S = 1200


def make(source, folder):
    # the tests run in the tree where it was built, which they do not change
    tree = f"{folder}/tree"
    shutil.copytree(source, tree, symlinks=True)
    real.call(["make", "-j2", *OPTIONS, "all"], cwd=tree)
    for o in glob.glob(f"{tree}/**/*.o", recursive=True) + glob.glob(f"{tree}/**/*.a", recursive=True):
        os.unlink(o)


def prepare():
    return real.built("git", "git", make, recipe=f"{OPTIONS} {inspect.getsource(make)}")


def run(it, full, only, env, folder):
    scripts = FULL_SCRIPTS if full else SHORT_SCRIPTS
    if only:
        scripts = sorted({t.partition(" ")[0] for t in only})
    installed = {"GIT_TEST_INSTALLED": env["INSTALLED"]} if "INSTALLED" in env else {}
    env = {**{k: v for k, v in env.items() if not k.startswith("GIT_")}, **installed}
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    # the scripts would replace LD_PRELOAD by libc's malloc with checks
    env |= {"TEST_NO_MALLOC_CHECK": "1", "TEST_OUTPUT_DIRECTORY": folder, "HOME": folder,
            "GIT_TEST_GIT_DAEMON": "1", "LIB_GIT_DAEMON_PORT": str(port)}

    def one(script):
        return script, *real.output(["/bin/sh", f"./{script}.sh", f"--root={folder}"], WAIT_S, cwd=f"{it}/tree/t", env=env)

    verdicts = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for script, status, text in pool.map(one, scripts):
            verdicts[script] = "ok" if status == 0 else f"status {status}"
            for no, number, name in re.findall(r"^(not )?ok (\d+) - (.*)$", text, re.M):
                name, _, remark = name.partition(" # ")
                verdicts[f"{script} {number} {name}"] = f"{no}ok {remark}".strip() if no or remark else "ok"
            for number, name in re.findall(r"^ok (\d+) # skip (.*)$", text, re.M):
                verdicts[f"{script} {number} {name}"] = "skip"
    return verdicts
