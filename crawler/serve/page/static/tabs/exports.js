// Exports what a crawl has written, shows how far that is, and gives out the files.

import { crawlPath, download, get, post, request } from "../api.js";
import { attempt } from "../controls.js";
import { ask, h, kept } from "../dom.js";
import { moment, percent, size } from "../format.js";
import { trouble } from "../troubles.js";

const FORMS = [["parquet", "Parquet"], ["csv", "CSV"], ["jsonl", "JSON Lines"], ["wacz", "WACZ, which replays"]];
const TABLES = [["pages", "Pages"], ["links", "Links"]];
const ENDED = ["complete", "failed", "cancelled"];

export function exports(name) {
  const form = h("select", { id: "export-format" }, options(FORMS));
  const table = h("select", { id: "export-table" }, options(TABLES));
  const divided = h("input", { id: "export-divided", type: "checkbox" });
  const start = h("button", { type: "submit", class: "main" }, "Start an export");
  const told = h("div", { role: "status" });
  let again = () => {};

  const adapt = () => {
    table.disabled = form.value === "wacz";
    divided.disabled = table.disabled || table.value !== "pages";
  };
  const submit = async (event) => {
    event.preventDefault();
    start.disabled = true;
    told.replaceChildren();
    try {
      const isWacz = form.value === "wacz";
      await post(crawlPath(name, "/exports"), {
        format: form.value,
        table: isWacz ? "pages" : table.value,
        partition_by: divided.checked && !divided.disabled ? ["crawl", "subset"] : [],
      });
      again();
    } catch (error) {
      told.replaceChildren(h("p", { class: "problem" }, trouble(error)));
    }
    start.disabled = false;
  };
  form.onchange = table.onchange = adapt;
  const asking = h("form", { class: "add", onsubmit: submit },
    h("p", { class: "hint" }, "Copies what the crawl has written until now into files for other tools. The crawl may run meanwhile. One export is made at a time; others wait."),
    h("div", { class: "filters" },
      h("label", { for: "export-format" }, "Format", form),
      h("label", { for: "export-table" }, "Table", table),
      h("label", { class: "tick", for: "export-divided" }, divided, "Folders by crawl and subset")),
    h("p", { class: "actions" }, start), told);
  adapt();

  const place = kept("exports", () => asking);
  return {
    every: 2000,
    load: (signal) => get(crawlPath(name, "/exports"), signal),
    render: ({ exports: made }, _, renew) => {
      again = renew;
      return [
        place.render(),
        made.length === 0 ? h("p", { class: "empty" }, "There are no exports yet.") : made.map((each) => shown(name, each, renew)),
      ];
    },
    shown: place.shown,
  };
}

const options = (pairs) => pairs.map(([value, text]) => h("option", { value }, text));

function shown(name, made, again) {
  const path = crawlPath(name, `/exports/${made.id}`);
  const what = [FORMS.find(([key]) => key === made.what.format)[1], made.what.format !== "wacz" && made.what.table, made.what.partition_by.length > 0 && "in folders"];
  const title = `${what.filter(Boolean).join(", ")}, ${moment(made.asked_at)}`;
  const run = (change) => () => attempt(change, again);
  const remove = run(async () => {
    const sure = await ask({ title: "Delete this export?", text: `${title}: its files are deleted.`, doIt: "Delete", isGrave: true });
    if (sure) await request("DELETE", path);
  });
  return h("section", { class: "export", "data-key": made.id, "aria-label": title },
    h("h2", null, title),
    h("p", null, state(made)),
    made.state === "running" && made.share !== null && h("progress", { value: made.share, max: 1, "aria-label": "Done" }),
    made.message && h("pre", { class: "lines-told", tabindex: "0", role: "region", "aria-label": "Messages" }, made.message),
    made.files.length > 0 && h("ul", null, made.files.map((file) =>
      h("li", null, h("button", { type: "button", onclick: run(() => download(`${path}/file?${new URLSearchParams({ file: file.name })}`, `${name}-${file.name.split("/").pop()}`)) }, `Download ${file.name}`), ` ${size(file.bytes)}`))),
    h("p", { class: "actions" }, ENDED.includes(made.state)
      ? h("button", { type: "button", onclick: remove }, "Delete")
      : h("button", { type: "button", onclick: run(() => post(`${path}/cancel`)) }, "Cancel")));
}

function state({ state: now, share, rows, ended_at: ended }) {
  const done = rows === null || rows === 0 ? "" : `, ${rows.toLocaleString("en")} rows`;
  if (now === "running") return `Running${share === null ? "" : `, ${percent(share)}`}${done}`;
  if (now === "waiting") return "Waits for its turn";
  return `${now[0].toUpperCase()}${now.slice(1)} ${moment(ended)}${done}`;
}
