/* SPDX-License-Identifier: MIT */
/*
 * The messages of trace-cmd's protocol between a host that records and one that listens: bytes to
 * messages and back, without I/O. A message is three numbers (the size of the message, the command,
 * the size of the body), the body, and data; numbers are big-endian. Every length from a peer is
 * checked here. Fuzzed: tests/fuzz/net.c.
 */
#ifndef VESTIGE_TOOLS_NET_MSG_H
#define VESTIGE_TOOLS_NET_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSG_HEAD_BYTES 12u
#define MSG_MAX_BYTES  8192u
#define MSG_MAX_DATA   (MSG_MAX_BYTES - MSG_HEAD_BYTES)
#define MSG_MAX_CPUS   1024u
#define MSG_MAX_PAGE   (1u << 20)
#define MSG_NAME_BYTES 16u /* of a protocol of time synchronization */

enum msg_command {
	MSG_CLOSE = 0,	    /* the sender has sent all */
	MSG_TINIT = 1,	    /* sender: its CPUs, its page size, its options */
	MSG_RINIT = 2,	    /* listener: a port for each CPU */
	MSG_SEND_DATA = 3,  /* a part of the file without the CPUs' data */
	MSG_FIN_DATA = 4,   /* that was the last part */
	MSG_NOT_SUPP = 5,   /* the last message was not understood */
	MSG_CLOSE_RESP = 8, /* answer to CLOSE, only between vestiges: the file is written */
	MSG_TIME_SYNC = 9,
};

/* Words before the messages, each with its NUL. */
#define MSG_GREETING "tracecmd"	 /* of the listener, without its NUL */
#define MSG_V3	     "-1V3"	 /* of the sender; the answer is "V3" */
#define MSG_V3_MAGIC "766679"	 /* then this with two NULs; the answer is "OK" without one */
#define MSG_OURS     "-1VESTIGE" /* our sender's; trace-cmd answers "V3" and waits for more */

struct msg {
	uint32_t command;
	const uint8_t *body, *data; /* borrowed from the parsed bytes */
	uint32_t body_bytes, data_bytes;
};

/* The size in a head. Return: it, from MSG_HEAD_BYTES to MSG_MAX_BYTES; 0: it is not valid. */
uint32_t msg_size(const uint8_t head[MSG_HEAD_BYTES]);

/* msg_parse() - the message of exactly @n bytes. Return: 0 or -EPROTO. */
int msg_parse(const uint8_t *bytes, size_t n, struct msg *m);

/*
 * msg_put() - make a message. @to: room for MSG_MAX_BYTES. @body_bytes and @data_bytes are together
 * at most MSG_MAX_DATA. Return: its size.
 */
size_t msg_put(uint8_t *to, enum msg_command command, const void *body, uint32_t body_bytes,
	       const void *data, uint32_t data_bytes);

struct msg_tinit {
	uint32_t cpus, page_bytes;
	bool tcp; /* the CPUs' data come by TCP, not by UDP */
};

/*
 * Parse a TINIT. Return: 0; -EPROTO: it is too short, or its number of CPUs or page size is not
 * valid.
 */
int msg_tinit(const struct msg *m, struct msg_tinit *t);
size_t msg_put_tinit(uint8_t *to, const struct msg_tinit *t);

/* Parse a RINIT. @ports: room for @cpus. Return: 0 or -EPROTO. */
int msg_rinit(const struct msg *m, uint32_t cpus, uint16_t *ports);
size_t msg_put_rinit(uint8_t *to, uint32_t cpus, const uint16_t *ports);

/* Parse a word of version 1 that is a number from 1 to @max. Return: it; 0: it is not valid. */
uint32_t msg_number(const char *word, uint32_t max);

/*
 * Parse a TIME_SYNC. @name: gets its protocol, MSG_NAME_BYTES with a NUL. Return: 0 or -EPROTO.
 */
int msg_tsync(const struct msg *m, char name[MSG_NAME_BYTES], uint32_t *id);
size_t msg_put_tsync(uint8_t *to, const char *name, uint32_t id, const void *data, uint32_t bytes);

/* Big-endian numbers. */
static inline uint32_t msg_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t msg_get64(const uint8_t *p)
{
	return (uint64_t)msg_get32(p) << 32 | msg_get32(p + 4);
}

static inline void msg_set32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static inline void msg_set64(uint8_t *p, uint64_t v)
{
	msg_set32(p, (uint32_t)(v >> 32));
	msg_set32(p + 4, (uint32_t)v);
}

#endif
