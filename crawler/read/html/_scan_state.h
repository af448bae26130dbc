/* The state of a scan. */
#ifndef ONCEOVER_SCAN_STATE_H
#define ONCEOVER_SCAN_STATE_H

#include "_scan_sequence.h"

enum {
    MOST_OPEN = 256,
    MOST_FOREIGN = 64,
    /* The same limits as in lexbor.py, element_reader.py and abstract.py. */
    MOST_PARAGRAPHS = 20,
    MOST_ANCHOR_CHARACTERS = 200,
    MOST_ANCHOR_READ = 20 * MOST_ANCHOR_CHARACTERS,
    MOST_PARAGRAPH_READ = 8 * 300,
    LONGEST_CHARACTER = 4,
    MOST_LINKS = 100000,
    /* Of links, of elements, of paragraphs and of styles. A page with more needs a parser, which gets only a part of it. */
    MOST_FOUND = 150000,
};

typedef enum { FAILED = -1, GOES_ON, GIVES_UP } outcome;

#define TRY(step)                                                                                                      \
    do {                                                                                                               \
        outcome tried_ = (step);                                                                                       \
        if (tried_ != GOES_ON)                                                                                         \
            return tried_;                                                                                             \
    } while (0)

static const char *const ATTRIBUTES[] = {
    "href", "xlink:href", "src", "srcset", "data-src", "data-srcset", "data-original", "data-lazy-src",
    "data-lazy-srcset", "imagesrcset", "content", "background", "poster", "data", "action", "formaction", "srcdoc", /* these hold URLs */
    "rel", "alt", "type", "title", "http-equiv", "name", "property", "lang", "xml:lang",
};
enum { KNOWN_ATTRIBUTES = sizeof(ATTRIBUTES) / sizeof(ATTRIBUTES[0]), URL_ATTRIBUTES = 17 };

static packed_name packed_attributes[KNOWN_ATTRIBUTES];

typedef struct {
    PyObject *attributes[KNOWN_ATTRIBUTES];
    PyObject *elements[KNOWN];
    PyObject *nothing, *blank;
    PyObject *table_type;
} module_state;

typedef struct {
    const element_kind *kind;
    span name;
} open_element;

typedef enum { IN_HEAD, BEHIND_HEAD, IN_BODY } place;
typedef enum { QUIRKS, NO_QUIRKS, QUIRKS_UNKNOWN } quirks;

typedef struct {
    const module_state *names;
    PyObject *references; /* names and their characters */
    PyObject *anchored, *embedded, *styled; /* the kinds of links */
    PyObject *kind_of_rel; /* the kind of a <link> by its rel; None if it is not a link */
    PyObject *meta_names; /* whose content we read */
    link_table *found;
    PyObject *elements, *paragraphs, *styles; /* `elements`: each with the number of links before it */
    PyObject *canonical; /* the href of <link rel=canonical> */
    int all_scripts, has_styles, reads_links; /* whether element_reader.py reads a <link> */
    const byte *at, *end;
    tag tag;
    place place;
    quirks quirks;
    int has_begun; /* a doctype counts no more */
    int is_empty, in_head_noscript, form_is_open, in_select;
    int has_language, has_other_language; /* set by lang; by an empty lang or xml:lang */
    int templates, template_is_odd, template_formats;
    open_element open[MOST_OPEN];
    int depth;
    open_element foreign[MOST_FOREIGN];
    int foreign_depth;
    int anchor, paragraph; /* indexes of open elements; -1 if none is open */
    Py_ssize_t anchor_slot;
    span anchor_href, anchor_rel;
    int paragraph_count;
    int noted; /* links without anchors; a few bytes of a srcset or a style sheet may contain millions */
    buffer anchor_text, paragraph_text, style_text, lines, scratch;
} scan;

#endif
