/* Open elements, and what closes them, by section 13.2.4.2 of the HTML standard. */
#ifndef ONCEOVER_SCAN_OPEN_H
#define ONCEOVER_SCAN_OPEN_H

#include "_scan_found.h"

static int
element_at(const scan *self, int index)
{
    return self->open[index].kind->element;
}

static int
top(const scan *self)
{
    return self->depth ? element_at(self, self->depth - 1) : BODY;
}

/* Whether an open element stands beside the content of the page. */
static int
is_beside(const scan *self)
{
    for (int i = 0; i < self->depth; i++)
        if (self->open[i].kind->properties & BESIDE)
            return 1;
    return 0;
}

static outcome
push(scan *self, const tag *given)
{
    if (self->depth == MOST_OPEN)
        return GIVES_UP;
    self->open[self->depth++] = (open_element){given->kind, given->name};
    return GOES_ON;
}

static outcome
push_implied(scan *self, const char *name)
{
    const byte *at = (const byte *)name;
    span all = {at, (ptrdiff_t)strlen(name)};
    if (self->depth == MOST_OPEN)
        return GIVES_UP;
    self->open[self->depth++] = (open_element){kind_of(all.at, all.length), all};
    return GOES_ON;
}

/* Closes the open elements from `index` on. */
static outcome
close_from(scan *self, int index)
{
    if (self->anchor >= index)
        /* The parser would open it again. */
        return GIVES_UP;
    if (self->anchor >= 0)
        for (int i = index; i < self->depth; i++)
            if (self->open[i].kind->properties & (i == index ? FORMATTING : FORMATTING | MARKER))
                return GIVES_UP;
    self->depth = index;
    return self->paragraph >= index ? end_paragraph(self) : GOES_ON;
}

enum scope { SCOPE, BUTTON_SCOPE, LIST_SCOPE, TABLE_SCOPE };

static int
ends_scope(const element_kind *kind, enum scope scope)
{
    if (kind->element == TABLE)
        return 1;
    if (scope == TABLE_SCOPE)
        return 0;
    return kind->properties & MARKER || (scope == BUTTON_SCOPE && kind->element == BUTTON) ||
           (scope == LIST_SCOPE && (kind->element == OL || kind->element == UL));
}

/* The index of the innermost such element; -1 if none is in scope. */
static int
in_scope(const scan *self, const element_kind *kind, enum scope scope)
{
    for (int i = self->depth - 1; i >= 0; i--) {
        if (self->open[i].kind == kind)
            return i;
        if (ends_scope(self->open[i].kind, scope))
            return -1;
    }
    return -1;
}

static int
element_in_scope(const scan *self, int element, enum scope scope)
{
    for (int i = self->depth - 1; i >= 0; i--) {
        if (element_at(self, i) == element)
            return i;
        if (ends_scope(self->open[i].kind, scope))
            return -1;
    }
    return -1;
}

static int
heading_in_scope(const scan *self)
{
    for (int i = self->depth - 1; i >= 0; i--) {
        if (self->open[i].kind->properties & HEADING)
            return i;
        if (ends_scope(self->open[i].kind, SCOPE))
            return -1;
    }
    return -1;
}

static outcome
close_paragraph(scan *self)
{
    int index = element_in_scope(self, P, BUTTON_SCOPE);
    return index < 0 ? GOES_ON : close_from(self, index);
}

/* Whether the next tags belong to a table itself, not to one of its cells. */
static inline int
in_table_itself(const scan *self)
{
    return self->depth && self->open[self->depth - 1].kind->properties & HOLDS_PARTS;
}

static int
is_section(int element)
{
    return element == TBODY || element == THEAD || element == TFOOT;
}

/* The innermost cell or caption, -1 if there is none in this table. */
static int
cell(const scan *self)
{
    for (int i = self->depth - 1; i >= 0; i--) {
        int element = element_at(self, i);
        if (element == TD || element == TH || element == CAPTION)
            return i;
        if (element == TABLE)
            return -1;
    }
    return -1;
}

#endif
