// The hosts of a crawl: what each does, or why it waits and until when. The daemon sends them page by page.

import { crawlPath, get, post } from "../api.js";
import { attempt } from "../controls.js";
import { ask, h, say } from "../dom.js";
import { count, moment, until } from "../format.js";
import { scrolling } from "../tables.js";
import { stateMark } from "../views/overview.js";
import { choice, counter, filters, latest, query, textFilter, wanted } from "../wanted.js";

const ROWS = 50;
const STATES = [["", "all"], ...["in-process", "ready", "held-back", "snoozed", "inactive", "retired"].map((each) => [each, each])];

export function hosts(name, search) {
  const wish = wanted(search);
  const counted = counter();
  // Where the pages begin, up to the one that is shown.
  let begins = [null];
  const path = () => crawlPath(name, `/hosts${query({
    match: wish.get("match"), state: wish.get("state"), limit: ROWS, after: begins.at(-1) && JSON.stringify(begins.at(-1)),
  })}`);
  return {
    load: (signal) => latest(path, (asked) => get(asked, signal)),
    render: (found, _, again) => {
      const turn = (to) => () => {
        begins = to;
        again();
      };
      const begin = turn([null]);
      return [
        filters(
          textFilter("Name contains", wish.get("match"), wish.change("match", begin)),
          choice("State", wish.get("state"), STATES, wish.change("state", begin)),
          counted(numberOf(found, begins.length))),
        found.hosts.length > 0 ? table(name, found.hosts, again) : h("p", { class: "empty" }, emptiness(wish)),
        h("div", { class: "pager" },
          h("button", { type: "button", disabled: begins.length === 1, onclick: turn(begins.slice(0, -1)) }, "Previous"),
          h("button", { type: "button", disabled: found.after === null, onclick: turn([...begins, found.after]) }, "Next"),
          h("span", { class: "hint" }, `Page ${begins.length}`)),
      ];
    },
  };
}

function numberOf({ hosts: shown, left, after }, page) {
  if (page === 1 && left !== null) return shown.length + left === 1 ? "1 host" : `${count(shown.length + left)} hosts`;
  return after === null ? "the last hosts" : "";
}

const emptiness = (wish) =>
  wish.get("match") || wish.get("state") ? "No host is like this now." : "No host has URLs in its queue. Those that wait for another attempt are in none.";

function table(name, found, again) {
  const columns = [["Host"], ["State"], ["Why it waits", "wide"], ["Until"], ["URLs", "number"], ["Spent", "number"], ["Failures", "number"], ["Actions"]];
  return scrolling("Hosts", columns, found.map((host) => [
    [host.host, host.part !== undefined && h("small", null, `part ${host.part}`)],
    stateMark(host.state),
    host.waits,
    host.wake_at ? [moment(host.wake_at), h("small", null, until(host.wake_at) && `in ${until(host.wake_at)}`)] : "–",
    count(host.size),
    count(host.spent),
    count(host.error_streak ?? 0),
    h("div", { class: "row-actions" }, actions(name, host, again)),
  ]), found.map(({ part, key }) => `${part} ${key}`));
}

/** Both ask before they do something, because rows move while people aim. */
function actions(name, { host, state }, again) {
  const send = async (verb, body) => {
    const { queues } = await post(crawlPath(name, `/hosts/${encodeURIComponent(host)}/${verb}`), body);
    return queues.length === 1 ? host : `${count(queues.length)} queues of ${host}`;
  };
  const retire = async () => {
    const text = "Nothing more is fetched from it. Its URLs are kept, and it can serve again.";
    if (await ask({ title: `Retire ${host}`, text, doIt: "Retire" })) say(`${await send("retire")}: retired`);
  };
  const unretire = async () => {
    const text = "Its URLs are fetched again.";
    if (await ask({ title: `Serve ${host} again`, text, doIt: "Serve again" })) say(`${await send("unretire")}: serves again`);
  };
  const budget = async () => {
    const answer = await ask({
      title: `Budget of ${host}`,
      text: "What it may spend in all; over it, it is retired. Leave it empty for the general budget.",
      field: "Cost (a whole number)",
      doIt: "Set budget",
    });
    if (answer === null) return;
    const text = answer.value.trim().replaceAll(",", "");
    if (!/^\d*$/.test(text)) throw new Error(`expected a whole number as the budget, or nothing, found ${answer.value}`);
    say(`${await send("budget", { cost: text === "" ? null : Number(text) })}: ${text === "" ? "the general budget holds" : `may spend ${count(Number(text))}`}`);
  };
  const button = (text, doIt) =>
    h("button", { type: "button", "aria-label": `${text} ${host}`, onclick: () => attempt(doIt, again) }, text);
  return [state === "retired" ? button("Serve again", unretire) : button("Retire", retire), button("Budget", budget)];
}
