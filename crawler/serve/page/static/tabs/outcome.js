// Says what a change of settings has changed.

/** What has changed in a setting or a file, in a sentence. */
export function outcome(key, { changes, running }) {
  if (changes.length === 0) return `${key} has not changed.`;
  const later = running ? changes.filter(({ holds }) => holds === "restart").length : 0;
  const when = later === 0 ? "" : ` ${later < changes.length ? "Some of it" : "It"} holds from the next start.`;
  return `${changes.map(({ text }) => text).join("; ")}.${when}`;
}
