/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that a forked process has inherited from its parent. */
#ifndef SP_BASE_DESCRIPTORS_H
#define SP_BASE_DESCRIPTORS_H

#include <sys/syscall.h>
#include <unistd.h>

enum { SP_MAX_DESCRIPTORS = 1 << 16 }; /* limit of descriptors that are closed one by one */

/* Closes all descriptors from `first` on. Before Linux 5.9 it closes only those below SP_MAX_DESCRIPTORS, because
 * trying all that the limit allows could take minutes. Allocates nothing, so it may be called after a fork. */
static inline void sp_close_from(int first)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, (unsigned)first, ~0u, 0u))
		return;
#endif
	const long limit = sysconf(_SC_OPEN_MAX), end = limit < SP_MAX_DESCRIPTORS ? limit : SP_MAX_DESCRIPTORS;
	for (int fd = first; fd < end; fd++)
		close(fd);
}

#endif
