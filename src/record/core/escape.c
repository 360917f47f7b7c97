/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of the system, such as paths, in the encoding of the raw format. */

#include <string.h>

#include "record/definitions.h"

/* Returns the length in bytes of the UTF-8 character at p; 0 if there is no valid one. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
	size_t n = *p < 0x80                 ? 1
	           : *p >= 0xc2 && *p < 0xe0 ? 2
	           : *p >= 0xe0 && *p < 0xf0 ? 3
	           : *p >= 0xf0 && *p < 0xf5 ? 4
	                                     : 0;
	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	bool odd = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
	           (*p == 0xf4 && p[1] > 0x8f); /* overlong, a surrogate, or beyond the last code point */
	return odd ? 0 : n;
}

size_t sp_escape(char *out, size_t capacity, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t used = 0;
	for (size_t i = 0, length; i < n && used + 4 <= capacity; i += length ? length : 1) {
		length = utf8_length(p + i, n - i);
		if (length) {
			memcpy(out + used, p + i, length);
			used += length;
		} else {
			static const char digits[] = "0123456789abcdef";
			const char escaped[4] = {'\\', 'x', digits[p[i] >> 4], digits[p[i] & 15]};
			memcpy(out + used, escaped, 4);
			used += 4;
		}
	}
	return used;
}
