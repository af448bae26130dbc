// Asks for the token.

import { request, token } from "../api.js";
import { h } from "../dom.js";

export function login(why, done) {
  const problem = h("p", { class: "problem", role: "alert" }, why);
  const input = h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true });
  const enter = async (event) => {
    event.preventDefault();
    const given = input.value.trim();
    try {
      await request("GET", "/crawls", { as: given });
      token.set(given);
      done();
    } catch (error) {
      problem.textContent = error.status === 401 ? "This is not the token of the daemon." : error.message;
      input.select();
    }
  };
  return {
    title: "Log in",
    render: () =>
      h("section", { class: "narrow" },
        h("h1", { tabindex: "-1" }, "Log in"),
        h("p", null, "Paste the token of the daemon. It is in the file ", h("code", null, "token"),
          " in the daemon's folder. This tab forgets it when you close it."),
        h("form", { onsubmit: enter, "data-keep": "login" },
          h("label", { for: "token" }, "Token"), input, problem,
          h("p", { class: "actions" }, h("button", { type: "submit", class: "main" }, "Log in")))),
    shown: () => input.focus(),
  };
}
