/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions that a measured process records itself while its functions are sampled: user regions, calls of MPI, file I/O.
 * They are read from the recorder's memory, the STACK of each thread (format/FORMAT.md), so that samples get them as
 * callers and callees. */
#ifndef SP_SAMPLE_CONTROL_MARKS_H
#define SP_SAMPLE_CONTROL_MARKS_H

#include "sample/control/samples.h"

struct sp_marks {
	const struct sp_target *target;
	int file; /* its raw file; -1: no file */
	struct sp_marked_region {
		struct sp_sampled_region *region; /* owned; NULL: not looked up yet */
		uint8_t kind;
	} * regions; /* owned; index: the region's id in that file */
	size_t n;
};

enum { SP_MARKS = 32 }; /* maximum number of open regions */

void sp_marks_open(struct sp_marks *m, const struct sp_target *target, const char *path);
void sp_marks_close(struct sp_marks *m);
/* The address of the thread's state in the process; 0: it has recorded nothing (yet). */
uint64_t sp_marks_thread(const struct sp_marks *m, pid_t tid);
/* Reads the open regions of a thread, outermost first; user[i]: it is a user region of the program. Returns their
 * number. */
size_t sp_marks_read(struct sp_marks *m, uint64_t thread, struct sp_sampled_region *out[SP_MARKS], bool user[SP_MARKS]);

#endif
