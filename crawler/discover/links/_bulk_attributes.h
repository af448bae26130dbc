/* Reads an attribute of many objects of one type. */
#ifndef ONCEOVER_BULK_ATTRIBUTES_H
#define ONCEOVER_BULK_ATTRIBUTES_H

#include "../../../visited/bits/_extension.h"

/* The attributes, whose names the module makes once. */
enum { HREF, KIND, ALLOWED, MAX_DEPTH, CANONICAL, OUTSIDE, REFUSAL, URL, SITE, NAMES };

static const char *const NAME_TEXTS[NAMES] = {
    [HREF] = "href",           [KIND] = "kind",       [ALLOWED] = "allowed", [MAX_DEPTH] = "max_depth",
    [CANONICAL] = "canonical", [OUTSIDE] = "outside", [REFUSAL] = "refusal", [URL] = "url",
    [SITE] = "site",
};

typedef struct {
    PyObject *names[NAMES];
} module_state;

/* How the objects of the last type hold an attribute. Most hold it in a slot: it is found once for all of them, not for
 * each by its name. */
typedef struct {
    PyObject *type, *slot;
    descrgetfunc get;
} attribute;

/* The attributes that one call reads. */
typedef struct {
    const module_state *state;
    attribute by_name[NAMES];
} reader;

static void
clear_reader(reader *of)
{
    for (int i = 0; i < NAMES; i++) {
        Py_CLEAR(of->by_name[i].type);
        Py_CLEAR(of->by_name[i].slot);
    }
}

/* Finds the slot of a type. Without one, `get` is NULL. */
static void
find_slot(attribute *of, PyTypeObject *type, PyObject *name)
{
    PyObject *type_before = of->type, *slot_before = of->slot;
    of->type = Py_NewRef((PyObject *)type);
    of->get = NULL;
    of->slot = NULL;
    if (PyType_GetSlot(type, Py_tp_getattro) == (void *)PyObject_GenericGetAttr)
        of->slot = PyObject_GetAttr(of->type, name);
    if (of->slot == NULL)
        PyErr_Clear();
    else if (Py_IS_TYPE(of->slot, &PyMemberDescr_Type))
        of->get = (descrgetfunc)PyType_GetSlot(&PyMemberDescr_Type, Py_tp_descr_get);
    Py_XDECREF(type_before);
    Py_XDECREF(slot_before);
}

/* Does the same as `PyObject_GetAttr`. No exception may be set. */
static PyObject *
read_attribute(reader *from, PyObject *owner, int name)
{
    attribute *of = &from->by_name[name];
    if ((PyObject *)Py_TYPE(owner) != of->type)
        find_slot(of, Py_TYPE(owner), from->state->names[name]);
    return of->get == NULL ? PyObject_GetAttr(owner, from->state->names[name]) : of->get(of->slot, owner, of->type);
}

#endif
