/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include <ctype.h>
#include <string.h>

static const char *const SUFFIXES[] = {" ltd", " limited", " inc", " gmbh", " ag",
                                       " co",  " corp",    " sa",  " bv",   " plc"};

void normalize(const char *name, char out[LONGEST + 1])
{
	int n = 0, blank = 0;
	for (; *name && n < LONGEST - 1; name++)
		if (isalnum((unsigned char)*name)) {
			if (blank && n)
				out[n++] = ' ';
			out[n++] = (char)tolower((unsigned char)*name);
			blank = 0;
		} else {
			blank = 1;
		}
	out[n] = 0;
	for (unsigned i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES; i++) {
		int cut = n - (int)strlen(SUFFIXES[i]);
		if (cut > 0 && !strcmp(out + cut, SUFFIXES[i]))
			out[n = cut] = 0;
	}
}

int distance(const char *a, const char *b)
{
	int row[LONGEST + 1], width = (int)strlen(b);
	for (int j = 0; j <= width; j++)
		row[j] = j;
	for (int i = 1; *a; a++, i++) {
		int diagonal = row[0];
		row[0] = i;
		for (int j = 1; j <= width; j++) {
			int best = diagonal + (*a != b[j - 1]);
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[width];
}
