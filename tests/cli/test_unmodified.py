# SPDX-License-Identifier: MIT
"""record --unmodified traces programs that were built without any flag, by redirects. Their output
stays the same, the calls are those that the program counts, and unwinders get through the
islands."""
import os
import re
import subprocess

from cli_test import LIBRARY, Beside, compiled, main, need, nm, root, until

PLAIN = "-fpatchable-function-entry=0"

# One function a kind of entry. Each counts its calls, and gives a number that goes into the sum.
WAYS = r"""
#include <stdio.h>
#define F(name, text) __asm__(".text\n.p2align 4,0xcc\n.type " name ",@function\n.globl " name "\n" \
	name ": .cfi_startproc\n" text "\n.cfi_endproc\n.size " name ",.-" name "\n");
#define FRAME "pushq %rbp\n.cfi_adjust_cfa_offset 8\nmovq %rsp,%rbp\n"
#define LEAVE "popq %rbp\n.cfi_adjust_cfa_offset -8\nret"
long values[64] = {3, 5, 7}, counted[16];
long helper(long n) { return n * 3; }
F("first_long", "addq $1, counted(%rip)\nmovl $7,%eax\nret")
F("pushes", FRAME "leaq 1(%rdi),%rax\naddq $1, counted+8(%rip)\n" LEAVE)
F("relative", "nop\nmovq values+8(%rip),%rax\naddq $1, counted+16(%rip)\nret")
F("branches", "testq %rdi,%rdi\nje 1f\nmovl $2,%eax\n1: addq $1, counted+24(%rip)\naddq %rdi,%rax\nmovl $4,%eax\nret")
F("jumps", "nop\njmp 1f\n.fill 300,1,0x90\n1: addq $1, counted+32(%rip)\nleaq 9(%rdi),%rax\nret")
F("calls", "pushq %rbx\n.cfi_adjust_cfa_offset 8\nnop\nnop\ncall helper\naddq $1, counted+40(%rip)\npopq %rbx\n"
	".cfi_adjust_cfa_offset -8\nret")
F("through", "pushq %rbx\n.cfi_adjust_cfa_offset 8\nnop\ncall *pointer(%rip)\naddq $1, counted+48(%rip)\npopq %rbx\n"
	".cfi_adjust_cfa_offset -8\nret")
F("marked", "endbr64\n" FRAME "leaq 2(%rdi),%rax\naddq $1, counted+56(%rip)\n" LEAVE)
F("counts_down", "movq %rdi,%rcx\njrcxz 1f\n1: addq $1, counted+64(%rip)\nmovq %rcx,%rax\nret")
F("tail", "nop\nnop\naddq $1, counted+72(%rip)\njmp helper")
F("looped", "addl $1,%eax\ndecq %rdi\njns looped\naddq $1, counted+80(%rip)\nmovl $1,%eax\nret")
F("into", "pushq %rbx\n.cfi_adjust_cfa_offset 8\n1: nop\nnop\nnop\ndecq %rdi\njns 1b\naddq $1, counted+88(%rip)\n"
	"popq %rbx\n.cfi_adjust_cfa_offset -8\nmovl $1,%eax\nret")
__asm__(".p2align 4,0xcc\nret\n.fill 30,1,0x90\n");
F("behind", "movl (%rsi),%eax\n1: nop\nnop\ndecq %rdi\njns 1b\naddq $1, counted+96(%rip)\nret")
__asm__(".p2align 4,0xcc\n.type tiny,@function\n.globl tiny\ntiny: .cfi_startproc\nxorl %eax,%eax\nret\n"
	".cfi_endproc\n.size tiny,3\n.fill 13,1,0xcc\n");
long (*pointer)(long) = helper;
#define ALL(X) X(first_long) X(pushes) X(relative) X(branches) X(jumps) X(calls) X(through) X(marked) X(counts_down) \
	X(tail) X(looped) X(into) X(behind)
#define DECLARE(f) long f(long, long *);
ALL(DECLARE) DECLARE(tiny)
#define NAME(f) #f,
#define POINTER(f) f,
int main(void)
{
	static const char *const names[] = {ALL(NAME)};
	static long (*const all[])(long, long *) = {ALL(POINTER)};
	unsigned long sum = 0, i, k;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (k = 0; k < 5 + i; k++)
			sum = sum * 31 + (unsigned long)all[i]((long)k % 3, values) + (unsigned long)tiny(1, values);
	printf("sum %lu\n", sum);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		printf("%s %ld\n", names[i], counted[i]);
	return 0;
}
"""


