/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/native/native.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sample/native/private.h"

enum {
	COPY = 1 << 18,    /* maximum bytes copied from the stack's top */
	UNKNOWN = 1 << 15, /* bytes copied if the stack's end is unknown */
	FAR = 1 << 12,     /* the rest of the stack is read in pieces of this size */
	STACKS = 256,      /* number of threads whose stack end is stored */
	PENDING = 32,
	CLOSING = 50,    /* rounds of waiting for a stopped thread at the end */
	OUTERMOST = 256, /* bytes of the outermost frame */
	RED_ZONE = 128   /* bytes below the stack pointer that belong to the frame */
};

struct stack {
	pid_t thread;
	uint64_t end; /* address after its outermost frame */
};

struct sp_native {
	const struct sp_target *t;
	bool stop;
	struct sp_objects objects;
	struct sp_native_counts counts;
	struct stack stacks[STACKS]; /* hash table by thread */
	struct sp_stop pending[PENDING];
	size_t n_pending;
	sigset_t mask; /* signal mask of the calling thread before opening */

	/* the current sample */
	struct sp_stop current;
	bool stands; /* it was stopped */
	uint64_t since;
	struct sp_thread_times times;
	struct sp_registers registers;
	uint64_t copy_at, far_at, outermost; /* outermost: stack pointer of the last frame that was found */
	size_t copy_n;
	char copy[COPY], far[FAR];
};

int sp_native_open(struct sp_native **out, const struct sp_target *t, bool stop, char *why, size_t n)
{
	struct sp_native *s = calloc(1, sizeof *s);
	if (!s) {
		snprintf(why, n, "no memory");
		return -ENOMEM;
	}
	s->t = t;
	s->stop = stop;
	s->objects.t = t;
	pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
	if (stop)
		sp_stop_prepare();
	*out = s;
	return 0;
}

static void settle(struct sp_native *s, bool now)
{
	for (size_t i = 0; i < s->n_pending;) {
		struct sp_stop *p = &s->pending[i];
		const bool late = !p->shortened, done = sp_stop_settle(p, now);
		s->counts.repeated += late && p->repeated;
		s->counts.continued += late && p->shortened;
		s->counts.late += late && (done || p->shortened);
		if (done)
			s->pending[i] = s->pending[--s->n_pending];
		else
			i++;
	}
}

void sp_native_close(struct sp_native *s)
{
	if (!s)
		return;
	/* a thread without a processor for a long time must still receive the result of its call */
	for (int i = 0; i < CLOSING && (!i || s->n_pending); i++)
		settle(s, true);
	sp_objects_close(&s->objects);
	/* child programs would inherit the mask, and never get SIGCHLD */
	if (!sigismember(&s->mask, SIGCHLD)) {
		sigset_t child;
		sigemptyset(&child);
		sigaddset(&child, SIGCHLD);
		pthread_sigmask(SIG_UNBLOCK, &child, NULL);
	}
	free(s);
}

bool sp_native_settle(struct sp_native *s)
{
	settle(s, false);
	return s->n_pending;
}

const struct sp_native_counts *sp_native_counts(const struct sp_native *s)
{
	return &s->counts;
}

/* ---- sampling ---- */

static struct stack *stack_of(struct sp_native *s, pid_t thread)
{
	return &s->stacks[(unsigned)thread % STACKS];
}

/* Copies the available part of the stack's top. */
static void copy_stack(struct sp_native *s)
{
	uint64_t sp = s->registers.value[SP_REG_RSP] - RED_ZONE;
	const struct stack *known = stack_of(s, s->current.thread);
	size_t n = known->thread == s->current.thread && known->end > sp ? known->end - sp : UNKNOWN;
	n = n < COPY ? n : COPY;
	struct iovec here = {s->copy, n}, there = {(void *)(uintptr_t)sp, n};
	ssize_t got = s->t->memory >= 0 ? pread(s->t->memory, s->copy, n, (off_t)sp)
	                                : process_vm_readv(s->t->pid, &here, 1, &there, 1, 0);
	s->copy_at = sp;
	s->copy_n = got > 0 ? (size_t)got : 0;
	s->far_at = 0;
}

static int begin_running(struct sp_native *s)
{
	if (!s->stop || s->n_pending == PENDING)
		return -EBUSY;
	for (size_t i = 0; i < s->n_pending; i++)
		if (s->pending[i].thread == s->current.thread)
			return -EBUSY;
	s->since = sp_native_now();
	int r = sp_stop(&s->current, &s->registers);
	if (r == -ETIMEDOUT)
		s->pending[s->n_pending++] = s->current;
	if (r)
		return r == -ETIMEDOUT ? -EBUSY : r;
	s->counts.stops++;
	s->counts.repeated += s->current.repeated;
	s->counts.continued += s->current.shortened;
	s->stands = true;
	return 0;
}

int sp_native_begin(struct sp_native *s, pid_t thread, const struct sp_thread_times *times)
{
	settle(s, false);
	s->current = (struct sp_stop){.t = s->t, .thread = thread};
	s->times = *times;
	s->stands = false;
	s->copy_n = 0;
	if (times->letter == 'R' || !times->sp) {
		int r = begin_running(s);
		if (r)
			return r;
	} else {
		s->registers.value[SP_REG_RSP] = times->sp;
		s->registers.value[SP_REG_PC] = times->pc;
		s->registers.known = 1u << SP_REG_RSP | 1u << SP_REG_PC;
	}
	copy_stack(s);
	return 0;
}

