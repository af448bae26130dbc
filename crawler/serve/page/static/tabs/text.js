// The file of a crawl, to be changed as a whole.

import { crawlAddress, crawlPath, get, post } from "../api.js";
import { h, kept, say } from "../dom.js";
import { editor } from "../editor.js";

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

/** What has changed in a setting or a file, in a sentence. */
export function outcome(key, { changes, running }) {
  if (changes.length === 0) return `${key} has not changed.`;
  const later = running ? changes.filter(({ holds }) => holds === "restart").length : 0;
  const when = later === 0 ? "" : ` ${later < changes.length ? "Some of it" : "It"} holds from the next start.`;
  return `${changes.map(({ text }) => text).join("; ")}.${when}`;
}
