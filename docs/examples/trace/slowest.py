# SPDX-License-Identifier: MIT
"""The ten longest calls of a recording, each with its callers.    python3 slowest.py trace.dat"""
import heapq
import sys

import vestige_trace

with vestige_trace.open(sys.argv[1], kinds=vestige_trace.CALL) as trace:
    longest = []
    for number, call in enumerate(trace):
        if len(longest) < 10 or call.duration > longest[0][0]:
            heapq.heappush(longest, (call.duration, number, [f.name or hex(f.address) for f in call.stack()]))
        if len(longest) > 10:
            heapq.heappop(longest)
for duration, _, stack in sorted(longest, reverse=True):
    print(f"{duration / 1000:12.3f} us  {' < '.join(stack)}")
