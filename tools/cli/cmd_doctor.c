/* SPDX-License-Identifier: MIT */
/*
 * vestige doctor: which functions of a program can be traced and which cannot, with reasons and
 * remedies. It uses the engine's own scan (inspect.h), so it shows exactly the functions that a
 * recording will have. Tests: tests/cli/test_doctor.py.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/shell_word.h"
#include "tools/base/system_path.h"
#include "tools/cli/cmd.h"
#include "tools/cli/doctor_machine.h"
#include "tools/cli/pager.h"
#include "tools/code/unmodified.h"
#include "tools/record/inspect.h"
#include "tools/target/kept.h"
#include "tools/target/names.h"
#include "tools/text/json.h"

#define THE_FLAG      "-fpatchable-function-entry=6"
#define THE_COMPILERS "gcc or clang; rustc: docs/hooks.md"

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
	[AREA_REFUSED_RUNNING] =
		{"of a form that cannot be changed while the program runs",
		 "name it before the program starts: `vestige record`, VESTIGE_BOOT"},
	[AREA_REFUSED_ENTRY] = {"built without the flag, with an entry that cannot be redirected",
				NULL},
};
#define NR_REASONS (sizeof(reasons) / sizeof(*reasons))

/* The effect of each compiler flag; docs/hooks.md is the long form. */
static const struct {
	const char *flag;
	const char *gives;
} hows[] = {
	[AREA_BY_NOPS] = {"-fpatchable-function-entry", NULL},
	[AREA_BY_FENTRY] = {"-pg -mfentry", NULL},
	[AREA_BY_MCOUNT] = {"-pg",
			    "calls alone, no function_graph: build it with " THE_FLAG " for that"},
	[AREA_BY_REDIRECT] = {"a redirect, they were built without a flag", NULL},
	[AREA_BY_CYG] = {"-finstrument-functions", "two calls each, also while it is not traced"},
};
#define NR_HOWS (sizeof(hows) / sizeof(*hows))

