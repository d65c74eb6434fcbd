/* SPDX-License-Identifier: MIT */
/*
 * A coroutine that is switched to by hand, as boost and its like do: nothing tells anybody of its
 * stack. It writes its calls into a log of its own (written.h), wherever it is resumed.
 */
#ifndef FIBER_H
#define FIBER_H

#include "written.h"

extern "C" {

void fiber_switch(void **save, void *to);
void fiber_start(void);
__asm__(".text\n"
	".p2align 4\n"
	".type fiber_switch,@function\n"
	"fiber_switch:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size fiber_switch,.-fiber_switch\n"
	".type fiber_start,@function\n"
	"fiber_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined %rip\n"
	"	endbr64\n"
	"	movq %rbx, %rdi\n"
	"	call *%r12\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size fiber_start,.-fiber_start\n");

struct fiber {
	void *sp, *back;
	struct written *log, *resumer;
	long n;
	int done;
};

NOTRACE static void fiber_make(struct fiber *f, void (*run)(struct fiber *f), char *stack,
			       size_t size, long n)
{
	void **top =
		reinterpret_cast<void **>((reinterpret_cast<unsigned long>(stack) + size) & ~15ul);

	f->n = n;
	f->done = 0;
	*--top = reinterpret_cast<void *>(fiber_start);
	*--top = nullptr;
	*--top = f;
	*--top = reinterpret_cast<void *>(run);
	*--top = nullptr;
	*--top = nullptr;
	*--top = nullptr;
	f->sp = top;
}

NOTRACE static int fiber_resume(struct fiber *f)
{
	f->resumer = written_here(f->log);
	fiber_switch(&f->back, f->sp);
	KEEP();
	return !f->done;
}

/* inlined into what is traced: it stops in the depth of that */
NOTRACE static void fiber_yield(struct fiber *f)
{
	written_here(f->resumer);
	fiber_switch(&f->sp, f->back);
	KEEP();
}

} // extern "C"

#endif
