/* SPDX-License-Identifier: BSD-3-Clause */
/* Spartito from C, C++ and Cython: regions, parameters, counters and markers in the call tree of the Python program
 * that is measured. Nothing to link: the functions find the measurement in the running process. Without one each costs
 * a few nanoseconds. All may be called from any thread, with or without the GIL; names are UTF-8 and are copied.
 *
 *     spartito_region_begin("solve");
 *     …
 *     spartito_region_end("solve");
 */
#ifndef SPARTITO_H
#define SPARTITO_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the measuring library offers, found under the name SPARTITO_API_SYMBOL. New members come at the end. */
struct spartito_api {
	uint32_t version; /* 1 */
	uint32_t size;    /* of this struct, in the library */
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

/* Measured itself (-finstrument-functions), region_begin would end before its region does. */
#define SPARTITO_FUNCTION static inline __attribute__((no_instrument_function))

/* The library's functions, or NULL. While it is not there the search is repeated at every 1024th call only. */
SPARTITO_FUNCTION const struct spartito_api *spartito_api(void)
{
	static const struct spartito_api *found;
	static unsigned calls;
	if (!found && (calls++ & 1023) == 0)
		found = (const struct spartito_api *)dlsym(RTLD_DEFAULT, SPARTITO_API_SYMBOL);
	return found;
}

/* Begins, ends a region named name; ends must come in the reverse order of begins, in the same thread. */
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

/* A value that belongs to this moment of the trace, such as the iteration or the case computed. */
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

/* A quantity that is drawn over time. */
SPARTITO_FUNCTION void spartito_counter(const char *name, double value)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->counter(name, value);
}

/* A remark at this moment of the trace. */
SPARTITO_FUNCTION void spartito_marker(const char *text)
{
	const struct spartito_api *a = spartito_api();
	if (a)
		a->marker(text);
}

/* 1 while events are recorded, otherwise 0. */
SPARTITO_FUNCTION int spartito_active(void)
{
	const struct spartito_api *a = spartito_api();
	return a ? a->active() : 0;
}

#ifdef __cplusplus
}
#endif

#endif
