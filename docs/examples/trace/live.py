# SPDX-License-Identifier: MIT
"""Calls of a running process in each second, by function.    python3 live.py PID"""
import collections
import sys

import vestige_trace

with vestige_trace.live(int(sys.argv[1]), kinds=vestige_trace.CALL) as trace:
    second, calls = None, collections.Counter()
    for call in trace:
        if second is not None and call.end // 10**9 > second:
            print(second, calls.most_common(5), flush=True)
            calls.clear()
        second = call.end // 10**9
        calls[call.name] += 1
print(second, calls.most_common(5))
