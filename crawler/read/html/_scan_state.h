/* What a scan knows while it walks through a page. */
#ifndef ONCEOVER_SCAN_STATE_H
#define ONCEOVER_SCAN_STATE_H

#include "_scan_references.h"

enum {
    MOST_OPEN = 256,
    MOST_FOREIGN = 64,
    /* As lexbor.py, document.py and pages.py have them. */
    MOST_PARAGRAPHS = 20,
    MOST_ANCHOR_CHARACTERS = 200,
    MOST_ANCHOR_READ = 20 * MOST_ANCHOR_CHARACTERS,
    MOST_PARAGRAPH_READ = 8 * 300,
    LONGEST_CHARACTER = 4,
    MOST_LINKS = 100000,
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
} module_state;

typedef struct {
    const element_kind *kind;
    span name;
} open_element;

typedef enum { IN_HEAD, BEHIND_HEAD, IN_BODY } place;
typedef enum { QUIRKS, NO_QUIRKS, QUIRKS_UNKNOWN } quirks;

typedef struct {
    const module_state *names;
    PyObject *references; /* names and meanings */
    PyObject *link, *anchored, *embedded, *styled; /* what makes a link, and its kinds */
    PyObject *kind_of_rel; /* what a <link> of one rel is to its page; None of one that leads nowhere */
    PyObject *meta_names; /* of which the content is read */
    PyObject *found, *elements, *paragraphs, *styles; /* links; what else is read, and how many links come before */
    int all_scripts, has_styles;
    const byte *at, *end;
    tag tag;
    place place;
    quirks quirks;
    int has_begun; /* a doctype would come too late */
    int is_empty, in_head_noscript, form_is_open, in_select;
    int has_language, has_other_language; /* the root, by lang, or by an empty one or xml:lang */
    int templates, template_is_odd, template_formats;
    open_element open[MOST_OPEN];
    int depth;
    open_element foreign[MOST_FOREIGN];
    int foreign_depth;
    int anchor, paragraph; /* where they stand among what is open; -1 if none does */
    Py_ssize_t anchor_slot;
    span anchor_href, anchor_rel;
    int paragraph_count;
    int noted; /* links but those of anchors; few bytes of a srcset or a style sheet may hold millions */
    buffer anchor_text, paragraph_text, style_text, lines, scratch;
} scan;

#endif
