/* SPDX-License-Identifier: MIT */
/* Threads that the program starts get their control block ahead, and give it back when they end. */
#ifndef VESTIGE_CORE_THREAD_H
#define VESTIGE_CORE_THREAD_H

/* Make the key whose destructor sees a thread's end. Constructor context. */
void threads_start(void);

#endif
