/* SPDX-License-Identifier: MIT */
/*
 * vestige doctor: what of a program can be traced, what not, why, and what to do about it. By the
 * engine's own scan (inspect.h), so that it tells what recording will do and nothing else.
 * Tests: tests/cli/test_doctor.py.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/inspect.h"
#include "tools/target/names.h"

#define THE_FLAG "-fpatchable-function-entry=6"

static const char help[] =
	"usage: vestige doctor [--all] [-v] PROG [ARGS]\n"
	"Tell which functions of PROG and its objects can be traced, which not, and why.\n"
	"\n"
	"  -a, --all   list the functions by name\n"
	"  -v          list those that cannot be traced, each with its reason\n"
	"\n"
	"PROG is started with the engine and ended before its main().\n"
	"The exit status is 0 if something can be traced, 1 if nothing can.\n";

static const struct {
	const char *what;
	const char *remedy;
} reasons[] = {
	[0] = {"for a reason that this vestige does not know", NULL},
	[AREA_REFUSED_NO_NOPS] = {"not built with the flag", "build it with " THE_FLAG},
	[AREA_REFUSED_SHORT] = {"built with too few NOPs", "build it with " THE_FLAG},
	[AREA_REFUSED_CHANGED] = {"changed by a debugger or another tool", NULL},
	[AREA_REFUSED_RANGE] = {"too far from memory that a jump reaches", NULL},
	[AREA_REFUSED_IDS] = {"beyond the number of functions that vestige can name", NULL},
};
#define NR_REASONS (sizeof(reasons) / sizeof(*reasons))

/* What each flag of the compiler gives; docs/hooks.md is the long form. */
static const struct {
	const char *flag;
	const char *gives;
} hows[] = {
	[AREA_BY_NOPS] = {"-fpatchable-function-entry", NULL},
	[AREA_BY_FENTRY] = {"-pg -mfentry", NULL},
	[AREA_BY_MCOUNT] = {"-pg",
			    "calls alone, no function_graph: build it with " THE_FLAG " for that"},
	[AREA_BY_CYG] = {"-finstrument-functions", "two calls each, also while it is not traced"},
};
#define NR_HOWS (sizeof(hows) / sizeof(*hows))

struct flags {
	bool all;
	bool verbose;
};

static unsigned int reason_of(const struct area_refused *r)
{
	return r->reason < NR_REASONS ? r->reason : 0;
}

static void print_function(struct names *names, uint32_t object, uint32_t offset, const char *why)
{
	const struct symbol *s = names_find(names, object, offset);

	if (s)
		printf("    %s%s%s\n", s->name, why ? ": " : "", why ? why : "");
	else
		printf("    0x%x%s%s\n", offset, why ? ": " : "", why ? why : "");
}

/* An object that the engine leaves alone as a whole; NULL when it does not. */
static const char *left_alone(const struct area_object *o)
{
	switch (o->status) {
	case AREA_OBJECT_ENGINE:
		return "vestige's engine: never traced";
	case AREA_OBJECT_VDSO:
		return "the kernel's: never traced";
	case AREA_OBJECT_LOADER:
		return "the C library or its loader: never traced";
	default:
		return NULL;
	}
}

static void print_refused(const struct meta *m, uint32_t i, struct names *names,
			  const struct flags *f)
{
	const struct area_object *o = &m->objects[i];
	uint32_t by_reason[NR_REASONS] = {0}, known = 0;

	for (uint32_t r = 0; r < m->nr_refused; r++) {
		if (m->refused[r].object != i)
			continue;
		by_reason[reason_of(&m->refused[r])]++;
		known++;
	}
	printf("  cannot be traced  %u\n", o->nr_refused);
	for (unsigned int r = NR_REASONS; r-- > 0;) {
		if (!by_reason[r])
			continue;
		printf("    %u %s%s%s\n", by_reason[r], reasons[r].what,
		       reasons[r].remedy ? ": " : "", reasons[r].remedy ? reasons[r].remedy : "");
	}
	if (o->nr_refused > known)
		printf("    %u more\n", o->nr_refused - known);
	if (!f->verbose)
		return;
	for (uint32_t r = 0; r < m->nr_refused; r++)
		if (m->refused[r].object == i)
			print_function(names, i, m->refused[r].offset,
				       reasons[reason_of(&m->refused[r])].what);
}

