/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_CONTROL_FAMILY_H
#define SP_SAMPLE_CONTROL_FAMILY_H

#include <stdbool.h>

/* Whether a process of the experiment runs on this host: one with the experiment in its environment
 * (SPARTITO_EXPERIMENT) at the time its program was started. Processes that may not be inspected do not count. */
bool sp_family_lives(const char *experiment);

#endif
