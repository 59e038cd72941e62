// Keeps a campaign's page up to date: when the coordinator reports progress, the script loads the
// page again and replaces the parts (data-live) that changed. So numbers are formatted
// in one place only, the page itself. Without this script, the page has a link that refreshes it.

const LOOK_EVERY_MS = 1000;
const SAY_EVERY_MS = 20000;
const TRY_AGAIN_MS = 5000;

const section = document.querySelector("[data-events]");
const said = section.querySelector("[data-said]");
let due = null;
let looking = false;
let again = false;
let spoken = performance.now();
let lost = false;

async function look(last) {
  if (looking) {
    again = true;
    return;
  }
  looking = true;
  again = false;
  const began = performance.now();
  try {
    const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.statusText);
    put(new DOMParser().parseFromString(await answer.text(), "text/html"), last);
    back();
  } catch {
    // The stream reports when the coordinator is back. After the end of the stream, only a retry shows it.
    away();
    if (last) setTimeout(() => look(true), TRY_AGAIN_MS);
  }
  looking = false;
  // A page that takes long to make is requested less often.
  if (again && due === null) soon(Math.max(LOOK_EVERY_MS, 5 * (performance.now() - began)));
}

// Shows the message once per outage.
function away() {
  if (lost) return;
  lost = true;
  said.classList.remove("hidden");
  said.textContent = "The coordinator or its database is unreachable. This page continues when both are back.";
}

function back() {
  if (!lost) return;
  lost = false;
  said.classList.add("hidden");
  said.textContent = "The coordinator is back.";
}

function soon(wait) {
  due = setTimeout(() => {
    due = null;
    look(false);
  }, wait);
}

function put(fresh, last) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    // A part with the focused element is not replaced until the campaign ends.
    const focused = part !== document.activeElement && part.contains(document.activeElement);
    if (!now || now.innerHTML === part.innerHTML || (focused && !last)) continue;
    const place = part.scrollLeft;
    part.replaceChildren(...now.childNodes);
    part.scrollLeft = place;
    if (focused) document.getElementById("main").focus();
  }
  if (last || performance.now() - spoken > SAY_EVERY_MS) {
    said.textContent = section.querySelector(".lead").textContent;
    spoken = performance.now();
  }
}

function follow() {
  const events = new EventSource(section.dataset.events);
  events.addEventListener("progress", () => {
    if (looking) again = true;
    else if (due === null) soon(LOOK_EVERY_MS);
  });
  events.addEventListener("ended", async () => {
    events.close();
    clearTimeout(due);
    due = null;
    while (looking) await new Promise((done) => setTimeout(done, 50));
    await look(true);
  });
  events.addEventListener("away", away);
  events.addEventListener("open", () => {
    if (lost) look(false);
  });
  // The browser reconnects after a lost connection, but not after a refused one.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) {
      away();
      setTimeout(follow, TRY_AGAIN_MS);
    } else {
      setTimeout(() => {
        if (events.readyState === EventSource.CONNECTING) away();
      }, TRY_AGAIN_MS);
    }
  });
}

follow();
