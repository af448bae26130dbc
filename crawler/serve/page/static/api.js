// Asks the daemon.

const TOKEN = "onceover-token";
const BASE = "/api/v1";

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

/** What the daemon answers, from JSON. Throws `Refused` and `Unreachable`. */
export async function request(method, path, { body, type = "application/json", signal } = {}) {
  const headers = { Authorization: `Bearer ${token.get() ?? ""}` };
  if (body !== undefined) headers["Content-Type"] = type;
  let response;
  try {
    response = await fetch(BASE + path, { method, headers, body, signal, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("The daemon does not answer.");
  }
  const text = await response.text();
  const found = parsed(text);
  if (!response.ok) throw new Refused(response.status, found ?? {});
  return found;
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
    response = await fetch(BASE + path, { headers: { Authorization: `Bearer ${token.get() ?? ""}` }, cache: "no-store", credentials: "omit" });
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
