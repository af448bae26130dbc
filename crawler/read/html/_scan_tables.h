/* Tags in tables, by sections 13.2.6.4.9 to 13.2.6.4.15 of the HTML standard. */
#ifndef ONCEOVER_SCAN_TABLES_H
#define ONCEOVER_SCAN_TABLES_H

#include "_scan_islands.h"

static outcome start_tag(scan *self, const tag *given);
static outcome end_tag(scan *self, const tag *given);

static outcome
start_form(scan *self, const tag *given)
{
    if (self->form_is_open)
        return GOES_ON;
    int in_table = in_table_itself(self);
    if (!in_table)
        TRY(close_paragraph(self));
    self->form_is_open = 1;
    TRY(note(self, given, NULL));
    return in_table ? GOES_ON : push(self, given);
}

static outcome
start_in_table(scan *self, const tag *given)
{
    int element = given->kind->element, around = top(self);
    if (around == COLGROUP) {
        if (element == COL)
            return note(self, given, NULL);
        if (element == TEMPLATE)
            return GIVES_UP;
        TRY(close_from(self, self->depth - 1));
        return start_tag(self, given);
    }
    if (around == TR) {
        if (element == TD || element == TH) {
            TRY(note(self, given, NULL));
            return push(self, given);
        }
        if (given->kind->properties & TABLE_PART) {
            TRY(close_from(self, self->depth - 1));
            return start_tag(self, given);
        }
    }
    else if (is_section(around)) {
        if (element == TR) {
            TRY(note(self, given, NULL));
            return push(self, given);
        }
        if (element == TD || element == TH) {
            TRY(push_implied(self, "tr"));
            return start_tag(self, given);
        }
        if (given->kind->properties & TABLE_PART) {
            TRY(close_from(self, self->depth - 1));
            return start_tag(self, given);
        }
    }
    else if (given->kind->properties & TABLE_PART) {
        if (element == CAPTION || element == COLGROUP || is_section(element)) {
            TRY(note(self, given, NULL));
            return push(self, given);
        }
        TRY(push_implied(self, element == COL ? "colgroup" : "tbody"));
        return start_tag(self, given);
    }
    if (element == TABLE) {
        TRY(close_from(self, element_in_scope(self, TABLE, TABLE_SCOPE)));
        return start_tag(self, given);
    }
    if (element == STYLE || element == SCRIPT)
        return meet_raw(self, given, 1);
    if (element == TEMPLATE) {
        self->templates = 1;
        return note(self, given, NULL);
    }
    if (element == FORM)
        return start_form(self, given);
    if (element == INPUT) {
        const attribute *type = attribute_of(given, "type");
        return type != NULL && equals_lower(type->value, "hidden") ? note(self, given, NULL) : GIVES_UP;
    }
    return GIVES_UP;
}

static outcome
end_in_table(scan *self, const tag *given)
{
    int element = given->kind->element, around = top(self);
    if (element == P)
        return GIVES_UP;
    if (element == FORM) {
        self->form_is_open = 0;
        return GOES_ON;
    }
    if (around == COLGROUP) {
        if (element == COL)
            return GOES_ON;
        TRY(close_from(self, self->depth - 1));
        return element == COLGROUP ? GOES_ON : end_tag(self, given);
    }
    if (element == around && (around == TR || around == TABLE || is_section(around)))
        return close_from(self, self->depth - 1);
    int closes_more = around != TABLE && (element == TABLE || (around == TR && is_section(element) &&
                                                                in_scope(self, given->kind, TABLE_SCOPE) >= 0));
    if (!closes_more)
        return GOES_ON;
    TRY(close_from(self, self->depth - 1));
    return end_tag(self, given);
}

/* An end tag of a table or a part of it, within a cell or a caption. */
static outcome
end_in_cell(scan *self, const tag *given)
{
    int index = cell(self), element = given->kind->element;
    if (index < 0)
        return GOES_ON;
    if (given->kind == self->open[index].kind)
        return close_from(self, index);
    if (element == COL || element == COLGROUP || element == CAPTION || element == TD || element == TH)
        return GOES_ON;
    if (element_at(self, index) == CAPTION ? element != TABLE : in_scope(self, given->kind, TABLE_SCOPE) < 0)
        return GOES_ON;
    TRY(close_from(self, index));
    return end_tag(self, given);
}

#endif
