/* SPDX-License-Identifier: MIT */
/*
 * A coroutine that is switched to by hand, as Boost does: the engine does not know its stack. It
 * writes its calls into a log of its own (written.h), wherever it is resumed.
 */
#ifndef FIBER_H
#define FIBER_H

#include "fiber_switch.h"
#include "written.h"

extern "C" {

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
