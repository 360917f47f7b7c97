/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface with which libraries outside of _measure record: the wrappers of file I/O, compiled functions and MPI.
 * These libraries are loaded before or beside _measure and are not linked to it. They find this struct with dlsym
 * under SP_ADAPTER_SYMBOL, or the extension module passes it to them.
 *
 * The rules of an event apply: no function here calls Python, prints or changes errno, and none needs the GIL. Signal
 * handlers must not call them: a handler may have interrupted an event of the same thread. */
#ifndef SP_RECORD_ADAPTER_H
#define SP_RECORD_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"

#define SP_ADAPTER_SYMBOL "sp_adapter_v1"
/* The name of a variable in objects that contain inject/native/hooks.c: a pointer to that struct, NULL until the
 * object or _measure has found the adapter. */
#define SP_NATIVE_SYMBOL "sp_native_adapter_v1"

struct sp_thread;

/* A text of n bytes; it need not end with NUL. */
struct sp_adapter_text {
	const void *p;
	size_t n;
};

/* What a measurement can request; bits of *wanted. */
enum { SP_ADAPTER_IO = 1, SP_ADAPTER_MPI = 2, SP_ADAPTER_MERGE = 4 /* merge when MPI ends */ };

/* Groups of MPI functions, as in SCOREP_MPI_ENABLE_GROUPS; bits of *mpi_groups. XNB: each request has its own records
 * (xnonblock). XREQ: also tests of requests that are not complete (xreqtest). */
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

/* The OWN metrics that an adapter counts, all in bytes. */
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

/* The functions and variables of the adapter. New members are added at the end. */
struct sp_adapter {
	uint32_t version; /* 1 */
	uint32_t size;    /* sizeof this struct in the library */

	/* A set of SP_ADAPTER_…: what the most recently started measurement requests. */
	const uint32_t *wanted;
	/* Changes with each start of a measurement: ids of regions and strings from an earlier one are invalid. Never
	 * 0 during a measurement. */
	const uint32_t *generation;
	/* Changes with each raw file, therefore also in a child of fork: numbers that are unique in a process (I/O
	 * handles) start again. */
	const uint32_t *process;

	/* Returns the location of the calling thread, made at first use; it is valid for one event. Returns NULL if
	 * nothing can be recorded now: without a measurement, in a pause, in the interpreter's start-up, and in a
	 * child of fork that does not continue to run Python. Also NULL in a thread that runs Python, until Python's
	 * first event there or after a pause, because the thread's frames are unknown before that event. */
	struct sp_thread *(*thread)(void);
	/* Whether t records a trace; without one extra() does nothing. */
	int (*traced)(const struct sp_thread *t);

	/* Defines a region and returns its id, or 0 if there is no space (counted). kind: SP_RAW_REGION_… with its
	 * flags. Texts are UTF-8 and copied; NULL is "". Takes the process lock. */
	uint32_t (*region)(unsigned kind, const char *module, const char *name, const char *file, uint32_t line);
	/* Returns the id of a text for extra(), the same id for equal texts; 0 if the text is empty or there is no
	 * space. Bytes that are not UTF-8 are escaped like Python's backslashreplace; a text longer than PATH_MAX is
	 * truncated. Takes the process lock. */
	uint32_t (*string)(const char *text, size_t n);

	/* Enter and leave a region; both return the time in ticks, for extra(). A leave without an enter is counted as
	 * unmatched. Frames above the left one are left with it. */
	uint64_t (*enter)(struct sp_thread *t, uint32_t region);
	uint64_t (*leave)(struct sp_thread *t, uint32_t region);
	/* Returns the time on the clock of the events, in ticks. */
	uint64_t (*now)(void);
	/* Records an event with n words of payload at the time `now` (ticks), or at the time of the preceding event if
	 * that is later. */
	void (*extra)(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n, uint64_t now);
	/* Adds `amount` bytes to an OWN metric of the innermost open frame. */
	void (*add)(struct sp_thread *t, enum sp_adapter_count which, uint64_t amount);

