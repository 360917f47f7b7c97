/* SPDX-License-Identifier: BSD-3-Clause */
/* Before 3.11 a code object has only its unqualified name. The enclosing functions and classes are found in the source
 * by indentation. */
#include "sample/python/private.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/regular.h"

enum { MAX_SOURCE = 1 << 24, DEEPEST = 100, LONGEST = 1 << 12 };

/* A def or class with its body. */
struct block {
	const char *name;
	size_t n;
	uint32_t first_line; /* of its decorators, as in code objects */
	uint32_t body, end;  /* first and last line of its body */
	int32_t parent;      /* index of the enclosing block; -1: none */
	uint32_t indent;
	bool function;
};

struct source {
	const char *file;
	char *text;           /* owned; NULL: unreadable */
	struct block *blocks; /* owned */
	size_t n, capacity;
};

struct sp_sources {
	struct source *all; /* owned */
	size_t n, capacity;
};

/* ---- parsing ---- */

struct reader {
	const char *at;
	uint32_t line;
};

/* Moves to the end of the string that begins here. */
static void skip_string(struct reader *r)
{
	const char quote = *r->at;
	const bool triple = r->at[1] == quote && r->at[2] == quote;
	for (r->at += triple ? 3 : 1; *r->at; r->at++) {
		if (*r->at == '\\' && r->at[1]) {
			r->at++;
		} else if (*r->at == quote && (!triple || (r->at[1] == quote && r->at[2] == quote))) {
			r->at += triple ? 3 : 1;
			return;
		} else if (*r->at == '\n' && !triple) {
			return; /* it is not closed: not the source that was compiled */
		}
		r->line += *r->at == '\n';
	}
}

/* Moves to the end of the statement, with its brackets and strings; *body: the line in which the text after its colon
 * begins. */
static void skip_statement(struct reader *r, uint32_t *body)
{
	int depth = 0;
	bool colon = false;
	*body = 0;
	while (*r->at) {
		const char c = *r->at;
		if (c == '\n' && depth <= 0)
			break;
		if (c == '#') {
			r->at += strcspn(r->at, "\n");
			continue;
		}
		if (colon && !*body && !isspace((unsigned char)c))
			*body = r->line;
		if (c == '"' || c == '\'') {
			skip_string(r);
			continue;
		}
		depth += c == '(' || c == '[' || c == '{';
		depth -= c == ')' || c == ']' || c == '}';
		colon = colon || (c == ':' && depth <= 0);
		if (c == '\\' && r->at[1] == '\n')
			r->at++;
		r->line += *r->at == '\n';
		r->at++;
	}
	if (!*body)
		*body = r->line + 1;
}

static uint32_t read_indent(struct reader *r)
{
	uint32_t n = 0;
	for (;; r->at++)
		if (*r->at == ' ')
			n++;
		else if (*r->at == '\t')
			n = (n / 8 + 1) * 8;
		else if (*r->at == '\f')
			n = 0;
		else
			return n;
}

