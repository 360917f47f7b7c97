/* SPDX-License-Identifier: BSD-3-Clause */
/* Names as the module `similar` compares them. */
#ifndef TEXT_H
#define TEXT_H

#define LONGEST 63 /* bytes of a normalized name */

/* Writes the letters and digits of name to out in lower case, with one blank between words; at most LONGEST bytes. */
void normalize(const char *name, char out[LONGEST + 1]);

/* The number of letters to insert, delete or replace to change a into b (Levenshtein). */
int distance(const char *a, const char *b);

#endif
