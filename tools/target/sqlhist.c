/* SPDX-License-Identifier: MIT */
/*
 * See sqlhist.h. libtracefs parses the statement and gives shell commands; each is converted to a
 * write. Only the formats of events that the statement names are read. One thread.
 * Tests: tests/cli/test_sqlhist.py.
 */
#include "tools/target/sqlhist.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#include "tools/base/fail.h"
#include "tools/target/event_names.h"
#include "tools/target/suggest.h"

#define NAME_BYTES 256
#define MAX_FORMAT (1 << 20)

struct loading {
	struct target *t;
	struct tep_handle *tep;
	const char *sql;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool names(const char *sql, const char *event)
{
	size_t n = strlen(event);

	for (const char *at = sql; (at = strstr(at, event)); at += n)
		if ((at == sql || !is_word(at[-1])) && !is_word(at[n]))
			return true;
	return false;
}

static int load_event(void *arg, const char *system, const char *event)
{
	struct loading *l = arg;
	char path[2 * NAME_BYTES];
	struct target_text text;
	int err;

	if (!names(l->sql, event))
		return 0;
	snprintf(path, sizeof(path), "events/%s/%s/format", system, event);
	err = target_read(l->t, path, &text);
	if (err)
		return err;
	tep_parse_event(l->tep, text.at, text.n, system);
	free(text.at);
	return 0;
}

static int load_file(struct loading *l, const char *path, const char *system)
{
	char *text = NULL, part[4096];
	FILE *f = fopen(path, "re"), *mem;
	size_t bytes = 0, n;

	if (!f)
		return fail_errno(errno, "cannot read '%s'", path);
	mem = open_memstream(&text, &bytes);
	while (mem && bytes < MAX_FORMAT && (n = fread(part, 1, sizeof(part), f)) > 0) {
		fwrite(part, 1, n, mem);
		fflush(mem);
	}
	fclose(f);
	if (!mem || fclose(mem)) {
		free(text);
		return fail(ENOMEM, "out of memory");
	}
	tep_parse_event(l->tep, text, bytes, system);
	free(text);
	return 0;
}

/* DIR/events/SYSTEM/EVENT/format. */
static int load_copy(struct loading *l, const char *dir)
{
	char pattern[PATH_MAX], system[NAME_BYTES], event[NAME_BYTES];
	glob_t found;
	int err = 0;

	if (snprintf(pattern, sizeof(pattern), "%s/events/*/*/format", dir) >= (int)sizeof(pattern))
		return fail(ENAMETOOLONG, "%s is too long a name", dir);
	if (glob(pattern, 0, NULL, &found))
		return fail(ENOENT, "no formats of events below %s/events", dir);
	for (size_t i = 0; i < found.gl_pathc && !err; i++) {
		const char *at = found.gl_pathv[i] + strlen(dir) + strlen("/events/");

		if (sscanf(at, "%255[^/]/%255[^/]/", system, event) == 2 && names(l->sql, event))
			err = load_file(l, found.gl_pathv[i], system);
	}
	globfree(&found);
	return err;
}

static int load(struct target *t, const char *dir, const char *sql, struct tep_handle **tep)
{
	struct loading l = {.t = t, .sql = sql};
	int err;

	*tep = l.tep = tep_alloc();
	if (!l.tep)
		return fail(ENOMEM, "out of memory");
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(l.tep, (int)sizeof(long));
	err = dir ? load_copy(&l, dir) : event_names_all(t, load_event, &l);
	if (err) {
		tep_free(l.tep);
		*tep = NULL;
	}
	return err;
}

/* @name: whether a name comes behind it: an event's, or one that the statement gives. */
static bool is_keyword(const char *word, bool *name)
{
	static const char *const all[] = {"as",	   "from", "join", "select", "on",
					  "where", "cast", "and",  "or"};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcasecmp(word, all[i])) {
			*name = i < 3;
			return true;
		}
	return false;
}

/*
 * The first word of a statement that is a field's name and no field of the events. libtracefs names
 * it only where there is a JOIN. @known: the fields; names that the statement gives are added.
 * @text: what was written to @known. Return: the word at *@word, of NAME_BYTES.
 */
