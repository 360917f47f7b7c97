/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of a thread: the chosen ones, their values when the open frames began, and their increase since then. */
#include "record/adapter.h"
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/metrics.h"
#include "record/metrics/metric.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_FRAMES = 64 };

const struct sp_metric_source *const sp_metric_sources[] = {&sp_metric_rusage, &sp_metric_papi, &sp_metric_perf, NULL};

/* One thread's values and the states of its sources. */
struct sp_counts {
	struct sp_counts *next; /* list of all threads */
	uint64_t at;            /* ticks of the event for which they were read last */
	uint64_t *start;        /* owned; for each depth of the stack the values at the begin of the frame */
	size_t capacity;        /* capacity of `start`, in frames */
	bool full;              /* no memory to enlarge `start` */
	bool failed[SP_METRIC_SOURCES];
	struct sp_metric_state state[SP_METRIC_SOURCES];
	uint64_t now[]; /* the values read last */
};

/* The metrics of this process, in the order of their columns: sorted by source. */
static struct {
	struct sp_metric_def *defs; /* owned */
	unsigned n;
	unsigned first[SP_METRIC_SOURCES], count[SP_METRIC_SOURCES];
	uint8_t sources[SP_METRIC_SOURCES], n_sources; /* the sources with at least one metric */
} used;

static struct sp_counts *registry; /* under the process lock */

/* ---- the user's list ---- */

/* One metric of the list; why and result: of its source's find(). */
struct item {
	int source;
	struct sp_metric_def def;
	char why[200];
	int result;
};

static const struct sp_metric_source *source_of(const char *word, size_t n, int *index)
{
	for (*index = 0; sp_metric_sources[*index]; ++*index)
		if (strlen(sp_metric_sources[*index]->name) == n && !strncmp(sp_metric_sources[*index]->name, word, n))
			return sp_metric_sources[*index];
	return NULL;
}

typedef int (*visit)(void *to, const struct item *item);

static int one(const struct sp_metric_source *s, int index, const char *name, visit f, void *to)
{
	struct item item = {.source = index};
	item.result = s->find(&item.def, name, item.why, sizeof item.why);
	if (item.result)
		snprintf(item.def.name, sizeof item.def.name, "%s", name);
	return f(to, &item);
}

/* Handles one word of the list: SOURCE:NAME. The name `all` means each metric that the source lists and that can be
 * counted on this machine. */
static int word_of(const char *word, visit f, void *to, char *why, size_t n)
{
	const char *colon = strchr(word, ':');
	int index;
	const struct sp_metric_source *s = colon ? source_of(word, (size_t)(colon - word), &index) : NULL;
	if (!colon || !colon[1]) {
		snprintf(why, n, "'%.100s' is not SOURCE:NAME, such as rusage:ru_utime", word);
		return -EINVAL;
	}
	if (!s) {
		snprintf(why, n, "'%.100s': there is no source %.*s; there are rusage, papi and perf", word,
		         (int)(colon - word > 50 ? 50 : colon - word), word);
		return -EINVAL;
	}
	if (strcmp(colon + 1, "all"))
		return one(s, index, colon + 1, f, to);
	struct item none = {.source = index, .def.name = "all", .result = -ENODEV};
	bool any = false;
	int r = 0;
	for (unsigned i = 0; !r && s->known(i); i++) {
		struct sp_metric_def def = {0};
		if (s->find(&def, s->known(i), none.why, sizeof none.why))
			continue;
		any = true;
		r = one(s, index, s->known(i), f, to);
	}
	return any || r ? r : f(to, &none);
}

/* Calls f for each metric of the list, even if it cannot be counted. */
static int each(const char *list, visit f, void *to, char *why, size_t n)
{
	char *copy = strdup(list), *rest = NULL;
	int r = copy ? 0 : -ENOMEM;
	for (char *word = copy ? strtok_r(copy, ", \t\n", &rest) : NULL; word && !r;
	     word = strtok_r(NULL, ", \t\n", &rest))
		r = word_of(word, f, to, why, n);
	free(copy);
	return r;
}

struct checked {
	char *why;
	size_t n;
	unsigned metrics;
};

