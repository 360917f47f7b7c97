/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds checksums that a process could not write: it was killed, became another program, or left threads behind. */
#ifndef SP_READER_SEAL_H
#define SP_READER_SEAL_H

#include <stdbool.h>

/* Returns true if the file at path has checksums now; false if it had them before, its process may still write it, it
 * is damaged, or it is not writable. Keeps the file's times, so that merged files derived from it stay current. */
bool sp_raw_seal(const char *path);

#endif
