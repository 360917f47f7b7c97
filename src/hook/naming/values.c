/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a call, packed as the bytes that identify its label: values of built-in types, truncated if they
 * are long, and names of all other types. No code of the program runs, except the __repr__ of types that the settings
 * name.
 *
 * A value is a tag and its data:
 *   N T F E U      None, True, False, Ellipsis, unbound
 *   i              int64
 *   B              uint64: bits of an int that is too long to be shown
 *   f c            one double, two doubles
 *   1 2 4          length (1 byte), cut (1), characters of a str with that many bytes each
 *   b a            length (1), cut (1), bytes of bytes, bytearray
 *   r s            range, slice: three values
 *   ( [ {          a tuple, list, set; d: a dict, two values for each item; z: a frozenset; values up to ')'
 *   t k x          length (1), text: the name of a type whose value is not shown; of a class; a text as it is
 *   X              omitted values */
#include "hook/naming/label.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/variables.h"
#include "record/thread.h"

#include <stdlib.h>
#include <string.h>

enum { STRING = 60, NAME = 100, ITEMS = 8, NESTED = 5, RESERVE = 2 * NESTED + 2 };
enum { SHOWN_BITS = 256 }; /* maximum bits of an int beyond int64 that is shown */

/* ---- types whose __repr__ may be called ---- */

static char **asked; /* owned, like the names; under the GIL or sp_serial_names */
static size_t n_asked;

int sp_values_start(const char *types)
{
	while (n_asked)
		free(asked[--n_asked]);
	free(asked);
	asked = NULL;
	for (const char *p = types; *(p += strspn(p, ", \n"));) {
		size_t n = strcspn(p, ", \n");
		char **more = realloc(asked, (n_asked + 1) * sizeof *more), *name = more ? strndup(p, n) : NULL;
		if (more)
			asked = more;
		if (!name) {
			PyErr_NoMemory();
			return -1;
		}
		asked[n_asked++] = name;
		p += n;
	}
	return 0;
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

/* Returns the module of a class that Python code made, without running code of the program; NULL if unknown. */
static const char *module_of(PyTypeObject *type, Py_ssize_t *n)
{
	PyObject *dict = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? type->tp_dict : NULL;
	PyObject *module = dict ? PyDict_GetItemString(dict, "__module__") : NULL; /* borrowed */
	const char *p = module && PyUnicode_CheckExact(module) ? PyUnicode_AsUTF8AndSize(module, n) : NULL;
	PyErr_Clear();
	return p;
}

/* Whether a name of the list matches: "C" or "module.C". */
static bool is_asked_for(PyTypeObject *type)
{
	SP_SERIAL(sp_serial_names); /* another measurement may begin */
	for (size_t i = 0; i < n_asked; i++) {
		const char *name = last_part(type->tp_name), *dot = strrchr(asked[i], '.'), *module;
		Py_ssize_t n;
		if (strcmp(last_part(asked[i]), name) != 0)
			continue;
		if (!dot || strcmp(asked[i], type->tp_name) == 0)
			return true;
		module = module_of(type, &n);
		if (module && n == dot - asked[i] && memcmp(module, asked[i], (size_t)n) == 0)
			return true;
	}
	return false;
}

/* ---- packing ---- */

/* Without the GIL other threads may change a container while it is read. */
#if PY_VERSION_HEX < 0x030D0000
#define Py_BEGIN_CRITICAL_SECTION(o) {
#define Py_END_CRITICAL_SECTION()    }
#endif

static bool put(struct sp_values *v, const void *p, size_t n)
{
	if (v->cut || v->n + n > sizeof v->bytes - RESERVE) {
		v->cut = true;
		return false;
	}
	memcpy(v->bytes + v->n, p, n);
	v->n = (uint16_t)(v->n + n);
	return true;
}

/* Adds the end of a value, for which RESERVE bytes are kept. */
static void put_end(struct sp_values *v, char tag)
{
	if (v->n < sizeof v->bytes)
		v->bytes[v->n++] = (unsigned char)tag;
}

static void put_tagged(struct sp_values *v, char tag, const void *p, size_t n)
{
	unsigned char word[32];

	word[0] = (unsigned char)tag;
	memcpy(word + 1, p, n);
	if (!put(v, word, n + 1))
		put_end(v, 'X');
}

/* Adds a text without a mark that it was truncated; truncates at a whole UTF-8 character. */
static void put_text(struct sp_values *v, char tag, const char *p, size_t n)
{
	unsigned char text[2 + NAME];

	if (n > NAME) {
		n = NAME;
		while (n && ((unsigned char)p[n] & 0xc0) == 0x80)
			n--;
	}
	text[0] = (unsigned char)tag;
	text[1] = (unsigned char)n;
	memcpy(text + 2, p, n);
	if (!put(v, text, n + 2))
		put_end(v, 'X');
}

/* Adds the first STRING of n characters of `each` bytes. */
static void put_characters(struct sp_values *v, char tag, const void *p, size_t n, size_t each)
{
	unsigned char text[3 + 4 * STRING];
	const bool cut = n > STRING;

	n = cut ? STRING : n;
	text[0] = (unsigned char)tag;
	text[1] = (unsigned char)n;
	text[2] = cut;
	memcpy(text + 3, p, n * each);
	if (!put(v, text, 3 + n * each))
		put_end(v, 'X');
}

static void put_int(struct sp_values *v, PyObject *o)
{
	int overflow;
	const long long i = PyLong_AsLongLongAndOverflow(o, &overflow);

	if (!overflow) {
		put_tagged(v, 'i', &i, sizeof i);
		return;
	}
	const uint64_t bits = (uint64_t)_PyLong_NumBits(o);
	PyObject *text = bits <= SHOWN_BITS ? PyLong_Type.tp_repr(o) : NULL;
	Py_ssize_t n;
	const char *p = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
	if (p)
		put_text(v, 'x', p, (size_t)n);
	else
		put_tagged(v, 'B', &bits, sizeof bits);
	PyErr_Clear();
	Py_XDECREF(text);
}

static void put_value(struct sp_values *v, PyObject *o, int depth);

/* Adds a value and keeps a reference: the __repr__ of another value may remove it from its container meanwhile. */
static void put_held(struct sp_values *v, PyObject *o, int depth)
{
	Py_XINCREF(o);
	put_value(v, o, depth);
	Py_XDECREF(o);
}

/* Adds a tuple or list. */
static void put_sequence(struct sp_values *v, char tag, PyObject *o, int depth)
{
	if (!put(v, &tag, 1)) {
		put_end(v, 'X');
		return;
	}
	for (Py_ssize_t i = 0; i < Py_SIZE(o) && !v->cut; i++) {
		if (i == ITEMS || depth == NESTED) {
			put(v, "X", 1);
			break;
		}
		put_held(v, tag == '(' ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i), depth + 1);
	}
	put_end(v, ')');
}

static void put_dict(struct sp_values *v, PyObject *o, int depth)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;

	if (!put(v, "d", 1)) {
		put_end(v, 'X');
		return;
	}
	for (int i = 0; !v->cut && PyDict_Next(o, &at, &key, &value); i++) {
		if (i == ITEMS || depth == NESTED) {
			put(v, "X", 1);
			break;
		}
		Py_INCREF(value);
		put_held(v, key, depth + 1);
		if (!v->cut)
			put_value(v, value, depth + 1);
		Py_DECREF(value);
	}
	put_end(v, ')');
}

/* Adds a set. The entry of a removed element has the hash -1, which no object has. */
static void put_set(struct sp_values *v, PyObject *o, int depth)
{
	const PySetObject *set = (PySetObject *)o;
	PyObject *items[ITEMS + 1];
	Py_ssize_t n = 0;

	if (!put(v, PyFrozenSet_CheckExact(o) ? "z" : "{", 1)) {
		put_end(v, 'X');
		return;
	}
	for (Py_ssize_t i = 0; i <= set->mask && n <= ITEMS; i++)
		if (set->table[i].key && set->table[i].hash != -1) {
			items[n] = set->table[i].key;
			Py_INCREF(items[n++]);
		}
	const Py_ssize_t shown = depth == NESTED ? 0 : n > ITEMS ? ITEMS : n;
	for (Py_ssize_t i = 0; i < shown && !v->cut; i++)
		put_value(v, items[i], depth + 1);
	if (shown < n)
		put(v, "X", 1);
	put_end(v, ')');
	while (n > 0)
		Py_DECREF(items[--n]);
}

/* Its members are of built-in types: no code of the program runs. */
static void put_range(struct sp_values *v, PyObject *o, int depth)
{
	static const char *const members[] = {"start", "stop", "step"};

	if (!put(v, "r", 1)) {
		put_end(v, 'X');
		return;
	}
	for (int i = 0; i < 3 && !v->cut; i++) {
		PyObject *member = PyObject_GetAttrString(o, members[i]);
		PyErr_Clear();
		put_value(v, member, depth + 1);
		Py_XDECREF(member);
	}
}

static void put_slice(struct sp_values *v, PyObject *o, int depth)
{
	const PySliceObject *s = (PySliceObject *)o;
	PyObject *const members[] = {s->start, s->stop, s->step};

	if (depth == NESTED || !put(v, "s", 1)) {
		put_end(v, 'X');
		return;
	}
	for (int i = 0; i < 3 && !v->cut; i++)
		put_value(v, members[i], depth + 1);
}

static void put_class(struct sp_values *v, PyTypeObject *type)
{
	char name[NAME];
	Py_ssize_t n = 0;
	const char *module = module_of(type, &n);
	const bool named = module && !(n == 8 && memcmp(module, "builtins", 8) == 0);

	int all = named ? snprintf(name, sizeof name, "%.*s.%s", (int)n, module, type->tp_name)
	                : snprintf(name, sizeof name, "%s", type->tp_name);
	put_text(v, 'k', name, all < NAME ? (size_t)all : NAME - 1);
}

/* Ctrl-C is meant for the program: KeyboardInterrupt is raised in the program as soon as it continues. */
static int interrupt(void *none)
{
	(void)none;
	PyErr_SetNone(PyExc_KeyboardInterrupt);
	return -1;
}

/* Adds the text that __repr__ returns. Nothing that it does is recorded. */
static bool put_asked(struct sp_values *v, PyObject *o)
{
	const uint64_t generation = sp_slot_ok;
	struct sp_thread *t = sp_thread_hide();
	Py_ssize_t n;

	PyObject *text = PyObject_Repr(o);
	const char *p = text && PyUnicode_CheckExact(text) ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
	if (!text && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		Py_AddPendingCall(interrupt, NULL);
	PyErr_Clear();
	/* it may have ended this measurement and begun another one */
	sp_thread_show(generation == sp_slot_ok ? t : NULL);
	if (p)
		put_text(v, 'x', p, (size_t)n);
	Py_XDECREF(text);
	return p;
}

static void put_string(struct sp_values *v, PyObject *o)
{
#if PY_VERSION_HEX < 0x030C0000
	if (!PyUnicode_IS_READY(o)) {
		put_text(v, 't', "str", 3);
		return;
	}
#endif
	put_characters(v, (char)('0' + PyUnicode_KIND(o)), PyUnicode_DATA(o), (size_t)PyUnicode_GET_LENGTH(o),
	               (size_t)PyUnicode_KIND(o));
}

static void put_other(struct sp_values *v, PyObject *o, int depth)
{
	if (PyTuple_CheckExact(o))
		put_sequence(v, '(', o, depth);
	else if (PyList_CheckExact(o))
		put_sequence(v, '[', o, depth);
	else if (PyDict_CheckExact(o))
		put_dict(v, o, depth);
	else if (PyAnySet_CheckExact(o))
		put_set(v, o, depth);
	else if (PyByteArray_CheckExact(o))
		put_characters(v, 'a', PyByteArray_AS_STRING(o), (size_t)PyByteArray_GET_SIZE(o), 1);
	else if (PyRange_Check(o))
		put_range(v, o, depth);
	else if (PySlice_Check(o))
		put_slice(v, o, depth);
	else if (Py_TYPE(o) == &PyType_Type)
		put_class(v, (PyTypeObject *)o);
	else if (!n_asked || !is_asked_for(Py_TYPE(o)) || !put_asked(v, o))
		put_text(v, 't', Py_TYPE(o)->tp_name, strlen(Py_TYPE(o)->tp_name));
}

static void put_value(struct sp_values *v, PyObject *o, int depth)
{
	if (!o) {
		put_tagged(v, 'U', "", 0);
	} else if (PyLong_CheckExact(o)) {
		put_int(v, o);
	} else if (PyUnicode_CheckExact(o)) {
		put_string(v, o);
	} else if (o == Py_None || o == Py_True || o == Py_False || o == Py_Ellipsis) {
		put_tagged(v, o == Py_None ? 'N' : o == Py_True ? 'T' : o == Py_False ? 'F' : 'E', "", 0);
	} else if (PyFloat_CheckExact(o)) {
		put_tagged(v, 'f', &((PyFloatObject *)o)->ob_fval, sizeof(double));
	} else if (PyComplex_CheckExact(o)) {
		put_tagged(v, 'c', &((PyComplexObject *)o)->cval, 2 * sizeof(double));
	} else if (PyBytes_CheckExact(o)) {
		put_characters(v, 'b', PyBytes_AS_STRING(o), (size_t)PyBytes_GET_SIZE(o), 1);
	} else {
		Py_BEGIN_CRITICAL_SECTION(o);
		put_other(v, o, depth);
		Py_END_CRITICAL_SECTION();
	}
}

/* ---- arguments ---- */

#if PY_VERSION_HEX >= 0x030B0000
static bool may_be_cell(PyCodeObject *code, int i)
{
	return _PyLocals_GetKind(code->co_localspluskinds, i) & CO_FAST_CELL;
}

static PyObject *argument_name(PyCodeObject *code, int i)
{
	return PyTuple_GET_ITEM(code->co_localsplusnames, i);
}

/* The instructions that move arguments into cells are at the begin of the function. */
static PyObject *argument(const struct sp_argument *a, sp_frame *f)
{
	PyObject *o = SP_FRAME_LOCAL(f, a->index);
	return a->cell && _PyInterpreterFrame_LASTI(f) >= 0 ? sp_cell_value(o) : o;
}
#else
static bool may_be_cell(PyCodeObject *code, int i)
{
	for (Py_ssize_t k = 0; code->co_cell2arg && k < PyTuple_GET_SIZE(code->co_cellvars); k++)
		if (code->co_cell2arg[k] == i)
			return true;
	return false;
}

static PyObject *argument_name(PyCodeObject *code, int i)
{
	return PyTuple_GET_ITEM(code->co_varnames, i);
}

/* An argument in a cell is only there. */
static PyObject *argument(const struct sp_argument *a, sp_frame *f)
{
	PyCodeObject *code = sp_frame_code(f);
	for (Py_ssize_t k = 0; a->cell && k < PyTuple_GET_SIZE(code->co_cellvars); k++)
		if (code->co_cell2arg[k] == a->index)
			return sp_cell_value(f->f_localsplus[code->co_nlocals + k]);
	return f->f_localsplus[a->index];
}
#endif

int sp_arguments_of(struct sp_arguments *a, PyCodeObject *code, int n)
{
	const int named = code->co_argcount + code->co_kwonlyargcount;

	*a = (struct sp_arguments){calloc((size_t)n + 1, sizeof *a->all), 0};
	for (; a->all && a->n < n; a->n++) {
		const char *name = PyUnicode_AsUTF8(argument_name(code, a->n));
		const char *stars = a->n < named ? "" : a->n == named && code->co_flags & CO_VARARGS ? "*" : "**";
		PyErr_Clear(); /* a name that no source text can contain */
		struct sp_argument *it = &a->all[a->n];
		it->index = a->n;
		it->cell = may_be_cell(code, a->n);
		if (asprintf(&it->name, "%s%s", stars, name ? name : "?") < 0) {
			it->name = NULL;
			sp_arguments_free(a);
			return -1;
		}
	}
	return a->all ? 0 : -1;
}

void sp_arguments_free(struct sp_arguments *a)
{
	for (int i = 0; i < a->n; i++)
		free(a->all[i].name);
	free(a->all);
	*a = (struct sp_arguments){NULL, 0};
}

void sp_values_of(struct sp_values *v, const struct sp_arguments *a, sp_frame *f)
{
	v->n = 0;
	v->cut = false;
	for (int i = 0; i < a->n && !v->cut; i++)
		put_held(v, argument(&a->all[i], f), 0);
}

bool sp_values_same(const struct sp_values *a, const struct sp_values *b)
{
	return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

uint64_t sp_values_hash(const struct sp_values *v)
{
	uint64_t h = v->n, word;
	size_t i = 0;

	for (; i + sizeof word <= v->n; i += sizeof word) {
		memcpy(&word, v->bytes + i, sizeof word);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, v->bytes + i, v->n - i);
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

struct sp_values *sp_values_copy(const struct sp_values *v)
{
	const size_t n = offsetof(struct sp_values, bytes) + v->n;
	struct sp_values *copy = malloc(n);

	if (copy)
		memcpy(copy, v, n);
	return copy;
}
