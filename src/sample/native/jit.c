/* SPDX-License-Identifier: BSD-3-Clause */
/* Code made at run time: its names, from the list that run-time compilers write for perf(1), and its callers, without
 * unwind tables. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/search.h"
#include "sample/native/private.h"

enum {
	MAX_TEXT = 64 << 20, /* maximum bytes of a list */
	FARTHEST = 1 << 20,  /* maximum bytes of one frame */
	LONGEST_CALL = 7     /* bytes of the longest call instruction */
};

/* An entry of the list: BEGIN SIZE name, numbers in hexadecimal. */
struct sp_jit_name {
	uint64_t begin, end;
	const char *name; /* points into the text */
	size_t number;    /* line number: a later line with the same begin replaces an earlier one */
};

/* ---- names ---- */

void sp_jit_close(struct sp_jit *j)
{
	free(j->names);
	free(j->text);
	*j = (struct sp_jit){.names = NULL};
}

static int by_begin(const void *a, const void *b)
{
	const struct sp_jit_name *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void read_names(struct sp_jit *j)
{
	size_t capacity = 0, number = 0;
	for (char *line = j->text, *end; *line; line = end) {
		char *name;
		end = line + strcspn(line, "\n");
		if (!*end)
			break; /* it is still being written */
		*end++ = 0;
		const uint64_t begin = strtoull(line, &name, 16), bytes = *name == ' ' ? strtoull(name, &name, 16) : 0;
		if (*name != ' ' || !name[1] || !bytes || begin + bytes < begin ||
		    !sp_grow(&j->names, j->n, &capacity, sizeof *j->names))
			continue;
		j->names[j->n++] = (struct sp_jit_name){begin, begin + bytes, name + 1, number++};
	}
	if (j->n)
		qsort(j->names, j->n, sizeof *j->names, by_begin);
}

/* Opens the list of the process. Returns a descriptor, or -1. The list must belong to the process's user or root. */
static int open_list(const struct sp_target *t, struct stat *list)
{
	char path[96];
	struct stat process;
	snprintf(path, sizeof path, "/proc/%d", (int)t->pid);
	if (stat(path, &process))
		return -1;
	snprintf(path, sizeof path, "/proc/%d/root/tmp/perf-%d.map", (int)t->pid, (int)sp_target_inner(t, t->pid));
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, list) || !S_ISREG(list->st_mode) || list->st_size > MAX_TEXT ||
	                (list->st_uid && list->st_uid != process.st_uid))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool sp_jit_read(struct sp_jit *j, const struct sp_target *t)
{
	struct stat list;
	int fd = open_list(t, &list);
	if (fd < 0)
		return false;
	const bool grown = (uint64_t)list.st_size != j->bytes || (uint64_t)list.st_ino != j->file;
	if (grown) {
		sp_jit_close(j);
		const size_t n = (size_t)list.st_size;
		j->text = malloc(n + 1);
		ssize_t got = j->text ? pread(fd, j->text, n, 0) : 0;
		if (j->text)
			j->text[got > 0 ? got : 0] = 0;
		if (got > 0)
			read_names(j);
		j->bytes = n;
		j->file = (uint64_t)list.st_ino;
	}
	close(fd);
	return grown;
}

const char *sp_jit_name(const struct sp_jit *j, uint64_t address, uint64_t *begin)
{
	const size_t i =
	    sp_first_behind(j->names, j->n, sizeof *j->names, offsetof(struct sp_jit_name, begin), address);
	if (!i || address >= j->names[i - 1].end)
		return NULL;
	*begin = j->names[i - 1].begin;
	return j->names[i - 1].name;
}

/* ---- callers ---- */

/* Whether a call instruction ends at `end`. */
static bool ends_with_call(const unsigned char *end)
{
	if (end[-5] == 0xe8)
		return true;
	/* indirect calls: register; memory without, with a short, with a long displacement */
	static const struct {
		unsigned char bytes, mode;
	} forms[] = {{2, 3}, {2, 0}, {3, 1}, {6, 2}, {3, 0}, {4, 1}, {7, 2}};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const unsigned char *at = end - forms[i].bytes;
		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 &&
		    (at[1] >> 6 == forms[i].mode || (forms[i].bytes == 6 && at[1] == 0x15)))
			return true;
	}
	return false;
}

static bool is_return(const struct sp_objects *o, uint64_t address)
{
	unsigned char code[LONGEST_CALL];
	return sp_objects_code(o, address - 1) && sp_target_read(o->t, address - sizeof code, code, sizeof code) &&
	       ends_with_call(code + sizeof code);
}

bool sp_jit_step(const struct sp_objects *o, struct sp_registers *r, sp_unwind_read *read, void *user)
{
	const uint64_t sp = r->value[SP_REG_RSP], bp = r->value[SP_REG_RBP];
	const bool based = r->known >> SP_REG_RBP & 1 && bp >= sp && bp - sp < FARTHEST && bp % 8 == 0;
	/* either it has a frame pointer, which compilers have to use for perf; or, like trampolines, one word or
	 * nothing on the stack */
	const uint64_t places[] = {based ? bp + 8 : 0, sp + 8, sp};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		uint64_t back, base;
		if (!places[i] || places[i] % 8 || !read(user, places[i], &back) || !is_return(o, back))
			continue;
		const bool keeps = i > 0 && r->known >> SP_REG_RBP & 1;
		if (i == 0 && !read(user, bp, &base))
			continue;
		*r = (struct sp_registers){.known = 1u << SP_REG_PC | 1u << SP_REG_RSP};
		r->value[SP_REG_PC] = back;
		r->value[SP_REG_RSP] = places[i] + 8;
		if (i == 0 || keeps) {
			r->value[SP_REG_RBP] = i == 0 ? base : bp;
			r->known |= 1u << SP_REG_RBP;
		}
		return true;
	}
	return false;
}
