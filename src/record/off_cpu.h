/* SPDX-License-Identifier: BSD-3-Clause */
/* Off-CPU time: how long a thread did not run, and at which call path.
 *
 * The time between two successive events of a thread is a gap. At the end of a long gap the thread reads its own
 * processor clock (CLOCK_THREAD_CPUTIME_ID). What passed since the reading before, less what the clock counted, was off
 * the processor, and counts for the innermost function during the gap, at most its length. Shorter gaps are not read
 * and count as running: a reading takes some 200 ns, so that it costs less than 1 % of any gap. If the thread did not
 * give its processor up (ru_nvcsw of getrusage(2)), it was preempted; also if it lost it more often than it gave it up
 * (ru_nivcsw), for at most 10 ms each time on average. Otherwise it waited. In a gap with recorded waits this holds of
 * the rest of the time. The kernel knows how long a thread was ready to run (/proc/PID/task/TID/schedstat), but an open
 * file for each thread would be visible to the program. */
#ifndef SP_RECORD_OFF_CPU_H
#define SP_RECORD_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "record/thread.h"

/* Whether it is measured: functions or regions are recorded, and not in a sampler. Begins a measurement. */
void sp_off_cpu_start(void);
/* Begins for the calling thread t: reads its clock. Without space for it, nothing is measured in the thread. */
void sp_off_cpu_thread(struct sp_thread *t);
/* At an event of t, the calling thread, before loc.last changes: counts the time since the last event in which t did
 * not run. kind and id: as in sp_event(); SP_RAW_EXTRA: none of the frames begins or ends. now: ticks. Returns the
 * payload of the trace's record, 0: none. */
uint64_t sp_off_cpu_count(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t id);
/* The same, and writes the record. */
void sp_off_cpu_gap(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t id);
/* A wait of t, the calling thread, was recorded and took that many ticks, without waits inside it: as much of the gap
 * that it is in was waiting, also if the thread lost its processor there. */
void sp_off_cpu_waited(struct sp_thread *t, uint64_t ticks);
/* After a pause, in ticks, before loc.last changes: what the clock counted during it belongs to no call. Counts
 * the rest of the gap around it, unless t itself paused and did that then. */
void sp_off_cpu_resumed(struct sp_thread *t, uint64_t paused);
/* Recording ends: reads the clock of t, any thread of this process that still exists. With the process lock held. */
void sp_off_cpu_end(struct sp_thread *t);
/* Discards what was recorded so far, and begins again. */
void sp_off_cpu_restart(struct sp_thread *t);
/* Frees the data of a thread that ends, with the process lock held. done: its chunks will not be written again. */
void sp_off_cpu_free(struct sp_thread *t, bool done);

#endif
