/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats packed arguments like Python's repr(). Makes no object that the garbage collector tracks: a collection could
 * run code of the program, and the caller holds a lock. */
#include "hook/chain.h"
#include "hook/frames.h"
#include "hook/naming/label.h"

#include <stdlib.h>
#include <string.h>

struct text {
	char *p; /* owned */
	size_t n, capacity;
	bool failed;
};

static void add(struct text *t, const char *p, size_t n)
{
	if (t->failed)
		return;
	if (t->n + n + 1 > t->capacity) {
		size_t capacity = (t->n + n + 1) * 2;
		char *more = realloc(t->p, capacity);
		if (!more) {
			t->failed = true;
			return;
		}
		t->p = more;
		t->capacity = capacity;
	}
	memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = 0;
}

static void add_text(struct text *t, const char *s)
{
	add(t, s, strlen(s));
}

/* Takes over a str, or NULL with an exception. */
static void add_object(struct text *t, PyObject *o)
{
	Py_ssize_t n;
	const char *p = o ? PyUnicode_AsUTF8AndSize(o, &n) : NULL;

	if (p)
		add(t, p, (size_t)n);
	else
		add_text(t, "?");
	PyErr_Clear();
	Py_XDECREF(o);
}

static void add_repr(struct text *t, PyObject *o)
{
	add_object(t, o ? PyObject_Repr(o) : NULL);
	Py_XDECREF(o);
}

/* ---- values ---- */

/* The packed bytes that are still to be formatted. */
struct reading {
	const unsigned char *p, *end;
};

static void value(struct text *t, struct reading *r);

static void take(struct reading *r, void *to, size_t n)
{
	memcpy(to, r->p, n);
	r->p += n;
}

/* 'abc', or 'abc'... if it was truncated */
static void characters(struct text *t, struct reading *r, char tag)
{
	const size_t n = r->p[0];
	const bool cut = r->p[1];
	const char *p = (const char *)r->p + 2;

	if (tag == 'b')
		add_repr(t, PyBytes_FromStringAndSize(p, (Py_ssize_t)n));
	else if (tag == 'a')
		add_repr(t, PyByteArray_FromStringAndSize(p, (Py_ssize_t)n));
	else
		add_repr(t, PyUnicode_FromKindAndData(tag - '0', p, (Py_ssize_t)n));
	r->p += 2 + n * (tag >= '1' && tag <= '4' ? (size_t)(tag - '0') : 1);
	if (cut)
		add_text(t, "...");
}

static void real(struct text *t, struct reading *r)
{
	double d;

	take(r, &d, sizeof d);
	char *s = PyOS_double_to_string(d, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
	add_text(t, s ? s : "?");
	PyMem_Free(s);
	PyErr_Clear();
}

static void complex_number(struct text *t, struct reading *r)
{
	double d[2];

	take(r, d, sizeof d);
	add_repr(t, PyComplex_FromDoubles(d[0], d[1]));
}

/* Formats values up to the end of a container, "1, 2, ...", or "key: value" pairs in a dict. Returns their number. */
static int items(struct text *t, struct reading *r, bool pairs)
{
	int n = 0;

	for (; r->p < r->end && *r->p != ')'; n++) {
		if (n)
			add_text(t, pairs && n % 2 ? ": " : ", ");
		value(t, r);
	}
	r->p += r->p < r->end;
	return n;
}

static void container(struct text *t, struct reading *r, char tag)
{
	if (tag == '{' || tag == 'z') {
		if (r->p < r->end && *r->p == ')') {
			r->p++;
			add_text(t, tag == 'z' ? "frozenset()" : "set()");
			return;
		}
		add_text(t, tag == 'z' ? "frozenset({" : "{");
		items(t, r, false);
		add_text(t, tag == 'z' ? "})" : "}");
		return;
	}
	add_text(t, tag == '(' ? "(" : tag == '[' ? "[" : "{");
	const int n = items(t, r, tag == 'd');
	add_text(t, tag == '(' ? (n == 1 ? ",)" : ")") : tag == '[' ? "]" : "}");
}

/* range(0, 5), range(0, 5, 2), slice(None, 3, None) */
static void three(struct text *t, struct reading *r, bool range)
{
	add_text(t, range ? "range(" : "slice(");
	for (int i = 0; i < 3 && r->p < r->end; i++) {
		int64_t one = 0;
		if (range && i == 2 && *r->p == 'i')
			memcpy(&one, r->p + 1, sizeof one);
		if (one == 1) {
			r->p += 1 + sizeof one;
			continue;
		}
		add_text(t, i ? ", " : "");
		value(t, r);
	}
	add_text(t, ")");
}

static void integer(struct text *t, struct reading *r, char tag)
{
	char number[64];
	int64_t i;

	take(r, &i, sizeof i);
	snprintf(number, sizeof number, tag == 'i' ? "%lld" : "<int of %lld bits>", (long long)i);
	add_text(t, number);
}

static void named(struct text *t, struct reading *r, char tag)
{
	const size_t n = *r->p++;

	add_text(t, tag == 't' ? "<" : tag == 'k' ? "<class '" : "");
	add(t, (const char *)r->p, n);
	add_text(t, tag == 't' ? ">" : tag == 'k' ? "'>" : "");
	r->p += n;
}

static void value(struct text *t, struct reading *r)
{
	static const char constants[] = "NTFEUX";
	static const char *const names[] = {"None", "True", "False", "Ellipsis", "<unbound>", "..."};
	const char tag = (char)*r->p++, *found = strchr(constants, tag);

	if (found)
		add_text(t, names[found - constants]);
	else if (tag == 'i' || tag == 'B')
		integer(t, r, tag);
	else if (tag == 'f')
		real(t, r);
	else if (tag == 'c')
		complex_number(t, r);
	else if (tag == 't' || tag == 'k' || tag == 'x')
		named(t, r, tag);
	else if (tag == 'r' || tag == 's')
		three(t, r, tag == 'r');
	else if (strchr("124ba", tag))
		characters(t, r, tag);
	else
		container(t, r, tag);
}

struct sp_values_text sp_values_text(const struct sp_values *v, const struct sp_arguments *a)
{
	struct text t = {NULL, 0, 0, false};
	struct reading r = {v->bytes, v->bytes + v->n};
	int i = 0;

	add_text(&t, "(");
	for (; i < a->n && r.p < r.end; i++) {
		add_text(&t, i ? ", " : "");
		add_text(&t, a->all[i].name);
		add_text(&t, "=");
		value(&t, &r);
	}
	add_text(&t, i < a->n ? ", ...)" : ")");
	if (t.failed) {
		free(t.p);
		t.p = NULL;
	}
	return (struct sp_values_text){t.p, t.n};
}
