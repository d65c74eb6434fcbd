/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the tools and a process's agent, over a stream socket beside the area,
 * PID.STARTTIME.sock. The client sends one request and its payload, the agent one reply and its
 * payload, and closes. Both sides check magic and version; the agent checks by the socket's peer
 * credentials that the client is the same user or root.
 */
#ifndef VESTIGE_ABI_AGENT_H
#define VESTIGE_ABI_AGENT_H

#include <assert.h>
#include <stdint.h>

#define AGENT_MAGIC   UINT32_C(0x41545356) /* "VSTA" */
#define AGENT_VERSION 1
#define AGENT_SUFFIX  ".sock"

#define AGENT_PATH_BYTES  128
#define AGENT_MAX_PAYLOAD (1u << 20)

enum agent_op {
	AGENT_READ = 1,	 /* the reply's payload is the file's text */
	AGENT_WRITE = 2, /* the request's payload is one write() */
	AGENT_LIST = 3,	 /* the reply's payload is a line `MODE NAME` for each entry of the folder:
			    MODE octal as in st_mode, its type included; "" is the tree's root */
	AGENT_MKDIR = 4, /* path: instances/NAME; that instance is made */
	AGENT_RMDIR = 5, /* path: instances/NAME; that instance is removed, even while it records */
	/* As AGENT_WRITE; the payload begins with struct agent_writer. Engines that do not know it
	 * answer -EPROTO. */
	AGENT_WRITE_AS = 6,
};

/* The thread that writes: the client's, or the thread for which the client writes. */
struct agent_writer {
	int32_t tid;
	int32_t tgid;
	char comm[16]; /* NUL-terminated */
};
static_assert(sizeof(struct agent_writer) == 24, "agent_writer is part of the protocol");

enum agent_flag {
	AGENT_TRUNCATE = 1, /* the file was opened with O_TRUNC */
};

struct agent_request {
	uint32_t magic;
	uint16_t version;
	uint16_t op;		     /* enum agent_op */
	uint32_t flags;		     /* enum agent_flag */
	uint32_t payload_bytes;	     /* at most AGENT_MAX_PAYLOAD */
	char path[AGENT_PATH_BYTES]; /* of the control file, NUL-terminated */
};
static_assert(sizeof(struct agent_request) == 144, "agent_request is part of the protocol");

struct agent_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t reserved;
	int32_t result; /* 0 or -errno of the control file */
	uint32_t payload_bytes;
};
static_assert(sizeof(struct agent_reply) == 16, "agent_reply is part of the protocol");

#endif
