/* Start tags, by section 13.2.6.4 of the HTML standard. The scan gives up where they depend on what it does not know. */
#ifndef ONCEOVER_SCAN_START_TAGS_H
#define ONCEOVER_SCAN_START_TAGS_H

#include "_scan_end_tags.h"

static outcome
start_anchor(scan *self, const tag *given)
{
    if (self->anchor >= 0) {
        for (int i = self->anchor + 1; i < self->depth; i++)
            if (self->open[i].kind->properties & SPECIAL)
                return GIVES_UP;
        self->depth = self->anchor;
        TRY(end_anchor(self));
    }
    if (given->is_laden)
        return GIVES_UP;
    if (self->has_styles)
        TRY(note_style(self, given));
    const attribute *href = attribute_of(given, "href");
    if (href == NULL)
        /* Wherever the parser opens it again, it is not a link. */
        return GOES_ON;
    TRY(begin_anchor(self, given, href->value));
    self->anchor = self->depth;
    return push(self, given);
}

/* Closes the list item, term or description that the next one ends. */
static outcome
close_item(scan *self, const element_kind *kind)
{
    for (int i = self->depth - 1; i >= 0; i--) {
        int element = element_at(self, i);
        if (element == LI ? kind->element == LI : (element == DD || element == DT) && kind->element != LI)
            return close_from(self, i);
        if (self->open[i].kind->properties & SPECIAL && element != ADDRESS && element != DIV && element != P)
            break;
    }
    return GOES_ON;
}

/* Later <html> tags add attributes to the first. */
static outcome
note_html(scan *self, const tag *given, int is_first)
{
    const attribute *lang = attribute_of(given, "lang");
    if (!is_first && lang == NULL && attribute_of(given, "xml:lang") == NULL)
        return GOES_ON;
    if (self->has_language)
        return GOES_ON;
    if (!is_first && self->has_other_language)
        return GIVES_UP;
    self->has_language = lang != NULL && lang->value.length > 0;
    self->has_other_language = lang != NULL || attribute_of(given, "xml:lang") != NULL;
    return note_element(self, given, NULL);
}

static outcome
start_root(scan *self, const tag *given)
{
    int is_html = given->kind->element == HTML, is_first = is_html ? self->is_empty : self->place != IN_BODY;
    if (!is_html) {
        self->place = IN_BODY;
        self->in_head_noscript = 0;
    }
    self->is_empty = 0;
    if (given->is_laden)
        return GIVES_UP;
    int has_styles = is_styled(self, attribute_of(given, "style"));
    if (has_styles < 0)
        return FAILED;
    if (has_styles && !is_first)
        return GIVES_UP;
    if (has_styles)
        TRY(note_style(self, given));
    if (is_html)
        return note_html(self, given, is_first);
    if (is_first)
        return note_element(self, given, NULL);
    return attribute_of(given, "background") ? GIVES_UP : GOES_ON;
}

/* Whether the tag belongs to the head. */
static int
stays_in_head(scan *self, const tag *given)
{
    int element = given->kind->element, properties = given->kind->properties;
    int may_be_in_noscript =
        (properties & HEAD && properties & (VOID | RAW) && element != SCRIPT && element != BASE) || element == NOSCRIPT;
    if (!may_be_in_noscript)
        self->in_head_noscript = 0;
    if (properties & HEAD)
        return 1;
    return element == NOSCRIPT && self->place == IN_HEAD;
}

static outcome
enter_head_noscript(scan *self, const tag *given)
{
    if (self->in_head_noscript)
        return GOES_ON;
    self->in_head_noscript = 1;
    return note(self, given, NULL);
}

static outcome
start_in_body(scan *self, const tag *given)
{
    int element = given->kind->element, properties = given->kind->properties, in_anchor = self->anchor >= 0;
    switch (element) {
    case HEAD_ELEMENT:
        return GOES_ON;
    case A:
        return start_anchor(self, given);
    case FORM:
        return start_form(self, given);
    case LI:
    case DD:
    case DT:
        TRY(close_item(self, given->kind));
        break;
    case BUTTON: {
        int index = element_in_scope(self, BUTTON, SCOPE);
        if (index >= 0)
            TRY(close_from(self, index));
        break;
    }
    case TABLE:
        if (self->quirks == QUIRKS_UNKNOWN && element_in_scope(self, P, BUTTON_SCOPE) >= 0)
            return GIVES_UP;
        if (self->quirks == NO_QUIRKS)
            TRY(close_paragraph(self));
        break;
    case SVG:
        if (self->has_styles && may_style_shape(given))
            return GIVES_UP;
        TRY(note(self, given, NULL));
        if (!given->is_closed)
            self->foreign[self->foreign_depth++] = (open_element){given->kind, given->name};
        return GOES_ON;
    case SELECT:
        self->in_select = 1;
        return note(self, given, NULL);
    case TEMPLATE:
        self->templates = 1;
        return note(self, given, NULL);
    case RUBY_PART:
        if (top(self) == P)
            return GIVES_UP;
        /* fall through */
    case NOBR:
    case OPTION:
    case OPTGROUP:
    case DIALOG:
    case SEARCH:
        if (in_anchor)
            return GIVES_UP;
        break;
    default:
        break;
    }
    if (properties & BLOCK)
        TRY(close_paragraph(self));
    if (properties & HEADING && self->depth && self->open[self->depth - 1].kind->properties & HEADING)
        return GIVES_UP;
    if (properties & (RAW | REFERENCES))
        return meet_raw(self, given, 1);
    TRY(note(self, given, NULL));
    if (properties & VOID)
        return GOES_ON;
    if (element == PRE)
        TRY(skip_first_line_end(self));
    if (element == P) {
        if (self->paragraph >= 0)
            return GIVES_UP;
        if (self->paragraph_count < MOST_PARAGRAPHS) {
            self->paragraph_count++;
            if (!is_beside(self)) {
                self->paragraph = self->depth;
                self->paragraph_text.length = 0;
            }
        }
    }
    return properties & SPECIAL || in_anchor ? push(self, given) : GOES_ON;
}

static outcome
start_tag(scan *self, const tag *given)
{
    int element = given->kind->element;
    if (self->templates)
        return start_in_template(self, given);
    if (given->has_background ||
        (element == TEMPLATE && (given->is_laden || attribute_of(given, "shadowrootmode") != NULL)))
        return GIVES_UP;
    if (self->foreign_depth)
        return start_in_svg(self, given);
    if (self->in_select)
        return start_in_select(self, given);
    if (given->kind->properties & NEEDS_TREE || element == USE)
        return GIVES_UP;
    if (element == HTML || element == BODY)
        return start_root(self, given);
    self->is_empty = 0;
    if (self->place != IN_BODY) {
        if (element == HEAD_ELEMENT)
            return self->has_styles && attribute_of(given, "style") ? GIVES_UP : GOES_ON;
        if (!stays_in_head(self, given))
            self->place = IN_BODY;
        else if (element == NOSCRIPT)
            return enter_head_noscript(self, given);
    }
    if (in_table_itself(self))
        return start_in_table(self, given);
    if (given->kind->properties & TABLE_PART) {
        int index = cell(self);
        /* Outside of a table the parser ignores it. */
        if (index < 0)
            return GOES_ON;
        TRY(close_from(self, index));
        return start_tag(self, given);
    }
    return start_in_body(self, given);
}

#endif
