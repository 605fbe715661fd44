// Comfort in the dashboard: copy buttons, fresh relative times, `/` for the search, no double
// submits. Every page works without it.

"use strict";

const REFRESH_MS = 30_000;
const COPIED_MS = 2_000;
const DAY_MS = 86_400_000;
// As many characters of a key are public.
const KEY_PREFIX = 12;
// Each with its length, and the number of it that is called otherwise.
const UNITS_SECONDS = [["minute", 60, 60], ["hour", 3_600, 24], ["day", 86_400, Infinity]];

// Copy buttons are hidden in the page, because they do nothing without script.
function showCopyButtons() {
  if (!navigator.clipboard) {
    return;
  }
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = "Copied";
  } catch {
    // The browser may refuse; the text is then selected for the keyboard.
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = label; }, COPIED_MS);
}

function relative(seconds) {
  for (const [unit, length, most] of UNITS_SECONDS) {
    const count = Math.round(Math.abs(seconds) / length);
    if (count > 0 && count < most) {
      const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
      return seconds < 0 ? `${words} ago` : `in ${words}`;
    }
  }
  return seconds < 0 ? "just now" : "in less than a minute";
}

function daysAway(days) {
  const near = { "-1": "yesterday", 0: "today", 1: "tomorrow" };
  return near[days] ?? (days < 0 ? `${-days} days ago` : `in ${days} days`);
}

// <time datetime="…">2027-01-31 12:00 UTC</time> <small class="ago">in 70 days</small>
// A day, such as 2027-01-31, is as far away as in the calendar, in UTC.
function refreshTimes() {
  const now = Date.now();
  for (const ago of document.querySelectorAll("time + .ago")) {
    const { dateTime } = ago.previousElementSibling;
    const time = Date.parse(dateTime);
    const today = now - (now % DAY_MS);
    ago.textContent =
      isDay(dateTime) ? daysAway((time - today) / DAY_MS) : relative((time - now) / 1000);
  }
}

function isDay(dateTime) {
  return !dateTime.includes("T");
}

function titleLocalTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (isDay(time.dateTime)) {
      time.title = "through the end of this day, UTC";
      continue;
    }
    time.title = `${new Date(time.dateTime).toLocaleString()} in your time zone`;
  }
}

// What was done is said once: a reloaded page, a bookmark or a link that is passed on is silent.
function forgetNotice() {
  const url = new URL(location.href);
  if (url.searchParams.has("notice")) {
    ["notice", "from", "to"].forEach((name) => url.searchParams.delete(name));
    history.replaceState(history.state, "", url);
  }
}

// A key is found by how it begins. Its rest stays out of addresses, and so of logs.
function cutKeys() {
  document.addEventListener("submit", (event) => {
    for (const search of event.target.querySelectorAll("input[type=search]")) {
      if (search.value.trim().startsWith("sk_")) {
        search.value = search.value.trim().slice(0, KEY_PREFIX);
      }
    }
  });
}

function focusSearchOnSlash() {
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("find");
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && search && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    }
  });
}

// A button is disabled after its form is read, so that its own value is still sent.
function preventDoubleSubmits() {
  document.addEventListener("submit", (event) => {
    const buttons = event.target.querySelectorAll("form[method=post] button");
    setTimeout(() => buttons.forEach((button) => { button.disabled = true; }));
  });
  // A page that the browser kept for the back button has its buttons again.
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("button:disabled")) {
      button.disabled = false;
    }
  });
}

// After an action or a mistake, the message is what a screen reader should hear first.
function focusMessage() {
  document.querySelector(".notice[tabindex]")?.focus();
}

showCopyButtons();
refreshTimes();
titleLocalTimes();
focusSearchOnSlash();
preventDoubleSubmits();
focusMessage();
forgetNotice();
cutKeys();
setInterval(refreshTimes, REFRESH_MS);
