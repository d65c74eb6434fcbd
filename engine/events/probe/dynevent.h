/* SPDX-License-Identifier: MIT */
/*
 * Events that a write defines: dynamic_events, and kprobe_events and uprobe_events, which have one
 * kind each. One list has all of them, in order of their definition. Under the tree lock.
 */
#ifndef VESTIGE_EVENTS_PROBE_DYNEVENT_H
#define VESTIGE_EVENTS_PROBE_DYNEVENT_H

#include "engine/base/registry.h"
#include "engine/base/seq_buf.h"
#include "engine/events/filter/filter.h"

#define DYN_MAX_WORDS	 131u /* the kernel's 128 arguments, and the words before and after them */
#define DYN_MAX_COMMAND	 4094u
#define DYN_MAX_NAME	 64u /* of a group or an event, NUL included */
#define DYN_PROBE_KPROBE 1u
#define DYN_PROBE_UPROBE 2u
#define DYN_PROBE_FPROBE 4u
#define DYN_PROBE_EPROBE 8u
#define DYN_PROBE_TPROBE 16u
#define DYN_SYNTH	 32u
#define DYN_ANY		 (~0u)

struct dyn_event;

/* One command: its words, separated by single blanks, as the error log shows them. */
struct dyn_command {
	const char *raw; /* as it was written, without a comment */
	size_t raw_bytes;
	uint32_t nr_words;
	const char *word[DYN_MAX_WORDS];
	uint32_t bytes[DYN_MAX_WORDS];
	/*
	 * offsets of the words in `text`; a missing word, and the one after the last: the end of it
	 */
	uint32_t at[DYN_MAX_WORDS + 1];
	/*
	 * The meaning that the tools added to each word (abi/probe_word.h), from its mark on; 0:
	 * none.
	 */
	const char *said[DYN_MAX_WORDS];
	uint32_t said_bytes[DYN_MAX_WORDS];
	char text[DYN_MAX_COMMAND + DYN_MAX_WORDS];
	uint32_t text_bytes;
};

/* The error in a command. */
struct dyn_error {
	const char *location; /* for the error log; NULL: do not log it */
	struct parse_error error;
	const char *command; /* as it is logged, @bytes; NULL: the command's words */
	size_t bytes;
};

struct dyn_class {
	uint32_t kind; /* DYN_*, one for each class; the class with the lowest is tried first */
	/*
	 * Define the event of a command. Return: 0; -ECANCELED: the command is not for this class;
	 * -errno, and *@error if there is something to log.
	 */
	int (*create)(const struct dyn_command *c, struct dyn_error *error);
	/* Put the definition, without a newline. */
	void (*show)(const struct dyn_event *e, struct seq_buf *s);
	/* Whether it cannot be removed now. */
	int (*is_busy)(const struct dyn_event *e);
	/*
	 * Whether `GRP/EV` and the words of a definition that follow match it. @group: NULL: any;
	 * @name: NULL: any.
	 */
	int (*matches)(const struct dyn_event *e, const char *group, size_t group_bytes,
		       const char *name, size_t name_bytes, const struct dyn_command *c);
	/* Remove and free it. It is not busy, and is no longer in the list. */
	void (*free)(struct dyn_event *e);
};

REGISTRY(vestige_dyn_classes, const struct dyn_class);
#define DYN_CLASS_REGISTER(self) REGISTRY_ADD(vestige_dyn_classes, self)

/* The first member of each event. */
struct dyn_event {
	const struct dyn_class *class;
	struct dyn_event *next;
};

extern struct dyn_event *dyn_events;

/* Add it at the end of the list. */
void dyn_event_add(struct dyn_event *e);

/* Remove and free it. It is not busy. */
void dyn_event_remove(struct dyn_event *e);

/* Split a line of text into words. Return: 0 (nr_words 0: there is none) or -E2BIG. */
int dyn_command_split(struct dyn_command *c, const char *text, size_t n);

/* Whether the words from @first on equal @words, a text with single blanks. */
int dyn_command_words_are(const struct dyn_command *c, uint32_t first, const char *words, size_t n);

/*
 * dyn_event_command() - run one command, which defines an event or removes some. @kinds: DYN_* to
 * which it may apply. Return: 0; -errno and *@error.
 */
int dyn_event_command(const struct dyn_command *c, uint32_t kinds, struct dyn_error *error);

/* Remove all events of these kinds. Return: 0; -EBUSY: one is in use, so none was removed. */
int dyn_events_clear(uint32_t kinds);

void dyn_events_show(uint32_t kinds, struct seq_buf *s);

#endif
