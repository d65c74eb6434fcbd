# SPDX-License-Identifier: MIT
"""Scripts of git's own tests with the git that Debian ships, all of its functions redirected. The
scripts and their helpers come from git.py's build."""
import os

import git
import real

SHORT = False
TRACERS = ["+function", "+function_graph"]
LEAST = 1000


def prepare():
    if not os.path.exists("/usr/bin/git"):
        raise real.Skip("there is no package git")
    return git.prepare()


def run(it, full, only, env, folder):
    return git.run(it, False, only, {**env, "INSTALLED": "/usr/bin"}, folder)
