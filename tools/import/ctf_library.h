/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace in the Common Trace Format 1.8 by babeltrace2's library, in a process of its own,
 * so a damaged trace that crashes the library does not end vestige. The library is loaded when it
 * is needed.
 */
#ifndef VESTIGE_TOOLS_CTF_LIBRARY_H
#define VESTIGE_TOOLS_CTF_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

enum ctf_item_kind {
	CTF_ENTER = 1, /* of a function: name, addr */
	CTF_LEAVE,
	CTF_HIT,   /* a function that was called: name, addr, caller */
	CTF_EVENT, /* name, text */
	CTF_LOST,  /* addr: events that the recorder dropped */
	CTF_ERROR, /* text: why the trace cannot be read */
	CTF_END,
};

#define CTF_NO_THREAD INT64_MIN

/* An item that the process writes; name, comm and text follow it. */
struct ctf_item {
	int64_t ns;	   /* from the clock's origin */
	int64_t origin_ns; /* the clock's offset */
	int64_t pid, tid;  /* CTF_NO_THREAD: not known */
	uint64_t addr, caller;
	uint32_t kind; /* enum ctf_item_kind */
	uint32_t cpu;
	uint32_t name_bytes, comm_bytes, text_bytes; /* below CTF_TEXT_BYTES each */
	uint32_t reserved;
};

#define CTF_TEXT_BYTES (16u << 10) /* the rest of a longer one is left out */

#define CTF_STUCK_STATUS 3 /* exit status: the library seems to be in an endless loop */

/*
 * ctf_library_run() - read traces to their end and write their items; ends with CTF_ERROR or
 * CTF_END.
 * @folders: @nr folders that have a file `metadata`. @fd: items are written to it. @patience_s: the
 * process ends with CTF_STUCK_STATUS after this number of seconds of CPU time without a message of
 * the library: with a damaged file `metadata`, version 2.0 of it loops for ever. To be called once
 * in a process.
 */
void ctf_library_run(const char *const *folders, size_t nr, int fd, unsigned int patience_s);

#endif
