/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts a sampler for each measured process of a run. Processes announce themselves by their raw files. */
#ifndef SP_SAMPLE_CONTROL_MANAGER_H
#define SP_SAMPLE_CONTROL_MANAGER_H

#include "sample/control/sampler.h"

/* Forks the manager. Returns its process id, or a negative errno. The caller closes *end, or writes to it, when the run
 * has ended. The manager then answers with one byte as soon as the files are complete of all processes that have ended
 * or whose measurement has ended. It exits when the remaining processes have ended and no process of the run is left
 * that could start others. */
pid_t sp_manager_start(const struct sp_sampler_options *o, int *end);

/* Forks a sampler of a process that is not measured. It ends with that process, or when *end is written to or closed.
 * If it could not sample, the reason, a sentence, can be read from *end. Returns its process id, or a negative
 * errno. */
pid_t sp_manager_sample(const struct sp_sampler_options *o, pid_t target, int *end);

#endif
