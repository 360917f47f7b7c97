/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of locks; python/spartito/report/locktable.py makes the same names. */
#include "base/arena.h"
#include "base/intern.h"
#include "model/lock.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <pthread.h>

const char *const sp_lock_wait_words[SP_LOCK_KINDS] = {
    [SP_LOCK_OTHER] = "waiting",
    [SP_LOCK_LOCK] = "waiting for a lock",
    [SP_LOCK_RLOCK] = "waiting for an RLock",
    [SP_LOCK_CONDITION] = "waiting for a condition",
    [SP_LOCK_SEMAPHORE] = "waiting for a semaphore",
    [SP_LOCK_EVENT] = "waiting for an event",
    [SP_LOCK_BARRIER] = "waiting at a barrier",
    [SP_LOCK_QUEUE] = "waiting for a queue",
    [SP_LOCK_THREAD] = "waiting for the end of a thread",
    [SP_LOCK_FUTURE] = "waiting for a future",
    [SP_LOCK_PROCESS_LOCK] = "waiting for a lock of processes",
    [SP_LOCK_PROCESS] = "waiting for the end of a process",
    [SP_LOCK_PIPE] = "waiting for a pipe",
    [SP_LOCK_SLEEP] = "sleeping",
    [SP_LOCK_SELECT] = "waiting in select",
    [SP_LOCK_SOCKET] = "waiting for a socket",
    [SP_LOCK_FILE_LOCK] = "waiting for a file lock",
    [SP_LOCK_GIL] = "waiting for the GIL",
    [SP_LOCK_MUTEX] = "waiting for a mutex of C",
    [SP_LOCK_COND] = "waiting for a condition of C",
    [SP_LOCK_SEM] = "waiting for a semaphore of C",
    [SP_LOCK_RWLOCK] = "waiting for a read-write lock of C",
    [SP_LOCK_PTHREAD_BARRIER] = "waiting at a barrier of C",
};

const char *const sp_lock_end_words[] = {[SP_WAIT_ACQUIRED] = NULL,
                                         [SP_WAIT_FAILED] = "without it",
                                         [SP_WAIT_UNSEEN] = "while recording was off",
                                         [SP_WAIT_OPEN] = "never",
                                         [SP_WAIT_NONE] = "at once: it was no wait"};

struct naming {
	const struct sp_model *m;
	struct sp_arena *arena;
	struct sp_intern titles; /* keys: "PROCESS TITLE" */
	uint32_t *title_of;      /* owned; for each lock */
	/* owned; for each lock: 1 + the location that holds it as long as it lives, so that its release is the end of
	 * that thread; 0: any other lock */
	uint32_t *life;
	/* owned; for each lock that is not a part: number among the locks of its title; 0: not assigned yet */
	uint32_t *number;
	uint32_t *alike; /* owned; for each title: number of objects with it */
};

static const char *without(const char *text, const char *prefix)
{
	const size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : text;
}

static const char *type_of(const struct sp_model *m, const struct sp_lock *o)
{
	const char *type = o->type == SP_NONE ? sp_lock_kind_names[o->kind] : m->strings[o->type].p;

	type = without(without(type, "_thread."), "threading.");
	return strcmp(type, "lock") == 0 || strcmp(type, "thread.lock") == 0 ? "Lock" : type;
}

static bool is_thread_of_c(const struct sp_model *m, const struct sp_lock *o)
{
	return o->type != SP_NONE && strcmp(m->strings[o->type].p, "pthread_t") == 0;
}

/* Whether a call path is the one in which a thread acquires the lock that it holds as long as it lives. */
static bool begins_life(const struct sp_model *m, const struct sp_stack *s)
{
	return s->n && strcmp(m->regions[s->regions[s->n - 1]].name.p, "threading:Thread._set_tstate_lock") == 0;
}

/* Whether it is the lock that a thread holds as long as it lives. */
static bool is_life(const struct sp_model *m, const struct sp_lock *o)
{
	return is_thread_of_c(m, o) || begins_life(m, &o->holder_stack);
}