static int check_one(void *to, const struct item *item)
{
	struct checked *c = to;
	const char *source = sp_metric_sources[item->source]->name;
	if (item->result == -ENOENT) {
		snprintf(c->why, c->n, "'%s:%s': %s", source, item->def.name, item->why);
		return -EINVAL;
	}
	if (++c->metrics > SP_METRICS_MAX) {
		snprintf(c->why, c->n, "these are more than %d metrics", SP_METRICS_MAX);
		return -EINVAL;
	}
	return 0;
}

int sp_metrics_check(const char *list, char *why, size_t n)
{
	struct checked c = {why, n, 0};
	return each(list, check_one, &c, why, n);
}

struct listing {
	void (*f)(void *to, const char *name, const char *what, const char *why);
	void *to;
};

static int list_one(void *to, const struct item *item)
{
	struct listing *l = to;
	char name[160];
	snprintf(name, sizeof name, "%s:%s", sp_metric_sources[item->source]->name, item->def.name);
	l->f(l->to, name, item->def.what, item->result ? item->why : NULL);
	return 0;
}

int sp_metrics_list(const char *list, void (*f)(void *to, const char *name, const char *what, const char *why),
                    void *to)
{
	struct listing l = {f, to};
	char why[200];
	if (list)
		return each(list, list_one, &l, why, sizeof why);
	for (int s = 0; sp_metric_sources[s]; s++)
		for (unsigned i = 0; sp_metric_sources[s]->known(i); i++)
			one(sp_metric_sources[s], s, sp_metric_sources[s]->known(i), list_one, &l);
	return 0;
}

/* Disables adapters while a source reads values: it may call functions of the C library that are recorded
 * themselves. */
static int quiet(void)
{
	int outer = sp_adapter_forks;
	sp_adapter_forks = 1;
	return outer;
}

/* ---- start ---- */

static void count_loss(int error)
{
	pthread_mutex_lock(&sp_process.lock);
	sp_process_lost(SP_RAW_REASON_METRICS, error, 0);
	pthread_mutex_unlock(&sp_process.lock);
}

/* The metrics that can be counted, by source. */
struct chosen {
	struct sp_metric_def *defs[SP_METRIC_SOURCES]; /* owned */
	unsigned n[SP_METRIC_SOURCES];
	char missing[SP_METRICS_MAX * 360]; /* one line for each metric */
};

static void miss(struct chosen *c, int source, const char *name, const char *why)
{
	size_t at = strlen(c->missing);
	snprintf(c->missing + at, sizeof c->missing - at, "%s%s:%s: %s", at ? "\n" : "",
	         sp_metric_sources[source]->name, name, why);
}

