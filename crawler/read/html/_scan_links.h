/* Links of a page, and the values of attributes. */
#ifndef ONCEOVER_SCAN_LINKS_H
#define ONCEOVER_SCAN_LINKS_H

#include "_scan_css.h"

static const span NO_TEXT = {NULL, 0};

static outcome
append_new(PyObject *list, PyObject *made)
{
    if (made == NULL)
        return none_made();
    int has_room = PyList_Size(list) < MOST_FOUND;
    int failed = has_room && PyList_Append(list, made);
    Py_DECREF(made);
    return failed ? FAILED : has_room ? GOES_ON : GIVES_UP;
}

/* The known attributes of a tag, and whether one of them may be a URL. */
static PyObject *
attributes_of(scan *self, const tag *given, int *has_url)
{
    PyObject *made = PyDict_New();
    unsigned met = 0;
    if (made == NULL)
        return NULL;
    for (int i = 0; i < given->count; i++) {
        const attribute *each = &given->attributes[i];
        packed_name packed;
        if (!pack(each->name.at, each->name.length, &packed))
            continue;
        int known = 0;
        while (known < KNOWN_ATTRIBUTES && !is_same(&packed_attributes[known], &packed))
            known++;
        if (known == KNOWN_ATTRIBUTES || met & 1u << known)
            continue;
        met |= 1u << known;
        PyObject *value = each->has_value ? text_of(self, each->value, 1, 0) : Py_NewRef(Py_None);
        if (value == NULL || PyDict_SetItem(made, self->names->attributes[known], value) < 0) {
            Py_XDECREF(value);
            Py_DECREF(made);
            return NULL;
        }
        Py_DECREF(value);
    }
    *has_url = (met & ((1u << URL_ATTRIBUTES) - 1)) != 0;
    return made;
}

/* Adds a link, unless the URL is empty. */
static outcome
note_url(scan *self, span url, PyObject *kind, span text, span rel)
{
    if (self->noted == MOST_LINKS)
        return GOES_ON;
    if (undo(self, &url, 1, 1) < 0)
        return FAILED;
    if (url.length == 0)
        return GOES_ON;
    if (self->found->count >= MOST_FOUND)
        return GIVES_UP;
    table_link *added = add_link(self->found, kind);
    if (added == NULL)
        return FAILED;
    self->noted++;
    TRY(keep(self, url, &added->href));
    TRY(keep(self, text, &added->text));
    return keep(self, rel, &added->rel);
}

/* Adds a link to a resource of the page. */
static outcome
note_embedded(scan *self, span url)
{
    return note_url(self, url, self->embedded, NO_TEXT, NO_TEXT);
}

/* The URLs of a srcset without references, read as attributes.py does. */
static outcome
note_candidates(scan *self, span srcset)
{
    const byte *at = srcset.at, *end = at + srcset.length;
    for (;;) {
        while (at < end && (is(*at, SPACE) || *at == ','))
            at++;
        const byte *url = at;
        at = skip_to(at, end, SPACE);
        if (at == url)
            return GOES_ON;
        ptrdiff_t length = at - url;
        while (url[length - 1] == ',')
            length--;
        TRY(note_embedded(self, (span){url, length}));
        if (url + length < at)
            continue;
        while (at < end && *at != ',') {
            const byte *close = *at == '(' ? memchr(at, ')', end - at) : at;
            at = close == NULL ? end : close + 1;
        }
    }
}

static int
has_references(const attribute *given)
{
    return given != NULL && given->value.length &&
           (memchr(given->value.at, '&', given->value.length) || memchr(given->value.at, '\r', given->value.length));
}

static outcome
note_image(scan *self, const tag *given)
{
    static const struct {
        const char *name;
        int is_srcset;
    } read[] = {{"srcset", 1},        {"src", 0},         {"data-src", 0},        {"data-original", 0},
                {"data-lazy-src", 0}, {"data-srcset", 1}, {"data-lazy-srcset", 1}};
    for (int i = 0; i < (int)(sizeof(read) / sizeof(read[0])); i++) {
        const attribute *found = attribute_of(given, read[i].name);
        if (found == NULL)
            continue;
        if (read[i].is_srcset)
            TRY(note_candidates(self, found->value));
        else
            TRY(note_embedded(self, found->value));
    }
    return GOES_ON;
}

#endif
