/* SPDX-License-Identifier: MIT */
/*
 * Everything that a CPU gives the engine, on one page. A port is engine/arch/<cpu>/,
 * engine/hook/<cpu>/ and object/<cpu>/ with the symbols that are named here, and nothing else: no
 * other file names a register, a relocation or the number of arguments in registers.
 * scripts/check-layers checks this, and that each arch_ function is named here.
 * scripts/check-symbols checks that each symbol of hook/<cpu>/ is named here that another room
 * uses; NAME_* stands for all names that begin so. The full contract of a function is at its
 * declaration.
 *
 * engine/arch/<cpu>/: functions without state, any context. None of them writes to text, except
 * arch_branch_set().
 *
 * arch_barrier.h
 *	barrier(), load_acquire(), store_release() and their like; arch_relax() in a loop that
 *	waits. arch_local_fetch_add(), arch_local_compare_and_store(): whole for the thread's own
 *	signal handlers, and without the cost of being so for others.
 * arch_clock.h
 *	arch_clock_read() - the counter of stamps, unordered; arch_clock_read_ordered(), for
 *	calibration; arch_clock_invariant() - it has one rate, on all CPUs; ARCH_CLOCKSOURCE - the
 *	kernel's name for it; ARCH_VDSO_CLOCK - the vDSO's name of clock_gettime().
 * arch_regs.h
 *	arch_cpu() - which CPU, without a system call; arch_has_rdpid() - that is fast;
 *	arch_thread_pointer(); arch_rseq_cpu() - cpu_id of struct rseq at that offset;
 *	arch_jump_sp() - the stack pointer in libc's jmp_buf; arch_clear() - zero words without
 *	vector registers.
 * arch_syscall.h
 *	arch_raw_syscall() - one system call, -errno as the kernel gives it.
 * arch_ptrace.h
 *	arch_vfork_call() - call a function in a child that shares the memory; arch_ptrace_regs() -
 *	where a stopped thread is; arch_ptrace_interrupted(), arch_ptrace_again() - its system call.
 * arch_frame.h
 *	struct arch_regs, what an entry point saves; struct arch_args, the registers of arguments;
 *	arch_args_get(), arch_args_of(), arch_arg_reg() - which they are; arch_reg_named(),
 *	arch_reg_operand(), arch_operand_is_ip() - names in probes and in a compiler's operands;
 *	arch_stub_rule(), arch_stub_cfa() - frames of the linker's stubs.
 * arch_reloc.h
 *	arch_reloc_is_call(), arch_reloc_is_address().
 * arch_patch.h
 *	Sites, which the compiler left: ARCH_SITE_MIN, ARCH_SITE_FULL, ARCH_MARKER_BYTES;
 *	arch_may_be_site(), arch_is_marker(), arch_nop_length(), arch_nop_bytes() - find them;
 *	arch_make_site(), arch_make_off() - on and off, which differ in a byte or two that one
 *	store switches whatever runs there; arch_make_nops(), arch_one_nop.
 *	struct arch_slot, to which a site leads; arch_make_island(), arch_make_jump(),
 *	arch_make_numbered().
 *	Calls of mcount: arch_may_be_call(), arch_read_call(), arch_is_saved_around().
 *	Static branches of tracepoints: arch_branch_is(), arch_branch_set().
 *	The linker's code: arch_stub_slot(), arch_is_unbound(), arch_may_be_jump(),
 *	arch_jump_target(), arch_jump_through(), arch_is_padded_return().
 * arch_context.h
 *	What the kernel saves for a signal handler: arch_context_regs(), arch_context_ip(),
 *	arch_context_sp(), arch_context_fp(), arch_context_reg() (names), arch_fault_kind();
 *	arch_context_is_ip() - one that lies on a stack;
 *	arch_signal_copy(), arch_signal_run() - go on with a copy on another stack;
 *	arch_guarded(), arch_guard_leave() - go back from a fault; arch_is_behind_call().
 * arch_access.h
 *	An instruction that faulted on memory: arch_access_do() - do it on other memory with the
 *	same contents; arch_access_recover(), arch_access_get_word(), arch_access_start(),
 *	arch_access_fork(). Of this cpu alone, below them: arch_operand.h; arch_access_run(),
 *	arch_access_get(), arch_access_put().
 * arch_cpuid.h
 *	arch_cpuid(), for the other headers: of this cpu alone.
 * arch_late.h
 *	Sites that are first used while the program runs: arch_late_read(), arch_late_next(),
 *	arch_late_byte(), arch_late_make().
 *
 * engine/hook/<cpu>/: below, and in
 *
 * text/text_island.h
 *	Probes at instructions: text_insn_bytes(), text_island_make(), text_jump_nth(),
 *	text_jump_make(); text_island_lead() - the island's last jump gets another target. An island
 *	calls hook_text() with a struct text_frame.
 * text/redirect_island.h
 *	Functions without a site: redirect_island_make() - the island, with a site and the moved
 *	instructions; redirect_head_make() - the table of all islands' unwind rules;
 *	redirect_original() - the instruction of the function for an address on the island, in any
 *	context;
 *	redirect_jump_make(), redirect_short_jump_make() - the jumps in the text.
 * text/island_cfi.h
 *	island_called_rules, how an unwinder leaves an island.
 * libc/syscall_sites.h
 *	System calls in libc's text: syscall_may_be_in() - a quick look; syscall_scan() - the sites
 *	and pads of a function; syscall_take_pad() - room for a relay; syscall_lead() - island,
 *	relay and the site's new code; syscall_island_bytes, syscall_island_rules,
 *	syscall_island_rules_bytes. An island jumps to hook_syscall(), and in the parent, behind
 *	vfork, clone or clone3, to hook_syscall_tail().
 * graph/graph.h
 *	graph_stubs, GRAPH_STUBS of GRAPH_STUB_BYTES, and what they read: graph_table,
 *	graph_flags; graph_stack.h's struct graph_tls and struct graph_stack.
 * graph/graph_libunwind.c
 *	graph_libunwind_rows, graph_libunwind_fde: the stubs' unwind rules.
 * cyg.c
 *	__cyg_profile_func_enter(), __cyg_profile_func_exit(), which the program calls, and
 *	hook_cyg_ours, hook_cyg_chained_enter, hook_cyg_chained_exit: what they jump through.
 * sources/process.c
 *	sched_wrap_vfork(): the wrapper of vfork(), which returns twice. The parent calls
 *	sched_vfork_returned() with the child's id. If the system call fails, the wrapper jumps to
 *	where sched_real_vfork leads.
 * engine/vestige.map
 *	clone(), makecontext(), make_fcontext(), syscall(): functions of libc and Boost.Context with
 *	any number of arguments. Each calls C with the first ones, then jumps to the real one.
 *
 * object/<cpu>/: for the engine and the tools.
 *
 * insn.h
 *	insn_decode() - length, target and operands of an instruction; insn_move() - the same one
 *	for another address; insn_goes_on(), insn_has_target().
 * entries.h
 *	entries_find_ways() - in which way each function of a file can be redirected, or why it
 *	cannot.
 * return_slot.h
 *	return_slot_begin(), return_slot_look(), for entries_find_ways(): whether a function uses
 *	its own return address.
 *
 * All entry points keep every register that the function's caller may count on: the registers of
 * arguments and results, the scratch registers of the calling convention, and all vector state.
 * They run at any instruction of the program, in signal handlers, on any stack. They skip the red
 * zone before they use the stack, and nothing in them may fault. None is called from C. Tests:
 * tests/unit/test_engine_base.c and test_insn.c (bytes), tests/engine/fire, tests/engine/graph.
 */
