/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that wait, from python/spartito/experiments/waitkinds.txt by wait_names.py. */
#ifndef SP_MODEL_PARTS_WAIT_NAMES_H
#define SP_MODEL_PARTS_WAIT_NAMES_H

/* Patterns of fnmatch() for the names of regions; C functions also without their module. NULL ends the table. */
extern const char *const sp_wait_names[];

#endif
