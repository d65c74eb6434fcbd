/* SPDX-License-Identifier: MIT */
/* See msg.h. Tests: tests/cli/test_listen.py, tests/fuzz/net.c. */
#include "tools/net/msg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINIT_BYTES 12u
#define RINIT_BYTES 4u
#define TSYNC_BYTES (MSG_NAME_BYTES + 4u)

uint32_t msg_size(const uint8_t head[MSG_HEAD_BYTES])
{
	uint32_t size = msg_get32(head), body = msg_get32(head + 8);

	if (size < MSG_HEAD_BYTES || size > MSG_MAX_BYTES || body > size - MSG_HEAD_BYTES)
		return 0;
	return size;
}

int msg_parse(const uint8_t *bytes, size_t n, struct msg *m)
{
	if (n < MSG_HEAD_BYTES || msg_size(bytes) != n)
		return -EPROTO;
	m->command = msg_get32(bytes + 4);
	m->body = bytes + MSG_HEAD_BYTES;
	m->body_bytes = msg_get32(bytes + 8);
	m->data = m->body + m->body_bytes;
	m->data_bytes = (uint32_t)n - MSG_HEAD_BYTES - m->body_bytes;
	return 0;
}

size_t msg_put(uint8_t *to, enum msg_command command, const void *body, uint32_t body_bytes,
	       const void *data, uint32_t data_bytes)
{
	uint32_t size = MSG_HEAD_BYTES + body_bytes + data_bytes;

	msg_set32(to, size);
	msg_set32(to + 4, command);
	msg_set32(to + 8, body_bytes);
	if (body_bytes)
		memcpy(to + MSG_HEAD_BYTES, body, body_bytes);
	if (data_bytes)
		memcpy(to + MSG_HEAD_BYTES + body_bytes, data, data_bytes);
	return size;
}

/* The next word in a message's data, each ended by NUL; NULL: there is none. */
static const char *next_word(const struct msg *m, uint32_t *at)
{
	const uint8_t *begin = m->data + *at, *end;

	if (*at >= m->data_bytes)
		return NULL;
	end = memchr(begin, 0, m->data_bytes - *at);
	if (!end)
		return NULL;
	*at += (uint32_t)(end - begin) + 1;
	return (const char *)begin;
}

static bool is_page(uint32_t bytes)
{
	return bytes >= 64 && bytes <= MSG_MAX_PAGE && !(bytes & (bytes - 1));
}

int msg_tinit(const struct msg *m, struct msg_tinit *t)
{
	uint32_t options, at = 0;

	if (m->command != MSG_TINIT || m->body_bytes < TINIT_BYTES)
		return -EPROTO;
	*t = (struct msg_tinit){.cpus = msg_get32(m->body), .page_bytes = msg_get32(m->body + 4)};
	if (!t->cpus || t->cpus > MSG_MAX_CPUS || !is_page(t->page_bytes))
		return -EPROTO;
	options = msg_get32(m->body + 8);
	for (uint32_t i = 0; i < options; i++) {
		const char *word = next_word(m, &at);

		if (!word)
			return -EPROTO;
		/* unknown options are ignored */
		t->tcp |= !strcmp(word, "tcp");
	}
	return 0;
}

size_t msg_put_tinit(uint8_t *to, const struct msg_tinit *t)
{
	uint8_t body[TINIT_BYTES];

	msg_set32(body, t->cpus);
	msg_set32(body + 4, t->page_bytes);
	msg_set32(body + 8, t->tcp);
	return msg_put(to, MSG_TINIT, body, sizeof(body), "tcp", t->tcp ? sizeof("tcp") : 0);
}

uint32_t msg_number(const char *word, uint32_t max)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	return *word < '0' || *word > '9' || *end || n > max ? 0 : (uint32_t)n;
}

int msg_rinit(const struct msg *m, uint32_t cpus, uint16_t *ports)
{
	uint32_t at = 0;

	if (m->command != MSG_RINIT || m->body_bytes < RINIT_BYTES || msg_get32(m->body) != cpus)
		return -EPROTO;
	for (uint32_t i = 0; i < cpus; i++) {
		const char *word = next_word(m, &at);

		ports[i] = word ? (uint16_t)msg_number(word, UINT16_MAX) : 0;
		if (!ports[i])
			return -EPROTO;
	}
	return 0;
}

size_t msg_put_rinit(uint8_t *to, uint32_t cpus, const uint16_t *ports)
{
	uint8_t body[RINIT_BYTES];
	char words[MSG_MAX_CPUS * 6];
	uint32_t n = 0;

	msg_set32(body, cpus);
	for (uint32_t i = 0; i < cpus; i++)
		n += (uint32_t)sprintf(words + n, "%u", ports[i]) + 1;
	return msg_put(to, MSG_RINIT, body, sizeof(body), words, n);
}

int msg_tsync(const struct msg *m, char name[MSG_NAME_BYTES], uint32_t *id)
{
	if (m->command != MSG_TIME_SYNC || m->body_bytes < TSYNC_BYTES)
		return -EPROTO;
	memcpy(name, m->body, MSG_NAME_BYTES);
	if (!memchr(name, 0, MSG_NAME_BYTES))
		return -EPROTO;
	*id = msg_get32(m->body + MSG_NAME_BYTES);
	return 0;
}

size_t msg_put_tsync(uint8_t *to, const char *name, uint32_t id, const void *data, uint32_t bytes)
{
	uint8_t body[TSYNC_BYTES] = {0};

	memcpy(body, name, strnlen(name, MSG_NAME_BYTES - 1));
	msg_set32(body + MSG_NAME_BYTES, id);
	return msg_put(to, MSG_TIME_SYNC, body, sizeof(body), data, bytes);
}
