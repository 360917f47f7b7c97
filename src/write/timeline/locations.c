/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes and threads: their tracks and their notes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "model/memory.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "model/task.h"
#include "write/common/scorep.h"
#include "write/timeline/timeline.h"

enum { FIRST_FREE = 1 << 22 }; /* larger than any process or thread id of the kernel */

/* ---- numbers ---- */

/* Viewers identify processes and threads only by their ids. Ids of the system repeat: on other hosts, after exec, and
 * when the system reuses them. The later process or thread gets an id that the system never assigns. */
struct numbers {
	uint32_t *slots; /* owned; 0: unused */
	size_t mask;
	uint32_t next;
};

static bool take(struct numbers *n, uint64_t number)
{
	if (number == 0 || number >= FIRST_FREE)
		return false;
	for (size_t i = number * 0x9e3779b9u & n->mask;; i = (i + 1) & n->mask) {
		if (n->slots[i] == number)
			return false;
		if (n->slots[i] == 0) {
			n->slots[i] = (uint32_t)number;
			return true;
		}
	}
}

static uint32_t give(struct numbers *n, uint64_t number)
{
	return take(n, number) ? (uint32_t)number : n->next++;
}

/* "MPI Rank 3: python3 solver.py"; with a role "pytest worker gw0: python3 …" */
static int name(struct sp_timeline *t, uint32_t process)
{
	const struct sp_process *p = &t->m->processes[process];
	const struct sp_str command = p->command.n ? p->command : p->file;
	char label[SP_SCOREP_NAME];
	char *text;

	t->names[process] = command;
	if (p->rank == SP_NONE && !p->role.n)
		return 0;
	if (p->rank == SP_NONE)
		sp_process_label(p, label);
	else
		sp_scorep_process(t->m, process, label);
	text = sp_arena_alloc(&t->arena, command.n + sizeof label + 2);
	if (!text)
		return -1;
	char *end = mempcpy(mempcpy(stpcpy(text, label), ": ", 2), command.p, command.n);
	t->names[process] = (struct sp_str){text, (size_t)(end - text)};
	return 0;
}

int sp_timeline_number(struct sp_timeline *t)
{
	const struct sp_model *m = t->m;
	struct numbers n = {.mask = 63, .next = FIRST_FREE};

	while (n.mask < 2 * (m->n_processes + m->n_locations))
		n.mask = 2 * n.mask + 1;
	n.slots = calloc(n.mask + 1, sizeof *n.slots);
	t->pids = sp_arena_alloc(&t->arena, m->n_processes * sizeof *t->pids);
	t->tids = sp_arena_alloc(&t->arena, m->n_locations * sizeof *t->tids);
	t->names = sp_arena_alloc(&t->arena, m->n_processes * sizeof *t->names);
	if (!n.slots || !t->pids || !t->tids || !t->names) {
		free(n.slots);
		return -1;
	}
	for (size_t p = 0; p < m->n_processes; p++)
		t->pids[p] = give(&n, m->processes[p].pid > 0 ? (uint64_t)m->processes[p].pid : 0);
	for (size_t l = 0; l < m->n_locations; l++) {
		const struct sp_process *p = &m->processes[m->locations[l].process];
		/* the first thread has the process's number */
		if (l == p->first_location && m->locations[l].tid == (uint64_t)p->pid)
			t->tids[l] = t->pids[m->locations[l].process];
		else
			t->tids[l] = give(&n, m->locations[l].tid);
	}
	free(n.slots);
	for (uint32_t p = 0; p < m->n_processes; p++)
		if (name(t, p))
			return -1;
	return 0;
}

/* ---- tracks ---- */

struct sp_track sp_timeline_process(const struct sp_timeline *t, uint32_t process)
{
	return (struct sp_track){.number = 1 + (uint64_t)process,
	                         .of = process,
	                         .process = process,
	                         .kind = SP_TRACK_PROCESS,
	                         .name = t->names[process]};
}

struct sp_track sp_timeline_thread(const struct sp_timeline *t, uint32_t location)
{
	const struct sp_location *l = &t->m->locations[location];

