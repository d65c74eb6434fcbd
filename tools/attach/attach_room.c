/* SPDX-License-Identifier: MIT */
/*
 * See attach_impl.h: where in a process the code goes, which memory it maps, and whether a thread's
 * stack has room for its data. Tests: tests/cli/test_attach.py.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/attach/attach_impl.h"
#include "tools/base/fail.h"

#define PAGE   4096u
#define BOTTOM UINT64_C(0x100000000)	/* below 4 GiB small numbers could be pointers: not used */
#define TOP    UINT64_C(0x7ffffffff000) /* end of a process's address space */
#define AWAY   UINT64_C(0x10000000)

/* Zero padding behind the text of an object, which the program does not use. */
struct room {
	int pid;
	uint64_t base, at;
	char path[PATH_MAX];
};

static uint64_t padding_of(const struct room *r)
{
	uint8_t zeros[PAGE] = {0}, there[PAGE];
	Elf64_Ehdr head;
	Elf64_Phdr p;
	uint64_t end, left;

	if (attach_peek(r->pid, r->base, &head, sizeof(head)) || head.e_phentsize != sizeof(p))
		return 0;
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		if (attach_peek(r->pid, r->base + head.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return 0;
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		end = (head.e_type == ET_EXEC ? 0 : r->base) + p.p_vaddr + p.p_memsz;
		end = (end + 63) & ~UINT64_C(63);
		left = -end & (PAGE - 1);
		if (left >= attach_code_bytes() && !attach_peek(r->pid, end, there, left) &&
		    !memcmp(there, zeros, left))
			return end;
	}
	return 0;
}

static int find_room(const struct attach_map *m, void *arg)
{
	struct room *r = arg;

	if (m->path[0] != '/') {
		r->path[0] = '\0';
		return 0;
	}
	if (!m->offset) {
		r->base = m->lo;
		snprintf(r->path, sizeof(r->path), "%s", m->path);
	}
	if (!m->exec || !m->is_private || strcmp(m->path, r->path) != 0)
		return 0;
	r->at = padding_of(r);
	return r->at >= m->lo && r->at + attach_code_bytes() <= m->hi;
}

/* The largest gap between mappings: an end of it is where mmap() takes memory from. */
struct gap {
	uint64_t at, lo, hi;
};

static int find_gap(const struct attach_map *m, void *arg)
{
	struct gap *g = arg;

	if (m->lo > g->at && m->lo - g->at > g->hi - g->lo && m->hi < TOP) {
		g->lo = g->at;
		g->hi = m->lo;
	}
	g->at = m->hi;
	return 0;
}

/*
 * Choose memory far from both ends of the gap, where mmap() of the program will not take it
 * meanwhile.
 */
static int find_memory(int pid, struct attach_call *call)
{
	struct gap g = {.at = BOTTOM};
	int err = attach_each_map(pid, find_gap, &g);

	if (err)
		return err;
	call->page = (g.hi - (g.hi - g.lo > 2 * AWAY ? AWAY : (g.hi - g.lo) / 2)) & -(uint64_t)PAGE;
	return g.hi - g.lo > 4 * ATTACH_MEMORY_BYTES
		       ? 0
		       : fail(ENOMEM, "process %d has no free addresses", pid);
}

static int find_code(int pid, struct attach_call *call)
{
	struct room *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return fail(ENOMEM, "out of memory");
	r->pid = pid;
	ret = attach_each_map(pid, find_room, r);
	call->code = r->at;
	free(r);
	if (ret < 0)
		return ret;
	return ret ? 0
		   : fail(ENOTSUP, "no object of process %d has room behind its text for the code",
			  pid);
}

int attach_find_room(int pid, struct attach_call *call)
{
	int err = find_code(pid, call);

	return err ? err : find_memory(pid, call);
}

struct stack {
	uint64_t sp, least;
};

static int find_stack(const struct attach_map *m, void *arg)
{
	const struct stack *s = arg;

	if (s->sp < m->lo || s->sp > m->hi)
		return 0;
	return m->write && s->sp - m->lo >= s->least ? 2 : 1;
}

bool attach_has_stack(int pid, uint64_t sp)
{
	struct stack s = {sp, attach_stack_bytes()};

	return attach_each_map(pid, find_stack, &s) == 2;
}
