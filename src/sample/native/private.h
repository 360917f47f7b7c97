/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_NATIVE_PRIVATE_H
#define SP_SAMPLE_NATIVE_PRIVATE_H

#include <sys/user.h>

#include "base/elf.h"
#include "sample/native/native.h"
#include "sample/native/unwind.h"

/* ---- objects.c: what code is where ---- */

struct sp_object {
	struct sp_object *next; /* owned */
	char *path;             /* owned; as the process sees it */
	char *build;            /* owned; "": not told */
	struct sp_elf *elf;     /* owned; NULL: cannot be read */
	struct sp_unwind *unwind;
	bool opened, interpreter, library; /* library: the C library or the dynamic linker */
	bool jit;                          /* it is none: code made at run time */
};

/* The list of names of such code (jit.c). */
struct sp_jit {
	struct sp_jit_name *names; /* owned; by address */
	size_t n;
	char *text;           /* owned: what they stand in */
	uint64_t bytes, file; /* of the list, when it was read */
};

/* A piece of memory with code of an object. */
struct sp_code {
	uint64_t begin, end, offset; /* offset: of begin in the file */
	uint64_t moved;              /* what addresses of the file are moved by; once the object was opened */
	struct sp_object *object;    /* NULL: no memory */
	bool known;                  /* moved is */
};

/* What was found out about one address. */
struct sp_place {
	uint64_t pc; /* 0: none */
	uint64_t moved;
	struct sp_native_function *function;
	struct sp_row row;
	bool jit;
};

struct sp_objects {
	const struct sp_target *t;
	struct sp_object *all; /* owned */
	struct sp_code *code;  /* owned; by address */
	size_t n_code, code_room;
	uint64_t looked, cost;   /* ns: when the mappings were read last, and the processor time of that */
	struct sp_place *places; /* owned; by a hash of the address */
	size_t n_places, place_mask;
	struct sp_native_function **functions; /* owned; by a hash of object and address */
	size_t n_functions, function_mask;
	struct sp_jit jit;
};

void sp_objects_close(struct sp_objects *o);
/* Reads what is mapped, if that was not done just now; `again`: something did not fit. false: nothing is different. */
bool sp_objects_look(struct sp_objects *o, bool again);
/* Everything about an address; NULL: no code is there, or no memory. It holds until the next call. */
const struct sp_place *sp_objects_at(struct sp_objects *o, uint64_t pc);
/* Is it the address behind a call? */
bool sp_objects_code(const struct sp_objects *o, uint64_t pc);

/* ---- jit.c: code made at run time ---- */

void sp_jit_close(struct sp_jit *j);
/* Reads the list anew where it is another one now; true: it is. */
bool sp_jit_look(struct sp_jit *j, const struct sp_target *t);
/* The name of the code at an address, and where it begins; NULL: not told. */
const char *sp_jit_name(const struct sp_jit *j, uint64_t address, uint64_t *begin);
/* As sp_unwind_step(), for code without tables: true where a place that may hold its return address does hold one. */
bool sp_jit_step(const struct sp_objects *o, struct sp_registers *r, sp_unwind_read *read, void *user);

/* ---- stop.c: registers of a thread that runs ---- */

/* A system call that goes on. */
struct sp_call {
	uint64_t number, arguments[6]; /* as the program made it */
	uint64_t done, all;            /* bytes */
};

struct sp_stop {
	const struct sp_target *t;
	pid_t thread;
	int signal;                     /* that it would have been given when it stopped; 0: none */
	bool asked;                     /* it stopped because it was asked to */
	bool in_call;                   /* it stopped where a system call begins or ends */
	bool repeated;                  /* its system call, which the stop made fail, begins anew */
	bool shortened;                 /* its system call, which the stop shortened, goes on */
	struct sp_call call;            /* that one */
	uint64_t piece;                 /* bytes of it that are asked for now */
	bool entering;                  /* … and it has not come to the call again yet */
	struct user_regs_struct before; /* where the call ends with what was done before that piece */
};
void sp_stop_prepare(void); /* once, in the thread that stops others */
/* Stops s->thread. 0: it stands, *r is filled; -ESRCH: it has ended; -EBUSY: another tracer has it; -ETIMEDOUT: it does
 * not stop yet. */
int sp_stop(struct sp_stop *s, struct sp_registers *r);
/* It goes on. false: it is in a system call that was shortened; as after -ETIMEDOUT, sp_stop_settle() is to be asked
 * until that says true: it has let it go, or it has ended. now: at once, even if less is written then. */
bool sp_stop_end(struct sp_stop *s);
bool sp_stop_settle(struct sp_stop *s, bool now);

/* ---- calls.c: system calls that the stop interrupted ---- */

ssize_t sp_stop_text(const char *path, char *text, size_t n); /* a small file, with a NUL; as read(2) */
/* Did it fail without having done anything, and for no signal? */
bool sp_call_failed(const struct sp_stop *s, const struct user_regs_struct *u);
void sp_call_again(struct user_regs_struct *u); /* it is entered once more */
/* Did it do less than otherwise? Then s->call is what it was asked for. */
bool sp_call_shortened(struct sp_stop *s, const struct user_regs_struct *u);
/* Makes of registers as sp_call_tell() leaves them a call of what is left, or a part of that: how many bytes, 0: it
 * cannot go on. */
uint64_t sp_call_rest(const struct sp_stop *s, struct user_regs_struct *u);
/* The registers where it ends with all that was done. */
void sp_call_tell(const struct sp_call *c, struct user_regs_struct *u);

uint64_t sp_native_now(void); /* ns, monotonic */

#endif
