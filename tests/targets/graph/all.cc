/* SPDX-License-Identifier: MIT */
/*
 * All of the transcript program's C++ as one unit.
 */
#include "coroutines.cc"
#include "forced.cc"
#include "throws.cc"
#include "walks.cc"
