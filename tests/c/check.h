/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions that print the values and let the test continue. */
#ifndef SP_TESTS_CHECK_H
#define SP_TESTS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_failures;

#define CHECK(x)                                                                                                       \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			check_failures++;                                                                              \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
		}                                                                                                      \
	} while (0)

#define CHECK_NUMBER(x, y)                                                                                             \
	do {                                                                                                           \
		double check_x = (double)(x), check_y = (double)(y);                                                   \
		if (!(fabs(check_x - check_y) <= 1e-9 * fabs(check_y))) {                                              \
			check_failures++;                                                                              \
			fprintf(stderr, "%s:%d: %s is %.17g, not %.17g\n", __FILE__, __LINE__, #x, check_x, check_y);  \
		}                                                                                                      \
	} while (0)

/* Ends the test if x is false, because the rest depends on it. */
#define MUST(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
