/* SPDX-License-Identifier: BSD-3-Clause */
/* What libraries outside of _measure record with: the wrappers of file I/O, compiled functions, MPI. They are loaded
 * before or beside _measure and are not linked to it: they find this struct under SP_ADAPTER_SYMBOL with dlsym, or are
 * given it by the door.
 *
 * The rules of an event hold: nothing here calls Python, prints or changes errno, and the GIL is not needed. Not for
 * signal handlers: one may have interrupted an event of the same thread. */
#ifndef SP_RECORD_ADAPTER_H
#define SP_RECORD_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

#define SP_ADAPTER_SYMBOL "sp_adapter_v1"
/* In objects with inject/native/hooks.c: a pointer to that struct, NULL while nobody looked for it. */
#define SP_NATIVE_SYMBOL "sp_native_adapter_v1"

struct sp_thread;

struct sp_adapter_text {
	const void *p;
	size_t n;
};

/* What may be asked for; bits of *wanted. */
enum { SP_ADAPTER_IO = 1, SP_ADAPTER_MPI = 2, SP_ADAPTER_MERGE = 4 /* where MPI ends */ };

/* Groups of functions of MPI, as SCOREP_MPI_ENABLE_GROUPS has them; bits of *mpi_groups. XNB: requests have records of
 * their own (xnonblock), XREQ: also tests of those that are not complete (xreqtest). */
enum {
	SP_MPI_GROUP_CG = 1 << 0,
	SP_MPI_GROUP_COLL = 1 << 1,
	SP_MPI_GROUP_ENV = 1 << 2,
	SP_MPI_GROUP_ERR = 1 << 3,
	SP_MPI_GROUP_EXT = 1 << 4,
	SP_MPI_GROUP_IO = 1 << 5,
	SP_MPI_GROUP_MISC = 1 << 6,
	SP_MPI_GROUP_P2P = 1 << 7,
	SP_MPI_GROUP_PERF = 1 << 8,
	SP_MPI_GROUP_RMA = 1 << 9,
	SP_MPI_GROUP_SPAWN = 1 << 10,
	SP_MPI_GROUP_TOPO = 1 << 11,
	SP_MPI_GROUP_TYPE = 1 << 12,
	SP_MPI_GROUP_XNB = 1 << 13,
	SP_MPI_GROUP_XREQ = 1 << 14,
	SP_MPI_GROUPS_ALL = (1 << 15) - 1,
	SP_MPI_GROUPS_DEFAULT = SP_MPI_GROUP_CG | SP_MPI_GROUP_COLL | SP_MPI_GROUP_ENV | SP_MPI_GROUP_IO |
	                        SP_MPI_GROUP_P2P | SP_MPI_GROUP_RMA | SP_MPI_GROUP_TOPO | SP_MPI_GROUP_XNB
};

/* OWN metrics that an adapter counts. */
enum sp_adapter_count {
	SP_COUNT_IO_READ,
	SP_COUNT_IO_WRITTEN,
	SP_COUNT_MPI_SENT,
	SP_COUNT_MPI_RECEIVED,
	SP_COUNT_MPI_PUT,
	SP_COUNT_MPI_GET,
	SP_COUNT_MPI_IO_READ,
	SP_COUNT_MPI_IO_WRITTEN,
	SP_COUNTS
};

/* New members come at the end. */
struct sp_adapter {
	uint32_t version; /* 1 */
	uint32_t size;    /* of this struct, in the library */

	/* SP_ADAPTER_…: what the measurement started last asks for. */
	const uint32_t *wanted;
	/* Changes with each start of a measurement: ids of regions and strings of an earlier one mean nothing. Never 0
	 * while something is measured. */
	const uint32_t *generation;
	/* Changes with each raw file, so in a child of fork too: what counts in a process (I/O handles) begins anew. */
	const uint32_t *process;

	/* Where the calling thread records, made at need; NULL: not now. That is so without a measurement, in a pause,
	 * in the interpreter's start-up, in a child of fork in which Python does not go on, and, in a thread that runs
	 * Python, before Python's first event there (also after a pause), because only then its frames are known. The
	 * result holds for one event. */
	struct sp_thread *(*thread)(void);
	/* Whether the trace is wanted: without it extra() does nothing. */
	int (*traced)(const struct sp_thread *t);

