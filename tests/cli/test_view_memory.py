#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The memory that a large recording takes when all of its calls are kept."""
import json
import resource
import subprocess
import sys

from cli_test import BIN, is_sanitized, main

CALLS = 14_000_000
MORE = """
#include <stdlib.h>
__attribute__((noipa)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n; }
__attribute__((noipa)) int inner(int n) { return leaf(n) + 1; }
int main(int argc, char **argv)
{
	unsigned sum = 0;
	for (int i = atoi(argv[1]) / 2; i; i--)
		sum += inner(argc);
	return sum == 0;
}
"""
# as the last line: the most memory that the command had, in KiB
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""
QUERY = "SELECT name, count(*), sum(duration), min(start), max(start + duration), max(depth) FROM slices GROUP BY name ORDER BY name"


def ask(w, *command, file_bytes=None):
    """The answer, and the most memory in MB."""
    limit = file_bytes and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes)))
    done = subprocess.run([sys.executable, "-c", MEASURE, BIN, *command], cwd=w.dir, env=w.env, capture_output=True, preexec_fn=limit,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    *lines, memory = done.stdout.splitlines()
    return lines, int(memory) / 1000


def test_sql(w):
    """`sql` of many calls has a limit to its memory. Without a file it says the same."""
    w.run("record", "-q", "--native", "-b", "300000", "-p", "function_graph", "-o", "many", "--", w.compile("many", MORE), str(CALLS))
    profile = json.loads(w.run("profile", "--json", "many").stdout)
    lines, memory = ask(w, "sql", "many", QUERY)
    assert memory < 320 or is_sanitized(), memory  # a sanitizer keeps freed memory, and its own
    whole, most = ask(w, "sql", "many", QUERY, file_bytes=1 << 20)
    assert lines == whole and most > 24 * CALLS / 1e6, most
    counts = {f["name"]: f["calls"] for f in profile["functions"]}
    assert counts["leaf"] == counts["inner"] == CALLS // 2, counts
    for name in ("leaf", "inner"):
        row, = (line.split() for line in lines if line.split()[0] == name)
        assert int(row[1]) == CALLS // 2, lines


if __name__ == "__main__":
    main(globals())
