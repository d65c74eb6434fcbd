/* SPDX-License-Identifier: MIT */
/*
 * Offsets in C's structures and in an island for syscall_entry.S; C checks each.
 */
#ifndef VESTIGE_HOOK_SYSCALL_ENTRY_H
#define VESTIGE_HOOK_SYSCALL_ENTRY_H

#define ISLAND_BYTES 128 /* also its alignment, so that any pc in it leads to its return address */
#define ISLAND_MAIN  32	 /* end of the code in place of the site's */
#define ISLAND_BACK  48
#define ISLAND_TAILS 64
#define TAIL_VFORK   64
#define TAIL_CLONE3  73
#define TAIL_CLONE   82

#define FRAME_NR      0
#define FRAME_ARGS    8
#define FRAME_RET     56
#define FRAME_ISLAND  64
#define FRAME_RBX     72
#define FRAME_BACK    80
#define FRAME_USED    88  /* the arguments that the kernel gets */
#define FRAME_CHANGER 136 /* of syscalls_changer: the function that changed them, and its words */
#define FRAME_WORDS   144
#define FRAME_BYTES   400
#define RED_ZONE      128

#endif
