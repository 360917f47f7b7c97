/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share, and what only loading needs. */
#ifndef SP_MODEL_PRIVATE_H
#define SP_MODEL_PRIVATE_H

#include "base/arena.h"
#include "base/intern.h"
#include "model/model.h"
#include "reader/reader.h"

/* From the ticks of one process to nanoseconds since sp_model.begin_ns. */
struct sp_clock {
	uint64_t first;  /* ticks */
	double ns;       /* a tick */
	uint64_t offset; /* ns at `first` */
};

/* From the ids of one process to those of the model, plus 1; 0: not defined. */
struct sp_ids {
	uint32_t *to; /* owned */
	size_t n;
};

struct sp_source {
	struct sp_raw_file *raw; /* owned; NULL: nothing more to read from it */
	struct sp_clock clock;
	struct sp_ids regions, counters, parameters, strings;
	struct sp_ids metrics; /* by their columns */
	uint32_t *sync;        /* owned; the metrics of a METRICS event */
	size_t n_sync;
	struct sp_ids tasks;               /* by number */
	struct sp_ids threads;             /* by the number of their creation: locations of the process */
	struct sp_ids comms, wins, groups; /* of MPI */
	uint8_t *sides;        /* owned; of each id of a communicator: 1: the process is in its remote group */
	struct sp_ids handles; /* of files */
	struct sp_io_handle *io_handles; /* owned, while loading; what `handles` counts */
	size_t n_io_handles;
	bool regions_repeat; /* several ids are one region of the model */
	bool has_io;         /* events of file I/O may be among the others */
	bool has_mpi;        /* those of MPI */
	bool damaged;        /* something was wrong with the file */
	bool borrowed;       /* the ids belong to the image of the model */
	bool closed;         /* `raw` is opened when its events are asked for */
	unsigned users;      /* of `raw`, if it was opened so */
	/* of the process's file of samples, which may be `raw` itself */
	struct sp_clock sampled_clock;
	struct sp_ids sampled_regions, sampled_metrics;
};

/* Where the events of a location are. */
struct sp_place {
	uint32_t source;
	size_t thread; /* of the raw file */
	uint64_t end;  /* ticks: no event is later */
	uint64_t words;
	bool reported; /* that events of it did not fit together */
};

struct sp_model_private {
	struct sp_arena arena;
	struct sp_image *image;    /* owned; NULL: loaded from the raw files */
	struct sp_model *stand_in; /* owned; whose rows are used in the place of damaged ones */
	struct sp_source *sources; /* owned */
	size_t n_sources;
	struct sp_place *places;     /* in the arena; one for each location */
	struct sp_problem *problems; /* owned; sp_model.problems */
	size_t problem_room;
	struct sp_row *rows;   /* owned; sp_model.values */
	uint64_t *row_metrics; /* owned; sp_model.row_metrics */
	size_t row_room;
	struct sp_parameter_value *parameter_values; /* owned; sp_model.parameter_values */
	size_t parameter_value_room;
	struct sp_region *regions; /* owned; sp_model.regions */
	struct sp_path *paths;     /* owned; sp_model.paths */
	size_t path_room;
};

enum { SP_MOST_DIMENSIONS = 64 }; /* of a cartesian topology: what is more can only be damage */

/* Definitions of MPI of one process as its file has them, each id once, in their order; texts are in the builder's
 * scratch. */
struct sp_comm_def {
	uint32_t id, order; /* order: in which they came, as of the others */
	uint32_t flags;     /* SP_RAW_COMM_… */
	struct sp_raw_comm c;
	bool told; /* c is */
	struct sp_str name, members, remote;
	struct sp_str cart_name, cart, coordinates; /* empty: not told */
};

struct sp_win_def {
	uint32_t id, order, comm;
	struct sp_str name;
};

struct sp_group_def {
	uint32_t id, order;
	struct sp_str members;
};

struct sp_mpi_defs {
	struct sp_comm_def *comms; /* owned, as the others */
	struct sp_win_def *wins;
	struct sp_group_def *groups;
	size_t n_comms, n_wins, n_groups, comm_room, win_room, group_room;
	const struct sp_comm_def *self; /* MPI_COMM_SELF; NULL: not told */
};

