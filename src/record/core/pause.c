/* SPDX-License-Identifier: BSD-3-Clause */
/* Disables and enables recording. Open frames stay on their stacks: each thread finds out at its next event which of
 * them ended during the pause. No frame contains the paused time. With the setting scorep it is, like in Score-P's
 * bindings, the time of a separate region, MEASUREMENT OFF. */
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/events/task.h"
#include "record/hot.h"
#include "record/metrics.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/usage.h"

#include <stdlib.h>
#include <string.h>

/* A bit in the key of a user region that ended during the pause: no leave passes such a key. */
#define ENDED UINT64_C(4)

static struct sp_raw_frame *frame_at(const struct sp_thread *t, size_t i)
{
	return (struct sp_raw_frame *)t->loc.base + i;
}

static bool is_user(const struct sp_raw_frame *f)
{
	return sp_is_user_key(sp_stack_key(f));
}

static bool is_ended(const struct sp_raw_frame *f)
{
	return is_user(f) && sp_stack_key(f) & ENDED;
}

/* Pops the frames from number `first` on and pushes those again that are still open. */
static void cut(struct sp_thread *t, size_t first, uint64_t now, bool users_only)
{
	size_t n = sp_stack_depth(t) + 1 - first;
	struct sp_raw_frame *above = malloc(n * sizeof *above);
	if (above)
		memcpy(above, frame_at(t, first), n * sizeof *above);
	else
		t->loc.lost_events += n;
	while (sp_stack_depth(t) >= first || ((struct sp_raw_frame *)t->loc.top)->flags & SP_RAW_FRAME_MARK)
		sp_stack_pop(t, now);
	for (size_t i = 0; above && i < n; i++) {
		const struct sp_raw_frame *f = &above[i];
		if (is_user(f) ? !is_ended(f) : !users_only)
			sp_stack_inherit(t, sp_stack_region(f), sp_stack_key(f), f->frame, sp_stack_reopened(f), now);
	}
	free(above);
}

void sp_stack_cut(struct sp_thread *t, size_t first, uint64_t now)
{
	cut(t, first, now, true);
}

/* ---- user regions during a pause ---- */

bool sp_pause_wanted(void)
{
	if (sp_process.paused)
		sp_process_forked();
	return sp_process.paused;
}

static struct sp_thread *paused_self(void)
{
	return sp_pause_wanted() ? sp_self : NULL;
}

void sp_pause_begin(uint32_t region)
{
	struct sp_thread *t = paused_self();
	uint32_t *more = t ? realloc(t->begun, (t->n_begun + 1) * sizeof *more) : NULL;
	if (!more)
		return;
	t->begun = more;
	t->begun[t->n_begun++] = region;
}

bool sp_pause_end(uint32_t region)
{
	struct sp_thread *t = paused_self();
	for (uint32_t i = t ? t->n_begun : 0; i-- > 0;)
		if (t->begun[i] == region) {
			memmove(&t->begun[i], &t->begun[i + 1], (--t->n_begun - i) * sizeof *t->begun);
			return true;
		}
	for (size_t i = t ? sp_stack_depth(t) : 0; i > 0; i--)
		if (sp_stack_key(frame_at(t, i)) == sp_user_key(region)) {
			frame_at(t, i)->key ^= ENDED;
			return true;
		}
	return false;
}

void sp_stack_begun(struct sp_thread *t)
{
	uint64_t now = sp_ticks();
	for (uint32_t i = 0; i < t->n_begun; i++)
		sp_stack_inherit(t, t->begun[i], sp_user_key(t->begun[i]), 0, SP_RAW_FRAME_FORKED, now);
	t->n_begun = 0;
}

/* ---- pause and resume ---- */

static uint32_t off_region(void)
{
	static const char name[] = "MEASUREMENT OFF";
	const struct sp_text none = {"", 0}, text = {name, sizeof name - 1};
	if (!sp_process.off_region)
		sp_process.off_region = sp_define_region(none, text, none, 0, SP_RAW_REGION_OFF);
	return sp_process.off_region;
}

static void count_off(struct sp_thread *t, uint64_t off)
{
	struct sp_raw_node *n =
	    sp_callpath_child(t, (struct sp_raw_node *)frame_at(t, sp_stack_depth(t))->node, off_region());
	if (!n) {
		t->loc.lost_paths++;
		return;
	}
	sp_metrics_off(t, n);
	n->visits++;
	n->incl += off;
	n->sumsq += (double)off * (double)off;
	if (off < n->min)
		n->min = off;
	if (off > n->max)
		n->max = off;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void sp_stack_resumed(struct sp_thread *t)
{
	uint64_t off = sp_process.paused_ticks - t->paused_ticks; /* below 0 if the clock went back during the pause */
	if (off)
		sp_off_cpu_resumed(t, off);
	sp_stack_unmark(t, sp_process.paused_at < t->loc.last ? sp_process.paused_at : t->loc.last);
	if (!off)
		return;
	t->paused_ticks = sp_process.paused_ticks;
	if (!t->off)
		sp_extra_at(t, SP_RAW_X_OFF, NULL, 0, later(t->loc.last, sp_process.paused_at));
	sp_extra_at(t, SP_RAW_X_ON, NULL, 0, later(t->loc.last, sp_process.resumed_at));
	if (sp_process.settings.scorep && t->off)
		count_off(t, (int64_t)off > 0 ? off : 0);
	else if (!sp_process.settings.scorep)
		sp_metrics_off(t, NULL);
	for (size_t i = sp_process.settings.scorep ? 0 : sp_stack_depth(t); i > 0; i--)
		sp_mark_paused(frame_at(t, i), off);
	for (size_t i = sp_process.settings.scorep ? 0 : sp_stack_depth(t); i > 0; i--)
		frame_at(t, i)->enter += off;
	t->off = false;
	for (size_t i = 1; i <= sp_stack_depth(t); i++)
		if (is_ended(frame_at(t, i))) {
			cut(t, i, sp_ticks(), false);
			break;
		}
}

void sp_process_out_of_date(void)
{
	pthread_mutex_lock(&sp_process.lock);
	sp_epoch++;
	/* each thread notices it at its next enter and corrects its own stack */
	for (struct sp_thread *t = sp_process.threads; t; t = t->next)
		t->stack_end = NULL;
	pthread_mutex_unlock(&sp_process.lock);
}

void sp_stack_paused(struct sp_thread *t, uint64_t now)
{
	sp_metrics_read(t, now);
	sp_off_cpu_gap(t, now, SP_RAW_EXTRA, 0);
	sp_extra_at(t, SP_RAW_X_OFF, NULL, 0, now);
	t->off = true;
	t->stack_end = NULL;
	t->epoch = sp_epoch - 1; /* the value of a thread whose last event was before the pause */
}

void sp_process_pause(void)
{
	if (sp_process_is_foreign())
		return;
	uint64_t now = sp_ticks();
	if (sp_self)
		sp_stack_paused(sp_self, now);
	sp_usage_pause();
	sp_process.paused_at = now;
	sp_process.paused = true;
	sp_process.header->flags |= SP_RAW_FLAG_PAUSED;
	sp_recording = false;
	sp_process_out_of_date();
}

void sp_process_resume(void)
{
	if (sp_process_is_foreign())
		return;
	sp_process.resumed_at = sp_ticks();
	sp_process.paused_ticks += sp_process.resumed_at - sp_process.paused_at;
	sp_usage_resume();
	sp_process.paused = false;
	sp_process.header->flags &= ~(uint32_t)SP_RAW_FLAG_PAUSED;
	sp_recording = true;
}
