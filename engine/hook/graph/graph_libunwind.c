/* SPDX-License-Identifier: MIT */
/*
 * See graph_libunwind.h; graph.S has the rules. The structures are libunwind's, declared here
 * without its headers. Version 1.6 added a member to the middle of one, so the version in use is
 * tested first. Owns one entry of libunwind's list, which disappears with the library. fork: the
 * child has the same. Costs nothing. Tests: tests/engine/graph/unwinders,
 * tests/engine/fire/loader_lock.
 */
#include "engine/hook/graph/graph_libunwind.h"

#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/elf_dynamic.h"
#include "engine/process/libc.h"
#include "engine/process/object.h"
#include "engine/hook/graph/graph.h"

enum { FORMAT_DYNAMIC = 0, FORMAT_REMOTE_TABLE = 2 };

struct dyn_info {
	struct dyn_info *next, *prev;
	uint64_t start_ip, end_ip, gp;
	int32_t format, pad;
	uint64_t rest[7]; /* from 1.6 on an offset comes first; then the words of the format */
};

struct dyn_list {
	uint32_t version, generation;
	struct dyn_info *first;
};

struct proc_info {
	uint64_t start_ip, end_ip, lsda, handler, gp, rest[8];
};

/* Offsets from the first byte of graph.S's rules: a stub's start, its FDE. */
struct table_entry {
	int32_t start, fde;
};

extern const uint8_t graph_libunwind_rows[], graph_libunwind_fde[];

/* What is used of libunwind. */
struct libunwind {
	void (*add)(struct dyn_info *);
	void (*remove)(struct dyn_info *);
	const struct dyn_list *(*list)(void);
	int (*get)(void *space, uint64_t ip, struct proc_info *out, void *arg);
	void **space;
};

static struct dyn_info info;
static struct table_entry table;

static int is_in_list(const struct dyn_list *list)
{
	const struct dyn_info *i;

	for (i = list->first; i; i = i->next)
		if (i == &info)
			return 1;
	return 0;
}

/*
 * Find where the format's words begin in dyn_info.rest. A trial entry for one byte of ours has a
 * different handler for each possible offset. Return: 0 or 1; -1: neither.
 */
static int find_layout(const struct libunwind *u)
{
	static const uint8_t byte[1];
	struct proc_info out = {0};

	info = (struct dyn_info){
		.start_ip = (uint64_t)byte,
		.end_ip = (uint64_t)byte + 1,
		.format = FORMAT_DYNAMIC,
		.rest = {0, 1, 2},
	};
	u->add(&info);
	if (u->get(*u->space, (uint64_t)byte, &out, NULL) || !out.handler || out.handler > 2)
		out.handler = 0;
	u->remove(&info);
	return (int)out.handler - 1;
}

static uint64_t function_in(const struct object *o, const char *name)
{
	return dynamic_function(o, name, NULL).address;
}

/*
 * Not by dlsym(), which takes the loader's lock: a thread in dlopen() that has it may wait for the
 * tree lock. Objects of LLVM's libunwind, and libunwind's for other processes, lack some names.
 */
static int find_in(const struct object *o, struct libunwind *u)
{
	*u = (struct libunwind){
		.add = (__typeof__(u->add))function_in(o, "_U_dyn_register"),
		.remove = (__typeof__(u->remove))function_in(o, "_U_dyn_cancel"),
		.list = (__typeof__(u->list))function_in(o, "_U_dyn_info_list_addr"),
		.get = (__typeof__(u->get))function_in(o, "_ULx86_64_get_proc_info_by_ip"),
		.space = (void **)dynamic_variable(o, "_ULx86_64_local_addr_space"),
	};
	return u->add && u->remove && u->list && u->get && u->space;
}

static int find(struct libunwind *u)
{
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);

		if (o->loaded && str_starts(o->name, "libunwind") && find_in(o, u) &&
		    dynamic_is_relocated(o))
			return 1;
	}
	return 0;
}

void graph_libunwind_meet(void)
{
	uint64_t rows = (uint64_t)graph_libunwind_rows;
	struct libunwind u;
	int at;

	if (libc_is_static || !find(&u) || is_in_list(u.list()))
		return;
	at = find_layout(&u);
	if (at < 0)
		return;
	table = (struct table_entry){
		(int32_t)((uint64_t)graph_stubs - rows),
		(int32_t)((uint64_t)graph_libunwind_fde - rows),
	};
	info = (struct dyn_info){
		.start_ip = (uint64_t)graph_stubs,
		.end_ip = (uint64_t)graph_stubs + (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES,
		.format = FORMAT_REMOTE_TABLE,
	};
	info.rest[at + 1] = rows; /* base of the table's offsets */
	info.rest[at + 2] = sizeof(table) / sizeof(uint64_t);
	info.rest[at + 3] = (uint64_t)&table;
	u.add(&info);
}
