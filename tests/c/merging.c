/* SPDX-License-Identifier: BSD-3-Clause */
#include "merging.h"

#include <pthread.h>
#include <sys/socket.h>

#include "check.h"
#include "model/builder/steps.h"
#include "model/comm.h"
#include "model/event.h"
#include "model/file.h"
#include "model/merge/merge.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "model/tally.h"
#include "scratch.h"

/* ---- ranks that are threads ---- */

struct ranks {
	const char *dir;
	int size, fd[MERGING_MAX_RANKS][MERGING_MAX_RANKS];
	int silent; /* this rank exits without sending anything; -1: no rank */
};

struct rank {
	struct ranks *all;
	int rank, rc;
	struct sp_merge_result r;
	struct sp_err e;
};

static int move(int fd, char *p, size_t n, bool out)
{
	ssize_t k;

	for (; n; p += k, n -= (size_t)k) {
		k = out ? send(fd, p, n, MSG_NOSIGNAL) : read(fd, p, n);
		if (k <= 0)
			return -1;
	}
	return 0;
}

static int send_bytes(void *arg, int to, const void *bytes, size_t n)
{
	struct rank *r = arg;
	int fd = r->all->fd[r->rank][to];

	return move(fd, (char *)&n, sizeof(n), true) || move(fd, (char *)bytes, n, true);
}

static int receive_bytes(void *arg, int from, void **bytes, size_t *n)
{
	struct rank *r = arg;
	int fd = r->all->fd[r->rank][from];

	if (move(fd, (char *)n, sizeof(*n), false))
		return -1;
	*bytes = malloc(*n + 1);
	return move(fd, *bytes, *n, false);
}

static void *run_rank(void *arg)
{
	struct rank *r = arg;
	const struct sp_links links = {r, r->rank, r->all->size, send_bytes, receive_bytes};
	int i;

	if (r->rank == r->all->silent)
		r->rc = 1;
	else
		r->rc = sp_merge(r->all->dir, &(struct sp_merge_options){.force = true}, &links, &r->r, &r->e);
	for (i = 0; i < r->all->size; i++)
		if (i != r->rank)
			close(r->all->fd[r->rank][i]);
	return NULL;
}

int merging_ranks(const char *dir, int size, int silent, struct sp_err *e)
{
	struct ranks all = {dir, size, {{0}}, silent};
	struct rank rank[MERGING_MAX_RANKS];
	pthread_t thread[MERGING_MAX_RANKS];
	int i, k, fd[2];

	for (i = 0; i < size; i++)
		for (k = i + 1; k < size; k++) {
			MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
			all.fd[i][k] = fd[0];
			all.fd[k][i] = fd[1];
		}
	for (i = 0; i < size; i++) {
		rank[i] = (struct rank){.all = &all, .rank = i};
		MUST(pthread_create(&thread[i], NULL, run_rank, &rank[i]) == 0);
	}
	for (i = 0; i < size; i++) {
		MUST(pthread_join(thread[i], NULL) == 0);
		CHECK((rank[i].rc != 0) == (rank[0].rc != 0));
	}
	*e = rank[0].e;
	return rank[0].rc;
}

/* ---- comparison of two models ---- */

