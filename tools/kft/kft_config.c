/* SPDX-License-Identifier: MIT */
/* See kft_config.h. */
#include "tools/kft/kft_config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/elf_code.h"

#define MAX_BYTES (1u << 20)
#define MAX_US	  (UINT64_C(1) << 50)

struct words {
	char *at;
	const char *name;
	unsigned int line, next_line;
	char *word; /* the one that was taken last; NULL: the text has ended */
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

/* The next word; NULL: there is none. */
static char *next(struct words *w)
{
	char *p = w->at;

	for (; isspace((unsigned char)*p) || *p == '#'; p++) {
		if (*p == '#')
			p += strcspn(p, "\n");
		if (!*p)
			break;
		w->next_line += *p == '\n';
	}
	w->line = w->next_line;
	w->word = *p ? p : NULL;
	while (*p && *p != '#' && !isspace((unsigned char)*p))
		p++;
	w->at = p;
	if (*p == '\n')
		w->next_line++;
	if (*p == '#') {
		/* skip the comment behind the word, so that the word can be ended by NUL here */
		w->at += strcspn(p, "\n");
		w->next_line += *w->at == '\n';
	}
	if (*w->at)
		w->at++;
	if (w->word)
		*p = '\0';
	return w->word;
}

static int bad(const struct words *w, const char *wanted)
{
	return fail(EINVAL, "%s: line %u: %s, not '%s'", w->name, w->line, wanted,
		    w->word ? w->word : "the end of the file");
}

static int take_number(struct words *w, uint64_t max, const char *wanted, uint64_t *n)
{
	char *end, *word = next(w);

	errno = 0;
	*n = word && isdigit((unsigned char)*word) ? strtoull(word, &end, 10) : UINT64_MAX;
	if (!word || *n > max || errno || *end)
		return bad(w, wanted);
	return 0;
}

static int take_copy(struct words *w, char **to)
{
	char *copy = strdup(w->word);

	if (!copy)
		return no_memory();
	free(*to);
	*to = copy;
	return 0;
}

static bool is(const struct words *w, const char *word)
{
	return w->word && !strcmp(w->word, word);
}

static int take_trigger(struct words *w, struct kft_config *config)
{
	struct kft_trigger *t;

	next(w);
	if (!is(w, "start") && !is(w, "stop"))
		return bad(w, "a trigger is 'start' or 'stop'");
	t = is(w, "start") ? &config->start : &config->stop;
	if (t->kind != KFT_NONE)
		return fail(EINVAL, "%s: line %u: a second trigger to %s", w->name, w->line,
			    w->word);
	next(w);
	if (is(w, "time")) {
		t->kind = KFT_TIME;
		return take_number(w, MAX_US, "a time is a number of microseconds", &t->us);
	}
	if (!is(w, "entry") && !is(w, "exit"))
		return bad(w, "a trigger is at 'entry', 'exit' or 'time'");
	t->kind = is(w, "entry") ? KFT_ENTRY : KFT_EXIT;
	return next(w) ? take_copy(w, &t->function) : bad(w, "a function is wanted");
}

static int take_functions(struct words *w, struct kft_config *config)
{
	while (next(w) && !is(w, "fend")) {
		if (config->nr_functions == KFT_MAX_FUNCTIONS)
			return fail(E2BIG, "%s: line %u: more than %u functions", w->name, w->line,
				    KFT_MAX_FUNCTIONS);
		if (ARRAY_ROOM(config->functions, config->nr_functions, config->room, 16))
			return no_memory();
		config->functions[config->nr_functions] = NULL;
		if (take_copy(w, &config->functions[config->nr_functions]))
			return -ENOMEM;
		config->nr_functions++;
	}
	if (!w->word)
		return bad(w, "a list of functions ends with 'fend'");
	return config->nr_functions ? 0 : bad(w, "a function is wanted");
}

static int take_filter(struct words *w, struct kft_config *config)
{
	static const char time[] = "a time is a number of microseconds";

	next(w);
	if (is(w, "mintime"))
		return take_number(w, MAX_US, time, &config->min_us);
	if (is(w, "maxtime"))
		return take_number(w, MAX_US, time, &config->max_us);
	if (is(w, "funclist"))
		return take_functions(w, config);
	if (is(w, "noints"))
		config->noints = true;
	else if (is(w, "onlyints"))
		config->onlyints = true;
	else
		return bad(w,
			   "a filter is 'mintime', 'maxtime', 'noints', 'onlyints' or 'funclist'");
	return 0;
}

static int take_watch(struct words *w, struct kft_config *config)
{
	unsigned int line;

	next(w);
	if (!is(w, "stack") && !is(w, "worst-stack"))
		return bad(w, "a watch is of 'stack' or 'worst-stack'");
	line = w->line;
	if (config->watch_bytes)
		return fail(EINVAL, "%s: line %u: a second watch", w->name, line);
	config->watch_worst = is(w, "worst-stack");
	if (take_number(w, KFT_MAX_WATCH,
			"the limit of a watch is a number of bytes, at most 1099511627776",
			&config->watch_bytes))
		return -EINVAL;
	if (!config->watch_bytes)
		return fail(EINVAL, "%s: line %u: no stack has less than 0 bytes left", w->name,
			    line);
	return 0;
}

static int take_entry(struct words *w, struct kft_config *config)
{
	if (is(w, "trigger"))
		return take_trigger(w, config);
	if (is(w, "filter"))
		return take_filter(w, config);
	if (is(w, "logentries") || is(w, "logsize"))
		return take_number(w, KFT_MAX_LOG_ENTRIES,
				   "the size of the log is a number of entries, at most 16777216",
				   &config->log_entries);
	if (is(w, "watch"))
		return take_watch(w, config);
	if (is(w, "autorepeat"))
		config->autorepeat = true;
	else if (is(w, "overwrite"))
		config->overwrite = true;
	else if (is(w, "untimed"))
		config->untimed = true;
	else if (!is(w, "prime"))
		return bad(w, "an entry is 'trigger', 'filter', 'watch', 'logentries', "
			      "'autorepeat', 'overwrite', 'untimed' or 'end'");
	return 0;
}

/* Entries that exclude one another are an error. */
static int check(const struct words *w, const struct kft_config *config)
{
	if (config->noints && config->onlyints)
		return fail(EINVAL, "%s: noints and onlyints leave nothing", w->name);
	if (config->min_us && config->max_us && config->min_us > config->max_us)
		return fail(EINVAL, "%s: mintime is above maxtime, which leaves nothing", w->name);
	if (config->untimed && (config->min_us || config->max_us))
		return fail(EINVAL, "%s: untimed entries have no time for mintime and maxtime",
			    w->name);
	if (config->autorepeat && config->overwrite)
		return fail(EINVAL,
			    "%s: autorepeat ends when the log is full, which it never is with "
			    "overwrite",
			    w->name);
	if (config->autorepeat && config->stop.kind == KFT_NONE)
		return fail(EINVAL, "%s: autorepeat is without a trigger to stop", w->name);
	if (!config->log_entries)
		return fail(EINVAL, "%s: a log of no entry", w->name);
	return 0;
}

int kft_config_parse(char *text, const char *name, struct kft_config *config)
{
	struct words w = {.at = text, .name = name, .next_line = 1};
	int err = 0;

	config->log_entries = KFT_LOG_ENTRIES;
	next(&w);
	if (is(&w, "new"))
		next(&w);
	if (!is(&w, "begin"))
		return bad(&w, "a configuration begins with 'begin'");
	while (!err && next(&w) && !is(&w, "end"))
		err = take_entry(&w, config);
	if (!err && !w.word)
		err = bad(&w, "a configuration ends with 'end'");
	if (!err && next(&w))
		err = bad(&w, "nothing is behind 'end'");
	return err ? err : check(&w, config);
}

int kft_config_read(const char *path, struct kft_config *config)
{
	char *text = malloc(MAX_BYTES + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	size_t nr = 0;
	ssize_t n = 1;

	if (!text)
		err = no_memory();
	else if (fd < 0)
		err = fail_errno(errno, "cannot open '%s'", path);
	while (!err && n > 0 && nr < MAX_BYTES) {
		n = read(fd, text + nr, MAX_BYTES - nr);
		if (n < 0 && errno != EINTR)
			err = fail_errno(errno, "cannot read '%s'", path);
		nr += n > 0 ? (size_t)n : 0;
	}
	if (!err && nr == MAX_BYTES)
		err = fail(EFBIG, "%s: a configuration has less than 1 MiB", path);
	if (!err) {
		text[nr] = '\0';
		err = kft_config_parse(text, path, config);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

void kft_config_free(struct kft_config *config)
{
	for (size_t i = 0; i < config->nr_functions; i++)
		free(config->functions[i]);
	free(config->functions);
	free(config->start.function);
	free(config->stop.function);
	*config = (struct kft_config){0};
}

/* Replace *@name by the function's name if it is 0xADDRESS. */
static int name_one(char **name, const char *program, struct elf_code *code)
{
	const struct elf_symbol *best = NULL;
	uint64_t addr;
	char *end, *copy;
	int err;

	if (!*name || strncmp(*name, "0x", 2) != 0)
		return 0;
	addr = strtoull(*name, &end, 16);
	if (*end || end == *name + 2)
		return fail(EINVAL, "%s is no address", *name);
	if (!program)
		return fail(EINVAL,
			    "%s: an address is of a program that is named by its path: use a "
			    "name",
			    *name);
	err = code->symbols || code->sections ? 0 : elf_code_load(program, code);
	if (err)
		return err;
	for (size_t i = 0; i < code->nr_symbols; i++)
		if (code->symbols[i].addr == addr && (!best || code->symbols[i].rank < best->rank))
			best = &code->symbols[i];
	if (!best)
		return fail(ENOENT, "no function of %s begins at %s", program, *name);
	copy = strdup(best->name);
	if (!copy)
		return no_memory();
	free(*name);
	*name = copy;
	return 0;
}

int kft_config_name(struct kft_config *config, const char *program)
{
	struct elf_code code = {0};
	int err = name_one(&config->start.function, program, &code);

	if (!err)
		err = name_one(&config->stop.function, program, &code);
	for (size_t i = 0; i < config->nr_functions && !err; i++)
		err = name_one(&config->functions[i], program, &code);
	if (code.symbols || code.sections)
		elf_code_free(&code);
	return err;
}

static void put_trigger(struct out *o, const char *what, const struct kft_trigger *t)
{
	if (t->kind == KFT_TIME)
		out_printf(o, "  trigger %s time %" PRIu64 "\n", what, t->us);
	else if (t->kind != KFT_NONE)
		out_printf(o, "  trigger %s %s %s\n", what, t->kind == KFT_ENTRY ? "entry" : "exit",
			   t->function);
}

void kft_config_put(struct out *o, const struct kft_config *config)
{
	put_trigger(o, "start", &config->start);
	put_trigger(o, "stop", &config->stop);
	if (config->min_us)
		out_printf(o, "  filter mintime %" PRIu64 "\n", config->min_us);
	if (config->max_us)
		out_printf(o, "  filter maxtime %" PRIu64 "\n", config->max_us);
	if (config->noints || config->onlyints)
		out_printf(o, "  filter %s\n", config->noints ? "noints" : "onlyints");
	for (size_t i = 0; i < config->nr_functions; i++)
		out_printf(o, "%s%s", i ? " " : "  filter funclist ", config->functions[i]);
	out_text(o, config->nr_functions ? " fend\n" : "");
	if (config->watch_bytes)
		out_printf(o, "  watch %s %" PRIu64 "\n",
			   config->watch_worst ? "worst-stack" : "stack", config->watch_bytes);
	out_printf(o, "  logentries %" PRIu64 "\n", config->log_entries);
	out_printf(o, "%s%s%s", config->autorepeat ? "  autorepeat\n" : "",
		   config->overwrite ? "  overwrite\n" : "", config->untimed ? "  untimed\n" : "");
}
