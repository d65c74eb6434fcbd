/* SPDX-License-Identifier: MIT */
/* See formats.h. Tests: tests/unit/test_dat_read.c. */
#include "tools/reader/formats.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/child.h"
#include "tools/base/fail.h"

#define CHILD_SECONDS 10
#define MAX_BAD	      32

/* A name for libtraceevent, which does not free it. */
static char *resolve(void *priv, unsigned long long *addr, char **module)
{
	const struct symbol *sym = symbols_find(priv, *addr);

	if (!sym)
		return NULL;
	*addr = sym->addr;
	*module = (char *)(uintptr_t)sym->module;
	return (char *)(uintptr_t)sym->name;
}

struct tep_handle *formats_handle_new(struct symbols *s, unsigned int long_bytes, bool swap)
{
	struct tep_handle *tep = tep_alloc();

	if (!tep)
		return NULL;
	/* without this it prints warnings about unknown formats to the terminal */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, (int)long_bytes);
	/* the machines that vestige runs on are little-endian */
	tep_set_file_bigendian(tep, swap ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tep, TEP_LITTLE_ENDIAN);
	if (tep_set_function_resolver(tep, resolve, s)) {
		tep_free(tep);
		return NULL;
	}
	return tep;
}

/* The number behind `key` between @p and @end, -1 if there is none. */
static long number_after(const char *p, const char *end, const char *key)
{
	const char *at = strstr(p, key);
	long n;

	if (!at || at >= end)
		return -1;
	at += strlen(key);
	while (*at == ' ')
		at++;
	if (!isdigit((unsigned char)*at))
		return -1;
	n = strtol(at, NULL, 10);
	return n >= 0 && n <= UINT16_MAX ? n : -1;
}

/*
 * Whether the declaration of @bytes at @p ends in the name, `T name`, `T name[...]` or `T[] name`.
 */
static bool declares(const char *p, size_t bytes, const char *name)
{
	const char *bracket = bytes && p[bytes - 1] == ']' ? memchr(p, '[', bytes) : NULL;
	size_t n = strlen(name);

	if (bracket)
		bytes = (size_t)(bracket - p);
	return bytes > n && memcmp(p + bytes - n, name, n) == 0 &&
	       (p[bytes - n - 1] == ' ' || p[bytes - n - 1] == '*');
}

struct dat_field formats_field(const char *text, const char *name)
{
	struct dat_field f = {0, 0};
	const char *p = text;

	while ((p = strstr(p, "field:"))) {
		const char *end = strchr(p, '\n'), *semi;
		long offset, bytes;

		if (!end)
			end = p + strlen(p);
		p += 6;
		semi = memchr(p, ';', (size_t)(end - p));
		if (!semi)
			continue;
		if (!declares(p, (size_t)(semi - p), name))
			continue;
		offset = number_after(semi, end, "offset:");
		bytes = number_after(semi, end, "size:");
		if (offset >= 0 && bytes >= 0) {
			f.offset = (uint16_t)offset;
			f.bytes = (uint16_t)bytes;
		}
		break;
	}
	return f;
}

/* The offset of an array of words that extends to the end of the record; 0: none. */
static uint16_t formats_array(const char *text, const char *name)
{
	struct dat_field f = formats_field(text, name);

	return f.bytes ? 0 : f.offset;
}

static bool has_name(const char *text, const char *prefix)
{
	const char *p = strstr(text, "name: ");

	return p && strncmp(p + 6, prefix, strlen(prefix)) == 0;
}

/* The fields of ftrace:function, which is decoded here. Return: whether all are there. */
static bool take_function(struct dat_layout *layout, const char *text, long id)
{
	struct dat_field ip = formats_field(text, "ip");
	struct dat_field parent_ip = formats_field(text, "parent_ip");

	if (!ip.bytes || ip.bytes > 8 || parent_ip.bytes > 8)
		return false;
	layout->function_id = (int32_t)id;
	layout->ip = ip;
	layout->parent_ip = parent_ip;
	layout->function_args = formats_array(text, "args");
	return true;
}

/* The same for ftrace:print. */
static bool take_print(struct dat_layout *layout, const char *text, long id)
{
	struct dat_field ip = formats_field(text, "ip"), buf = formats_field(text, "buf");

	if (!ip.bytes || ip.bytes > 8 || !buf.offset)
		return false;
	layout->print_id = (int32_t)id;
	layout->print_ip = ip;
	layout->print_buf = buf.offset;
	return true;
}

/* The same for ftrace:funcgraph_entry; the next function is for funcgraph_exit. */
static bool take_entry(struct dat_layout *layout, const char *text, long id)
{
	struct dat_field func = formats_field(text, "func"), depth = formats_field(text, "depth");

	if (!func.bytes || func.bytes > 8 || !depth.bytes || depth.bytes > 8)
		return false;
	layout->entry_id = (int32_t)id;
	layout->entry_func = func;
	layout->entry_depth = depth;
	layout->entry_stack = formats_field(text, "stack");
	layout->entry_how = formats_field(text, "how");
	layout->entry_args = formats_array(text, "args");
	return true;
}

static bool take_exit(struct dat_layout *layout, const char *text, long id)
{
	struct dat_field func = formats_field(text, "func"), depth = formats_field(text, "depth");
	struct dat_field calltime = formats_field(text, "calltime");
	struct dat_field rettime = formats_field(text, "rettime");

	if (!func.bytes || func.bytes > 8 || !depth.bytes || depth.bytes > 8 || !calltime.bytes ||
	    !rettime.bytes)
		return false;
	layout->exit_id = (int32_t)id;
	layout->exit_func = func;
	layout->exit_depth = depth;
	layout->exit_calltime = calltime;
	layout->exit_rettime = rettime;
	layout->exit_overrun = formats_field(text, "overrun");
	layout->exit_retval = formats_field(text, "retval");
	layout->exit_stack = formats_field(text, "stack");
	layout->exit_how = formats_field(text, "how");
	return true;
}

