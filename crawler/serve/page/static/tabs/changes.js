// What has changed since an earlier run of the schedule or a moment, or from another crawl to this one. All records are
// read for it, so it is made when the reader asks.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { count, moment, size } from "../format.js";
import { scrolling } from "../tables.js";
import { storyLink } from "./story.js";
import { tile } from "../views/progress.js";
import { choice, filters, latest, patient, query, textWish, wanted } from "../wanted.js";

/** Before the name of a crawl; no run and no moment begins so. */
const CRAWL = "/";
const ROWS = 200;
const SPANS = [["-86400", "a day ago"], ["-604800", "a week ago"], ["-2592000", "30 days ago"]];
const ONLY = [["", "all"], ["changed", "changed pages"], ["new", "new pages"], ["gone", "pages that are gone"], ["answer", "other answers"],
  ["status", "another status"], ["title", "another title"], ["text", "another text"], ["noindex", "another noindex"], ["canonical", "another canonical URL"]];

export function changes(name, search) {
  const wish = wanted(search);
  const make = patient(get);
  let runs = [];
  let others = [];
  const since = () => wish.get("since") || (runs[0] ?? "-604800");
  const isCrawl = () => since().startsWith(CRAWL);
  const path = () => {
    const side = runs.includes(since()) ? { run: since() } : isCrawl() ? { against: since().slice(CRAWL.length), map: wish.get("map") } : { since: since() };
    return crawlPath(name, `/diff${query({ ...side, only: wish.get("only"), limit: ROWS })}`);
  };
  let choose = () => [];
  return {
    every: 10_000,
    load: async (signal) => {
      runs = earlierRuns(await get(crawlPath(name), signal));
      others = (await get("/crawls", signal)).crawls.map((each) => each.name).filter((each) => each !== name);
      return latest(path, (asked) => make(asked, signal));
    },
    refused: () => choose(),
    render: (found, _, again) => {
      choose = () => filters(
        choice("Compare with", since(), [...runs.map((run) => [run, `the run ${run}`]), ...SPANS, ...others.map((each) => [CRAWL + each, `the crawl ${each}`])], wish.change("since", again)),
        isCrawl() && textWish("How URLs of that crawl begin, and URLs of this one", "http://staging.test/ http://site.test/", wish.get("map"), wish.change("map", again)),
        choice("Show", wish.get("only"), ONLY, wish.change("only", again)));
      const renew = () => {
        make.forget();
        again();
      };
      return [choose(), h("p", { class: "actions" }, h("button", { type: "button", onclick: renew }, "Make it anew")), ...shown(name, found, isCrawl() ? wish.get("map") : "")];
    },
  };
}

/** The names of the directories of earlier runs of the schedule, the newest first. */
function earlierRuns({ directory, runs }) {
  const others = runs.map((run) => run.directory).filter((each) => each !== directory);
  return [...new Set(others.map((each) => each.split("/").pop()))].reverse();
}

function shown(name, { before, after, same, counts, differences, more, notes }, map) {
  const of = (kind) => differences.filter((each) => each.kind === kind);
  const url = (each) => storyLink(name, each.url);
  const table = (kind, title, columns, cells) => of(kind).length > 0 && [
    h("h2", null, title),
    scrolling(title, columns, of(kind).map(cells)),
    more[kind] > 0 && h("p", { class: "hint" }, `${count(more[kind])} more; `, h("code", null, command(before, after) + map.replaceAll("'", "%27").replaceAll(/\s*(\S+)\s+(\S+)/g, " --map '$1' '$2'")), " prints all."),
  ];
  return [
    h("dl", { class: "tiles" },
      tile("Pages", count(after.pages), `${count(before.pages)} ${before.until === null ? `in ${before.directory.split("/").pop()}` : `until ${moment(before.until)}`}`),
      tile("Same", count(same)), tile("Changed", count(counts.changed)), tile("New", count(counts.new)), tile("Gone", count(counts.gone)),
      tile("Other answers", count(counts.answer), "of URLs that are no pages")),
    notes.length > 0 && h("ul", { class: "hint" }, notes.map((note) => h("li", null, note))),
    differences.length === 0 && h("p", { class: "empty" }, "Nothing like this has changed."),
    table("changed", "Changed pages", [["URL", "wide"], ["What has changed", "wide"]], (each) => [url(each), h("ul", null, each.fields.map((field) => h("li", null, changed(field, each))))]),
    table("new", "New pages", [["URL", "wide"], ["Title", "wide"], ["Before"]], (each) => [url(each), each.after?.title ?? "–", answer(each.before)]),
    table("gone", "Pages that are gone", [["URL", "wide"], ["Now"], ["Same body at", "wide"]], (each) => [url(each), answer(each.after), each.moved_to ? storyLink(name, each.moved_to) : "–"]),
    table("answer", "Other answers", [["URL", "wide"], ["Before", "wide"], ["Now", "wide"]], (each) => [url(each), answer(each.before), answer(each.after)]),
  ];
}

const command = (before, after) => `onceover diff ${before.until === null ? `${before.directory} ${after.directory}` : `${after.directory} --since ${before.until}`}`;

/** What a URL was, in words; a redirect with its target. */
function answer(found) {
  if (!found) return "not met";
  return [found.status ?? found.reason ?? found.state, found.redirect && `to ${found.redirect}`].filter(Boolean).join(" ");
}

function changed(field, { before, after }) {
  if (field === "text") return "text: its fingerprint differs";
  if (field === "body") return `body: ${size(before.size_bytes)} → ${size(after.size_bytes)}`;
  return `${field}: ${written(before[field])} → ${written(after[field])}`;
}

function written(value) {
  if (typeof value === "boolean" || value === undefined) return value ? "yes" : "none";
  return typeof value === "string" ? `“${value}”` : String(value ?? "none");
}
