/* SPDX-License-Identifier: MIT */
/* The lines of the tracer mmiotrace, which have no columns of task and CPU. */
#ifndef VESTIGE_TOOLS_MMIO_TEXT_H
#define VESTIGE_TOOLS_MMIO_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

/* Print the record's line, with its newline. Return: false: it is no record of mmiotrace. */
bool mmio_text(const struct reader *r, struct out *o, const struct record *rec);

#endif