int sp_native_end(struct sp_native *s)
{
	struct sp_thread_times now;
	if (s->stands) {
		if (!sp_stop_end(&s->current))
			s->pending[s->n_pending++] = s->current;
		s->counts.stopped += sp_native_now() - s->since;
		return 0;
	}
	if (!sp_target_times(s->t, s->current.thread, &now) && now.cpu == s->times.cpu && now.sp == s->times.sp &&
	    now.pc == s->times.pc)
		return 0;
	s->copy_n = 0;
	s->registers.known = 0;
	s->counts.changed++;
	return -EAGAIN;
}

/* ---- the stack ---- */

static bool read_word(void *user, uint64_t at, uint64_t *value)
{
	struct sp_native *s = user;
	if (at - s->copy_at < s->copy_n && s->copy_n - (at - s->copy_at) >= sizeof *value) {
		memcpy(value, s->copy + (at - s->copy_at), sizeof *value);
		return true;
	}
	if (at % sizeof *value)
		return sp_target_read(s->t, at, value, sizeof *value);
	uint64_t piece = at & ~(uint64_t)(FAR - 1);
	if (s->far_at != piece) {
		s->far_at = sp_target_read(s->t, piece, s->far, FAR) ? piece : 0;
		if (!s->far_at)
			return false;
	}
	memcpy(value, s->far + (at - piece), sizeof *value);
	return true;
}

static const struct sp_code_symbol *place_at(struct sp_native *s, uint64_t pc)
{
	const struct sp_code_symbol *p = sp_objects_at(&s->objects, pc);
	return p || !sp_objects_read(&s->objects, true) ? p : sp_objects_at(&s->objects, pc);
}

/* ---- callers without a known frame register ---- */

/* Whether the call before a return address goes to a function. Only direct calls are recognized. */
static bool calls(struct sp_native *s, uint64_t back, uint64_t function)
{
	unsigned char code[5], stub[16];
	int32_t to;
	uint64_t at, word;
	if (!sp_target_read(s->t, back - sizeof code, code, sizeof code) || code[0] != 0xe8)
		return false;
	memcpy(&to, code + 1, sizeof to);
	at = back + (uint64_t)(int64_t)to;
	if (at == function)
		return true;
	/* through the procedure linkage table: [endbr64] [bnd] jmp *there(%rip) */
	if (!sp_target_read(s->t, at, stub, sizeof stub))
		return false;
	size_t i = stub[0] == 0xf3 && stub[1] == 0x0f ? 4 : 0;
	i += stub[i] == 0xf2;
	memcpy(&to, stub + i + 2, sizeof to);
	return stub[i] == 0xff && stub[i + 1] == 0x25 &&
	       sp_target_read(s->t, at + i + 6 + (uint64_t)(int64_t)to, &word, sizeof word) && word == function;
}

/* The kernel does not report rbp of a thread in a system call, and the functions it called need not have saved it. Then
 * search the stack for a return address after a call of exactly this function. */
static bool find_base(struct sp_native *s, const struct sp_code_symbol *p, struct sp_registers *r)
{
	const struct sp_row *row = &p->row;
	uint64_t function = p->function ? p->function->address + p->moved : 0, word;
	if (row->rule[SP_REG_PC] != SP_RULE_AT || !function)
		return false;
	for (uint64_t at = (r->value[SP_REG_RSP] + 7) & ~UINT64_C(7); at - s->copy_at + 8 <= s->copy_n; at += 8) {
		memcpy(&word, s->copy + (at - s->copy_at), sizeof word);
		if (!sp_objects_code(&s->objects, word) || !calls(s, word, function))
			continue;
		r->value[SP_REG_RBP] =
		    at - (uint64_t)(int64_t)row->offset[SP_REG_PC] - (uint64_t)(int64_t)row->base_offset;
		r->known |= 1u << SP_REG_RBP;
		return true;
	}
	return false;
}

static size_t walk(struct sp_native *s, struct sp_native_frame *out, size_t capacity, bool *complete)
{
	struct sp_registers r = s->registers;
	bool exact = true; /* pc is the address of an instruction, not a return address */
	size_t n = 0;
	*complete = false;
	while (n < capacity && r.known >> SP_REG_PC & 1 && r.value[SP_REG_PC]) {
		uint64_t pc = r.value[SP_REG_PC] - !exact, sp = r.value[SP_REG_RSP];
		const struct sp_code_symbol *p = place_at(s, pc);
		if (!p)
			return n;
		out[n++] = (struct sp_native_frame){p->function, pc - p->moved};
		s->outermost = sp;
		if ((*complete = p->row.last))
			return n;
		exact = p->row.signal;
		if (p->row.base == SP_REG_RBP && !(r.known >> SP_REG_RBP & 1) && !find_base(s, p, &r))
			return n;
		if (!(p->jit ? sp_jit_step(&s->objects, &r, read_word, s) : sp_unwind_step(&p->row, &r, read_word, s)))
			return n;
		/* only a signal handler may have another stack */
		if (r.value[SP_REG_RSP] <= sp && !exact)
			return n;
	}
	*complete = r.known >> SP_REG_PC & 1 && !r.value[SP_REG_PC];
	return n;
}

size_t sp_native_stack(struct sp_native *s, struct sp_native_frame *out, size_t capacity, bool *complete)
{
	struct stack *known = stack_of(s, s->current.thread);
	*complete = false;
	if (!s->registers.known)
		return 0;
	sp_objects_read(&s->objects, false);
	size_t n = walk(s, out, capacity, complete);
	s->counts.incomplete += !*complete;
	if (*complete)
		*known = (struct stack){s->current.thread, s->outermost + OUTERMOST};
	return n;
}
