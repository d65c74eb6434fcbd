/* SPDX-License-Identifier: MIT */
/*
 * The parts of a histogram beyond keys and values: variables, expressions, references to variables
 * of other histograms, and actions. A histogram without any of these has none of this (hist.more is
 * NULL), and pays nothing.
 *
 *	expr	an operand or an operator of an expression, a tree
 *	var	a value that each row keeps: named by the user, a field that an action needs, or a
 *		value of onmax(), onchange() or save()
 *	ref	a variable of this or another histogram, looked up in the row with the same keys
 *	action	is carried out when a record was counted and all references had values
 */
#ifndef VESTIGE_EVENTS_TRIGGER_HIST_VARS_H
#define VESTIGE_EVENTS_TRIGGER_HIST_VARS_H

#include "engine/events/trigger/hist_impl.h"
#include "engine/events/trigger/hist_parse.h"
#include "engine/events/trigger/synth.h"

#define HIST_MAX_REFS	 16u
#define HIST_MAX_ACTIONS 8u
#define HIST_MAX_SUBEXPR 3u

enum hist_op { HIST_LEAF, HIST_CONST, HIST_REF, HIST_NEG, HIST_ADD, HIST_SUB, HIST_MUL, HIST_DIV };

struct hist_expr {
	uint8_t op;   /* enum hist_op */
	uint8_t type; /* enum area_hist_type */
	uint8_t is_signed;
	uint8_t is_usecs; /* a time in us, or an expression with one */
	uint8_t ref;	  /* HIST_REF: number of the reference */
	uint32_t size;
	uint64_t constant;
	const char *type_name; /* as in an event's field */
	const char *text;      /* as it is listed */
	const struct hist_expr *a, *b;
	struct hist_field field; /* HIST_LEAF */
};

enum hist_var_kind { HIST_VAR_NAMED, HIST_VAR_FIELD, HIST_VAR_TRACK, HIST_VAR_SAVED };

struct hist_var {
	uint8_t kind;	    /* enum hist_var_kind */
	uint32_t at, bytes; /* in a row */
	/* a text or a stack: its offset in scratch memory while a record is counted */
	uint32_t scratch;
	const char *name;
	const struct hist_expr *expr; /* NULL: HIST_VAR_TRACK */
};

struct hist_ref {
	struct hist *target; /* NULL: it was removed */
	uint8_t var;
	uint8_t read_once;
	uint32_t scratch;
	const char *text; /* as it is listed */
};

enum hist_handler { HIST_ONMATCH, HIST_ONMAX, HIST_ONCHANGE };
enum hist_do { HIST_TRACE, HIST_SAVE, HIST_SNAPSHOT };

struct hist_action {
	uint8_t handler;  /* enum hist_handler */
	uint8_t what;	  /* enum hist_do */
	uint8_t by_trace; /* written as `trace(EVENT,...)`, not as `EVENT(...)` */
	uint8_t track_ref, track_var;
	const char *system, *event; /* onmatch */
	const char *var;	    /* onmax, onchange: with its `$` */
	const char *shown;	    /* `onmax($var)` */
	const char *name;	    /* name of the action */
	const char *synth_name;
	uint32_t nr_params;
	const char **params;
	uint8_t *refs; /* a reference for each parameter */
	struct synth_event *synth;
};

struct hist_bytes {
	struct hist_bytes *next;
	uint64_t bytes[];
};

struct hist_vars {
	uint32_t nr_vars, nr_refs, nr_actions;
	struct hist_var vars[HIST_MAX_VARS];
	struct hist_ref refs[HIST_MAX_REFS];
	struct hist_action actions[HIST_MAX_ACTIONS];
	uint32_t set_at;	/* offset in a row of a bit for each variable: it has a value */
	uint32_t scratch_bytes; /* for its texts and stacks while a record is counted */
	uint32_t nr_users;	/* references from other histograms */
	/* made for an action of another histogram; removed with that one's last reference */
	uint8_t made;
	struct hist_bytes *memory; /* of all names and texts here */
};

/* Its hist.more, which is made if there is none; NULL: no memory. */
struct hist_vars *hist_vars(struct hist *h);
/* Memory that is freed with it; NULL: there is none. */
void *hist_vars_alloc(struct hist *h, size_t bytes);
/* A copy of a word, in such memory. */
const char *hist_vars_copy(struct hist *h, const struct word *w);
void hist_vars_free(struct hist *h);
int hist_vars_same(const struct hist_vars *a, const struct hist_vars *b);

/* hist_expr.c */

/*
 * hist_expr_parse() - parse an expression of a line. @text: up to its end; an operand is cut off
 * there. Return: 0; -errno, logged by bad().
 */
int hist_expr_parse(struct line *l, const struct word *text, const struct hist_expr **out);
/* Parse a field or a variable. */
int hist_atom_parse(struct line *l, const struct word *text, const struct hist_expr **out);
/* Whether it has an operator. */
int hist_has_operator(const struct word *text);
/* Evaluate an expression. @refs: the values of the references. Any context. */
uint64_t hist_expr_value(const struct hist *h, const struct hist_expr *e, const void *record,
			 const uint64_t *refs);

/* hist_var.c */

/* Split `name=expr,name=expr` of each assignment; hist_vars_parse() then parses the expressions. */
int hist_vars_split(struct line *l, const struct word *assignments, uint32_t nr);
int hist_vars_parse(struct line *l);
/* Whether a variable of that name exists, in this or another histogram of the event. */
int hist_var_named(const struct line *l, const struct word *name);
/* Find the variable `[system.event.]$name` as a line means it; -ENOENT: there is none. */
int hist_ref_find(struct line *l, const struct word *system, const struct word *event,
		  const struct word *name, uint8_t *ref);
int hist_ref_add(struct hist *h, struct hist *target, uint8_t var, const struct word *system,
		 const struct word *event, uint8_t *ref);
const struct hist_expr *hist_ref_expr(const struct hist_ref *ref);
int hist_var_add(struct hist *h, enum hist_var_kind kind, const struct word *name,
		 const struct hist_expr *expr, uint8_t *var);
int hist_var_find(const struct hist *h, const struct word *name);
/* Set the offsets of variables in the rows. */
void hist_vars_lay_out(struct hist *h);

/* hist_action.c */

/* Parse `onmatch(...).name(...)` and its kind. hist_actions_create() looks up the names. */
int hist_action_parse(struct line *l, const struct word *text);
int hist_is_action(const struct word *text);
int hist_actions_create(struct line *l);
void hist_actions_fire(struct hist *h, struct hist_row *row, const void *record,
		       const uint64_t *refs);

#endif
