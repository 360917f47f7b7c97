/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes, their child processes, and locations: the threads of processes. */
#ifndef SP_MODEL_PROCESS_H
#define SP_MODEL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/str.h"

enum sp_process_end {
	SP_END_NORMAL,
	SP_END_STOPPED, /* the program stopped the measurement */
	SP_END_ABRUPT,  /* killed or crashed; a process on another host may still be running */
	SP_END_EXITED,  /* os._exit */
	SP_END_EXEC,    /* replaced by another program */
	SP_END_RUNNING, /* still running */
	SP_ENDS
};
extern const char *const sp_process_end_names[SP_ENDS]; /* "normal", "stopped", … */

struct sp_meta {
	struct sp_str key, value;
};

struct sp_lost {
	uint64_t events; /* trace events not recorded */
	uint64_t paths;  /* visits in collapsed call paths */
	uint64_t threads;
	uint64_t regions;
	uint64_t bytes;
	uint64_t deeper; /* calls below the depth limit: requested by the user, not a loss */
	uint64_t unmatched;
	uint64_t children; /* forked child processes that could not create a file */
};

struct sp_process {
	struct sp_str file; /* name of the raw file */
	struct sp_str host;
	struct sp_str command; /* may be empty */
	struct sp_str role;    /* "pytest worker"; empty: no rule of parts/roles.c applies */
	struct sp_str name;    /* that multiprocessing or xdist gave it, "gw0"; may be empty */
	int32_t pid, ppid;
	uint32_t parent;      /* index of the parent process; SP_NONE: not measured */
	uint32_t rank;        /* in its MPI_COMM_WORLD; SP_NONE: MPI was not initialized */
	uint32_t ranks;       /* size of MPI_COMM_WORLD */
	uint64_t world;       /* processes with the same number share one MPI_COMM_WORLD; 0: no MPI */
	uint32_t world_index; /* index in sp_model.worlds; SP_NONE: no MPI */
	uint8_t end;          /* enum sp_process_end */
	int32_t status;       /* as from waitpid(), if the parent process waited for it; -1: unknown */
	uint32_t continues;   /* index of the process that became this program by exec; SP_NONE: no exec */
	/* index of the measured process whose signal ended this one; SP_NONE: no such process */
	uint32_t ended_by;
	bool forked;
	bool helper; /* its role is to wait for requests of other processes, such as a resource tracker */
	bool traced;
	bool sampled; /* a sampler sampled its threads */
	bool counted; /* its calls were recorded; otherwise its times are those of samples, and visits are unknown */
	uint64_t begin, stop; /* ns since sp_model.begin_ns */
	uint32_t first_location, locations;
	/* ns of measurement overhead for each visit: inside its interval, and in its caller */
	double cost_in, cost_out;
	struct sp_lost lost;              /* sum over the process and all its locations */
	const char *lost_reason;          /* why something was lost: a sentence, or NULL */
	const char *lost_children_reason; /* why children were lost: a sentence, or NULL */
	struct sp_meta *meta;
	size_t metas;
};

/* A process that a measured process started, or became by exec. */
struct sp_child {
	uint32_t parent;       /* index of the parent process */
	uint32_t process;      /* its process index, the first of several after exec; SP_NONE: not measured */
	int32_t pid;           /* 0: unknown */
	struct sp_str command; /* empty: a copy of its parent, or unknown */
	uint64_t begin;        /* ns since sp_model.begin_ns */
	/* ns since sp_model.begin_ns; when its parent learned of its end; 0: the parent did not wait */
	uint64_t end;
	int32_t status; /* as from waitpid(); -1: unknown */
	bool forked;    /* began as a copy of its parent */
	bool exec;      /* its parent became this program */
};

struct sp_location {
	uint32_t process;
	uint32_t creator;   /* location index of the thread that started it; SP_NONE: unknown */
	struct sp_str name; /* "MainThread", "Thread-1 (work)", … */
	struct sp_str role; /* "ThreadPoolExecutor worker"; empty: no rule of parts/roles.c applies */
	struct sp_str runs; /* the function that the thread runs: the first one of the target program; may be empty */
	bool helper; /* its role is to wait on behalf of other threads, such as a queue's feeder; or its process is a
	                helper */
	uint64_t tid;
	uint64_t begin, end; /* ns since sp_model.begin_ns */
	uint32_t id;         /* number within its process */
	struct sp_lost lost;
	size_t first_value, values; /* rows of sp_model.values, sorted by path */
	uint64_t visits, resumed;   /* sums over all paths */
	double busy, mpi;           /* ns in any path; ns in MPI */
	double off_cpu;             /* ns of `busy` off the processor (sp_off_cpu_columns); 0 if not measured */
	/* ns that the thread's processor clock counted while it was recorded; below 0: not measured */
	double cpu;
	/* the innermost call that was never left: "f", or "f, called by g"; empty: no such call */
	struct sp_str open;
};

enum { SP_PROCESS_LABEL = 128 }; /* size of a buffer for a label */
/* Writes the process's role and name, "pytest worker gw0"; "" if it has no role. A long name is truncated. Returns
 * label. */
const char *sp_process_label(const struct sp_process *p, char label[SP_PROCESS_LABEL]);

#endif
