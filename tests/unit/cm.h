/* SPDX-License-Identifier: MIT */
/* cmocka, with the headers that it needs before it. */
#ifndef VESTIGE_TESTS_CM_H
#define VESTIGE_TESTS_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* before cmocka, whose fail() is a macro of another kind */
#include "tools/base/fail.h"

#include <cmocka.h>

#endif
