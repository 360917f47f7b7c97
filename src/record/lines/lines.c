/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/lines/lines.h"
#include "record/buffer.h"
#include "record/process.h"
#include "record/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = SP_RAW_PAGE, MAX_ROWS = 256 << 10, FIRST_FUNCTIONS = 16 };

static struct sp_raw_line_frame *base_of(const struct sp_lines *l)
{
	return (struct sp_raw_line_frame *)(l->stack + 1);
}

static uint32_t depth_of(const struct sp_lines *l)
{
	return (uint32_t)(l->top - base_of(l));
}

/* Readers see only complete frames. */
static void set_top(struct sp_lines *l, struct sp_raw_line_frame *f)
{
	l->top = f;
	__atomic_store_n(&l->stack->used, (uint64_t)(f - base_of(l)) + 1, __ATOMIC_RELEASE);
}

/* ---- space ---- */

static bool is_allowed(uint64_t bytes)
{
	if (sp_process.mapped + bytes <= sp_process.settings.trace_memory)
		return true;
	sp_process_lost(SP_RAW_REASON_MEMORY, 0, 0);
	return false;
}

/* Frames end in the reverse order of their begins: a frame that ends is the first in the chain of its hash. */
static void link_frame(struct sp_lines *l, uint32_t n)
{
	uint32_t *head = &l->heads[sp_lines_hash(base_of(l)[n].frame) & l->heads_mask];
	l->links[n] = *head;
	*head = n;
}

static void unlink_frame(struct sp_lines *l, uint32_t n)
{
	l->heads[sp_lines_hash(base_of(l)[n].frame) & l->heads_mask] = l->links[n];
}

static int links_grow(struct sp_lines *l, uint32_t capacity)
{
	const uint32_t depth = l->stack ? depth_of(l) : 0;
	uint32_t n = 64;
	while (n < capacity)
		n *= 2;
	uint32_t *heads = calloc(n, sizeof *heads), *links = realloc(l->links, capacity * sizeof *links);
	if (links)
		l->links = links;
	if (!heads || !links) {
		free(heads);
		return -1;
	}
	free(l->heads);
	l->heads = heads;
	l->heads_mask = n - 1;
	for (uint32_t i = 1; i <= depth; i++)
		link_frame(l, i);
	return 0;
}

static int stack_grow(struct sp_thread *t, struct sp_lines *l)
{
	const uint64_t bytes = l->stack ? l->stack->bytes * 2 : SP_RAW_PAGE;
	const uint32_t capacity = (uint32_t)((bytes - sizeof(struct sp_raw_chunk)) / sizeof(struct sp_raw_line_frame));
	struct sp_raw_chunk *old = l->stack, *c;
	int error = errno;
	pthread_mutex_lock(&sp_process.lock);
	c = is_allowed(bytes) && !links_grow(l, capacity)
	        ? sp_buffer_chunk(SP_RAW_LINE_STACK, t, bytes, old ? old->seq + 1 : 0, 0)
	        : NULL;
	if (c) {
		const uint32_t depth = old ? depth_of(l) : 0;
		struct sp_raw_line_frame *to = (struct sp_raw_line_frame *)(c + 1);
		if (old)
			memcpy(to, base_of(l), (depth + 1) * sizeof *to);
		l->stack = c;
		l->end = to + capacity;
		set_top(l, to + depth);
		if (old) {
			old->type = SP_RAW_FREE;
			sp_buffer_done(old);
		}
	}
	pthread_mutex_unlock(&sp_process.lock);
	errno = error;
	return c ? 0 : -ENOSPC;
}

/* Returns the place of n new rows, which rows_added() shows to readers; NULL if there is no space. */
static struct sp_raw_line *rows_new(struct sp_thread *t, struct sp_lines *l, uint32_t n)
{
	struct sp_raw_chunk *c = l->chunk;
	if (!c || (c->used + n) * sizeof(struct sp_raw_line) > c->bytes - sizeof *c) {
		uint64_t bytes = c ? c->bytes * 2 : FIRST_ROWS;
		if (bytes > MAX_ROWS)
			bytes = MAX_ROWS;
		if (bytes < sizeof *c + n * sizeof(struct sp_raw_line))
			bytes = sizeof *c + n * sizeof(struct sp_raw_line);
		int error = errno;
		pthread_mutex_lock(&sp_process.lock);
		c = is_allowed(bytes) ? sp_buffer_chunk(SP_RAW_LINES, t, bytes, l->chunks, 0) : NULL;
		pthread_mutex_unlock(&sp_process.lock);
		errno = error;
		if (!c)
			return NULL;
		l->chunks++;
		c->reserved[0] = (uint64_t)l->chunk;
		l->chunk = c;
	}
	return (struct sp_raw_line *)(c + 1) + c->used;
}

