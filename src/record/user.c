/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions and values that the program gives itself, from Python, C, C++ or Cython. */
#include "record/hot.h"

static struct sp_thread *self(void)
{
	if (!sp_recording)
		return NULL;
	return sp_self ? sp_self : sp_thread_new();
}

void sp_user_begin(const char *name, size_t n)
{
	struct sp_thread *t = self();
	if (!t)
		return;
	uint32_t region = sp_define_name(SP_RAW_DEF_REGION, name, n);
	if (!region)
		t->loc.lost_events += 2;
	else
		sp_enter(t, region, sp_user_key(region), sp_ticks(), SP_RAW_ENTER);
}

void sp_user_end(const char *name, size_t n)
{
	struct sp_thread *t = self();
	if (!t)
		return;
	uint64_t now = sp_ticks();
	uint32_t region = sp_define_name(SP_RAW_DEF_REGION, name, n);
	if (region && !sp_leave(t, sp_user_key(region), now, SP_RAW_LEAVE))
		t->loc.unmatched++;
}

void sp_user_value(unsigned kind, enum sp_raw_extra what, const char *name, size_t n, uint64_t value)
{
	struct sp_thread *t = self();
	uint64_t payload[2] = {t ? sp_define_name(kind, name, n) : 0, value};
	if (payload[0])
		sp_extra(t, what, payload, 2);
	else if (t)
		t->loc.lost_events++;
}

void sp_user_string(const char *name, size_t n, const char *value, size_t m)
{
	struct sp_thread *t = self();
	uint64_t payload[2] = {t ? sp_define_name(SP_RAW_DEF_PARAMETER, name, n) : 0, 0};
	if (payload[0])
		payload[1] = sp_define_name(SP_RAW_DEF_STRING, value, m);
	if (payload[1])
		sp_extra(t, SP_RAW_X_PARAMETER_STRING, payload, 2);
	else if (t)
		t->loc.lost_events++;
}

void sp_user_marker(const char *text, size_t n)
{
	struct sp_thread *t = self();
	uint64_t id = t ? sp_define_name(SP_RAW_DEF_STRING, text, n) : 0;
	if (id)
		sp_extra(t, SP_RAW_X_MARKER, &id, 1);
	else if (t)
		t->loc.lost_events++;
}
