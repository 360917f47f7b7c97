/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_NATIVE_PRIVATE_H
#define SP_SAMPLE_NATIVE_PRIVATE_H

#include <sys/user.h>

#include "base/elf.h"
#include "sample/native/native.h"
#include "sample/native/unwind.h"

/* ---- objects.c: code in memory ---- */

/* Parts of a function without a symbol (parts.c): their begins. */
struct sp_parts {
	uint64_t begin[4];
	size_t n;
};
/* Finds the parts of a function of an object file, whose tables are u (NULL: none is found). */
void sp_parts_find(const char *path, struct sp_unwind *u, const char *function, struct sp_parts *out);
bool sp_parts_have(const struct sp_parts *p, uint64_t begin);

struct sp_object {
	struct sp_object *next; /* owned */
	char *path;             /* owned; path in the process's root */
	char *build;            /* owned; "": unknown */
	struct sp_elf *elf;     /* owned; NULL: unreadable */
	struct sp_unwind *unwind;
	struct sp_parts evaluator;         /* of an interpreter */
	bool opened, interpreter, library; /* library: the C library or the dynamic linker */
	bool jit;                          /* not an object file: code made at run time */
};

/* The list of names of code made at run time (jit.c). */
struct sp_jit {
	struct sp_jit_name *names; /* owned; sorted by address */
	size_t n;
	char *text;           /* owned: the text that contains the names */
	uint64_t bytes, file; /* size and inode of the list when it was read */
};

/* A range of memory with code of an object. */
struct sp_code {
	uint64_t begin, end, offset; /* offset: of begin in the file */
	uint64_t moved;              /* memory address - address in the file; set when the object is opened */
	struct sp_object *object;    /* NULL: no memory */
	bool known;                  /* `moved` is set, or `unloaded` */
	bool unloaded;               /* found when it should have been opened, after the mappings were read */
};

/* Results for one address. */
struct sp_code_symbol {
	uint64_t pc; /* 0: unused */
	uint64_t moved;
	struct sp_native_function *function;
	struct sp_row row;
	bool jit;
};

struct sp_objects {
	const struct sp_target *t;
	struct sp_object *all; /* owned */
	struct sp_code *code;  /* owned; sorted by address */
	size_t n_code, code_capacity;
	uint64_t read_at, cost;        /* ns: time at which the mappings were last read; processor time of that */
	struct sp_code_symbol *places; /* owned; hash table by address */
	size_t n_places, place_mask;
	struct sp_native_function **functions; /* owned; hash table by object and address */
	size_t n_functions, function_mask;
	struct sp_jit jit;
};

void sp_objects_close(struct sp_objects *o);
/* Reads the mappings, unless that was done very recently; `again`: an address did not fit. Returns false if nothing has
 * changed. */
bool sp_objects_read(struct sp_objects *o, bool again);
/* The results for an address; NULL: no code there, or no memory. Valid until the next call. */
const struct sp_code_symbol *sp_objects_at(struct sp_objects *o, uint64_t pc);
/* Whether pc may be a return address: an address after a call instruction. */
bool sp_objects_code(const struct sp_objects *o, uint64_t pc);

/* ---- jit.c: code made at run time ---- */

void sp_jit_close(struct sp_jit *j);
/* Reads the list again if it has changed; returns whether it has. */
bool sp_jit_read(struct sp_jit *j, const struct sp_target *t);
/* The name and start address of the code at an address; NULL: unknown. */
const char *sp_jit_name(const struct sp_jit *j, uint64_t address, uint64_t *begin);
/* As sp_unwind_step(), for code without tables. Returns true if one of the usual stack positions contains a return
 * address. */
bool sp_jit_step(const struct sp_objects *o, struct sp_registers *r, sp_unwind_read *read, void *user);

/* ---- stop.c: registers of running threads ---- */

/* A system call that is continued after the stop. */
struct sp_call {
	uint64_t number, arguments[6]; /* as the program called it */
	uint64_t done, all;            /* bytes */
};

struct sp_stop {
	const struct sp_target *t;
	pid_t thread;
	int signal;                     /* the signal to deliver when the thread continues; 0: none */
	bool asked;                     /* it stopped because of PTRACE_INTERRUPT */
	bool in_call;                   /* it stopped at the begin or end of a system call */
	bool repeated;                  /* the stop made its system call fail, and the call was restarted */
	bool shortened;                 /* the stop shortened its system call, and the call is continued */
	struct sp_call call;            /* the shortened call */
	uint64_t piece;                 /* bytes of the current part of it */
	bool entering;                  /* … and it has not entered the call again yet */
	struct user_regs_struct before; /* registers for ending the call with what was done before the current part */
};
void sp_stop_prepare(void); /* call once, in the thread that stops others */
/* Stops s->thread. Returns 0: stopped, *r is filled; -ESRCH: it has ended; -EBUSY: another tracer has it; -ETIMEDOUT:
 * it has not stopped yet. */
int sp_stop(struct sp_stop *s, struct sp_registers *r);
/* Lets the thread continue. Returns false if it is in a system call that was shortened. Then, and after -ETIMEDOUT,
 * call sp_stop_settle() until it returns true: the thread continues, or has ended. now: at once, even if the call then
 * does less. */
bool sp_stop_end(struct sp_stop *s);
bool sp_stop_settle(struct sp_stop *s, bool now);

/* ---- calls.c: system calls that the stop interrupted ---- */

/* reads a small file and adds a NUL; returns as read(2) */
ssize_t sp_stop_text(const char *path, char *text, size_t n);
/* Whether the call failed only because of the stop: it did nothing, and no signal is pending. */
bool sp_call_failed(const struct sp_stop *s, const struct user_regs_struct *u);
void sp_call_again(struct user_regs_struct *u); /* makes the thread enter the call again */
/* Whether the stop shortened the call. Then s->call is set to the original call. */
bool sp_call_shortened(struct sp_stop *s, const struct user_regs_struct *u);
/* Changes registers that sp_call_set_registers() has set to a call for the rest, or a part of it. Returns its number of
 * bytes; 0: the call cannot be continued. */
uint64_t sp_call_rest(const struct sp_stop *s, struct user_regs_struct *u);
/* Sets the registers to the end of the call, with everything done so far as its result. */
void sp_call_set_registers(const struct sp_call *c, struct user_regs_struct *u);

uint64_t sp_native_now(void); /* ns, monotonic */

#endif
