# SPDX-License-Identifier: MIT
"""compiled - the programs of the tests, each compiled once, and their symbols.

Many tests run the same program, and each build of vestige runs them again. The program that a
compiler made from the same files with the same command is kept in .cache/tests and copied from
there.
"""
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile

CACHE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".cache", "tests")
NR_LOCKS = 64


def compiled(argv, out, cwd=None, **more):
    """Compile: subprocess.run([*argv, "-o", out], cwd=cwd, check=True, **more), or a copy of what
    it made before.

    @argv names the compiler and its words, without -o and its word. Raises
    subprocess.CalledProcessError.
    """
    made = os.path.join(cwd or ".", out)
    key = key_of(argv, cwd)
    if not key:
        subprocess.run([*argv, "-o", out], cwd=cwd, check=True, **more)
        return
    kept = os.path.join(CACHE, key)
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, f"lock-{int(key[:8], 16) % NR_LOCKS}"), "w", encoding="utf-8") as lock:
        # a test beside this one may be compiling the same
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(kept):
            os.utime(kept)
        else:
            subprocess.run([*argv, "-o", out], cwd=cwd, check=True, **more)
            shutil.copy(made, kept + ".new")
            os.rename(kept + ".new", kept)
            return
    # the program at that path may be running
    if os.path.exists(made):
        os.unlink(made)
    shutil.copy(kept, made)


def nm(path, *flags):
    """The lines that nm prints of a file, each as its words; [] if it cannot be read.

    With the format named, nm does not look for it by loading LLVM's plugin, which takes 0.1 s.
    """
    try:
        made = os.stat(path)
    except OSError:
        return []
    return nm_of(path, flags, (made.st_dev, made.st_ino, made.st_size, made.st_mtime_ns))


@functools.lru_cache(maxsize=None)
def nm_of(path, flags, _made):
    target = ["--target=elf64-x86-64"] if os.uname().machine == "x86_64" else []
    text = subprocess.run(["nm", *target, *flags, path], stdout=subprocess.PIPE, text=True, check=False).stdout
    return [line.split() for line in text.splitlines()]


def key_of(argv, cwd):
    """A digest of all that the result is made of, or None: a folder of the test's own is in it."""
    own = tempfile.gettempdir() + os.sep
    if any(own in word for word in argv):
        return None
    if cwd and any(word.startswith("-g") and word != "-g0" for word in argv):
        return None     # debug information names the folder
    digest = hashlib.sha256()
    digest.update(repr((compiler(argv[0]), argv, [(k, os.environ.get(k)) for k in ("CPATH", "LIBRARY_PATH")])).encode())
    folders = [word[2:] for word in argv if word.startswith("-L")]
    for word in argv[1:]:
        path = os.path.join(cwd or ".", word)
        if word.startswith("-I"):
            digest.update(headers(word[2:]))
        elif word.startswith("-l:"):
            for folder in folders:
                digest.update(content(os.path.join(folder, word[3:])))
        elif not word.startswith("-") and os.path.isfile(path):
            digest.update(content(path))
            if not cwd:
                digest.update(headers(os.path.dirname(path)))
    return digest.hexdigest()


@functools.cache
def compiler(name):
    path = os.path.realpath(shutil.which(name) or name)
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def content(path):
    try:
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).digest()
    except OSError:
        return b""


@functools.cache
def headers(folder):
    """Of all files that a source may include from there: headers, and sources, which some
    include."""
    digest = hashlib.sha256()
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".h", ".c", ".cc")):
                digest.update(name.encode() + content(os.path.join(root, name)))
    return digest.digest()
