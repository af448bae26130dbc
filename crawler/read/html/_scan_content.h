/* Text, and elements that contain text only. */
#ifndef ONCEOVER_SCAN_CONTENT_H
#define ONCEOVER_SCAN_CONTENT_H

#include "_scan_open.h"

static int
is_blank(const byte *at, const byte *end)
{
    return skip(at, end, SPACE) == end;
}

/* Adds text to that of an anchor or a paragraph, unless there is enough of it. */
static outcome
add_text(scan *self, buffer *into, ptrdiff_t most, span text, int has_references)
{
    if (into->length > LONGEST_CHARACTER * most)
        return GOES_ON;
    int failed = has_references ? append_text(into, text, self->references, 0) : append(into, text.at, text.length);
    return failed ? FAILED : GOES_ON;
}

static inline outcome
note_text(scan *self, span text, int has_references)
{
    if (self->anchor >= 0)
        TRY(add_text(self, &self->anchor_text, MOST_ANCHOR_READ, text, has_references));
    if (self->paragraph >= 0)
        TRY(add_text(self, &self->paragraph_text, MOST_PARAGRAPH_READ, text, has_references));
    return GOES_ON;
}

/* Part of a style sheet within SVG, where it is ordinary text. */
static int
note_style_text(scan *self, span text)
{
    if (normalize_lines(self, &text) < 0)
        return -1;
    return append_text(&self->style_text, text, self->references, 0);
}

static outcome
meet_text(scan *self, const byte *from, const byte *to)
{
    if (self->templates)
        return GOES_ON;
    if (self->place != IN_BODY && !is_blank(from, to)) {
        /* The reference may be white space, which would change nothing. */
        if (*skip(from, to, SPACE) == '&')
            return GIVES_UP;
        self->place = IN_BODY;
        self->has_begun = 1;
        self->is_empty = self->in_head_noscript = 0;
    }
    span text = {from, to - from};
    if (self->foreign_depth) {
        if (self->foreign[self->foreign_depth - 1].kind->element == STYLE)
            return note_style_text(self, text) < 0 ? FAILED : GOES_ON;
    }
    else if (in_table_itself(self) && !is_blank(from, to))
        return GIVES_UP;
    return note_text(self, text, 1);
}

/* Skips the line end at the start of a <pre> or <textarea>, even if it is written as a reference. */
static outcome
skip_first_line_end(scan *self)
{
    const byte *from = self->at;
    self->at = skip_line_end(from, self->end);
    int is_reference = self->at == from && self->end - from >= 2 && *from == '&' && (from[1] == '#' || from[1] == 'N');
    return is_reference && (self->anchor >= 0 || self->paragraph >= 0) ? GIVES_UP : GOES_ON;
}

/* Reads the content of an element that contains text only, and its end tag. */
static outcome
meet_raw(scan *self, const tag *given, int is_noted)
{
    if (given->kind->element == TEXTAREA)
        TRY(skip_first_line_end(self));
    const byte *from = self->at;
    const byte *to = given->kind->element == SCRIPT ? script_end(from, self->end, given->name)
                                                    : raw_end(from, self->end, given->name);
    int has_references = given->kind->properties & REFERENCES;
    if (to == NULL)
        return GIVES_UP;
    tag ends;
    self->at = read_attributes(to + 2 + given->name.length, self->end, &ends);
    if (self->at == NULL)
        return GIVES_UP;
    if (!is_noted)
        return GOES_ON;
    span content = {from, to - from};
    PyObject *text = NULL;
    int element = given->kind->element;
    if (element == STYLE) {
        int noted = note_css(self, content);
        if (noted < 0)
            return FAILED;
        if (noted) {
            return self->has_styles ? note_style(self, given) : GOES_ON;
        }
    }
    if (element == STYLE || element == TITLE || (element == SCRIPT && self->all_scripts)) {
        text = text_of(self, content, has_references ? 0 : -1, 0);
        if (text == NULL)
            return none_made();
    }
    outcome noted = note(self, given, text);
    Py_XDECREF(text);
    TRY(noted);
    return element == SCRIPT || element == STYLE ? GOES_ON : note_text(self, content, has_references);
}

#endif