static bool same_text(const struct sp_str *a, const struct sp_str *b)
{
	return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

void merging_compare_definitions(const struct sp_model *a, const struct sp_model *b)
{
	size_t i;

	MUST(a->n_regions == b->n_regions && a->n_paths == b->n_paths && a->n_metrics == b->n_metrics);
	MUST(a->n_strings == b->n_strings && a->n_counters == b->n_counters && a->n_parameters == b->n_parameters);
	MUST(a->n_parameter_values == b->n_parameter_values && a->n_io_handles == b->n_io_handles);
	for (i = 0; i < a->n_regions; i++) {
		const struct sp_region *p = &a->regions[i], *q = &b->regions[i];

		CHECK(same_text(&p->module, &q->module) && same_text(&p->qualname, &q->qualname) &&
		      same_text(&p->name, &q->name) && same_text(&p->file, &q->file) && p->line == q->line &&
		      p->kind == q->kind && p->role == q->role && p->generator == q->generator &&
		      p->code.recorded == q->code.recorded && p->code.argcount == q->code.argcount &&
		      p->code.lasti == q->code.lasti && p->address == q->address);
	}
	CHECK(memcmp(a->paths, b->paths, a->n_paths * sizeof(*a->paths)) == 0);
	CHECK(memcmp(a->totals, b->totals, a->n_paths * sizeof(*a->totals)) == 0);
	if (a->n_metrics)
		CHECK(memcmp(a->total_metrics, b->total_metrics, a->n_paths * a->n_metrics * 8) == 0);
	for (i = 0; i < a->n_metrics; i++)
		CHECK(same_text(&a->metrics[i].name, &b->metrics[i].name) && a->metrics[i].own == b->metrics[i].own);
	for (i = 0; i < a->n_strings; i++)
		CHECK(same_text(&a->strings[i], &b->strings[i]));
	for (i = 0; i < a->n_counters; i++)
		CHECK(same_text(&a->counters[i], &b->counters[i]));
	for (i = 0; i < a->n_parameters; i++)
		CHECK(same_text(&a->parameters[i], &b->parameters[i]));
	for (i = 0; i < a->n_parameter_values; i++) {
		const struct sp_parameter_value *p = &a->parameter_values[i], *q = &b->parameter_values[i];

		CHECK(p->parameter == q->parameter && p->kind == q->kind && same_text(&p->text, &q->text) &&
		      p->before == q->before);
	}
	for (i = 0; i < a->n_io_handles; i++)
		CHECK(same_text(&a->io_handles[i].path, &b->io_handles[i].path) &&
		      a->io_handles[i].process == b->io_handles[i].process &&
		      a->io_handles[i].comm == b->io_handles[i].comm);
}

static bool same_group(const struct sp_group *a, const struct sp_group *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->processes, b->processes, a->n * sizeof(*a->processes)) == 0) &&
	       !a->unmeasured == !b->unmeasured &&
	       (!a->unmeasured || memcmp(a->unmeasured, b->unmeasured, a->n * sizeof(*a->unmeasured)) == 0);
}

static void compare_mpi(const struct sp_model *a, const struct sp_model *b)
{
	size_t i;

	MUST(a->n_worlds == b->n_worlds && a->n_comms == b->n_comms && a->n_wins == b->n_wins &&
	     a->n_groups == b->n_groups);
	for (i = 0; i < a->n_worlds; i++)
		CHECK(a->worlds[i].id == b->worlds[i].id && same_group(&a->worlds[i].ranks, &b->worlds[i].ranks));
	for (i = 0; i < a->n_comms; i++) {
		const struct sp_comm *p = &a->comms[i], *q = &b->comms[i];

		CHECK(same_text(&p->name, &q->name) && p->parent == q->parent && same_group(&p->group, &q->group) &&
		      same_group(&p->remote, &q->remote) && p->incomplete == q->incomplete &&
		      p->cart_dims == q->cart_dims && p->self == q->self && p->world == q->world);
		if (p->cart_dims)
			CHECK(memcmp(p->cart, q->cart, p->cart_dims * 8) == 0 &&
			      memcmp(p->coordinates, q->coordinates, 4 * (size_t)p->cart_dims * p->group.n) == 0);
	}
	for (i = 0; i < a->n_wins; i++)
		CHECK(same_text(&a->wins[i].name, &b->wins[i].name) && a->wins[i].comm == b->wins[i].comm);
	for (i = 0; i < a->n_groups; i++)
		CHECK(same_group(&a->groups[i], &b->groups[i]));
}

