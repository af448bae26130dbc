// How fast a number grows, from looking at it again and again.

const WINDOW_MS = 20_000;

/** A function of crawls that says how many pages per second each has fetched lately; null as long as it can't know. */
export function rates() {
  const seen = new Map();
  return ({ name, pid, pages }, now = Date.now()) => {
    const known = (seen.get(name) ?? []).filter((each) => each.pid === pid && now - each.at <= WINDOW_MS && each.pages <= pages);
    known.push({ pid, pages, at: now });
    seen.set(name, known);
    const first = known[0];
    return now - first.at < 1000 ? null : ((pages - first.pages) * 1000) / (now - first.at);
  };
}
