/* SPDX-License-Identifier: MIT */
/* See uftrace_names.h. Tests: tests/cli/test_import_uftrace.py, tests/fuzz/import.c. */
#include "tools/import/uftrace_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/import/import_text.h"

#define MAX_ENTRIES (1u << 20) /* of each list */
#define MAX_DEPTH   1024u      /* of forks: in a damaged file they may be a cycle */
#define NS_PER_S    UINT64_C(1000000000)
#define END_TYPE    '?' /* of a symbol that is the end of others */

struct map {
	uint64_t begin, end;
	size_t object;
};

struct object {
	char *path, *build_id; /* build_id: "" unknown */
	struct symbols *symbols;
};

struct session {
	uint64_t ts;
	int64_t pid;
	char *path; /* of the program */
	char id[17];
	struct map *maps;
	size_t nr, room, last;
};

struct fork {
	int64_t pid, parent;
};

struct event {
	uint64_t id;
	char *name;
};

struct uftrace_names {
	int folder;
	bool relative;
	struct import_text *in;
	struct session *sessions;
	struct uftrace_task *tasks;
	struct fork *forks;
	struct object *objects;
	struct event *events;
	size_t nr_sessions, room_sessions, nr_tasks, room_tasks, nr_forks, room_forks, nr_objects,
		room_objects, nr_events, room_events;
	char text[64];
	/* the session of found_pid from found_from on, before found_to */
	struct session *found;
	int64_t found_pid;
	uint64_t found_from, found_to;
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int uftrace_names_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int err;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return fail_errno(errno, "cannot open its %s", name);
	if (fstat(fd, &st))
		err = fail_errno(errno, "cannot stat its %s", name);
	else if (!S_ISREG(st.st_mode))
		err = fail(EINVAL, "its %s is not a regular file", name);
	else
		return fd;
	close(fd);
	return err;
}

/* The value of `key=`, up to a blank or in quotes, cut out of @line; NULL: there is none. */
static char *value_of(char *line, const char *key)
{
	size_t bytes = strlen(key);
	char *p = line, *end;

	while ((p = strstr(p, key)) && (p == line || p[-1] != ' ' || p[bytes] != '='))
		p += bytes;
	if (!p)
		return NULL;
	p += bytes + 1;
	if (*p == '"') {
		end = strchr(++p, '"');
		if (!end)
			return NULL;
	} else {
		end = p + strcspn(p, " ");
	}
	*end = '\0';
	return p;
}

/* The number of `key=`. It does not change @line. */
static bool number_of(const char *line, const char *key, int64_t *v)
{
	char want[16];
	const char *p;
	char *end;

	snprintf(want, sizeof(want), " %s=", key);
	p = strstr(line, want);
	if (!p)
		return false;
	p += strlen(want);
	errno = 0;
	*v = strtoll(p, &end, 10);
	return end > p && !errno && *v > 0 && *v <= INT32_MAX;
}

static int find_object(struct uftrace_names *n, const char *path, const char *build_id, size_t *i)
{
	struct object o = {0};

	for (*i = 0; *i < n->nr_objects; ++*i)
		if (!strcmp(n->objects[*i].path, path))
			return 0;
	if (n->nr_objects == MAX_ENTRIES)
		return fail(E2BIG, "more than %u objects", MAX_ENTRIES);
	if (ARRAY_ROOM(n->objects, n->nr_objects, n->room_objects, 16))
		return no_memory();
	o.path = strdup(path);
	o.build_id = strdup(build_id);
	if (!o.path || !o.build_id) {
		free(o.path);
		free(o.build_id);
		return no_memory();
	}
	n->objects[n->nr_objects++] = o;
	return 0;
}

static int add_map(struct uftrace_names *n, struct session *s, uint64_t begin, uint64_t end,
		   const char *path, const char *build_id)
{
	size_t object;
	int err = find_object(n, path, build_id, &object);

	if (err)
		return err;
	if (s->nr == MAX_ENTRIES)
		return fail(E2BIG, "more than %u mappings", MAX_ENTRIES);
	if (ARRAY_ROOM(s->maps, s->nr, s->room, 16))
		return no_memory();
	s->maps[s->nr++] = (struct map){begin, end, object};
	return 0;
}

/* `5628a1503000-5628a1508000 r-xp 00000000 00:00 0   /path build-id:ID` */
static int take_map(struct uftrace_names *n, struct session *s, char *line)
{
	char *end, *path, *build_id;
	uint64_t begin = strtoull(line, &end, 16), to;

	if (end == line || *end != '-')
		return 0;
	to = strtoull(end + 1, &end, 16);
	path = strchr(end, '/');
	if (*end != ' ' || to <= begin || !path)
		return 0;
	build_id = strstr(path, " build-id:");
	if (build_id) {
		*build_id = '\0';
		build_id += strlen(" build-id:");
	}
	for (end = path + strlen(path); end > path && end[-1] == ' ';)
		*--end = '\0';
	return add_map(n, s, begin, to, path, build_id ? build_id : "");
}

