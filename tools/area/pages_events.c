/* SPDX-License-Identifier: MIT */
/*
 * The events of processes. An area has the format of each event (AREA_EVENTS); ids differ between
 * processes. The events of all members get one set of ids, as a trace.dat needs: the same event has
 * one id, a process's own if that is free. Tables are untrusted: a row without a valid format is
 * left out, and its records count as lost.
 *
 * Addresses of code in a record are run-time addresses of the process. A field that the print
 * format reads with %ps, %pS and their like is such an address and is translated (pages_stream.c).
 * So are the addresses of dynamic probes and the stacks of synthetic events. Tests:
 * tests/unit/reader/test_events.c.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/area/area_printks.h"
#include "tools/area/pages_impl.h"
#include "tools/base/fail.h"

#define NR_IDS	      65536u
#define FIRST_ID      32u /* lower ids belong to the events of system ftrace */
#define MAX_TEXT      65536u
#define STACK_ID      4u /* ftrace:kernel_stack */
#define USER_STACK_ID 12u

/* The state of the loop over the members. */
struct gather {
	struct pages *p;
	bool *used; /* by id */
	uint32_t next;
};

static bool is_name(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_-.", *s))
			return false;
	return true;
}

/* The text behind the number of the `ID:` line. *@line: gets the line. NULL: there is none. */
static const char *behind_id(const char *text, const char **line)
{
	const char *p = strstr(text, "\nID: ");

	if (!p || strncmp(text, "name: ", 6) || p != strchr(text, '\n'))
		return NULL;
	*line = p + 1;
	p += 5;
	if (!isdigit((unsigned char)*p))
		return NULL;
	while (isdigit((unsigned char)*p))
		p++;
	return *p == '\n' ? p : NULL;
}

/* The format of a row, ends with NUL; NULL: it is out of bounds or invalid. */
static const char *format_of(const struct meta *m, const struct area_event *e)
{
	const char *text = m->formats + e->format, *line;

	if (e->format >= m->format_bytes || e->format_bytes >= m->format_bytes - e->format ||
	    e->format_bytes > MAX_TEXT || strlen(text) != e->format_bytes)
		return NULL;
	return behind_id(text, &line) ? text : NULL;
}

/* Is it the same event? Compares all but the id. */
static bool same(const struct format *f, const char *system, const char *text)
{
	const char *line_a, *line_b, *a = behind_id(f->text, &line_a),
				     *b = behind_id(text, &line_b);

	return a && b && !strcmp(f->system, system) && !strcmp(a, b) &&
	       line_a - f->text == line_b - text &&
	       !memcmp(f->text, text, (size_t)(line_a - f->text));
}

static uint32_t choose_id(struct gather *g, uint32_t wish)
{
	if (wish >= FIRST_ID && !g->used[wish])
		return wish;
	while (g->next < NR_IDS && g->used[g->next])
		g->next++;
	return g->next < NR_IDS ? g->next : 0;
}

static int add_format(struct gather *g, const char *system, const char *text, uint32_t id)
{
	struct dat_layout unused = {0};
	const char *line, *rest = behind_id(text, &line);
	char *copy = NULL;
	int n = asprintf(&copy, "%.*sID: %u%s", (int)(line - text), text, id, rest);

	if (n < 0)
		return fail(ENOMEM, "out of memory for the format of an event");
	if (formats_add(&g->p->formats, &unused, system, copy, (size_t)n))
		return fail(ENOMEM, "out of memory for the format of an event");
	g->used[id] = true;
	return 0;
}

/* Is it ftrace:kernel_stack or user_stack? Their arrays of addresses have the same offset. */
static bool is_stack(const char *system, const char *text)
{
	return text && !strcmp(system, "ftrace") &&
	       (!strncmp(text, "name: kernel_stack\n", 19) ||
		!strncmp(text, "name: user_stack\n", 17));
}

