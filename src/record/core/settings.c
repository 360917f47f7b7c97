/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of the measuring half, one row each. Values from the command line and pyproject.toml arrive here as
 * environment variables. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "record/settings.h"

#define AT(field) offsetof(struct sp_settings, field)

const struct sp_setting sp_setting_table[] = {
    {"trace", SP_SETTING_BOOL, AT(trace), "0"},
    {"hook", SP_SETTING_TEXT, AT(hook), "auto"},
    {"c_calls", SP_SETTING_BOOL, AT(c_calls), "0"},
    {"trace_memory", SP_SETTING_SIZE, AT(trace_memory), "512M"},
    {"when_full", SP_SETTING_WHEN_FULL, AT(when_full), "flush"},
    {"filter", SP_SETTING_TEXT, AT(filter), ""},
    {"lines", SP_SETTING_TEXT, AT(lines), ""},
    {"source", SP_SETTING_BOOL, AT(source), "1"},
    {"own", SP_SETTING_TEXT, AT(own), ""},
    {"only_mine", SP_SETTING_BOOL, AT(only_mine), "0"},
    {"depth", SP_SETTING_COUNT, AT(depth), "0"},
    {"profile_depth", SP_SETTING_COUNT, AT(profile_depth), "0"},
    {"scorep", SP_SETTING_BOOL, AT(scorep), "0"},
    {"omnitrace", SP_SETTING_BOOL, AT(omnitrace), "0"},
    {"open_frames", SP_SETTING_BOOL, AT(open_frames), "1"},
    {"instrument", SP_SETTING_BOOL, AT(instrument), "1"},
    {"io", SP_SETTING_BOOL, AT(io), "0"},
    {"task_limit", SP_SETTING_COUNT, AT(task_limit), "100000"},
    {"memory_profile", SP_SETTING_BOOL, AT(memory_profile), "0"},
    {"memory_sample", SP_SETTING_BYTES, AT(memory_sample), "0"},
    {"limit_rss", SP_SETTING_BYTES, AT(limit_rss), "0"},
    {"temporary", SP_SETTING_COUNT, AT(temporary), "1"},
    {"gil", SP_SETTING_BOOL, AT(gil), "0"},
    {"sampler", SP_SETTING_COUNT, AT(sampler), "0"},
    {"waits", SP_SETTING_BOOL, AT(waits), "0"},
    {"mpi", SP_SETTING_TEXT, AT(mpi), "auto"},
    {"clock", SP_SETTING_TEXT, AT(clock), "auto"},
    {"finalize", SP_SETTING_BOOL, AT(finalize), "1"},
    {"annotate", SP_SETTING_BOOL, AT(annotate), "0"},
    {"label", SP_SETTING_TEXT, AT(label), ""},
    {"label_limit", SP_SETTING_COUNT, AT(label_limit), "10000"},
    {"label_repr", SP_SETTING_TEXT, AT(label_repr), ""},
    {"metrics", SP_SETTING_TEXT, AT(metrics), ""},
    {"machine", SP_SETTING_TEXT, AT(machine), ""},
    {"executable", SP_SETTING_TEXT, AT(executable), ""},
    {0},
};

static int read_bool(const char *v, bool *out)
{
	static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false", "no", "off", ""};
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!strcasecmp(v, yes[i]))
			return *out = true, 0;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (!strcasecmp(v, no[i]))
			return *out = false, 0;
	return -EINVAL;
}

/* "16000k", "4M", "1.5G", "65536": factors of 1024. */
static int read_bytes(const char *v, uint64_t *out)
{
	char *end;
	double d = strtod(v, &end);
	static const char units[] = "kmgt";
	if (end == v || !(d >= 0))
		return -EINVAL;
	if (*end) {
		const char *u = strchr(units, *end | 0x20);
		if (!u)
			return -EINVAL;
		for (int i = 0; i <= u - units; i++)
			d *= 1024;
		end++;
		if (*end == 'i')
			end++;
		if (*end == 'B' || *end == 'b')
			end++;
		if (*end)
			return -EINVAL;
	}
	if (d > 1e18)
		return -ERANGE;
	*out = (uint64_t)d;
	return 0;
}

/* At least 256 KiB, in bytes: less space holds no useful trace. */
static int read_size(const char *v, uint64_t *out)
{
	uint64_t bytes;
	int r = read_bytes(v, &bytes);
	if (!r && bytes < 256 << 10)
		r = bytes ? -ERANGE : -EINVAL;
	if (!r)
		*out = bytes;
	return r;
}

