/* SPDX-License-Identifier: MIT */
/*
 * throws_lib.cc: what the transcript program's shared object throws, lets by and catches.
 */
#ifndef THROWS_H
#define THROWS_H

int lib_throw(int n, int depth);
int lib_call(int (*f)(int), int n);
int lib_catch(int (*f)(int), int n);

#endif