/* What a process says of those that it started. */
struct sp_child_def {
	int32_t pid;
	uint32_t flags; /* SP_RAW_CHILD_… */
	struct sp_str command;
	struct sp_raw_child said;
};

struct sp_children_defs {
	struct sp_child_def *p; /* owned */
	size_t n, room;
};

/* A TASK record as the file has it. */
struct sp_task_def {
	uint8_t what; /* SP_RAW_TASK_… */
	uint32_t a, b;
	const char *data; /* in the file; bytes */
	size_t bytes;
	struct sp_str name;
};

struct sp_task_defs {
	struct sp_task_def *defs; /* owned, until the process is read */
	size_t n, room, count[4]; /* of each kind */
	uint32_t highest;         /* number of a task */
	/* in the model's arena, their times in ticks */
	struct sp_task *tasks;
	struct sp_task_rest *rests;
	struct sp_task_awaited *awaited;
	struct sp_handed handed;
};

/* What one process says of lines: `location` is the place among its locations, times are ticks. */
struct sp_line_defs {
	struct sp_line *p; /* in the model's arena */
	size_t n;
};

/* What one process says of memory: `location` is the place among its locations, times are ticks. */
struct sp_site_defs {
	struct sp_site *p; /* owned */
	size_t n, room;
	struct sp_raw_heap *heap;    /* in the arena; NULL: none */
	struct sp_raw_point *points; /* in the arena */
	size_t n_points;
	uint32_t passed_path; /* SP_NONE: not known */
};

/* What one process says of locks and waits: locations are places among its own, locks are indices of its own, times are
 * ticks. */
struct sp_lock_defs {
	struct sp_lock *locks; /* in the model's arena, as the others */
	size_t n_locks;
	struct sp_lock_wait *waits;
	size_t n_waits;
	struct sp_lock_circle *circles;
	size_t n_circles;
	struct sp_str *records; /* owned, until the process is read; DEADLOCK */
	size_t n_records, record_room;
};

/* The system's number of a thread, and its place in the file. */
struct sp_tid {
	uint64_t tid;
	size_t at;
};

/* A process while it is loaded, before the processes are put in order. */
struct sp_loading {
	struct sp_process process;     /* begin and stop are not set yet */
	struct sp_str parent_name;     /* META parent */
	struct sp_location *locations; /* in the arena; begin, end and process are not set yet */
	struct sp_place *places;       /* in the arena */
	uint64_t *begins;              /* in the arena; ticks */
	uint64_t mono, real;           /* ns at clock.first; real 0: damaged */
	uint64_t end;                  /* ticks */
	struct sp_source *source;
	struct sp_mpi_defs mpi; /* owned */
	struct sp_children_defs children;
	struct sp_task_defs tasks;
	struct sp_line_defs lines;
	struct sp_site_defs sites;
	struct sp_lock_defs locks;
	uint64_t place; /* ns: its place among the processes; those of one MPI_COMM_WORLD have the first one's */
	struct sp_raw_clock_sync sync[2]; /* the first and the last */
	unsigned syncs;                   /* how many of them there are */
	bool settled;                     /* clock_sync.c: its clock was compared */
	uint64_t unmoved;                 /* clock_sync.c: real, before that */
	struct sp_tid *tids;              /* in the builder's scratch, where there are samples; by tid and place */
	struct sp_raw_thread **strangers; /* in the builder's scratch; threads of the samples, of which locations behind
	                                     those of the process's own threads are */
	struct sp_loading *samples;       /* while it is read: what its file of samples says; NULL: there is none */
	uint32_t order;                   /* while merging: of its first location among all, in the order of files */
	bool final;                       /* nobody writes its file any more */
};

