/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_CONTROL_FAMILY_H
#define SP_SAMPLE_CONTROL_FAMILY_H

#include <stdbool.h>

/* Is there a process on this host that runs for the experiment: whose environment, as it was when its program was
 * started, names it (SPARTITO_EXPERIMENT)? One that may not be looked into is none. */
bool sp_family_lives(const char *experiment);

#endif