static int read_count(const char *v, uint32_t *out)
{
	char *end;
	errno = 0;
	unsigned long n = strtoul(v, &end, 10);
	if (end == v || *end || errno || n > 1000000000ul || *v == '-')
		return -EINVAL;
	*out = (uint32_t)n;
	return 0;
}

static int read_value(const struct sp_setting *row, const char *v, void *field)
{
	switch (row->kind) {
	case SP_SETTING_BOOL:
		return read_bool(v, field);
	case SP_SETTING_SIZE:
		return read_size(v, field);
	case SP_SETTING_BYTES:
		return read_bytes(v, field);
	case SP_SETTING_COUNT:
		return read_count(v, field);
	case SP_SETTING_WHEN_FULL:
		if (strcmp(v, "flush") && strcmp(v, "stop"))
			return -EINVAL;
		*(enum sp_when_full *)field = v[0] == 'f' ? SP_FLUSH : SP_STOP;
		return 0;
	case SP_SETTING_TEXT:
		break;
	}
	char *copy = strdup(v);
	if (!copy)
		return -ENOMEM;
	free(*(char **)field);
	*(char **)field = copy;
	return 0;
}

static const char *wanted(const struct sp_setting *row, int r)
{
	static const char *const text[] = {
	    [SP_SETTING_BOOL] = "not one of 1, 0, true, false, yes, no, on, off",
	    [SP_SETTING_SIZE] = "not a size such as 64M or 2G",
	    [SP_SETTING_BYTES] = "not a size such as 512K or 1G",
	    [SP_SETTING_COUNT] = "not a whole number",
	    [SP_SETTING_WHEN_FULL] = "neither flush nor stop",
	    [SP_SETTING_TEXT] = "too long",
	};
	return r == -ERANGE ? "outside of 256k and 1e18" : text[row->kind];
}

int sp_settings_set(struct sp_settings *s, const char *name, const char *value, char *why, size_t n)
{
	for (const struct sp_setting *row = sp_setting_table; row->name; row++) {
		if (strcmp(row->name, name))
			continue;
		int r = read_value(row, value, (char *)s + row->offset);
		if (r)
			snprintf(why, n, "'%.200s' is %s", value, wanted(row, r));
		return r ? -EINVAL : 0;
	}
	snprintf(why, n, "there is no such setting");
	return -ENOENT;
}

void sp_settings_init(struct sp_settings *s)
{
	char why[300];
	memset(s, 0, sizeof *s);
	for (const struct sp_setting *row = sp_setting_table; row->name; row++)
		sp_settings_set(s, row->name, row->initial, why, sizeof why);
}

void sp_settings_free(struct sp_settings *s)
{
	for (const struct sp_setting *row = sp_setting_table; row->name; row++)
		if (row->kind == SP_SETTING_TEXT) {
			char **text = (char **)((char *)s + row->offset);
			free(*text);
			*text = NULL;
		}
}

int sp_settings_from_environment(struct sp_settings *s, char *why, size_t n)
{
	for (const struct sp_setting *row = sp_setting_table; row->name; row++) {
		char name[64] = "SPARTITO_", text[260];
		size_t at = strlen(name);
		for (const char *c = row->name; *c; c++)
			name[at++] = *c >= 'a' && *c <= 'z' ? (char)(*c - 0x20) : *c;
		name[at] = 0;
		const char *value = getenv(name);
		if (!value || !sp_settings_set(s, row->name, value, text, sizeof text))
			continue;
		snprintf(why, n, "%s: %s", name, text);
		return -EINVAL;
	}
	return 0;
}

char *sp_settings_text(const struct sp_settings *s, const struct sp_setting *row)
{
	const void *field = (const char *)s + row->offset;
	char number[24];
	switch (row->kind) {
	case SP_SETTING_BOOL:
		return strdup(*(const bool *)field ? "1" : "0");
	case SP_SETTING_SIZE:
	case SP_SETTING_BYTES:
		snprintf(number, sizeof number, "%llu", (unsigned long long)*(const uint64_t *)field);
		break;
	case SP_SETTING_COUNT:
		snprintf(number, sizeof number, "%u", *(const uint32_t *)field);
		break;
	case SP_SETTING_WHEN_FULL:
		return strdup(*(const enum sp_when_full *)field == SP_FLUSH ? "flush" : "stop");
	case SP_SETTING_TEXT:
		return strdup(*(char *const *)field ? *(char *const *)field : "");
	}
	return strdup(number);
}
