// Creates a crawl from its configuration.

import { crawlAddress, crawlPath, request } from "../api.js";
import { h, say } from "../dom.js";
import { editor } from "../editor.js";

const TEMPLATE = `[crawl]
seeds = ["https://www.example.org/"]

[scope]
within = "host"

[limits]
pages = 1000

[fetch]
# Sites that are not yours want to know who asks:
# user_agent = "onceover/1.0 (you@your.site)"
`;

export function create() {
  const name = h("input", { id: "name", required: true, maxlength: 100, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", autocomplete: "off", spellcheck: "false", "aria-describedby": "name-hint" });
  const toml = editor(TEMPLATE);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await request("PUT", crawlPath(name.value), { body: toml.value, type: "application/toml" });
      say(`${name.value}: created`);
      location.hash = crawlAddress(name.value);
    } catch (error) {
      toml.complain(error);
    }
  };
  return {
    title: "New crawl",
    render: () => [
      h("h1", { tabindex: "-1" }, "New crawl"),
      h("form", { class: "create", onsubmit: submit, "data-keep": "create" },
        h("label", { for: "name" }, "Name"), name,
        h("p", { class: "hint", id: "name-hint" }, "Letters, digits, dots, dashes and underscores, first a letter or digit. The configuration becomes NAME.toml in the folder of the daemon."),
        toml.elements,
        h("p", { class: "actions" }, h("button", { type: "submit", class: "main" }, "Create and start"))),
    ],
  };
}
