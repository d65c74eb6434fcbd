# SPDX-License-Identifier: MIT
"""PostgreSQL's regression with the server and the clients that Debian ships, all of their functions
redirected. The tests come from postgresql.py's build."""
import os

import postgresql
import real

SHORT = True
TRACERS = ["+function", "+function_graph"]
LEAST = 40
UID = postgresql.UID
BIN = "/usr/lib/postgresql/15/bin"


def prepare():
    if not os.path.exists(f"{BIN}/initdb"):
        raise real.Skip("there is no package postgresql-15")
    return postgresql.prepare()


def run(it, full, only, env, folder):
    return postgresql.run(it, full, only, env, folder, BIN)
