/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the cost of an event that a process measured at its start by one that was measured after its end. */
#ifndef SP_READER_COST_H
#define SP_READER_COST_H

#include <stdbool.h>

/* Takes cost_in_ps, cost_out_ps and META cost_error of the raw file `from` over to the one at path. Both must be ended
 * measurements with checksums, of the same host, version, Python (META python, prefix, spartito), hook and trace
 * setting. Returns false if they are not, if a cost or its uncertainty is missing, or if a file cannot be read or
 * written: then the file at path is as before. Also false if its process may still write it. Keeps the file's times, as
 * sp_raw_seal() does. */
bool sp_raw_take_cost(const char *path, const char *from);

#endif
