/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_CONTROL_STATE_H
#define SP_SAMPLE_CONTROL_STATE_H

#include "sample/native/native.h"

/* What a thread does, by what the kernel says of it: its letter and its system call, a futex of the interpreter's lock
 * among them. python: NULL, where it is not known. native: its compiled frames, by which the wait for a lock of a
 * sub-interpreter's own is known too; NULL without. */
enum sp_thread_state sp_thread_state(const struct sp_python *python, const struct sp_thread_times *times,
                                     const struct sp_native_frame *native, size_t n_native);

#endif