/* What is in the directory raw, in the order of names. */
struct sp_listing {
	struct sp_listed {
		char *name; /* owned */
		uint64_t size;
		uint64_t changed; /* ns */
		uint64_t begin;   /* of the process's record, ns of the clock of days; UINT64_MAX: not told */
		bool error;       /* what a process left that could not be measured */
		const struct sp_listed *samples; /* the file of samples of the same process; NULL: none */
		bool joined;                     /* is such a one itself, and read with the other */
	} * files;                               /* owned */
	size_t n;
	/* owned; places in files as the processes began, which is how the model numbers them: the program itself comes
	 * first, whatever number the system gave it */
	size_t *order;
};
enum { SP_MOST_PATH = 3800 }; /* of the directory, so that names of files fit behind it */
int sp_listing_read(struct sp_listing *l, const char *dir, struct sp_err *e);
int sp_listing_sort(struct sp_listing *l); /* fills order, samples and joined; -1: no memory */
void sp_listing_free(struct sp_listing *l);

/* A compiled function. */
struct sp_symbol {
	struct sp_str name; /* may be empty */
	struct sp_str file; /* where it was declared, or the object file */
	uint32_t line;      /* 0: not known */
};

/* What a raw file says of it: the object's path, which build that was, and where it begins there; the symbol may be
 * empty. */
struct sp_symbol_key {
	const char *path, *build, *symbol;
	uint32_t address;
};

/* symbols_file.c: those that the experiment's file `symbols` tells. */
struct sp_known_symbols {
	bool read;
	struct sp_intern keys; /* in the builder's scratch */
	struct sp_known_symbol {
		struct sp_symbol is; /* in the builder's scratch, or the model's arena */
		bool told, counted;
	} * p; /* owned; one for each key */
	size_t n, room;
};

struct sp_builder {
	struct sp_model *m;
	struct sp_model_private *priv;
	unsigned flags;
	struct sp_arena scratch; /* owned */
	struct sp_intern regions, counters, parameters, strings,
	    metrics;                       /* a region's or metric's key says all of it */
	struct sp_intern parameter_values; /* (region of kind PARAMETER, the one before) */
	size_t region_room;
	char *key; /* owned; scratch */
	size_t key_room;
	uint32_t *path_slots; /* owned; (parent, region, parameter) to path, 0: empty */
	size_t hashed;        /* paths below this one are in path_slots */
	size_t path_mask;     /* their number - 1, a power of two - 1 */
	unsigned path_shift;  /* 64 - its bits */
	uint32_t *row_of;     /* owned; path to row + 1 of the location being read, 0: none */
	size_t row_of_room;
	struct sp_loading *loading; /* owned */
	size_t n_loading;
	size_t files;        /* room of loading and the sources */
	struct sp_err first; /* of the files that could not be read at all */
	uint64_t *visits;    /* owned; while merging: of each path, and resumptions */
	size_t visit_room;
	uint32_t *folded;          /* owned; while merging: path to its index after sp_build_fold(); NULL: the same */
	bool merging;              /* rows are taken away after each file, and raw files are closed */
	struct sp_object *objects; /* owned; object files with compiled functions */
	struct sp_known_symbols known;
	uint32_t *path_moves; /* owned; path to its index after sp_build_fold(), of path_moved ones; NULL: the same */
	size_t path_moved;
};

