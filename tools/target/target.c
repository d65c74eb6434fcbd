/* SPDX-License-Identifier: MIT */
/* The kinds of targets: see target.h. */
#include "tools/target/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/target/process.h"
#include "tools/target/session.h"
#include "tools/target/tracer_refusal.h"

#define NR_KINDS (sizeof(kinds) / sizeof(*kinds))

/* In order: the first kind whose has_name() is true gets the name. */
static const struct target_ops *const kinds[] = {&process_ops, &session_ops};

struct target *target_get(const char *name, const char *instance, int *err)
{
	for (size_t i = 0; i < NR_KINDS; i++)
		if (kinds[i]->has_name(name))
			return kinds[i]->get(name, instance, err);
	*err = -ENOENT;
	return NULL;
}

void target_put(struct target *t)
{
	if (t)
		t->ops->put(t);
}

struct listing {
	int (*put)(void *arg, const char *name);
	void *arg;
	int stop;
};

static int put_name(void *arg, const char *name)
{
	struct listing *l = arg;

	l->stop = l->put(l->arg, name);
	return l->stop;
}

void target_list(int (*put)(void *arg, const char *name), void *arg)
{
	struct listing l = {put, arg, 0};

	for (size_t i = 0; i < NR_KINDS && !l.stop; i++)
		kinds[i]->list(put_name, &l);
}

void targets_serve(bool on)
{
	for (size_t i = 0; i < NR_KINDS; i++)
		if (kinds[i]->serve)
			kinds[i]->serve(on);
}

int target_write(struct target *t, const char *path, const char *text, size_t n, bool truncate)
{
	const char *file = strrchr(path, '/');
	int err = t->ops->write(t, path, text, n, truncate, (int)gettid());

	if (err && !strcmp(file ? file + 1 : path, "current_tracer"))
		err = tracer_refused(t, text, err);
	return text_refused(t, err);
}

int target_set(struct target *t, const char *path, const char *text)
{
	return target_write(t, path, text, strlen(text), true);
}

int target_text_add(void *to, const char *text, size_t bytes)
{
	struct target_text *t = to;
	char *more = realloc(t->at, t->n + bytes + 1);

	if (!more)
		return -ENOMEM;
	memcpy(more + t->n, text, bytes);
	t->at = more;
	t->n += bytes;
	more[t->n] = '\0';
	return 0;
}

int target_read(struct target *t, const char *path, struct target_text *text)
{
	struct out o;
	int err, end;

	*text = (struct target_text){0};
	if (out_init_sink(&o, target_text_add, text))
		return fail(ENOMEM, "out of memory");
	err = t->ops->print(t, path, &o);
	end = out_end(&o);
	if (!err && (end || (!text->at && target_text_add(text, "", 0))))
		err = fail(ENOMEM, "out of memory");
	if (err) {
		free(text->at);
		*text = (struct target_text){0};
	}
	return err;
}

static bool sizes_differ(const char *path, const char *text)
{
	return !strcmp(path, "buffer_size_kb") && text[0] == 'X';
}

int target_kept(struct target *t, const char *path,
		int (*each)(void *arg, const char *path, const char *text), void *arg)
{
	long nr = sysconf(_SC_NPROCESSORS_CONF);
	struct target_text text;
	char file[64];
	bool whole;
	int err = target_read(t, path, &text);

	if (err)
		return err;
	whole = !sizes_differ(path, text.at);
	if (whole)
		err = each(arg, path, text.at);
	for (long cpu = 0; !whole && cpu < nr && !err; cpu++) {
		struct target_text own;

		snprintf(file, sizeof(file), "per_cpu/cpu%ld/%s", cpu, path);
		if (target_read(t, file, &own))
			continue; /* no such CPU */
		err = each(arg, file, own.at);
		free(own.at);
	}
	free(text.at);
	return err;
}

int target_first_line(struct target *t, const char *path, char *line, size_t room)
{
	struct target_text text;
	int err = target_read(t, path, &text);

	if (err)
		return err;
	snprintf(line, room, "%.*s", (int)strcspn(text.at, "\n"), text.at);
	free(text.at);
	return 0;
}
