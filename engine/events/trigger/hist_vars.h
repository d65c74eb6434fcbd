/* SPDX-License-Identifier: MIT */
/*
 * The parts of a histogram beyond keys and values: variables, expressions, references to variables
 * of others, and actions. A histogram without any of these has none of this (hist.more is NULL),
 * and pays nothing.
 *
 *	expr	an operand or an operator of an expression, a tree
 *	var	a value that each row keeps: named by the user, a field that an action wants, or a
 *		value of onmax(), onchange() or save()
 *	ref	a variable of this or another histogram, whose row with the same keys is looked up
 * 	action is carried out when a record was counted and all references had values
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
	uint8_t is_usecs; /* a time in us, or an expression of one */
	uint8_t ref;	  /* HIST_REF: its number */
	uint32_t size;
	uint64_t constant;
	const char *type_name; /* as an event's field has it */
	const char *text;      /* as it is listed */
	const struct hist_expr *a, *b;
	struct hist_field field; /* HIST_LEAF */
};

enum hist_var_kind { HIST_VAR_NAMED, HIST_VAR_FIELD, HIST_VAR_TRACK, HIST_VAR_SAVED };

struct hist_var {
	uint8_t kind;	    /* enum hist_var_kind */
	uint32_t at, bytes; /* in a row */
	uint32_t scratch;   /* a text or a stack: where it is while a record is counted */
	const char *name;
	const struct hist_expr *expr; /* NULL: HIST_VAR_TRACK */
};

struct hist_ref {
	struct hist *target; /* NULL: it is gone */
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
	uint8_t by_trace; /* `trace(EVENT,...)`, not `EVENT(...)` */
	uint8_t track_ref, track_var;
	const char *system, *event; /* onmatch */
	const char *var;	    /* onmax, onchange: with its `$` */
	const char *shown;	    /* `onmax($var)` */
	const char *name;	    /* of the action */
	const char *synth_name;
	uint32_t nr_params;
	const char **params;
	uint8_t *refs; /* of each parameter */
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
	uint32_t set_at;	/* in a row: a bit for each variable that has a value */
	uint32_t scratch_bytes; /* of its texts and stacks while a record is counted */
	uint32_t nr_users;	/* references that others have */
	uint8_t made; /* for an action of another histogram; it goes with the last reference of that */
	struct hist_bytes *memory; /* of all that is named here */
};

/* Its more, made when there is none; NULL: no memory. */
struct hist_vars *hist_vars(struct hist *h);
/* Memory that goes with it; NULL: there is none. */
void *hist_vars_alloc(struct hist *h, size_t bytes);
/* A copy of a word. */
const char *hist_vars_copy(struct hist *h, const struct word *w);
void hist_vars_free(struct hist *h);
int hist_vars_same(const struct hist_vars *a, const struct hist_vars *b);

/* hist_expr.c */

/*
 * hist_expr_parse() - an expression of a line.
 * @text: up to its end, an operand of it is cut off there. Return: 0 or -errno, logged by bad().
 */
int hist_expr_parse(struct line *l, const struct word *text, const struct hist_expr **out);
/* A field or a variable. */
int hist_atom_parse(struct line *l, const struct word *text, const struct hist_expr **out);
/* Whether there is an operator in it. */
int hist_has_operator(const struct word *text);
/* @refs: the values of the references. Any context. */
uint64_t hist_expr_value(const struct hist *h, const struct hist_expr *e, const void *record,
			 const uint64_t *refs);

/* hist_var.c */

/* `name=expr,name=expr` of each assignment, and then what the expressions mean. */
int hist_vars_split(struct line *l, const struct word *assignments, uint32_t nr);
int hist_vars_parse(struct line *l);
/* Whether a variable of that name is there, in this or another histogram of the event. */
int hist_var_named(const struct line *l, const struct word *name);
/* A reference to `[system.event.]$name` as it is seen from a line; -ENOENT: there is none. */
int hist_ref_find(struct line *l, const struct word *system, const struct word *event,
		  const struct word *name, uint8_t *ref);
int hist_ref_add(struct hist *h, struct hist *target, uint8_t var, const struct word *system,
		 const struct word *event, uint8_t *ref);
const struct hist_expr *hist_ref_expr(const struct hist_ref *ref);
int hist_var_add(struct hist *h, enum hist_var_kind kind, const struct word *name,
		 const struct hist_expr *expr, uint8_t *var);
int hist_var_find(const struct hist *h, const struct word *name);
/* Give what varies its place in the rows. */
void hist_vars_lay_out(struct hist *h);

/* hist_action.c */

/* Parse `onmatch(...).name(...)` and its like. hist_actions_create() looks up the names. */
int hist_action_parse(struct line *l, const struct word *text);
int hist_is_action(const struct word *text);
int hist_actions_create(struct line *l);
void hist_actions_fire(struct hist *h, struct hist_row *row, const void *record,
		       const uint64_t *refs);

#endif
