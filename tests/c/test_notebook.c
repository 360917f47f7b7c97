/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of a notebook's cells: complete, changed and damaged. */
#include "base/notebook.h"
#include "check.h"

static char dir[] = "/tmp/spartito-notebook-XXXXXX", path[64];

static void write_list(const char *text, size_t n)
{
	char part[sizeof path + 8];
	snprintf(part, sizeof part, "%s.part", path);
	FILE *f = fopen(part, "w");
	MUST(f && fwrite(text, 1, n, f) == n && !fclose(f) && !rename(part, path));
}

static uint32_t cell(struct sp_notebook *b, const char *name, uint32_t line, uint32_t check)
{
	return sp_notebook_find(b, dir, &(struct sp_notebook_function){name, line, check, 0});
}

static const char list[] = "cell 2 12 2\ndef f(): 1\n\n\n1 a1 f\n3 b2 <lambda>\n"
                           "cell 7 4 1\ncell\n1 c3 f\n";

static void finds(void)
{
	struct sp_notebook b = {.dir = NULL};
	CHECK(!cell(&b, "f", 1, 0xa1)); /* there is no list yet */
	write_list(list, strlen(list));
	CHECK(cell(&b, "f", 1, 0xa1) == 2);
	CHECK(cell(&b, "f", 1, 0xc3) == 7);
	CHECK(cell(&b, "f", 1, 0) == 7); /* the last one */
	CHECK(cell(&b, "<lambda>", 3, 0xb2) == 2);
	CHECK(!cell(&b, "f", 1, 0xa2) && !cell(&b, "f", 2, 0) && !cell(&b, "g", 1, 0));
	const struct sp_notebook_cell *c = sp_notebook_cell(&b, 2);
	CHECK(c && c->n == 12 && !memcmp(c->source, "def f(): 1\n\n", 12));
	CHECK(!sp_notebook_cell(&b, 3));
	/* an additional cell, which is read when an unknown function is looked up */
	static const char more[] = "cell 9 0 1\n\n1 d4 g\n";
	write_list(more, strlen(more));
	CHECK(cell(&b, "f", 1, 0xa1) == 2);
	CHECK(cell(&b, "g", 1, 0xd4) == 9);
	CHECK(!cell(&b, "f", 1, 0xa1));
	sp_notebook_free(&b);
}

/* Whatever the list contains, no byte outside of the text is read; sanitizers would detect that. */
static void damaged(void)
{
	for (size_t n = 0; n <= strlen(list); n++) {
		struct sp_notebook b = {.dir = NULL};
		write_list(list, n);
		cell(&b, "f", 1, 0);
		sp_notebook_free(&b);
	}
	for (size_t i = 0; i < strlen(list); i++) {
		struct sp_notebook b = {.dir = NULL};
		char text[sizeof list];
		memcpy(text, list, sizeof list);
		text[i] ^= 1 << i % 8;
		write_list(text, strlen(list));
		cell(&b, "<lambda>", 3, 0);
		const struct sp_notebook_cell *c = sp_notebook_cell(&b, 2);
		CHECK(!c || c->n < sizeof list);
		sp_notebook_free(&b);
	}
}

int main(void)
{
	MUST(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/cells", dir);
	CHECK(sp_notebook_check("123456789", 9) == 0xcbf43926);
	CHECK(sp_notebook_may_have("<dynamic-code>") && sp_notebook_may_have("/tmp/ipykernel_7/123.py"));
	CHECK(sp_notebook_may_have("<ipython-input-3-abc>") && !sp_notebook_may_have("<string>"));
	CHECK(!sp_notebook_may_have("/usr/lib/python3/x.py"));
	finds();
	damaged();
	unlink(path);
	rmdir(dir);
	return check_failures != 0;
}
