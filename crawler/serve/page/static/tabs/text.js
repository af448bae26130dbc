// The file of a crawl, to be changed as a whole.

import { crawlAddress, crawlPath, get, post } from "../api.js";
import { h, kept, say } from "../dom.js";
import { editor } from "../editor.js";
import { outcome } from "./outcome.js";

export function text(name) {
  const address = crawlAddress(name, "/settings");
  let form = null;
  const formOf = (before) => {
    const toml = editor(before);
    const submit = async (event) => {
      event.preventDefault();
      try {
        const changed = await post(crawlPath(name, "/configuration/text"), { text: toml.value, before });
        say(changed.changes.length > 0 ? outcome(`${name}.toml`, changed) : `${name}.toml is written.`);
        location.hash = address;
      } catch (error) {
        toml.complain(error);
      }
    };
    return h("form", { class: "create", onsubmit: submit },
      h("p", { class: "hint" }, `${name}.toml in the folder of the daemon. If anything is wrong, nothing changes. In a crawl that runs, what can change at once does so; the rest holds from its next start.`),
      toml.elements,
      h("p", { class: "actions" },
        h("button", { type: "submit", class: "main" }, "Save"),
        h("a", { href: address }, "Back to the settings")));
  };
  return {
    every: 5000,
    load: async (signal) => {
      // What the reader has typed stays.
      form ??= formOf((await get(crawlPath(name, "/configuration/text"), signal)).text);
    },
    ...kept("text", () => form),
  };
}
