// All crawls at a glance.

import { crawlAddress, get, post } from "../api.js";
import { attempt, controls } from "../controls.js";
import { h, say } from "../dom.js";
import { count, moment, rate, size } from "../format.js";
import { rates } from "../rates.js";
import { choice, counter, filters, textFilter, wanted } from "../wanted.js";

const TROUBLES = ["broken", "held", "crashed", "short"];
const STATES = [["", "all"], ["trouble", "in trouble"], ...["running", "paused", "complete", "limit", "stopped", "scheduled"].map((each) => [each, each])];
/** From so many crawls on, the reader can look for some of them. */
const MANY = 8;

export function overview(search) {
  const measure = rates();
  const wish = wanted(search);
  const counted = counter();
  const reload = async () => {
    const { changes } = await post("/reload");
    const told = changes.map(({ name, how }) => `${name} ${how}`).join(", ");
    say(told ? `Read the folder again: ${told}` : "Read the folder again: nothing has changed");
  };
  return {
    title: "Crawls",
    every: 2000,
    load: async (signal) => (await get("/crawls", signal)).crawls,
    render: (crawls, again) => {
      const shown = crawls.filter((crawl) => isWanted(crawl, wish));
      return [
        h("div", { class: "head" },
          h("h1", { tabindex: "-1" }, "Crawls"),
          h("p", { class: "sum" }, summed(crawls)),
          h("button", { type: "button", onclick: () => attempt(reload, again) }, "Read folder again")),
        (crawls.length >= MANY || shown.length < crawls.length) && filters(
          textFilter("Name contains", wish.get("match"), wish.change("match", again)),
          choice("State", wish.get("state"), STATES, wish.change("state", again)),
          counted(`${shown.length} shown`)),
        crawls.length === 0
          ? h("p", { class: "empty" }, "There are no crawls yet. ", h("a", { href: "#/new" }, "Create one"),
            ", or put a configuration into the folder of the daemon.")
          : shown.length === 0
            ? h("p", { class: "empty" }, "No crawl is like this now.")
            : h("ul", { class: "crawls" }, shown.map((crawl) => row(crawl, measure(crawl), again))),
      ];
    },
  };
}

function isWanted({ name, state }, wish) {
  const only = wish.get("state");
  const hasState = only === "" || state === only || (only === "trouble" && TROUBLES.includes(state));
  return hasState && name.toLowerCase().includes(wish.get("match").toLowerCase());
}

function summed(crawls) {
  const running = crawls.filter(({ state }) => state === "running").length;
  const troubled = crawls.filter(({ state }) => TROUBLES.includes(state)).length;
  return `${crawls.length} in all, ${running} running${troubled ? `, ${troubled} in trouble` : ""}`;
}

function row(crawl, perSecond, again) {
  const figure = (name, value) => h("div", null, h("dt", null, name), h("dd", null, value));
  return h("li", { "data-key": crawl.name },
    h("div", { class: "who" },
      h("h2", null, h("a", { href: crawlAddress(crawl.name) }, crawl.name)),
      stateMark(crawl.state),
      crawl.reason && h("p", { class: "why" }, crawl.reason),
      crawl.until && h("p", { class: "why" }, `until ${moment(crawl.until)}`)),
    h("dl", { class: "figures" },
      figure("Rate", rate(crawl.state === "running" ? perSecond : null)),
      figure("Pages", count(crawl.pid || crawl.pages ? crawl.pages : null)),
      figure("Memory", crawl.pid ? size(crawl.memory_bytes) : "–")),
    h("div", { class: "actions" }, controls(crawl, again)));
}

export function stateMark(state) {
  return h("span", { class: `state ${state}` }, state);
}