/* Begin to read a text file. Return: 1; 0 there is none; -errno with fail() set. */
static int begin_text(struct uftrace_names *n, const char *name)
{
	int fd = uftrace_names_file(n->folder, name);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	n->in->fd = fd;
	n->in->path = name;
	n->in->at = 0;
	n->in->pos = n->in->nr = 0;
	n->in->line = 0;
	n->in->err = 0;
	return 1;
}

static int end_text(struct uftrace_names *n, int err)
{
	close(n->in->fd);
	n->in->fd = -1;
	if (!err && n->in->err)
		err = fail_errno(-n->in->err, "cannot read its %s", n->in->path);
	return err;
}

static int read_maps(struct uftrace_names *n, struct session *s)
{
	char name[32], *line;
	int err;

	snprintf(name, sizeof(name), "sid-%s.map", s->id);
	err = begin_text(n, name);
	if (err <= 0)
		return err;
	err = 0;
	while (!err && (line = import_line(n->in)))
		err = take_map(n, s, line);
	return end_text(n, err);
}

/* The symbols of @name, if it is the file of that object. Return: 1; 0 it is not; -errno. */
static int read_symbols(struct uftrace_names *n, struct object *o, const char *name)
{
	bool is_it = true;
	char *line, *end, *type;
	int err = begin_text(n, name);

	if (err <= 0)
		return err;
	err = 0;
	while (!err && is_it && (line = import_line(n->in))) {
		uint64_t addr = strtoull(line, &end, 16);

		if (!strncmp(line, "# path name: ", 13))
			is_it = !strcmp(line + 13, o->path);
		else if (!strncmp(line, "# build-id: ", 12) && *o->build_id)
			is_it = !strcmp(line + 12, o->build_id);
		if (*line == '#' || end == line || *end != ' ')
			continue;
		type = end + 1;
		if (*type && type[1] == ' ' && type[2])
			err = symbols_add(o->symbols, addr, *type, type + 2, NULL) ? no_memory()
										   : 0;
	}
	err = end_text(n, err);
	return err ? err : is_it;
}

/* OBJECT.sym, or OBJECT-ID.sym of one of several with that name. */
static int load_symbols(struct uftrace_names *n, struct object *o)
{
	char name[300];
	int got;

	if (o->symbols)
		return 0;
	o->symbols = symbols_new();
	if (!o->symbols)
		return no_memory();
	snprintf(name, sizeof(name), "%.250s.sym", base_name(o->path));
	got = read_symbols(n, o, name);
	if (got)
		return got < 0 ? got : 0;
	snprintf(name, sizeof(name), "%.240s-%.4s.sym", base_name(o->path), o->build_id);
	got = strchr(name, '/') ? 0 : read_symbols(n, o, name);
	return got < 0 ? got : 0;
}

/* An object that dlopen() loaded: it ends with its last symbol. */
static int take_dlopen(struct uftrace_names *n, char *line)
{
	char *base = strstr(line, " base="), *id = strstr(line, " sid="), *path;
	uint64_t begin = base ? strtoull(base + 6, NULL, 16) : 0;
	struct session *s = NULL;
	struct symbols *symbols;
	size_t object, nr;
	int err;

	for (size_t i = 0; id && i < n->nr_sessions; i++)
		if (!strncmp(n->sessions[i].id, id + 5, 16))
			s = &n->sessions[i];
	path = value_of(line, "libname");
	if (!s || !path || !begin)
		return 0;
	err = find_object(n, path, "", &object);
	if (!err)
		err = load_symbols(n, &n->objects[object]);
	if (err)
		return err;
	symbols = n->objects[object].symbols;
	nr = symbols_count(symbols);
	if (!nr)
		return 0;
	return add_map(n, s, begin, begin + symbols_at(symbols, nr - 1)->addr + 1, path, "");
}

static int take_session(struct uftrace_names *n, char *line, uint64_t ts)
{
	struct session s = {.ts = ts};
	char *id = strstr(line, " sid="), *path;
	size_t bytes;

	if (!number_of(line, "pid", &s.pid) || !id)
		return 0;
	bytes = strspn(id + 5, "0123456789abcdef");
	if (!bytes || bytes > 16)
		return fail(EINVAL, "its task.txt, line %llu: a wrong session",
			    (unsigned long long)n->in->line);
	memcpy(s.id, id + 5, bytes);
	if (n->nr_sessions == MAX_ENTRIES)
		return fail(E2BIG, "more than %u sessions", MAX_ENTRIES);
	if (ARRAY_ROOM(n->sessions, n->nr_sessions, n->room_sessions, 4))
		return no_memory();
	path = value_of(line, "exename");
	s.path = strdup(path ? path : "");
	if (!s.path)
		return no_memory();
	n->sessions[n->nr_sessions++] = s;
	return 0;
}

