/* SPDX-License-Identifier: BSD-3-Clause */
/* META records about the whole process. */
#ifndef SP_RECORD_USAGE_H
#define SP_RECORD_USAGE_H

/* user and system time of the process while it was measured, ns */
#define SP_META_CPU_TIME "cpu_time"
/* threads of the process at the end of the measurement, with those that Python did not start */
#define SP_META_OS_THREADS "os_threads"
/* processors on which the process may run */
#define SP_META_CPUS "cpus"

/* Call it when a measurement begins. errno changes. */
void sp_usage_begin(void);
/* The time from a pause to the resume does not count. */
void sp_usage_pause(void);
void sp_usage_resume(void);
/* Defines them at the end of a measurement; what the system does not tell is left out. errno changes. */
void sp_usage_end(void);

#endif