static const char *unknown_field(const char *sql, FILE *known, char *const *text, char *word)
{
	bool name = false; /* what comes is no field */
	size_t n;

	for (const char *at = sql, *field; *at; at += n) {
		for (n = 0; is_word(at[n]) || (n && at[n] == '.');)
			n++;
		if (!n) {
			n = 1;
			if (*at == '"' || *at == '\'') {
				n += strcspn(at + 1, (char[]){*at, '\0'});
				n += at[n] != '\0';
			}
			name = isspace((unsigned char)*at) ? name : *at == ')';
			continue;
		}
		snprintf(word, NAME_BYTES, "%.*s", (int)n, at);
		if (is_keyword(word, &name))
			continue;
		field = strrchr(word, '.') ? strrchr(word, '.') + 1 : word;
		fflush(known);
		if (name)
			fprintf(known, "%s ", word);
		else if (!isdigit((unsigned char)*word) && strncmp(field, "TIMESTAMP", 9) != 0 &&
			 strncmp(field, "common_", 7) != 0 && !names(*text, field))
			return field;
		name = true; /* behind a word, without AS */
	}
	return NULL;
}

/* Return: -EINVAL with fail() set, or 0: all its fields are known. */
static int wrong_field(struct tep_handle *tep, const char *sql)
{
	struct tep_event **events = tep_list_events(tep, TEP_EVENT_SORT_ID);
	char word[NAME_BYTES], near[NAME_BYTES], *text = NULL;
	const char *field;
	size_t bytes;
	FILE *known = open_memstream(&text, &bytes);
	bool is_near;

	if (!known)
		return 0;
	for (; events && *events; events++)
		for (const struct tep_format_field *f = (*events)->format.fields; f; f = f->next)
			fprintf(known, "%s ", f->name);
	field = unknown_field(sql, known, &text, word);
	fclose(known);
	is_near = field && suggest_of(text, field, near, sizeof(near));
	free(text);
	if (!field)
		return 0;
	return fail(EINVAL, "no event of the statement has a field '%s'%s%s%s", field,
		    is_near ? ", did you mean " : "", is_near ? near : "", is_near ? "?" : "");
}

/* fail() with the error of libtracefs, which marks the position in a second line, as one line. */
static int wrong(struct tep_handle *tep, const char *sql, const char *text)
{
	char word[NAME_BYTES] = "", why[NAME_BYTES] = "";
	const char *at = text ? strstr(text, "ERROR: ") : NULL;
	bool said = at && sscanf(at, "ERROR: %255[^\n]\n%255[^\n]", word, why) == 2;

	if (said && (strstr(why, "syntax error") || strstr(why, "event not found")))
		return fail(EINVAL, "%s: %s", word, why);
	if (wrong_field(tep, sql))
		return -EINVAL;
	return said ? fail(EINVAL, "%s: %s", word, why)
		    : fail(EINVAL, "the statement is not valid: is each event and alias in "
				   "it named by FROM or JOIN?");
}

static int save_fields(struct tracefs_synth *synth, enum tracefs_synth_handler when,
		       const char *var, const char *fields)
{
	char one[NAME_BYTES];
	char *list[65];
	unsigned int nr = 0;
	int err = 0;

	for (const char *at = fields; !err; at++) {
		size_t n = strcspn(at, ",");

		snprintf(one, sizeof(one), "%.*s", n < sizeof(one) ? (int)n : 0, at);
		if (!*one || nr == 64)
			err = fail(EINVAL, "-S: not a list of fields: %s", fields);
		else if (!(list[nr++] = strdup(one)))
			err = fail(ENOMEM, "out of memory");
		at += n;
		if (!*at)
			break;
	}
	list[nr] = NULL;
	if (!err && tracefs_synth_save(synth, when, var, list))
		err = fail(EINVAL, "-S %s: these are not all fields of the end event", fields);
	for (unsigned int i = 0; i < nr; i++)
		free(list[i]);
	return err;
}

/*
 * The name __VAR_NUMBER_NUMBER that libtracefs gives to a variable; releases up to 1.6 expect it.
 * @name: gets it, or @var itself if there is no such name.
 */
