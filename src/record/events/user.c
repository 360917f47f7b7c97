/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions and values that the program records itself, from Python, C, C++ or Cython. */
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/hot.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/user.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sp_thread *self(void)
{
	struct sp_thread *t = sp_self;
	if (!sp_recording)
		return NULL;
	if (SP_UNLIKELY(!t))
		return sp_thread_new();
	if (SP_UNLIKELY(t->epoch != sp_epoch) && sp_stack_out_of_date) {
		int error = errno;
		sp_stack_enters_other = true;
		sp_stack_out_of_date(t);
		sp_stack_enters_other = false;
		errno = error;
	}
	return sp_recording ? t : NULL; /* false in a child that is not recorded */
}

/* ---- regions ---- */

/* Returns the name without its group: "sweep" for "user:sweep" in the group "user". */
static struct sp_text without_group(struct sp_text name, struct sp_text group)
{
	if (group.n && name.n > group.n + 1 && !memcmp(name.p, group.p, group.n) && name.p[group.n] == ':')
		return (struct sp_text){name.p + group.n + 1, name.n - group.n - 1};
	return name;
}

static bool is_wanted(const struct sp_text text[3])
{
	/* the filter takes C strings: text after a NUL is ignored */
	char *all = calloc(1, text[0].n + text[1].n + text[2].n + 3), *part[3], *to = all;
	if (!all)
		return true;
	for (int i = 0; i < 3; i++) {
		part[i] = to;
		to = (char *)mempcpy(to, text[i].p, text[i].n) + 1;
	}
	bool wanted = sp_filter_wants(sp_process.filter, part[0], part[1], part[2]);
	free(all);
	return wanted;
}

uint32_t sp_user_region(struct sp_text key, struct sp_text name, const struct sp_user_location *place)
{
	static const struct sp_user_location nowhere = {{"", 0}, {"", 0}, 0, false};
	uint32_t id = sp_define_find(SP_KEY_USER, key.p, key.n);
	if (id)
		return id;
	if (!place)
		place = &nowhere;
	const struct sp_text text[3] = {place->group, without_group(name, place->group), place->file};
	unsigned flags = place->function ? SP_RAW_REGION_PYTHON : SP_RAW_REGION_USER;
	if (sp_process.settings.scorep && !is_wanted(text))
		flags = SP_REGION_LEFT_OUT;
	return sp_define_keyed(SP_KEY_USER, key.p, key.n, text, place->line, flags);
}

void sp_user_enter(uint32_t region)
{
	struct sp_thread *t = self();
	if (!t)
		sp_pause_begin(region);
	else if (!region)
		t->loc.lost_events += 2;
	else if (region != SP_REGION_LEFT_OUT)
		sp_enter(t, region, sp_user_key(region), sp_ticks(), SP_RAW_ENTER);
}

bool sp_user_leave(uint32_t region)
{
	struct sp_thread *t = self();
	if (!region || region == SP_REGION_LEFT_OUT)
		return true;
	if (!t)
		return sp_process.paused ? sp_pause_end(region) : true;
	if (sp_leave(t, sp_user_key(region), sp_ticks(), SP_RAW_LEAVE))
		return true;
	sp_unmatched(t);
	return false;
}

void sp_user_begin(const char *name, size_t n)
{
	const struct sp_text text = {name, n};
	if (self() || sp_pause_wanted())
		sp_user_enter(sp_user_region(text, text, NULL));
}

bool sp_user_end(const char *name, size_t n)
{
	uint32_t region = self() || sp_pause_wanted() ? sp_define_find(SP_KEY_USER, name, n) : SP_REGION_LEFT_OUT;
	if (region)
		return sp_user_leave(region);
	struct sp_thread *t = self(); /* the region never began */
	if (t)
		sp_unmatched(t);
	return false;
}

/* ---- values ---- */

static const char *const types[] = {
    [SP_RAW_X_PARAMETER_INT] = "int", [SP_RAW_X_PARAMETER_UINT] = "uint", [SP_RAW_X_PARAMETER_STRING] = "string"};

/* A program may set a parameter to a million values: only this number have separate call paths, all others share
 * one. */
enum { VALUES = 4096 };
static const struct sp_text others = {"(other values)", 14};