/* Writes the title into text, which has room for n bytes. */
static void title(const struct naming *g, size_t i, char *text, size_t n)
{
	const struct sp_model *m = g->m;
	const struct sp_lock *o = &m->locks[i];
	const struct sp_lock *whole = o->user == SP_NONE ? o : &m->locks[o->user];
	const struct sp_lock *made = whole->made_file != SP_NONE ? whole : o;
	const char *type = type_of(m, whole), *file, *slash;

	if (o->kind == SP_LOCK_GIL) {
		snprintf(text, n, "the GIL");
	} else if (o->user == SP_NONE && g->life[i]) {
		snprintf(text, n, "the end of %s", m->locations[g->life[i] - 1].name.p);
	} else if (is_life(m, o) && o->holder != SP_NONE) {
		snprintf(text, n, "the end of %s", m->locations[o->holder].name.p);
	} else if (is_thread_of_c(m, o)) {
		snprintf(text, n, "the end of a thread of C");
	} else if (made->made_file != SP_NONE) {
		file = m->strings[made->made_file].p;
		slash = strrchr(file, '/');
		file = slash ? slash + 1 : file;
		if (made->made_line)
			snprintf(text, n, "%s made at %s:%" PRIu32, type, file, made->made_line);
		else
			snprintf(text, n, "%s made at %s", type, file);
	} else if (o->address) {
		snprintf(text, n, "%s 0x%" PRIx64, type, o->address);
	} else {
		snprintf(text, n, "%s", type);
	}
}

static uint32_t shown(const struct sp_model *m, size_t lock)
{
	return m->locks[lock].user == SP_NONE ? (uint32_t)lock : m->locks[lock].user;
}

static int find_titles(struct naming *g)
{
	const struct sp_model *m = g->m;
	char text[600];
	size_t i;

	for (i = 0; i < m->n_locks; i++) {
		const int n = snprintf(text, sizeof(text), "%" PRIu32 " ", m->locks[i].process);
		uint32_t t;

		title(g, i, text + n, sizeof(text) - (size_t)n);
		t = sp_intern(&g->titles, text, strlen(text));
		if (t == SP_INTERN_FAILED)
			return -1;
		g->title_of[i] = t;
		if (g->number[shown(m, i)] == 0)
			g->number[shown(m, i)] = ++g->alike[t];
	}
	return 0;
}

static void find_lives(struct naming *g)
{
	const struct sp_model *m = g->m;
	size_t i;

	for (i = 0; i < m->n_lock_waits; i++) {
		const struct sp_lock_wait *w = &m->lock_waits[i];

		if (w->lock != SP_NONE && w->holder != SP_NONE && begins_life(m, &w->holder_stack))
			g->life[w->lock] = w->holder + 1;
	}
}

static int put_names(const struct naming *g, struct sp_str *names)
{
	const struct sp_model *m = g->m;
	char text[640];
	size_t i;

	for (i = 0; i < m->n_locks; i++) {
		const char *title = strchr(g->titles.entries[g->title_of[i]].p, ' ') + 1;
		const uint32_t number = g->number[shown(m, i)];

		names[i] = (struct sp_str){title, strlen(title)};
		if (g->alike[g->title_of[i]] < 2)
			continue;
		names[i].n = (size_t)snprintf(text, sizeof(text), "%s #%" PRIu32, title, number);
		names[i].p = sp_arena_copy(g->arena, text, names[i].n);
		if (!names[i].p)
			return -1;
	}
	return 0;
}

int sp_lock_names(struct sp_str **names, const struct sp_model *m, struct sp_arena *arena)
{
	struct naming g = {.m = m, .arena = arena, .titles = {.arena = arena}};
	int rc = -1;

	*names = sp_arena_zalloc(arena, m->n_locks, sizeof(**names));
	g.title_of = calloc(m->n_locks + 1, sizeof(*g.title_of));
	g.life = calloc(m->n_locks + 1, sizeof(*g.life));
	g.number = calloc(m->n_locks + 1, sizeof(*g.number));
	g.alike = calloc(m->n_locks + 1, sizeof(*g.alike));
	if (*names && g.title_of && g.life && g.number && g.alike) {
		find_lives(&g);
		rc = find_titles(&g) == 0 ? put_names(&g, *names) : -1;
	}
	free(g.life);
	free(g.title_of);
	free(g.number);
	free(g.alike);
	sp_intern_free(&g.titles);
	return rc;
}
