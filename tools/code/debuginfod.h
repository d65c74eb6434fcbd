/* SPDX-License-Identifier: MIT */
/* Debug files from debuginfod servers that the user has configured, by build-id. */
#ifndef VESTIGE_TOOLS_DEBUGINFOD_H
#define VESTIGE_TOOLS_DEBUGINFOD_H

#include <stddef.h>

/*
 * debuginfod_open() - the debug file of a build-id of @n bytes, from the client's cache or a server
 * of DEBUGINFOD_URLS. If that is not set, no server is asked. It may wait for the network, up to
 * DEBUGINFOD_TIMEOUT. Return: a descriptor, to be closed, of a file that is not checked; -1: there
 * is none. One thread.
 */
int debuginfod_open(const unsigned char *build_id, size_t n);

#endif
