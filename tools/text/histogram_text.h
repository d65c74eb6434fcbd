/* SPDX-License-Identifier: MIT */
/* The text of the kernel's `hist` file (6.12). */
#ifndef VESTIGE_TOOLS_HISTOGRAM_TEXT_H
#define VESTIGE_TOOLS_HISTOGRAM_TEXT_H

#include "tools/area/histogram.h"
#include "tools/text/out.h"

/* How addresses in a histogram are named. */
struct histogram_names {
	/*
	 * Print the function at @addr, with its offset and size if @offset. Return: bytes printed.
	 */
	int (*symbol)(void *arg, uint64_t addr, bool offset, char *buf, size_t bytes);
	void *arg;
};

/*
 * histogram_print() - the whole of it; rows in their order.
 * @names: NULL: addresses have none.
 */
void histogram_print(const struct histogram *h, const struct histogram_names *names, struct out *o);

/* Whether one of its fields is an address that has a name. */
bool histogram_has_addresses(const struct histogram *h);

#endif