def calls(w, name="trace.dat"):
    """{function: calls}, by our own table."""
    out = w.run("profile", name, "-s", "name").stdout.decode()
    return {row.split()[-1]: row for row in out.splitlines()[1:]}


def test_ways(w):
    """Each kind of function entry works as before and is counted as by the program. Refused ones
    have a reason."""
    w.compile("ways", WAYS, PLAIN, "-O1", "-fcf-protection=none")
    plain = subprocess.run(["./ways"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
    own = {n: int(c) for n, c in re.findall(r"^(\w+) (\d+)$", plain.decode(), re.M) if n != "sum"}
    doctor = w.run("doctor", "--unmodified", "-v", "./ways").stdout.decode()
    assert "a redirect, they were built without a flag" in doctor, doctor
    for name, why in ("looped", "a branch leads back to its start"), ("into", "a branch leads among its first"):
        assert re.search(rf"^    {name}: {why}", doctor, re.M), doctor
        del own[name]
    names = w.run("list", "-f", "--unmodified", "./ways").stdout.decode().split()
    assert set(own) | {"main", "helper", "tiny"} <= set(names) and "looped" not in names and "_start" not in names, names
    own["tiny"] = sum(5 + i for i in range(13))
    for tracer in "function", "function_graph":
        p = w.run("record", "--unmodified", "-p", tracer, "-q", "./ways")
        assert p.stdout == plain, (tracer, p.stdout, plain)
        if tracer == "function":
            seen = w.counts()
        else:
            text = w.run("report", "--format=trace").stdout.decode()
            seen = {}
            for name in re.findall(r"(\w+)\(\)(?:;| \{)", text):
                seen[name] = seen.get(name, 0) + 1
        assert {n: seen.get(n, 0) for n in own} == own, (tracer, seen, own)
        assert "looped" not in seen and seen["main"] == 1, seen
    w.nothing_left()


def test_default(w):
    """A program without sites is traced as it is, and one line says so; not where it is there for
    what it executes, nor with --built-only, nor for events."""
    w.compile("ways", WAYS, PLAIN)
    plain = subprocess.run(["./ways"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
    p = w.run("record", "-p", "function", "./ways")
    assert p.stdout == plain and w.counts()["pushes"] == 6, (p.stdout, w.counts())
    said = [n for n in p.stderr.decode().splitlines() if "built without a flag" in n]
    assert len(said) == 1 and "ways was built" in said[0], p.stderr
    w.run("record", "-p", "function", "-q", "-l", "pushes", "./ways")
    assert w.counts() == {"pushes": 6}, w.counts()
    for flags in ["--built-only"], ["-e", "sched_switch"]:
        p = w.run("record", *flags, "./ways", status=None)
        assert p.stdout == plain and b"without a flag" not in p.stderr, p
    assert b"exclude" in w.run("record", "--built-only", "--unmodified", "./ways", status=125).stderr
    assert {"pushes", "marked"} <= set(w.run("list", "-f", "./ways").stdout.decode().split())
    # what it executes is traced by its sites alone
    with open(w.path("outer.c"), "w", encoding="utf-8") as f:
        f.write("#include <stdlib.h>\nlong twice(long n) { return 2 * n; }\n"
                "int main(int n, char **a) { return (int)twice(system(a[1])) + (n > 9); }\n")
    compiled(["cc", "-O0", PLAIN, "outer.c"], "outer", cwd=w.dir)
    w.run("record", "-q", "./outer", "./calls; ./ways")
    seen = w.counts()
    assert seen["twice"] == 1 and "first" in seen and "pushes" not in seen, seen
    # no pattern names a function of the shell: the program that it starts is meant
    w.run("record", "-q", "-l", "first", "/bin/sh", "-c", "./calls; true")
    assert set(w.counts()) == {"first"}, w.counts()


def test_filters(w):
    """Filters work by name, and by address where there is no name. Other functions stay as
    built."""
    w.compile("ways", WAYS, PLAIN)
    w.run("record", "--unmodified", "-l", "pushes", "-l", "mark*", "-q", "./ways")
    assert set(w.counts()) == {"pushes", "marked"}, w.counts()
    at = next(words[0].lstrip("0") for words in nm(w.path("ways")) if words[-1] == "pushes")
    subprocess.run(["strip", "ways"], cwd=w.dir, check=True)
    w.run("record", "--unmodified", "-l", "ways+0x" + at, "-q", "./ways")
    assert w.counts() == {"ways+0x" + at: 6}, w.counts()


def test_packed_names(w):
    """Names that a stripped file has packed in .gnu_debugdata: in filters and in what is printed; a
    damaged one is none."""
    w.compile("ways", WAYS, PLAIN)
    for argv in (["objcopy", "--only-keep-debug", "ways", "names"], ["xz", "names"], ["strip", "ways"],
                 ["objcopy", "--add-section", ".gnu_debugdata=names.xz", "ways"]):
        subprocess.run(argv, cwd=w.dir, check=True)
    names = w.run("list", "-f", "--unmodified", "./ways").stdout.decode().split()
    assert {"pushes", "marked", "first_long", "main"} <= set(names), names
    w.run("record", "-l", "pushes", "-l", "mark*", "-q", "./ways")
    assert w.counts() == {"pushes": 6, "marked": 12}, w.counts()
    assert b"matches nothing_" in w.run("record", "-l", "nothing_", "--unmodified", "./ways", status=125).stderr
    with open(w.path("names.xz"), "rb") as f:
        data = f.read()
    for bad in data[:-40], data[:60] + b"x" * 60 + data[120:], b"", b"junk" * 50:
        with open(w.path("bad.xz"), "wb") as f:
            f.write(bad)
        subprocess.run(["objcopy", "--update-section", ".gnu_debugdata=bad.xz", "ways", "torn"], cwd=w.dir, check=True)
        names = w.run("list", "-f", "--unmodified", "./torn").stdout.decode().split()
        assert len(names) > 12 and "pushes" not in names, (bad[:20], names)


# Functions that touch their return address, that return twice, and that leave for another stack.
RETURNS = r"""
#include <stdio.h>
#include <stdlib.h>
#define FN __attribute__((noinline))
FN void *asks(long n) { __asm__ volatile("" : "+r"(n)); return __builtin_return_address(0); }
FN void *asks_late(long n)
{
	volatile long sum[20] = {n};

	for (long i = 0; i < 20; i++)
		sum[i] = sum[(i + 7) % 20] + i;
	return sum[3] == 99 ? NULL : __builtin_return_address(0);
}
FN long ordinary(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int keep(void **context) __attribute__((returns_twice));
void resume(void **context, int value) __attribute__((noreturn));
void *to_stack(void **from, void *to, void *what);
__asm__(".text\n"
	".type keep,@function\n.globl keep\nkeep: .cfi_startproc\n"
	"movq (%rsp),%rax\nmovq %rax,(%rdi)\nmovq %rsp,8(%rdi)\nmovq %rbx,16(%rdi)\nmovq %rbp,24(%rdi)\n"
	"movq %r12,32(%rdi)\nmovq %r13,40(%rdi)\nmovq %r14,48(%rdi)\nmovq %r15,56(%rdi)\nxorl %eax,%eax\nret\n"
	".cfi_endproc\n.size keep,.-keep\n"
	".type resume,@function\n.globl resume\nresume: .cfi_startproc\n"
	"movl %esi,%eax\nmovq 16(%rdi),%rbx\nmovq 24(%rdi),%rbp\nmovq 32(%rdi),%r12\nmovq 40(%rdi),%r13\n"
	"movq 48(%rdi),%r14\nmovq 56(%rdi),%r15\nmovq 8(%rdi),%rsp\naddq $8,%rsp\njmp *(%rdi)\n"
	".cfi_endproc\n.size resume,.-resume\n"
	".type to_stack,@function\n.globl to_stack\nto_stack: .cfi_startproc\n"
	"pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\nmovq %rsp,(%rdi)\n"
	"movq %rdx,%rax\nmovq %rsi,%rsp\npopq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
	".cfi_endproc\n.size to_stack,.-to_stack\n");
static void *mine, *other;
static FN void coroutine(void)
{
	long n = 0;

	for (;;)
		n += (long)to_stack(&other, mine, (void *)ordinary(n));
}
FN long in_coroutine(long n) { return (long)to_stack(&mine, other, (void *)n); }
FN long comes_back(void)
{
	void *context[8];
	volatile long times = 0;

	if (keep(context) < 5)
		times = ordinary(times);
	if (times < 5)
		resume(context, (int)times);
	return times;
}
int main(void)
{
	void **stack = malloc(65536);
	long sum = 0, i;

	other = stack + 8000 - 7;
	stack[7999] = (void *)coroutine;
	for (i = 0; i < 10; i++) {
		sum += comes_back() + in_coroutine(i);
		printf("%ld %ld\n", (long)((char *)asks(i) - (char *)main), (long)((char *)asks_late(i) - (char *)main));
	}
	printf("%ld\n", sum);
	return 0;
}
"""


def test_entry_only(w):
    """A function that uses its return address is not in the graph and gives the same result; all
    others are in the graph."""
    w.compile("returns", RETURNS, PLAIN, "-O2")
    plain = subprocess.run(["./returns"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
    calls_of = {"asks": 10, "asks_late": 10, "keep": 10, "resume": 40, "to_stack": 20}
    wrapped = {"ordinary": 60, "comes_back": 10, "in_coroutine": 10, "main": 1}
    p = w.run("record", "--unmodified", "-p", "function", "-q", "./returns")
    assert p.stdout == plain, (p.stdout, plain)
    seen = w.counts()
    assert {n: seen.get(n) for n in calls_of | wrapped} == calls_of | wrapped, seen
    p = w.run("record", "--unmodified", "-p", "function_graph", "-q", "./returns")
    assert p.stdout == plain, (p.stdout, plain)
    text = w.run("report", "--format=trace").stdout.decode()
    seen = {n: len(re.findall(rf" {n}\(\)(?:;| \{{)", text)) for n in calls_of | wrapped}
    assert seen == dict.fromkeys(calls_of, 0) | wrapped, seen
    doctor = w.run("doctor", "--unmodified", "-v", "./returns").stdout.decode()
    for name in calls_of:
        assert re.search(rf"^    {name}: .*return address", doctor, re.M), doctor


def test_runtimes(w):
    """Objects whose runtime walks its stacks are not in a graph. Go's objects stay as built."""
    w.compile("camel", "void caml_main(void) {}\nint other(void) { return 1; }\n"
              "int main(void) { caml_main(); return other() - 1; }\n", PLAIN, "-O0")
    doctor = w.run("doctor", "--unmodified", "-v", "./camel").stdout.decode()
    for name in "caml_main", "other", "main":
        assert re.search(rf"^    {name}: .*no function_graph", doctor, re.M), doctor
    w.run("record", "--unmodified", "-p", "function", "-q", "./camel")
    assert {"caml_main", "other", "main"} <= set(w.counts()), w.counts()
    # refused before it runs
    os.remove(w.path("trace.dat"))
    told = w.run("record", "-p", "function_graph", "./camel", status=125).stderr.decode()
    assert told == ("vestige: function_graph can follow no function of ./camel: OCaml finds its callers by return addresses; "
                    "-p function records the calls\n") and not os.path.exists(w.path("trace.dat")), told
    subprocess.run(["objcopy", "--add-section", ".gopclntab=camel.c", "camel", "gopher"], cwd=w.dir, check=True)
    doctor = w.run("doctor", "--unmodified", "-v", "./gopher", status=1).stdout.decode()
    assert re.search(r"^    other: its object is of Go", doctor, re.M), doctor


# callcc() as Ruby and Guile have it: what is below an address of the stack is copied away, and
# back.
COPIER = r"""
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#define FN __attribute__((noinline))
static char *base, *saved;
static size_t bytes;
static jmp_buf context;
static volatile int value;
void MARK(void) {}
void copier_base(void *at) { base = at; }
FN int capture(void)
{
	char here, *from = &here - 256;

	if (_setjmp(context))
		return value;
	bytes = (size_t)(base - from);
	saved = realloc(saved, bytes);
	memcpy(saved, from, bytes);
	return 0;
}
FN void put_back(int v)
{
	char room[512];

	memset(room, v, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	if (room > base - bytes - 4096)
		put_back(v);
	value = v;
	memcpy(base - bytes, saved, bytes);
	_longjmp(context, 1);
}
"""
CONTINUES = r"""
#include <dlfcn.h>
#include <stdio.h>
#define FN __attribute__((noinline))
static int (*capture)(void);
static void (*put_back)(int), (*copier_base)(void *);
FN int other(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
FN int down(int n) { __asm__ volatile("" : "+r"(n)); return n ? down(n - 1) + 1 : capture(); }
FN int across(int n) { __asm__ volatile("" : "+r"(n)); return n ? across(n - 1) + other(n) : 0; }
FN int play(void)
{
	static int times;
	int got = down(20);

	printf("%d %d\n", got, across(10));
	if (++times < 5)
		put_back(times * 100);
	return times;
}
int main(void)
{
	void *h = dlopen(COPIER, RTLD_NOW);

	other(1);
	*(void **)&capture = dlsym(h, "capture");
	*(void **)&put_back = dlsym(h, "put_back");
	*(void **)&copier_base = dlsym(h, "copier_base");
	copier_base(__builtin_frame_address(0));
	printf("%d\n", play());
	return 0;
}
"""
GREENLETS = """import greenlet
def gen(n): return sum(greenlet.getcurrent().parent.switch(i) or 0 for i in range(n))
def deep(d, g, v): return deep(d - 1, g, v) if d else g.switch(v)
gs = [greenlet.greenlet(gen) for _ in range(20)]
print([g.switch(5) for g in gs], [deep(k % 7, g, r) for r in range(6) for k, g in enumerate(gs) if not g.dead])"""


def test_stack_copiers(w):
    """There is no graph beside an object that copies stacks, loaded at the start or by dlopen()
    during a graph. The function tracer works."""
    with open(w.path("copier.c"), "w", encoding="utf-8") as f:
        f.write(COPIER)
    for mark in "PyInit__greenlet", "Init_continuation":
        compiled(["cc", "-O1", PLAIN, "-shared", "-fPIC", "-DMARK=" + mark, "copier.c"], "copier.so", cwd=w.dir)
        w.compile("continues", CONTINUES, PLAIN, "-O1", '-DCOPIER="./copier.so"', "-ldl")
        plain = subprocess.run(["./continues"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
        assert plain.split()[-3:] == b"420 65 5".split(), plain
        for flag in "-fpatchable-function-entry=6", PLAIN:
            w.compile("continues", CONTINUES, flag, "-O1", '-DCOPIER="./copier.so"', "-ldl")
            for tracer in "function", "function_graph":
                p = w.run("record", "-p", tracer, "./continues")
                assert p.stdout == plain, (flag, tracer, p.stdout)
                ended = re.search(rb"graph ended amid the run: \S*copier.so \(.*\) copies stacks", p.stderr)
                assert bool(ended) == (tracer == "function_graph"), (tracer, p.stderr)
            text = w.run("report", "--format=trace").stdout.decode()
            assert re.search(r"\bmain\(\)", text) and "across" not in text, text
        # an object of the program itself
        compiled(["cc", "-O1", PLAIN, "-fno-builtin", "continues.c", '-DCOPIER="./copier.so"', "-Wl,--no-as-needed",
                  "./copier.so"], "linked", cwd=w.dir)
        p = w.run("record", "-p", "function_graph", "./linked", status=125)
        assert b"copies stacks elsewhere" in p.stderr and b"-p function is there" in p.stderr and not p.stdout, p
        w.run("record", "-q", "-p", "function", "./linked")
        assert w.counts()["across"] == 55, w.counts()
    doctor = w.run("doctor", "-o", "./copier.so").stdout.decode()
    assert "no function_graph in a process that has it" in doctor, doctor
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import greenlet"], stderr=subprocess.DEVNULL, check=False).returncode:
        return
    plain = subprocess.run([python, "-c", GREENLETS], stdout=subprocess.PIPE, check=True).stdout
    for tracer in "function", "function_graph":
        p = w.run("record", "-p", tracer, "-m", "500", "--native", "-o", "native", "--", python, "-c", GREENLETS)
        assert p.stdout == plain and (b"(greenlet)" in p.stderr) == (tracer == "function_graph"), p


def test_shadow_stack(w):
    """There is no graph where the processor checks return addresses. None does here: the kernel's
    word for it stands in."""
    root()
    need("unshare")
    for features, status in ("shstk wrss", 1), ("wrss", 0):
        script = (f"sed '/^VmPeak/i x86_Thread_features:\\t{features} ' /proc/$$/status >status && "
                  f"mount --bind status /proc/$$/status && exec env LD_PRELOAD={LIBRARY} {w.prog} spin")
        with Beside(w, "unshare", "-m", "sh", "-c", script) as p:
            p.is_ready()
            until(lambda: any(n.startswith(f"{p.pid}.") and n.endswith(".sock") for n in os.listdir(w.areas)))
            for words in (("start", "-P", p.pid, "-p", "function_graph"), ("set", "-P", p.pid, "current_tracer", "function_graph"),
                          ("start", "-P", p.pid, "-B", "inst", "-p", "function_graph"),
                          ("set", "-P", p.pid, "instances/inst/current_tracer", "function_graph")):
                refused = w.run(*words, status=status).stderr
                assert (b"by a shadow stack" in refused and b"-p function is there" in refused) == bool(status), (words, refused)
            said = w.run("get", "-P", p.pid, "vestige_status").stdout
            assert (b"no function_graph: the processor checks return addresses by a shadow stack" in said) == bool(status), said
            w.run("start", "-P", p.pid, "-p", "function")
        w.run("clean")


UNWINDS = r"""
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <link.h>
#include <stdexcept>
#include <sys/time.h>
#include <ucontext.h>
#define FN __attribute__((noinline))
static volatile sig_atomic_t samples, lost;
static void *main_lo, *main_hi;
static uintptr_t libgcc_lo, libgcc_hi;
static int find_libgcc(struct dl_phdr_info *o, size_t, void *)
{
	if (strstr(o->dlpi_name, "/libgcc_s."))
		for (int i = 0; i < o->dlpi_phnum; i++)
			if (o->dlpi_phdr[i].p_type == PT_LOAD && (o->dlpi_phdr[i].p_flags & PF_X)) {
				libgcc_lo = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
				libgcc_hi = libgcc_lo + o->dlpi_phdr[i].p_memsz;
			}
	return 0;
}
static void on_prof(int, siginfo_t *, void *context)
{
	uintptr_t rip = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP];
	void *at[64];

	/* libgcc's own rules are wrong where it writes the handler's address over a return address:
	 * backtrace() crashes there in the untraced program, too */
	if (rip >= libgcc_lo && rip < libgcc_hi)
		return;
	int n = backtrace(at, 64), found = 0;

	for (int i = 0; i < n; i++)
		found |= at[i] >= main_lo && at[i] < main_hi;
	samples = samples + 1;
	lost = lost + !found;
}
struct counted {
	long *n;
	~counted() { ++*n; }
};
FN static long deep(int n, long *left)
{
	counted c = {left};
	if (!n)
		throw std::runtime_error("at the bottom");
	return deep(n - 1, left) + 1;
}
FN static long small(long n) { __asm__ volatile(""); return n * 2 + 1; }
FN static long work(long n) { long s = 0; for (long i = 0; i < n; i++) s += small(i) ^ small(s); return s; }
int main()
{
	struct itimerval every = {{0, 1000}, {0, 1000}};
	struct sigaction sa;
	long left = 0, caught = 0, sum = 0;
	void *warm[4];

	main_lo = (void *)main;
	main_hi = (char *)main + 4096;
	backtrace(warm, 4);
	dl_iterate_phdr(find_libgcc, nullptr);
	if (!libgcc_hi)
		return 2;
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_prof;
	sa.sa_flags = SA_RESTART | SA_SIGINFO;
	sigaction(SIGPROF, &sa, nullptr);
	setitimer(ITIMER_PROF, &every, nullptr);
	for (int i = 0; samples < 100; i++) {
		try {
			sum += deep(i % 20, &left);
		} catch (const std::runtime_error &e) {
			caught += !strcmp(e.what(), "at the bottom");
		}
		if (i == 99)
			printf("left %ld caught %ld\n", left, caught);
		sum += work(1000);
	}
	fprintf(stderr, "lost %d\n", (int)lost);
	return sum == 1;
}
"""


def test_unwinds(w):
    """Exceptions and a handler's backtraces get through islands to main() each time."""
    with open(w.path("unwinds.cc"), "w", encoding="utf-8") as f:
        f.write(UNWINDS)
    compiled(["g++", "-O2", PLAIN, "unwinds.cc"], "unwinds", cwd=w.dir)
    for tracer in "function", "function_graph":
        p = w.run("record", "--unmodified", "-p", tracer, "-m", "1000", "-q", "./unwinds")
        assert p.stdout == b"left 1050 caught 100\n", (tracer, p.stdout)
        assert b"lost 0\n" in p.stderr, (tracer, p.stderr)


def test_samples(w):
    """A sample in a function's island counts for the function, and main() is in its stack."""
    w.compile("busy", "__attribute__((noipa)) int tiny(int n) { return n + 1; }\nint main(void) { unsigned s = 0;"
              " for (long i = 0; i < 120000000; i++) s = tiny(s); return s == 7; }\n", PLAIN)
    w.run("record", "-q", "-p", "sysprof", "./busy", env={"VESTIGE_UNMODIFIED": "1,all"})
    stacks = w.run("stacks").stdout.decode()
    # what runs when main() has returned is not asked, nor the loader, which calls constructors
    stacks = "".join(line for line in stacks.splitlines(True) if ";exit;" not in line and ";_dl_init;" not in line)
    # the compiler's own destructor has no unwind rules: a sample there has no stack
    stacks = re.sub(r"^busy 1\n", "", stacks, flags=re.M)
    count = {end: int(n) for end, n in re.findall(r"([^;\n]*) (\d+)$", stacks, re.M)}
    assert "tiny" in count and set(count) <= {"tiny", "main", "_start"}, stacks
    assert all(";main" in line for line in stacks.splitlines() if ";tiny " in line), stacks


LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) long own(long n) { return n + 1; }
int main(int argc, char **argv)
{
	long sum = 0;
	for (int i = 0; i < 3; i++) {
		void *h = dlopen("./plugin.so", RTLD_NOW);
		long (*f)(long) = h ? (long (*)(long))dlsym(h, "plugged") : NULL;
		if (!f) return 9;
		sum += f(i);
		dlclose(h);
	}
	if (!fork()) { printf("child %ld\n", own(sum)); fflush(stdout); _exit(0); }
	wait(NULL);
	if (argc > 1) return 0;
	printf("sum %ld\n", own(sum));
	fflush(stdout);
	execl(argv[0], argv[0], "again", NULL);
	return 8;
}
"""


def test_loads(w):
    """Redirects work with dlopen() and dlclose(), fork and exec."""
    with open(w.path("plugin.c"), "w", encoding="utf-8") as f:
        f.write("long plugged(long n) { return n * 7 + 1; }\n")
    compiled(["cc", "-O1", PLAIN, "-shared", "-fPIC", "plugin.c"], "plugin.so", cwd=w.dir)
    w.compile("loads", LOADS, PLAIN, "-ldl")
    plain = subprocess.run(["./loads"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
    for tracer in "function", "function_graph":
        p = w.run("record", "--unmodified", "-p", tracer, "-q", "./loads")
        assert p.stdout == plain, (tracer, p.stdout, plain)
        out = w.run("report", "--format=trace").stdout.decode()
        assert len(re.findall(r"\bplugged\b", out)) >= 6 and len(re.findall(r"\bown\b", out)) >= 3, out


FORKS = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	if (!fork())
		return puts("child") < 0;
	wait(NULL);
	return 0;
}
"""


def test_a_fork_is_no_loss(w):
    """What libc calls in a child before the child has its area is not reported as lost."""
    w.compile("forks", FORKS, PLAIN)
    for tracer in "function", "function_graph":
        p = w.run("record", "--unmodified", "-p", tracer, "-l", "*:mod:*", "-q", "./forks")
        assert p.stdout == b"child\n" and p.stderr == b"", (tracer, p.stdout, p.stderr)


SQL = """create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) insert into t select x, hex(x * 37 % 100) from c;
create index i on t(b); select count(*), sum(a), max(b) from t; select b, count(*) from t group by b order by 2 desc, 1 limit 5;
delete from t where a % 3 = 0; select count(*) from t; pragma integrity_check;"""
SHELL = """f() { local a=$1; [ $a -gt 0 ] && f $((a - 1)); echo $a; }; f 5; x=$(echo sub | tr a-z A-Z); echo $x
declare -A m; m[a]=1; echo ${!m[@]}; [[ abc =~ a(.)c ]] && echo ${BASH_REMATCH[1]}; trap 'echo end' EXIT; (exit 3); echo $?"""
PYTHON = """import re, json, threading
print(re.sub(r'(a+)', r'<\\1>', 'baab'), json.dumps({'a': [1, None]}), sum(i * i for i in range(3000)))
try: 1 / 0
except ZeroDivisionError as e: print(e)
r = []; t = [threading.Thread(target=r.append, args=(i,)) for i in range(8)]
[x.start() for x in t]; [x.join() for x in t]; print(sorted(r))"""


def test_debian(w):
    """Programs of the system print the same with all of their functions traced."""
    for path, args, objects in (("/usr/bin/sqlite3", [":memory:", SQL], ["-l", "*", "-l", "*:mod:libsqlite3*"]),
                                ("/bin/bash", ["-c", SHELL], []),
                                ("/usr/bin/git", ["--no-pager", "init", "-q", "--bare", w.path("repository")], []),
                                ("/usr/bin/python3", ["-c", PYTHON], [])):
        if not os.path.exists(path):
            continue
        plain = subprocess.run([path, *args], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
        for tracer in "function", "function_graph":
            p = w.run("record", "--stat", "--unmodified", "-p", tracer, "-m", "500", "--native", "-o", "native", *objects,
                      "--", path, *args)
            assert p.stdout == plain, (path, tracer, p.stdout, plain)
            assert w.stats(p.stderr, "entries") > 300, (path, tracer, p.stderr)


if __name__ == "__main__":
    main(globals())
