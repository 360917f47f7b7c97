/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw files that a model was loaded from: their clocks, their ids, and where the events of a location are. */
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

#endif
