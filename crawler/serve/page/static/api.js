// Asks the daemon.

import { ask } from "./dom.js";

const TOKEN = "onceover-token";
/** Beside this file, also behind a proxy that has the page under a path of its own. */
const BASE = new URL("api/v1", import.meta.url).href;

/** A request that was not carried out, with the reasons of the daemon. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `the daemon answered ${status}`);
    this.status = status;
    this.problems = problem.problems ?? [];
  }
}

/** The daemon does not answer. */
export class Unreachable extends Error {}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (text) => sessionStorage.setItem(TOKEN, text),
  forget: () => sessionStorage.removeItem(TOKEN),
};

/** What the daemon answers, from JSON. With `as`, for somebody with that token. Throws `Refused` and `Unreachable`. */
export async function request(method, path, { body, type = "application/json", signal, as } = {}) {
  const used = as ?? token.get();
  const headers = { Authorization: bearer(used) };
  if (body !== undefined) headers["Content-Type"] = type;
  let response, text;
  try {
    response = await fetch(BASE + path, { method, headers, body, signal, cache: "no-store", credentials: "omit" });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("The daemon does not answer.");
  }
  const found = parsed(text);
  if (response.ok) return found;
  // Such a request has changed nothing, so it can be sent again.
  if (response.status === 401 && as === undefined && used !== null && (await hasNewToken(used))) {
    return request(method, path, { body, type, signal });
  }
  throw new Refused(response.status, found ?? {});
}

/** A token has visible ASCII characters; no header can hold what else somebody types. */
const bearer = (text) => `Bearer ${/^[!-~]+$/.test(text ?? "") ? text : ""}`;

let asking = null;

/** Ask for another token where the page is, so that what was typed there is kept. False if the reader has none. */
async function hasNewToken(old) {
  if (token.get() !== old) return token.get() !== null;
  asking ??= ask({ title: "Log in again", text: "The token of this page is not valid (any more).", field: "Token", isSecret: true, doIt: "Log in" });
  const answer = await asking;
  asking = null;
  if (token.get() === old) {
    if (answer === null) token.forget();
    else token.set(answer.value.trim());
  }
  return answer !== null;
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

export const get = (path, signal) => request("GET", path, { signal });

/** POST with a body in JSON, or none. */
export const post = (path, body) =>
  request("POST", path, body === undefined ? {} : { body: JSON.stringify(body) });

/** Save what a path of the API has as a file. Throws `Refused` and `Unreachable`. */
export async function download(path, name) {
  let response;
  try {
    response = await fetch(BASE + path, { headers: { Authorization: bearer(token.get()) }, cache: "no-store", credentials: "omit" });
    if (!response.ok) throw new Refused(response.status, parsed(await response.text()) ?? {});
    save(await response.blob(), name);
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Unreachable("The daemon does not answer.");
  }
}

/** Save a blob as a file. */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The path of a crawl in the API. */
export const crawlPath = (name, rest = "") => `/crawls/${encodeURIComponent(name)}${rest}`;

/** The address of a crawl on this page. */
export const crawlAddress = (name, rest = "") => `#${crawlPath(name, rest)}`;