/* The position after the word and the blanks that follow it; NULL: the word is not here. */
static const char *behind(const char *at, const char *word)
{
	size_t n = strlen(word);
	if (strncmp(at, word, n) || (at[n] != ' ' && at[n] != '\t'))
		return NULL;
	return at + n + strspn(at + n, " \t");
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Reads the name of a def or class that begins here; false: another statement. */
static bool read_head(const char *at, struct block *b)
{
	const char *coroutine = behind(at, "async"), *name = behind(coroutine ? coroutine : at, "def");
	b->function = name;
	if (!name && !coroutine)
		name = behind(at, "class");
	if (!name)
		return false;
	b->name = name;
	for (b->n = 0; is_of_name(name[b->n]);)
		b->n++;
	return b->n;
}

static void read_blocks(struct source *s)
{
	struct reader r = {s->text, 1};
	uint32_t decorators = 0, last = 0;
	int32_t inner = -1;
	if (!strncmp(r.at, "\xef\xbb\xbf", 3))
		r.at += 3;
	for (; *r.at; r.line++, r.at += *r.at == '\n') {
		struct block b = {.indent = read_indent(&r), .first_line = decorators ? decorators : r.line};
		if (*r.at == '\n' || *r.at == '#' || *r.at == '\r') {
			r.at += strcspn(r.at, "\n");
			continue;
		}
		for (; inner >= 0 && s->blocks[inner].indent >= b.indent; inner = s->blocks[inner].parent)
			s->blocks[inner].end = last;
		const bool head = read_head(r.at, &b), decorates = *r.at == '@';
		if (!decorates)
			decorators = 0;
		else if (!decorators)
			decorators = r.line;
		skip_statement(&r, &b.body);
		last = r.line;
		b.parent = inner;
		b.end = UINT32_MAX;
		if (head && sp_grow(&s->blocks, s->n, &s->capacity, sizeof *s->blocks)) {
			s->blocks[s->n] = b;
			inner = (int32_t)s->n++;
		}
	}
}

/* Reads a file in the process's root. NULL: not a file, or too large. */
static char *read_text(const struct sp_python *p, const char *file)
{
	char path[4200];
	struct stat st;
	int n = snprintf(path, sizeof path, "/proc/%d/root%s", (int)p->t->pid, file);
	int fd = *file == '/' && n < (int)sizeof path ? sp_open_regular(AT_FDCWD, path) : -1;
	if (fd < 0)
		return NULL;
	char *text = !fstat(fd, &st) && st.st_size < MAX_SOURCE ? malloc((size_t)st.st_size + 1) : NULL;
	ssize_t got = text ? read(fd, text, (size_t)st.st_size) : 0;
	if (text)
		text[got > 0 ? got : 0] = 0;
	close(fd);
	return text;
}

static const struct source *source_of(struct sp_python *p, const char *file)
{
	struct sp_sources *s = p->sources ? p->sources : (p->sources = calloc(1, sizeof *p->sources));
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->all[i].file, file))
			return &s->all[i];
	if (!sp_grow(&s->all, s->n, &s->capacity, sizeof *s->all))
		return NULL;
	struct source *made = &s->all[s->n++];
	*made = (struct source){.file = file, .text = read_text(p, file)};
	if (made->text)
		read_blocks(made);
	return made;
}

void sp_sources_free(struct sp_sources *s)
{
	for (size_t i = 0; s && i < s->n; i++) {
		free(s->all[i].text);
		free(s->all[i].blocks);
	}
	if (s)
		free(s->all);
	free(s);
}

/* ---- names ---- */

/* The block of a code object; -1: not found. */
static int32_t block_of(const struct source *s, const char *name, size_t n, uint32_t line)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->blocks[i].first_line == line && s->blocks[i].n == n && !memcmp(s->blocks[i].name, name, n))
			return (int32_t)i;
	return -1;
}

/* The innermost block that contains the line. */
static int32_t block_around(const struct source *s, uint32_t line)
{
	int32_t found = -1;
	for (size_t i = 0; i < s->n && s->blocks[i].first_line <= line; i++)
		if (s->blocks[i].body <= line && line <= s->blocks[i].end)
			found = (int32_t)i;
	return found;
}

const char *sp_sources_qualname(struct sp_python *p, const char *file, const char *name, uint32_t first_line)
{
	const struct source *s = source_of(p, file);
	char text[LONGEST];
	int32_t chain[DEEPEST];
	size_t n = 0, at = 0;
	if (!s || !s->text || !strcmp(name, "<module>"))
		return NULL;
	const bool expression = *name == '<'; /* a lambda, a comprehension */
	int32_t own = expression ? -1 : block_of(s, name, strlen(name), first_line);
	if (!expression && own < 0)
		return NULL; /* not the source that was compiled */
	for (int32_t i = expression ? block_around(s, first_line) : s->blocks[own].parent; i >= 0 && n < DEEPEST;
	     i = s->blocks[i].parent)
		chain[n++] = i;
	while (n--) {
		const struct block *b = &s->blocks[chain[n]];
		int w = snprintf(text + at, sizeof text - at, "%.*s%s", (int)b->n, b->name,
		                 b->function ? ".<locals>." : ".");
		at += w > 0 ? (size_t)w : 0;
		if (at >= sizeof text)
			return NULL;
	}
	int w = snprintf(text + at, sizeof text - at, "%s", name);
	return w > 0 && (size_t)w < sizeof text - at ? sp_arena_copy(&p->arena, text, at + (size_t)w) : NULL;
}
