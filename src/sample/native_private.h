/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_NATIVE_PRIVATE_H
#define SP_SAMPLE_NATIVE_PRIVATE_H

#include "base/elf.h"
#include "sample/native.h"
#include "sample/native_unwind.h"

/* ---- native_objects.c: what code is where ---- */

struct sp_object {
	struct sp_object *next; /* owned */
	char *path;             /* owned; as the process sees it */
	char *build;            /* owned; "": not told */
	struct sp_elf *elf;     /* owned; NULL: cannot be read */
	struct sp_unwind *unwind;
	bool opened, interpreter, library; /* library: the C library or the dynamic linker */
};

/* A piece of memory with code of an object. */
struct sp_code {
	uint64_t begin, end, offset; /* offset: of begin in the file */
	uint64_t moved;              /* what addresses of the file are moved by; once the object was opened */
	struct sp_object *object;    /* NULL: of no file */
	bool known;                  /* moved is */
};

/* What was found out about one address. */
struct sp_place {
	uint64_t pc; /* 0: none */
	uint64_t moved;
	struct sp_native_function *function;
	struct sp_row row;
};

struct sp_objects {
	const struct sp_target *t;
	struct sp_object *all; /* owned */
	struct sp_code *code;  /* owned; by address */
	size_t n_code, code_room;
	uint64_t looked, cost;   /* ns: when the mappings were read last, and how long that took */
	struct sp_place *places; /* owned; by a hash of the address */
	size_t n_places, place_mask;
	struct sp_native_function **functions; /* owned; by a hash of object and address */
	size_t n_functions, function_mask;
};

void sp_objects_close(struct sp_objects *o);
/* Reads what is mapped, if that was not done just now; `again`: something did not fit. false: nothing is different. */
bool sp_objects_look(struct sp_objects *o, bool again);
/* Everything about an address; NULL: no code is there, or no memory. It holds until the next call. */
const struct sp_place *sp_objects_at(struct sp_objects *o, uint64_t pc);
/* Is it the address behind a call? */
bool sp_objects_code(const struct sp_objects *o, uint64_t pc);

/* ---- native_stop.c: registers of a thread that runs ---- */

struct sp_stop {
	pid_t process, thread;
	int signal;                   /* that it would have been given when it stopped; 0: none */
	bool asked;                   /* it stopped because it was asked to */
	bool in_call;                 /* it stopped where a system call begins or ends */
	bool repeated;                /* its system call, which the stop made fail, begins anew */
	bool shortened;               /* its system call, which the stop shortened, goes on */
	uint64_t done, buffer, bytes; /* of that: how much was done before, and its arguments */
};
void sp_stop_prepare(void); /* once, in the thread that stops others */
/* Stops s->thread. 0: it stands, *r is filled; -ESRCH: it has ended; -EBUSY: another tracer has it; -ETIMEDOUT: it does
 * not stop yet. */
int sp_stop(struct sp_stop *s, struct sp_registers *r);
/* It goes on. false: it is in a system call that was shortened; as after -ETIMEDOUT, sp_stop_settle() is to be asked
 * until that says true: it has let it go, or it has ended. now: at once, even if less is written then. */
bool sp_stop_end(struct sp_stop *s);
bool sp_stop_settle(struct sp_stop *s, bool now);

uint64_t sp_native_now(void); /* ns, monotonic */

#endif
