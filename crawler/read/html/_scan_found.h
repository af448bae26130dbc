/* What the scan finds on a page: elements whose attributes or content are read, styles, anchors and paragraphs. */
#ifndef ONCEOVER_SCAN_FOUND_H
#define ONCEOVER_SCAN_FOUND_H

#include "_scan_links.h"

/* Whether we read this <meta>: 1 or 0, -1 with an exception. */
static int
is_read_meta(scan *self, const tag *given)
{
    if (attribute_of(given, "content") == NULL)
        return 0;
    if (attribute_of(given, "http-equiv") != NULL)
        return 1;
    const attribute *name = attribute_of(given, "name");
    if (name == NULL || name->value.length == 0)
        name = attribute_of(given, "property");
    if (name == NULL)
        return 0;
    if (has_references(name) || !is_ascii(name->value.at, name->value.length))
        return 1;
    char lower[64];
    span bare = stripped(name->value.at, name->value.length);
    if (bare.length > (ptrdiff_t)sizeof(lower))
        return 1;
    for (ptrdiff_t i = 0; i < bare.length; i++)
        lower[i] = bare.at[i] >= 'A' && bare.at[i] <= 'Z' ? bare.at[i] | 0x20 : bare.at[i];
    PyObject *key = PyUnicode_DecodeASCII(lower, bare.length, "strict");
    if (key == NULL)
        return -1;
    int is_read = PySet_Contains(self->meta_names, key);
    Py_DECREF(key);
    return is_read;
}

/* Whether a type may be that of a feed, which makes another kind of an alternate: FEED_TYPES in link_tables.py. */
static int
may_be_feed(const attribute *type)
{
    if (type == NULL || type->value.length == 0)
        return 0;
    if (memchr(type->value.at, '&', type->value.length))
        return 1;
    span bare = stripped(type->value.at, type->value.length);
    return equals_lower(bare, "application/rss+xml") || equals_lower(bare, "application/atom+xml") ||
           equals_lower(bare, "application/feed+json");
}

/* Adds the link of a <link rel=canonical>. The first one with an href names the canonical URL. element_reader.py reads
 * those behind another that it reads, which may have come first, and those whose href is blank. */
static outcome
note_canonical(scan *self, span href, PyObject *kind, span text, span rel, int *is_noted)
{
    span bare = stripped(href.at, href.length);
    *is_noted = bare.length > 0 && !self->reads_links && self->noted < MOST_LINKS;
    if (*is_noted && self->canonical == NULL && (self->canonical = text_of(self, href, 1, 1)) == NULL)
        return none_made();
    return *is_noted ? note_url(self, href, kind, text, rel) : GOES_ON;
}

/* Adds the link of a simple <link>. element_reader.py reads the others. */
static outcome
note_link(scan *self, const tag *given, int *is_noted)
{
    char of_rel[MOST_ANCHOR_CHARACTERS], of_title[MOST_ANCHOR_CHARACTERS];
    const attribute *href = attribute_of(given, "href"), *tokens = attribute_of(given, "rel");
    const attribute *title = attribute_of(given, "title");
    *is_noted = 0;
    if (href == NULL || tokens == NULL || attribute_of(given, "imagesrcset"))
        return GOES_ON;
    span rel = words_of(tokens->value, 1, of_rel), text = words_of(title != NULL ? title->value : NO_TEXT, 0, of_title);
    if (rel.at == NULL || text.at == NULL)
        return GOES_ON;
    PyObject *key = string_of(rel.at, rel.length);
    if (key == NULL)
        return none_made();
    PyObject *kind = Py_XNewRef(PyDict_GetItemWithError(self->kind_of_rel, key));
    Py_DECREF(key);
    if (kind == NULL)
        return PyErr_Occurred() ? FAILED : GOES_ON;
    outcome noted = GOES_ON;
    if (kind == Py_None)
        *is_noted = 1;
    else if (kind == self->embedded || !may_be_feed(attribute_of(given, "type"))) {
        *is_noted = 1;
        noted = equals_lower(rel, "canonical") ? note_canonical(self, href->value, kind, text, rel, is_noted)
                                               : note_url(self, href->value, kind, text, rel);
    }
    Py_DECREF(kind);
    return noted;
}

static outcome
note_element(scan *self, const tag *given, PyObject *text)
{
    int has_url = 0, element = given->kind->element;
    if (given->is_laden)
        return GIVES_UP;
    if (given->count == 0 && !(given->kind->properties & READ_ALWAYS) && element != SCRIPT)
        return GOES_ON;
    /* Most elements are these. element_reader.py reads the others. */
    if (element == IMG && !has_references(attribute_of(given, "srcset")) &&
        !has_references(attribute_of(given, "data-srcset")) &&
        !has_references(attribute_of(given, "data-lazy-srcset")))
        return note_image(self, given);
    if (element == SCRIPT && !self->all_scripts) {
        const attribute *src = attribute_of(given, "src");
        return src != NULL ? note_embedded(self, src->value) : GOES_ON;
    }
    if (element == LINK) {
        int is_noted;
        TRY(note_link(self, given, &is_noted));
        if (is_noted)
            return GOES_ON;
        self->reads_links = 1;
    }
    if (element == META) {
        int is_read = is_read_meta(self, given);
        if (is_read <= 0)
            return is_read < 0 ? FAILED : GOES_ON;
    }
    PyObject *attributes = attributes_of(self, given, &has_url);
    if (attributes == NULL)
        return none_made();
    int wanted = has_url || given->kind->properties & READ_ALWAYS || element == SCRIPT;
    if (!wanted) {
        Py_DECREF(attributes);
        return GOES_ON;
    }
    PyObject *made = Py_BuildValue("nOOO", self->found->count, self->names->elements[given->kind - ELEMENTS],
                                   attributes, text != NULL ? text : self->names->nothing);
    Py_DECREF(attributes);
    return append_new(self->elements, made);
}