	/* A new region, SP_RAW_REGION_… with its flags; texts are UTF-8 and copied, NULL is "". 0: no room (counted).
	 * Takes the process lock. */
	uint32_t (*region)(unsigned kind, const char *module, const char *name, const char *file, uint32_t line);
	/* The id of a text for extra(), the same for the same text; 0: it is empty, or there is no room. Bytes that are
	 * not UTF-8 are escaped as Python's backslashreplace has them; what is longer than a path is cut. Takes the
	 * process lock. */
	uint32_t (*string)(const char *text, size_t n);

	/* Enters and leaves a region; both return the time in ticks, for extra(). A leave without its enter is counted
	 * as such; frames above it are left with it. */
	uint64_t (*enter)(struct sp_thread *t, uint32_t region);
	uint64_t (*leave)(struct sp_thread *t, uint32_t region);
	/* The clock of the events, in ticks. */
	uint64_t (*now)(void);
	/* An event with n words of payload at the time `now`, or that of the event before it, if it is later. */
	void (*extra)(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n, uint64_t now);
	/* Adds to an OWN metric of the innermost open frame. */
	void (*add)(struct sp_thread *t, enum sp_adapter_count which, uint64_t amount);

	/* A compiled function begins, ends; its address. All that thread() asks is asked, and the region is found. */
	void (*native_enter)(const void *function);
	void (*native_leave)(const void *function);
	/* An object file is unloaded: another may come to its addresses. */
	void (*native_forget)(void);

	/* A definition record with n texts (any bytes), copied; 0, or a negative errno (nothing is recorded, or no
	 * room). Takes the process lock. */
	int (*define)(enum sp_raw_def_kind kind, unsigned flags, uint32_t a, uint32_t b,
	              const struct sp_adapter_text *text, int n);
	/* A META record. */
	void (*meta)(const char *key, const char *value);
	/* The path of the raw file of this process; NULL: there is none. */
	const char *(*path)(void);
	/* Which groups of MPI functions are recorded: a set of SP_MPI_GROUP_… */
	const uint32_t *mpi_groups;
	/* A number that no handle of a file, of whatever paradigm, has in this process; above it, in the upper half,
	 * *process. Takes no lock. */
	uint64_t (*io_handle)(void);
	/* Whether nothing of the program comes any more but what the C library does at a process's end: the interpreter
	 * has ended, and the calling thread is in one frame at most, that of the caller. */
	int (*over)(void);
	/* Ends the measurement, as the end of the process does. */
	void (*finish)(void);
};

/* ---- for the rooms of _measure ---- */

extern const struct sp_adapter sp_adapter_v1;
extern uint32_t sp_adapter_process; /* as the member `process` */

/* Defines the columns that the settings ask for; the process lock is free, and no node is made yet. */
void sp_adapter_columns(void);
/* Reads names of groups with commas, spaces, colons or semicolons between them; auto is Score-P's default, off is none,
 * and ~ in front of one takes it away from what came before. -1: why says which word is wrong. */
int sp_mpi_groups(const char *text, uint32_t *out, char *why, size_t n);
/* The words that it knows; NULL behind the last. */
const char *sp_mpi_group_name(size_t i);
/* Whether a launcher of MPI started this process. */
bool sp_adapter_mpi_launched(void);
/* As the member `thread`. */
struct sp_thread *sp_adapter_thread(void);
/* native.c: as the members of these names. */
void sp_native_enter(const void *function);
void sp_native_leave(const void *function);
void sp_native_forget(void);
/* What functions of an object file have as their module: "_solver" of /x/_solver.cpython-311-x86_64-linux-gnu.so,
 * "libm" of libm.so.6; to be freed. */
char *sp_native_module(const char *path);
/* Makes _measure known to objects that were loaded before it. */
void sp_native_attach(void);
/* A raw file was opened: by a start, or in a child of fork. */
void sp_adapter_new_file(int start);
/* Set by the hook: does the calling thread run Python code that it records? */
extern int (*sp_adapter_runs_python)(void);
/* Set by the hook: has the interpreter ended? And what the end of the process does. */
extern int (*sp_adapter_ended)(void);
extern void (*sp_adapter_finish)(void);
/* Set by the hook in a child of fork: Python runs on in it, and it is no child that becomes another program. */
extern int sp_adapter_forked_python;
/* The calling thread must not record through an adapter: between fork's preparation and its end it holds the process
 * lock, and while it reads metrics it is in an event. */
extern __thread int sp_adapter_forks __attribute__((tls_model("initial-exec")));

#endif
