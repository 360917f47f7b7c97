/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts a process that samples for each measured process of a run, as these announce themselves by their raw files. */
#ifndef SP_SAMPLE_CONTROL_MANAGER_H
#define SP_SAMPLE_CONTROL_MANAGER_H

#include "sample/control/sampler.h"

/* Forks the manager; *end is a descriptor that is closed, or written to, where the run has ended: then the manager
 * answers with a byte as soon as the files of all processes that have ended, or in which the measurement has, are
 * complete, and ends itself when those that still run have ended too, and no process of the run is left that may start
 * others. Its process id, or a negative errno. */
pid_t sp_manager_start(const struct sp_sampler_options *o, int *end);

/* Forks a sampler of a process that is not measured. It ends with that process, or when *end is written to or closed; a
 * sentence about why it could not sample is to be read from *end then. Its process id, or a negative errno. */
pid_t sp_manager_sample(const struct sp_sampler_options *o, pid_t target, int *end);

#endif
