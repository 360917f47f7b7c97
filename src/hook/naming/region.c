/* SPDX-License-Identifier: BSD-3-Clause */
/* The type spartito.region: a synchronous and asynchronous context manager, and a decorator. Without a measurement it
 * costs almost nothing, so that a program can keep its regions. */
#include "hook/naming.h"
#include "hook/public_docs.h"
#include "hook/region.h"
#include "hook/stacks.h"
#include "hook/text.h"
#include "record/definitions.h"
#include "record/process.h"
#include "record/rewind.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/user.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

/* One object of the type. */
struct region {
	PyObject_HEAD PyObject *name; /* owned, a str; NULL: use the name of the decorated function */
	PyObject *place;              /* owned, or NULL; as for sp_region_begin() */
};

/* The type of the first interpreter, owned. Static variables hold only its objects, because interpreters share no
 * objects and may each have a GIL. In other interpreters, and after Py_Finalize, each call makes a new region, with
 * Python's own bound methods. */
static PyTypeObject *first_type;

static inline bool is_first(const PyTypeObject *type)
{
	return type == __atomic_load_n(&first_type, __ATOMIC_RELAXED);
}

/* The regions made last, by the address of their name: a region never changes, so that a repeated `with region("x"):`
 * can use the same object again. Owned. */
static struct region *made_before[64];

/* ---- by name ---- */

static bool text_of(PyObject *o, struct sp_text *text)
{
	Py_ssize_t n = 0;
	text->p = o == Py_None ? "" : PyUnicode_AsUTF8AndSize(o, &n);
	text->n = (size_t)n;
	return text->p != NULL;
}

/* Returns the key of a function's region, which includes its source location, because names of functions are not
 * unique. Owned; NULL without memory. */
static char *key_of(struct sp_text name, const struct sp_user_location *place, struct sp_text *key)
{
	char *p = malloc(name.n + 1 + place->file.n + sizeof place->line);
	if (!p)
		return NULL;
	key->p = p;
	p = mempcpy(p, name.p, name.n);
	*p++ = '\0';
	p = mempcpy(p, place->file.p, place->file.n);
	p = mempcpy(p, &place->line, sizeof place->line);
	key->n = (size_t)(p - key->p);
	return (char *)key->p;
}

static int place_of(PyObject *tuple, struct sp_user_location *place)
{
	if (!text_of(PyTuple_GET_ITEM(tuple, 0), &place->group) || !text_of(PyTuple_GET_ITEM(tuple, 1), &place->file))
		return -1;
	unsigned long line = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(tuple, 2));
	int function = PyObject_IsTrue(PyTuple_GET_ITEM(tuple, 3));
	if (PyErr_Occurred() || function < 0)
		return -1;
	place->line = line > UINT32_MAX ? 0 : (uint32_t)line;
	place->function = function;
	return 0;
}

/* Returns the region's id, which it defines if necessary; 0 if there is no space, -1 with an exception. */
static int64_t region_id(struct sp_text name, PyObject *tuple, bool define)
{
	struct sp_user_location place = {{"", 0}, {"", 0}, 0, false};
	struct sp_text key = name;
	char *own_key = NULL, *file = NULL;
	if (tuple && place_of(tuple, &place))
		return -1;
	if (place.function && !(own_key = key_of(name, &place, &key)))
		return 0;
	uint32_t id = sp_define_find(SP_KEY_USER, key.p, key.n);
	if (!id && define) {
		if (!place.file.n && (file = sp_names_caller(&place.line)))
			place.file = (struct sp_text){file, strlen(file)};
		id = sp_user_region(key, name, &place);
	}
	free(file);
	free(own_key);
	return id;
}

int sp_region_begin(PyObject *name, PyObject *place)
{
	Py_ssize_t n;
	const char *p = sp_text_argument(name, &n, "the name of a region");
	if (!p)
		return -1;
	struct sp_thread *t = sp_hook_thread(NULL);
	if (!t && !sp_pause_wanted())
		return 0;
	if (t)
		sp_hook_settle(t);
	int64_t id = region_id((struct sp_text){p, (size_t)n}, place, true);
	if (id < 0)
		return -1;
	sp_user_enter((uint32_t)id);
	if (t)
		sp_hook_walk_region(t);
	return 0;
}

