/* SPDX-License-Identifier: BSD-3-Clause */
/* One row for each output format. A new format is a new file and a new row in table.c. */
#ifndef SP_WRITE_COMMON_WRITER_H
#define SP_WRITE_COMMON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

struct sp_write_options {
	/* called now and then with what is done and what there is in all (events or call paths); may be NULL.
	 * A non-zero return cancels: the writer removes what it made and fails. */
	int (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint32_t process; /* only this process; SP_NONE: all */
	bool bare;        /* perfetto: functions have their bare names (bare.h) */
	bool calls;       /* otf2: samples become enters and leaves */
};

struct sp_writer {
	const char *name;   /* as in --to NAME */
	const char *what;   /* one line for --help and `spartito doctor` */
	const char *suffix; /* of the default output: ".prof"; a directory: "" */
	const char *opens;  /* the tool a user opens it with */
	bool needs_trace;   /* an experiment without a trace is refused by the caller, naming --trace */
	bool directory;     /* path is a directory that must not exist yet */
	bool merges;        /* a file does not keep processes apart, or is of use for a single one too */
	/* Writes to path, complete or not at all (a temporary name beside it, renamed at the end). */
	int (*write)(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e);
};

/* NULL-name-terminated. */
extern const struct sp_writer sp_writers[];
const struct sp_writer *sp_writer_find(const char *name);

#endif
