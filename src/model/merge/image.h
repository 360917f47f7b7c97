/* SPDX-License-Identifier: BSD-3-Clause */
/* The merged model as a file: IMAGE.md. */
#ifndef SP_MODEL_MERGE_IMAGE_H
#define SP_MODEL_MERGE_IMAGE_H

#include "model/builder/listing.h"
#include "model/model.h"
#include "model/path.h"

#define SP_IMAGE_NAME    "merged"
#define SP_IMAGE_MAGIC   "SPMERGED"
#define SP_IMAGE_VERSION 13u

enum { SP_IMAGE_PAGE = 4096 };

struct sp_image_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint64_t bytes; /* of the whole file */
	uint64_t n_rows;
	uint64_t n_metrics;
	uint64_t n_paths;
	uint64_t metrics_at, tree_at;
	uint64_t stream_at, stream_bytes;
	uint64_t tree_hash, stream_hash;
};
_Static_assert(sizeof(struct sp_image_header) == 96, "image header");
_Static_assert(sizeof(struct sp_row) == 64 && sizeof(struct sp_path) == 20 && sizeof(struct sp_value) == 56, "image");

struct sp_image {
	struct sp_image_header header;
	uint64_t bytes; /* of the file */
	void *map;      /* owned; the mapped part before the stream */
	/* owned; copies: if the file is truncated, rows become unreadable, but no definitions. tree is NULL if the call
	 * tree is so large that only its mapping is used */
	void *stream, *tree;
	const uint64_t *hashes; /* hash of the rows of each location */
	bool checked;           /* the rows were checked */
};

/* The layout of a file; stream_bytes and the fields that depend on it are not set, nor are the hashes. */
struct sp_image_header sp_image_layout(uint64_t n_rows, uint64_t n_metrics, uint64_t n_paths);
/* Writes everything except the rows: the model, and the hash of each location's rows. Returns 0, or -1 with e set. */
int sp_image_write(int fd, struct sp_image_header *h, const struct sp_model *m, const struct sp_listing *list,
                   const uint64_t *hashes, struct sp_err *e);
uint64_t sp_image_hash_rows(const struct sp_row *rows, const uint64_t *metrics, size_t n, size_t width);
int sp_write_at(int fd, const void *p, size_t n, uint64_t at, struct sp_err *e);

static inline uint64_t sp_image_page_up(uint64_t n)
{
	return (n + SP_IMAGE_PAGE - 1) / SP_IMAGE_PAGE * SP_IMAGE_PAGE;
}

/* tree.c: the call tree and the totals of its paths. */
uint64_t sp_image_tree_bytes(uint64_t n_paths, uint64_t n_metrics);
/* Sets the hash in h, which has the layout. Returns 0, or -1 with e set. */
int sp_image_tree_write(int fd, struct sp_image_header *h, const struct sp_model *m, struct sp_err *e);
/* Sets the arrays of m, whose other definitions are complete, to those at `tree`; mapped: as below. Returns 0, or -1:
 * it is damaged. Call it under sp_guarded(). */
int sp_image_tree_read(struct sp_model *m, const struct sp_image_header *h, char *tree, bool mapped);
/* The hash of the tree at `tree`. mapped: in a mapped file; then its memory is released again. */
uint64_t sp_image_tree_hash(const struct sp_image_header *h, const char *tree, bool mapped);

#endif