	return (struct sp_track){.number = 1 + t->m->n_processes + location,
	                         .parent = 1 + (uint64_t)l->process,
	                         .of = location,
	                         .process = l->process,
	                         .kind = SP_TRACK_THREAD,
	                         .name = l->name};
}

struct sp_track sp_timeline_task(const struct sp_timeline *t, uint32_t task)
{
	const struct sp_task *x = &t->m->tasks[task];

	return (struct sp_track){.number = 1 + t->m->n_processes + t->m->n_locations + task,
	                         .parent = 1 + (uint64_t)x->process,
	                         .of = task,
	                         .process = x->process,
	                         .kind = SP_TRACK_TASK,
	                         .name = x->name.n ? x->name : sp_text("task")};
}

struct sp_track sp_timeline_counter(const struct sp_timeline *t, uint32_t process, uint32_t counter)
{
	const struct sp_model *m = t->m;

	return (struct sp_track){.number = 1 + m->n_processes + m->n_locations + m->n_tasks +
	                                   (uint64_t)process * m->n_counters + counter,
	                         .parent = 1 + (uint64_t)process,
	                         .of = counter,
	                         .process = process,
	                         .kind = SP_TRACK_COUNTER,
	                         .name = m->counters[counter]};
}

struct sp_track sp_timeline_metric(const struct sp_timeline *t, uint32_t location, uint32_t metric)
{
	const struct sp_model *m = t->m;

	return (struct sp_track){.number = 1 + m->n_processes + m->n_locations + m->n_tasks +
	                                   (uint64_t)m->n_processes * m->n_counters +
	                                   (uint64_t)location * m->n_metrics + metric,
	                         .parent = 1 + m->n_processes + location,
	                         .of = metric,
	                         .process = m->locations[location].process,
	                         .location = location,
	                         .kind = SP_TRACK_METRIC,
	                         .name = m->metrics[metric].name};
}

/* ---- notes of a process ---- */

static void note(struct sp_timeline *t, const struct sp_track *on, uint64_t time, const char *name,
                 const char *category, const struct sp_note *notes, size_t n)
{
	t->sink->mark(t->to, &(struct sp_mark){.time = time,
	                                       .on = on,
	                                       .kind = SP_MARK_INSTANT,
	                                       .region = SP_NONE,
	                                       .name = sp_text(name),
	                                       .category = category,
	                                       .notes = notes,
	                                       .n_notes = n});
}

static void add(struct sp_note *notes, size_t *n, const char *name, uint64_t value)
{
	notes[(*n)++] = (struct sp_note){.name = sp_text(name), .nth = 1, .kind = SP_NOTE_UINT, .u.uint = value};
}

static void add_text(struct sp_note *notes, size_t *n, const char *name, struct sp_str text)
{
	if (text.n)
		notes[(*n)++] = (struct sp_note){.name = sp_text(name), .nth = 1, .kind = SP_NOTE_TEXT, .u.text = text};
}

static void put_begin(struct sp_timeline *t, uint32_t process, const struct sp_track *on)
{
	const struct sp_process *p = &t->m->processes[process];
	struct sp_note *notes = malloc((p->metas + 8) * sizeof *notes);
	size_t n = 0;

	if (!notes)
		return;
	add_text(notes, &n, "command line", p->command);
	add_text(notes, &n, "host name", p->host);
	add(notes, &n, "process id", (uint64_t)p->pid);
	add_text(notes, &n, "raw file", p->file);
	if (p->rank != SP_NONE) {
		add(notes, &n, "MPI rank", p->rank);
		add(notes, &n, "MPI size", p->ranks);
	}
	if (p->parent != SP_NONE)
		add(notes, &n, "started by process", (uint64_t)t->m->processes[p->parent].pid);
	for (size_t i = 0; i < p->metas; i++)
		if (p->meta[i].value.n)
			notes[n++] = (struct sp_note){
			    .name = p->meta[i].key, .nth = 1, .kind = SP_NOTE_TEXT, .u.text = p->meta[i].value};
	note(t, on, p->begin, "process begins", "process", notes, n);
	free(notes);
}

