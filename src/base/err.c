/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replaces control characters: names of files may contain any, but an error must be one line. */
static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

int sp_fail(struct sp_err *e, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	e->code = code;
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	one_line(e->text);
	return -1;
}

int sp_fail_in(struct sp_err *e, const char *format, ...)
{
	struct sp_err inner = *e;
	va_list args;
	size_t n, i;

	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	n = strlen(e->text);
	for (i = 0; i < 2 && n + 1 < sizeof(e->text); i++)
		e->text[n++] = ": "[i];
	for (i = 0; inner.text[i] && n + 1 < sizeof(e->text); i++)
		e->text[n++] = inner.text[i];
	e->text[n] = 0;
	one_line(e->text);
	return -1;
}