struct flags {
	bool all;
	bool verbose;
	bool object;
	bool unmodified;
	bool json;
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

/* Why the engine does not trace any function of the object, a text; NULL: it does. */
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

/* Is it a library of the system without traceable functions? The user need not rebuild it. */
static bool is_system_library(const struct meta *m, uint32_t i)
{
	const char *path = meta_string(m, m->objects[i].path);

	if (!i || m->objects[i].nr_functions)
		return false;
	return path_is_of_system(path);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_system_libraries(const struct meta *m)
{
	const char *between = "";

	for (uint32_t i = 0; i < m->nr_objects; i++) {
		if (left_alone(&m->objects[i]) || !is_system_library(m, i))
			continue;
		if (!*between)
			printf("system libraries, which are not part of the program, were not "
			       "built to be "
			       "traced:\n  ");
		printf("%s%s", between, base_name(meta_string(m, m->objects[i].path)));
		between = ", ";
	}
	if (*between)
		putchar('\n');
}

/* Does it use one of the C++ libraries? */
static bool is_cxx(const struct meta *m)
{
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		const char *name = base_name(meta_string(m, m->objects[i].path));

		if (!strncmp(name, "libstdc++.so", 12) || !strncmp(name, "libc++.so", 9))
			return true;
	}
	return false;
}

static void print_refused(const struct meta *m, uint32_t i, struct names *names,
			  const struct flags *f)
{
	const struct area_object *o = &m->objects[i];
	uint32_t by_reason[NR_REASONS] = {0}, by_why[ENTRY_NR_WHYS] = {0}, known = 0;
	const char *remedy;

	for (uint32_t r = 0; r < m->nr_refused; r++) {
		if (m->refused[r].object != i)
			continue;
		by_reason[reason_of(&m->refused[r])]++;
		if (m->refused[r].reason == AREA_REFUSED_ENTRY &&
		    m->refused[r].nop_bytes < ENTRY_NR_WHYS)
			by_why[m->refused[r].nop_bytes]++;
		known++;
	}
	printf("  cannot be traced  %u\n", o->nr_refused);
	for (unsigned int r = NR_REASONS; r-- > 0;) {
		if (!by_reason[r])
			continue;
		/*
		 * If a part was built with the flag, the rest is usually not the user's own code.
		 */
		remedy = r == AREA_REFUSED_NO_NOPS && o->nr_from_table
				 ? "start-up code, stubs, and files built without it (-v: names)"
				 : reasons[r].remedy;
		printf("    %u %s%s%s\n", by_reason[r], reasons[r].what, remedy ? ": " : "",
		       remedy ? remedy : "");
	}
	for (unsigned int w = 0; w < ENTRY_NR_WHYS; w++)
		if (by_why[w])
			printf("      %u %s\n", by_why[w], entry_why_text(w));
	if (o->nr_refused > known)
		printf("    %u more\n", o->nr_refused - known);
	if (!f->verbose)
		return;
	for (uint32_t r = 0; r < m->nr_refused; r++)
		if (m->refused[r].object == i)
			print_function(names, i, m->refused[r].offset,
				       m->refused[r].reason == AREA_REFUSED_ENTRY
					       ? entry_why_text(m->refused[r].nop_bytes)
					       : reasons[reason_of(&m->refused[r])].what);
}

/* Print the flags by which the object's functions can be traced; no line for the usual flag. */
static void print_hows(const struct meta *m, uint32_t i, struct names *names, const struct flags *f)
{
	uint32_t by_how[NR_HOWS + 1] = {0}, kept = 0, entry_only = 0;

	for (uint32_t k = 0; k < m->nr_functions; k++) {
		const struct area_function *row = &m->functions[k];

		if (row->object != i)
			continue;
		by_how[row->how < NR_HOWS ? row->how : NR_HOWS]++;
		kept += (row->flags & AREA_FUNCTION_PASSED_ON) != 0;
		entry_only += (row->flags & AREA_FUNCTION_ENTRY_ONLY) != 0;
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
	if (!entry_only)
		return;
	printf("    %u use their return address, or leave for another stack: no function_graph\n",
	       entry_only);
	for (uint32_t k = 0; f->verbose && k < m->nr_functions; k++)
		if (m->functions[k].object == i && m->functions[k].flags & AREA_FUNCTION_ENTRY_ONLY)
			print_function(names, i, m->functions[k].offset,
				       "uses its return address: no function_graph");
}

/* Print how calls of each function can be traced, for an object that was built without any flag. */
static int print_unmodified(const char *path, const struct flags *f)
{
	struct unmodified u;
	char text[512];

	if (unmodified_load(path, &u))
		return -1;
	printf("  without the flag  %u of %u functions could be reached: `vestige record "
	       "--unmodified`\n",
	       u.nr - u.by_way[ENTRY_REFUSED], u.nr);
	for (unsigned int w = 0; w < ENTRY_NR_WAYS; w++)
		if (u.by_way[w])
			printf("    %u %s\n", u.by_way[w], entry_way_text(w));
	for (unsigned int w = 0; w < ENTRY_NR_WHYS; w++)
		if (u.by_why[w])
			printf("      %u %s\n", u.by_why[w], entry_why_text(w));
	if (u.nr_parts)
		printf("    %u pieces of functions lie elsewhere and are none\n", u.nr_parts);
	if (u.entries.copies)
		printf("    %s copies stacks: no function_graph in a process that has it\n",
		       u.entries.copies);
	for (uint32_t i = 0; i < u.entries.nr; i++) {
		const struct entry *e = &u.entries.functions[i];
		bool refused = e->way == ENTRY_REFUSED;

		if (e->is_part || !(f->all || (f->verbose && refused)))
			continue;
		printf("    %s: %s%s%s\n", unmodified_name(&u, e, text, sizeof(text)),
		       entry_way_text(e->way), refused ? ", " : "", entry_why_text(e->why));
	}
	unmodified_free(&u);
	return 0;
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
	if (o->analysis == AREA_ANALYSIS_CACHED)
		printf("  analysed before   the result was kept (vestige clean --cache removes "
		       "it)\n");
	print_hows(m, i, names, f);
	if (f->all)
		for (uint32_t k = 0; k < m->nr_functions; k++)
			if (m->functions[k].object == i)
				print_function(names, i, m->functions[k].offset, NULL);
	if (o->status == AREA_OBJECT_NO_ISLANDS)
		printf("  its text lies more than 2 GiB from any free memory: link it elsewhere\n");
	if (o->status == AREA_OBJECT_NOT_WRITABLE)
		printf("  its text cannot be made writable (%s), and a copy of it cannot be "
		       "executed: a sandbox or a security module forbids both\n",
		       strerror((int)o->errno_value));
	if (o->nr_refused)
		print_refused(m, i, names, f);
	else if (is_system_library(m, i))
		printf("  a system library, which is not part of the program\n");
	else if (!o->nr_functions && o->status == AREA_OBJECT_NO_SITES)
		printf("  none of its functions was built with the flag: build it with " THE_FLAG
		       "\n");
	else if (!o->nr_functions)
		printf("  no function is known in it: it has neither symbols nor unwind tables\n");
	if (!o->nr_functions && *path == '/' && print_unmodified(path, f))
		printf("  %s\n", fail_text());
}

static int print_all(const struct meta *m, const struct launch *l, const struct flags *f)
{
	struct names *names = names_new(m);
	bool as_it_is = l->unmodified && !f->unmodified;
	uint32_t nr = m->nr_functions;
	char word[SHELL_WORD_BYTES];

	if (!names)
		return -ENOMEM;
	if (l->script)
		printf("%s is a script; this is about its interpreter, %s\n\n", l->path, l->image);
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		bool is_foreign = left_alone(&m->objects[i]) || is_system_library(m, i);

		if (!is_foreign || f->verbose)
			print_object(m, i, names, f);
	}
	if (!f->verbose)
		print_system_libraries(m);
	names_free(names);
	if (m->status[0])
		printf("\nvestige_status:\n%s", m->status);
	if (m->head.status_bytes_lost)
		printf("(%u more bytes did not fit)\n", m->head.status_bytes_lost);
	if (nr)
		printf("\n%u functions can be traced%s: vestige record %s%s%s\n", nr,
		       as_it_is ? " as they are" : "", f->unmodified ? "--unmodified " : "",
		       strchr(l->path, '/') == l->path ? "" : "-- ", shell_word(l->path, word));
	else if (l->script && !f->unmodified)
		printf("\nNothing can be traced without a flag: `vestige record --unmodified` "
		       "traces %s as it is; or build it with %s.\n",
		       l->image, THE_FLAG);
	else
		printf("\nNothing can be traced: build %s with %s (" THE_COMPILERS "), then try "
		       "again.\n",
		       l->script ? l->image : l->path, THE_FLAG);
	if (as_it_is && nr)
		printf("Build it with %s (" THE_COMPILERS "), and the others can be traced, too.\n",
		       THE_FLAG);
	if ((!nr || as_it_is) && is_cxx(m))
		printf("It uses a C++ library. g++ 12 and older cannot link C++ with that flag "
		       "alone: "
		       "`vestige\nflags g++` prints the flags that your compiler can link with.\n");
	return 0;
}

static void put_refused_json(struct json *j, const struct meta *m, uint32_t i)
{
	uint32_t by_reason[NR_REASONS] = {0};

	for (uint32_t r = 0; r < m->nr_refused; r++)
		if (m->refused[r].object == i)
			by_reason[reason_of(&m->refused[r])]++;
	json_open(j, "reasons", '[');
	for (unsigned int r = 0; r < NR_REASONS; r++) {
		if (!by_reason[r])
			continue;
		json_open(j, NULL, '{');
		json_text(j, "what", reasons[r].what);
		json_text(j, "remedy", reasons[r].remedy);
		json_number(j, "functions", by_reason[r]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* All objects, with the numbers of the text. */
static int print_json(const struct meta *m, const struct launch *l)
{
	struct json j = {0};
	struct out o;

	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	j.o = &o;
	json_open(&j, NULL, '{');
	json_text(&j, "program", l->path);
	json_text(&j, "image", l->image);
	json_number(&j, "functions", m->nr_functions);
	json_bool(&j, "without_flag", l->unmodified != NULL);
	json_open(&j, "objects", '[');
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		const struct area_object *object = &m->objects[i];

		json_open(&j, NULL, '{');
		json_text(&j, "path", meta_string(m, object->path));
		json_text(&j, "left_alone", left_alone(object));
		json_bool(&j, "system", is_system_library(m, i));
		json_number(&j, "functions", object->nr_functions);
		json_number(&j, "refused", object->nr_refused);
		put_refused_json(&j, m, i);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_text(&j, "status", m->status);
	json_close(&j, '}');
	out_text(&o, "\n");
	return out_end_stdout(&o, 0, "to stdout");
}

static const struct flag flag_rows[] = {
	{'a', "all", NULL, "list the functions by name", NULL, offsetof(struct flags, all)},
	{'v', NULL, NULL, "list those that cannot be traced, each with its reason", NULL,
	 offsetof(struct flags, verbose)},
	{'o', "object", NULL, "PROG is an object that is read and not started", NULL,
	 offsetof(struct flags, object)},
	{0, "unmodified", NULL,
	 "show what of PROG `record --unmodified` traces, which needs no flag", NULL,
	 offsetof(struct flags, unmodified)},
	{0, "json", NULL,
	 "as JSON: the objects of PROG with their numbers of functions; without PROG the machine",
	 NULL, offsetof(struct flags, json)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct flags flags = {0};
	struct launch l = {0};
	struct areas_dir dir;
	struct meta *m;
	int status = options_parse(c, (void *[]){&flags}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (!argc && (flags.all || flags.verbose || flags.object || flags.unmodified))
		return options_wrong(c, "no program is named");
	if (argc && flags.json && (flags.all || flags.verbose || flags.object))
		return options_wrong(c, "--json has numbers of functions alone: leave out %s",
				     flags.all	     ? "--all"
				     : flags.verbose ? "-v"
						     : "--object");
	pager_begin();
	if (!argc) {
		err = doctor_machine(flags.json);
		return cmd_end(err);
	}
	if (flags.object) {
		printf("%s\n", argv[0]);
		return cmd_end(print_unmodified(argv[0], &flags));
	}
	err = inspect_recorded(&l, argv, flags.unmodified, &m);
	if (err)
		return cmd_end(err);
	err = flags.json ? print_json(m, &l) : print_all(m, &l, &flags);
	if (err)
		note("%s", fail_text());
	err = err || !m->nr_functions;
	if (!flags.json && !areas_dir_find(&dir, geteuid())) {
		kept_print(&dir, false);
		areas_dir_close(&dir);
	}
	meta_free(m);
	return err ? CMD_FAILURE : 0;
}

const struct command command_doctor = {
	.name = "doctor",
	.words = "[PROG [ARGS]]",
	.what = "show what can be traced in a program or on this machine",
	.help = "Show which functions of PROG and its objects can be traced, which cannot, and "
		"why. Of an object that was built without the flag, show how its functions could "
		"be reached. Without PROG: what this machine and this user allow, and what would "
		"change "
		"that.\n",
	.more = "PROG is started with the engine and ended before its main(), without --object.\n"
		"The exit status is 0 if something can be traced, 1 if nothing can.\n",
	.flags = (const struct flag *const[]){flag_rows, pager_flags, NULL},
	.runs_program = true,
	.run = run,
};