static int take_task(struct uftrace_names *n, int64_t pid, int64_t tid)
{
	if (n->nr_tasks == MAX_ENTRIES)
		return fail(E2BIG, "more than %u threads", MAX_ENTRIES);
	if (ARRAY_ROOM(n->tasks, n->nr_tasks, n->room_tasks, 16))
		return no_memory();
	n->tasks[n->nr_tasks++] = (struct uftrace_task){.pid = pid, .tid = tid};
	return 0;
}

static int take_task_line(struct uftrace_names *n, char *line, bool dlopens)
{
	const char *stamp = strstr(line, " timestamp="), *end;
	int64_t pid, tid, parent;
	uint64_t ts;

	if (!stamp || !import_decimal(stamp + 11, NS_PER_S, &ts, &end))
		return 0;
	if (dlopens)
		return strncmp(line, "DLOP ", 5) != 0 ? 0 : take_dlopen(n, line);
	if (!strncmp(line, "SESS ", 5))
		return take_session(n, line, ts);
	if (!number_of(line, "pid", &pid))
		return 0;
	if (!strncmp(line, "TASK ", 5) && number_of(line, "tid", &tid))
		return take_task(n, pid, tid);
	if (strncmp(line, "FORK ", 5) != 0 || !number_of(line, "ppid", &parent))
		return 0;
	if (ARRAY_ROOM(n->forks, n->nr_forks, n->room_forks, 16))
		return no_memory();
	n->forks[n->nr_forks++] = (struct fork){pid, parent};
	return take_task(n, pid, pid);
}

/* Lines are copied, since reading an object's file uses the same line buffer. */
static int read_tasks(struct uftrace_names *n)
{
	char **dlopens = NULL, *line;
	size_t nr = 0, room = 0;
	int err = begin_text(n, "task.txt");

	if (err < 0)
		return err;
	if (!err)
		return fail(ENOENT, "it has no task.txt");
	err = 0;
	while (!err && (line = import_line(n->in))) {
		err = take_task_line(n, line, false);
		if (err || strncmp(line, "DLOP ", 5) != 0)
			continue;
		if (nr == MAX_ENTRIES || ARRAY_ROOM(dlopens, nr, room, 16) ||
		    !(dlopens[nr] = strdup(line)))
			err = no_memory();
		else
			nr++;
	}
	err = end_text(n, err);
	for (size_t i = 0; i < n->nr_sessions && !err; i++)
		err = read_maps(n, &n->sessions[i]);
	for (size_t i = 0; i < nr; i++) {
		if (!err)
			err = take_task_line(n, dlopens[i], true);
		free(dlopens[i]);
	}
	free(dlopens);
	return err;
}

/* `EVENT: 1000000 provider:name` */
static int read_events(struct uftrace_names *n)
{
	char *line, *end;
	int err = begin_text(n, "events.txt");

	if (err <= 0)
		return err;
	err = 0;
	while (!err && (line = import_line(n->in))) {
		struct event e = {0};

		if (strncmp(line, "EVENT: ", 7) != 0)
			continue;
		e.id = strtoull(line + 7, &end, 10);
		if (*end != ' ' || n->nr_events == MAX_ENTRIES)
			continue;
		e.name = strdup(end + 1);
		if (!e.name || ARRAY_ROOM(n->events, n->nr_events, n->room_events, 16)) {
			free(e.name);
			err = no_memory();
		} else {
			n->events[n->nr_events++] = e;
		}
	}
	return end_text(n, err);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct uftrace_task *one = *(struct uftrace_task *const *)a;
	const struct uftrace_task *other = *(struct uftrace_task *const *)b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	return one < other ? -1 : one > other;
}

static int mark_repeated(struct uftrace_names *n)
{
	struct uftrace_task **sorted = calloc(n->nr_tasks + 1, sizeof(*sorted));

	if (!sorted)
		return no_memory();
	for (size_t i = 0; i < n->nr_tasks; i++)
		sorted[i] = &n->tasks[i];
	qsort(sorted, n->nr_tasks, sizeof(*sorted), compare_tasks);
	for (size_t i = 1; i < n->nr_tasks; i++)
		sorted[i]->repeated = sorted[i]->tid == sorted[i - 1]->tid;
	free(sorted);
	return 0;
}

int uftrace_names_open(int folder, bool relative, struct uftrace_names **out)
{
	struct uftrace_names *n = calloc(1, sizeof(*n));
	int err;

	*out = n;
	if (!n)
		return no_memory();
	n->folder = folder;
	n->relative = relative;
	n->in = calloc(1, sizeof(*n->in));
	err = n->in ? read_tasks(n) : no_memory();
	if (!err)
		err = mark_repeated(n);
	return err ? err : read_events(n);
}

