// Says what went wrong and what to do.

import { Refused } from "./api.js";

const ADVICE = {
  403: "Log in with a token that may change things.",
  413: "Send less at once.",
  429: "Wait a moment: this page asks again.",
  500: "See the log of the daemon.",
  503: "Try again in a moment.",
  504: "Try again in a moment; if it stays so, see the log of the crawl.",
};

/** Sentences about an error: what the daemon says, and what to do. */
export function trouble(error) {
  if (!(error instanceof Refused)) return sentence(error.message);
  if (error.status === 401) return "The token of this page is not valid (any more). Log out, and log in again.";
  return [error.message, ...error.problems, ADVICE[error.status]].filter(Boolean).map(sentence).join(" ");
}

/** A text as a sentence. */
export function sentence(text) {
  const trimmed = text.trim();
  // The name of a file or a setting stays as it is written.
  const begin = /^\S+\.\w/.test(trimmed) ? trimmed.charAt(0) : trimmed.charAt(0).toUpperCase();
  return begin + trimmed.slice(1) + (/[.!?…]$/.test(trimmed) ? "" : ".");
}
