/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/owner/owner.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "view/against.h"

/* Writes a list of the distinct texts of one field of the regions, and a column of indices into it. */
static int distinct(const struct sp_model *m, struct sp_columns *out, const char *column, const char *list, bool file)
{
	uint32_t *to = sp_columns_reserve(out, column, SP_COLUMN_U32, m->n_regions);
	struct sp_arena arena = {.blocks = NULL};
	struct sp_intern texts = {.arena = &arena};
	size_t i;
	int rc = to ? 0 : -1;

	for (i = 0; rc == 0 && i < m->n_regions; i++) {
		const struct sp_str *s = file ? &m->regions[i].file : &m->regions[i].module;

		to[i] = sp_intern(&texts, s->p, s->n);
		rc = to[i] == SP_INTERN_FAILED ? -1 : 0;
	}
	sp_meta_open(out, list, '[');
	for (i = 0; rc == 0 && i < texts.n; i++)
		sp_meta_text(out, NULL, (struct sp_str){texts.entries[i].p, texts.entries[i].n});
	sp_meta_close(out, ']');
	sp_intern_free(&texts);
	sp_arena_free(&arena);
	return rc;
}

static void put_pair(struct sp_columns *out, struct sp_str before, struct sp_str after, uint32_t regions)
{
	sp_meta_open(out, NULL, '{');
	sp_meta_text(out, "before", before);
	sp_meta_text(out, "after", after);
	sp_meta_uint(out, "regions", regions);
	sp_meta_close(out, '}');
}

/* In the comparison, `before` is the experiment, as it is the first model; in the answer it is the base. */
static int put_renamed(const struct sp_against *a, struct sp_columns *out, struct sp_err *e)
{
	const struct sp_compare *c = &a->compare;
	struct sp_compare_file *files;
	size_t n, i;

	if (sp_compare_files(c, 1, &files, &n, e))
		return -1;
	sp_meta_open(out, "renamed", '[');
	for (i = 0; i < n; i++)
		put_pair(out, files[i].after, files[i].before, files[i].regions);
	sp_meta_close(out, ']');
	free(files);
	sp_meta_open(out, "renamed_modules", '[');
	for (i = 0; i < c->n_renamed; i++)
		put_pair(out, c->renamed[i].after, c->renamed[i].before, c->renamed[i].regions);
	sp_meta_close(out, ']');
	return 0;
}

static int put_base(const struct sp_against *a, struct sp_columns *out, struct sp_err *e)
{
	uint32_t *is = sp_columns_reserve(out, "of_base", SP_COLUMN_U32, a->base->n_regions);

	if (!is)
		return sp_fail(e, ENOMEM, "not enough memory");
	memcpy(is, a->compare.region_of[1], a->base->n_regions * sizeof(*is));
	return put_renamed(a, out, e);
}

int sp_view_regions(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	const struct sp_model *m = sp_viewed_all(v);
	uint32_t *line = sp_columns_reserve(out, "line", SP_COLUMN_U32, m->n_regions);
	uint8_t *kind = sp_columns_reserve(out, "kind", SP_COLUMN_U8, m->n_regions);
	uint8_t *own = sp_columns_reserve(out, "own", SP_COLUMN_U8, m->n_regions);
	size_t i;

	(void)q;
	if (!line || !kind || !own || distinct(m, out, "module", "modules", false) ||
	    distinct(m, out, "file", "files", true))
		return sp_fail(e, ENOMEM, "not enough memory");
	for (i = 0; i < m->n_regions; i++) {
		line[i] = m->regions[i].line;
		kind[i] = m->regions[i].kind;
		own[i] = i > 0 && m->regions[i].owner == SP_OWNER_OWN;
	}
	sp_meta_open(out, "names", '[');
	for (i = 0; i < m->n_regions; i++)
		sp_meta_text(out, NULL, m->regions[i].name);
	sp_meta_close(out, ']');
	sp_meta_open(out, "qualnames", '[');
	for (i = 0; i < m->n_regions; i++)
		sp_meta_text(out, NULL, m->regions[i].qualname);
	sp_meta_close(out, ']');
	sp_meta_open(out, "kinds", '[');
	for (i = 0; i < SP_REGION_KINDS; i++)
		sp_meta_text(out, NULL, sp_literal(sp_region_kind_names[i]));
	sp_meta_close(out, ']');
	return v->against ? put_base(v->against, out, e) : 0;
}
