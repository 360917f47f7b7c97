/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether someone still writes a raw file. */
#ifndef SP_READER_RUNNING_H
#define SP_READER_RUNNING_H

#include "format/format.h"

enum sp_raw_running {
	SP_RAW_IS_GONE,    /* ended, or its process is no more */
	SP_RAW_IS_RUNNING, /* its process has it mapped */
	SP_RAW_IS_AWAY     /* of another host, and has not said that it ended: nobody here can know */
};

/* name: the raw file's, with or without directories in front. */
enum sp_raw_running sp_raw_running(const struct sp_raw_header *h, const char *name);
/* The same of the file at path, whose header becomes *h; one that has none is nobody's any more. To be asked before the
 * file is mapped here: the id of its process may by now be our own. Returns 0, or the errno that opening it gave. */
int sp_raw_running_file(const char *path, struct sp_raw_header *h, enum sp_raw_running *running);

#endif