int sp_region_end(PyObject *name, PyObject *place)
{
	Py_ssize_t n;
	const char *p = sp_text_argument(name, &n, "the name of a region");
	if (!p)
		return -1;
	struct sp_thread *t = sp_self ? sp_hook_thread(NULL) : NULL;
	if (!sp_recording && !sp_pause_wanted())
		return 1;
	int64_t id = region_id((struct sp_text){p, (size_t)n}, place, false);
	if (id < 0)
		return -1;
	if (id)
		return sp_user_leave((uint32_t)id);
	if (t)
		sp_unmatched(t);
	return 0;
}

int sp_region_rewind(PyObject *name, PyObject *place, int end, bool take_out)
{
	Py_ssize_t n;
	const char *p = sp_text_argument(name, &n, "the name of a region");
	if (!p)
		return -1;
	struct sp_thread *t = sp_hook_thread(NULL);
	int64_t id = t ? region_id((struct sp_text){p, (size_t)n}, place, !end) : 0;
	if (id <= 0 || id == SP_REGION_LEFT_OUT)
		return id < 0 ? -1 : !t;
	if (end)
		return sp_rewind_end(t, (uint32_t)id, take_out);
	sp_rewind_begin(t, (uint32_t)id);
	return 1;
}

static void dealloc(PyObject *self); /* identifies region objects: each interpreter has a separate type */

/* Returns a tuple for a place; missing arguments become None, 0 and False. */
static PyObject *place_from(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	static const char *const known[] = {"name", "group", "file", "line", "function"};
	PyObject *values[5] = {NULL, Py_None, Py_None, NULL, Py_False};
	Py_ssize_t k = names ? PyTuple_GET_SIZE(names) : 0, at;
	bool fits = n >= 1 && n + k <= 5;
	for (Py_ssize_t i = 0; fits && i < n + k; i++) {
		for (at = i < n ? i : 0; i >= n && at < 5; at++)
			if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i - n), known[at]))
				break;
		fits = at < 5 && (i < n || at >= n);
		if (fits)
			values[at] = args[i];
	}
	if (!fits) {
		PyErr_SetString(PyExc_TypeError,
		                "a region takes (name, group=None, file=None, line=0, function=False)");
		return NULL;
	}
	if ((values[1] != Py_None && !PyUnicode_Check(values[1])) ||
	    (values[2] != Py_None && !PyUnicode_Check(values[2])) || (values[3] && !PyLong_Check(values[3]))) {
		PyErr_SetString(PyExc_TypeError, "a region's group and file are str, its line is an int");
		return NULL;
	}
	return values[3] ? PyTuple_Pack(4, values[1], values[2], values[3], values[4])
	                 : Py_BuildValue("OOiO", values[1], values[2], 0, values[4]);
}

int sp_region_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **name, PyObject **place)
{
	*name = n ? args[0] : NULL;
	*place = NULL;
	if (n == 1 && !names) {
		if (Py_TYPE(args[0])->tp_dealloc != dealloc)
			return 0;
		const struct region *r = (const struct region *)args[0];
		*name = r->name;
		Py_XINCREF(r->place);
		*place = r->place;
		if (!r->name)
			PyErr_SetString(PyExc_TypeError, "a region needs a name, except as a decorator");
		return r->name ? 0 : -1;
	}
	*place = place_from(args, n, names);
	return *place ? 0 : -1;
}

/* ---- the type ---- */

/* Calls spartito.user.<function>(argument, argument2, argument3); the last arguments may be NULL. */
static PyObject *call_user(const char *function, PyObject *argument, PyObject *argument2, PyObject *argument3)
{
	PyObject *module = PyImport_ImportModule("spartito.user");
	PyObject *callable = module ? PyObject_GetAttrString(module, function) : NULL;
	PyObject *result =
	    callable ? PyObject_CallFunctionObjArgs(callable, argument, argument2, argument3, NULL) : NULL;
	Py_XDECREF(callable);
	Py_XDECREF(module);
	return result;
}

