/* SPDX-License-Identifier: MIT */
/* A command that defines a probe: shared by its parser and the code that makes the probe. */
#ifndef VESTIGE_EVENTS_PROBE_PROBE_COMMAND_H
#define VESTIGE_EVENTS_PROBE_PROBE_COMMAND_H

#include "engine/events/probe/probe_event.h"

/* A command while it is parsed. */
struct probe_definition {
	const struct dyn_command *c;
	struct dyn_error *error;
	uint32_t word; /* number of the word that is being parsed, for errors */
	char group[DYN_MAX_NAME], name[DYN_MAX_NAME];
	int is_return, is_file, is_function, is_event, is_tracepoint;
	struct event *attached; /* see struct probe; an event probe has is_event */
	const char *filter;	/* see struct probe; copied; NULL: none */
	const struct dyn_class *class;
	uint64_t maxactive;
	uint64_t file_offset;
	int is_away;	     /* its object is not loaded */
	uint32_t path_bytes; /* of the word PLACE, if it is a file */
	struct probe_target at;
	char place[DYN_MAX_COMMAND + 32];
};

/* Begin a definition of @class; NULL: no memory. The caller frees it with heap_free(). */
struct probe_definition *probe_begin(const struct dyn_command *c, struct dyn_error *error,
				     const struct dyn_class *class, const char *group);

/* Log an error, @position bytes into the current word. Return: @err. */
int probe_bad(struct probe_definition *d, uint32_t position, const char *text, int err);

/* Parse `[GRP/][EV]`, @at bytes behind the word's beginning. Without EV d->name stays empty. */
int probe_read_name(struct probe_definition *d, const char *text, size_t n, uint32_t at);

/*
 * probe_read_args() - parse the @nr arguments from the command's third word on, and set their
 * offsets in a record. @bytes: in: size of the record before them; out: size with them. Return: 0
 * or -errno.
 */
int probe_read_args(struct probe_definition *d, struct fetch_arg *args, uint32_t nr,
		    const struct fetch_context *ctx, uint32_t *bytes);

/* Whether the tools found names that mean nothing (abi/probe_word.h). Return: 0 or -EINVAL. */
int probe_has_errors(struct probe_definition *d);

/* Looks up a symbol's address, for fetch_context. */
int probe_fetch_symbol(void *arg, const char *name, size_t n, uint64_t *address);

/* Parse `p`, `r20`. *@colon: offset of the `:` before a name, or the word's end. */
int probe_read_kind(struct probe_definition *d, uint32_t *colon);

/* Parse the arguments, once place and name are known, and make the probe. */
int probe_finish(struct probe_definition *d);

/*
 * Make the probe of a command that has been parsed. @bytes: size of a record without its strings.
 */
int probe_define(struct probe_definition *d, const struct fetch_arg *args, uint32_t nr,
		 uint32_t bytes);

/* create() of struct dyn_class. */
int kprobe_create(const struct dyn_command *c, struct dyn_error *error);
int uprobe_create(const struct dyn_command *c, struct dyn_error *error);
int fprobe_create(const struct dyn_command *c, struct dyn_error *error);

#endif