/* The kernel's id of an event of system ftrace; 0: it is not one that processes write. */
static uint32_t ftrace_id(const char *system, const char *text)
{
	static const struct {
		const char *name;
		uint32_t id;
	} known[] = {{"name: kernel_stack\n", STACK_ID},
		     {"name: bprint\n", PRINTK_BPRINT_ID},
		     {"name: bputs\n", PRINTK_BPUTS_ID},
		     {"name: raw_data\n", 18},
		     {"name: func_repeats\n", 19},
		     {"name: user_stack\n", USER_STACK_ID},
		     {"name: branch\n", 9},
		     {"name: boot_call\n", 21},
		     {"name: boot_ret\n", 22},
		     {"name: kmem_alloc\n", 23},
		     {"name: kmem_free\n", 24},
		     {"name: kmem_leak\n", 25},
		     {"name: ksym_trace\n", 26},
		     {"name: special\n", 27},
		     {"name: blk\n", 28},
		     {"name: power\n", 29},
		     {"name: hw_branch\n", 30},
		     {"name: mmiotrace_rw\n", 7},
		     {"name: mmiotrace_map\n", 8},
		     {"name: context_switch\n", 2},
		     {"name: wakeup\n", 3}};

	for (size_t i = 0; !strcmp(system, "ftrace") && i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(text, known[i].name, strlen(known[i].name)))
			return known[i].id;
	return 0;
}

static int add_event(struct gather *g, struct member *mb, const struct area_event *e)
{
	const char *system = meta_string(mb->meta, e->system), *text = format_of(mb->meta, e);
	const struct formats *fs = &g->p->formats;
	uint32_t id = 0, fixed = text ? ftrace_id(system, text) : 0;
	int err;

	if (!text || !is_name(system) || (!strcmp(system, "ftrace") && !fixed))
		return 0;
	for (size_t i = 0; i < fs->nr && !id; i++)
		if (same(&fs->at[i], system, text))
			id = (uint32_t)fs->at[i].id;
	if (!id) {
		id = fixed ? fixed : choose_id(g, e->id);
		if (!id || (fixed && g->used[id]))
			return 0;
		err = add_format(g, system, text, id);
		if (err)
			return err;
	}
	if (!mb->events)
		mb->events = calloc(NR_IDS, sizeof(*mb->events));
	if (!mb->events)
		return fail(ENOMEM, "out of memory for events");
	mb->events[e->id] = (uint16_t)id;
	return 0;
}

/*
 * The text behind the next conversion of a print format. *@code: does it print an address of code?
 * NULL: there are no more.
 */
static const char *next_conversion(const char *p, bool *code, unsigned int *stars)
{
	*stars = 0;
	*code = false;
	for (; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1]) {
			p++;
			continue;
		}
		if (*p != '%')
			continue;
		if (p[1] == '%') {
			p++;
			continue;
		}
		for (p++; *p && strchr("-+ #0123456789.*lhzjtqL", *p); p++)
			*stars += *p == '*';
		if (!*p || *p == '"')
			return NULL;
		*code = *p == 'p' && p[1] && strchr("sSfFB", p[1]);
		return p + 1;
	}
	return NULL;
}

/* The text behind the argument at @p. */
static const char *skip_argument(const char *p)
{
	unsigned int depth = 0;
	bool quoted = false;

	for (; *p && *p != '\n'; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (quoted)
			continue;
		else if (*p == '(' || *p == '{' || *p == '[')
			depth++;
		else if ((*p == ')' || *p == '}' || *p == ']') && depth)
			depth--;
		else if (*p == ',' && !depth)
			break;
	}
	return p;
}

/* Add the field of an argument `(void *)REC->NAME` if it has eight bytes. */
static void note_code(struct event_codes *codes, const char *text, const char *arg, const char *end)
{
	char name[64];
	const char *rec = strstr(arg, "REC->");
	struct dat_field f;
	size_t n = 0;

	if (!rec || rec >= end || codes->nr == sizeof(codes->offset) / sizeof(*codes->offset))
		return;
	for (rec += 5; n + 1 < sizeof(name) && (isalnum((unsigned char)rec[n]) || rec[n] == '_');
	     n++)
		name[n] = rec[n];
	name[n] = '\0';
	f = formats_field(text, name);
	if (f.bytes == 8 && f.offset >= 8)
		codes->offset[codes->nr++] = f.offset;
}

/* Is the argument the address of a dynamic probe? The kernel prints it with %lx. */
static bool is_probe_ip(const char *arg)
{
	arg += strspn(arg, " ");
	return !strncmp(arg, "REC->__probe_", 13);
}

