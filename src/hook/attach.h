/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries beside _measure that record (process/attach.c). */
#ifndef SP_HOOK_ATTACH_H
#define SP_HOOK_ATTACH_H

#include <stdbool.h>

#include "format/format.h"
#include "record/settings.h"

/* attach.c: readies what libraries beside _measure record with. s->io becomes false where it cannot be had. 0, or -1
 * with a Python exception. */
void sp_attach_mpi(void); /* before an MPI is loaded */
int sp_attach(struct sp_settings *s, enum sp_raw_start how, bool *without_io);
void sp_attach_missing(bool without_io); /* says so in the file */

#endif
