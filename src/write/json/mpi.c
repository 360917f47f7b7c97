/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI in JSON. Groups are lists of processes. Each group is written once, and communicators refer to it by index. */
#include <inttypes.h>

#include "base/intern.h"
#include "model/comm.h"
#include "model/model.h"
#include "model/str.h"
#include "write/json/json.h"

struct groups {
	struct sp_out *out;
	struct sp_intern known; /* key: addresses of the lists of members and of unmeasured ones */
};

static void put_members(struct sp_out *out, const struct sp_group *g)
{
	sp_out_byte(out, '[');
	for (uint32_t i = 0; i < g->n; i++) {
		if (i)
			sp_out_byte(out, ',');
		if (g->processes[i] == SP_NONE)
			sp_out_text(out, "null");
		else
			sp_out_u64(out, g->processes[i]);
	}
	sp_out_byte(out, ']');
}

/* The group's index; writes the group at its first use. SP_NONE: no memory. */
static uint32_t group(struct groups *g, const struct sp_group *which, bool write)
{
	const void *const key[] = {which->processes, which->unmeasured};
	const size_t had = g->known.n;
	uint32_t id = sp_intern(&g->known, (const char *)key, sizeof key);

	if (id == had && write) {
		sp_out_text(g->out, id ? ",\n" : "\n");
		put_members(g->out, which);
	}
	return id;
}

static int put_groups(struct groups *g, const struct sp_model *m)
{
	sp_out_text(g->out, ",\n\"groups\":[");
	for (size_t i = 0; i < m->n_comms; i++) {
		const struct sp_comm *c = &m->comms[i];
		if (group(g, &c->group, true) == SP_NONE || (c->inter && group(g, &c->remote, true) == SP_NONE))
			return -1;
	}
	sp_out_byte(g->out, ']');
	return 0;
}

static void put_cart(struct sp_out *out, const struct sp_comm *c)
{
	sp_json_text(out, "topology", c->cart_name);
	sp_out_text(out, "\"dimensions\":[");
	for (uint32_t d = 0; d < c->cart_dims; d++)
		sp_out_f(out, "%s[%" PRIu32 ",%s]", d ? "," : "", c->cart[2 * d],
		         c->cart[2 * d + 1] ? "true" : "false");
	sp_out_text(out, "],\"coordinates\":[");
	for (uint32_t i = 0; i < c->group.n; i++) {
		const uint32_t *at = c->coordinates + (size_t)i * c->cart_dims;
		sp_out_text(out, i ? "," : "");
		sp_out_byte(out, '[');
		for (uint32_t d = 0; d < c->cart_dims && *at != SP_NONE; d++)
			sp_out_f(out, d ? ",%" PRIu32 : "%" PRIu32, at[d]);
		sp_out_byte(out, ']');
	}
	sp_out_text(out, "],");
}

static void put_comm(struct groups *g, const struct sp_comm *c)
{
	struct sp_out *out = g->out;

	sp_out_byte(out, '{');
	sp_json_text(out, "name", c->name);
	sp_json_index(out, "parent", c->parent);
	sp_json_index(out, "group", group(g, &c->group, false));
	sp_json_index(out, "remote", c->inter ? group(g, &c->remote, false) : SP_NONE);
	if (c->cart_dims)
		put_cart(out, c);
	sp_out_f(out, "\"kind\":\"%s\",\"incomplete\":%s}",
	         c->inter   ? "inter"
	         : c->self  ? "self"
	         : c->world ? "world"
	                    : "intra",
	         c->incomplete ? "true" : "false");
}

int sp_json_mpi(struct sp_out *out, const struct sp_model *m)
{
	struct sp_arena arena = {0};
	struct groups g = {out, {.arena = &arena}};
	int rc;

	sp_out_text(out, ",\n\"worlds\":[");
	for (size_t i = 0; i < m->n_worlds; i++) {
		sp_out_f(out, "%s{\"id\":\"%016" PRIx64 "\",\"ranks\":", i ? ",\n" : "\n", m->worlds[i].id);
		put_members(out, &m->worlds[i].ranks);
		sp_out_byte(out, '}');
	}
	sp_out_byte(out, ']');
	rc = put_groups(&g, m);
	sp_out_text(out, ",\n\"communicators\":[");
	for (size_t i = 0; i < m->n_comms && rc == 0; i++) {
		sp_out_text(out, i ? ",\n" : "\n");
		put_comm(&g, &m->comms[i]);
	}
	sp_out_text(out, "],\n\"windows\":[");
	for (size_t i = 0; i < m->n_wins; i++) {
		sp_out_text(out, i ? ",\n{" : "\n{");
		sp_json_text(out, "name", m->wins[i].name);
		sp_out_f(out, "\"communicator\":%" PRIu32 "}", m->wins[i].comm);
	}
	sp_out_byte(out, ']');
	sp_intern_free(&g.known);
	sp_arena_free(&arena);
	return rc;
}
