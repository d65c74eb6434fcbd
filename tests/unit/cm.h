/* SPDX-License-Identifier: MIT */
/* cmocka with what it needs before it. */
#ifndef VESTIGE_TESTS_CM_H
#define VESTIGE_TESTS_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* tools/base/fail.h has another; fail_msg() stays */
#undef fail

#endif
