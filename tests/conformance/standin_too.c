/* SPDX-License-Identifier: MIT */
/* More of standin.c: static functions whose names are there as well. */

#define FN __attribute__((noipa))

void name_show_too(void);

static volatile unsigned long work;

FN static void name_show(void)
{
	work++;
}

void name_show_too(void)
{
	name_show();
}
