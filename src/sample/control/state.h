/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_CONTROL_STATE_H
#define SP_SAMPLE_CONTROL_STATE_H

#include "sample/native/native.h"

/* The state of a thread, from what the kernel reports: its letter and its system call, among them the futex of the
 * interpreter's lock. python: NULL if it is not known. thread: address of its PyThreadState; 0: unknown. native: its
 * compiled frames, or NULL; they also show waits for the separate lock of a sub-interpreter. */
enum sp_thread_state sp_thread_state(const struct sp_python *python, uint64_t thread,
                                     const struct sp_thread_times *times, const struct sp_native_frame *native,
                                     size_t n_native);

#endif