static void say_end(struct sp_timeline *t, uint32_t process, const struct sp_track *on)
{
	const struct sp_process *p = &t->m->processes[process];
	struct sp_note notes[4];
	size_t n = 0;

	add_text(notes, &n, "end", sp_text(sp_process_end_names[p->end]));
	if (p->status >= 0 && WIFEXITED(p->status))
		add(notes, &n, "status", (uint64_t)WEXITSTATUS(p->status));
	else if (p->status >= 0 && WIFSIGNALED(p->status))
		add(notes, &n, "signal", (uint64_t)WTERMSIG(p->status));
	if (p->ended_by != SP_NONE)
		add(notes, &n, "ended by process", (uint64_t)t->m->processes[p->ended_by].pid);
	note(t, on, p->stop, "process ends", "process", notes, n);
}

static void say_lost(struct sp_timeline *t, uint32_t process, const struct sp_track *on)
{
	const struct sp_process *p = &t->m->processes[process];
	const struct {
		const char *name;
		uint64_t n;
	} all[] = {{"events", p->lost.events},       {"call paths", p->lost.paths},
	           {"threads", p->lost.threads},     {"functions", p->lost.regions},
	           {"bytes", p->lost.bytes},         {"calls below the depth limit", p->lost.deeper},
	           {"unmatched", p->lost.unmatched}, {"child processes", p->lost.children}};
	struct sp_note notes[sizeof all / sizeof *all + 2];
	size_t n = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].n)
			add(notes, &n, all[i].name, all[i].n);
	if (p->lost_reason)
		add_text(notes, &n, "reason", sp_text(p->lost_reason));
	if (p->lost_children_reason)
		add_text(notes, &n, "reason of child processes", sp_text(p->lost_children_reason));
	if (n)
		note(t, on, p->stop, "not recorded", "lost", notes, n);
}

/* ---- memory ---- */

static struct sp_track heap_track(const struct sp_timeline *t, uint32_t process, enum sp_heap_what what)
{
	const struct sp_model *m = t->m;

	return (struct sp_track){.number = 1 + m->n_processes + m->n_locations + m->n_tasks +
	                                   (uint64_t)m->n_processes * m->n_counters +
	                                   (uint64_t)m->n_locations * m->n_metrics + process * SP_HEAP_SERIES + what,
	                         .parent = 1 + (uint64_t)process,
	                         .of = what,
	                         .process = process,
	                         .kind = SP_TRACK_HEAP,
	                         .name = sp_text(sp_heap_series[what].name)};
}

static int put_heap(struct sp_timeline *t, uint32_t process)
{
	const struct sp_heap *h = sp_heaps_of(&t->heaps, process);
	struct sp_track tracks[SP_HEAP_SERIES];
	size_t n;

	if (!h)
		return 0;
	struct sp_heap_count *counts = sp_heap_counts(h, &n);
	if (!counts)
		return -1;
	for (uint32_t i = 0; i < SP_HEAP_SERIES; i++) {
		tracks[i] = heap_track(t, process, i);
		t->sink->track(t->to, &tracks[i]);
	}
	for (size_t i = 0; i < n; i++)
		t->sink->count(t->to, &tracks[counts[i].what], counts[i].time, (double)counts[i].value);
	free(counts);
	return 0;
}

int sp_timeline_places(struct sp_timeline *t)
{
	const struct sp_model *m = t->m;
	struct sp_track track;

	t->sink->thread(t->to, SP_NONE);
	for (uint32_t p = 0; p < m->n_processes; p++) {
		if (!sp_timeline_picked(t, p))
			continue;
		track = sp_timeline_process(t, p);
		t->sink->track(t->to, &track);
		put_begin(t, p, &track);
		say_end(t, p, &track);
		say_lost(t, p, &track);
	}
	for (uint32_t l = t->k.first; l < t->k.end; l++) {
		track = sp_timeline_thread(t, l);
		t->sink->track(t->to, &track);
	}
	for (uint32_t i = 0; i < m->n_tasks; i++) {
		if (!sp_timeline_picked(t, m->tasks[i].process))
			continue;
		track = sp_timeline_task(t, i);
		t->sink->track(t->to, &track);
	}
	for (uint32_t p = 0; p < m->n_processes; p++)
		if (sp_timeline_picked(t, p) && put_heap(t, p))
			return -1;
	return 0;
}