/* Takes over place. */
static PyObject *region_new(PyTypeObject *type, PyObject *name, PyObject *place)
{
	struct region **same = &made_before[(uintptr_t)name / 16 % (sizeof made_before / sizeof *made_before)];
#ifdef Py_GIL_DISABLED
	const bool cached = false; /* threads would share the objects */
#else
	const bool cached = is_first(type) && !place;
#endif
	if (name && cached && *same && (*same)->name == name) {
		Py_INCREF(*same);
		return (PyObject *)*same;
	}
	Py_ssize_t n;
	struct region *self = NULL;
	if (!name || sp_text_argument(name, &n, "the name of a region"))
		self = (struct region *)type->tp_alloc(type, 0);
	if (!self) {
		Py_XDECREF(place);
		return NULL;
	}
	Py_XINCREF(name);
	self->name = name;
	self->place = place;
	if (name && cached && PyUnicode_CheckExact(name)) {
		struct region *old = *same;
		Py_INCREF(self);
		*same = self;
		Py_XDECREF(old);
	}
	return (PyObject *)self;
}

/* Handles region("x"), region(), and @region. */
static PyObject *make(PyTypeObject *type, PyObject *argument)
{
	if (argument && !PyUnicode_Check(argument) && PyCallable_Check(argument))
		return call_user("decorate", Py_None, argument, NULL);
	return region_new(type, argument, NULL);
}

static PyObject *tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"name", NULL};
	PyObject *name = NULL;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:region", names, &name))
		return NULL;
	return make(type, name);
}

/* Handles an ordinary call, without making a tuple or dictionary. */
static PyObject *vectorcall(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
	Py_ssize_t n = PyVectorcall_NARGS(nargsf), k = names ? PyTuple_GET_SIZE(names) : 0;
	bool named = k == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "name") == 0;
	if (n && n + k > 1) {
		PyObject *place = place_from(args, n, names);
		return place ? region_new((PyTypeObject *)type, args[0], place) : NULL;
	}
	if (n + k > 1 || (k && !named)) {
		PyErr_SetString(PyExc_TypeError, "region() takes one argument, the name");
		return NULL;
	}
	return make((PyTypeObject *)type, n + k ? args[0] : NULL);
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Py_XDECREF(((struct region *)self)->name);
	Py_XDECREF(((struct region *)self)->place);
	type->tp_free(self);
	Py_DECREF(type);
}

static inline bool is_wanted(void)
{
	return sp_recording || sp_process.paused;
}

static PyObject *enter(PyObject *self, PyObject *none)
{
	(void)none;
	PyObject *name = ((struct region *)self)->name;
	if (!name) {
		PyErr_SetString(PyExc_TypeError, "a region needs a name, except as a decorator");
		return NULL;
	}
	if (is_wanted() && sp_region_begin(name, ((struct region *)self)->place))
		return NULL;
	Py_INCREF(self);
	return self;
}

static PyObject *leave(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	(void)args, (void)nargs;
	PyObject *name = ((struct region *)self)->name;
	if (is_wanted() && name && sp_region_end(name, ((struct region *)self)->place) < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *async_enter(PyObject *self, PyObject *none)
{
	(void)none;
	return call_user("async_enter", self, NULL, NULL);
}

static PyObject *async_leave(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	(void)args, (void)nargs;
	return call_user("async_leave", self, NULL, NULL);
}

static PyObject *decorate(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *function, *name = ((struct region *)self)->name, *place = ((struct region *)self)->place;
	if (kwargs && PyDict_GET_SIZE(kwargs)) {
		PyErr_SetString(PyExc_TypeError, "a region decorates one function");
		return NULL;
	}
	if (!PyArg_ParseTuple(args, "O:region", &function))
		return NULL;
	return call_user("decorate", name ? name : Py_None, function, place ? PyTuple_GET_ITEM(place, 0) : NULL);
}

static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, NULL},
    {"__aenter__", async_enter, METH_NOARGS, NULL},
    {"__aexit__", (PyCFunction)(void (*)(void))async_leave, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(struct region, name), READONLY, "as in the results"},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, SP_DOC_REGION},
    {Py_tp_new, tp_new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_call, decorate},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "spartito.region",
    .basicsize = sizeof(struct region),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

#if PY_VERSION_HEX < 0x030E0000
/* Before 3.14 `with` binds __enter__ and __exit__ to the object. The interpreter's own bound methods are tracked by
 * its garbage collector, which costs more than everything else. Objects of this type are untracked: they refer only to
 * a region. */
struct bound {
	PyObject_HEAD struct region *region; /* owned */
	vectorcallfunc call;
};

/* The attribute __enter__ or __exit__ of the type. */
struct special {
	PyObject_HEAD PyObject *method; /* owned; the type's original attribute */
	vectorcallfunc call;
};

