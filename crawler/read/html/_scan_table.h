/* The links that the scan finds: a sequence of Python that holds them as bytes.
 *
 * On large pages, most links repeat another one but for the fragment, and nobody asks for them. So a link becomes an
 * object of Python when it is first asked for.
 */
#ifndef ONCEOVER_SCAN_TABLE_H
#define ONCEOVER_SCAN_TABLE_H

#include "../../page/_groups.h"
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

/* Makes the object of a link of that href. */
static PyObject *
link_with(link_table *self, Py_ssize_t index, PyObject *href)
{
    table_link *each = &self->links[index];
    PyObject *made = NULL, *text = text_in(self, each->text), *rel = text == NULL ? NULL : text_in(self, each->rel);
    if (rel != NULL)
        made = PyObject_CallFunctionObjArgs(self->make, href, each->kind, text, rel, NULL);
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

static PyObject *
link_at(PyObject *object, Py_ssize_t index)
{
    link_table *self = (link_table *)object;
    if (index < 0 || index >= self->count)
        return PyErr_Format(PyExc_IndexError, "there are %zd links", self->count);
    if (self->links[index].made != NULL)
        return Py_NewRef(self->links[index].made);
    PyObject *href = text_in(self, self->links[index].href);
    PyObject *made = href == NULL ? NULL : link_with(self, index, href);
    Py_XDECREF(href);
    return made;
}

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

/* Copies and pickles of a table are lists. */
static PyObject *
reduce_links(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    PyObject *all = all_links(self);
    return all == NULL ? NULL : Py_BuildValue("O(N)", (PyObject *)&PyList_Type, all);
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

/* Fills `groups`, and returns their number. A table of that many places is empty. */
static Py_ssize_t
group_all(const link_table *self, group *groups, Py_ssize_t *table, Py_ssize_t places)
{
    Py_ssize_t filled = 0;
    for (Py_ssize_t i = 0; i < self->count; i++) {
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

/* The first link of a group, and its href without fragment. */
static PyObject *
first_of(link_table *self, const group *of, PyObject **bare)
{
    *bare = PyUnicode_DecodeUTF8(of->href, of->length, "strict");
    if (*bare == NULL || of->may_have_fragment || self->links[of->first].made != NULL)
        return *bare == NULL ? NULL : link_at((PyObject *)self, of->first);
    return link_with(self, of->first, *bare);
}

/* Groups the links as bulk.py does: the first link of each group, its href without fragment, and their number. */
static PyObject *
group_links(PyObject *object, PyObject *nothing)
{
    link_table *self = (link_table *)object;
    PyObject *firsts = NULL, *hrefs = NULL, *counts = NULL, *result = NULL;
    Py_ssize_t places = places_for(self->count), filled = 0;
    group *groups = PyMem_Malloc(((size_t)self->count + 1) * sizeof(group));
    Py_ssize_t *table = PyMem_Calloc((size_t)places, sizeof(Py_ssize_t));
    (void)nothing;
    if (groups == NULL || table == NULL)
        PyErr_NoMemory();
    else {
        filled = group_all(self, groups, table, places);
        firsts = PyList_New(filled);
        hrefs = PyList_New(filled);
        counts = PyList_New(filled);
    }
    int failed = firsts == NULL || hrefs == NULL || counts == NULL;
    for (Py_ssize_t i = 0; i < filled && !failed; i++) {
        PyObject *bare, *first = first_of(self, &groups[i], &bare), *count = PyLong_FromSsize_t(groups[i].count);
        failed = first == NULL || count == NULL;
        PyList_SetItem(firsts, i, first);
        PyList_SetItem(hrefs, i, bare);
        PyList_SetItem(counts, i, count);
    }
    if (!failed)
        result = PyTuple_Pack(3, firsts, hrefs, counts);
    Py_XDECREF(firsts);
    Py_XDECREF(hrefs);
    Py_XDECREF(counts);
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
    {"group", group_links, METH_NOARGS, NULL},
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

/* Makes `isinstance` call it a sequence. */
static int
register_sequence(PyObject *type)
{
    PyObject *module = PyImport_ImportModule("collections.abc");
    PyObject *sequence = module == NULL ? NULL : PyObject_GetAttrString(module, "Sequence");
    PyObject *registered = sequence == NULL ? NULL : PyObject_CallMethod(sequence, "register", "O", type);
    Py_XDECREF(module);
    Py_XDECREF(sequence);
    Py_XDECREF(registered);
    return registered == NULL ? -1 : 0;
}

#endif