/* Damage that leaves something to read. Text that finds no memory is dropped; so is what follows it. */
void sp_model_problem(struct sp_model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sp_model_add_problem(struct sp_model *m, const char *text); /* a line that is ready */
int sp_model_no_memory(struct sp_err *e);
struct sp_str sp_model_str(struct sp_model *m, const char *p, size_t n); /* .p is NULL when there is no memory */

/* A model with nothing in it and what builds it; e: no memory. */
int sp_builder_open(struct sp_builder *b, const char *dir, unsigned flags, size_t files, struct sp_err *e);
void sp_builder_close(struct sp_builder *b); /* all but the model */
/* Returns 1 when the file cannot be read (e says why), -1 when loading cannot go on. */
int sp_builder_add(struct sp_builder *b, const struct sp_listed *file, struct sp_err *e);
/* The tables of strings become the model's. */
int sp_builder_strings(struct sp_builder *b, struct sp_err *e);
/* Makes `visits` as long as there are paths; -1 without memory. */
int sp_builder_visits(struct sp_builder *b);
/* When all files have been added: what processes left that could not be measured, and all that follows from the whole
 * but the values. */
int sp_builder_finish(struct sp_builder *b, const struct sp_listing *list, struct sp_err *e);

/* define.c: the definitions in a part of a raw file, whose texts are in the file; at: where a record is in it. What
 * each() returns other than 0 ends it, and is then returned. */
#define SP_META_OBJECT "object " /* how the key of a META record begins that tells the build of an object file */
typedef int sp_definition_fn(void *arg, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[4]);
int sp_walk_definitions(struct sp_raw_file *f, const struct sp_raw_part *p, sp_definition_fn *each, void *arg);

/* All that they own, but not themselves. */
void sp_source_close(struct sp_source *s);
void sp_loading_free(struct sp_loading *l);

/* load.c calls these, in this order: for each file, for each process, at the end. */
int sp_build_process(struct sp_builder *b, struct sp_loading *l, struct sp_raw_file *raw, struct sp_err *e);
int sp_build_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
/* Where what is still open in a thread ends, in the ticks of its file. */
uint64_t sp_build_thread_end(struct sp_loading *l, struct sp_raw_thread *t);
/* t: NULL, where only samples speak of it; samples: NULL, where none do. */
int sp_build_thread(struct sp_builder *b, struct sp_loading *l, struct sp_raw_thread *t, struct sp_raw_thread *samples,
                    struct sp_location *out, uint64_t end, struct sp_err *e);
int sp_build_order(struct sp_builder *b, struct sp_err *e); /* processes and locations of the model, in order */
int sp_build_fold(struct sp_builder *b, struct sp_err *e);  /* paths that all calls left for one with a parameter */
int sp_build_drop_unused(struct sp_builder *b, struct sp_err *e); /* regions that nothing refers to */
int sp_build_values(struct sp_builder *b, struct sp_err *e);      /* exclusive times, totals, lists of children */

/* Exclusive times and totals, location by location. */
struct sp_exact {
	unsigned __int128 incl, each, excl, sumsq;
};
struct sp_deriving {
	struct sp_model *m;
	struct sp_exact *exact; /* owned; for each path; NULL: there is only one location */
	uint32_t *at;           /* owned; path to row + 1 */
	double *children;       /* owned; inclusive time of each row's children; NULL: nothing to compensate */
	uint8_t *mpi;           /* owned; of each path: whether its region is a function of MPI */
};
/* Makes the totals of m, all zero. most: rows of a location, to compensate for the cost of measuring; 0: not wanted. */
int sp_derive_open(struct sp_deriving *d, struct sp_model *m, size_t most, bool exact, struct sp_err *e);
/* Fills in deriving.mpi, where m has the regions of its paths. */
void sp_derive_find_mpi(const struct sp_model *m, uint8_t *mpi);
/* The l->values rows of a location, and their metrics, in the order of paths. */
void sp_derive_location(struct sp_deriving *d, struct sp_location *l, struct sp_row *rows, const uint64_t *metrics,
                        const struct sp_process *p);
/* The totals of other locations. */
void sp_derive_add(struct sp_deriving *d, const struct sp_value *totals, const double *each,
                   const struct sp_exact *exact, const uint64_t *metrics);
void sp_derive_totals(struct sp_deriving *d); /* and the lists of children */
void sp_derive_close(struct sp_deriving *d);

/* image.c: the merged model as a file (IMAGE.md). Returns 1 where there is none that is current, -1 with e set where it
 * is damaged. */
struct sp_image;
int sp_image_load(struct sp_model **out, const char *dir, const struct sp_listing *now, struct sp_err *e);
void sp_image_close(struct sp_image *i);

/* The region for a key's parts, made when new; SP_NONE without memory. */
uint32_t sp_build_region(struct sp_builder *b, const struct sp_str part[3], uint32_t line, unsigned flags);
/* The same for a compiled function: what its definition says, and which build of the object file (.p NUL-terminated,
 * may be empty) that speaks of. */
uint32_t sp_build_native(struct sp_builder *b, const struct sp_str part[3], uint32_t address,
                         const struct sp_str *build);
/* symbols.c. Texts of keys are not NULL; path and build may be empty: not told. Returns 0, or -1: no memory. */
int sp_symbols_find(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out);
/* The same in the object file alone; *found: it is there, and the build that was measured. */
int sp_symbols_look_up(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out, bool *found);
void sp_symbols_free(struct sp_builder *b);
/* What the experiment's file tells; NULL: nothing. */
const struct sp_symbol *sp_symbols_known(struct sp_builder *b, const struct sp_symbol_key *key);
void sp_known_symbols_free(struct sp_known_symbols *k);
/* The region that is r, of another builder. */
uint32_t sp_build_known_region(struct sp_builder *b, const struct sp_region *r);
void sp_build_code(struct sp_builder *b, uint32_t region, const struct sp_code *code);
/* The path, made when new; SP_NONE without memory. */
uint32_t sp_build_path(struct sp_builder *b, uint32_t parent, uint32_t region, uint32_t parameter);
/* The metric with the same kind and name, made when new: a copy of *x; SP_NONE without memory. */
uint32_t sp_build_metric(struct sp_builder *b, const struct sp_metric *x);
/* The region of calls whose own could not be defined. */
uint32_t sp_build_unknown_region(struct sp_builder *b);

/* The value that a region of kind PARAMETER stands for, after the ones set before; SP_NONE without memory. */
uint32_t sp_build_parameter(struct sp_builder *b, uint32_t region, uint32_t before);

/* A process's handles of files, from its events; -1 without memory. */
int sp_build_io(struct sp_builder *b, struct sp_loading *l);
/* Those of all processes, when these are in order. */
int sp_build_io_handles(struct sp_builder *b, struct sp_err *e);

/* define_mpi.c: a record of kind COMM, WIN, GROUP or CART; -1 without memory. */
int sp_build_mpi_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                        const struct sp_str part[4]);
/* The same, when all records and META of a process are read: its ids once each, its rank. */
void sp_build_mpi_process(struct sp_loading *l);
void sp_mpi_defs_free(struct sp_mpi_defs *d);
/* children.c: a record of kind CHILD, -1 without memory; and, when the processes are in order, what follows. */
int sp_build_child_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                          const struct sp_str part[2]);
int sp_build_children(struct sp_builder *b, struct sp_err *e);
/* A killed process was alive until another one saw it end: in the header of its file, before the file is read. */
void sp_build_seen_end(const struct sp_builder *b, struct sp_raw_file *raw);
/* mpi.c: the worlds, communicators, windows and groups of all processes, when these are in order. */
int sp_build_mpi(struct sp_builder *b, struct sp_err *e);

