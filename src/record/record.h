/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share. The hooks use hot.h for every event and the functions below for what is rare.
 *
 * Functions return 0 or a negative errno; none prints, exits or calls Python, and all keep errno as it was where an
 * event can lead to them. The process lock orders what several threads could do at once: growing the file, defining,
 * registering. */
#ifndef SP_RECORD_RECORD_H
#define SP_RECORD_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "record/clock.h"

/* ---- settings ---- */

enum sp_when_full { SP_FLUSH, SP_STOP };

struct sp_settings {
	bool trace;
	bool c_calls;
	bool only_mine;
	enum sp_when_full when_full;
	uint64_t trace_memory;  /* bytes of the trace that may be mapped at once */
	uint32_t depth;         /* maximum number of frames; 0: no limit */
	uint32_t task_limit;    /* tasks with a record each */
	uint32_t profile_depth; /* deeper paths share one node each; 0: no limit */
	bool scorep;            /* names, call tree and filter as Score-P's Python bindings have them */
	bool
	    omnitrace; /* the call tree as Omnitrace has it: what is open when functions are switched on is not in it */
	bool open_frames; /* what is open in the thread that starts is recorded, from then on */
	bool instrument;  /* functions are recorded from the start on, not only the program's own regions */
	bool io;
	bool gil;                   /* time waited for it */
	bool memory_profile;        /* every allocation is recorded */
	uint64_t memory_sample;     /* mean bytes between two that are; 0: none */
	uint64_t limit_rss;         /* of resident bytes, which is marked; 0: none */
	uint32_t temporary;         /* a block is, until its thread has allocated so many more of about its size */
	uint32_t sampler;           /* process id of the one that samples this process; 0: none */
	bool waits;                 /* for locks, other threads, …; with gil */
	bool source;                /* of functions whose lines are recorded is kept */
	bool finalize;              /* ranks merge what they recorded where MPI ends */
	bool annotate;              /* facts of the functions' code are recorded */
	uint32_t label_limit;       /* labels by arguments in a process; 0: none */
	char *label;                /* owned; args, file, path, line, separated by commas */
	char *label_repr;           /* owned; names of types, separated by commas */
	char *clock;                /* owned; auto, tsc or monotonic */
	char *metrics;              /* owned; source:name, separated by commas */
	char *machine, *executable; /* owned; what the results call them, or empty */
	char *mpi;                  /* owned; auto, off, or groups of functions as SCOREP_MPI_ENABLE_GROUPS has them */
	char *hook;                 /* owned; "auto" or a hook's name */
	char *filter;               /* owned; items as docs say, separated by newlines */
	char *lines;                /* owned; patterns of functions whose lines are recorded, separated by newlines */
};

struct sp_setting {
	const char *name;
	enum {
		SP_SETTING_BOOL,
		SP_SETTING_SIZE,
		SP_SETTING_BYTES,
		SP_SETTING_COUNT,
		SP_SETTING_WHEN_FULL,
		SP_SETTING_TEXT
	} kind;
	size_t offset;
	const char *initial;
};
extern const struct sp_setting sp_setting_table[]; /* ends with a NULL name */

void sp_settings_init(struct sp_settings *s);
void sp_settings_free(struct sp_settings *s);
/* Sets one by name; -ENOENT: no such setting, -EINVAL: value that cannot be read, with a sentence in why[n]. */
int sp_settings_set(struct sp_settings *s, const char *name, const char *value, char *why, size_t n);
/* All from SPARTITO_<NAME>. */
int sp_settings_from_environment(struct sp_settings *s, char *why, size_t n);
/* The value as text, as it would be set; owned by the caller, NULL: no memory. */
char *sp_settings_text(const struct sp_settings *s, const struct sp_setting *which);

/* ---- filter: which regions are recorded; decided once for each code object ---- */

