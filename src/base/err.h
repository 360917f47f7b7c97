/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the analysis half: every function that can fail takes a struct sp_err and returns non-zero on failure. Each
 * caller adds the location in front of the text ("p3.raw at 0x1000: chunk length 7 is no multiple of 4096"). */
#ifndef SP_BASE_ERR_H
#define SP_BASE_ERR_H

struct sp_err {
	int code;       /* an errno value, or 0 for damaged input */
	char text[512]; /* one line, no final period or newline */
};

/* Sets the text (printf style) and the code; returns -1, so that a caller can `return sp_fail(…)`. */
int sp_fail(struct sp_err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "<location>: " before the text; returns -1. A line that is too long is truncated. */
int sp_fail_in(struct sp_err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
