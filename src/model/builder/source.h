/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw files a model was loaded from: their clocks, their ids, and the positions of each location's events. */
#ifndef SP_MODEL_BUILDER_SOURCE_H
#define SP_MODEL_BUILDER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/file.h"
#include "model/path.h"
#include "model/region.h"
#include "reader/reader.h"

/* Converts ticks of one process to nanoseconds since sp_model.begin_ns. */
struct sp_clock {
	uint64_t first;  /* ticks */
	double ns;       /* ns per tick */
	uint64_t offset; /* ns at `first` */
};

/* Table from the ids of one process to those of the model, plus 1; 0: undefined. */
struct sp_ids {
	uint32_t *to; /* owned */
	size_t n;
};

struct sp_source {
	struct sp_raw_file *raw; /* owned; NULL: nothing more has to be read from it */
	struct sp_clock clock;
	struct sp_ids regions, counters, parameters, strings;
	struct sp_ids metrics; /* index: the metric's column */
	uint32_t *sync;        /* owned; the metrics of a METRICS event */
	size_t n_sync;
	struct sp_ids tasks; /* index: the task's number */
	/* index: number of the thread's creation; value: a location of the process */
	struct sp_ids threads;
	struct sp_ids comms, wins, groups; /* ids of MPI */
	uint8_t *sides;                  /* owned; for each communicator id: 1 if the process is in the remote group */
	struct sp_ids handles;           /* ids of open files */
	struct sp_io_handle *io_handles; /* owned, while loading; `handles` has the indices */
	size_t n_io_handles;
	bool regions_repeat; /* several ids map to one region of the model */
	bool has_io;         /* the trace may contain events of file I/O */
	bool has_mpi;        /* the trace may contain events of MPI */
	bool damaged;        /* the file was damaged */
	bool borrowed;       /* the id tables belong to the image of the model */
	bool closed;         /* `raw` is opened when its events are read for the first time */
	unsigned users;      /* readers of `raw`, if it was opened on demand */
	/* clock of the process's file of samples, which may be `raw` itself */
	struct sp_clock sampled_clock;
	struct sp_ids sampled_regions, sampled_metrics;
};

/* Position of a location's events. */
struct sp_event_range {
	uint32_t source;
	size_t thread; /* index of the thread in the raw file */
	uint64_t end;  /* ticks; no event is later */
	uint64_t words;
	uint64_t waiting; /* ns of the time after the last event in which it waited */
	bool reported;    /* a problem was reported: its events did not fit together */
};

struct sp_model_private {
	struct sp_arena arena;
	struct sp_image *image;    /* owned; NULL: the model was loaded from the raw files */
	struct sp_model *stand_in; /* owned; its rows replace damaged ones */
	struct sp_source *sources; /* owned */
	size_t n_sources;
	struct sp_event_range *places; /* in the arena; one for each location */
	struct sp_problem *problems;   /* owned; sp_model.problems */
	size_t problem_capacity;
	struct sp_row *rows;   /* owned; sp_model.values */
	uint64_t *row_metrics; /* owned; sp_model.row_metrics */
	size_t row_capacity;
	struct sp_parameter_value *parameter_values; /* owned; sp_model.parameter_values */
	size_t parameter_value_capacity;
	struct sp_region *regions; /* owned; sp_model.regions */
	struct sp_path *paths;     /* owned; sp_model.paths */
	size_t path_capacity;
};

#endif
