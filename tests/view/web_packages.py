# SPDX-License-Identifier: MIT
"""The npm packages of the page of `vestige view`: for its tests and for the rows of
scripts/bench."""
import hashlib
import os
import shutil
import subprocess

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEB = os.path.join(SOURCE, "tools/view/web")
CACHE = os.environ.get("VESTIGE_SOURCES", os.path.join(SOURCE, ".cache"))


class Missing(Exception):
    """npm does not get the packages."""


def node_modules():
    """The folder of the packages that package-lock.json names, which are installed once."""
    with open(os.path.join(WEB, "package-lock.json"), "rb") as f:
        folder = os.path.join(CACHE, "node-" + hashlib.sha256(f.read()).hexdigest()[:16])
    if not os.path.isdir(folder):
        made = f"{folder}.{os.getpid()}"
        os.makedirs(made)
        try:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(os.path.join(WEB, name), made)
            for _ in range(2):
                p = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=made, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, timeout=200, check=False)
                if p.returncode == 0:
                    break
            else:
                raise Missing("npm ci did not get the packages of tools/view/web: " + " ".join(p.stdout.split())[-300:])
            os.rename(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return os.path.join(folder, "node_modules")
