# SPDX-License-Identifier: MIT
"""Calls, total and own time of each function.    vestige script -i trace.dat profile.py"""
import collections

totals = collections.defaultdict(lambda: [0, 0, 0])


def uftrace_exit(ctx):
    of = totals[ctx["name"]]
    of[0] += 1
    of[1] += ctx["duration"]
    of[2] += ctx["self"]


def uftrace_end():
    for name, (calls, total, own) in sorted(totals.items(), key=lambda item: -item[1][2]):
        print(f"{calls:10} {total / 1000:14.3f} us {own / 1000:14.3f} us  {name}")
