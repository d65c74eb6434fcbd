/* SPDX-License-Identifier: MIT */
/* A command that defines a probe: shared by its parser and the code that makes the probe. */
#ifndef VESTIGE_EVENTS_PROBE_PROBE_COMMAND_H
#define VESTIGE_EVENTS_PROBE_PROBE_COMMAND_H

#include "engine/events/probe/probe_event.h"

/* A command while it is read. */
struct probe_definition {
	const struct dyn_command *c;
	struct dyn_error *error;
	uint32_t word; /* in which what is wrong is looked for */
	char group[DYN_MAX_NAME], name[DYN_MAX_NAME];
	int is_return, is_file, is_function, is_event, is_tracepoint;
	struct event *attached; /* as in struct probe; an event's probe: is_event */
	const char *filter;	/* the same; copied, NULL: none */
	const struct dyn_class *class;
	uint64_t maxactive;
	uint64_t file_offset;
	int is_away;	     /* its object is not loaded */
	uint32_t path_bytes; /* of the place's word, when it is a file */
	struct probe_target at;
	char place[DYN_MAX_COMMAND + 32];
};

/* A definition of @class in @c; NULL: no memory. heap_free() it. */
struct probe_definition *probe_begin(const struct dyn_command *c, struct dyn_error *error,
				     const struct dyn_class *class, const char *group);

/* Log an error @position bytes into the word. Return: @err. */
int probe_bad(struct probe_definition *d, uint32_t position, const char *text, int err);

/* `[GRP/][EV]`, @at bytes behind the word's beginning. No EV: d->name stays empty. */
int probe_read_name(struct probe_definition *d, const char *text, size_t n, uint32_t at);

/*
 * probe_read_args() - the @nr arguments from the command's third word on, and where each is in a
 * record. @bytes: of the record before them; of all of it when they are read.
 */
int probe_read_args(struct probe_definition *d, struct fetch_arg *args, uint32_t nr,
		    const struct fetch_context *ctx, uint32_t *bytes);

/* Whether the writer found names that mean nothing (abi/probe_word.h). Return: 0 or -EINVAL. */
int probe_has_errors(struct probe_definition *d);

/* The address of a symbol, for fetch_context. */
int probe_fetch_symbol(void *arg, const char *name, size_t n, uint64_t *address);

/* `p`, `r20`, and whether a name follows: *@colon is not the word's end then. */
int probe_read_kind(struct probe_definition *d, uint32_t *colon);

/* The arguments, when the place and the name are known, and what is left to do. */
int probe_finish(struct probe_definition *d);

/* The command is read: make the probe. @bytes: of a record without its strings. */
int probe_define(struct probe_definition *d, const struct fetch_arg *args, uint32_t nr,
		 uint32_t bytes);

/* As struct dyn_class has them. */
int kprobe_create(const struct dyn_command *c, struct dyn_error *error);
int uprobe_create(const struct dyn_command *c, struct dyn_error *error);
int fprobe_create(const struct dyn_command *c, struct dyn_error *error);

#endif
