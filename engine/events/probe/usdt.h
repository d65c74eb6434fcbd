/* SPDX-License-Identifier: MIT */
/*
 * The markers of SystemTap's <sys/sdt.h> in the program and its libraries (USDT): each is an event
 * sdt_PROVIDER:NAME with its arguments as arg1, arg2 and so on. Under the tree's lock.
 */
#ifndef VESTIGE_EVENTS_PROBE_USDT_H
#define VESTIGE_EVENTS_PROBE_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/events/probe/fetch.h"

#define USDT_MAX_ARGS 12u /* as <sys/sdt.h> has them */

/*
 * usdt_arg_parse() - read an argument of a note: `-4@%REG`, `8@-24(%REG)`, `4@$7`, `8@x+4(%IP)`.
 * @text: @n bytes. @symbol: the address of a name; @from: for it. Return: 0; -EINVAL: it is not
 * understood: *@arg is a 0 of the size that could be read, or 8.
 */
int usdt_arg_parse(struct fetch_arg *arg, const char *text, size_t n,
		   int (*symbol)(void *from, const char *name, size_t n, uint64_t *address),
		   void *from);

#endif
