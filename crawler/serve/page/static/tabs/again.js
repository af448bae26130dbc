// Has a crawl fetch its pages again, or forget them.

import { crawlPath, post } from "../api.js";
import { h, kept } from "../dom.js";
import { count } from "../format.js";
import { trouble } from "../troubles.js";

const DAY_S = 86400;

export function again(name) {
  const host = h("input", { id: "again-host", spellcheck: "false", autocapitalize: "off", placeholder: "all hosts" });
  const matching = h("input", { id: "again-matching", spellcheck: "false", autocapitalize: "off", placeholder: "all URLs" });
  const days = h("input", { id: "again-days", type: "number", min: 0, step: "any", placeholder: "any age" });
  const failed = h("input", { id: "again-failed", type: "checkbox" });
  const excluded = h("input", { id: "again-excluded", type: "checkbox" });
  const whole = h("input", { id: "again-whole", type: "checkbox" });
  const recrawl = h("button", { type: "submit", class: "main" }, "Fetch again");
  const forget = h("button", { type: "button", onclick: () => work("/forget-selected", "forgotten", {}) }, "Forget");
  const told = h("div", { role: "status" });

  const which = () => {
    const found = { host: host.value.trim(), matching: matching.value, failed: failed.checked, excluded: excluded.checked };
    found.before = Date.now() / 1000 - (days.value === "" ? 0 : Number(days.value) * DAY_S);
    return found;
  };
  const work = async (path, done, more) => {
    const body = { which: which(), ...more, after: "" };
    if (path === "/forget-selected" && !body.which.host && !body.which.matching) {
      told.replaceChildren(h("p", { class: "problem" }, "Name a host or a pattern: nothing else says which URLs to forget."));
      return;
    }
    recrawl.disabled = forget.disabled = true;
    let seen = 0, taken = 0, waiting = 0;
    const tell = (end) => h("p", null, `${count(taken)} of ${count(seen)} URLs ${done}${waiting ? `; ${count(waiting)} wait already` : ""}${end}`);
    try {
      while (body.after !== null) {
        const piece = await post(crawlPath(name, path), body);
        seen += piece.looked_at;
        taken += piece.taken;
        waiting += piece.waiting;
        body.after = piece.after;
        told.replaceChildren(tell(body.after === null ? "." : " so far …"));
      }
    } catch (error) {
      told.replaceChildren(tell("."), h("p", { class: "problem" }, trouble(error)));
    }
    recrawl.disabled = forget.disabled = false;
  };
  const submit = (event) => {
    event.preventDefault();
    work("/recrawl", "queued again", { whole: whole.checked });
  };
  const form = h("form", { class: "add", onsubmit: submit },
    h("p", { class: "hint" }, "Settled URLs to which all of this applies. To fetch them again, servers are asked whether the copies are still current. A forgotten URL is fetched again when a page links to it."),
    h("label", { for: "again-host" }, "Host"), host,
    h("label", { for: "again-matching" }, "Pattern that is found in the URL"), matching,
    h("div", { class: "filters" },
      h("label", { for: "again-days" }, "Last visit more than so many days ago", days),
      h("label", { class: "tick", for: "again-failed" }, failed, "Only URLs that were given up"),
      h("label", { class: "tick", for: "again-excluded" }, excluded, "Only URLs that a rule has excluded"),
      h("label", { class: "tick", for: "again-whole" }, whole, "Have whole pages sent")),
    h("p", { class: "actions" }, recrawl, " ", forget), told);
  return { every: 5000, ...kept("again", () => form) };
}
