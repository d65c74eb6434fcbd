/* SPDX-License-Identifier: MIT */
/*
 * See attach_impl.h. The code is written to the padding behind an object's text. Its data are in a
 * block below the thread's stack pointer: the registers, and the functions to call. The code blocks
 * signals, maps memory for a stack and a page, copies the functions to the page, saves the vector
 * registers, and starts a thread that calls dlopen() (or calls it itself). Then it undoes each step
 * except the page. ptrace restores nothing. rt_sigreturn is not used, since it would end a sleep
 * that the kernel restarts (restart_block).
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "abi/stopped_calls.h"
#include "tools/attach/attach_impl.h"

#define RED_ZONE     128u
#define XSAVE_MASK   464u   /* in the area of registers: which parts the kernel saves */
#define SIGNAL_BYTES 16384u /* below the block, for a signal that comes before all are blocked */
/* glibc changes the identity of all threads by this signal: it waits for their handlers. */
#define ALL_BUT_SETXID (~(UINT64_C(1) << 32))

/* Return values by which the kernel restarts a system call (linux/errno.h). */
#define RESTARTSYS	     (-512)
#define RESTARTNOINTR	     (-513)
#define RESTARTNOHAND	     (-514)
#define RESTART_RESTARTBLOCK (-516)

/* The page: the answer, the functions, the path, later dlerror()'s text. */
struct page {
	struct attach_answer answer;		       /* 0 .. 24 */
	uint64_t thread;			       /* 32 */
	uint64_t dlopen, dlerror;		       /* 40, 48 */
	uint64_t attr_init, attr_stack, attr_detached; /* 56, 64, 72 */
	uint64_t create;			       /* 80; 0: no thread */
	uint64_t pad;
	char text[ATTACH_PATH_BYTES]; /* 96 */
};
_Static_assert(offsetof(struct page, dlopen) == 40 && offsetof(struct page, create) == 80 &&
		       offsetof(struct page, text) == 96 && sizeof(struct page) == 8 * 460 &&
		       offsetof(struct attach_answer, state) == 0 &&
		       offsetof(struct attach_answer, error) == 8 &&
		       offsetof(struct attach_answer, is_back) == 16,
	       "the code below has these numbers");

struct block {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp;	      /* 0 .. 48 */
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, flags; /* 56 .. 120 */
	uint64_t page, xmask;				      /* 128, 136 */
	uint64_t all, old;				      /* 144, 152: masks of signals */
	uint32_t mxcsr, pad;				      /* 160 */
	struct page call;				      /* 168 */
};
_Static_assert(offsetof(struct block, r8) == 56 && offsetof(struct block, flags) == 120 &&
		       offsetof(struct block, xmask) == 136 && offsetof(struct block, old) == 152 &&
		       offsetof(struct block, mxcsr) == 160 && offsetof(struct block, call) == 168,
	       "the code below has these numbers");
_Static_assert(ATTACH_MEMORY_BYTES == 0x81000, "the code below has this number");