struct sp_filter;
/* From settings filter, only_mine and scorep; stdlib: directory of the standard library, or NULL. */
int sp_filter_new(struct sp_filter **out, const struct sp_settings *s, const char *stdlib, char *why, size_t n);
void sp_filter_free(struct sp_filter *f);
/* f in the place of another, which somebody may still be asking and which is freed with f. */
void sp_filter_follow(struct sp_filter *f, struct sp_filter *before);
/* Patterns without signs, separated by newlines, that name functions, classes and modules: they take what is in these
 * too, but no function inside a function. */
int sp_patterns_new(struct sp_filter **out, const char *patterns, char *why, size_t n);
/* Whether one of them takes the function; first() is told the number of each that had taken none before. */
bool sp_patterns_take(struct sp_filter *f, const char *module, const char *qualname, const char *file,
                      void (*first)(size_t number));
/* The same without a note, and only what a filter of these patterns would take. */
bool sp_pattern_takes(const struct sp_filter *f, const char *module, const char *qualname, const char *file);
bool sp_filter_wants(struct sp_filter *f, const char *module, const char *qualname, const char *file);
/* Whether a module is the package or a part of it. */
bool sp_module_is_in(const char *module, const char *package);
/* Whether a function is a part of Spartito: such are never recorded. */
bool sp_module_is_ours(const char *module, const char *file);
/* What a module is called in experiments: that which imports has another name once `importlib` is imported. */
const char *sp_module_name(const char *module);
/* Whose function it is; chosen: an item includes it. */
enum sp_belongs { SP_MINE, SP_INSTALLED, SP_LIBRARY, SP_CHOSEN };
enum sp_belongs sp_filter_belongs(const struct sp_filter *f, const char *module, const char *qualname,
                                  const char *file);
/* Of a function that it does not want: whether all functions that this one calls are left out with it. */
bool sp_filter_hides(const struct sp_filter *f, const char *module, const char *qualname, const char *file);

/* ---- one thread: the LOCATION page of the file, whose tail is ours ---- */

enum { SP_C_CACHE = 64 };

struct sp_path_entry {
	struct sp_raw_node *node; /* NULL: free */
	const struct sp_raw_node *parent;
};

