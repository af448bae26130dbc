// Adds URLs to a crawl, and tells what became of each.

import { crawlPath, post } from "../api.js";
import { h, kept } from "../dom.js";
import { count } from "../format.js";
import { scrolling } from "../tables.js";
import { storyLink } from "./story.js";
import { trouble } from "../troubles.js";

const AT_ONCE = 500;
const MOST_SHOWN = 500;

export function add(name, search) {
  const text = h("textarea", { id: "urls", rows: 8, spellcheck: "false", wrap: "off", autocapitalize: "off", autocomplete: "off", "aria-describedby": "urls-hint" });
  const precedence = h("input", { id: "precedence", type: "number", min: 0, max: 255, placeholder: "as seeds" });
  const force = h("input", { id: "force", type: "checkbox" });
  const button = h("button", { type: "submit", class: "main" }, "Add");
  const told = h("div", { role: "status" });
  text.value = search.get("url") ?? "";
  const submit = async (event) => {
    event.preventDefault();
    const urls = text.value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (urls.length === 0) {
      told.replaceChildren(h("p", { class: "problem" }, "Write at least one URL, each on a line of its own."));
      return;
    }
    button.disabled = true;
    const judged = [];
    try {
      for (let begin = 0; begin < urls.length; begin += AT_ONCE) {
        told.replaceChildren(h("p", null, `${count(begin)} of ${count(urls.length)} URLs are sent …`));
        const body = { urls: urls.slice(begin, begin + AT_ONCE), force: force.checked };
        if (precedence.value !== "") body.precedence = Number(precedence.value);
        judged.push(...(await post(crawlPath(name, "/seeds"), body)).urls);
      }
      told.replaceChildren(...outcomes(name, judged));
    } catch (error) {
      const before = judged.length > 0 ? `${count(judged.length)} of ${count(urls.length)} URLs were sent. ` : "";
      told.replaceChildren(h("p", { class: "problem" }, before + trouble(error)));
    }
    button.disabled = false;
  };
  const form = h("form", { class: "add", onsubmit: submit },
    h("label", { for: "urls" }, "URLs"), text,
    h("p", { class: "hint", id: "urls-hint" }, "Each on a line of its own. They are added like seeds; a crawl that is complete goes on with them."),
    h("div", { class: "filters" },
      h("label", { for: "precedence" }, "Precedence (0 goes first, 255 last)", precedence),
      h("label", { class: "tick", for: "force" }, force, "Force: also fetch what is known or out of scope")),
    h("p", { class: "actions" }, button), told);
  return { every: 5000, ...kept("add", () => form) };
}

const WORDS = { added: "added", known: "known already", waits: "waits already", refused: "refused", invalid: "no URL" };

function outcomes(name, judged) {
  const counts = new Map();
  for (const { outcome } of judged) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const sums = [...counts].map(([outcome, number]) => `${count(number)} ${WORDS[outcome] ?? outcome}`).join(", ");
  const shown = judged.slice(0, MOST_SHOWN);
  return [
    h("p", null, `${sums}.`),
    scrolling("What became of the URLs", [["URL", "address"], ["Outcome"], ["Why", "wide"]],
      shown.map(({ url, outcome, reason }) => [outcome === "invalid" ? url : storyLink(name, url), WORDS[outcome] ?? outcome, reason ?? "–"])),
    shown.length < judged.length ? h("p", { class: "hint" }, `The first ${count(MOST_SHOWN)} of ${count(judged.length)} are shown.`) : "",
  ];
}
