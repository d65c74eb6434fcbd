/* SPDX-License-Identifier: MIT */
/*
 * The nop tracer traces no calls: only events make records. Its two options are the kernel's; they
 * test that a tracer can accept and refuse an option.
 */
#include <errno.h>
#include <stddef.h>

#include "engine/core/tracer.h"

static int nop_set_option(struct trace_array *tr, enum area_option option, int value)
{
	(void)tr;
	(void)value;
	return option == AREA_OPTION_TEST_NOP_REFUSE ? -EINVAL : 0;
}

static const struct tracer nop_tracer = {
	.name = "nop",
	.set_option = nop_set_option,
	.options = TRACER_OPTION(AREA_OPTION_TEST_NOP_ACCEPT) |
		   TRACER_OPTION(AREA_OPTION_TEST_NOP_REFUSE),
	.allow_instances = 1,
};
TRACER_REGISTER(nop_tracer);