static void name_var(struct tracefs_synth *synth, const char *var, char *name, size_t bytes)
{
	struct trace_seq seq;
	const char *at, *end;
	int n = (int)strlen(var);

	snprintf(name, bytes, "%s", var);
	trace_seq_init(&seq);
	tracefs_synth_echo_cmd(&seq, synth);
	trace_seq_terminate(&seq);
	for (at = seq.buffer; (at = strstr(at, "__")); at++) {
		end = at + strcspn(at, "=,:");
		if (at > seq.buffer && strchr(",:", at[-1]) && *end == '=' &&
		    !strncmp(at + 2, var, (size_t)n) && at[2 + n] == '_' &&
		    strspn(at + 2 + n, "_0123456789") == (size_t)(end - at) - 2 - (size_t)n) {
			snprintf(name, bytes, "%.*s", (int)(end - at), at);
			break;
		}
	}
	trace_seq_destroy(&seq);
}

static int act(struct tracefs_synth *synth, const struct sqlhist *how)
{
	enum tracefs_synth_handler when =
		how->max ? TRACEFS_SYNTH_HANDLE_MAX : TRACEFS_SYNTH_HANDLE_CHANGE;
	const char *asked = how->max ? how->max : how->change;
	char var[NAME_BYTES];
	int err = 0;

	if (!asked)
		return 0;
	name_var(synth, asked, var, sizeof(var));
	if (how->save)
		err = save_fields(synth, when, var, how->save);
	if (!err && (how->trace || (!how->snapshot && !how->save)) &&
	    tracefs_synth_trace(synth, when, var))
		err = fail(EINVAL, "%s is no variable of the end event in the statement", asked);
	if (!err && how->snapshot && tracefs_synth_snapshot(synth, when, var))
		err = fail(EINVAL, "%s is no variable of the end event in the statement", asked);
	return err;
}

/* @line: echo 'TEXT' >> PATH. It is changed. */
static int put_line(char *line, int (*put)(void *arg, const char *path, const char *text),
		    void *arg)
{
	char *text = strchr(line, '\''), *end = text ? strrchr(text + 1, '\'') : NULL, *path;

	path = end ? strchr(end, '/') : NULL;
	if (!path)
		return fail(EINVAL, "no command: %s", line);
	*end = '\0';
	if (strstr(path, "/events/"))
		path = strstr(path, "/events/") + 1;
	else
		path = strrchr(path, '/') + 1;
	return put(arg, path, text + 1);
}

static int put_all(struct tracefs_synth *synth, const struct sqlhist *how,
		   int (*put)(void *arg, const char *path, const char *text), void *arg)
{
	struct tracefs_hist *start;
	struct trace_seq seq;
	char *line, *next;
	int err = 0;

	trace_seq_init(&seq);
	if (tracefs_synth_complete(synth)) {
		err = act(synth, how);
		if (!err && tracefs_synth_echo_cmd(&seq, synth))
			err = fail_errno(errno, "no commands can be made of the statement");
	} else if (how->max || how->change) {
		err = fail(EINVAL,
			   "the statement makes no synthetic event: it has no JOIN, so %s "
			   "means nothing",
			   how->max ? "-m" : "-c");
	} else {
		start = tracefs_synth_get_start_hist(synth);
		tracefs_hist_echo_cmd(&seq, NULL, start, 0);
		tracefs_hist_free(start);
	}
	trace_seq_terminate(&seq);
	for (line = seq.buffer; !err && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		err = put_line(line, put, arg);
	}
	trace_seq_destroy(&seq);
	return err;
}

int sqlhist_make(struct target *t, const char *dir, const struct sqlhist *how,
		 int (*put)(void *arg, const char *path, const char *text), void *arg)
{
	struct tracefs_synth *synth;
	struct tep_handle *tep;
	char *why = NULL;
	int err = load(t, dir, how->sql, &tep);

	if (err)
		return err;
	synth = tracefs_sql(tep, how->name, how->sql, &why);
	err = synth ? put_all(synth, how, put, arg) : wrong(tep, how->sql, why);
	free(why);
	if (synth)
		tracefs_synth_free(synth);
	tep_free(tep);
	return err;
}
