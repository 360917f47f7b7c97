/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of spartito.h, for C, C++ and Cython. */
#include "hook/control.h"
#include "record/adapter.h"
#include "record/thread.h"
#include "record/user.h"
#include "spartito.h"

#include <dlfcn.h>
#include <string.h>

static void api_begin(const char *name)
{
	sp_user_begin(name, strlen(name));
}

static void api_end(const char *name)
{
	(void)sp_user_end(name, strlen(name));
}

static void api_int(const char *name, int64_t value)
{
	sp_user_value(SP_RAW_DEF_PARAMETER, SP_RAW_X_PARAMETER_INT, name, strlen(name), (uint64_t)value);
}

static void api_uint(const char *name, uint64_t value)
{
	sp_user_value(SP_RAW_DEF_PARAMETER, SP_RAW_X_PARAMETER_UINT, name, strlen(name), value);
}

static void api_string(const char *name, const char *value)
{
	sp_user_string(name, strlen(name), value, strlen(value));
}

static void api_counter(const char *name, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	sp_user_value(SP_RAW_DEF_COUNTER, SP_RAW_X_COUNTER, name, strlen(name), bits);
}

static void api_marker(const char *text)
{
	sp_user_marker(text, strlen(text));
}

static int api_active(void)
{
	return sp_recording;
}

extern const struct spartito_api spartito_api_v1;
__attribute__((visibility("default"))) const struct spartito_api spartito_api_v1 = {
    1,          sizeof(struct spartito_api), api_begin, api_end, api_int, api_uint, api_string, api_counter, api_marker,
    api_active,
};

/* Python loads extension modules with local symbols; spartito.h and inject/native/hooks.c search the global symbols. */
void sp_publish_api(void)
{
	Dl_info info;
	if (dladdr(&spartito_api_v1, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_NOW);
	sp_native_attach();
}
