/* SPDX-License-Identifier: BSD-3-Clause */
/* One raw file, mapped for reading and trusted in nothing: it may be damaged, cut short, or still being written. */
#ifndef SP_READER_READER_H
#define SP_READER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "reader/bytes.h"
#include "format/format.h"

/* A chunk whose place and sizes have been checked against the file: offset + bytes lies within it, and used within
 * bytes. */
struct sp_raw_part {
	uint64_t offset; /* in the file */
	uint64_t bytes;  /* header included; what of it is in the file */
	uint64_t used;   /* in the units of FORMAT.md; EVENTS: 0 up to the first zero word */
	uint64_t base;
	uint64_t address;
	uint32_t type; /* enum sp_raw_chunk_type */
	uint32_t location;
	uint32_t seq;
	uint32_t sum;  /* its checksum, 0: none */
	bool summed;   /* that was compared with what is there */
	bool reported; /* damage inside it was reported */
};

/* The parts of one location: [first, first + count) of sp_raw_file.parts. */
struct sp_raw_run {
	size_t first, count;
};

struct sp_raw_thread {
	struct sp_raw_location state;        /* a copy; guessed from the header if its chunk is lost */
	struct sp_raw_run nodes;             /* in the order of base */
	const struct sp_raw_part **nodes_at; /* the same in the order of the writer's addresses */
	struct sp_raw_run events;            /* in the order of time */
	struct sp_raw_run lines;
	struct sp_raw_run sites;
	struct sp_raw_run waits;
	const struct sp_raw_part *stack;      /* NULL: lost */
	const struct sp_raw_part *line_stack; /* NULL: none */
	uint64_t state_offset;                /* of the state in the file, 0: lost */
	bool reported;                        /* damage of the stack was reported */
};

typedef void sp_raw_problem_fn(void *arg, const char *text);

struct sp_raw_file {
	struct sp_raw_bytes bytes;           /* owned, unless they are the caller's */
	const unsigned char *map;            /* the same */
	size_t size;                         /* what of it is read */
	char *name;                          /* owned; as it appears in problems */
	struct sp_raw_header header;         /* a copy */
	struct sp_raw_part *parts;           /* owned */
	const struct sp_raw_part **nodes_at; /* owned; those of all threads */
	size_t n_parts;
	struct sp_raw_run defs;
	struct sp_raw_run objects;               /* in the order of their ids */
	const struct sp_raw_part *heap, *series; /* NULL: none */
	struct sp_raw_thread *threads;           /* owned; in the order of their ids */
	size_t n_threads;
	sp_raw_problem_fn *problem;
	void *arg;
	unsigned problems;
};

/* Fails when nothing of the file can be read; lesser damage goes to problem(). */
int sp_raw_open(struct sp_raw_file **out, const char *path, const char *name, sp_raw_problem_fn *problem, void *arg,
                struct sp_err *e);
/* The same for a file that is open; fd stays the caller's. */
int sp_raw_open_descriptor(struct sp_raw_file **out, int fd, const char *name, sp_raw_problem_fn *problem, void *arg,
                           struct sp_err *e);
/* The same for bytes in memory, which must be aligned to 8 and outlive the file. */
int sp_raw_open_bytes(struct sp_raw_file **out, const void *bytes, size_t n, const char *name,
                      sp_raw_problem_fn *problem, void *arg, struct sp_err *e);
void sp_raw_close(struct sp_raw_file *f);

/* Reports damage at an offset, as "name at 0x…: text". Only the first few of a file are told one by one. */
void sp_raw_report(struct sp_raw_file *f, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Says how many more there were; once, when the file has been read. */
void sp_raw_report_rest(struct sp_raw_file *f);

/* The payload, part->bytes - sizeof(struct sp_raw_chunk) bytes. */
const void *sp_raw_payload(const struct sp_raw_file *f, const struct sp_raw_part *part);
/* Gives the memory of a part's pages back; they come again from the file when they are touched. */
void sp_raw_forget(const struct sp_raw_file *f, const struct sp_raw_part *part);
void sp_raw_forget_bytes(const struct sp_raw_file *f, uint64_t offset, uint64_t bytes);

/* The index of the node at a writer's pointer among the nodes of t, SP_RAW_NONE if there is none. */
uint32_t sp_raw_node_index(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint64_t pointer);

/* The index of the line at a writer's pointer among those of all LINES chunks of t, SIZE_MAX if there is none. */
size_t sp_raw_line_index(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint64_t pointer);

/* The node of an index, copied into n; false: it is not there. */
bool sp_raw_node_at(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint32_t index, struct sp_raw_node *n);

/* The frames of its lines and their number; the first one is none. */
const struct sp_raw_line_frame *sp_raw_line_frames(const struct sp_raw_file *f, const struct sp_raw_thread *t,
                                                   size_t *n);

/* The open frames of a thread without the root's, outermost first, and their number. */
const struct sp_raw_frame *sp_raw_open_frames(struct sp_raw_file *f, struct sp_raw_thread *t, size_t *n);

/* Whether the part has the checksum that it says, or none; for what is read later than sp_raw_open(), the events.
 * Damage is to be told once: false comes the first time only. */
bool sp_raw_is_whole(const struct sp_raw_file *f, struct sp_raw_part *part);

/* The words of an EVENTS or EVENTSZ part and their number. Those of EVENTSZ are decompressed into *room, which the
 * caller frees and may use again for the next part. */
const uint64_t *sp_raw_words(const struct sp_raw_file *f, const struct sp_raw_part *part, uint64_t **room, size_t *n,
                             struct sp_err *e);
/* An upper bound of that number, found without reading the words. */
uint64_t sp_raw_word_count(const struct sp_raw_file *f, const struct sp_raw_part *part);

#endif