static void compare_events(const struct sp_model *a, const struct sp_model *b, uint32_t location)
{
	struct sp_events *s, *t;
	struct sp_event ev[2][64];
	struct sp_err e;
	long n, m, i;

	CHECK(sp_events_count(a, location) == sp_events_count(b, location));
	MUST(sp_events_open(&s, a, location, &e) == 0 && sp_events_open(&t, b, location, &e) == 0);
	do {
		n = sp_events_read(s, ev[0], 64, &e);
		m = sp_events_read(t, ev[1], 64, &e);
		MUST(n == m && n >= 0);
		for (i = 0; i < n; i++)
			CHECK(ev[0][i].time == ev[1][i].time && ev[0][i].kind == ev[1][i].kind &&
			      ev[0][i].id == ev[1][i].id);
	} while (n);
	sp_events_close(s);
	sp_events_close(t);
}

void merging_compare_places(const struct sp_model *a, const struct sp_model *b)
{
	uint32_t i;
	size_t k;

	MUST(a->n_processes == b->n_processes && a->n_locations == b->n_locations);
	for (i = 0; i < a->n_processes; i++) {
		const struct sp_process *p = &a->processes[i], *q = &b->processes[i];

		CHECK(same_text(&p->file, &q->file) && same_text(&p->host, &q->host) &&
		      same_text(&p->command, &q->command) && p->pid == q->pid && p->parent == q->parent &&
		      p->rank == q->rank && p->world == q->world && p->world_index == q->world_index &&
		      p->end == q->end && p->begin == q->begin && p->stop == q->stop && p->metas == q->metas &&
		      p->cost_in == q->cost_in && memcmp(&p->lost, &q->lost, sizeof(p->lost)) == 0 &&
		      !p->lost_reason == !q->lost_reason);
		for (k = 0; k < p->metas; k++)
			CHECK(same_text(&p->meta[k].key, &q->meta[k].key) &&
			      same_text(&p->meta[k].value, &q->meta[k].value));
	}
	for (i = 0; i < a->n_locations; i++) {
		const struct sp_location *p = &a->locations[i], *q = &b->locations[i];

		CHECK(p->process == q->process && p->creator == q->creator && same_text(&p->name, &q->name) &&
		      p->begin == q->begin && p->end == q->end && p->visits == q->visits && p->busy == q->busy &&
		      p->mpi == q->mpi);
		MUST(p->values == q->values);
		for (k = 0; k < p->values; k++) {
			const struct sp_row *r = &a->values[p->first_value + k], *t = &b->values[q->first_value + k];

			CHECK(r->path == t->path && memcmp(&r->v, &t->v, sizeof(r->v)) == 0);
		}
		if (a->n_metrics)
			CHECK(memcmp(a->row_metrics + p->first_value * a->n_metrics,
			             b->row_metrics + q->first_value * a->n_metrics,
			             p->values * a->n_metrics * 8) == 0);
		compare_events(a, b, i);
	}
}

static void compare_problems(const struct sp_model *a, const struct sp_model *b)
{
	size_t i;

	MUST(a->n_problems == b->n_problems);
	for (i = 0; i < a->n_problems; i++)
		CHECK(same_text(&a->problems[i].text, &b->problems[i].text));
}

static void compare_tallies(const struct sp_model *a, const struct sp_model *b)
{
	size_t i;

	MUST(a->n_tallies == b->n_tallies);
	for (i = 0; i < a->n_tallies; i++) {
		const struct sp_tally *p = &a->tallies[i], *q = &b->tallies[i];

		CHECK(p->location == q->location && p->path == q->path && p->kind == q->kind &&
		      p->generation == q->generation && p->count == q->count && p->ns == q->ns &&
		      p->objects == q->objects);
	}
}

void merging_compare(const char *dir)
{
	struct sp_model *a = scratch_load(dir, SP_MODEL_RAW), *b = scratch_load(dir, 0);
	struct sp_err e;

	CHECK(a->begin_ns == b->begin_ns && a->end_ns == b->end_ns && a->traced == b->traced);
	CHECK(b->n_values == 0 || b->values != NULL);
	MUST(sp_model_rows(b, &e) == 0);
	compare_problems(a, b);
	merging_compare_definitions(a, b);
	compare_mpi(a, b);
	compare_tallies(a, b);
	merging_compare_places(a, b);
	compare_problems(a, b); /* including those of the traces */
	sp_model_free(a);
	sp_model_free(b);
}
