# SPDX-License-Identifier: MIT
"""CPython built with the flag, for scripts/bench: a script's time under each tracer.

The script is this file, run by that interpreter: loops, calls, attributes, dictionaries, lists and
text, as pyperformance has them, with built-in modules only.
"""
import sys


def bodies(n):
    """n-body: floats and attributes of lists."""
    planets = [[0.0, 0.0, 0.0, 39.47], [4.84, -1.16, -0.10, 0.037], [8.34, 4.12, -0.4, 0.011], [12.89, -15.11, -0.22, 0.0017]]
    speed = [[0.0, 0.0, 0.0], [0.6, 2.81, -0.02], [-1.01, 1.82, 0.008], [1.08, 0.86, -0.01]]
    for _ in range(n):
        for i, a in enumerate(planets):
            for k in range(i + 1, len(planets)):
                b = planets[k]
                d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
                far = (d[0] ** 2 + d[1] ** 2 + d[2] ** 2) ** -1.5 * 0.001
                for j in range(3):
                    speed[i][j] -= d[j] * b[3] * far
                    speed[k][j] += d[j] * a[3] * far
        for a, v in zip(planets, speed):
            for j in range(3):
                a[j] += 0.001 * v[j]


def fib(n):
    """Calls."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Task:
    """Methods and attributes."""

    def __init__(self, i):
        self.i, self.left = i, i % 7 + 3

    def step(self):
        self.left -= 1
        return self.left > 0


def tasks(n):
    for _ in range(n):
        queue = [Task(i) for i in range(50)]
        while queue:
            queue = [t for t in queue if t.step()]


def words(n):
    """Text, dictionaries and sorting."""
    for k in range(n):
        counts = {}
        for i in range(300):
            word = f"w{(i * 7919 + k) % 97}"
            counts[word] = counts.get(word, 0) + 1
        "\n".join(f"{w}={c}" for w, c in sorted(counts.items(), key=lambda x: (-x[1], x[0]))).upper().split("\n")


def script():
    bodies(4000)
    fib(22)
    tasks(300)
    words(600)


FIVE = ("list_sort_impl", "dict_subscript", "PyObject_GetAttr", "unicode_split", "type_call")
CONFIGURE = ["CC=gcc", "CFLAGS=-O2 -g1 -w -fpatchable-function-entry=6"]


def make(source, folder):
    """For real.built(): the interpreter alone; its modules in C are not needed here."""
    import real
    import shutil
    shutil.copytree(source, f"{folder}/tree", symlinks=True)
    real.call(["./configure", *CONFIGURE], cwd=f"{folder}/tree")
    real.call(["make", "-s", "-j2", "python"], cwd=f"{folder}/tree")


def rows(bench):
    import inspect
    import os
    import statistics
    import servers
    import real   # tests/real
    print("CPython, built with the flag: a script's CPU time, over untraced")
    try:
        it = real.built("cpython", "python3.11", make, recipe=f"{CONFIGURE} {inspect.getsource(make)}")
    except real.Skip as e:
        bench.row("CPython", "not measured", note=str(e))
        return
    argv = [f"{it}/tree/python", "-S", "-E", os.path.abspath(__file__)]
    modes, took = servers.modes(FIVE), {}
    with open(os.devnull, encoding="ascii") as null:
        for _ in range(1 if bench.quick else 5):
            for name, boot in modes:
                env = {"PATH": "/usr/bin:/bin", **({k: v for k, v in servers.environment(bench, boot).items()
                                                    if k.startswith(("VESTIGE", "LD_"))})}
                took.setdefault(name, []).append(bench.cpu_seconds(argv, env, null.name, bench.folder))
                bench.empty_areas()
    base = statistics.median(took["untraced"])
    for name, seconds in took.items():
        s = statistics.median(seconds)
        bench.row(f"CPython, {name}", f"{s / base:.3f} of untraced's time", note=f"{s:.2f} s")


if __name__ == "__main__":
    sys.exit(script())
