// What rules have refused, with examples.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { count } from "../format.js";
import { scrolling } from "../tables.js";
import { storyLink } from "./story.js";
import { filters, latest, query, textFilter, wanted } from "../wanted.js";

const ROWS = 100;

export function refused(name, search) {
  const wish = wanted(search);
  const path = () => crawlPath(name, `/refused${query({ match: wish.get("match"), limit: ROWS })}`);
  return {
    every: 5000,
    load: async (signal) => {
      const [found, status] = await Promise.all([latest(path, (asked) => get(asked, signal)), get(crawlPath(name, "/status"), signal)]);
      return { found, run: status.run };
    },
    render: ({ found: { refused: rows, left }, run }, _, again) => [
      filters(textFilter("Host contains", wish.get("match"), wish.change("match", again))),
      h("h2", null, "By traps and quotas"),
      rows.length > 0
        ? scrolling("Refused by traps and quotas", [["Rule"], ["Host"], ["Links", "number"], ["Examples", "wide"]], rows.map((each) => [
          each.rule, each.host ?? "–", count(each.count),
          h("ul", { class: "addresses" }, each.examples.map((url) => h("li", null, storyLink(name, url))))]))
        : h("p", { class: "empty" }, "Traps and quotas have refused no link."),
      left > 0 && h("p", { class: "hint" }, `${count(left)} more; name a host to see them.`),
      h("h2", null, "By all rules, in this run"),
      byRule(run),
    ],
  };
}

function byRule(run) {
  if (run === null) return h("p", { class: "empty" }, "The crawl does not run.");
  const rows = Object.entries(run.refused).sort(([, one], [, other]) => other - one);
  if (rows.length === 0) return h("p", { class: "empty" }, "No link was refused in this run.");
  return scrolling("Refused by all rules", [["Rule"], ["Links", "number"]], rows.map(([rule, number]) => [rule, count(number)]));
}