#ifndef VESTIGE_HOOK_PORT_H
#define VESTIGE_HOOK_PORT_H

typedef void hook_entry(void);

/*
 * The entry points for one way of reserving and one clock; in a table, because their addresses are
 * used: hook_function_*, hook_mcount_*, hook_passed_on_fentry_*, hook_passed_on_mcount_*,
 * hook_cyg_function_*, hook_cyg_entry_*, hook_cyg_exit_*. hook/entry.c makes the tables.
 */
struct hook_entries {
	hook_entry *function; /* called at a function's first instruction: entry.S */
	hook_entry *mcount;   /* called behind its prologue, which made a frame: mcount_entry.S */
	hook_entry *passed_on_fentry;	  /* as `function`, then jumps to hook_real_fentry */
	hook_entry *passed_on_mcount;	  /* as `mcount`, then jumps to hook_real_mcount */
	hook_entry *cyg_function;	  /* __cyg_profile_func_enter: cyg_entry.S */
	hook_entry *cyg_entry, *cyg_exit; /* both functions, for a graph */
	/* the first four, which also record the registers of the arguments: args_entry.S */
	hook_entry *function_args, *mcount_args, *passed_on_fentry_args, *passed_on_mcount_args;
};

extern const struct hook_entries hook_entries_rseq;
extern const struct hook_entries hook_entries_xadd_rdpid;
extern const struct hook_entries hook_entries_xadd_lsl;
extern const struct hook_entries hook_entries_mono;
extern const struct hook_entries hook_entries_none_rseq; /* no stamps */
extern const struct hook_entries hook_entries_none_xadd;

/* The entry points of graph.S, to which stubs jump. */
void graph_enter_rseq(void);
void graph_enter_xadd_rdpid(void);
void graph_enter_xadd_lsl(void);
void graph_enter_mono(void);
void graph_enter_filtered_rseq(void);
void graph_enter_filtered_xadd_rdpid(void);
void graph_enter_filtered_xadd_lsl(void);
void graph_enter_filtered_mono(void);
void graph_exit_rseq(void);
void graph_exit_xadd_rdpid(void);
void graph_exit_xadd_lsl(void);
void graph_exit_mono(void);
void graph_exit_filtered_rseq(void);
void graph_exit_filtered_xadd_rdpid(void);
void graph_exit_filtered_xadd_lsl(void);
void graph_exit_filtered_mono(void);
void graph_enter_none_rseq(void);
void graph_enter_none_xadd(void);
void graph_enter_filtered_none_rseq(void);
void graph_enter_filtered_none_xadd(void);
void graph_exit_none_rseq(void);
void graph_exit_none_xadd(void);
void graph_exit_filtered_none_rseq(void);
void graph_exit_filtered_none_xadd(void);
void graph_enter_multi(void);
void graph_enter_multi_mono(void);
void graph_exit_multi(void);
void graph_exit_off(void);

/*
 * The targets of sites whose calls go through C (core/ops.h). hook_ops() saves all state of the
 * processor and calls ops_call(); hook_calls() saves what C without vector registers may change,
 * and calls ops_record_call(). Both continue at the address that the C function returns.
 * ops_entry_start() prepares hook_ops(), before a site first leads to it, and does nothing when it
 * is called again. With the tree lock.
 */
void hook_ops(void);
void hook_calls(void);
void ops_entry_start(void);

/*
 * The target of islands of probes (core/text_probe.h): saves a struct text_frame and calls
 * text_probe_hit().
 */
void hook_text(void);

#endif
