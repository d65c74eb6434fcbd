/* SPDX-License-Identifier: MIT */
/*
 * The markers of SystemTap's <sys/sdt.h> in the program and its libraries (USDT). Each is an event
 * sdt_PROVIDER:NAME with its arguments as arg1, arg2 and so on. Under the tree lock.
 */
#ifndef VESTIGE_EVENTS_PROBE_USDT_H
#define VESTIGE_EVENTS_PROBE_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/events/probe/fetch.h"

#define USDT_MAX_ARGS 12u /* the limit of <sys/sdt.h> */

/*
 * usdt_arg_parse() - parse an argument of a note: `-4@%REG`, `8@-24(%REG)`, `4@$7`, `8@x+4(%IP)`.
 * @text: @n bytes. @symbol: looks up the address of a name; @from: passed to it. Return: 0;
 * -EINVAL: it is not understood: *@arg is a 0 of the size that could be read, or of 8 bytes.
 */
int usdt_arg_parse(struct fetch_arg *arg, const char *text, size_t n,
		   int (*symbol)(void *from, const char *name, size_t n, uint64_t *address),
		   void *from);

#endif
