/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names of files may hold anything; an error stays one line. */
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
	char text[sizeof(e->text)];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		n = (int)strlen(text);
	snprintf(text + n, sizeof(text) - (size_t)n, ": %s", e->text);
	memcpy(e->text, text, sizeof(text));
	one_line(e->text);
	return -1;
}
