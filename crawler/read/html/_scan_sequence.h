/* The links that the scan finds, as a sequence of Python. */
#ifndef ONCEOVER_SCAN_SEQUENCE_H
#define ONCEOVER_SCAN_SEQUENCE_H

#include "../../page/_groups.h"
#include "_scan_table.h"

static Py_ssize_t
count_links(PyObject *object)
{
    return ((link_table *)object)->count;
}

static PyObject *
links_at(PyObject *self, PyObject *place)
{
    if (!PySlice_Check(place)) {
        Py_ssize_t index = PyNumber_AsSsize_t(place, PyExc_IndexError);
        if (index == -1 && PyErr_Occurred())
            return NULL;
        return link_at(self, index < 0 ? index + count_links(self) : index);
    }
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(place, &start, &stop, &step) < 0)
        return NULL;
    Py_ssize_t count = PySlice_AdjustIndices(count_links(self), &start, &stop, step);
    PyObject *made = PyList_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *each = link_at(self, start + i * step);
        if (each == NULL || PyList_SetItem(made, i, each) < 0)
            Py_CLEAR(made);
    }
    return made;
}

static PyObject *
all_links(PyObject *self)
{
    PyObject *slice = PySlice_New(NULL, NULL, NULL), *made = slice == NULL ? NULL : links_at(self, slice);
    Py_XDECREF(slice);
    return made;
}

/* A table is equal to a list of equal links. */
static PyObject *
compare_links(PyObject *self, PyObject *other, int comparison)
{
    if ((comparison != Py_EQ && comparison != Py_NE) || !(PyList_Check(other) || Py_IS_TYPE(other, Py_TYPE(self))))
        return Py_NewRef(Py_NotImplemented);
    PyObject *ours = all_links(self), *theirs = NULL, *result = NULL;
    if (ours != NULL)
        theirs = PyList_Check(other) ? Py_NewRef(other) : all_links(other);
    if (theirs != NULL)
        result = PyObject_RichCompare(ours, theirs, comparison);
    Py_XDECREF(ours);
    Py_XDECREF(theirs);
    return result;
}

static PyObject *
show_links(PyObject *self)
{
    PyObject *all = all_links(self), *shown = all == NULL ? NULL : PyObject_Repr(all);
    Py_XDECREF(all);
    return shown;
}

/* Lets a list of the links answer. */
static PyObject *
ask_list(PyObject *self, const char *method, PyObject *args)
{
    PyObject *all = all_links(self), *asked = all == NULL ? NULL : PyObject_GetAttrString(all, method);
    PyObject *answer = asked == NULL ? NULL : PyObject_CallObject(asked, args);
    Py_XDECREF(all);
    Py_XDECREF(asked);
    return answer;
}

static PyObject *
count_equal(PyObject *self, PyObject *args)
{
    return ask_list(self, "count", args);
}

static PyObject *
find_equal(PyObject *self, PyObject *args)
{
    return ask_list(self, "index", args);
}

/* Copies and pickles of a table are lists. */
static PyObject *
reduce_links(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    PyObject *all = all_links(self);
    return all == NULL ? NULL : Py_BuildValue("O(N)", (PyObject *)&PyList_Type, all);
}

/* Whether all hrefs are ASCII. */
static PyObject *
are_ascii(PyObject *object, PyObject *nothing)
{
    const link_table *self = (link_table *)object;
    (void)nothing;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        part href = self->links[i].href;
        for (ptrdiff_t at = href.at; at < href.at + href.length; at++)
            if (self->bytes.at[at] & 0x80)
                Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

static int
is_long(part text, const byte *bytes)
{
    Py_ssize_t characters = text.length;
    if (text.length <= LONGEST_GROUPED)
        return 0;
    for (ptrdiff_t i = text.at; i < text.at + text.length; i++)
        characters -= (bytes[i] & 0xC0) == 0x80;
    return characters > LONGEST_GROUPED;
}

/* Fills `groups` with links from one place up to another, and returns their number. A table of that many places is
 * empty. */
static Py_ssize_t
group_range(const link_table *self, Py_ssize_t from, Py_ssize_t to, group *groups, Py_ssize_t *table, Py_ssize_t places)
{
    Py_ssize_t filled = 0;
    for (Py_ssize_t i = from; i < to; i++) {
        group *made = &groups[filled];
        part href = self->links[i].href;
        take_href(made, href.length ? (const char *)self->bytes.at + href.at : "", href.length);
        made->first = i;
        made->count = 1;
        Py_ssize_t *place = is_long(href, self->bytes.at) ? NULL : place_of(table, places, groups, made);
        if (place != NULL) {
            if (*place > 0 && self->links[groups[*place - 1].first].kind == self->links[i].kind) {
                groups[*place - 1].count++;
                continue;
            }
            *place = filled + 1;
        }
        filled++;
    }
    return filled;
}

static PyObject *
href_of_group(const group *made, PyObject *nothing)
{
    (void)nothing;
    return PyUnicode_DecodeUTF8(made->href, made->length, "strict");
}

/* Groups links from one place up to another as bulk.py does: the place of the first of each group, its href without
 * fragment, their number. */
static PyObject *
group_links(PyObject *object, PyObject *args)
{
    link_table *self = (link_table *)object;
    PyObject *result = NULL;
    Py_ssize_t from = 0, to = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTuple(args, "|nn", &from, &to))
        return NULL;
    Py_ssize_t grouped = PySlice_AdjustIndices(self->count, &from, &to, 1), places = places_for(grouped);
    group *groups = PyMem_Malloc(((size_t)grouped + 1) * sizeof(group));
    Py_ssize_t *table = PyMem_Calloc((size_t)places, sizeof(Py_ssize_t));
    if (groups == NULL || table == NULL)
        PyErr_NoMemory();
    else
        result = lists_of(groups, group_range(self, from, to, groups, table, places), href_of_group, NULL);
    PyMem_Free(groups);
    PyMem_Free(table);
    return result;
}

static void
drop_table(PyObject *object)
{
    link_table *self = (link_table *)object;
    PyTypeObject *type = Py_TYPE(object);
    cut_links(self, 0);
    Py_XDECREF(self->make);
    PyMem_Free(self->links);
    PyMem_Free(self->bytes.at);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef table_methods[] = {
    {"are_ascii", are_ascii, METH_NOARGS, NULL},
    {"count", count_equal, METH_VARARGS, NULL},
    {"group", group_links, METH_VARARGS, NULL},
    {"index", find_equal, METH_VARARGS, NULL},
    {"__reduce__", reduce_links, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_dealloc, drop_table},  {Py_tp_repr, show_links},     {Py_tp_richcompare, compare_links},
    {Py_sq_length, count_links},  {Py_sq_item, link_at},        {Py_mp_length, count_links},
    {Py_mp_subscript, links_at},  {Py_tp_methods, table_methods}, {0, NULL},
};

static PyType_Spec table_spec = {
    .name = "crawler.read.html._scan.Links",
    .basicsize = sizeof(link_table),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = table_slots,
};

#endif