/* A value: the bytes that identify it, and a text, which for a number is made when the value is new. */
struct value {
	enum sp_raw_extra what;
	struct sp_text bytes;
};

static uint32_t value_define(struct sp_text key, struct sp_text name, const struct value *v)
{
	char number[24];
	uint64_t bits;
	struct sp_text shown = v->bytes;
	if (v->what != SP_RAW_X_PARAMETER_STRING && v->bytes.p != others.p) {
		memcpy(&bits, v->bytes.p, sizeof bits);
		shown.p = number;
		shown.n = (size_t)(v->what == SP_RAW_X_PARAMETER_INT
		                       ? snprintf(number, sizeof number, "%" PRId64, (int64_t)bits)
		                       : snprintf(number, sizeof number, "%" PRIu64, bits));
	}
	const struct sp_text text[3] = {{types[v->what], strlen(types[v->what])}, name, shown};
	sp_process.n_values++;
	return sp_define_keyed(SP_KEY_PARAMETER, key.p, key.n, text, 0, SP_RAW_REGION_PARAMETER);
}

static uint32_t value_region(struct sp_text name, uint64_t parameter, const struct value *v)
{
	uint64_t head = parameter << 8 | v->what;
	char stack[256], *p = sizeof head + v->bytes.n <= sizeof stack ? stack : malloc(sizeof head + v->bytes.n);
	struct sp_text key = {p, sizeof head + v->bytes.n};
	if (!p)
		return 0;
	memcpy(p, &head, sizeof head);
	memcpy(p + sizeof head, v->bytes.p, v->bytes.n);
	uint32_t region = sp_define_find(SP_KEY_PARAMETER, key.p, key.n);
	if (!region && (sp_process.n_values < VALUES || v->bytes.p == others.p))
		region = value_define(key, name, v);
	if (p != stack)
		free(p);
	return region;
}

/* Each value of a parameter has a separate call path in the profile. */
static void count_parameter(struct sp_thread *t, struct sp_text name, uint64_t parameter, struct value v)
{
	uint32_t region = value_region(name, parameter, &v);
	v.bytes = others;
	if (!region)
		region = value_region(name, parameter, &v);
	if (region)
		sp_callpath_parameter(t, (uint32_t)parameter, region, sp_ticks());
	else
		t->loc.lost_paths++;
}

void sp_user_value(unsigned kind, enum sp_raw_extra what, const char *name, size_t n, uint64_t value)
{
	struct sp_thread *t = self();
	uint64_t payload[2] = {t ? sp_define_name(kind, name, n) : 0, value};
	if (payload[0])
		sp_extra(t, what, payload, 2);
	else if (t)
		t->loc.lost_events++;
	if (payload[0] && kind == SP_RAW_DEF_PARAMETER)
		count_parameter(t, (struct sp_text){name, n}, payload[0],
		                (struct value){what, {(const char *)&payload[1], sizeof payload[1]}});
}

/* Only a trace refers to texts: without one, a program that makes new texts all the time must not pay for them. */
static uint32_t text_id(const struct sp_thread *t, const char *text, size_t n)
{
	return t->traced ? sp_define_name(SP_RAW_DEF_STRING, text, n) : 0;
}

void sp_user_string(const char *name, size_t n, const char *value, size_t m)
{
	struct sp_thread *t = self();
	if (!t)
		return;
	uint64_t payload[2] = {sp_define_name(SP_RAW_DEF_PARAMETER, name, n), 0};
	if (payload[0])
		payload[1] = text_id(t, value, m);
	if (payload[1])
		sp_extra(t, SP_RAW_X_PARAMETER_STRING, payload, 2);
	else if (t->traced || !payload[0])
		t->loc.lost_events++;
	if (payload[0])
		count_parameter(t, (struct sp_text){name, n}, payload[0],
		                (struct value){SP_RAW_X_PARAMETER_STRING, {value, m}});
}

void sp_user_marker(const char *text, size_t n)
{
	struct sp_thread *t = self();
	uint64_t id = t ? text_id(t, text, n) : 0;
	if (id)
		sp_extra(t, SP_RAW_X_MARKER, &id, 1);
	else if (t)
		t->loc.lost_events += t->traced;
}
