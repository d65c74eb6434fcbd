/* SPDX-License-Identifier: MIT */
/* See source_text.h. Tests: tests/cli/test_view.py. */
#include "tools/view/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/code/srcline.h"
#include "tools/text/json.h"

#define MAX_SOURCE (8u << 20) /* bytes of a file */

struct source_text {
	const struct columns *c;
	struct srcline *lines;
	char *dir;  /* as the user named it */
	char *root; /* its real path, without symbolic links; NULL: it does not exist */
};

int source_text_new(const struct columns *c, const char *dir, struct source_text **out)
{
	struct source_text *s = calloc(1, sizeof(*s));

	if (s) {
		s->c = c;
		s->dir = strdup(dir);
		s->root = realpath(dir, NULL);
		s->lines = srcline_new(c->v->r->symbols);
	}
	if (!s || !s->dir || !s->lines) {
		source_text_free(s);
		return fail(ENOMEM, "out of memory");
	}
	*out = s;
	return 0;
}

void source_text_free(struct source_text *s)
{
	if (!s)
		return;
	srcline_free(s->lines);
	free(s->dir);
	free(s->root);
	free(s);
}

/* The real path of a file, if it is below the folder; a relative name is one in @dir. */
static char *path_in(const struct source_text *s, const char *dir, const char *named)
{
	char *path = NULL, *real;
	size_t n = strlen(s->root);

	if (asprintf(&path, "%s%s%s", named[0] == '/' ? "" : dir, named[0] == '/' ? "" : "/",
		     named) < 0)
		return NULL;
	real = realpath(path, NULL);
	free(path);
	/* only the path "/" ends with a slash */
	if (real && (strncmp(real, s->root, n) || (s->root[n - 1] != '/' && real[n] != '/'))) {
		free(real);
		return NULL;
	}
	return real;
}

/* Names in DWARF may be relative: to the compiler's folder, or to @dir. */
static char *path_below(const struct source_text *s, const char *named)
{
	char *real = s->root ? path_in(s, s->root, named) : NULL;

	return real || !s->root ? real : path_in(s, ".", named);
}

/* All of a regular file. NULL with errno set. */
static char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st)) {
		close(fd);
		return NULL;
	}
	errno = !S_ISREG(st.st_mode) ? EINVAL : st.st_size > (off_t)MAX_SOURCE ? EFBIG : 0;
	if (!errno)
		text = malloc((size_t)st.st_size + 1);
	if (text)
		n = read(fd, text, (size_t)st.st_size);
	close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static int answer_error(struct out *o, const char *before, const char *what, const char *after)
{
	char *text;

	if (asprintf(&text, "%s%s%s", before, what, after) < 0)
		return fail(ENOMEM, "out of memory");
	out_text(o, "{\"error\":");
	json_put(o, text);
	out_text(o, "}");
	free(text);
	return 0;
}

int source_text_answer(struct source_text *s, struct out *o, uint64_t name)
{
	uint64_t ip = name < s->c->nr_names ? s->c->names[name].ip : 0;
	const char *place = ip ? srcline_find(s->lines, ip) : NULL;
	const char *colon = place ? strrchr(place, ':') : NULL;
	char named[PATH_MAX], *path, *text, *next;

	if (!colon || (size_t)(colon - place) >= sizeof(named))
		return answer_error(
			o,
			"The source of this function is not known: its object is not here "
			"as it was, or has no debug information (build it with -g).",
			"", "");
	memcpy(named, place, (size_t)(colon - place));
	named[colon - place] = '\0';
	path = path_below(s, named);
	if (!path)
		return answer_error(o, named, " is not below the folder ", s->dir);
	text = read_text(path);
	if (!text) {
		int ret = answer_error(o, path, ": ", strerror(errno));

		free(path);
		return ret;
	}
	out_text(o, "{\"path\":");
	json_put(o, path);
	out_printf(o, ",\"line\":%ld,\"lines\":[", strtol(colon + 1, NULL, 10));
	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		out_text(o, line == text ? "" : ",\n");
		json_put(o, line);
	}
	out_text(o, "]}");
	free(text);
	free(path);
	return 0;
}