/* task.c. A TASK record of a process; all of them, when its other definitions are known; those of all processes, when
 * these are in order. -1: no memory. */
int sp_build_task_record(struct sp_loading *l, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[2]);
int sp_build_task_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_tasks(struct sp_builder *b, struct sp_err *e);
void sp_task_defs_free(struct sp_task_defs *d);
/* What a thread's state says that was lost. */
void sp_build_losses(struct sp_loading *l, struct sp_location *out, const struct sp_raw_location *state);
/* Calls visit for each region that tasks refer to; SP_NONE among them. */
void sp_build_task_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg);

/* line.c. The lines of a process, when its other definitions are known; those of all, when these are in order. -1: no
 * memory. */
int sp_build_line_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_lines(struct sp_builder *b, struct sp_err *e);

/* Calls visit for each region of a list. */
void sp_stack_regions(const struct sp_stack *s, void (*visit)(void *arg, uint32_t *region), void *arg);
/* stack.c. From nodes of a process that is loaded to lists of regions, while its file is open. */
struct sp_stack_reader {
	struct sp_builder *b;
	struct sp_loading *l;
	size_t left; /* steps that may still be taken */
	bool told;   /* that they were not enough */
};
void sp_stack_reader_open(struct sp_stack_reader *k, struct sp_builder *b, struct sp_loading *l);
/* The place of a location, by its id, among those of the file; SP_NONE: it is not there. */
uint32_t sp_stack_reader_location(const struct sp_stack_reader *k, uint32_t id);
/* The regions from the root to the node at a writer's pointer of that place, without those of values of parameters;
 * empty where it is not there. thread may be SP_NONE, pointer 0. The list is in the model's arena, and shared with no
 * other. -1: no memory. */