static inline uint32_t sp_path_hash(const struct sp_raw_node *parent, uint32_t region)
{
	/* nodes are 64 bytes apart: their low bits say nothing */
	uint64_t h = ((uint64_t)parent >> 6 ^ (uint64_t)region << 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

/* What waits in a thread for its turn, by what tells one from another. A program may have ten thousands of coroutines,
 * and this is looked into at each enter of one. */
struct sp_waiting {
	struct sp_waiting *next; /* owned, of the same chain */
	uint64_t id;
};
struct sp_waiting_table {
	struct sp_waiting **chains; /* owned; a power of two of them */
	uint32_t size, n;
};

struct sp_thread {
	struct sp_raw_location loc;             /* what a reader sees; must be first */
	uint64_t *ev_end;                       /* NULL while nothing is traced */
	struct sp_raw_frame *_Atomic stack_end; /* NULL: other threads may say so, see sp_process_out_of_date() */
	struct sp_raw_node *root;
	struct sp_raw_node *node_next, *node_end;
	struct sp_raw_chunk *node_chunk, *ev_chunk, *stack_chunk;
	struct sp_path_entry
	    *table; /* owned; open-addressed, by (parent, region): children of nodes with two or more */
	struct sp_raw_node *collapsed;
	uint32_t table_mask, table_used;
	uint32_t node_chunks, ev_chunks;
	uint32_t node_values;   /* struct sp_raw_values behind each node: another measurement may have begun by now */
	uint32_t depth_limit;   /* 0: none */
	uint32_t marks;         /* on the stack: no depth */
	bool traced;            /* events are wanted */
	bool booting;           /* in the interpreter's start-up: restarted where the program begins */
	bool silent;            /* functions are not recorded, user regions are: no end of the stack is set */
	bool gave_up;           /* no room for the trace: its events are counted from here on */
	uint32_t epoch;         /* of sp_epoch when the stack was made to agree with the interpreter's */
	struct sp_thread *next; /* registry */
	struct sp_thread *_Atomic *slot; /* the thread's sp_self */
	struct sp_counts *counts;        /* owned; of metrics. NULL: none are read */
	uint64_t paused_ticks;           /* of the process, when the thread last looked */
	bool off;                        /* it paused itself, and has said so in its trace */
	uint32_t *begun, n_begun;        /* owned; user regions that began while recording was off */
	struct sp_rewind *rewinds;       /* owned; points of the trace that may be gone back to, newest first */
	uint64_t *rewind_chunks;         /* owned; offsets of the chunks begun since the oldest of them */
	uint32_t n_rewind_chunks;
	bool rewind_failed;                    /* one of them could not be kept */
	struct sp_task *task;                  /* that runs now; NULL: none */
	uint32_t number;                       /* of the THREAD_CREATE that it began with; 0: not known */
	bool tasks;                            /* some may run in this thread */
	bool marked;                           /* the frame entered next belongs to the mark on top */
	struct sp_waiting_table aside, fibers; /* user regions of suspended generators; whole stacks */
	struct sp_lines *lines;                /* owned; of chosen functions. NULL: none ran here */
	bool lines_failed;                     /* there was no room for them */
	struct sp_walk *walk;                  /* owned; walk.h. NULL: it was never walked */
	struct sp_heap_thread *heap;           /* owned; heap_sites.c. NULL: nothing was allocated */
	struct sp_waits *waits;                /* owned; for locks and the like. NULL: none yet */
	struct sp_c_cache {
		const void *def, *name, *owner;
		uint64_t region;
	} c_cache[SP_C_CACHE]; /* hook/naming/names.c: C functions called last */
};
_Static_assert(sizeof(struct sp_thread) <= SP_RAW_PAGE - sizeof(struct sp_raw_chunk), "a thread fits into its page");

/* NULL until the thread's first event. Who stops the measurement sets that of all threads to NULL: load it once. What
 * threads without the GIL share is _Atomic, in sequentially consistent order; on x86-64 a load of it costs nothing.
 * initial-exec: a call of __tls_get_addr would cost more than the event. */
extern __thread struct sp_thread *_Atomic sp_self __attribute__((tls_model("initial-exec")));

/* Changes with every start, resume and stop: open stacks must be looked at again. It has a page of its own, which the
 * kernel clears in the child of every fork: a child that ran no handler of pthread_atfork (a raw clone()) finds 0, and
 * so leaves the hot path at once. */
extern union sp_cleared {
	_Atomic uint32_t epoch;
	char page[SP_RAW_PAGE];
} sp_cleared;
#define sp_epoch (sp_cleared.epoch)
extern _Atomic bool sp_recording; /* measuring, and not paused */

/* Makes the calling thread's location; NULL (counted) when that cannot be done or nothing is measured. */
struct sp_thread *sp_thread_new(void);
/* A location for a thread of the process that is sampled, which began at `begin`; NULL (counted): no room. And its end.
 */
struct sp_thread *sp_thread_of(uint64_t tid, uint64_t begin);
void sp_thread_ended(struct sp_thread *t, uint64_t end);
/* Of the calling thread nothing is recorded until sp_thread_show() gets what this returned. */
struct sp_thread *sp_thread_hide(void);
void sp_thread_show(struct sp_thread *t);
/* Of threads with these numbers (gettid) nothing is recorded from the next start on; takes over ids. */
void sp_thread_leave_out(uint64_t *ids, size_t n);
/* Throws away what the thread recorded so far; its stack must be empty. */
void sp_thread_restart(struct sp_thread *t);
void sp_thread_name(struct sp_thread *t, const char *name, size_t n);

/* ---- the process ---- */

struct sp_segment {
	char *address;
	uint64_t offset, bytes, used;
	uint32_t live; /* chunks in use */
};

enum { SP_STREAM_STATE, SP_STREAM_EVENTS, SP_STREAMS };

struct sp_process {
	pthread_mutex_t lock;
	struct sp_settings settings;
	struct sp_filter *filter;
	struct sp_raw_header *header; /* mapped; NULL: nothing is measured */
	char *dir, *path;             /* owned, absolute */
	_Atomic pid_t pid;            /* of the process that made the file: this one, or see below */
	pid_t sampled;                /* the process that is recorded, by its samples; 0: this one */
	const char *sampled_file;     /* name of its raw file; NULL: it has none */
	uint64_t size;                /* of the file */
	struct sp_segment *segments;  /* owned */
	size_t n_segments;
	struct sp_past *past;    /* owned */
	int current[SP_STREAMS]; /* index of the segment being filled, or -1 */
	uint64_t next_segment[SP_STREAMS];
	uint64_t mapped, event_bytes;
	struct sp_raw_chunk **defs; /* owned: every DEFS chunk, for a child of fork */
	size_t n_defs;
	struct sp_thread *threads;
	uint32_t n_regions;
	uint32_t n_values;  /* of parameters, that have call paths of their own */
	uint32_t n_columns; /* of metrics; fixed once the first node is made */
	uint32_t n_sync;    /* the first of them: read at each enter and leave */
	bool disk_failed;
	_Atomic bool paused, instrumented;
	uint64_t paused_at, resumed_at, paused_ticks; /* ticks: last, last, in all */
	uint32_t off_region;                          /* 0: not defined yet */
	bool forked;                                  /* a child of fork that had no event yet, and has no file */
	_Atomic unsigned ending;                      /* threads whose end is being recorded, without the GIL */
};
extern struct sp_process sp_process;

/* Begins a measurement: takes over settings and filter. boot: the calling thread is in the interpreter's start-up. */
int sp_process_start(const char *dir, struct sp_settings *s, struct sp_filter *f, enum sp_raw_start how);
/* The same in a process that samples another one, `sampled`, which has a raw file of that name, or none (NULL). Threads
 * are made by sp_thread_of(). */
int sp_process_start_sampler(const char *dir, struct sp_settings *s, struct sp_filter *f, pid_t sampled,
                             const char *sampled_file);
/* Ends it. The mappings stay for as long as another thread may be in its last event: past.c. */
void sp_process_stop(enum sp_raw_ended how);
/* The process is about to become another program; false: that failed, and it goes on. */
void sp_process_exec(bool begins);
/* Both are taken over; functions whose names are decided already stay as they are. */
void sp_process_filter(struct sp_filter *f, char *items);
void sp_process_pause(void);
void sp_process_resume(void);
/* Every thread makes its stack agree with the interpreter's at its next enter. */
void sp_process_out_of_date(void);
/* A point in the thread's trace, shown as the enter of a region; and its end, which may take out of the trace all that
 * came since. Whether it had begun. In the profile nothing of it is to be seen. */
void sp_rewind_begin(struct sp_thread *t, uint32_t region);
bool sp_rewind_end(struct sp_thread *t, uint32_t region, bool take_out);
void sp_rewind_chunk(struct sp_thread *t, const struct sp_raw_chunk *c); /* c is begun */
void sp_rewind_free(struct sp_thread *t);
/* User regions while recording is off. Whether it is, for a time; a child of fork has its file then. */
bool sp_pause_wanted(void);
void sp_pause_begin(uint32_t region);
bool sp_pause_end(uint32_t region); /* whether it was open */
/* Until when the open frames of t count if it ends now: during a pause, until that began. */
uint64_t sp_process_until(const struct sp_thread *t, uint64_t now);
/* In a child of fork that had no event yet: makes its file, and the location of the calling thread with its open
 * frames. Returns the thread's location, or NULL. */
struct sp_thread *sp_process_forked(void);
/* The calling process, of which nothing is recorded, made a child by fork, of which nothing will be either. Nothing,
 * where that is not so. */
void sp_process_forks_unrecorded(void);
/* Whether the file is another process's: this one is its child by a raw clone() or fork, past pthread_atfork, and goes
 * on in its parent's shared pages. From here on nothing is recorded here; the parent counts it. A system call: for rare
 * ways only. */
bool sp_process_is_foreign(void);
void sp_process_sync(void); /* renews header.last */
void sp_process_lost(enum sp_raw_reason reason, int error, uint64_t bytes);

/* ---- rooms in the file; all with the process lock held ---- */

/* A zeroed chunk of at least `bytes` in all, of t's location; t NULL: of none. NULL: no room (counted by the caller),
 * or t is of a measurement that is over. */
struct sp_raw_chunk *sp_buffer_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t, uint64_t bytes);
/* The chunk is complete and not needed in memory any more. */
void sp_buffer_done(struct sp_raw_chunk *c);
int sp_buffer_open(const char *dir);
void sp_buffer_close(void); /* cuts the file at what is used */
/* Gives checksums to all chunks that are still mapped. False: other threads are left, which may write. */
bool sp_buffer_seal(void);
void sp_buffer_unmap(struct sp_segment *segments, size_t n, struct sp_raw_header *header); /* takes over segments */
uint64_t sp_buffer_offset(const void *p);

/* ---- past.c: measurements that are over; all with the process lock held ---- */

/* The one that is over makes room for another. The calling thread is in no event of it. */
void sp_past_add(void);
/* The thread with this location, which may be gone, is in no event there any more. */
void sp_past_left(const struct sp_thread *location);
/* In a child of fork, where there are no other threads. */
void sp_past_forget(void);
/* The calling thread is in no event of a measurement that is over, and forgets the location that it had there: another
 * may come to the same address. */
void sp_thread_leave(void);

/* ---- definitions ---- */

struct sp_text {
	const char *p;
	size_t n;
};
int sp_define(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n);
/* Region 1 of every process: call paths for which there was no room; region 2 where the depth of the profile is
 * limited: calls that are deeper. */
enum { SP_REGION_COLLAPSED_ID = 1, SP_REGION_DEEPER_ID = 2 };
/* Defines these two, before any other. With the process lock held; false: no room. */
bool sp_define_fixed(void);
/* In the place of an id: the filter leaves the region out. */
#define SP_REGION_LEFT_OUT UINT32_MAX
/* The same with all functions that it calls: entered and left as a region is, to know how long that lasts. */
#define SP_REGION_HIDES (UINT32_MAX - 1)
/* A new region id; 0 if it could not be defined (counted). */
uint32_t sp_define_region(struct sp_text module, struct sp_text name, struct sp_text file, uint32_t line,
                          unsigned flags);
/* A column for a metric, before the first node of the process is made: sync ones first. Its number, or -1 (no room). */
int sp_define_metric(const char *name, const char *unit, int exponent, const char *what, unsigned flags);
/* The META record of calls beyond `label_limit`: a child of fork counts its own. */
#define SP_META_MISSING_LABELS "missing_labels"
void sp_define_meta(const char *key, const char *value, size_t n);
/* As sp_define(); returns where the first text lies in the file, to be renewed there, or NULL. */
void *sp_define_live(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n);
/* The id of a name among those of its kind (COUNTER, PARAMETER or STRING), made at first use. */
uint32_t sp_define_name(unsigned kind, const char *p, size_t n);
/* Into room bytes: text with every byte that is not UTF-8 as Python's backslashreplace has it; returns its length. */
size_t sp_escape(char *out, size_t room, const char *text, size_t n);
/* Regions that are found by a key instead of an address, SP_KEY_… telling whose keys they are: the id, or 0: not
 * defined yet; and their definition, text as for sp_define_region; flags SP_REGION_LEFT_OUT: none, the filter leaves it
 * out. */
enum { SP_KEY_USER = 0x100, SP_KEY_PARAMETER };
uint32_t sp_define_find(unsigned kind, const char *key, size_t n);
uint32_t sp_define_keyed(unsigned kind, const char *key, size_t n, const struct sp_text text[3], uint32_t line,
                         unsigned flags);
void sp_define_forget(void);
/* Copies the definitions that a child shares with its parent into the child's new file. */
int sp_define_inherit(struct sp_raw_chunk *const *from, const uint64_t *used, size_t n);

/* ---- what leaves the hot path ---- */

int sp_thread_nodes_init(struct sp_thread *t);
int sp_thread_stack_init(struct sp_thread *t);
/* First event chunk, or the next one; false: tracing is given up. */
bool sp_thread_events_more(struct sp_thread *t);
void sp_thread_events_rewind(struct sp_thread *t);
/* No trace until sp_thread_restart(). */
void sp_thread_events_hold(struct sp_thread *t);
/* Where the value of a metric's column is kept for a node (not the root). */
static inline uint64_t *sp_node_value(struct sp_raw_node *n, unsigned column)
{
	return &((struct sp_raw_values *)(n + 1))[column / SP_RAW_VALUES].value[column % SP_RAW_VALUES];
}
/* Adds to the value. Nothing, where the node is of a measurement that had no such column. */
static inline void sp_node_add(const struct sp_thread *t, struct sp_raw_node *n, unsigned column, uint64_t amount)
{
	if (n != t->root && column < t->node_values * SP_RAW_VALUES)
		*sp_node_value(n, column) += amount;
}
/* From here on the innermost call counts as one with that value of the parameter: region is of kind PARAMETER. */
void sp_callpath_parameter(struct sp_thread *t, uint32_t parameter, uint32_t region, uint64_t now);
/* NULL: no room. */
struct sp_raw_node *sp_callpath_child(struct sp_thread *t, struct sp_raw_node *parent, uint32_t region);
/* The index of a node of t, as the file has it. */
uint32_t sp_callpath_index(const struct sp_thread *t, const struct sp_raw_node *n);
void sp_callpath_reset(struct sp_thread *t);
void sp_enter_slow(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
void sp_enter_collapsed(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
/* Returns whether a frame of this key was open. */
bool sp_leave_slow(struct sp_thread *t, uint64_t key, uint64_t now, unsigned kind);
void sp_event_slow(struct sp_thread *t, uint64_t ticks, uint64_t delta, unsigned kind, uint32_t id);
/* A record with n words of payload; the longest of all records has: */
enum { SP_PAYLOAD_MAX = 255 };
void sp_extra(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n);
/* The same at a time that is known; never before the thread's last event. */
void sp_extra_at(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n, uint64_t now);
/* Values of metrics at the time of the event that follows. A loss is that event's. */
void sp_event_metrics(struct sp_thread *t, const uint64_t *values, unsigned n, uint64_t now);

/* An inherited frame: open since before recording began; frame is the interpreter's own pointer. */
void sp_stack_inherit(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t frame, uint64_t flags, uint64_t now);
/* The region of an open frame; that of a collapsed one is kept in its `frame`. */
uint32_t sp_stack_region(const struct sp_raw_frame *f);
/* What the leave of an open frame will say. */
static inline uint64_t sp_stack_key(const struct sp_raw_frame *f)
{
	return f->flags ? ~f->key : f->key;
}
/* A leave that matches nothing. What was open at the start may end unseen where that is wanted. Under the names of
 * Score-P's bindings, and as Omnitrace has it, functions are switched on where they are open; for user regions the
 * bindings have a region. */
static inline void sp_unmatched(struct sp_thread *t)
{
	t->loc.unmatched += sp_recording && !sp_process.settings.scorep && !sp_process.settings.omnitrace &&
	                    sp_process.settings.open_frames;
}
/* Whether functions of the calling thread are recorded, where those of the process are; user regions are in any case.
 */
void sp_thread_functions(struct sp_thread *t, bool on);
/* Leaves the innermost frame whatever it is. */
void sp_stack_pop(struct sp_thread *t, uint64_t now);
/* User regions open in a generator or coroutine that is suspended: left with it, and entered again when it goes on. id
 * tells one generator from another: the interpreter's frame. */
void sp_stack_set_aside(struct sp_thread *t, uint64_t key, uint64_t id, uint64_t now); /* key: the generator's own */
void sp_stack_bring_back(struct sp_thread *t, uint64_t id, uint64_t now);
void sp_stack_forget_aside(struct sp_thread *t, uint64_t id);
/* The stack `from` stops and `to` goes on where it stopped, or begins. The frames of a stack stay open while it waits:
 * its time goes on, as that of a caller does. In the trace they are left and entered again. */
void sp_stack_switch(struct sp_thread *t, const void *from, const void *to, uint64_t now);
/* Of generators and stacks alike, at the end of the thread. */
void sp_stack_free_aside(struct sp_thread *t);
/* A user region's key is its id with two low bits that no other key has. */
static inline uint64_t sp_user_key(uint32_t region)
{
	return (uint64_t)region << 8 | 3;
}
static inline bool sp_is_user_key(uint64_t key)
{
	return (key & 3) == 3;
}
/* Leaves inherited frames whose end nobody saw, because the hook came after they began; whether the stack is empty
 * then. */
bool sp_stack_settle(struct sp_thread *t, uint64_t now);
void sp_stack_clear(struct sp_thread *t, uint64_t now);
/* The frame number `first` (the outermost is 1) and what it called have ended unseen, but user regions go on. */
void sp_stack_cut(struct sp_thread *t, size_t first, uint64_t now);
/* The thread is in a pause from now on. */
void sp_stack_paused(struct sp_thread *t, uint64_t now);
/* After a pause: the time off; then, when the frames are in order, the user regions that began in it. */
void sp_stack_resumed(struct sp_thread *t);
void sp_stack_begun(struct sp_thread *t);
static inline size_t sp_stack_depth(const struct sp_thread *t)
{
	return (size_t)((const struct sp_raw_frame *)t->loc.top - (const struct sp_raw_frame *)t->loc.base);
}
/* Set by the hook: is the inherited frame f still among the callers of the frame now entered? */
extern bool (*sp_stack_still_open)(const struct sp_raw_frame *f);
/* While one of the two is asked: what the calling thread enters is no Python frame, so that its current frame is the
 * caller. Keys tell: those of Python's code have the bits 1 and 2 clear. */
extern __thread bool sp_stack_enters_other __attribute__((tls_model("initial-exec")));
/* Set by the hook: the thread's first enter after a pause; makes its stack agree with the interpreter's again. */
extern void (*sp_stack_out_of_date)(struct sp_thread *t);
/* The node of the call path that the calling thread is in, t being its location for this moment (sp_adapter_thread()).
 * Where functions are recorded it is that of the innermost open frame; elsewhere the interpreter's frames are walked.
 * With the GIL or without; keeps exception and errno. Code that is met first without the GIL has no name yet: it takes
 * its nearest known caller's place, and *unnamed grows. Never NULL. */
extern struct sp_raw_node *(*sp_stack_walk)(struct sp_thread *t, uint64_t *unnamed); /* set by the hook */
static inline struct sp_raw_node *sp_stack_node(struct sp_thread *t, uint64_t *unnamed)
{
	if (SP_LIKELY(sp_process.instrumented && !t->silent) || !sp_stack_walk)
		return (struct sp_raw_node *)((const struct sp_raw_frame *)t->loc.top)->node;
	return sp_stack_walk(t, unnamed);
}
/* Where the hot path must stop: the end of the stack or the depth limit. */
void sp_stack_limit(struct sp_thread *t);

/* With metrics every frame is flagged, the root too, so that each enter and leave comes to stack.c. What else is
 * remarkable about it: */
static inline uint64_t sp_stack_special(const struct sp_raw_frame *f)
{
	return f->flags & ~(uint64_t)SP_RAW_FRAME_METRICS;
}
/* The flags of a frame that is left and opened again in another place or process, without another visit. */
static inline uint64_t sp_stack_reopened(const struct sp_raw_frame *f)
{
	const uint64_t special = sp_stack_special(f);
	return special & ~(uint64_t)SP_RAW_FRAME_LEFT_OUT ? f->flags : special | SP_RAW_FRAME_FORKED;
}
/* An enter, leave or the like in the trace, with the metrics at its time. */
void sp_stack_event(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t region);
/* A mark below the frame entered next: what it stands for is over when that frame is left, which is noticed at the
 * thread's next event (task.c). false: no room. */
bool sp_stack_mark(struct sp_thread *t, uint64_t value, bool enters, uint64_t now);
/* The frames that belonged to the marks on top were left before the event that is at hand. */
void sp_stack_unmark(struct sp_thread *t, uint64_t now);
/* The frame below all others. */
void sp_stack_root(struct sp_thread *t);

/* A frame with flags has the complement of its key as key, so that its leave is never taken for an ordinary one. */

/* ---- metrics that are read at each enter and leave ---- */

/* A list of source:name; -EINVAL: one is not known, with a sentence in why. One that cannot be counted here is no
 * error. */
int sp_metrics_check(const char *list, char *why, size_t n);
/* Calls f for each metric of the list; NULL: of all that can be listed. why: NULL, or why it cannot be counted here. */
int sp_metrics_list(const char *list, void (*f)(void *to, const char *name, const char *what, const char *why),
                    void *to);
/* Defines them, before the first node is made; names those that cannot be counted in the META record "uncounted". */
void sp_metrics_start(const char *list);
void sp_metrics_stop(void); /* with the process lock held, as the next two */
void sp_metrics_thread_end(struct sp_thread *t);
enum sp_fork { SP_FORK_BEFORE, SP_FORK_PARENT, SP_FORK_CHILD };
void sp_metrics_fork(enum sp_fork when);
void sp_clib_fork(enum sp_fork when); /* before the process lock is taken */
int sp_metrics_thread_begin(struct sp_thread *t);
/* The frame at this depth begins or ends: keeps the values, or adds to its node what they grew by. */
void sp_metrics_enter(struct sp_thread *t, size_t depth, uint64_t now);
void sp_metrics_leave(struct sp_thread *t, size_t depth, struct sp_raw_node *n, uint64_t now);
void sp_metrics_read(struct sp_thread *t, uint64_t now); /* here and below: nothing, where there are none */
/* After a pause: what was counted meanwhile is in no open frame, but in n, the node of the time off, if that is not
 * NULL. */
void sp_metrics_off(struct sp_thread *t, struct sp_raw_node *n);
/* The innermost frame, until now one of node n, goes on as one of another. */
void sp_metrics_divide(struct sp_thread *t, struct sp_raw_node *n, uint64_t now);
/* The METRICS record of the event that follows. */
void sp_metrics_event(struct sp_thread *t, uint64_t now);

/* ---- user regions and values, from any language; no-ops while nothing is recorded ---- */

/* Where a user region stands. function: it is an ordinary region of a Python function, recorded by hand. */
struct sp_place {
	struct sp_text group, file; /* group: the module, and the part of the name before a colon */
	uint32_t line;
	bool function;
};
/* The region of that name, made at first use; a function's is found by `key`, for names of functions repeat. 0: no
 * room. */
uint32_t sp_user_region(struct sp_text key, struct sp_text name, const struct sp_place *place);
/* region 0: a loss. Leaving says whether the region was open; true where it is not recorded. */
void sp_user_enter(uint32_t region);
bool sp_user_leave(uint32_t region);
void sp_user_begin(const char *name, size_t n);
bool sp_user_end(const char *name, size_t n);
void sp_user_value(unsigned kind, enum sp_raw_extra what, const char *name, size_t n, uint64_t value);
void sp_user_string(const char *name, size_t n, const char *value, size_t m);
void sp_user_marker(const char *text, size_t n);

#endif
