/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries beside _measure that record (process/attach.c). */
#ifndef SP_HOOK_ATTACH_H
#define SP_HOOK_ATTACH_H

#include <stdbool.h>

#include "format/format.h"
#include "record/settings.h"

/* Prepares the libraries that record beside _measure. Sets s->io to false and *without_io if file I/O cannot be
 * recorded. Returns 0, or -1 with a Python exception. */
void sp_attach_mpi(void); /* call it before an MPI library is loaded */
int sp_attach(struct sp_settings *s, enum sp_raw_start how, bool *without_io);
void sp_attach_missing(bool without_io); /* writes META records about the unavailable recordings */

#endif
