# SPDX-License-Identifier: MIT
"""How long the calls of a function took, by powers of two.

    vestige script histogram.py FUNCTION
"""
import collections
import sys

took = collections.Counter()


def uftrace_exit(ctx):
    if ctx["name"] == sys.argv[1]:
        took[ctx["duration"].bit_length()] += 1


def uftrace_end():
    for bits, times in sorted(took.items()):
        print(f"{2**bits // 2:14} ns  {times:8} {'#' * (60 * times // max(took.values()))}")
