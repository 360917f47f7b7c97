/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree in the merged file: arrays with an element for each path, which are used in place. */
#include "model/merge/image.h"

#include "base/guard.h"
#include "model/builder/source.h"
#include "model/merge/pack.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/str.h"

enum { ARRAYS = 4, PIECE = 16 << 20 /* bytes that are hashed at once */ };

static uint64_t array_bytes(unsigned array, uint64_t n_paths, uint64_t n_metrics)
{
	const uint64_t element[ARRAYS] = {sizeof(struct sp_path), sizeof(struct sp_value), sizeof(double),
	                                  n_metrics * sizeof(uint64_t)};

	return n_paths * element[array];
}

uint64_t sp_image_tree_bytes(uint64_t n_paths, uint64_t n_metrics)
{
	uint64_t all = 0;
	unsigned i;

	for (i = 0; i < ARRAYS; i++)
		all += sp_image_page_up(array_bytes(i, n_paths, n_metrics));
	return all;
}

/* mapped: the array is in a mapped file, and each piece leaves memory again. */
static uint64_t hash_array(uint64_t h, const char *p, uint64_t n, bool mapped)
{
	uint64_t piece;

	for (; n; p += piece, n -= piece) {
		piece = n < PIECE ? n : PIECE;
		h = (h ^ sp_pack_hash(p, piece)) * UINT64_C(0x9e3779b97f4a7c15);
		if (mapped)
			sp_mapped_forget(p, piece);
	}
	return h;
}

int sp_image_tree_write(int fd, struct sp_image_header *h, const struct sp_model *m, struct sp_err *e)
{
	const void *const arrays[ARRAYS] = {m->paths, m->totals, m->each, m->total_metrics};
	uint64_t at = h->tree_at, bytes;
	unsigned i;

	h->tree_hash = 0;
	for (i = 0; i < ARRAYS; i++) {
		bytes = array_bytes(i, h->n_paths, h->n_metrics);
		if (sp_write_at(fd, arrays[i], bytes, at, e))
			return -1;
		h->tree_hash = hash_array(h->tree_hash, arrays[i], bytes, false);
		at += sp_image_page_up(bytes);
	}
	return 0;
}

uint64_t sp_image_tree_hash(const struct sp_image_header *h, const char *tree, bool mapped)
{
	uint64_t hash = 0, bytes;
	unsigned i;

	for (i = 0; i < ARRAYS; i++) {
		bytes = array_bytes(i, h->n_paths, h->n_metrics);
		hash = hash_array(hash, tree, bytes, mapped);
		tree += sp_image_page_up(bytes);
	}
	return hash;
}

static int check(const struct sp_model *m)
{
	size_t i;

	if (m->n_regions == 0 || m->n_paths == 0 || m->n_paths >= SP_NONE || m->paths[0].parent != SP_NONE)
		return -1;
	for (i = 0; i < m->n_paths; i++) {
		const struct sp_path *p = &m->paths[i];

		if ((i && p->parent >= i) || p->region >= m->n_regions ||
		    (i && m->regions[p->region].kind == SP_REGION_PARAMETER) ||
		    (p->parameter != SP_NONE && p->parameter >= m->n_parameter_values) ||
		    (p->first_child != SP_NONE && (p->first_child <= i || p->first_child >= m->n_paths)) ||
		    (p->next_sibling != SP_NONE && (p->next_sibling <= i || p->next_sibling >= m->n_paths)))
			return -1;
		/* so that no path is visited twice */
		if (p->first_child != SP_NONE && m->paths[p->first_child].parent != i)
			return -1;
		if (p->next_sibling != SP_NONE && m->paths[p->next_sibling].parent != p->parent)
			return -1;
	}
	return 0;
}

int sp_image_tree_read(struct sp_model *m, const struct sp_image_header *h, char *tree, bool mapped)
{
	void **const arrays[ARRAYS] = {(void **)&m->paths, (void **)&m->totals, (void **)&m->each,
	                               (void **)&m->total_metrics};
	unsigned i;

	if (sp_image_tree_hash(h, tree, mapped) != h->tree_hash)
		return -1;
	m->n_paths = h->n_paths;
	for (i = 0; i < ARRAYS; i++) {
		const uint64_t bytes = array_bytes(i, h->n_paths, h->n_metrics);

		*arrays[i] = bytes ? tree : NULL;
		tree += sp_image_page_up(bytes);
	}
	return check(m);
}