	/* A compiled function, given by its address, begins or ends. They check what thread() checks and find the
	 * region. */
	void (*native_enter)(const void *function);
	void (*native_leave)(const void *function);
	/* An object file was unloaded: its addresses may be reused by another one. */
	void (*native_forget)(void);

	/* Writes a definition record with copies of n texts (any bytes), at most 4. Returns 0 or a negative errno:
	 * nothing is recorded, or there is no space. Takes the process lock. */
	int (*define)(enum sp_raw_def_kind kind, unsigned flags, uint32_t a, uint32_t b,
	              const struct sp_adapter_text *text, int n);
	/* Writes a META record. */
	void (*meta)(const char *key, const char *value);
	/* Returns the path of this process's raw file; NULL: no file. */
	const char *(*path)(void);
	/* The groups of MPI functions that are recorded: a set of SP_MPI_GROUP_… */
	const uint32_t *mpi_groups;
	/* Returns a number that is unique among all file handles of this process, whatever their paradigm. Its upper
	 * half is *process. Takes no lock. */
	uint64_t (*io_handle)(void);
	/* Whether the program is over and only the C library's work at the end of a process remains: the interpreter
	 * has ended, and the calling thread has at most one open frame, that of the caller. */
	int (*over)(void);
	/* Ends the measurement, as the end of the process does. */
	void (*finish)(void);
};

/* Reads *wanted, *generation, *process or *mpi_groups, which another thread may change at the same time. Relaxed: a
 * thread that thread() has given a location sees what the start of its measurement stored before. */
static inline uint32_t sp_adapter_read(const uint32_t *member)
{
	return __atomic_load_n(member, __ATOMIC_RELAXED);
}

/* ---- for the components of _measure ---- */

extern const struct sp_adapter sp_adapter_v1;
extern uint32_t sp_adapter_process; /* the member `process` points to it; for sp_adapter_read() */

/* Defines the metric columns that the settings request. Call it without the process lock, before the first node is
 * made. */
void sp_adapter_columns(void);
/* Parses names of groups separated by commas, spaces, colons or semicolons. auto is Score-P's default, off is the
 * empty set, and ~ before a name removes that group from the preceding ones. Returns 0, or -1 with the wrong word
 * named in why (of n bytes). */
int sp_mpi_groups(const char *text, uint32_t *out, char *why, size_t n);
/* Returns the i-th name that sp_mpi_groups() accepts; NULL after the last one. */
const char *sp_mpi_group_name(size_t i);
/* Whether an MPI launcher started this process. */
bool sp_adapter_mpi_launched(void);
/* The member `thread`. */
struct sp_thread *sp_adapter_thread(void);
/* native.c: the members of these names. */
void sp_native_enter(const void *function);
void sp_native_leave(const void *function);
void sp_native_forget(void);
/* Returns the module name for functions of an object file, which the caller frees: "_solver" for
 * /x/_solver.cpython-311-x86_64-linux-gnu.so, "libm" for libm.so.6. */
char *sp_native_module(const char *path);
/* Passes the adapter to objects that were loaded before _measure. */
void sp_native_attach(void);
/* A raw file was opened: at a start (start is 1), or in a child of fork (0). */
void sp_adapter_new_file(int start);
/* Set by the hook: returns whether the calling thread runs Python code that the hook records. */
extern int (*sp_adapter_runs_python)(void);
/* Set by the hook: returns whether the interpreter has ended; ends the measurement at the end of the process. */
extern int (*sp_adapter_ended)(void);
extern void (*sp_adapter_finish)(void);
/* Set by the hook in a child of fork that continues to run Python, not in one that becomes another program. */
extern int sp_adapter_forked_python;
/* Not 0 while the calling thread must not record through an adapter: from the preparation of fork until its end the
 * thread holds the process lock, and while it reads metrics it is inside an event. */
extern __thread int sp_adapter_forks SP_TLS_MODEL;

#endif
