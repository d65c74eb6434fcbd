/* SPDX-License-Identifier: MIT */
/* The sites of an object: the NOPs in its text, and the slots and islands near it. */
#ifndef VESTIGE_HOOK_SITES_H
#define VESTIGE_HOOK_SITES_H

#include "abi/record.h"
#include "engine/process/object.h"
#include "engine/hook/port.h"

struct redirect;
struct text_windows;

/* Redirects as probes ask for them (text/probe_points.h). */
extern const struct text_windows sites_windows;

/*
 * sites_prepare() - map the slots and islands of a scanned object. Where the compiler made calls
 * they become NOPs; its NOPs stay until their functions are wanted.
 * Return: 0; -ENOMEM if there is no room near the text, -EACCES and the like if the text cannot be
 * written: the object's row then says so and its functions are not traced.
 */
int sites_prepare(struct object *o, struct redirect *redirects);

/* struct hook's arm. */
int sites_arm(struct object *o, uint8_t *how, enum record_kind kind);

/* struct hook's forget. */
void sites_forget(struct object *o);

/*
 * Choose the entry points: @rseq and @tsc as the process has them, @stamps as trace_clock says.
 * Before the first scan, or while nothing is armed.
 */
void sites_choose_entry(int rseq, int tsc, int stamps);

/* What sites_choose_entry() chose. */
const struct hook_entries *sites_entries(void);

#endif
