/* SPDX-License-Identifier: MIT */
/* Compressed packets of Perfetto's traces: TracePacket.compressed_packets and its form of zstd. */
#ifndef VESTIGE_TOOLS_PERFETTO_UNPACK_H
#define VESTIGE_TOOLS_PERFETTO_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* Perfetto writes some 512 KiB at once. */
#define PERFETTO_UNPACKED_MAX (64u << 20)

/*
 * perfetto_unpack() - the packets that are in one.
 * @out: gets them, malloced.
 * Return: 0, or -errno with fail() set: damaged, too large, no memory.
 */
int perfetto_unpack(bool zstd, const void *packed, size_t n, unsigned char **out, size_t *bytes);

#endif
