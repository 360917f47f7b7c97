/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the folder in a build without libdw, or for processors without unwinding. */
#include <errno.h>
#include <stdio.h>

#include "sample/native/native.h"

int sp_native_open(struct sp_native **out, const struct sp_target *t, bool stop, char *why, size_t n)
{
	(void)t;
	(void)stop;
	*out = NULL;
	snprintf(why, n, "this Spartito was built without libdw, or not for x86-64");
	return -ENOTSUP;
}

void sp_native_close(struct sp_native *s)
{
	(void)s;
}

int sp_native_begin(struct sp_native *s, pid_t thread, const struct sp_thread_times *times)
{
	(void)s;
	(void)thread;
	(void)times;
	return -ENOTSUP;
}

int sp_native_end(struct sp_native *s)
{
	(void)s;
	return -ENOTSUP;
}

size_t sp_native_stack(struct sp_native *s, struct sp_native_frame *out, size_t capacity, bool *complete)
{
	(void)s;
	(void)out;
	(void)capacity;
	*complete = false;
	return 0;
}

const struct sp_native_counts *sp_native_counts(const struct sp_native *s)
{
	static const struct sp_native_counts none;
	(void)s;
	return &none;
}

bool sp_native_settle(struct sp_native *s)
{
	(void)s;
	return false;
}
