/* SPDX-License-Identifier: BSD-3-Clause */
/* Child processes as their parents recorded them: how the measured ones ended, and which ones were not measured. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/definition.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "reader/reader.h"

enum { SLACK = 10000000 /* ns; maximum difference between two processes' times of the same event on one host */ };

int sp_build_child_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                          const struct sp_str part[2])
{
	struct sp_children_defs *v = &l->children;
	struct sp_child_def *p;

	if (part[1].n != sizeof(struct sp_raw_child)) {
		sp_raw_report(l->source->raw, at, "record of a child of %zu bytes", part[1].n);
		return 0;
	}
	if (v->n == v->capacity) {
		v->capacity = v->capacity ? v->capacity * 2 : 16;
		p = realloc(v->p, v->capacity * sizeof(*p));
		if (!p)
			return -1;
		v->p = p;
	}
	p = &v->p[v->n++];
	*p = (struct sp_child_def){.pid = (int32_t)d->a, .flags = d->flags};
	memcpy(&p->record, part[1].p, sizeof(p->record));
	p->command = sp_model_str(b->m, part[0].p, part[0].n);
	return p->command.p ? 0 : -1;
}

/* The time at which a process saw the child with this header end, in ns of the host's clock; 0: it did not see that. */
static uint64_t seen_end(const struct sp_loading *l, const struct sp_raw_header *h)
{
	uint64_t killed = 0;
	bool same = true;
	size_t i;

	for (i = 0; i < l->children.n; i++) {
		const struct sp_child_def *d = &l->children.p[i];
		/* mono is used because the clock's offset is known only after all files are read */
		const uint64_t at =
		    l->mono + sp_clock_ns(&l->source->clock, d->record.begin ? d->record.begin : d->record.end);

		if (d->pid != h->pid)
			continue;
		if (d->flags & SP_RAW_CHILD_SIGNALLED) {
			if (d->record.status == SIGKILL && !killed && at > h->last.mono_ns)
				killed = at;
		} else if (!(d->flags & SP_RAW_CHILD_ENDED)) {
			/* the recording of a preexec_fn ends when the child becomes the program */
			same = h->start != SP_RAW_STARTED_FORK || d->flags & SP_RAW_CHILD_FORKED;
			killed = 0;
		} else if (same && at > h->last.mono_ns) {
			/* the parent may wait for a killed child much later */
			return killed && d->record.status == SIGKILL ? killed : at;
		}
	}
	return 0;
}

/* A file that is read only for its CHILD records. */
struct parent {
	struct sp_builder *b;
	struct sp_loading l;
};

static void silent(void *arg, const char *text)
{
	(void)arg, (void)text; /* reading the whole file reports the damage */
}

static int child_of(void *arg, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[4])
{
	struct parent *p = arg;

	return d->kind == SP_RAW_DEF_CHILD ? sp_build_child_record(p->b, &p->l, d, at, part) : 0;
}

/* The end of the child in a file of the parent; *ns: ns per tick of its clock. 0: it recorded no end, or cannot be
 * read. */
static uint64_t seen_in(struct sp_builder *b, struct sp_raw_file *f, const struct sp_raw_header *child, double *ns)
{
	struct sp_source source = {.raw = f};
	struct parent p = {.b = b, .l = {.source = &source, .mono = f->header.first.mono_ns}};
	uint64_t end;
	size_t i;
	int rc = 0;

	sp_clock_init(&source.clock, &f->header);
	*ns = source.clock.ns;
	for (i = 0; i < f->defs.count && rc == 0; i++)
		rc = sp_walk_definitions(f, &f->parts[f->defs.first + i], child_of, &p);
	end = seen_end(&p.l, child);
	free(p.l.children.p);
	return end;
}

/* If several processes merge an experiment, another one may read the parent's files: HOST-PID-N.raw in the child's
 * directory. */
static uint64_t seen_elsewhere(struct sp_builder *b, const struct sp_raw_file *raw, double *ns)
{
	const char *name = strrchr(raw->name, '/') ? strrchr(raw->name, '/') + 1 : raw->name,
	           *dash = strrchr(name, '-');
	struct sp_err e = {.code = 0};
	struct sp_raw_file *f;
	char path[4400];
	uint64_t end = 0;
	unsigned n;

	while (dash && dash > name && *--dash != '-')
		;
	for (n = 0; dash && dash > name && !end; n++) {
		snprintf(path, sizeof(path), "%s/raw/%.*s-%" PRId32 "-%u" SP_RAW_SUFFIX, b->m->dir.p,
		         (int)(dash - name), name, raw->header.ppid, n);
		if (sp_raw_open(&f, path, path, silent, NULL, &e))
			break;
		if (strcmp(f->header.host, raw->header.host) == 0)
			end = seen_in(b, f, &raw->header, ns);
		sp_raw_close(f);
	}
	return end;
}

