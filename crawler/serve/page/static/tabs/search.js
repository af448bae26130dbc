// Searches the pages of a crawl by their words.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { count, moment, size } from "../format.js";
import { storyLink } from "./story.js";
import { latest, patient, query, wanted } from "../wanted.js";

const AT_ONCE = 20;
// A page that was fetched since is found then.
const LOOK_MS = 30_000;

export function search(name, given) {
  const wish = wanted(given);
  const load = patient(get, LOOK_MS);
  const from = () => Number(wish.get("from")) || 0;
  const path = () => wish.get("words") && crawlPath(name, `/search${query({ words: wish.get("words"), limit: AT_ONCE, skip: from() })}`);
  let form = () => [];
  return {
    every: 2_000,
    load: (signal) => latest(path, async (asked) => {
      const found = asked ? await load(asked, signal) : null;
      // Each search reads on for some seconds.
      if (found && found.read_bytes < found.records_bytes) load.forget();
      return found;
    }),
    refused: () => form(),
    render: (found, _, again) => {
      const find = (event) => {
        event.preventDefault();
        wish.change("from", () => {})("");
        wish.change("words", again)(event.target.querySelector("input").value.trim());
      };
      form = () => h("form", { class: "filters", role: "search", onsubmit: find },
        h("label", { class: "address" }, "Words", h("input", { type: "search", value: wish.get("words"), required: true, maxlength: 1000, autocomplete: "off" })),
        h("button", { type: "submit", class: "main" }, "Search"));
      const turn = (skip) => () => wish.change("from", again)(skip > 0 ? String(skip) : "");
      return [form(), found === null
        ? h("p", { class: "empty" }, "Pages must have each word. Also: \"two words\" one after the other, beginn*, this OR that, -without, title:word, path:word, site:example.org. The first search reads all records, which takes a while.")
        : shown(name, found, from(), turn)];
    },
  };
}

function shown(name, { hits, pages, searched, notes, read_bytes: read, records_bytes: all }, skip, turn) {
  const place = hits.length > 0 ? `${count(skip + 1)} to ${count(skip + hits.length)} of ${count(pages)} pages` : "No page has this";
  return [
    read < all && h("p", { "data-key": "progress" }, h("progress", { value: read, max: all, "aria-label": `Records read: ${size(read)} of ${size(all)}` })),
    h("p", { class: "sum", role: "status" }, `${place}; ${count(searched)} were searched`),
    h("ol", { class: "hits", start: skip + 1 }, hits.map((hit) => h("li", { "data-key": hit.url },
      hit.title && h("h2", null, marked(hit.title, hit.title_marks)),
      h("p", { class: "address" }, storyLink(name, hit.url)),
      hit.excerpt && h("p", null, marked(hit.excerpt, hit.excerpt_marks)),
      h("small", null, moment(hit.fetched_at), hit.later_failure && `, as it was then; the last visit got: ${hit.later_failure}`)))),
    h("p", { class: "actions" },
      skip > 0 && h("button", { type: "button", onclick: turn(skip - AT_ONCE) }, "Earlier"), " ",
      skip + hits.length < pages && h("button", { type: "button", onclick: turn(skip + AT_ONCE) }, "Further")),
    notes.map((note) => h("p", { class: "hint" }, note)),
  ];
}

/** A text in which the words are marked that were searched. Places count characters, which may be two units of a string. */
function marked(text, marks) {
  const characters = [...text];
  const piece = (begin, end) => characters.slice(begin, end).join("");
  let at = 0;
  const pieces = marks.flatMap(([begin, end]) => {
    const before = piece(at, begin);
    at = end;
    return [before, h("mark", null, piece(begin, end))];
  });
  return [...pieces, piece(at)];
}
