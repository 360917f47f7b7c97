/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process that was forked has of its parent's. */
#ifndef SP_BASE_DESCRIPTORS_H
#define SP_BASE_DESCRIPTORS_H

#include <sys/syscall.h>
#include <unistd.h>

enum { SP_MOST_DESCRIPTORS = 1 << 16 }; /* are tried one by one */

/* Closes all descriptors from `first` on, however many there are. Before Linux 5.9 those below SP_MOST_DESCRIPTORS: to
 * try all that the limit allows could take minutes. Allocates nothing, so that it may follow a fork. */
static inline void sp_close_from(int first)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, (unsigned)first, ~0u, 0u))
		return;
#endif
	const long limit = sysconf(_SC_OPEN_MAX), most = limit < SP_MOST_DESCRIPTORS ? limit : SP_MOST_DESCRIPTORS;
	for (int fd = first; fd < most; fd++)
		close(fd);
}

#endif
