# SPDX-License-Identifier: MIT
"""Redis's own tests with the server and the clients that Debian ships, all of their functions
redirected. The scripts come from the source package; they start a server for each group of tests,
kill some, fork savers and compare what is left."""
import os
import re
import shutil

import real

SHORT = True
TRACERS = ["+function", "+function_graph"]
LEAST = 5
WAIT_S = 1200
SHORT_UNITS = ["unit/printver", "unit/auth", "unit/protocol", "unit/multi", "unit/sort", "unit/type/incr", "unit/quit"]
FULL_UNITS = SHORT_UNITS + [
    "unit/acl", "unit/dump", "unit/expire", "unit/scan", "unit/scripting", "unit/functions", "unit/bitops", "unit/bitfield", "unit/geo",
    "unit/hyperloglog", "unit/keyspace", "unit/lazyfree", "unit/limits", "unit/introspection-2", "unit/pubsub", "unit/slowlog",
    "unit/tracking", "unit/aofrw", "unit/shutdown", "unit/type/hash", "unit/type/set", "unit/type/list-2", "unit/type/list-3", "unit/type/stream", "unit/type/string",
    "unit/type/zset", "integration/aof", "integration/rdb", "integration/convert-zipmap-hash-on-load", "integration/logging", "integration/redis-cli"]
PROGRAMS = ["redis-server", "redis-cli", "redis-benchmark", "redis-check-aof", "redis-check-rdb", "redis-sentinel"]


def make(source, folder):
    shutil.copytree(f"{source}/tests", f"{folder}/tests", symlinks=True)
    os.mkdir(f"{folder}/src")
    for name in PROGRAMS:
        os.symlink(f"/usr/bin/{name}", f"{folder}/src/{name}")


def prepare():
    for path in "/usr/bin/redis-server", "/usr/bin/tclsh":
        if not os.path.exists(path):
            raise real.Skip(f"there is no {path}")
    return real.built("redis-tests", "redis", make, recipe=f"{PROGRAMS}")


def run(it, full, only, env, folder):
    # the tests write below their own folder
    shutil.copytree(it, f"{folder}/redis", symlinks=True)
    # two runs at a time look for free ports in different places
    ports = ["--baseport", str(20100 + os.getpid() % 90 * 100), "--portcount", "60"]
    verdicts = {}
    for unit in FULL_UNITS if full else SHORT_UNITS:
        if only and not any(t.split()[0] == unit for t in only):
            continue
        status, text = real.output(["/usr/bin/tclsh", "tests/test_helper.tcl", "--single", unit, "--clients", "1", *ports], WAIT_S,
                                   cwd=f"{folder}/redis", env=env)
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        verdicts[f"{unit} all"] = "ok" if status == 0 else f"status {status}"
        for word, name in re.findall(r"^\[(ok|err|skip|exception|timeout)\]: (.*)$", text, re.M):
            name = re.sub(r" \(\d+ ms\)$| in tests/.*$", "", name)
            verdicts[f"{unit} {name}"] = word
        if os.environ.get("VESTIGE_REAL_TEXT"):
            print(f"== {unit}: {status}\n{text[-2000:]}")
    return verdicts
