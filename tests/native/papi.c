/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces libpapi: its counters count how often the set was read since its start, the second one in thousands.
 * PAPI_BROKEN has a code but cannot be counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, EINVAL_ = -1, ENOEVNT = -7, EISRUN = -10, VERSION = 0x07000000, SETS = 64 };
static const char *const names[] = {"PAPI_TOT_CYC", "fake::SECOND", "PAPI_BROKEN"};
static const char *const texts[] = {"Total cycles", "A second one", "Never"};

static struct {
	int made, running, n, code[8];
	long long reads;
} sets[SETS];
static int initialized;

int PAPI_get_opt(int option, void *to)
{
	(void)to;
	return option == 21 ? VERSION | 0x0102 : EINVAL_;
}

int PAPI_library_init(int version)
{
	initialized = version == VERSION;
	return initialized ? version : EINVAL_;
}

int PAPI_thread_init(unsigned long (*id)(void))
{
	return initialized && id() ? OK : EINVAL_;
}

int PAPI_unregister_thread(void)
{
	return OK;
}

int PAPI_event_name_to_code(const char *name, int *code)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(names[i], name))
			return *code = i + 1, OK;
	return ENOEVNT;
}

int PAPI_event_code_to_name(int code, char *name)
{
	strcpy(name, names[code - 1]);
	return OK;
}

int PAPI_enum_event(int *code, int how)
{
	if (how == 1)
		return *code = 1, OK;
	return ENOEVNT;
}

int PAPI_get_event_info(int code, void *to)
{
	strcpy((char *)to + 4 + 1024 + 64, texts[code - 1]);
	return OK;
}

char *PAPI_strerror(int r)
{
	return r == ENOEVNT ? "Event does not exist" : "Invalid argument";
}

int PAPI_create_eventset(int *set)
{
	for (int i = 0; i < SETS; i++)
		if (!sets[i].made) {
			memset(&sets[i], 0, sizeof sets[i]);
			sets[i].made = 1;
			*set = i;
			return OK;
		}
	return EINVAL_;
}

int PAPI_add_event(int set, int code)
{
	if (code == 3)
		return ENOEVNT;
	sets[set].code[sets[set].n++] = code;
	return OK;
}

int PAPI_start(int set)
{
	for (int i = 0; i < SETS; i++)
		if (sets[i].made && sets[i].running)
			return EISRUN;
	sets[set].running = 1;
	sets[set].reads = 0;
	return OK;
}

static void values(int set, long long *to)
{
	for (int i = 0; i < sets[set].n; i++)
		to[i] = sets[set].reads * (sets[set].code[i] == 2 ? 1000 : 1);
}

int PAPI_read(int set, long long *to)
{
	if (!sets[set].running)
		return EINVAL_;
	sets[set].reads++;
	values(set, to);
	return OK;
}

int PAPI_stop(int set, long long *to)
{
	if (!sets[set].running)
		return EINVAL_;
	values(set, to);
	sets[set].running = 0;
	return OK;
}

int PAPI_cleanup_eventset(int set)
{
	if (sets[set].running)
		return EISRUN;
	sets[set].n = 0;
	return OK;
}

int PAPI_destroy_eventset(int *set)
{
	if (*set < 0 || !sets[*set].made)
		abort();
	sets[*set].made = 0;
	*set = -1;
	return OK;
}
