/* SPDX-License-Identifier: MIT */
/*
 * The grammar of synthetic events: lines of synthetic_events, or (the first byte odd) of
 * dynamic_events. Promises: the position of an error is in its line; each defined field has a type,
 * a name and a size; and an event is listed as a line that defines the same again.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "engine/events/trigger/synth.h"

#define MAX_TEXT 2048

static const char *taken; /* a name that is there already; NULL: an event of another target's is */
struct synth_event *fuzz_known_synth;
static struct synth_field made[SYNTH_MAX_FIELDS];
static char types[SYNTH_MAX_FIELDS][64], names[SYNTH_MAX_FIELDS][160];
static uint32_t nr_made;

/* In place of the functions of synth.c. */
struct synth_event *synth_find(const char *name, size_t n)
{
	PROMISE(name);
	if (!taken)
		return n == 3 && !memcmp(name, fuzz_known_synth->name, n) ? fuzz_known_synth : NULL;
	return strlen(taken) == n && !memcmp(name, taken, n) ? (struct synth_event *)made : NULL;
}

int synth_remove(const char *name, size_t n)
{
	PROMISE(name);
	return n ? -ENOENT : -EBUSY;
}

int synth_define(const char *name, size_t name_bytes, const struct synth_field *fields, uint32_t nr)
{
	PROMISE(name_bytes && nr && nr <= SYNTH_MAX_FIELDS);
	PROMISE(!memchr(name, ' ', name_bytes) && !memchr(name, ';', name_bytes));
	for (uint32_t i = 0; i < nr; i++) {
		struct synth_type type;

		PROMISE(strlen(fields[i].type) < sizeof(types[0]) && *fields[i].type);
		PROMISE(strlen(fields[i].name) < sizeof(names[0]) && *fields[i].name);
		PROMISE(!synth_type_of(fields[i].type, &type));
		PROMISE(type.kind == fields[i].kind && type.size == fields[i].size && type.size);
		PROMISE(type.size <= SYNTH_STRING_BYTES && type.conversion[0] == '%');
		strcpy(types[i], fields[i].type);
		strcpy(names[i], fields[i].name);
		made[i] = fields[i];
	}
	nr_made = nr;
	return 0;
}

static int command(const char *text, size_t n, int dynamic)
{
	struct dyn_error error;
	int err = dynamic ? synth_dynamic_command(text, n, &error) : synth_command(text, n, &error);

	PROMISE(!err || err == -EINVAL || err == -EEXIST || err == -ENOENT || err == -EBUSY ||
		err == -ECANCELED);
	PROMISE((err == -EINVAL || err == -EEXIST) == (error.location != NULL));
	PROMISE(!error.location || (error.command >= text && error.bytes <= n &&
				    error.error.position < error.bytes && error.error.text));
	return err;
}

/* The definition, written as a line. */
static void define_again(void)
{
	static char line[SYNTH_MAX_FIELDS * 256];
	struct synth_field first[SYNTH_MAX_FIELDS];
	uint32_t nr = nr_made;
	int n = sprintf(line, "again");

	memcpy(first, made, sizeof(first));
	for (uint32_t i = 0; i < nr; i++)
		n += sprintf(line + n, " %s %s;", types[i], names[i]);
	PROMISE(!command(line, (size_t)n, 0) && nr_made == nr);
	for (uint32_t i = 0; i < nr; i++)
		PROMISE(made[i].kind == first[i].kind && made[i].size == first[i].size &&
			made[i].is_signed == first[i].is_signed);
}

static void run(const uint8_t *data, size_t n)
{
	char *text;

	if (n < 2 || n > MAX_TEXT)
		return;
	text = malloc(n - 1);
	PROMISE(text);
	memcpy(text, data + 1, n - 1);
	taken = "taken";
	nr_made = 0;
	if (!command(text, n - 1, data[0] & 1) && nr_made)
		define_again();
	free(text);
}

static void mutate(struct mangle *m)
{
	static const char *const words[] = {
		"unsigned ", "u64",	"char ",  "[16]",	"[]",	 ";",	  " ",
		"long",	     "long[] ", "s:",	  "synthetic/", "!",	 "name ", "int ",
		"[",	     "]",	"pid_t ", "taken ",	"gfp_t", "[257]",
	};
	const char *word = words[mangle_random(m, sizeof(words) / sizeof(words[0]))];

	if (m->n && mangle_random(m, 3))
		mangle_insert(m, 1 + mangle_random(m, m->n), word, strlen(word));
	else
		mangle_any(m);
}

const struct fuzz_target fuzz_synth = {"synth", run, mutate};