/* Files come in the order in which their processes began, so parents come first. */
void sp_build_seen_end(struct sp_builder *b, struct sp_raw_file *raw)
{
	struct sp_raw_header *h = &raw->header;
	struct sp_clock c;
	uint64_t end = 0;
	double ns = 1;
	bool known = false;
	size_t i;

	if (h->ended != SP_RAW_RUNNING || raw->bytes.running)
		return;
	for (i = 0; i < b->n_loading && !end; i++) {
		const struct sp_loading *l = &b->loading[i];

		if (l->process.pid == h->ppid && l->process.host.p && strcmp(l->process.host.p, h->host) == 0) {
			known = true;
			end = seen_end(l, h);
		}
		ns = l->source->clock.ns;
	}
	if (!end && !known && b->merging)
		end = seen_elsewhere(b, raw, &ns);
	if (!end || end - h->last.mono_ns > SP_CLOCK_MONTH)
		return;
	/* the child's clock may never have been calibrated; all processes of a host share one clock */
	if (sp_clock_init(&c, h) == 0)
		ns = c.ns;
	h->last.real_ns += end - h->last.mono_ns;
	h->last.ticks += (uint64_t)((double)(end - h->last.mono_ns) / ns);
	h->last.mono_ns = end;
}

/* Measured processes sorted by process id, host and begin. */
struct table {
	const struct sp_model *m;
	uint32_t *order; /* owned */
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct sp_process *all = arg, *p = &all[*(const uint32_t *)a], *q = &all[*(const uint32_t *)b];
	int by = p->pid != q->pid ? (p->pid < q->pid ? -1 : 1) : strcmp(p->host.p, q->host.p);

	return by ? by : p->begin != q->begin ? (p->begin < q->begin ? -1 : 1) : 0;
}

