/* SPDX-License-Identifier: BSD-3-Clause */
/* One raw file, mapped for reading. Its contents are not trusted: it may be damaged, truncated, or still being
 * written. */
#ifndef SP_READER_READER_H
#define SP_READER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "reader/bytes.h"
#include "format/format.h"

/* A chunk whose position and sizes were checked against the file: offset + bytes is within the file, and used within
 * bytes. */
struct sp_raw_part {
	uint64_t offset; /* in the file */
	uint64_t bytes;  /* size with header, as far as it is in the file */
	uint64_t used;   /* in the units of FORMAT.md; EVENTS: 0 means up to the first zero word */
	uint64_t base;
	uint64_t address;
	uint32_t type; /* enum sp_raw_chunk_type */
	uint32_t location;
	uint32_t seq;
	uint32_t sum;  /* its checksum; 0: no checksum */
	bool summed;   /* the checksum was compared with the contents */
	bool reported; /* damage inside it was reported */
};

/* The parts of one location: [first, first + count) of sp_raw_file.parts. */
struct sp_raw_run {
	size_t first, count;
};

struct sp_raw_thread {
	struct sp_raw_location state;        /* a copy; guessed from the header if its chunk is lost */
	struct sp_raw_run nodes;             /* in the order of base */
	const struct sp_raw_part **nodes_at; /* the same, sorted by the writer's addresses */
	struct sp_raw_run events;            /* in the order of time */
	struct sp_raw_run lines;
	struct sp_raw_run sites;
	struct sp_raw_run waits;
	struct sp_raw_run off_cpu;
	struct sp_raw_run tallies;
	const struct sp_raw_part *stack;      /* NULL: lost */
	const struct sp_raw_part *line_stack; /* NULL: no line stack */
	uint64_t state_offset;                /* offset of the state in the file; 0: lost */
	bool reported;                        /* damage of the stack was reported */
};

typedef void sp_raw_problem_fn(void *arg, const char *text);

struct sp_raw_file {
	struct sp_raw_bytes bytes;           /* owned, unless they belong to the caller */
	const unsigned char *map;            /* owned, as bytes */
	size_t size;                         /* number of bytes to read */
	char *name;                          /* owned; as it appears in problems */
	struct sp_raw_header header;         /* a copy */
	struct sp_raw_part *parts;           /* owned */
	const struct sp_raw_part **nodes_at; /* owned; nodes of all threads */
	size_t n_parts;
	struct sp_raw_run defs;
	struct sp_raw_run objects;               /* in the order of their ids */
	const struct sp_raw_part *heap, *series; /* NULL: not in the file */
	struct sp_raw_thread *threads;           /* owned; in the order of their ids */
	size_t n_threads;
	sp_raw_problem_fn *problem;
	void *arg;
	unsigned problems;
};

/* Opens a raw file. Fails if nothing in it is readable; lesser damage is reported to problem(). Returns 0, or -1 with e
 * set. */
int sp_raw_open(struct sp_raw_file **out, const char *path, const char *name, sp_raw_problem_fn *problem, void *arg,
                struct sp_err *e);
/* The same for an open file; the caller keeps fd. */
int sp_raw_open_descriptor(struct sp_raw_file **out, int fd, const char *name, sp_raw_problem_fn *problem, void *arg,
                           struct sp_err *e);
/* The same for bytes in memory, which must be aligned to 8 and outlive the file. */
int sp_raw_open_bytes(struct sp_raw_file **out, const void *bytes, size_t n, const char *name,
                      sp_raw_problem_fn *problem, void *arg, struct sp_err *e);
void sp_raw_close(struct sp_raw_file *f);

/* Reports damage at an offset, as "name at 0x…: text". Only the first few problems of a file are reported singly. */
void sp_raw_report(struct sp_raw_file *f, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports the number of further problems; call once, after reading the file. */
void sp_raw_report_rest(struct sp_raw_file *f);

/* The payload of a part, part->bytes - sizeof(struct sp_raw_chunk) bytes. */
const void *sp_raw_payload(const struct sp_raw_file *f, const struct sp_raw_part *part);
/* Releases the memory of a part's pages; they are read from the file again when they are accessed. */
void sp_raw_forget(const struct sp_raw_file *f, const struct sp_raw_part *part);
void sp_raw_forget_bytes(const struct sp_raw_file *f, uint64_t offset, uint64_t bytes);

/* The index of the node at a writer's pointer among the nodes of t; SP_RAW_NONE: not found. */
uint32_t sp_raw_node_index(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint64_t pointer);

/* The index of the line at a writer's pointer among those of all LINES chunks of t; SIZE_MAX: not found. */
size_t sp_raw_line_index(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint64_t pointer);

/* Copies the node with this index into n; false: not found. */
bool sp_raw_node_at(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint32_t index, struct sp_raw_node *n);

/* The thread's frames of lines, and their number in *n; the first frame is unused. */
const struct sp_raw_line_frame *sp_raw_line_frames(const struct sp_raw_file *f, const struct sp_raw_thread *t,
                                                   size_t *n);

/* The open frames of a thread without the root's, outermost first, and their number in *n. */
const struct sp_raw_frame *sp_raw_open_frames(struct sp_raw_file *f, struct sp_raw_thread *t, size_t *n);

/* Whether the part has no checksum or the right one; for events, which are read later than sp_raw_open(). Returns false
 * only in the first call, so that damage is reported once. */
bool sp_raw_is_whole(const struct sp_raw_file *f, struct sp_raw_part *part);

/* The words of an EVENTS or EVENTSZ part, and their number in *n. Those of EVENTSZ are decompressed into *buffer, which
 * the caller frees and may reuse for the next part. NULL with e set: not enough memory, or e->code 0: damage. */
const uint64_t *sp_raw_words(const struct sp_raw_file *f, const struct sp_raw_part *part, uint64_t **buffer, size_t *n,
                             struct sp_err *e);
/* An upper limit of the number of words, found without reading them. */
uint64_t sp_raw_word_count(const struct sp_raw_file *f, const struct sp_raw_part *part);

#endif
