/* SPDX-License-Identifier: MIT */
/* Builds text in a buffer of fixed size. Bytes that do not fit are counted and not written. */
#ifndef VESTIGE_BASE_SEQ_BUF_H
#define VESTIGE_BASE_SEQ_BUF_H

#include <stddef.h>
#include <stdint.h>

struct seq_buf {
	char *text;
	size_t bytes; /* room at text */
	size_t len;   /* used; no NUL is kept */
	size_t lost;  /* bytes that did not fit */
};

static inline void seq_init(struct seq_buf *s, char *text, size_t bytes)
{
	*s = (struct seq_buf){.text = text, .bytes = bytes};
}

static inline void seq_putc(struct seq_buf *s, char c)
{
	if (s->len < s->bytes)
		s->text[s->len++] = c;
	else
		s->lost++;
}

static inline void seq_puts(struct seq_buf *s, const char *text)
{
	/* stores of characters may be to *s, for all that the compiler knows */
	size_t len = s->len, bytes = s->bytes;
	char *to = s->text;

	while (*text && len < bytes)
		to[len++] = *text++;
	s->len = len;
	for (; *text; text++)
		s->lost++;
}

static inline void seq_putu(struct seq_buf *s, uint64_t v)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		seq_putc(s, digits[--n]);
}

/* Right-aligned in @width columns; a longer number takes more. */
static inline void seq_putu_right(struct seq_buf *s, uint64_t v, uint32_t width)
{
	uint64_t rest = v;
	uint32_t n = 1;

	for (; rest >= 10; rest /= 10)
		n++;
	for (; n < width; n++)
		seq_putc(s, ' ');
	seq_putu(s, v);
}

/* Left-aligned in @width columns; a longer text is cut. */
static inline void seq_puts_left(struct seq_buf *s, const char *text, uint32_t width)
{
	uint32_t n;

	for (n = 0; n < width; n++)
		seq_putc(s, *text ? *text++ : ' ');
}

/* Hexadecimal, without 0x. */
static inline void seq_putx(struct seq_buf *s, uint64_t v)
{
	int shift = 60;

	while (shift && !(v >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		seq_putc(s, "0123456789abcdef"[v >> shift & 15]);
}

#endif