/* The index of the first process with this id and host that began at `begin` or later; may be the end of the table. */
static size_t first_of(const struct table *t, int32_t pid, const char *host, uint64_t begin)
{
	size_t low = 0, high = t->m->n_processes, mid;
	const struct sp_process *p;
	int by;

	while (low < high) {
		mid = (low + high) / 2;
		p = &t->m->processes[t->order[mid]];
		by = p->pid != pid ? (p->pid < pid ? -1 : 1) : strcmp(p->host.p, host);
		if (by < 0 || (by == 0 && p->begin < begin))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct sp_process *process_at(const struct table *t, size_t i, int32_t pid, const char *host)
{
	struct sp_process *p = i < t->m->n_processes ? &t->m->processes[t->order[i]] : NULL;

	return p && p->pid == pid && strcmp(p->host.p, host) == 0 ? p : NULL;
}

/* Whether `process` is `from` or one of its descendants. */
static bool descends(const struct sp_model *m, uint32_t process, uint32_t from)
{
	while (process != SP_NONE && process != from)
		process = m->processes[process].parent;
	return process != SP_NONE;
}

/* Connects a process that became another program with the next process of its id, if that one is measured. */
static void join_exec(const struct table *t)
{
	struct sp_process *p, *next;
	size_t i;

	for (i = 0; i < t->m->n_processes; i++) {
		p = &t->m->processes[t->order[i]];
		next = process_at(t, i + 1, p->pid, p->host.p);
		if (p->end != SP_END_EXEC || !next || next->begin + SLACK < p->stop)
			continue;
		next->continues = t->order[i];
		if (!descends(t->m, p->parent, t->order[i + 1]))
			next->parent = p->parent;
	}
}

struct found {
	struct sp_child *p; /* owned */
	size_t n, capacity;
};

static struct sp_child *add(struct found *v)
{
	struct sp_child *p;

	if (v->n == v->capacity) {
		v->capacity = v->capacity ? v->capacity * 2 : 64;
		p = realloc(v->p, v->capacity * sizeof(*p));
		if (!p)
			return NULL;
		v->p = p;
	}
	p = &v->p[v->n++];
	*p = (struct sp_child){.process = SP_NONE, .status = -1, .command = {"", 0}};
	return p;
}

/* Hash table by process id: the last child with an id that a process has started and not waited for. It has mask + 1
 * slots and linear probing; a slot has the child's index, counted from `first`, plus 1. */
struct latest {
	uint32_t *slot; /* owned */
	size_t mask;
};

static uint32_t *find_latest(struct latest *t, const struct found *v, size_t first, int32_t pid)
{
	size_t i = (uint32_t)pid & t->mask;

	while (t->slot[i] && v->p[first + t->slot[i] - 1].pid != pid)
		i = (i + 1) & t->mask;
	return &t->slot[i];
}

/* Combines the start and end records of the children of one process, in the order of recording. */
static int read_children(struct found *v, const struct sp_loading *l, uint32_t parent)
{
	const struct sp_clock *c = &l->source->clock;
	struct latest latest = {.mask = 15};
	const size_t first = v->n;
	size_t i;
	int rc = 0;

	while (latest.mask < l->children.n * 2)
		latest.mask = latest.mask * 2 + 1;
	latest.slot = l->children.n ? calloc(latest.mask + 1, sizeof(*latest.slot)) : NULL;
	if (l->children.n && !latest.slot)
		return -1;
	for (i = 0; i < l->children.n && rc == 0; i++) {
		const struct sp_child_def *d = &l->children.p[i];
		uint32_t *slot = find_latest(&latest, v, first, d->pid);
		struct sp_child *child;

		if (d->flags & SP_RAW_CHILD_SIGNALLED)
			continue;
		if (d->record.begin || !*slot || v->p[first + *slot - 1].end) {
			child = add(v);
			rc = child ? 0 : -1;
			if (!child)
				break;
			child->parent = parent;
			child->pid = d->pid;
			child->command = d->command;
			child->forked = d->flags & SP_RAW_CHILD_FORKED;
			child->begin = sp_clock_ns(c, d->record.begin ? d->record.begin : d->record.end);
			if (d->pid)
				*slot = (uint32_t)(v->n - first);
		} else {
			child = &v->p[first + *slot - 1];
		}
		if (d->flags & SP_RAW_CHILD_ENDED) {
			child->end = sp_clock_ns(c, d->record.end);
			child->status = d->record.status;
		}
	}
	free(latest.slot);
	return rc;
}

/* Copies the parent's data of a child to the measured process, or to several ones after exec. */
static void link_child(const struct table *t, struct sp_child *child)
{
	const char *host = t->m->processes[child->parent].host.p;
	uint64_t from = child->begin > SLACK ? child->begin - SLACK : 0;
	size_t i = child->pid > 0 ? first_of(t, child->pid, host, from) : t->m->n_processes;
	struct sp_process *p, *last = NULL;

	for (; (p = process_at(t, i, child->pid, host)) && (!child->end || p->begin <= child->end); i++) {
		/* the recording of a preexec_fn has a file that could not be closed before the exec */
		if (!child->forked && p->forked && p->end == SP_END_ABRUPT)
			p->end = SP_END_EXEC;
		if (!last)
			child->process = t->order[i];
		else if (last->end != SP_END_EXEC)
			break; /* another process with the same id */
		last = p;
	}
	if (last && last->end != SP_END_EXEC)
		last->status = child->status;
}

/* Marks abrupt ends caused by a signal from another process of the program. */
static void note_signals(const struct table *t, const struct sp_loading *l, uint32_t sender)
{
	const char *host = t->m->processes[sender].host.p;
	const struct sp_child_def *d = l->children.p, *end = l->children.n ? d + l->children.n : d;
	size_t i;

	for (; d < end; d++) {
		uint64_t at = sp_clock_ns(&l->source->clock, d->record.begin);
		struct sp_process *p;

		if (!(d->flags & SP_RAW_CHILD_SIGNALLED))
			continue;
		/* the last process that had begun by then */
		i = first_of(t, d->pid, host, at + SLACK);
		p = i > 0 ? process_at(t, i - 1, d->pid, host) : NULL;
		if (!p || p->end != SP_END_ABRUPT || p == &t->m->processes[sender])
			continue;
		if (p->status == -1)
			p->status = d->record.status;
		if (WIFSIGNALED(p->status) && WTERMSIG(p->status) == d->record.status)
			p->ended_by = sender;
	}
}

/* Describes the program that a process became by exec, from its own records or those of its parent; of: the process as
 * a child. */
static void describe_exec(const struct sp_process *p, const struct sp_child *of, struct sp_child *child)
{
	size_t k;

	child->pid = p->pid;
	child->begin = p->stop;
	child->exec = true;
	for (k = 0; k < p->metas; k++)
		if (strcmp(p->meta[k].key.p, "exec") == 0)
			child->command = p->meta[k].value;
	if (!of)
		return;
	child->end = of->end;
	child->status = of->status;
	if (!child->command.n)
		child->command = of->command;
}

/* Adds the program that a process became by exec, if that is not measured. */
static int add_exec(const struct table *t, struct found *v)
{
	const struct sp_process *all = t->m->processes;
	const size_t n = v->n, processes = t->m->n_processes;
	bool *continued = calloc(processes + 1, sizeof(*continued));
	uint32_t *of = calloc(processes + 1, sizeof(*of)); /* index of the child that a process is, plus 1 */
	struct sp_child *child;
	size_t i;
	int rc = continued && of ? 0 : -1;

	for (i = 0; i < n && rc == 0; i++)
		if (v->p[i].process != SP_NONE)
			of[v->p[i].process] = (uint32_t)i + 1;
	for (i = 0; i < processes && rc == 0; i++)
		if (all[i].continues != SP_NONE)
			continued[all[i].continues] = true;
	for (i = 0; i < processes && rc == 0; i++) {
		if (all[i].end != SP_END_EXEC || continued[i])
			continue;
		child = add(v);
		if (!child) {
			rc = -1;
			break;
		}
		child->parent = (uint32_t)i;
		describe_exec(&all[i], of[i] ? &v->p[of[i] - 1] : NULL, child);
	}
	free(continued);
	free(of);
	return rc;
}

static int compare_children(const void *a, const void *b, void *arg)
{
	const struct sp_child *v = arg, *p = &v[*(const uint32_t *)a], *q = &v[*(const uint32_t *)b];

	return p->pid != q->pid       ? (p->pid < q->pid ? -1 : 1)
	       : p->begin != q->begin ? (p->begin < q->begin ? -1 : 1)
	                              : 0;
}

/* A measured process whose parent is not measured (a shell): its parent becomes the process that started that one. */
static int adopt(const struct table *t, const struct found *v)
{
	uint32_t *order = calloc(v->n + 1, sizeof(*order)); /* owned; unmeasured children */
	struct sp_process *p = t->m->processes, *end = p + t->m->n_processes;
	size_t n = 0, i, low, high, mid;

	if (!order)
		return -1;
	for (i = 0; i < v->n; i++)
		if (v->p[i].process == SP_NONE && v->p[i].pid > 0)
			order[n++] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_children, v->p);
	for (; p < end; p++) {
		if (p->parent != SP_NONE || p->continues != SP_NONE)
			continue;
		/* the last one with this id that had begun */
		for (low = 0, high = n; low < high;) {
			const struct sp_child *c = &v->p[order[mid = (low + high) / 2]];

			if (c->pid < p->ppid || (c->pid == p->ppid && c->begin <= p->begin + SLACK))
				low = mid + 1;
			else
				high = mid;
		}
		if (low == 0 || v->p[order[low - 1]].pid != p->ppid)
			continue;
		i = v->p[order[low - 1]].parent;
		if (!descends(t->m, (uint32_t)i, (uint32_t)(p - t->m->processes)) &&
		    strcmp(t->m->processes[i].host.p, p->host.p) == 0)
			p->parent = (uint32_t)i;
	}
	free(order);
	return 0;
}

int sp_build_children(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	struct table t = {.m = m, .order = calloc(m->n_processes + 1, sizeof(uint32_t))};
	struct found v = {0};
	size_t i;
	int rc = t.order ? 0 : -1;

	for (i = 0; i < m->n_processes && rc == 0; i++)
		t.order[i] = (uint32_t)i;
	if (rc == 0)
		qsort_r(t.order, m->n_processes, sizeof(*t.order), compare, m->processes);
	for (i = 0; i < m->n_processes && rc == 0; i++)
		rc = read_children(&v, &b->loading[i], (uint32_t)i);
	for (i = 0; i < v.n && rc == 0; i++)
		link_child(&t, &v.p[i]);
	if (rc == 0)
		join_exec(&t);
	for (i = 0; i < m->n_processes && rc == 0; i++)
		note_signals(&t, &b->loading[i], (uint32_t)i);
	if (rc == 0)
		rc = adopt(&t, &v) || add_exec(&t, &v) ? -1 : 0;
	m->children = rc == 0 ? sp_arena_zalloc(&b->priv->arena, v.n + 1, sizeof(*m->children)) : NULL;
	if (m->children && v.n)
		memcpy(m->children, v.p, v.n * sizeof(*v.p));
	m->n_children = m->children ? v.n : 0;
	free(v.p);
	free(t.order);
	return m->children ? 0 : sp_model_no_memory(e);
}