__asm__(".pushsection .rodata\n"
	"	.balign 16\n"
	"vestige_attach_code:\n"
	"	movq	%rsp, %rbx\n"
	"	movl	$14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, all, old) */
	"	movl	$2, %edi\n"
	"	leaq	144(%rbx), %rsi\n"
	"	leaq	152(%rbx), %rdx\n"
	"	movl	$8, %r10d\n"
	"	syscall\n"
	"	movl	$9, %eax\n" /* mmap(..., MAP_FIXED_NOREPLACE) */
	"	movq	128(%rbx), %rdi\n"
	"	movl	$0x81000, %esi\n"
	"	movl	$3, %edx\n"
	"	movl	$0x100022, %r10d\n"
	"	movq	$-1, %r8\n"
	"	xorl	%r9d, %r9d\n"
	"	syscall\n"
	"	movq	%rax, %r12\n"
	"	cmpq	$-4096, %rax\n"
	"	ja	4f\n"
	"	movl	136(%rbx), %eax\n"
	"	movl	140(%rbx), %edx\n"
	"	xsave64	4096(%r12)\n"
	"	fninit\n"
	"	ldmxcsr	160(%rbx)\n"
	"	cld\n"
	"	leaq	168(%rbx), %rsi\n"
	"	movq	%r12, %rdi\n"
	"	movl	$460, %ecx\n"
	"	rep movsq\n"
	"	leaq	0x81000(%r12), %rsp\n"
	"	xorl	%ebp, %ebp\n"
	"	cmpq	$0, 80(%r12)\n"
	"	je	1f\n"
	"	subq	$64, %rsp\n" /* a pthread_attr_t */
	"	movq	%rsp, %rdi\n"
	"	call	*56(%r12)\n"
	"	movq	%rsp, %rdi\n"
	"	movl	$0x100000, %esi\n"
	"	call	*64(%r12)\n"
	"	movq	%rsp, %rdi\n"
	"	movl	$1, %esi\n" /* PTHREAD_CREATE_DETACHED */
	"	call	*72(%r12)\n"
	"	leaq	32(%r12), %rdi\n"
	"	movq	%rsp, %rsi\n"
	"	leaq	vestige_attach_load(%rip), %rdx\n"
	"	movq	%r12, %rcx\n"
	"	call	*80(%r12)\n"
	"	testl	%eax, %eax\n"
	"	jz	2f\n"
	"	movq	%rax, 8(%r12)\n"
	"	movq	$3, 0(%r12)\n"
	"	jmp	2f\n"
	"1:	movq	%r12, %rdi\n"
	"	call	vestige_attach_load\n"
	"2:	movl	136(%rbx), %eax\n"
	"	movl	140(%rbx), %edx\n"
	"	xrstor64 4096(%r12)\n"
	"	movq	%rbx, %rsp\n"
	"	leaq	4096(%r12), %rdi\n" /* munmap */
	"	movl	$0x80000, %esi\n"
	"	movl	$11, %eax\n"
	"	syscall\n"
	"	movq	$1, 16(%r12)\n"
	"4:	movl	$14, %eax\n"
	"	movl	$2, %edi\n"
	"	leaq	152(%rbx), %rsi\n"
	"	xorl	%edx, %edx\n"
	"	movl	$8, %r10d\n"
	"	syscall\n"
	"	pushq	120(%rbx)\n"
	"	popfq\n"
	"	movq	0(%rbx), %rax\n"
	"	movq	16(%rbx), %rcx\n"
	"	movq	24(%rbx), %rdx\n"
	"	movq	32(%rbx), %rsi\n"
	"	movq	40(%rbx), %rdi\n"
	"	movq	48(%rbx), %rbp\n"
	"	movq	56(%rbx), %r8\n"
	"	movq	64(%rbx), %r9\n"
	"	movq	72(%rbx), %r10\n"
	"	movq	80(%rbx), %r11\n"
	"	movq	88(%rbx), %r12\n"
	"	movq	96(%rbx), %r13\n"
	"	movq	104(%rbx), %r14\n"
	"	movq	112(%rbx), %r15\n"
	"	movq	8(%rbx), %rbx\n"
	"	movq	vestige_attach_sp(%rip), %rsp\n"
	"	jmp	*vestige_attach_pc(%rip)\n"
	"vestige_attach_load:\n" /* (page), in either thread */
	"	pushq	%rbx\n"
	"	movq	%rdi, %rbx\n"
	"	leaq	96(%rbx), %rdi\n"
	"	movl	$0x102, %esi\n" /* RTLD_NOW | RTLD_GLOBAL */
	"	call	*40(%rbx)\n"
	"	movl	$1, %edx\n"
	"	testq	%rax, %rax\n"
	"	jnz	6f\n"
	"	call	*48(%rbx)\n"
	"	movl	$2, %edx\n"
	"	movq	%rax, 8(%rbx)\n"
	"	movq	%rax, %rsi\n"
	"	leaq	96(%rbx), %rdi\n"
	"	movl	$512, %ecx\n" /* the text ends with its thread */
	"	testq	%rsi, %rsi\n"
	"	jz	6f\n"
	"5:	lodsb\n"
	"	stosb\n"
	"	testb	%al, %al\n"
	"	loopnz	5b\n"
	"6:	movq	%rdx, 0(%rbx)\n"
	"	xorl	%eax, %eax\n"
	"	popq	%rbx\n"
	"	ret\n"
	"	.balign 8\n"
	"vestige_attach_pc: .quad 0\n"
	"vestige_attach_sp: .quad 0\n"
	"vestige_attach_end:\n"
	".popsection\n");

extern const uint8_t vestige_attach_code[], vestige_attach_pc[], vestige_attach_sp[],
	vestige_attach_end[];

size_t attach_code_bytes(void)
{
	return (size_t)(vestige_attach_end - vestige_attach_code);
}

size_t attach_stack_bytes(void)
{
	return RED_ZONE + sizeof(struct block) + 64 + SIGNAL_BYTES;
}

static int get(int tid, struct user_regs_struct *r)
{
	struct iovec v = {r, sizeof(*r)};

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) ? -errno : 0;
}

static int set(int tid, struct user_regs_struct *r)
{
	struct iovec v = {r, sizeof(*r)};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v) ? -errno : 0;
}

int attach_registers(int tid, uint64_t *pc, uint64_t *sp)
{
	struct user_regs_struct r;
	int err = get(tid, &r);

	/* code of 32 bits: another mode of the processor */
	if (!err && r.cs != 0x33)
		return -ENOTSUP;
	*pc = err ? 0 : r.rip;
	*sp = err ? 0 : r.rsp;
	return err;
}

bool attach_behind_syscall(int pid, uint64_t pc)
{
	uint8_t b[2];

	return !attach_peek(pid, pc - 2, b, 2) && b[0] == 0x0f && b[1] == 0x05;
}

