/* SPDX-License-Identifier: MIT */
/*
 * The markers of SystemTap's <sys/sdt.h> in the program and its libraries (USDT): each is an event
 * sdt_PROVIDER:NAME with its arguments as arg1, arg2 and so on. Under the tree's lock.
 */
#ifndef VESTIGE_EVENTS_USDT_H
#define VESTIGE_EVENTS_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/events/fetch.h"

#define USDT_MAX_ARGS 12u /* as <sys/sdt.h> has them */

/*
 * Events are looked for when somebody asks for events, not before: objects_load() and dlopen() cost
 * nothing. Call it before `events` is read.
 */
void usdt_settle(void);

/* Objects have come or gone, and their markers with them. */
void usdt_follow(void);

/*
 * usdt_arg_parse() - what a note says of an argument: `-4@%edi`, `8@-24(%rbp)`, `4@$7`, `8@x+4(%rip)`.
 * @text: @n bytes. @symbol: the address of a name; @from: for it.
 * Return: 0; -EINVAL: it is not understood: *@arg is a 0 of the size that could be read, or 8.
 */
int usdt_arg_parse(struct fetch_arg *arg, const char *text, size_t n,
		   int (*symbol)(void *from, const char *name, size_t n, uint64_t *address),
		   void *from);

#endif
