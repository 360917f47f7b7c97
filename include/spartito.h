/* SPDX-License-Identifier: BSD-3-Clause */
/* Spartito from C, C++ and Cython: regions, parameters, counters and markers in the call tree of the measured Python
 * program. There is nothing to link: the functions find the measurement in the running process. Without a measurement
 * each call costs a few nanoseconds. Any thread may call them, with or without the GIL. Names are UTF-8 and are
 * copied.
 *
 *     spartito_region_begin("solve");
 *     …
 *     spartito_region_end("solve"); */
#ifndef SPARTITO_H
#define SPARTITO_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of the measuring library, found under the name SPARTITO_API_SYMBOL. New members are added at the
 * end. */
struct spartito_api {
	uint32_t version; /* 1 */
	uint32_t size;    /* sizeof this struct in the library */
	void (*region_begin)(const char *name);
	void (*region_end)(const char *name);
	void (*parameter_int)(const char *name, int64_t value);
	void (*parameter_uint)(const char *name, uint64_t value);
	void (*parameter_string)(const char *name, const char *value);
	void (*counter)(const char *name, double value);
	void (*marker)(const char *text);
	int (*active)(void); /* 1 while events are recorded */
};
#define SPARTITO_API_SYMBOL "spartito_api_v1"

/* With -finstrument-functions the compiler would instrument these functions as well, and the end of
 * spartito_region_begin() would also end the region that it began. */
#define SPARTITO_FUNCTION static inline __attribute__((no_instrument_function))

/* Returns the library's functions, or NULL if the library is not loaded. Until the library is found, only every 1024th
 * call repeats the search. */
SPARTITO_FUNCTION const struct spartito_api *spartito_api(void)
{
	static const struct spartito_api *found;
	static unsigned calls;
	if (!found && (calls++ & 1023) == 0)
		found = (const struct spartito_api *)dlsym(RTLD_DEFAULT, SPARTITO_API_SYMBOL);
	return found;
}

/* Begins or ends the region `name`. Regions must end in the reverse order of their begins, in the same thread. */
SPARTITO_FUNCTION void spartito_region_begin(const char *name)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->region_begin(name);
}

SPARTITO_FUNCTION void spartito_region_end(const char *name)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->region_end(name);
}

/* Records a value for the current time of the trace, such as the iteration number or the case that is computed. */
SPARTITO_FUNCTION void spartito_parameter_int(const char *name, int64_t value)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->parameter_int(name, value);
}

SPARTITO_FUNCTION void spartito_parameter_uint(const char *name, uint64_t value)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->parameter_uint(name, value);
}

SPARTITO_FUNCTION void spartito_parameter_string(const char *name, const char *value)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->parameter_string(name, value);
}

/* Records the current value of a quantity that is drawn over time. */
SPARTITO_FUNCTION void spartito_counter(const char *name, double value)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->counter(name, value);
}

/* Records a remark at the current time of the trace. */
SPARTITO_FUNCTION void spartito_marker(const char *text)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->marker(text);
}

/* Returns 1 while events are recorded, otherwise 0. */
SPARTITO_FUNCTION int spartito_active(void)
{
	const struct spartito_api *a = spartito_api();
	return a ? a->active() : 0;
}

#ifdef __cplusplus
}
#endif

#endif
