# SPDX-License-Identifier: MIT
"""graph - the calls of an area's graph records, read without any code of the project.

Strict: an exit of another call than the innermost is an error here. The format allows it in traces
with losses, which the tests rule out first.
"""
import heapq
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fire"))
import area  # noqa: E402


class Call:
    __slots__ = ("name", "tail", "children", "how")

    def __init__(self, name, tail=False):
        self.name, self.tail, self.children, self.how = name, tail, [], "open"

    def text(self):
        """name(child child ...), made without recursion, since programs nest deeper than Python
        may."""
        out, todo = [], [self]
        while todo:
            c = todo.pop()
            if isinstance(c, str):
                out.append(c)
                continue
            out.append(f" {c.name}(")
            todo.append(")")
            todo.extend(reversed(c.children))
        return "".join(out).strip()


class Wrong(Exception):
    pass


def plain(name):
    """The source's name of a function: clones are the same function."""
    return name.split(".")[0]


def records(a):
    """(tid, record) in each thread's order, threads merged by their stamps: a stack may change
    threads."""
    threads = {}
    for p in sorted(a.pages, key=lambda p: p.take_seq):
        threads.setdefault(p.tid, []).extend((p.base + r.stamp, p.tid, r) for r in p.records)
    return ((tid, r) for _, tid, r in heapq.merge(*threads.values(), key=lambda e: e[0]))


def calls(a, unmatched=None):
    """The outermost calls of all stacks of an area, in the order of their entry.

    @unmatched: a list to which the names of exits without an entry are added; with None they are an
    error.
    """
    names = {i: plain(n) for i, n in a.names().items()}
    stacks, current, roots = {}, {}, []
    for tid, r in records(a):
        where = current.setdefault(tid, ("thread", tid))
        stack = stacks.setdefault(where, [])
        if r.kind == area.STACK:
            current[tid] = ("stack", r.id)
        elif r.kind in (area.ENTRY, area.TAIL):
            call = Call(names[r.id], r.kind == area.TAIL)
            if call.tail and not stack:
                raise Wrong(f"thread {tid}: a tail call of {call.name}, but no call is open")
            (stack[-1].children if stack else roots).append(call)
            stack.append(call)
        elif r.kind == area.EXIT:
            while stack and stack[-1].tail:
                stack.pop().how = "returned"
            if not stack and unmatched is not None:
                unmatched.append(names[r.id])
                continue
            if not stack or stack[-1].name != names[r.id]:
                raise Wrong(f"thread {tid}: exit of {names[r.id]}, but open are "
                            f"{' '.join(c.name for c in stack[-6:])}")
            stack.pop().how = "returned"
        elif r.kind == area.UNWOUND:
            for _ in range(r.id & ~area.RETURNED):
                while stack and stack[-1].tail:
                    stack.pop().how = "unwound"
                if not stack:
                    raise Wrong(f"thread {tid}: {r.id} calls vanished, but fewer were open")
                stack.pop().how = "unwound"
    return roots


def written(text):
    """The same from the program's output: lines `stack NAME NAME - - ...`."""
    roots = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] != "stack":
            continue
        stack = []
        for word in words[1:]:
            if word == "-":
                stack.pop().how = "ended"
                continue
            call = Call(word)
            (stack[-1].children if stack else roots).append(call)
            stack.append(call)
    return roots


def difference(ours, theirs, path=""):
    """The first difference between two calls, in words."""
    here = f"{path}/{theirs.name}"
    if ours.name != theirs.name:
        return f"{here}: recorded is {ours.name}"
    for i, (a, b) in enumerate(zip(ours.children, theirs.children)):
        if a.text() != b.text():
            return difference(a, b, f"{here}[{i}]")
    if len(ours.children) != len(theirs.children):
        at = min(len(ours.children), len(theirs.children))
        return (f"{here}: {len(ours.children)} calls beneath it, not {len(theirs.children)}; "
                f"recorded further: {[c.text()[:80] for c in ours.children[at:at + 3]]}, "
                f"written further: {[c.text()[:80] for c in theirs.children[at:at + 3]]}")
    return f"{here}: the same"