/* By which flags its functions can be traced; nothing to say where that is the usual one. */
static void print_hows(const struct meta *m, uint32_t i)
{
	uint32_t by_how[NR_HOWS + 1] = {0}, kept = 0;

	for (uint32_t k = 0; k < m->nr_functions; k++) {
		const struct area_function *f = &m->functions[k];

		if (f->object != i)
			continue;
		by_how[f->how < NR_HOWS ? f->how : NR_HOWS]++;
		kept += (f->flags & AREA_FUNCTION_KEPT) != 0;
	}
	for (unsigned int h = 0; h < NR_HOWS; h++)
		if (by_how[h] && (h != AREA_BY_NOPS || by_how[h] < m->objects[i].nr_functions))
			printf("    %u by %s%s%s\n", by_how[h], hows[h].flag,
			       hows[h].gives ? ": " : "", hows[h].gives ? hows[h].gives : "");
	if (by_how[NR_HOWS])
		printf("    %u in a way that this vestige does not know\n", by_how[NR_HOWS]);
	if (kept)
		printf("    %u profile the program, as it was built to (gmon.out): traced or not, "
		       "they do so; no function_graph\n",
		       kept);
}

static void print_object(const struct meta *m, uint32_t i, struct names *names,
			 const struct flags *f)
{
	const struct area_object *o = &m->objects[i];
	const char *path = meta_string(m, o->path), *alone = left_alone(o);

	printf("%s%s\n", *path ? path : "(unnamed object)", i ? "" : " (the program)");
	if (alone) {
		printf("  %s\n", alone);
		return;
	}
	printf("  can be traced     %u", o->nr_functions);
	if (o->nr_functions)
		printf(" (%u by its table, %u found by scan)", o->nr_from_table, o->nr_from_scan);
	putchar('\n');
	print_hows(m, i);
	if (f->all)
		for (uint32_t k = 0; k < m->nr_functions; k++)
			if (m->functions[k].object == i)
				print_function(names, i, m->functions[k].offset, NULL);
	if (o->status == AREA_OBJECT_NO_ISLANDS)
		printf("  its text lies more than 2 GiB from any free memory: link it elsewhere\n");
	if (o->status == AREA_OBJECT_NOT_WRITABLE)
		printf("  its text cannot be made writable (%s): a sandbox or a security module "
		       "forbids it\n",
		       strerror((int)o->errno_value));
	if (o->nr_refused)
		print_refused(m, i, names, f);
	else if (!o->nr_functions && o->status == AREA_OBJECT_NO_SITES)
		printf("  none of its functions was built with the flag: build it with " THE_FLAG
		       "\n");
	else if (!o->nr_functions)
		printf("  no function is known in it: it has neither symbols nor unwind tables\n");
}

static int print_all(const struct meta *m, const struct launch *l, const struct flags *f)
{
	struct names *names = names_new(m);
	uint32_t nr = m->nr_functions;

	if (!names)
		return -ENOMEM;
	if (l->script)
		printf("%s is a script; this is about what runs it, %s\n\n", l->path, l->image);
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		bool plain = !left_alone(&m->objects[i]);

		if (plain || f->verbose)
			print_object(m, i, names, f);
	}
	names_free(names);
	if (m->status[0])
		printf("\nvestige_status:\n%s", m->status);
	if (m->head.status_bytes_lost)
		printf("(%u more bytes did not fit)\n", m->head.status_bytes_lost);
	if (nr)
		printf("\n%u functions can be traced: vestige record %s%s\n", nr,
		       strchr(l->path, '/') == l->path ? "" : "-- ", l->path);
	else
		printf("\nNothing can be traced: build %s with %s (gcc or clang), then try "
		       "again.\n",
		       l->script ? l->image : l->path, THE_FLAG);
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'},
					      {"all", no_argument, NULL, 'a'},
					      {NULL, 0, NULL, 0}};
	struct flags flags = {0};
	struct launch l = {0};
	struct meta *m;
	int c, err;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+avh", longs, NULL)) != -1) {
		switch (c) {
		case 'a':
			flags.all = true;
			break;
		case 'v':
			flags.verbose = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			note("doctor: no such flag: %s (vestige doctor --help tells the flags)",
			     argv[optind - 1]);
			return CMD_USAGE;
		}
	}
	if (optind >= argc) {
		note("doctor: no program is named: vestige doctor PROG [ARGS]");
		return CMD_USAGE;
	}
	err = inspect_program(&l, argv + optind, &m);
	if (err) {
		note("%s", fail_text());
		return CMD_FAILURE;
	}
	err = print_all(m, &l, &flags);
	if (err)
		note("%s", fail_text());
	err = err || !m->nr_functions;
	meta_free(m);
	return err ? CMD_FAILURE : 0;
}