void uftrace_names_free(struct uftrace_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->nr_sessions; i++) {
		free(n->sessions[i].path);
		free(n->sessions[i].maps);
	}
	for (size_t i = 0; i < n->nr_objects; i++) {
		free(n->objects[i].path);
		free(n->objects[i].build_id);
		symbols_free(n->objects[i].symbols);
	}
	for (size_t i = 0; i < n->nr_events; i++)
		free(n->events[i].name);
	free(n->sessions);
	free(n->tasks);
	free(n->forks);
	free(n->objects);
	free(n->events);
	free(n->in);
	free(n);
}

size_t uftrace_names_tasks(const struct uftrace_names *n, const struct uftrace_task **tasks)
{
	*tasks = n->tasks;
	return n->nr_tasks;
}

static int64_t parent_of(const struct uftrace_names *n, int64_t pid)
{
	for (size_t i = n->nr_forks; i-- > 0;)
		if (n->forks[i].pid == pid)
			return n->forks[i].parent;
	return 0;
}

/* The last session of @pid that began by @ts, else the session of the process that forked it. */
static struct session *find_session(struct uftrace_names *n, int64_t pid, uint64_t ts)
{
	struct session *best = NULL;

	if (n->found && n->found_pid == pid && ts >= n->found_from && ts < n->found_to)
		return n->found;
	n->found_pid = pid;
	n->found_to = UINT64_MAX;
	for (size_t depth = 0; !best && pid && depth < MAX_DEPTH; depth++) {
		for (size_t i = 0; i < n->nr_sessions; i++) {
			struct session *s = &n->sessions[i];

			if (s->pid != pid)
				continue;
			if (s->ts > ts && s->ts < n->found_to)
				n->found_to = s->ts;
			if (s->ts <= ts && (!best || s->ts >= best->ts))
				best = s;
		}
		pid = best ? pid : parent_of(n, pid);
	}
	n->found = best;
	n->found_from = best ? best->ts : 0;
	return best;
}

const char *uftrace_names_comm(const struct uftrace_names *n, int64_t pid)
{
	for (size_t depth = 0; pid && depth < MAX_DEPTH; depth++) {
		for (size_t i = n->nr_sessions; i-- > 0;)
			if (n->sessions[i].pid == pid)
				return base_name(n->sessions[i].path);
		pid = parent_of(n, pid);
	}
	return "";
}

static const struct map *find_map(struct session *s, uint64_t addr)
{
	for (size_t i = 0; s && i < s->nr; i++) {
		size_t k = (s->last + i) % s->nr;

		if (addr >= s->maps[k].begin && addr < s->maps[k].end) {
			s->last = k;
			return &s->maps[k];
		}
	}
	return NULL;
}

bool uftrace_names_known(struct uftrace_names *n, int64_t pid, uint64_t ts, uint64_t addr)
{
	return find_map(find_session(n, pid, ts), addr);
}

int uftrace_names_find(struct uftrace_names *n, int64_t pid, uint64_t ts, uint64_t addr,
		       const char **name, const char **object)
{
	struct session *s = find_session(n, pid, ts);
	const struct map *m = find_map(s, addr);
	const struct symbol *sym = NULL;
	struct object *o;
	int err;

	*object = NULL;
	if (m) {
		o = &n->objects[m->object];
		err = load_symbols(n, o);
		if (err)
			return err;
		sym = symbols_find(o->symbols, n->relative ? addr - m->begin : addr);
		if (strcmp(o->path, s->path) != 0)
			*object = base_name(o->path);
	}
	if (sym && sym->type != END_TYPE) {
		*name = sym->name;
		return 0;
	}
	snprintf(n->text, sizeof(n->text), "<%llx>", (unsigned long long)addr);
	*name = n->text;
	return 0;
}

const char *uftrace_names_event(struct uftrace_names *n, uint64_t id)
{
	static const char *const own[] = {
		"read:proc/statm", "read:page-fault", "diff:proc/statm", "diff:page-fault",
		"read:pmu-cycle",  "diff:pmu-cycle",  "read:pmu-cache",	 "diff:pmu-cache",
		"read:pmu-branch", "diff:pmu-branch", "watch:cpu",	 "watch:var",
	};

	for (size_t i = 0; i < n->nr_events; i++)
		if (n->events[i].id == id)
			return n->events[i].name;
	if (id > 100000 && id - 100001 < sizeof(own) / sizeof(own[0]))
		return own[id - 100001];
	snprintf(n->text, sizeof(n->text), "event %llu", (unsigned long long)id);
	return n->text;
}
