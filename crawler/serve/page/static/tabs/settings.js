// The configuration of a crawl, and where each value comes from. It changes settings, too.

import { Refused, crawlAddress, crawlPath, get, post } from "../api.js";
import { attempt } from "../controls.js";
import { ask, h, say } from "../dom.js";
import { count } from "../format.js";
import { scrolling } from "../tables.js";
import { outcome, text } from "./text.js";
import { trouble } from "../troubles.js";
import { choice, filters, patient, textFilter, wanted } from "../wanted.js";

const LOOK_MS = 10_000;
const LONGEST = 65_536;
const WHICH = [["", "all"], ["given", "that are not defaults"], ["waiting", "that need a restart"]];

export function settings(name, search) {
  if (search.get("edit") === "file") return text(name);
  const wish = wanted(search);
  const edit = () => h("p", null, h("a", { href: crawlAddress(name, "/settings?edit=file") }, "Edit the whole file"));
  const load = patient(get, LOOK_MS);
  return {
    load: (signal) => load(crawlPath(name, "/configuration"), signal),
    refused: edit,
    render: ({ settings: all }, _, again) => {
      const shown = all.filter((each) => isWanted(each, wish));
      return [
        edit(),
        filters(
          textFilter("Name or value contains", wish.get("match"), wish.change("match", again)),
          choice("Settings", wish.get("only"), WHICH, wish.change("only", again)),
          h("p", { class: "sum", role: "status" }, `${count(shown.length)} of ${count(all.length)} settings`)),
        shown.length > 0 ? table(name, shown, () => {
          load.forget();
          again();
        }) : h("p", { class: "empty" }, "No setting is like this."),
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

function table(name, shown, again) {
  const columns = [["Setting"], ["Value", "wide"], ["From", "from"], ["Meaning", "wide"], ["Actions"]];
  return scrolling("Settings", columns, shown.map((each) => [
    h("code", null, each.key),
    [h("code", null, each.value), each.running !== null && h("small", null, "the running crawl has ", h("code", null, each.running), "; restart it")],
    each.origin,
    [each.meaning, each.holds === null && h("small", null, each.reason)],
    each.holds !== null && h("button", { type: "button", "aria-label": `Change ${each.key}`, onclick: () => attempt(() => change(name, each), again) }, "Change"),
  ]));
}

/** Ask for another value until one is taken, or the reader gives up. */
async function change(name, { key, value: before, meaning, holds, reason }) {
  const when = holds === "now" ? "It changes at once; if this crawl can't do that, you are told." : `In a crawl that runs it changes at the next start, because ${reason}.`;
  const text = `${meaning} ${when} It is written into the configuration. Leave it empty to unset it.`;
  let value = before === "unset" ? "" : before;
  let problem = null;
  for (;;) {
    const answer = await ask({ title: `Change ${key}`, text, problem, field: "Value, as in a configuration", value, longest: LONGEST, doIt: "Change" });
    if (answer === null) return;
    value = answer.value;
    try {
      say(outcome(key, await post(crawlPath(name, "/configuration"), { settings: [`${key}=${value}`] })));
      return;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      problem = trouble(error);
    }
  }
}
