/* SPDX-License-Identifier: MIT */
/*
 * See arch_context.h. The kernel puts this on the stack for a handler, upwards: the address to
 * which the handler returns, struct ucontext, siginfo. The extended state of the processor is where
 * ucontext's fpregs points; its bytes 464 to 471 are a magic number and its size. No state. Tests:
 * tests/engine/fire/crash.
 */
#include "arch_context.h"

#include <ucontext.h>

#include "engine/base/mem.h"

_Static_assert(NGREG == ARCH_CONTEXT_REGS, "the registers of a context");

const uint64_t *arch_context_regs(const void *context)
{
	return (const uint64_t *)((const ucontext_t *)context)->uc_mcontext.gregs;
}

uint64_t *arch_context_ip(void *context)
{
	return (uint64_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

uint64_t *arch_context_sp(void *context)
{
	return (uint64_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
}

uint64_t arch_context_fp(const void *context)
{
	return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RBP];
}

#define FLAGS_ALWAYS 0x2u
#define FLAGS_NEVER  (~UINT64_C(0x3f7fd7))
#define CODE_SEGMENT 0x33u

int arch_context_is_ip(const uint64_t words[ARCH_CONTEXT_IP_WORDS])
{
	_Static_assert(REG_EFL == REG_RIP + 1 && REG_CSGSFS == REG_RIP + 2, "they follow it");
	return (words[1] & (FLAGS_ALWAYS | FLAGS_NEVER)) == FLAGS_ALWAYS &&
	       (words[2] & UINT16_MAX) == CODE_SEGMENT;
}

const char *arch_context_reg(uint32_t i, uint32_t *number)
{
	static const struct {
		char name[7];
		uint8_t number;
	} regs[] = {
		{"RSP", REG_RSP}, {"EFLAGS", REG_EFL}, {"RAX", REG_RAX}, {"RBX", REG_RBX},
		{"RCX", REG_RCX}, {"RDX", REG_RDX},    {"RSI", REG_RSI}, {"RDI", REG_RDI},
		{"RBP", REG_RBP}, {"R08", REG_R8},     {"R09", REG_R9},	 {"R10", REG_R10},
		{"R11", REG_R11}, {"R12", REG_R12},    {"R13", REG_R13}, {"R14", REG_R14},
		{"R15", REG_R15}, {"CR2", REG_CR2},
	};

	if (i >= sizeof(regs) / sizeof(*regs))
		return NULL;
	*number = regs[i].number;
	return regs[i].name;
}

int arch_fault_kind(const uint64_t *regs, int *present)
{
	const uint64_t err = regs[REG_ERR];

	if (regs[REG_TRAPNO] != 14)
		return -1;
	*present = err & 1;
	return err & 16 ? 2 : err & 2 ? 1 : 0;
}

#define STATE_PLAIN_BYTES 512u
#define STATE_MAGIC	  0x46505853u /* of struct _fpx_sw_bytes */
#define STATE_MAX_BYTES	  (64u * 1024)
#define FRAME_MAX_BYTES	  8192u

static size_t state_bytes(const uint8_t *state)
{
	uint32_t words[2];

	memcpy(words, state + 464, sizeof(words));
	return words[0] == STATE_MAGIC ? words[1] : STATE_PLAIN_BYTES;
}

uint64_t arch_signal_copy(uint64_t top, size_t room, siginfo_t **info, void **context)
{
	const uint8_t *from = (const uint8_t *)*context - 8;
	size_t bytes = (size_t)((const uint8_t *)(*info + 1) - from), n;
	ucontext_t *copy;
	uint64_t state = top, frame;

	if ((uint64_t)*info - (uint64_t)*context > FRAME_MAX_BYTES)
		return 0;
	if (((ucontext_t *)*context)->uc_mcontext.fpregs) {
		const void *old = ((ucontext_t *)*context)->uc_mcontext.fpregs;

		n = state_bytes(old);
		if (n > STATE_MAX_BYTES || n + 64 > room)
			return 0;
		state = (top - n) & ~UINT64_C(63);
		memcpy((void *)state, old, n);
	}
	if (top - state + bytes + 16 > room)
		return 0;
	/* as after a call: the return address is 8 bytes below a multiple of 16 */
	frame = ((state - bytes) & ~UINT64_C(15)) - 8;
	memcpy((void *)frame, from, bytes);
	copy = (ucontext_t *)(frame + 8);
	if (copy->uc_mcontext.fpregs)
		copy->uc_mcontext.fpregs = (void *)state;
	*info = (siginfo_t *)(frame + ((const uint8_t *)*info - from));
	*context = copy;
	return frame;
}

__asm__(".text\n"
	".globl arch_signal_run\n"
	".hidden arch_signal_run\n"
	".type arch_signal_run, @function\n"
	"arch_signal_run:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq	%rdi, %rsp\n"
	"	movq	%rsi, %rax\n"
	"	movl	%edx, %edi\n"
	"	movq	%rcx, %rsi\n"
	"	movq	%r8, %rdx\n"
	"	jmp	*%rax\n"
	"	.cfi_endproc\n"
	".size arch_signal_run, . - arch_signal_run\n"
	".globl arch_guarded\n"
	".hidden arch_guarded\n"
	".type arch_guarded, @function\n"
	"arch_guarded:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq	%rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq	%rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	pushq	%rbx\n"
	"	.cfi_offset %rbx, -24\n"
	"	pushq	%r12\n"
	"	.cfi_offset %r12, -32\n"
	"	pushq	%r13\n"
	"	.cfi_offset %r13, -40\n"
	"	pushq	%r14\n"
	"	.cfi_offset %r14, -48\n"
	"	pushq	%r15\n"
	"	.cfi_offset %r15, -56\n"
	"	pushq	%rdi\n"
	"	movq	%rsp, (%rdi)\n"
	"	movq	%rdx, %rdi\n"
	"	call	*%rsi\n"
	"	xorl	%eax, %eax\n"
	"arch_guard_end:\n"
	"	popq	%rdi\n"
	"	movq	$0, (%rdi)\n"
	"	popq	%r15\n"
	"	popq	%r14\n"
	"	popq	%r13\n"
	"	popq	%r12\n"
	"	popq	%rbx\n"
	"	popq	%rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size arch_guarded, . - arch_guarded\n");

/* The code from here on needs the stack pointer alone: it pops all registers, rbp too. */
extern const uint8_t arch_guard_end[] __attribute__((visibility("hidden")));

void arch_guard_leave(uint64_t *guard, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	regs[REG_RSP] = (greg_t)*guard;
	regs[REG_RIP] = (greg_t)(uintptr_t)arch_guard_end;
	regs[REG_RAX] = -1;
}

int arch_is_behind_call(const uint8_t *code)
{
	static const uint8_t lengths[] = {2, 3, 4, 6, 7};
	uint32_t i;

	if (code[8 - 5] == 0xe8)
		return 1;
	/* call *r/m: ff /2 */
	for (i = 0; i < sizeof(lengths); i++)
		if (code[8 - lengths[i]] == 0xff && (code[9 - lengths[i]] >> 3 & 7) == 2)
			return 1;
	return 0;
}
