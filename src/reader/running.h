/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a process is still writing a raw file. */
#ifndef SP_READER_RUNNING_H
#define SP_READER_RUNNING_H

#include <stdbool.h>

#include "format/format.h"

enum sp_raw_running {
	SP_RAW_IS_GONE,    /* the measurement has ended, or the process does not exist any more */
	SP_RAW_IS_RUNNING, /* its process has mapped it */
	SP_RAW_IS_AWAY     /* of another host, without a recorded end: cannot be known on this host */
};

/* name: the raw file's name, with or without directories. */
enum sp_raw_running sp_raw_running(const struct sp_raw_header *h, const char *name);
/* Whether its process may still write it: it runs, or its measurement has ended and it has mapped the file, because
 * threads may still be in an event. */
bool sp_raw_may_be_written(const struct sp_raw_header *h, const char *name);
/* sp_raw_running() for the file at path, whose header is copied to *h; a file without a header is not being written.
 * Call before the file is mapped here, because the id of its process may have been reused for this process. Returns 0,
 * or the errno of opening it. */
int sp_raw_running_file(const char *path, struct sp_raw_header *h, enum sp_raw_running *running);

#endif
