// The pages that were fetched last, or those that failed last.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { count, moment, size, took } from "../format.js";
import { scrolling } from "../tables.js";
import { storyLink } from "./story.js";
import { choice, filters, latest, patient, query, wanted } from "../wanted.js";

const KINDS = [["", "all"], ["failed", "failures"]];
const LIMITS = [["50", "50"], ["200", "200"], ["1000", "1,000"]];
// Many records may have to be read to find a failure.
const LOOK_MS = 4000;

export function pages(name, search) {
  const wish = wanted(search);
  const load = patient(get, LOOK_MS);
  const path = () => crawlPath(name, `/pages${query({ failed: wish.get("only") === "failed", limit: wish.get("limit") || "50" })}`);
  return {
    load: (signal) => latest(path, (asked) => load(asked, signal)),
    render: ({ pages: found, searched_all: isAll }, _, again) => {
      return [
        filters(
          choice("Show", wish.get("only"), KINDS, wish.change("only", again)),
          choice("At most", wish.get("limit") || "50", LIMITS, wish.change("limit", again)),
          h("p", { class: "sum" }, `${count(found.length)} shown, the newest first`)),
        found.length > 0 ? table(name, found) : h("p", { class: "empty" },
          wish.get("only") ? "No page has failed." : "There are no page records yet. A crawl with output.records = false writes none."),
        !isAll && h("p", { class: "hint" }, "Only the newest records were searched; there may be older ones."),
      ];
    },
  };
}

function table(name, found) {
  const columns = [["Fetched"], ["Answer"], ["URL", "address"], ["Type"], ["Size", "number"], ["Took", "number"]];
  return scrolling("Pages", columns, found.map((page) => [
    moment(page.fetched_at),
    answer(page),
    [storyLink(name, page.url), page.title && h("small", null, page.title)],
    page.content_type ?? "–",
    size(page.size_bytes),
    took(page.duration_s),
  ]));
}

function answer({ state, status, reason, message }) {
  if (state === "done") return String(status ?? state);
  return [h("span", { class: state === "failed" ? "error" : null }, status ? `${status} ${state}` : state),
    h("small", null, [reason, message].filter(Boolean).join(": "))];
}
