/* SPDX-License-Identifier: MIT */
/* Debug files of servers that the user names (debuginfod), by their build-id. */
#ifndef VESTIGE_TOOLS_DEBUGINFOD_H
#define VESTIGE_TOOLS_DEBUGINFOD_H

#include <stddef.h>

/*
 * debuginfod_open() - the debug file of a build-id of @n bytes, from the client's cache or a server of
 * DEBUGINFOD_URLS. Nothing is asked where that is not set. It may wait for the network, as long as
 * DEBUGINFOD_TIMEOUT says. Return: a descriptor, to be closed, of a file that is not checked; -1: it is
 * not to be had. One thread.
 */
int debuginfod_open(const unsigned char *build_id, size_t n);

#endif