/* Does a call end at @end? Seven bytes before it can be read. */
static bool ends_call(const uint8_t *end)
{
	/* e8 rel32; ff /2 by a register, or by memory: with [displacement of 8 or 32], [SIB] */
	if (end[-5] == 0xe8)
		return true;
	for (int bytes = 2; bytes <= 7; bytes++) {
		uint8_t modrm = end[1 - bytes], mod = modrm >> 6, rm = modrm & 7;
		int takes = 2 +
			    (mod == 1			     ? 1
			     : mod == 2 || (!mod && rm == 5) ? 4
							     : 0) +
			    (mod != 3 && rm == 4);

		if (end[-bytes] == 0xff && (modrm >> 3 & 7) == 2 && takes == bytes)
			return true;
	}
	return false;
}

enum attach_return attach_return_kind(int pid, uint64_t word)
{
	/* rt_sigreturn() as libraries have it: mov $15,%rax or %eax; syscall */
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
			     narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t b[7 + sizeof(wide)];

	if (attach_peek(pid, word - 7, b, sizeof(b)))
		return ATTACH_RETURN_NONE;
	if (!memcmp(b + 7, wide, sizeof(wide)) || !memcmp(b + 7, narrow, sizeof(narrow)))
		return ATTACH_RETURN_SIGNAL;
	return ends_call(b + 7) ? ATTACH_RETURN_CALL : ATTACH_RETURN_NONE;
}

/* Set the registers to restart an interrupted system call. Return: whether there is one. */
static bool restarted(struct user_regs_struct *r)
{
	long ret = (long)r->rax, nr = (long)r->orig_rax;

	if (nr < 0)
		return false;
	switch (ret) {
	case RESTARTSYS:
	case RESTARTNOINTR:
	case RESTARTNOHAND:
		r->rax = (uint64_t)nr;
		break;
	case RESTART_RESTARTBLOCK:
		r->rax = SYS_restart_syscall;
		break;
	case -EINTR:
		if (!stop_ends_call(nr))
			return false;
		r->rax = (uint64_t)nr;
		break;
	default:
		return false;
	}
	r->rip -= 2;
	r->orig_rax = (uint64_t)-1;
	return true;
}

void attach_restart(int tid)
{
	struct user_regs_struct r;

	/*
	 * the kernel restarts all other calls itself; a call that a handler has interrupted is not
	 * restarted
	 */
	if (!get(tid, &r) && (long)r.rax == -EINTR && stop_ends_call((long)r.orig_rax)) {
		r.rax = (uint64_t)RESTARTNOHAND;
		set(tid, &r);
	}
}

static int read_mask(int tid, uint64_t *mask)
{
	uint8_t x[16384];
	struct iovec v = {x, sizeof(x)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &v))
		return -errno;
	if (v.iov_len < XSAVE_MASK + sizeof(*mask))
		return -ENOTSUP;
	memcpy(mask, x + XSAVE_MASK, sizeof(*mask));
	return 0;
}

int attach_go(int pid, int tid, const struct attach_call *call)
{
	struct user_regs_struct r, now;
	uint8_t text[1024];
	struct block b = {.page = call->page,
			  .all = ALL_BUT_SETXID,
			  .mxcsr = 0x1f80,
			  .call = {.answer.magic = call->magic,
				   .dlopen = call->f.dlopen,
				   .dlerror = call->f.dlerror,
				   .attr_init = call->f.attr_init,
				   .attr_stack = call->f.attr_stack,
				   .attr_detached = call->f.attr_detached,
				   .create = call->f.create}};
	uint64_t at;
	int err = get(tid, &r);

	if (!err)
		err = read_mask(tid, &b.xmask);
	if (err || attach_code_bytes() > sizeof(text))
		return err ? err : -E2BIG;
	now = r;
	restarted(&now);
	memcpy(b.call.text, call->path, sizeof(b.call.text));
	b.rax = now.rax, b.rbx = now.rbx, b.rcx = now.rcx, b.rdx = now.rdx, b.rsi = now.rsi;
	b.rdi = now.rdi, b.rbp = now.rbp, b.r8 = now.r8, b.r9 = now.r9, b.r10 = now.r10;
	b.r11 = now.r11, b.r12 = now.r12, b.r13 = now.r13, b.r14 = now.r14, b.r15 = now.r15;
	b.flags = now.eflags;
	memcpy(text, vestige_attach_code, attach_code_bytes());
	memcpy(text + (vestige_attach_pc - vestige_attach_code), &now.rip, 8);
	memcpy(text + (vestige_attach_sp - vestige_attach_code), &now.rsp, 8);
	at = (now.rsp - RED_ZONE - sizeof(b)) & ~UINT64_C(63);
	err = attach_poke(pid, at, &b, sizeof(b));
	if (!err)
		err = attach_poke(pid, call->code, text, attach_code_bytes());
	if (err)
		return err;
	r.rip = call->code;
	r.rsp = at;
	r.orig_rax = (uint64_t)-1; /* with this the kernel does not restart a call */
	return set(tid, &r);
}

int attach_answer(int pid, const struct attach_call *call, struct attach_answer *answer, char *text,
		  size_t room)
{
	int err = attach_peek(pid, call->page, answer, sizeof(*answer));

	text[0] = '\0';
	if (err || answer->state != ATTACH_REFUSED || !answer->error)
		return err;
	err = attach_peek(pid, call->page + offsetof(struct page, text), text, room);
	text[room - 1] = '\0';
	return err;
}
