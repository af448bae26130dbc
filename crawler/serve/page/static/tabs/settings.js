// The configuration of a crawl, and where each value comes from.

import { crawlPath, get } from "/api.js";
import { h } from "/dom.js";
import { count } from "/format.js";
import { scrolling } from "/tables.js";
import { choice, filters, patient, textFilter, wanted } from "/wanted.js";

const LOOK_MS = 10_000;
const WHICH = [["", "all"], ["given", "that are not defaults"], ["waiting", "that need a restart"]];

export function settings(name, search) {
  const wish = wanted(search);
  const load = patient(LOOK_MS, get);
  return {
    load: (signal) => load(crawlPath(name, "/configuration"), signal),
    render: ({ settings: all }, _, again) => {
      const change = (key) => (value) => {
        wish.set(key, value);
        again();
      };
      const shown = all.filter((each) => isWanted(each, wish));
      return [
        filters(
          textFilter("Name or value contains", wish.get("match"), change("match")),
          choice("Settings", wish.get("only"), WHICH, change("only")),
          h("p", { class: "sum", role: "status" }, `${count(shown.length)} of ${count(all.length)} settings`)),
        shown.length > 0 ? table(shown) : h("p", { class: "empty" }, "No setting is like this."),
      ];
    },
  };
}

function isWanted({ key, value, origin, running }, wish) {
  if (wish.get("only") === "given" && origin === "default") return false;
  if (wish.get("only") === "waiting" && running === null) return false;
  const match = wish.get("match").toLowerCase();
  return key.toLowerCase().includes(match) || value.toLowerCase().includes(match);
}

function table(shown) {
  return scrolling("Settings", [["Setting"], ["Value", "wide"], ["From"], ["Meaning", "wide"]], shown.map((each) => [
    h("code", null, each.key),
    [h("code", null, each.value), each.running !== null && h("small", null, "the running crawl has ", h("code", null, each.running), "; restart it")],
    each.origin,
    each.meaning,
  ]));
}
