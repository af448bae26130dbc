// Buttons that control a crawl.

import { crawlPath, post, request } from "./api.js";
import { ask, h, say } from "./dom.js";
import { trouble } from "./troubles.js";

/** Which buttons make sense for a crawl. */
export function controls(crawl, again) {
  const { name, state } = crawl;
  const button = (text, doIt) =>
    h("button", { type: "button", "aria-label": `${text} ${name}`, onclick: () => attempt(doIt, again) }, text);
  const tell = (verb, done, body) => async () => {
    await post(crawlPath(name, `/${verb}`), body);
    say(`${name}: ${done}`);
  };
  const pause = async () => {
    const answer = await ask({ title: `Pause ${name}`, text: "It fetches nothing until you resume it, also after restarts.", field: "Reason (optional)", doIt: "Pause" });
    if (answer) await tell("pause", "paused", answer.value ? { reason: answer.value } : {})();
  };
  const stop = async () => {
    const answer = await ask({ title: `Stop ${name}`, text: "It finishes what is in flight, and stays stopped until you start it.", doIt: "Stop" });
    if (answer) await tell("stop", "told to stop")();
  };
  const start = async () => {
    const text = "Nothing is left to fetch. It reads its seeds again, and ends if none is new. To fetch more, add URLs, or come back to pages.";
    const isIdle = state === "complete" && crawl.until === null;
    if (!isIdle || (await ask({ title: `Start ${name}`, text, doIt: "Start" }))) await tell("start", "told to start")();
  };
  if (state === "running") return [button("Pause", pause), button("Stop", stop)];
  if (state === "paused") return [button("Resume", tell("resume", "resumed")), crawl.pid ? button("Stop", stop) : button("Start", start)];
  if (state === "starting") return [button("Stop", stop)];
  if (state === "ending" || state === "removed" || state === "broken") return [];
  return [button("Start", start)];
}

/** Remove a crawl that does not run from the list. */
export function removal(crawl, again) {
  if (crawl.pid !== null) return null;
  const remove = async () => {
    const answer = await ask({
      title: `Delete ${crawl.name}`,
      text: "Its configuration is deleted, and it leaves the list. Its directory with state and pages is kept.",
      doIt: "Delete",
      isGrave: true,
    });
    if (!answer) return;
    await request("DELETE", crawlPath(crawl.name));
    say(`${crawl.name}: deleted; its directory is kept`);
    location.hash = "#/";
  };
  return h("button", { type: "button", class: "grave", onclick: () => attempt(remove, again) }, "Delete …");
}

/** Do something, tell if it was refused, and look again. */
export async function attempt(doIt, again = () => {}) {
  try {
    await doIt();
  } catch (error) {
    say(trouble(error));
  }
  again();
}