/* The last n rows from rows_new() are complete. */
static void rows_added(struct sp_lines *l, uint32_t n)
{
	__atomic_store_n(&l->chunk->used, l->chunk->used + n, __ATOMIC_RELEASE);
}

static void lines_free(struct sp_lines *l)
{
	free(l->functions);
	free(l->heads);
	free(l->links);
	free(l);
}

struct sp_lines *sp_lines_of(struct sp_thread *t)
{
	if (t->lines || t->lines_failed)
		return t->lines;
	int error = errno;
	struct sp_lines *l = calloc(1, sizeof *l);
	if (l)
		l->functions = calloc(FIRST_FUNCTIONS, sizeof *l->functions);
	if (l && l->functions && !stack_grow(t, l) && (l->nowhere = rows_new(t, l, 1))) {
		rows_added(l, 1);
		l->mask = FIRST_FUNCTIONS - 1;
		/* release order: sp_lines_make_stale() of another interpreter's thread sees it complete */
		__atomic_store_n(&t->lines, l, __ATOMIC_RELEASE);
	} else {
		t->lines_failed = true;
		if (l)
			lines_free(l);
	}
	errno = error;
	return t->lines;
}

static int functions_grow(struct sp_lines *l)
{
	const uint32_t n = l->mask + 1;
	struct sp_line_function *old = l->functions, *fresh = calloc(n * 2, sizeof *fresh);
	if (!fresh)
		return -1;
	/* another interpreter's thread may be searching for a stale entry */
	pthread_mutex_lock(&sp_process.lock);
	l->functions = fresh;
	l->mask = n * 2 - 1;
	for (uint32_t i = 0, at; i < n; i++) {
		if (!old[i].key)
			continue;
		for (at = sp_lines_hash(old[i].key) & l->mask; fresh[at].key; at = (at + 1) & l->mask)
			;
		fresh[at] = old[i];
	}
	pthread_mutex_unlock(&sp_process.lock);
	free(old);
	return 0;
}

struct sp_line_function *sp_lines_add(struct sp_thread *t, uint64_t key, uint32_t region, uint32_t first,
                                      uint32_t lines)
{
	struct sp_lines *l = sp_lines_of(t);
	int error = errno;
	uint32_t at;
	if (!l || ((l->n + 1) * 2 > l->mask && functions_grow(l))) {
		errno = error;
		return NULL;
	}
	for (at = sp_lines_hash(key) & l->mask; l->functions[at].key; at = (at + 1) & l->mask)
		;
	struct sp_line_function *f = &l->functions[at];
	*f = (struct sp_line_function){.key = key};
	if (region)
		sp_lines_choose(t, f, region, first, lines);
	l->n++;
	errno = error;
	return f;
}

void sp_lines_choose(struct sp_thread *t, struct sp_line_function *f, uint32_t region, uint32_t first, uint32_t lines)
{
	f->stale = false;
	f->chosen = true;
	f->first = first;
	f->rows = rows_new(t, t->lines, lines);
	f->lines = f->rows ? lines : 0;
	for (uint32_t i = 0; i < f->lines; i++) {
		f->rows[i].line = first + i;
		f->rows[i].region = region;
	}
	if (f->rows)
		rows_added(t->lines, lines);
}

void sp_lines_make_stale(uint64_t key)
{
	pthread_mutex_lock(&sp_process.lock);
	for (struct sp_thread *t = sp_process.threads; t; t = t->next) {
		const struct sp_lines *l = __atomic_load_n(&t->lines, __ATOMIC_ACQUIRE);
		struct sp_line_function *f = l ? sp_lines_find(l, key) : NULL;
		if (f)
			f->stale = !f->chosen;
	}
	pthread_mutex_unlock(&sp_process.lock);
}

/* ---- events ---- */

void sp_lines_call(struct sp_thread *t, uint64_t mark, uint64_t now)
{
	struct sp_raw_line_frame *f = t->lines->top;
	if (!f->key || f->calls)
		return;
	((struct sp_raw_line *)f->line)->own += sp_ticks_between(f->since, now);
	f->inner = 0;
	f->calls = mark;
	f->since = now;
}

static void call_ends(struct sp_raw_line_frame *f, uint64_t now)
{
	const uint64_t time = sp_ticks_between(f->since, now);
	((struct sp_raw_line *)f->line)->callees += time > f->inner ? time - f->inner : 0;
	f->inner = 0;
	f->calls = 0;
	f->since = now;
}

