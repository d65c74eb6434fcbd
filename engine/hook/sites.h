/* SPDX-License-Identifier: MIT */
/* The sites of an object: the NOPs in its text, and the slots and islands near it. */
#ifndef VESTIGE_HOOK_SITES_H
#define VESTIGE_HOOK_SITES_H

#include "abi/record.h"
#include "engine/process/object.h"
#include "engine/hook/port.h"

struct redirect;
struct text_windows;

/* The redirects' answers to probes (text/probe_points.h). */
extern const struct text_windows sites_windows;

/*
 * sites_prepare() - map the slots and islands of a scanned object. Calls that the compiler made
 * become NOPs; its NOPs stay until their functions are wanted. @redirects: of redirect_scan(), or
 * NULL. Return: 0; -ENOMEM: there is no room near the text; -EACCES and the like: the text cannot
 * be written. Then the object's row has the reason, and its functions are not traced.
 */
int sites_prepare(struct object *o, struct redirect *redirects);

/* arm() of struct hook. */
int sites_arm(struct object *o, uint8_t *how, enum record_kind kind);

/* forget() of struct hook. */
void sites_forget(struct object *o);

/*
 * Choose the entry points. @rseq, @tsc: whether the process has them. @stamps: from trace_clock.
 * Before the first scan, or while no site is armed.
 */
void sites_choose_entry(int rseq, int tsc, int stamps);

/* The entry points that sites_choose_entry() chose. */
const struct hook_entries *sites_entries(void);

#endif