/* Add the field of `__get_stacktrace(NAME)`, of a synthetic event. */
static void note_stack(struct event_codes *codes, const char *text, const char *arg)
{
	static const char call[] = "__get_stacktrace(";
	char name[64];
	struct dat_field f;
	size_t n;

	arg += strspn(arg, " ");
	if (strncmp(arg, call, sizeof(call) - 1) != 0 ||
	    codes->nr_located == sizeof(codes->located) / sizeof(*codes->located))
		return;
	arg += sizeof(call) - 1;
	n = strcspn(arg, ")");
	if (n >= sizeof(name))
		return;
	memcpy(name, arg, n);
	name[n] = '\0';
	f = formats_field(text, name);
	if (f.bytes >= 4 && f.offset >= 8)
		codes->located[codes->nr_located++] = f.offset;
}

static void find_codes(struct event_codes *codes, const char *text)
{
	const char *p = strstr(text, "\nprint fmt: \""), *arg;
	unsigned int stars;
	bool code;

	if (!p)
		return;
	p += strlen("\nprint fmt: \"");
	for (arg = p; *arg && *arg != '"'; arg++)
		if (*arg == '\\' && arg[1])
			arg++;
	arg += *arg == '"';
	while ((p = next_conversion(p, &code, &stars))) {
		for (; stars && *arg == ','; stars--)
			arg = skip_argument(arg + 1);
		if (*arg != ',')
			return;
		if (code || is_probe_ip(arg + 1))
			note_code(codes, text, arg + 1, skip_argument(arg + 1));
		else
			note_stack(codes, text, arg + 1);
		arg = skip_argument(arg + 1);
	}
}

int pages_find_codes(struct pages *p, const struct formats *fs)
{
	p->codes = calloc(NR_IDS, sizeof(*p->codes));
	if (!p->codes)
		return fail(ENOMEM, "out of memory for events");
	for (size_t i = 0; i < fs->nr; i++)
		if (fs->at[i].id >= 0 && (uint32_t)fs->at[i].id < NR_IDS) {
			find_codes(&p->codes[fs->at[i].id], fs->at[i].text);
			p->codes[fs->at[i].id].stack = is_stack(fs->at[i].system, fs->at[i].text);
		}
	return 0;
}

static int parse(struct pages *p)
{
	bool *wanted = calloc(NR_IDS, sizeof(*wanted));
	int err;

	p->reader.tep = formats_handle_new(p->reader.symbols, 8, false);
	if (!wanted || pages_find_codes(p, &p->formats) || !p->reader.tep) {
		free(wanted);
		return fail(ENOMEM, "out of memory for events");
	}
	for (size_t i = 0; i < p->formats.nr; i++)
		wanted[p->formats.at[i].id] = true;
	err = formats_parse(&p->formats, p->reader.tep, wanted);
	p->reader.formats = &p->formats;
	free(wanted);
	return err;
}

int pages_make_events(struct pages *p)
{
	struct gather g = {.p = p, .next = FIRST_ID};
	int err = 0;

	for (uint32_t i = 0; i < p->nr_members && !err; i++) {
		struct member *mb = p->members[i];

		if (!mb || !mb->meta || !mb->meta->nr_events)
			continue;
		if (!g.used)
			g.used = calloc(NR_IDS, sizeof(*g.used));
		if (!g.used)
			err = fail(ENOMEM, "out of memory for events");
		for (uint32_t e = 0; e < mb->meta->nr_events && !err; e++)
			err = add_event(&g, mb, &mb->meta->events[e]);
		if (!err && printks_add_meta(&p->printks, mb->meta))
			err = fail(ENOMEM, "out of memory for formats");
	}
	free(g.used);
	printks_settle(&p->printks);
	p->reader.printks = &p->printks;
	if (!err && p->formats.nr)
		err = parse(p);
	return err;
}

void pages_learn_printks(struct reader *r, uint32_t process)
{
	struct pages *p = (struct pages *)r;

	if (p->source.printks && p->source.printks(p->source.arg, process, &p->printks) > 0)
		printks_settle(&p->printks);
}

void pages_free_events(struct pages *p)
{
	if (p->reader.tep)
		tep_free(p->reader.tep);
	formats_free(&p->formats);
	printks_free(&p->printks);
	free(p->codes);
}
