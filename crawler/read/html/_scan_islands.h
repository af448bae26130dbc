/* Tags under other rules: in templates, which are not part of the page, in SVG and in <select>. */
#ifndef ONCEOVER_SCAN_ISLANDS_H
#define ONCEOVER_SCAN_ISLANDS_H

#include "_scan_content.h"

static outcome
start_in_template(scan *self, const tag *given)
{
    int element = given->kind->element;
    if (element == TEMPLATE) {
        self->templates++;
        return self->template_is_odd ? GIVES_UP : GOES_ON;
    }
    /* After a <col>, <style> may not be an element. */
    if (element == SVG || element == SELECT || element == COL)
        self->template_is_odd = 1;
    else if (given->kind->properties & NEEDS_TREE && element != IMAGE)
        return GIVES_UP;
    /* The end of the template might not close all of these, and the parser might open them again. */
    if (given->kind->properties & MARKER &&
        (self->anchor >= 0 || self->template_formats || !(given->kind->properties & TABLE_PART)))
        return GIVES_UP;
    if (given->kind->properties & FORMATTING)
        self->template_formats = 1;
    if (!(given->kind->properties & (RAW | REFERENCES)))
        return GOES_ON;
    return self->template_is_odd ? GIVES_UP : meet_raw(self, given, 0);
}

static outcome
start_in_svg(scan *self, const tag *given)
{
    const element_kind *kind = given->kind;
    const element_kind *parent = self->foreign[self->foreign_depth - 1].kind;
    int element = kind->element, is_read = element == IMAGE || element == FEIMAGE || element == USE;
    if (parent->element == TITLE || parent->element == DESC || parent->element == STYLE)
        return GIVES_UP;
    if (element == TITLE) {
        if (!(parent->properties & SVG_PARENT))
            return GIVES_UP;
    }
    else if (element != STYLE && !is_read && kind->properties & (BREAKS_OUT | NEEDS_TREE | READ | SPECIAL | RAW))
        return GIVES_UP;
    if (self->has_styles) {
        if (may_style_shape(given))
            return GIVES_UP;
        TRY(note_style(self, given));
    }
    if (is_read)
        TRY(note_element(self, given, NULL));
    if (given->is_closed)
        return element == STYLE ? GIVES_UP : GOES_ON;
    if (self->foreign_depth == MOST_FOREIGN)
        return GIVES_UP;
    self->foreign[self->foreign_depth++] = (open_element){kind, given->name};
    if (element == STYLE)
        self->style_text.length = 0;
    return GOES_ON;
}

static int
same_name(span left, span right)
{
    if (left.length != right.length)
        return 0;
    for (ptrdiff_t i = 0; i < left.length; i++) {
        byte a = left.at[i], b = right.at[i];
        a = a >= 'A' && a <= 'Z' ? a | 0x20 : a;
        b = b >= 'A' && b <= 'Z' ? b | 0x20 : b;
        if (a != b)
            return 0;
    }
    return 1;
}

static outcome
end_style_in_svg(scan *self, const open_element *last)
{
    PyObject *text = string_of(self->style_text.at, self->style_text.length);
    if (text == NULL)
        return none_made();
    tag style = {.kind = last->kind, .name = last->name};
    outcome noted = note_element(self, &style, text);
    Py_DECREF(text);
    return noted;
}

static outcome
end_in_svg(scan *self, const tag *given)
{
    const open_element *last = &self->foreign[self->foreign_depth - 1];
    if (!same_name(last->name, given->name))
        return GIVES_UP;
    self->foreign_depth--;
    return last->kind->element == STYLE ? end_style_in_svg(self, last) : GOES_ON;
}

static outcome
start_in_select(scan *self, const tag *given)
{
    int element = given->kind->element;
    if (element == OPTION || element == OPTGROUP)
        return self->has_styles ? note_style(self, given) : GOES_ON;
    return GIVES_UP;
}

#endif
