/* SPDX-License-Identifier: MIT */
/*
 * A chunk of sub-buffers of calls as a frame of zstd (RFC 8878), which every reader of zstd
 * unpacks, in a quarter of the time of zstd's own level 1.
 */
#ifndef VESTIGE_TOOLS_DAT_PACK_H
#define VESTIGE_TOOLS_DAT_PACK_H

#include <stddef.h>

/* The largest chunk, in bytes: a block of zstd. */
#define DAT_PACK_MAX (128u << 10)

struct dat_packer;

/* Return: it, to be freed with dat_packer_free(), or NULL if memory is short. */
struct dat_packer *dat_packer_new(void);
void dat_packer_free(struct dat_packer *k);

/*
 * dat_pack() - one frame, with a checksum, of @bytes at @src.
 * @dst: room for @room bytes. @src: sub-buffers of 4096 bytes, whatever is in them; what are not
 * calls in the compact form of dat_events.h is stored as it is. @bytes: at most DAT_PACK_MAX.
 * Return: the frame's size; 0: it would be larger than @room or than @src, or @src is no whole
 * number of sub-buffers. One packer is used by one thread at a time.
 */
size_t dat_pack(struct dat_packer *k, void *dst, size_t room, const void *src, size_t bytes);

#endif
