# SPDX-License-Identifier: MIT
"""kernel_instance - instances of the kernel's tracefs."""
import os


def make_instance(folder):
    """Make one with the options of the boot. The kernel gives it the top buffer's, of which `blk
    record` changes these for a while."""
    os.mkdir(folder)
    for option, value in (("context-info", "1"), ("bin", "0"), ("overwrite", "1")):
        with open(f"{folder}/options/{option}", "r+", encoding="utf-8") as f:
            if f.read().strip() != value:
                f.write(value)
