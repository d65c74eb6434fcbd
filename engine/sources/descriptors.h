/* SPDX-License-Identifier: MIT */
/* Descriptors that the program gets, each with what it leads to: see source.h. */
#ifndef VESTIGE_SOURCES_DESCRIPTORS_H
#define VESTIGE_SOURCES_DESCRIPTORS_H

#include "engine/sources/source.h"

#define DESCRIPTOR_NAME_BYTES 128u

struct descriptor_listener {
	struct source_link link;
	/* @name: of a file its path; of a socket `unix:PATH`, `ADDRESS:PORT`, of its peer if it has
	 * one; of others what /proc says: `pipe:[17]`. Any context, in the thread that got it. */
	void (*call)(int fd, const char *name);
};
extern struct source descriptors;

/* Report all open descriptors to the listeners. Control context, a thread of the program's. */
void descriptors_report_all(void);

#endif
