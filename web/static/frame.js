// Makes a page of embed/ the guest of another site: takes its theme, what is
// hidden and what is locked from the address before anything is painted, tells
// the site around it its height, its state and the reader's answers, and
// follows that site's commands. Nothing told is secret and nothing commanded
// does more than the reader could, so any site may be the host.
import { conceal } from "./conceal.js";
import { given, read, write } from "./fragment.js";

const script = document.currentScript;
const root = document.documentElement;
const initial = read(location.hash);

// index is the one address of all figures: it leads to the page of one.
function leave(languages) {
  const [first, ...others] = languages.split(" ");
  const lang = initial.get("lang") ?? root.lang;
  const name = initial.get("fig") ?? "";
  if (!/^[a-z0-9-]+$/.test(name)) return;
  const page = location.protocol === "file:" ? "index.html" : "";
  const folder = lang === first || !others.includes(lang) ? "" : `${lang}/`;
  const target = new URL(`${folder}embed/${name}/${page}`, script.src);
  initial.delete("fig");
  initial.delete("lang");
  target.hash = write(initial);
  location.replace(target);
}

const words = (list) => (list ?? "").split(",").filter((word) => /^[a-z0-9.-]+$/i.test(word));

let locked = "";

// apply shows the page as parameters of its address say.
function apply(parameters) {
  const theme = parameters.get("theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
  const hidden = words(parameters.get("hide"));
  root.dataset.hide = hidden.join(" ");
  conceal(hidden.includes("result"));
  locked = words(parameters.get("lock"))
    .map((name) =>
      name === "all"
        ? "[data-control],[data-field],[data-set],[data-lever],[data-scrub],[data-action]"
        : `[data-control="${name}"],[data-field="${name}"],[data-field="setup.${name}"],[data-set="${name}"],[data-lever="${name}"],[data-scrub="${name}"],[data-island="${name}"] :is(input,select,textarea,button)`,
    )
    .join();
  lock();
}

// lock takes the controls of locked settings from the reader.
function lock() {
  for (const control of document.querySelectorAll("[data-locked]")) {
    if (!locked || !control.matches(locked)) hold(control, false);
  }
  if (locked) for (const control of document.querySelectorAll(locked)) hold(control, true);
}

function hold(control, held) {
  if (control.hasAttribute("data-locked") === held) return;
  control.toggleAttribute("data-locked", held);
  if ("disabled" in control) control.disabled = held;
  else control.inert = held;
}

let state = { state: write(initial) };

function post(type, more) {
  if (parent === window) return;
  const { embed: figure } = document.body.dataset;
  parent.postMessage({ app: "vrametre", v: 1, type, id: initial.get("id"), figure, ...more }, "*");
}

// set changes the pairs of the address that are given. Replacing the fragment
// leaves no trace in the history of the host's tab.
function set(pairs) {
  window.dispatchEvent(new Event("vrametre:leave")); // the address knows the last move
  const fragment = read(location.hash);
  for (const [key, value] of pairs) fragment.set(key, value);
  location.replace(`#${write(fragment)}`);
}

function reset() {
  location.replace(`#${write(initial)}`);
  window.dispatchEvent(new Event("vrametre:reset"));
}

function listen() {
  new MutationObserver(lock).observe(document.querySelector("main"), { childList: true, subtree: true });
  lock();

  let height;
  const measure = () => {
    const now = Math.ceil(root.getBoundingClientRect().height);
    if (now !== height) post("height", { height: (height = now) });
  };
  new ResizeObserver(measure).observe(root);

  const tell = (type, more) => {
    const told = { ...state, ...more };
    if (words(read(location.hash).get("hide")).includes("result")) delete told.result; // hidden from the host's readers too
    post(type, told);
  };
  const awake = new Promise((resolve) => window.addEventListener("vrametre:ready", resolve, { once: true }));
  let ready = false;
  awake.then(() => {
    ready = true;
    tell("ready", { title: document.title });
  });
  window.addEventListener("vrametre:state", ({ detail }) => {
    state = detail;
    if (ready) tell("state");
  });
  window.addEventListener("vrametre:answer", ({ detail }) => post("answer", detail));

  window.addEventListener("message", ({ source, data }) => {
    if (parent === window || source !== parent) return;
    if (data === "slide:start") {
      height = undefined;
      measure();
      if (ready) tell("state");
    } else if (data === "slide:stop") document.activeElement?.blur(); // the keys are the slides' again
    if (data?.app !== "vrametre" || data.v !== 1) return;
    if (data.type === "get") awake.then(() => tell("state", { re: data.re }));
    else if (data.type === "set") set(given(data.state));
    else if (data.type === "reset") reset();
  });
}

if (script.dataset.languages) leave(script.dataset.languages);
else {
  if (!location.hash.startsWith("#v=")) location.replace(`#${write(initial)}`); // a state begins with its version
  apply(initial);
  window.addEventListener("hashchange", () => apply(read(location.hash)));
  document.addEventListener("DOMContentLoaded", listen);
}
