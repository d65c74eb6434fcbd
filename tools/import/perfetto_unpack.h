/* SPDX-License-Identifier: MIT */
/* Compressed packets of Perfetto's traces: TracePacket.compressed_packets, by zlib or zstd. */
#ifndef VESTIGE_TOOLS_PERFETTO_UNPACK_H
#define VESTIGE_TOOLS_PERFETTO_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* Limit of unpacked bytes; Perfetto itself compresses about 512 KiB at once. */
#define PERFETTO_UNPACKED_MAX (64u << 20)

/*
 * perfetto_unpack() - unpack the packets in a compressed packet.
 * @zstd: it is compressed by zstd, else by zlib. @out: gets them, malloced; @bytes: their size.
 * Return: 0, or -errno with fail() set: damaged, too large, no memory.
 */
int perfetto_unpack(bool zstd, const void *packed, size_t n, unsigned char **out, size_t *bytes);

#endif
