/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/events/walk.h"
#include "record/callpath.h"
#include "record/definitions.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"

#include <stdlib.h>

struct sp_raw_node *(*sp_stack_walk)(struct sp_thread *t, uint64_t *unnamed);

enum { FIRST_FRAMES = 64 };

struct sp_walk *sp_walk_of(struct sp_thread *t)
{
	if (!t->walk)
		t->walk = calloc(1, sizeof *t->walk);
	return t->walk;
}

bool sp_walk_frames_more(struct sp_walk *w)
{
	const size_t capacity = w->frames_capacity ? w->frames_capacity * 2 : FIRST_FRAMES;
	const void **frames = realloc(w->frames, capacity * sizeof *frames);
	if (!frames)
		return false;
	w->frames = frames;
	w->frames_capacity = capacity;
	return true;
}

bool sp_walk_begin(struct sp_thread *t, size_t steps)
{
	struct sp_walk *w = t->walk;
	if (steps > w->capacity) {
		struct sp_walk_step *more = realloc(w->steps, steps * 2 * sizeof *more);
		if (!more)
			return false;
		w->steps = more;
		w->capacity = steps * 2;
	}
	w->at = w->depth = 0;
	w->same = true;
	return true;
}

/* Returns the node of step s below parent, the same that the stack would use. */
static struct sp_raw_node *descend(struct sp_thread *t, const struct sp_walk_step *s, struct sp_raw_node *parent)
{
	const uint32_t deepest = sp_process.settings.profile_depth;
	struct sp_raw_node *n = parent;
	if (!s->region || parent == t->collapsed || (t->depth_limit && t->walk->depth >= t->depth_limit))
		return parent;
	if (!deepest || t->walk->depth < deepest)
		n = sp_callpath_child(t, parent, (uint32_t)s->region);
	else if (t->walk->depth == deepest)
		n = sp_callpath_child(t, parent, SP_REGION_DEEPER_ID);
	if (n)
		return n;
	t->loc.lost_paths++;
	return t->collapsed;
}

void sp_walk_step(struct sp_thread *t, const void *frame, uint64_t key, uint64_t region, bool function)
{
	struct sp_walk *w = t->walk;
	struct sp_walk_step *s = &w->steps[w->at];
	const struct sp_walk_step *before = w->at ? s - 1 : NULL;
	if (SP_UNLIKELY(!w->same || w->at >= w->n || s->frame != frame || s->key != key || s->region != region)) {
		w->same = false;
		*s = (struct sp_walk_step){.frame = frame, .key = key, .region = region};
		s->left_out = region == SP_REGION_HIDES || (before && before->left_out);
		if (region == SP_REGION_HIDES || (s->left_out && function))
			s->node = before ? before->node : t->root;
		else
			s->node = descend(t, s, before ? before->node : t->root);
	}
	w->depth += region != 0;
	w->at++;
}

struct sp_raw_node *sp_walk_end(struct sp_thread *t)
{
	struct sp_walk *w = t->walk;
	w->n = w->at;
	return w->n ? w->steps[w->n - 1].node : t->root;
}

void sp_walk_reset(struct sp_thread *t)
{
	if (t->walk)
		t->walk->n = 0;
}

void sp_walk_free(struct sp_thread *t)
{
	if (t->walk) {
		free(t->walk->frames);
		free(t->walk->steps);
	}
	free(t->walk);
	t->walk = NULL;
}
