/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of rawgen share: a process under construction, and the layout of its file. */
#ifndef SP_TESTS_RAWGEN_INNER_H
#define SP_TESTS_RAWGEN_INNER_H

#include "rawgen.h"

enum { EVENT_WORDS = (64 * 1024 - 64) / 8, NODES_BYTES = 256 * 1024, MAX_DEPTH = 4096 };
#define ADDRESS UINT64_C(0x7f2200000000) /* address at which the simulated process mapped its file */

struct bytes {
	unsigned char *p;
	size_t n, capacity;
};

/* The rows of a thread in chunks of one type. Each begins with a node, a number until the layout. */
struct rg_rows {
	enum sp_raw_chunk_type type;
	size_t size, n;   /* size: of a row, bytes */
	unsigned char *p; /* owned */
};

struct rg_thread {
	struct rg_process *process;
	struct sp_raw_location state;
	struct sp_raw_node *nodes; /* owned */
	size_t n_nodes, node_capacity;
	uint64_t *values;      /* owned: n_columns for each node */
	size_t value_capacity; /* capacity in nodes */
	uint32_t *slots;       /* owned: hash table (parent, region) -> node; 0: empty */
	size_t slot_mask;
	uint64_t *words; /* owned: EVENT_WORDS words of the current chunk */
	size_t n_words;
	uint64_t chunk_base;
	uint32_t event_chunks;
	struct sp_raw_frame frames[MAX_DEPTH]; /* .node is an index until the layout */
	unsigned depth;
	struct sp_raw_line *lines; /* owned */
	size_t n_lines;
	struct sp_raw_line_frame *line_frames; /* owned; .line is an index + 1 until the layout */
	size_t n_line_frames;
	struct sp_raw_wait *waits; /* owned */
	size_t n_waits;
	struct rg_rows *rows; /* owned; of each type of chunks once */
	size_t n_rows;
	char name[64];
};

struct rg_process {
	struct sp_raw_header header;
	struct bytes file, defs;
	uint32_t n_columns;
	struct rg_thread **threads; /* owned */
	size_t n_threads;
	struct sp_raw_object *objects; /* owned */
	size_t n_objects;
	struct sp_raw_heap *heap; /* owned; NULL: no heap */
	uint64_t *nodes_at;       /* owned; for each thread: the address of its root's node; set during the layout */
};

/* Prints what failed and the reason in errno, and exits. */
_Noreturn void rg_die(const char *what);
/* realloc() that exits if it fails. */
void *rg_grown(void *p, size_t n);
/* Appends n bytes, zeros if p is NULL. Returns their address, valid until the next call. */
void *rg_put(struct bytes *b, const void *p, size_t n);
/* Appends a chunk. Returns its offset in the file. */
size_t rg_put_chunk(struct rg_process *p, struct sp_raw_chunk c, const void *payload, size_t n);
/* Writes the current events as a chunk; full: no more events fit into it. */
void rg_flush_words(struct rg_thread *t, bool full);
/* The steps of the layout, in this order: for each thread, then everything that needs the addresses of nodes. */
void rg_put_nodes(struct rg_thread *t);
void rg_put_lines(struct rg_thread *t);
void rg_put_rows(struct rg_process *p, uint32_t location, struct rg_thread *t);
void rg_put_objects(struct rg_process *p);

#endif