/* Whether style attributes may contain a URL. CSS functions may be in either case. */
static int
holds_url(const byte *at, const byte *end)
{
    const byte *from = at;
    while ((at = memchr(at, '(', end - at)) != NULL) {
        if (at - from >= 3 && (at[-1] | 0x20) == 'l' && (at[-2] | 0x20) == 'r' && (at[-3] | 0x20) == 'u')
            return 1;
        if (at - from >= 9 && (at[-1] | 0x20) == 't' && equals_lower((span){at - 9, 9}, "image-set"))
            return 1;
        at++;
    }
    return 0;
}

/* Whether a style attribute contains a URL; -1 with an exception. */
static int
is_styled(scan *self, const attribute *style)
{
    if (style == NULL || style->value.length == 0 || !self->has_styles)
        return 0;
    const byte *at = style->value.at, *end = at + style->value.length;
    if (memchr(at, '&', end - at) == NULL || holds_url(at, end))
        return holds_url(at, end);
    buffer *undone = &self->scratch;
    undone->length = 0;
    if (append_text(undone, style->value, self->references, 1) < 0)
        return -1;
    return holds_url(undone->at, undone->at + undone->length);
}

/* Adds a style attribute if it contains a URL. */
static outcome
note_style(scan *self, const tag *given)
{
    const attribute *style = attribute_of(given, "style");
    if (given->is_laden)
        return GIVES_UP;
    int holds = is_styled(self, style);
    if (holds <= 0)
        return holds < 0 ? FAILED : GOES_ON;
    /* If the parser opens the element again, the style counts again. For an anchor, the scan gives up then. */
    if (given->kind->properties & FORMATTING && !(given->kind->element == A && attribute_of(given, "href")))
        return GIVES_UP;
    return append_new(self->styles, text_of(self, style->value, 1, 0));
}

/* Whether a presentation attribute of SVG may be a URL outside of the page, as foreign.py reads it. Hardly any is. */
static int
may_style_shape(const tag *given)
{
    static const char *const names[] = {"fill",         "stroke",     "filter",     "mask",  "clip-path",
                                        "marker-start", "marker-mid", "marker-end", "cursor"};
    static const char *const quotes[] = {"\"", "'", "&quot;", "&#34;", "&#39;"};
    for (int i = 0; i < given->count; i++) {
        const attribute *each = &given->attributes[i];
        const byte *end = each->value.at + each->value.length, *at = skip(each->value.at, end, SPACE);
        int known = 0, count = (int)(sizeof(names) / sizeof(names[0]));
        while (known < count && !equals_lower(each->name, names[known]))
            known++;
        if (known == count)
            continue;
        if (!stands(at, end, "url(")) {
            if (memchr(at, '&', end - at) != NULL)
                return 1;
            continue;
        }
        at = skip(at + 4, end, SPACE);
        for (int quote = 0; quote < (int)(sizeof(quotes) / sizeof(quotes[0])); quote++)
            if (stands(at, end, quotes[quote])) {
                at = skip(at + strlen(quotes[quote]), end, SPACE);
                break;
            }
        if (at == end || *at != '#' || memchr(at, '(', end - at) != NULL)
            return 1;
    }
    return 0;
}

/* Adds an element of the document. `text` is its content if we read that. */
static outcome
note(scan *self, const tag *given, PyObject *text)
{
    if (self->has_styles)
        TRY(note_style(self, given));
    return given->kind->properties & READ ? note_element(self, given, text) : GOES_ON;
}

static outcome
begin_anchor(scan *self, const tag *given, span href)
{
    const attribute *rel = attribute_of(given, "rel");
    self->anchor_href = href;
    self->anchor_rel = rel != NULL ? rel->value : (span){NULL, 0};
    self->anchor_text.length = 0;
    /* The links within the anchor come after it. */
    self->anchor_slot = self->found->count;
    if (self->found->count >= MOST_FOUND)
        return GIVES_UP;
    return add_link(self->found, NULL) == NULL ? FAILED : GOES_ON;
}

static outcome
end_anchor(scan *self)
{
    char words[MOST_ANCHOR_CHARACTERS];
    span href = self->anchor_href, rel = words_of(self->anchor_rel, 1, words);
    self->anchor = -1;
    if (undo(self, &href, 1, 1) < 0)
        return FAILED;
    if (rel.at == NULL)
        return GIVES_UP;
    table_link *ended = &self->found->links[self->anchor_slot];
    ended->kind = Py_NewRef(self->anchored);
    TRY(keep(self, href, &ended->href));
    TRY(keep_collapsed(self, &self->anchor_text, &ended->text));
    return keep(self, rel, &ended->rel);
}

static outcome
end_paragraph(scan *self)
{
    buffer *text = &self->paragraph_text;
    self->paragraph = -1;
    if (is_cut_by_lines(text, MOST_PARAGRAPH_READ))
        return GIVES_UP;
    ptrdiff_t length = whole_characters(text->at, text->length, LONGEST_CHARACTER * MOST_PARAGRAPH_READ);
    return append_new(self->paragraphs, string_of(text->at, length));
}

#endif
