# SPDX-License-Identifier: MIT
"""Functions whose mean own time differs between two recordings.

    python3 compare.py before.dat after.dat
"""
import collections
import sys

import vestige_trace


def means(path):
    calls, own = collections.Counter(), collections.Counter()
    with vestige_trace.open(path, kinds=vestige_trace.CALL) as trace:
        for call in trace:
            calls[call.name] += 1
            own[call.name] += call.self
    return {name: own[name] / calls[name] for name in calls}


before, after = means(sys.argv[1]), means(sys.argv[2])
for name in sorted(before.keys() & after.keys(), key=lambda n: before[n] - after[n]):
    print(f"{before[name] / 1000:12.3f} us -> {after[name] / 1000:12.3f} us  {name}")
for name in sorted(before.keys() ^ after.keys()):
    print(f"only in {sys.argv[1 if name in before else 2]}: {name}")