void sp_lines_called(struct sp_thread *t, uint64_t mark, uint64_t now)
{
	struct sp_raw_line_frame *f = t->lines->top;
	if (f->calls == mark && mark)
		call_ends(f, now);
}

/* Ends the innermost frame and the call of its line. */
static void pop(struct sp_thread *t, uint64_t now)
{
	struct sp_lines *l = t->lines;
	struct sp_raw_line_frame *f = l->top;
	struct sp_line_function *of = sp_lines_find(l, f->key);
	if (f->calls)
		call_ends(f, now);
	else
		((struct sp_raw_line *)f->line)->own += sp_ticks_between(f->since, now);
	if (f->below)
		base_of(l)[f->below].inner += sp_ticks_between(f->begin, now);
	if (of)
		of->open = (uint32_t)f->below;
	unlink_frame(l, depth_of(l));
	set_top(l, f - 1);
	sp_lines_called(t, f->frame, now);
}

void sp_lines_close(struct sp_thread *t, uint64_t now)
{
	while (t->lines && t->lines->top > base_of(t->lines))
		pop(t, now);
}

/* Returns NULL if the frame is not open. */
static struct sp_raw_line_frame *find_frame(const struct sp_lines *l, uint64_t frame)
{
	uint32_t n = l->heads[sp_lines_hash(frame) & l->heads_mask];
	while (n && base_of(l)[n].frame != frame)
		n = l->links[n];
	return n ? base_of(l) + n : NULL;
}

/* Ends all frames above f. */
static void pop_to(struct sp_thread *t, const struct sp_raw_line_frame *f, uint64_t now)
{
	while (t->lines->top > f)
		pop(t, now);
}

void sp_lines_enter(struct sp_thread *t, struct sp_line_function *of, uint64_t frame, uint32_t line, uint64_t now)
{
	struct sp_lines *l = t->lines;
	struct sp_raw_line_frame *f = find_frame(l, frame);
	if (f && f->key == of->key) {
		pop_to(t, f, now);
		return;
	}
	if (f) /* the interpreter reuses the address of a frame that ended unseen */
		pop_to(t, f - 1, now);
	if (l->top + 1 >= l->end && stack_grow(t, l)) {
		t->loc.lost_events++;
		return;
	}
	sp_lines_call(t, frame, now);
	f = l->top + 1;
	*f = (struct sp_raw_line_frame){
	    .line = (uint64_t)(line - of->first < of->lines ? &of->rows[line - of->first] : l->nowhere),
	    .since = now,
	    .begin = now,
	    .below = of->open,
	    .key = of->key,
	    .frame = frame,
	    .table = (uint64_t)of->rows,
	    .first = of->first,
	    .lines = of->lines};
	set_top(l, f);
	of->open = depth_of(l);
	link_frame(l, of->open);
}

void sp_lines_leave(struct sp_thread *t, uint64_t frame, uint64_t now)
{
	struct sp_raw_line_frame *f = t->lines->top;
	if (f->frame != frame)
		f = find_frame(t->lines, frame);
	if (f)
		pop_to(t, f - 1, now);
}

void sp_lines_at(struct sp_thread *t, struct sp_line_function *of, uint64_t frame, uint32_t line)
{
	const uint64_t now = sp_ticks();
	sp_lines_enter(t, of, frame, 0, now);
	struct sp_raw_line_frame *f = t->lines->top;
	if (f->frame != frame)
		return;
	if (f->calls)
		call_ends(f, now);
	if (!sp_lines_next(f, line))
		t->loc.lost_events += !of->rows;
}

/* ---- begin and end ---- */

void sp_lines_restart(struct sp_thread *t)
{
	struct sp_lines *l = t->lines;
	if (!l)
		return;
	sp_lines_close(t, sp_ticks());
	for (uint32_t i = 0; i <= l->mask; i++)
		for (uint32_t k = 0; k < l->functions[i].lines; k++) {
			struct sp_raw_line *r = &l->functions[i].rows[k];
			r->hits = r->own = r->callees = 0;
		}
}

void sp_lines_free(struct sp_thread *t, bool done)
{
	struct sp_lines *l = t->lines;
	t->lines = NULL;
	if (!l)
		return;
	if (done) {
		sp_buffer_done(l->stack);
		for (struct sp_raw_chunk *c = l->chunk, *before; c; c = before) {
			before = (struct sp_raw_chunk *)c->reserved[0];
			sp_buffer_done(c);
		}
	}
	lines_free(l);
}
