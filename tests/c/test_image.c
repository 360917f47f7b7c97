/* SPDX-License-Identifier: BSD-3-Clause */
/* A merged file with the right checksum and invalid contents is rejected. */
#include <fcntl.h>

#include "check.h"
#include "model/builder/listing.h"
#include "model/builder/loading.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/merge/fields.h"
#include "model/merge/image.h"
#include "model/merge/merge.h"
#include "model/model.h"
#include "model/str.h"
#include "scratch.h"

/* Replaces the merged file by one with the same model, changed. Returns the result of reading it. */
static int load_changed(const char *dir, void (*change)(struct sp_model *m))
{
	struct sp_model *m = scratch_load(dir, 0), *again;
	const struct sp_image *i = m->priv->image;
	struct sp_image_header h;
	struct sp_listing list;
	char from[200], to[200];
	struct sp_err e;
	int fd, rc;

	MUST(i);
	snprintf(from, sizeof(from), "%s/other", dir);
	snprintf(to, sizeof(to), "%s/" SP_IMAGE_NAME, dir);
	MUST(sp_listing_read(&list, dir, &e) == 0);
	h = sp_image_layout(i->header.n_rows, i->header.n_metrics, m->n_paths);
	change(m);
	fd = open(from, O_RDWR | O_CREAT | O_TRUNC, 0666);
	MUST(fd >= 0 && sp_write_at(fd, i->map, h.stream_at, 0, &e) == 0 &&
	     sp_image_write(fd, &h, m, &list, i->hashes, &e) == 0 && close(fd) == 0 && rename(from, to) == 0);
	sp_model_free(m);
	rc = sp_image_load(&again, dir, &list, &e);
	if (rc == 0)
		sp_model_free(again);
	else
		CHECK(strstr(e.text, "merged is damaged (its contents contradict each other)") != NULL);
	sp_listing_free(&list);
	return rc;
}

static void change_nothing(struct sp_model *m)
{
	(void)m;
}

/* Writers number ranks by their world. */
static void change_world(struct sp_model *m)
{
	MUST(m->processes[0].rank != SP_NONE);
	m->processes[0].rank = SP_NONE;
}

/* Writers have room for a limited number of dimensions on their stacks. */
static void change_topology(struct sp_model *m)
{
	static uint32_t numbers[1024];
	uint32_t i = 0;

	while (!m->comms[i].cart_dims)
		MUST(++i < m->n_comms);
	MUST(m->comms[i].group.n * (SP_MAX_DIMENSIONS + 1) <= 1024);
	m->comms[i].cart_dims = SP_MAX_DIMENSIONS + 1;
	m->comms[i].cart = m->comms[i].coordinates = numbers;
}

static void test_contradictions(void)
{
	static void (*const changes[])(struct sp_model *) = {change_world, change_topology};
	struct sp_merge_result r;
	struct sp_err e;
	char dir[160];
	size_t i;

	snprintf(dir, sizeof(dir), "%s/mpi", scratch_experiment());
	rg_mpi_experiment(dir, 3);
	for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		MUST(sp_merge(dir, &(struct sp_merge_options){.force = true}, NULL, &r, &e) == 0);
		CHECK(load_changed(dir, change_nothing) == 0);
		CHECK(load_changed(dir, changes[i]) == -1);
	}
}

/* Worlds that share a list of ranks take 12 bytes each, whatever the length of the list. */
static void test_more_ranks_than_numbers(void)
{
	enum { WORLDS = 1 << 16, RANKS = 1 << 16 };
	struct sp_model_private priv = {.image = NULL};
	struct sp_model m = {.priv = &priv, .n_processes = 1};
	uint32_t *ranks = calloc(RANKS, sizeof(*ranks)), map = 0, i;
	struct sp_arena arena = {0};
	struct sp_pack out, in;
	size_t n = WORLDS;
	uint64_t id = 1;

	MUST(ranks);
	sp_pack_write(&out);
	sp_pack_count(&out, &n);
	for (i = 0; i < WORLDS; i++) {
		sp_pack_number(&out, id);
		sp_pack_number(&out, map);
		n = RANKS;
		if (i == 0) {
			sp_pack_count(&out, &n);
			sp_pack_array(&out, &ranks, n, sizeof(*ranks));
		}
	}
	for (n = 0, i = 0; i < 3; i++)
		sp_pack_count(&out, &n); /* communicators, windows, groups */
	sp_pack_read(&in, &arena, out.bytes, out.n);
	sp_fields_communicators(&in, &m);
	CHECK(in.failed && !in.no_memory && m.n_worlds == WORLDS);
	sp_pack_free(&in);
	sp_pack_free(&out);
	sp_arena_free(&arena);
	free(ranks);
}

int main(void)
{
	test_contradictions();
	test_more_ranks_than_numbers();
	return check_failures != 0;
}