/* The events that are decoded here and not by libtraceevent. */
static bool take(struct dat_layout *layout, const char *text, long id)
{
	static const struct {
		const char *name;
		bool (*take)(struct dat_layout *layout, const char *text, long id);
	} ours[] = {
		{"function\n", take_function},
		{"print\n", take_print},
		{"funcgraph_entry\n", take_entry},
		{"funcgraph_exit\n", take_exit},
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (has_name(text, ours[i].name))
			return ours[i].take(layout, text, id);
	return false;
}

int formats_add(struct formats *f, struct dat_layout *layout, const char *system, char *text,
		size_t bytes)
{
	long id = number_after(text, text + bytes, "ID:");
	struct format *at;
	bool ftrace;

	if (!layout->type.bytes) {
		layout->type = formats_field(text, "common_type");
		layout->flags = formats_field(text, "common_flags");
		layout->preempt_count = formats_field(text, "common_preempt_count");
		layout->pid = formats_field(text, "common_pid");
	}
	ftrace = id >= 0 && strcmp(system, "ftrace") == 0;
	if (id < 0 || (ftrace && !layout->as_is && take(layout, text, id))) {
		free(text);
		return 0;
	}
	if (ARRAY_ROOM(f->at, f->nr, f->room, 64)) {
		free(text);
		return -ENOMEM;
	}
	at = &f->at[f->nr];
	*at = (struct format){
		.id = (int32_t)id, .system = strdup(system), .text = text, .bytes = bytes};
	if (!at->system) {
		free(text);
		return -ENOMEM;
	}
	f->nr++;
	return 0;
}

void formats_free(struct formats *f)
{
	while (f->nr) {
		f->nr--;
		free(f->at[f->nr].system);
		free(f->at[f->nr].text);
	}
	free(f->at);
	f->at = NULL;
	f->room = 0;
}

/*
 * The child: writes a byte for each of @list, from @first on, that it has parsed without a crash.
 */
static void read_in_child(struct tep_handle *tep, const struct format *const *list, size_t first,
			  size_t nr, int fd)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
	int null = open("/dev/null", O_WRONLY);
	size_t i;

	for (i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
	prctl(PR_SET_DUMPABLE, 0);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	alarm(CHILD_SECONDS);
	for (i = first; i < nr; i++) {
		tep_parse_event(tep, list[i]->text, list[i]->bytes, list[i]->system);
		if (write(fd, "", 1) != 1)
			break;
	}
	_exit(0);
}

/* How many of @list from @first on a child parses before it crashes; -errno: there is no child. */
static ssize_t try_in_child(struct tep_handle *tep, const struct format *const *list, size_t first,
			    size_t nr)
{
	char bytes[256];
	ssize_t n, good = 0;
	int fds[2], err;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0)
		read_in_child(tep, list, first, nr, fds[1]);
	err = errno;
	close(fds[1]);
	while (pid > 0 &&
	       ((n = read(fds[0], bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)))
		good += n > 0 ? n : 0;
	close(fds[0]);
	if (pid < 0)
		return -err;
	child_wait(pid);
	return good;
}

int formats_parse(const struct formats *f, struct tep_handle *tep, const bool *wanted)
{
	const struct format **list = calloc(f->nr + 1, sizeof(*list));
	size_t i, nr = 0, at = 0, bad = 0;
	int ret = 0;

	if (!list)
		return fail(ENOMEM, "out of memory for the formats of events");
	for (i = 0; i < f->nr; i++) {
		if (wanted[f->at[i].id])
			list[nr++] = &f->at[i];
	}
	/* after MAX_BAD crashes the file counts as broken, and no further child is made */
	while (at < nr && bad < MAX_BAD && !ret) {
		ssize_t good = try_in_child(tep, list, at, nr);

		if (good < 0) {
			ret = fail_errno((int)-good, "cannot start a process to check the formats "
						     "of events");
			break;
		}
		for (; good > 0 && at < nr; good--, at++)
			tep_parse_event(tep, list[at]->text, list[at]->bytes, list[at]->system);
		at++;
		bad++;
	}
	free(list);
	return ret;
}

const char *formats_tracer(const struct formats *f, const bool *seen)
{
	static const struct {
		const char *name;
		const char *tracer;
	} events[] = {
		{"name: branch\n", "branch"},
		{"name: boot_call\n", "initcall"},
		{"name: boot_ret\n", "initcall"},
		{"name: kmem_alloc\n", "kmemtrace"},
		{"name: kmem_free\n", "kmemtrace"},
		{"name: kmem_leak\n", "kmemtrace"},
		{"name: ksym_trace\n", "ksym_tracer"},
		{"name: special\n", "sysprof"},
		{"name: blk\n", "blk"},
		{"name: power\n", "power"},
		{"name: hw_branch\n", "hw-branch"},
		{"name: mmiotrace_rw\n", "mmiotrace"},
		{"name: mmiotrace_map\n", "mmiotrace"},
	};

	for (size_t i = 0; i < f->nr; i++) {
		const struct format *one = &f->at[i];

		for (size_t k = 0; k < sizeof(events) / sizeof(events[0]); k++)
			if (!strcmp(one->system, "ftrace") && one->id >= 0 && one->id < 65536 &&
			    seen[one->id] &&
			    !strncmp(one->text, events[k].name, strlen(events[k].name)))
				return events[k].tracer;
	}
	return NULL;
}
