/* SPDX-License-Identifier: BSD-3-Clause */
/* One row for each output format. A new format needs a new file and a new row in table.c. */
#ifndef SP_WRITE_COMMON_WRITER_H
#define SP_WRITE_COMMON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

struct sp_write_options {
	/* Called regularly with the work done and in total (events or call paths); may be NULL. A result other than 0
	 * cancels: the writer removes its output and fails. */
	int (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint32_t process; /* only this process; SP_NONE: all processes */
	bool bare;        /* perfetto: functions have bare names (bare.h) */
	bool calls;       /* otf2: samples become enters and leaves */
};

struct sp_writer {
	const char *name;   /* as in --to NAME */
	const char *what;   /* one line, for --help and `spartito doctor` */
	const char *suffix; /* of the default output: ".prof"; a directory: "" */
	const char *opens;  /* the tool that opens it */
	bool needs_trace;   /* the caller rejects an experiment without a trace, and refers to --trace */
	bool directory;     /* path is a directory, which must not exist */
	/* output for a single process is useful: a file mixes processes, or is also useful for one */
	bool merges;
	/* Writes to path, complete or not at all: into a temporary file in the same directory, which is renamed at the
	 * end. Returns 0, or -1 with e set. */
	int (*write)(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e);
};

/* A row with name NULL ends the array. */
extern const struct sp_writer sp_writers[];
const struct sp_writer *sp_writer_find(const char *name);

#endif
