/* SPDX-License-Identifier: MIT */
/*
 * See credentials.h. In Linux each thread has credentials of its own. glibc's setuid() and its kind
 * make their system call in all threads, the agent's too, and abort() if it succeeds in one and
 * fails in another. A program with one thread may have given capabilities to this thread alone
 * before: setpriv keeps them while it changes its user id. So the agent makes the calls of the main
 * thread, too, and has the same credentials. The other threads of a program are its own affair.
 *
 * The engine has a capset() of its own, which calls libc's; prctl() and syscall() are in sandbox.c.
 * A call by the program's own instruction is not seen. A vfork's child has credentials of its own,
 * and so has a fork's; neither is followed by its parent's agent. Tests:
 * tests/engine/fire/credentials.
 */
#include "engine/core/credentials.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/process/libc.h"

static void (*agent_follows)(const struct credentials_call *call);
static void (*agent_made)(const struct credentials_call *call);

void credentials_use_agent(void (*follow)(const struct credentials_call *call),
			   void (*own)(const struct credentials_call *call))
{
	agent_made = own;
	store_release(&agent_follows, follow);
}

/*
 * The number of arguments in registers of a call that changes credentials; -1: it does not. @op,
 * @arg: the first two. The kernel ignores those behind, or wants them to be 0.
 */
static int nr_args(long nr, unsigned long op, unsigned long arg)
{
	switch (nr) {
	case SYS_capset:
		return 0;
	case SYS_setuid:
	case SYS_setgid:
		return 1;
	case SYS_setreuid:
	case SYS_setregid:
		return 2;
	case SYS_setresuid:
	case SYS_setresgid:
		return 3;
	case SYS_prctl:
		if (op == PR_CAP_AMBIENT)
			return arg != PR_CAP_AMBIENT_IS_SET ? 3 : -1;
		return op == PR_SET_KEEPCAPS || op == PR_SET_SECUREBITS || op == PR_CAPBSET_DROP
			       ? 2
			       : -1;
	default:
		return -1;
	}
}

void credentials_called(long nr, const unsigned long *arg)
{
	void (*by)(const struct credentials_call *call) = load_acquire(&agent_follows);
	struct credentials_call call = {.nr = nr};
	const uint32_t *header = (const uint32_t *)arg[0];
	int n = nr_args(nr, arg[0], arg[1]);

	if (!by || n < 0 || !area || sys_is_forbidden() || !area_is_own())
		return;
	if (sys_rights == SYS_OURS)
		by = agent_made;
	else if (sys_gettid() != sys_getpid())
		return;
	memcpy(call.arg, arg, (size_t)n * sizeof(*arg));
	if (nr == SYS_capset) {
		/*
		 * The kernel has read them. Version 1 has one row of capabilities. The second word
		 * of the header may be the caller's id: 0 is each thread itself.
		 */
		call.header[0] = header[0];
		memcpy(call.caps, (const void *)arg[1],
		       header[0] == _LINUX_CAPABILITY_VERSION_1 ? sizeof(call.caps) / 2
								: sizeof(call.caps));
	}
	by(&call);
}

int credentials_are_same(const struct credentials_call *a, const struct credentials_call *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void credentials_repeat(struct credentials_call *call)
{
	if (call->nr == SYS_capset) {
		call->arg[0] = (unsigned long)call->header;
		call->arg[1] = (unsigned long)call->caps;
	}
	arch_syscall(call->nr, (long)call->arg[0], (long)call->arg[1], (long)call->arg[2],
		     (long)call->arg[3], (long)call->arg[4], 0);
}

/* No header of libc declares it. */
typedef int capset_fn(cap_user_header_t header, cap_user_data_t caps);
capset_fn capset;

VESTIGE_INTERPOSED int capset(cap_user_header_t header, cap_user_data_t caps)
{
	const unsigned long arg[5] = {(unsigned long)header, (unsigned long)caps};
	static capset_fn *real;
	long ret;

	if (!real)
		real = (capset_fn *)libc_next("capset");
	if (real) {
		ret = real(header, caps);
	} else {
		ret = arch_raw_syscall(SYS_capset, (long)header, (long)caps, 0, 0, 0, 0);
		if (sys_failed(ret)) {
			errno = (int)-ret;
			ret = -1;
		}
	}
	if (!ret)
		credentials_called(SYS_capset, arg);
	return (int)ret;
}