int sp_stack_reader_find(struct sp_stack_reader *k, uint32_t thread, uint64_t pointer, struct sp_stack *out);

/* lock.c. A DEADLOCK record; what a process says of locks and waits, when its other definitions are known; all of them,
 * when processes are in order. -1: no memory. */
int sp_build_lock_record(struct sp_loading *l, const struct sp_str *text);
int sp_build_lock_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_locks(struct sp_builder *b, struct sp_err *e);
void sp_lock_defs_free(struct sp_lock_defs *d);
/* Calls visit for each region that they refer to. */
void sp_lock_def_regions(struct sp_lock_defs *d, void (*visit)(void *arg, uint32_t *region), void *arg);
void sp_build_lock_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg);

/* Room for n more rows; -1 without memory. */
int sp_rows_reserve(struct sp_builder *b, size_t n);
/* Makes room in every row for metrics that were just defined; before there were `old`. */
int sp_rows_widen(struct sp_builder *b, size_t old);
/* Puts rows in the order of their paths and makes those of one path one; *n becomes their number. */
int sp_rows_order(struct sp_builder *b, size_t first, size_t *n);

/* sampled.c. Opens the file of samples of a process, before the process is built: 0, or -1 without memory; a file that
 * cannot be read is a problem of the model. The definitions in it. Its threads that the process's own file does not
 * know, at the end of the locations. What stays of it. */
int sp_samples_open_file(struct sp_builder *b, struct sp_loading *l, const char *name);
int sp_samples_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
size_t sp_samples_strangers(const struct sp_loading *l);
/* What the samples know of a location; NULL: nothing. No thread of theirs is two locations'. */
struct sp_raw_thread *sp_samples_thread(const struct sp_loading *l, size_t location);
int sp_samples_add_strangers(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
/* The end of a thread that the process itself saw until `end`: a process that was killed cannot say when that was. */
uint64_t sp_samples_end(struct sp_loading *l, struct sp_raw_thread *t, uint64_t end);
/* When all threads are read: what a sampler that was killed could not say. */
int sp_samples_tell(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
uint64_t sp_samples_ticks(const struct sp_loading *l, uint64_t ns); /* of the samples' clock, as the process's */
void sp_samples_keep(struct sp_loading *l);
void sp_samples_close_file(struct sp_loading *l);

/* clock_sync.c: a CLOCK record; and, when the hosts' own clocks are known, what follows from those of all. -1: no
 * memory */
void sp_build_clock_record(struct sp_loading *l, uint64_t at, const struct sp_str *text);
int sp_build_clocks(struct sp_builder *b);

uint64_t sp_clock_ns(const struct sp_clock *c, uint64_t ticks);
uint64_t sp_clock_length(const struct sp_clock *c, uint64_t ticks); /* ns that so many ticks take */
int sp_clock_init(struct sp_clock *c, const struct sp_raw_header *h);

/* The path and the values of metrics of a node's row; SP_NONE: there is no such node. -1: no memory. */
typedef int sp_node_row_fn(void *arg, uint32_t node, uint32_t *path, uint64_t **values);
/* lock.c: adds the waits of a thread that have not ended to the columns of rows; end: ticks. */
int sp_build_open_waits(const struct sp_builder *b, const struct sp_loading *l, const struct sp_raw_thread *t,
                        uint64_t end, sp_node_row_fn *row, void *arg);
/* memory.c. The sites of a thread, of which what they hold of columns is added to rows. The heaps, when the processes
 * are in order. -1: no memory. */
int sp_build_sites(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_thread *t, sp_node_row_fn *row,
                   void *arg);
int sp_build_heap(struct sp_builder *b, struct sp_loading *l); /* before the threads */
int sp_build_memory(struct sp_builder *b, struct sp_err *e);

#endif
