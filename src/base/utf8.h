/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_BASE_UTF8_H
#define SP_BASE_UTF8_H

#include <stddef.h>

/* Length of the valid UTF-8 sequence at p, which has n > 0 bytes; 0: invalid. */
size_t sp_utf8_sequence(const unsigned char *p, size_t n);

#endif