static PyTypeObject *bound_type;
static struct bound *unused; /* freed objects for reuse; each has the next one in place of its region */
static unsigned unused_count;

static PyObject *bound_enter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
	(void)args;
	if (PyVectorcall_NARGS(nargsf) || names) {
		PyErr_SetString(PyExc_TypeError, "__enter__() takes no arguments");
		return NULL;
	}
	return enter((PyObject *)((struct bound *)self)->region, NULL);
}

static PyObject *bound_leave(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
	(void)names;
	return leave((PyObject *)((struct bound *)self)->region, args, PyVectorcall_NARGS(nargsf));
}

static void bound_dealloc(PyObject *self)
{
	struct bound *b = (struct bound *)self;
	Py_DECREF(b->region);
	if (unused_count < 64) {
		b->region = (struct region *)unused;
		unused = b;
		unused_count++;
	} else {
		PyTypeObject *type = Py_TYPE(self);
		PyObject_Free(self);
		Py_DECREF(type);
	}
}

static struct bound *bound_new(void)
{
	struct bound *b = unused;
	if (!b)
		return PyObject_New(struct bound, bound_type);
	unused = (struct bound *)b->region;
	unused_count--;
	_Py_NewReference((PyObject *)b);
	return b;
}

static PyObject *special_get(PyObject *self, PyObject *object, PyObject *type)
{
	(void)type;
	struct special *s = (struct special *)self;
	if (!object) {
		Py_INCREF(s->method);
		return s->method;
	}
	if (!is_first(Py_TYPE(object))) {
		PyErr_SetString(PyExc_TypeError, "this belongs to a spartito.region");
		return NULL;
	}
	struct bound *b = bound_new();
	if (b) {
		Py_INCREF(object);
		b->region = (struct region *)object;
		b->call = s->call;
	}
	return (PyObject *)b;
}

static void special_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Py_DECREF(((struct special *)self)->method);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyMemberDef bound_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct bound, call), READONLY, NULL},
    {"__self__", T_OBJECT, offsetof(struct bound, region), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot bound_slots[] = {
    {Py_tp_dealloc, bound_dealloc}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, bound_members}, {0, NULL}};
static PyType_Spec bound_spec = {
    .name = "spartito.region_method",
    .basicsize = sizeof(struct bound),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = bound_slots,
};
static PyType_Slot special_slots[] = {{Py_tp_dealloc, special_dealloc}, {Py_tp_descr_get, special_get}, {0, NULL}};
static PyType_Spec special_spec = {
    .name = "spartito.region_special",
    .basicsize = sizeof(struct special),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = special_slots,
};

static int make_special(PyObject *type, PyTypeObject *special_type, const char *name, vectorcallfunc call)
{
	PyObject *method = PyObject_GetAttrString(type, name);
	struct special *s = method ? PyObject_New(struct special, special_type) : NULL;
	if (!s) {
		Py_XDECREF(method);
		return -1;
	}
	s->method = method;
	s->call = call;
	int r = PyObject_SetAttrString(type, name, (PyObject *)s);
	Py_DECREF(s);
	return r;
}

/* Makes a type of which only this file makes objects. */
static PyTypeObject *type_new(PyType_Spec *from)
{
	PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(from);
	if (type)
		type->tp_new = NULL; /* it was inherited from object */
	return type;
}

static int make_specials(PyObject *type)
{
	bound_type = type_new(&bound_spec);
	PyTypeObject *special_type = bound_type ? type_new(&special_spec) : NULL;
	int r = -1;
	if (special_type)
		r = make_special(type, special_type, "__enter__", bound_enter) ||
		    make_special(type, special_type, "__exit__", bound_leave);
	Py_XDECREF(special_type);
	return r;
}
#else
static int make_specials(PyObject *type)
{
	(void)type;
	return 0;
}
#endif

PyObject *sp_region_type(void)
{
	PyObject *type = PyType_FromSpec(&spec);
	if (!type)
		return NULL;
	((PyTypeObject *)type)->tp_vectorcall = vectorcall;
	PyTypeObject *none = NULL;
	if (__atomic_compare_exchange_n(&first_type, &none, (PyTypeObject *)type, false, __ATOMIC_RELAXED,
	                                __ATOMIC_RELAXED)) {
		Py_INCREF(type);
		if (make_specials(type)) {
			Py_DECREF(type);
			return NULL;
		}
	}
	return type;
}
