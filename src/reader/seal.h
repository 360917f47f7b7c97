/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the checksums that a process left out: it was killed, became another program, or left threads behind. */
#ifndef SP_READER_SEAL_H
#define SP_READER_SEAL_H

#include <stdbool.h>

/* True: the file at path has them now. False: it had them, its process may still write it, it is damaged, or it cannot
 * be written. Its times stay: what was made of it is still of this file. */
bool sp_raw_seal(const char *path);

#endif
