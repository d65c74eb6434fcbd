/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that the program gets, each with the file or socket that it leads to: see source.h.
 */
#ifndef VESTIGE_SOURCES_DESCRIPTORS_H
#define VESTIGE_SOURCES_DESCRIPTORS_H

#include "engine/sources/source.h"

#define DESCRIPTOR_NAME_BYTES 128u

struct descriptor_listener {
	struct source_link link;
	/*
	 * @name: of a file, its path; of a socket, `unix:PATH` or `ADDRESS:PORT`, the peer's if it
	 * has one; of others what /proc shows: `pipe:[17]`. Any context, in the thread that got the
	 * descriptor.
	 */
	void (*call)(int fd, const char *name);
};
extern struct source descriptors;

/* Report all open descriptors to the listeners. Control context, in a thread of the program. */
void descriptors_report_all(void);

#endif
