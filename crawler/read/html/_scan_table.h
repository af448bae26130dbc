/* The links that the scan finds, as bytes.
 *
 * On large pages, most links repeat another one but for the fragment, and nobody asks for them. So a link becomes an
 * object of Python when it is first asked for.
 */
#ifndef ONCEOVER_SCAN_TABLE_H
#define ONCEOVER_SCAN_TABLE_H

#include "_scan_references.h"

/* A text among the bytes of a table, in UTF-8. */
typedef struct {
    ptrdiff_t at, length;
} part;

typedef struct {
    part href, text, rel;
    PyObject *kind; /* NULL for an anchor that is still open */
    PyObject *made; /* NULL until somebody asks for it */
} table_link;

typedef struct {
    PyObject_HEAD
    PyObject *make; /* the class of links */
    buffer bytes;
    table_link *links;
    Py_ssize_t count, room;
} link_table;

static link_table *
new_table(PyObject *type, PyObject *make)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    link_table *made = (link_table *)allocate((PyTypeObject *)type, 0);
    if (made != NULL)
        made->make = Py_NewRef(make);
    return made;
}

/* Adds a link without text; NULL with an exception. */
static table_link *
add_link(link_table *self, PyObject *kind)
{
    if (self->count == self->room) {
        Py_ssize_t room = 2 * self->room + 64;
        table_link *links = PyMem_Realloc(self->links, (size_t)room * sizeof(table_link));
        if (links == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        self->links = links;
        self->room = room;
    }
    table_link *added = &self->links[self->count++];
    memset(added, 0, sizeof(table_link));
    added->kind = Py_XNewRef(kind);
    return added;
}

/* Removes the links from that one on. */
static void
cut_links(link_table *self, Py_ssize_t count)
{
    while (self->count > count) {
        table_link *last = &self->links[--self->count];
        Py_CLEAR(last->kind);
        Py_CLEAR(last->made);
    }
}

static PyObject *
text_in(const link_table *self, part text)
{
    return PyUnicode_DecodeUTF8(text.length ? (const char *)self->bytes.at + text.at : "", text.length, "strict");
}

static PyObject *
link_at(PyObject *object, Py_ssize_t index)
{
    link_table *self = (link_table *)object;
    if (index < 0 || index >= self->count)
        return PyErr_Format(PyExc_IndexError, "there are %zd links", self->count);
    table_link *each = &self->links[index];
    if (each->made != NULL)
        return Py_NewRef(each->made);
    PyObject *made = NULL, *href = text_in(self, each->href), *text = href == NULL ? NULL : text_in(self, each->text);
    PyObject *rel = text == NULL ? NULL : text_in(self, each->rel);
    if (rel != NULL)
        made = PyObject_CallFunctionObjArgs(self->make, href, each->kind, text, rel, NULL);
    Py_XDECREF(href);
    Py_XDECREF(text);
    Py_XDECREF(rel);
    if (made == NULL || each->made != NULL) {
        /* Others asked for it meanwhile. */
        Py_XDECREF(made);
        return made == NULL ? NULL : Py_NewRef(each->made);
    }
    each->made = made;
    return Py_NewRef(made);
}

#endif
