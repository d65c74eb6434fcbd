# SPDX-License-Identifier: MIT
"""PostgreSQL's regression: a server with a process for each session, run by a user without
rights."""
import inspect
import os
import pwd
import re
import shutil
import subprocess

import real

SHORT = True
TRACERS = real.ALL_TRACERS
LEAST = 60
CONFIGURE = ["--without-readline", "--without-zlib", "CC=gcc", f"CFLAGS=-O1 -g1 -w {real.FLAG}"]
# what the regression needs of it
FOLDERS = ["src/include", "src/timezone", "src/backend", "src/backend/utils/mb/conversion_procs", "src/backend/snowball",
           "src/backend/replication/libpqwalreceiver", "src/backend/replication/pgoutput", "src/interfaces/libpq", "src/bin/initdb",
           "src/bin/pg_ctl", "src/bin/psql", "src/pl/plpgsql"]
# the first makes the tables of the others
SHORT_TESTS = ["test_setup", "boolean", "int4", "numeric", "timestamptz", "regex", "errors", "infinite_recurse", "transactions",
               "plpgsql", "prepared_xacts", "insert_conflict", "temp", "truncate", "async", "advisory_lock"]
# the server refuses to run as root, and wants a user that has a name
UID = None if os.geteuid() else pwd.getpwnam("nobody").pw_uid
WAIT_S = 1800


def make(source, folder):
    tree = f"{folder}/tree"
    shutil.copytree(source, tree, symlinks=True)
    real.call(["./configure", *CONFIGURE, f"--prefix={folder}/installed"], cwd=tree)
    real.call(["make", "-s", "-j2", "-C", "src/backend", "generated-headers"], cwd=tree)
    for name in FOLDERS:
        real.call(["make", "-s", "-j2", "-C", name, "install"], cwd=tree)
    real.call(["make", "-s", "-j2", "-C", "src/test/regress"], cwd=tree)
    shutil.copytree(f"{tree}/src/test/regress", f"{folder}/regress")
    shutil.rmtree(tree)


def prepare():
    it = real.built("postgresql", "postgresql-15", make, recipe=f"{CONFIGURE} {FOLDERS} {inspect.getsource(make)}")
    for path in (it, os.environ["BUILD_DIR"] + "/libvestige.so"):
        if subprocess.run(["/usr/bin/test", "-r", path], user=UID, group=UID, check=False).returncode:
            raise real.Skip(f"user {UID} has no way to {path}: a folder on it is closed")
    return it


def run(it, full, only, env, folder, programs=None):
    chosen = [f"--schedule={it}/regress/parallel_schedule"] if full else SHORT_TESTS
    status, text = real.output([f"{it}/regress/pg_regress", f"--temp-instance={folder}/instance", f"--inputdir={it}/regress",
                                f"--outputdir={folder}", f"--bindir={programs or it + '/installed/bin'}", f"--dlpath={it}/regress",
                                "--max-concurrent-tests=20", *chosen], WAIT_S, cwd=folder, user=UID, group=UID, extra_groups=[],
                               env={**env, "LC_ALL": "C", "HOME": folder})
    verdicts = dict(re.findall(r"^(?:test)?\s+([\w.]+)\s+\.\.\. (\w+)", text, re.M))
    assert verdicts, text[-4000:]
    # status 1: a test failed
    return {**verdicts, "all": "ok" if status == 0 else f"status {status}"}