static int choose(void *to, const struct item *item)
{
	struct chosen *c = to;
	int s = item->source;
	if (item->result) {
		miss(c, s, item->def.name, item->why);
		return 0;
	}
	for (unsigned i = 0; i < c->n[s]; i++)
		if (!strcmp(c->defs[s][i].name, item->def.name))
			return 0;
	struct sp_metric_def *more = realloc(c->defs[s], (c->n[s] + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	c->defs[s] = more;
	more[c->n[s]++] = item->def;
	return 0;
}

/* Drops metrics that can be counted alone, but not together with the preceding ones. */
static void fit(struct chosen *c, int s)
{
	const struct sp_metric_source *source = sp_metric_sources[s];
	unsigned keep = 0, n = source->open ? c->n[s] : 0;
	for (unsigned i = 0; i < n; i++) {
		struct sp_metric_state state = {.set = -1};
		struct sp_metric_def def = c->defs[s][i];
		c->defs[s][keep] = def;
		int r = source->open(&state, c->defs[s], keep + 1);
		if (r) {
			char why[200];
			snprintf(why, sizeof why, "not together with the metrics before it: %s", strerror(-r));
			miss(c, s, def.name, why);
		} else {
			source->close(&state, false);
			keep++;
		}
	}
	if (source->open)
		c->n[s] = keep;
}

static void define(struct chosen *c)
{
	unsigned n = 0;
	for (int s = 0; sp_metric_sources[s]; s++)
		n += c->n[s];
	used.defs = n ? calloc(n, sizeof *used.defs) : NULL;
	for (int s = 0; used.defs && sp_metric_sources[s]; s++) {
		used.first[s] = used.n;
		for (unsigned i = 0; i < c->n[s]; i++) {
			const struct sp_metric_def *m = &c->defs[s][i];
			if (sp_define_metric(m->name, m->unit, m->exponent, m->what,
			                     m->flags | sp_metric_sources[s]->kind) < 0)
				count_loss(ENOSPC);
			else
				used.defs[used.n++] = *m;
		}
		used.count[s] = used.n - used.first[s];
		if (used.count[s])
			used.sources[used.n_sources++] = (uint8_t)s;
	}
}

void sp_metrics_start(const char *list)
{
	struct chosen c = {0};
	char why[200];
	free(used.defs);
	memset(&used, 0, sizeof used);
	for (struct sp_counts *old = registry, *next; old; old = next) {
		next = old->next;
		free(old->start);
		free(old);
	}
	registry = NULL;
	int outer = quiet();
	if (each(list, choose, &c, why, sizeof why))
		count_loss(ENOMEM);
	for (int s = 0; sp_metric_sources[s]; s++)
		fit(&c, s);
	sp_adapter_forks = outer;
	define(&c);
	if (*c.missing)
		sp_define_meta("uncounted", c.missing, strlen(c.missing));
	for (int s = 0; sp_metric_sources[s]; s++)
		free(c.defs[s]);
}

/* ---- begin and end in a thread ---- */

int sp_metrics_thread_begin(struct sp_thread *t)
{
	if (!used.n)
		return 0;
	struct sp_counts *c = calloc(1, sizeof *c + used.n * sizeof c->now[0]);
	if (!c)
		return -ENOMEM;
	int outer = quiet();
	for (int s = 0; sp_metric_sources[s]; s++) {
		c->state[s].set = -1;
		int r = 0;
		if (used.count[s] && sp_metric_sources[s]->open)
			r = sp_metric_sources[s]->open(&c->state[s], used.defs + used.first[s], used.count[s]);
		c->failed[s] = r != 0;
		if (r)
			count_loss(-r);
	}
	sp_adapter_forks = outer;
	t->counts = c;
	pthread_mutex_lock(&sp_process.lock);
	c->next = registry;
	registry = c;
	pthread_mutex_unlock(&sp_process.lock);
	return 0;
}

/* own: c belongs to the calling thread or, in a child, to the thread that forked. PAPI cannot close another thread's
 * event sets. */
static void close_all(struct sp_counts *c, bool own, bool forked)
{
	int outer = quiet();
	for (int s = 0; sp_metric_sources[s]; s++) {
		c->failed[s] = true;
		if (!own)
			c->state[s].set = -1;
		if (sp_metric_sources[s]->close)
			sp_metric_sources[s]->close(&c->state[s], forked);
	}
	sp_adapter_forks = outer;
}

void sp_metrics_thread_end(struct sp_thread *t)
{
	struct sp_counts *c = t->counts;
	if (!c)
		return;
	t->counts = NULL;
	for (struct sp_counts **p = &registry; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	close_all(c, true, false);
	free(c->start);
	free(c);
}

void sp_metrics_stop(void)
{
	for (struct sp_counts *c = registry; c; c = c->next)
		close_all(c, sp_self && sp_self->counts == c, false);
}

void sp_metrics_fork(enum sp_fork when)
{
	static struct sp_counts
	    *own; /* stored before the fork: the thread may have ended in the parent when the child needs it */
	if (when == SP_FORK_BEFORE)
		own = sp_self ? sp_self->counts : NULL;
	for (int s = 0; own && when != SP_FORK_CHILD && sp_metric_sources[s]; s++) {
		const struct sp_metric_source *source = sp_metric_sources[s];
		if (!used.count[s] || own->failed[s] || !source->stop)
			continue;
		if (when == SP_FORK_BEFORE)
			source->stop(&own->state[s], used.count[s]);
		else
			source->start(&own->state[s]);
	}
	for (struct sp_counts *c = when == SP_FORK_CHILD ? registry : NULL, *next; c; c = next) {
		next = c->next;
		close_all(c, c == own, true);
		free(c->start);
		free(c);
	}
	if (when == SP_FORK_CHILD)
		registry = NULL;
}

/* ---- events ---- */

/* Reads the values once for all events at the same time. During a pause, and after it until the thread's stack is up
 * to date, the values read last remain: later counts do not belong to the frames that were open when the pause
 * began. */
static void read_at(struct sp_thread *t, uint64_t now)
{
	struct sp_counts *c = t->counts;
	if (c->at == now || sp_process.paused || t->epoch != sp_epoch)
		return;
	c->at = now;
	int outer = quiet();
	for (unsigned i = 0; i < used.n_sources; i++) {
		const unsigned s = used.sources[i];
		if (SP_UNLIKELY(c->failed[s]))
			continue;
		int r = sp_metric_sources[s]->read(&c->state[s], used.defs + used.first[s], used.count[s],
		                                   c->now + used.first[s]);
		if (SP_UNLIKELY(r)) {
			c->failed[s] = true;
			count_loss(-r);
		}
	}
	sp_adapter_forks = outer;
}

SP_COLD static bool more_frames(struct sp_counts *c, size_t depth)
{
	size_t capacity = c->capacity ? c->capacity * 2 : FIRST_FRAMES;
	while (capacity <= depth)
		capacity *= 2;
	uint64_t *start = c->full ? NULL : realloc(c->start, capacity * used.n * sizeof *start);
	if (start) {
		c->start = start;
		c->capacity = capacity;
	} else if (!c->full) {
		/* permanent: after a later success the values of the frames in between would be missing */
		c->full = true;
		count_loss(ENOMEM);
	}
	return start;
}

void sp_metrics_enter(struct sp_thread *t, size_t depth, uint64_t now)
{
	struct sp_counts *c = t->counts;
	int error = errno;
	read_at(t, now);
	if (SP_LIKELY(depth < c->capacity) || more_frames(c, depth))
		memcpy(c->start + depth * used.n, c->now, used.n * sizeof *c->now);
	errno = error;
}

void sp_metrics_leave(struct sp_thread *t, size_t depth, struct sp_raw_node *n, uint64_t now)
{
	struct sp_counts *c = t->counts;
	int error = errno;
	read_at(t, now);
	const uint64_t *start = c->start + depth * used.n;
	for (unsigned i = 0; depth < c->capacity && i < used.n; i++)
		*sp_node_value(n, i) += c->now[i] - start[i];
	errno = error;
}

void sp_metrics_read(struct sp_thread *t, uint64_t now)
{
	if (t->counts)
		read_at(t, now);
}

/* The values read last are those at the pause's begin in the thread that began it, and those of the last event before
 * it in other threads. */
void sp_metrics_off(struct sp_thread *t, struct sp_raw_node *n)
{
	struct sp_counts *c = t->counts;
	uint64_t before[SP_METRICS_MAX];
	if (!c)
		return;
	int error = errno;
	memcpy(before, c->now, used.n * sizeof *before);
	read_at(t, sp_ticks());
	size_t frames = sp_stack_depth(t) < c->capacity ? sp_stack_depth(t) : c->capacity - 1;
	for (unsigned i = 0; i < used.n; i++) {
		if (n)
			*sp_node_value(n, i) += c->now[i] - before[i];
		for (size_t depth = 1; !n && c->capacity && depth <= frames; depth++)
			c->start[depth * used.n + i] += c->now[i] - before[i];
	}
	errno = error;
}

void sp_metrics_divide(struct sp_thread *t, struct sp_raw_node *n, uint64_t now)
{
	if (!t->counts)
		return;
	sp_metrics_leave(t, sp_stack_depth(t), n, now);
	sp_metrics_enter(t, sp_stack_depth(t), now);
}

void sp_metrics_event(struct sp_thread *t, uint64_t now)
{
	read_at(t, now);
	sp_event_metrics(t, t->counts->now, used.n, now);
}
