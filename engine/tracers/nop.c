/* SPDX-License-Identifier: MIT */
/* The tracer that traces nothing: events alone reach the buffer. */
#include "engine/core/tracer.h"

static const struct tracer nop_tracer = {
	.name = "nop",
};
TRACER_REGISTER(nop_tracer);
