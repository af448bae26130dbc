// One crawl: its head, and the tab that the address names.

import { Refused, crawlAddress, crawlPath, get } from "../api.js";
import { controls, removal } from "../controls.js";
import { h } from "../dom.js";
import { moment, until } from "../format.js";
import { add } from "../tabs/add.js";
import { again } from "../tabs/again.js";
import { changes } from "../tabs/changes.js";
import { exports } from "../tabs/exports.js";
import { hosts } from "../tabs/hosts.js";
import { log } from "../tabs/log.js";
import { pages } from "../tabs/pages.js";
import { parts } from "../tabs/parts.js";
import { refused } from "../tabs/refused.js";
import { report } from "../tabs/report.js";
import { search as find } from "../tabs/search.js";
import { settings } from "../tabs/settings.js";
import { story } from "../tabs/story.js";
import { summary } from "../tabs/summary.js";
import { visited } from "../tabs/visited.js";
import { trouble } from "../troubles.js";
import { stateMark } from "./overview.js";
import { progress } from "./progress.js";

const TABS = {
  progress: ["Progress", progress],
  summary: ["Summary", summary],
  hosts: ["Hosts", hosts],
  pages: ["Pages", pages],
  url: ["Find a URL", story],
  search: ["Search", find],
  refused: ["Refused", refused],
  visited: ["Visited set", visited],
  parts: ["Parts", parts],
  report: ["Report", report],
  changes: ["Changes", changes],
  exports: ["Exports", exports],
  add: ["Add URLs", add],
  again: ["Come back", again],
  settings: ["Configuration", settings],
  log: ["Log", log],
};
const UNAUTHORIZED = 401;

export function crawl(name, wanted, search) {
  const chosen = Object.hasOwn(TABS, wanted) ? wanted : "progress";
  const [title, make] = TABS[chosen];
  const tab = make(name, search);
  let known = null;
  let isPlaced = false;
  return {
    title: `${name}: ${title.toLowerCase()}`,
    every: tab.every ?? 2000,
    load: async (signal) => {
      const asked = get(crawlPath(name), signal).then((about) => (known = about));
      const [about, found] = await Promise.all([asked, loaded(tab, signal)]);
      return { about, found };
    },
    // What takes long keeps nobody from another tab.
    waiting: (again) => [known ? head(known, again) : h("h1", { tabindex: "-1" }, name), tabs(name, chosen)],
    render: ({ about, found }, again) => [
      head(about, again),
      tabs(name, chosen),
      h("section", { class: `tab ${chosen}` }, found?.failure ? [tab.refused?.(), h("p", { class: "problem", role: "alert" }, trouble(found.failure))] : tab.render(found, about, again)),
    ],
    shown: (content, { found }) => {
      // Where not all tabs have room, the chosen one is in sight.
      if (!isPlaced) content.querySelector(".tabs [aria-current]").scrollIntoView({ block: "nearest", inline: "center" });
      isPlaced = true;
      if (!found?.failure) tab.shown?.(content, found);
    },
  };
}

/** What a tab needs. If it can't be had, the head of the crawl is shown all the same. */
async function loaded(tab, signal) {
  try {
    return await tab.load?.(signal);
  } catch (error) {
    if (!(error instanceof Refused) || error.status === UNAUTHORIZED) throw error;
    return { failure: error };
  }
}

function head(about, again) {
  return h("div", { class: "head" },
    h("h1", { tabindex: "-1" }, about.name),
    stateMark(about.state),
    h("div", { class: "actions" }, controls(about, again), removal(about, again)),
    about.reason && h("p", { class: "why" }, about.reason, about.until && `, until ${moment(about.until)}`, about.until && until(about.until) && ` (in ${until(about.until)})`),
    about.lines.length > 0 && h("pre", { class: "lines-told", tabindex: "0", role: "region", "aria-label": "Messages" }, about.lines.join("\n")));
}

function tabs(name, chosen) {
  return h("nav", { class: "tabs", "aria-label": `Crawl ${name}` },
    Object.entries(TABS).map(([key, [title]]) =>
      h("a", { href: crawlAddress(name, `/${key}`), "aria-current": key === chosen ? "page" : null }, title)));
}
