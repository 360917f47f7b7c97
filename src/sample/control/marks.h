/* SPDX-License-Identifier: BSD-3-Clause */
/* What a measured process records itself while its functions are not: regions of its own, calls of MPI, file I/O. They
 * are read where its recorder keeps them, the STACK of each thread (format/FORMAT.md), so that samples stand below and
 * above them. */
#ifndef SP_SAMPLE_CONTROL_MARKS_H
#define SP_SAMPLE_CONTROL_MARKS_H

#include "sample/control/samples.h"

struct sp_marks {
	const struct sp_target *target;
	int file; /* its raw file; -1: there is none */
	struct sp_marked_region {
		struct sp_sampled_region *region; /* owned; NULL: not looked up yet */
		uint8_t kind;
	} * regions; /* owned; by its id in that file */
	size_t n;
};

enum { SP_MARKS = 32 }; /* at most */

void sp_marks_open(struct sp_marks *m, const struct sp_target *target, const char *path);
void sp_marks_close(struct sp_marks *m);
/* Where the thread's state lies in the process; 0: it has recorded nothing (yet). */
uint64_t sp_marks_thread(const struct sp_marks *m, pid_t tid);
/* What is open in a thread, outermost first; user[i]: it is a region of the program's own. How many there are. */
size_t sp_marks_read(struct sp_marks *m, uint64_t thread, struct sp_sampled_region *out[SP_MARKS], bool user[SP_MARKS]);

#endif
