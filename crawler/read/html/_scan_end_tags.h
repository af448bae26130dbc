/* End tags, by section 13.2.6.4 of the HTML standard. The scan gives up where they depend on what it does not know. */
#ifndef ONCEOVER_SCAN_END_TAGS_H
#define ONCEOVER_SCAN_END_TAGS_H

#include "_scan_tables.h"

static outcome
end_in_head(scan *self, const tag *given)
{
    switch (given->kind->element) {
    case NOSCRIPT:
        self->in_head_noscript = 0;
        return GOES_ON;
    case HEAD_ELEMENT:
        if (!self->in_head_noscript) {
            self->place = BEHIND_HEAD;
            self->is_empty = 0;
        }
        return GOES_ON;
    case BODY:
    case HTML:
        if (!self->in_head_noscript) {
            self->place = IN_BODY;
            self->is_empty = 0;
        }
        return GOES_ON;
    case BR:
        self->place = IN_BODY;
        self->is_empty = self->in_head_noscript = 0;
        return GOES_ON;
    default:
        return GOES_ON;
    }
}

static outcome
end_form(scan *self)
{
    if (!self->form_is_open)
        return GOES_ON;
    self->form_is_open = 0;
    int index = element_in_scope(self, FORM, SCOPE);
    if (index < 0)
        return GOES_ON;
    for (int i = index + 1; i < self->depth; i++)
        if (self->open[i].kind->properties & IMPLIED_END)
            return GIVES_UP;
    memmove(&self->open[index], &self->open[index + 1], (self->depth - index - 1) * sizeof(open_element));
    self->depth--;
    self->anchor -= self->anchor > index;
    self->paragraph -= self->paragraph > index;
    return GOES_ON;
}

static outcome
end_anchor_tag(scan *self)
{
    if (self->anchor < 0)
        return GOES_ON;
    for (int i = self->anchor + 1; i < self->depth; i++)
        if (self->open[i].kind->properties & SPECIAL)
            return GIVES_UP;
    self->depth = self->anchor;
    return end_anchor(self);
}

/* An end tag that closes the nearest element of its name, if no special element lies between. */
static outcome
end_plain(scan *self, const tag *given)
{
    if (given->kind->properties & (VOID | RAW | REFERENCES))
        return GOES_ON;
    for (int i = self->depth - 1; i >= 0; i--) {
        if (i == self->anchor)
            /* The scan does not know what was opened before the anchor. */
            return GIVES_UP;
        if (self->open[i].kind == given->kind && same_name(self->open[i].name, given->name))
            return close_from(self, i);
        if (self->open[i].kind->properties & SPECIAL)
            return GOES_ON;
    }
    return GOES_ON;
}

static outcome
end_in_body(scan *self, const tag *given)
{
    int element = given->kind->element, properties = given->kind->properties, index;
    switch (element) {
    case BODY:
    case HTML:
    case BR:
        return GOES_ON;
    case A:
        return end_anchor_tag(self);
    case FORM:
        return end_form(self);
    case P:
        index = element_in_scope(self, P, BUTTON_SCOPE);
        if (index >= 0)
            return close_from(self, index);
        if (self->paragraph >= 0)
            return GIVES_UP;
        if (self->paragraph_count == MOST_PARAGRAPHS)
            return GOES_ON;
        self->paragraph_count++;
        return append_new(self->paragraphs, Py_NewRef(self->names->nothing));
    default:
        break;
    }
    if (properties & FORMATTING) {
        if (self->anchor < 0)
            return GOES_ON;
        if (self->open[self->depth - 1].kind != given->kind)
            return GIVES_UP;
        self->depth--;
        return GOES_ON;
    }
    if (!(properties & SCOPED_END))
        return end_plain(self, given);
    index = properties & HEADING ? heading_in_scope(self)
                                 : in_scope(self, given->kind, element == LI ? LIST_SCOPE : SCOPE);
    return index < 0 ? GOES_ON : close_from(self, index);
}

static outcome
end_tag(scan *self, const tag *given)
{
    int element = given->kind->element;
    if (self->templates) {
        if (element == TEMPLATE && --self->templates == 0)
            self->template_is_odd = self->template_formats = 0;
        return GOES_ON;
    }
    if (self->foreign_depth)
        return end_in_svg(self, given);
    if (self->in_select) {
        if (element == SELECT)
            self->in_select = 0;
        else if (element != OPTION && element != OPTGROUP)
            return GIVES_UP;
        return GOES_ON;
    }
    if (self->place != IN_BODY)
        return end_in_head(self, given);
    if (in_table_itself(self))
        return end_in_table(self, given);
    if (given->kind->properties & TABLE_PART || element == TABLE)
        return end_in_cell(self, given);
    return end_in_body(self, given);
}

#endif
