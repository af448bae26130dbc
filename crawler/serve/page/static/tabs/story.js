// Searches for a URL, and tells all that the crawl knows about it.

import { crawlAddress, crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { moment } from "../format.js";
import { filters, query } from "../wanted.js";

const MOST_LINKS = 500;
const TOLD_APART = ["references", "refusals", "refused"];
const KNOWN = [
  ["state", "State"], ["found", "How it was found"], ["waits", "Why it waits"], ["due_at", "Due at"], ["status", "Status"], ["reason", "Reason"],
  ["message", "Message"], ["found_at", "Found at"], ["fetched_at", "Fetched at"], ["hit_count", "Times found"], ["truncated", "Truncated"], ["number", "Number"], ["part", "Part"],
];

const storyAddress = (name, url) => crawlAddress(name, `/url${query({ url })}`);

export const storyLink = (name, url) => h("a", { href: storyAddress(name, url) }, url);

export function story(name, search) {
  const url = search.get("url") ?? "";
  let told = null;
  const find = (event) => {
    event.preventDefault();
    const wish = event.target.querySelector("input").value.trim();
    if (wish) location.hash = storyAddress(name, wish);
  };
  const load = async (signal) => {
    if (!url) return null;
    // A record is searched for once; a URL that waits has none yet.
    if (told === null || told.record === null) told = await get(crawlPath(name, `/url${query({ url })}`), signal);
    return told;
  };
  const form = () => h("form", { class: "filters", role: "search", onsubmit: find },
    h("label", { class: "address" }, "URL", h("input", { type: "text", inputmode: "url", value: url, required: true, maxlength: 20_000, autocomplete: "off", spellcheck: "false" })),
    h("button", { type: "submit", class: "main" }, "Search"));
  return {
    every: 5000,
    load,
    refused: form,
    render: (found) => [form(), found === null
      ? h("p", { class: "empty" }, "Search for a URL to learn where it was found, what became of it and why.")
      : whole(name, found)],
  };
}

function whole(name, { canonical, found, refused, record, searched_all: isAll }) {
  const addAddress = crawlAddress(name, `/add${query({ url: canonical })}`);
  if (found === null) {
    return [h("p", null, "The crawl does not know this URL under its canonical form ", h("code", null, canonical), ".",
      refused && ` Links to it are not followed, for the reason ${refused}.`),
      h("p", null, h("a", { href: addAddress }, "Add it"))];
  }
  return [
    h("h2", null, "What the crawl knows"),
    h("dl", { class: "facts" },
      fact("Canonical URL", canonical),
      found.via && fact("Found on", storyLink(name, found.via)),
      KNOWN.map(([key, title]) => isTold(found[key]) && fact(title, written(key, found[key]))),
      visited(found.visits)),
    h("p", { class: "hint" }, h("a", { href: addAddress }, "Fetch it again …")),
    record === null
      ? found.state !== "pending" && h("p", { class: "hint" }, isAll ? "It has no page record." : "Its page record is too old to be found here.")
      : recorded(name, record),
  ];
}

function visited({ count, last, next_at, next_why }) {
  return [
    fact("Visits", String(count)),
    last.length > 0 && fact("Last visits", h("ul", { class: "addresses" },
      last.map(({ at, changed, after_s }) => h("li", null, moment(at), changed ? " changed" : " not changed", ` since ${after_s.toLocaleString("en")} s before`)))),
    isTold(next_at) && fact("Next visit", [moment(next_at), " ", next_why]),
  ];
}

function recorded(name, record) {
  const { references = [], refused = {} } = record;
  return [
    h("h2", null, "Its page record"),
    h("dl", { class: "facts" },
      Object.entries(record).filter(([key, value]) => !TOLD_APART.includes(key) && isTold(value)).map(([key, value]) =>
        fact(key.replaceAll("_", " "), ["via", "redirect", "duplicate_of"].includes(key) ? storyLink(name, value) : written(key, value))),
      Object.keys(refused).length > 0 && fact("links refused", Object.entries(refused).map(([reason, number]) => `${reason}: ${number}`).join(", "))),
    references.length > 0 && h("details", null,
      h("summary", null, `${references.length} links in scope`),
      h("ul", { class: "addresses" }, references.slice(0, MOST_LINKS).map((each) => h("li", null, storyLink(name, each)))),
      references.length > MOST_LINKS && h("p", { class: "hint" }, `and ${references.length - MOST_LINKS} more`)),
  ];
}

const isTold = (value) => value !== null && value !== undefined && value !== "";

const fact = (title, value) => [h("dt", null, title), h("dd", null, value)];

function written(key, value) {
  if (key.endsWith("_at")) return moment(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
