// Wakes the page: the Go program in WebAssembly takes over the islands of the
// static document. Whatever fails here, the document stays as it is.
import "go-runtime"; // defines Go
import { answers, said, unavailable, wholeEngine } from "./answers.js";
import { load } from "./engine.js";
import { banner } from "./banner.js";
import { figures } from "./figures.js";
import { integrate } from "./integrate.js";
import { met } from "./met.js";
import { register } from "./register.js";
import { started } from "./started.js";

const root = new URL(".", document.currentScript.src || location.href); // in one file, scripts have no address
const program = PROGRAMS[document.documentElement.dataset.program];

// The answers come from the page's program as soon as it is there, and from the
// whole engine where that one does not know.
let arrived, missing;
const engine = new Promise((resolve, reject) => ([arrived, missing] = [resolve, reject]));
engine.catch(() => {});
const whole = wholeEngine(root);
window.vrametre = answers(async (question, ...args) => {
  const answer = said(await engine, question, args);
  return answer.error?.code === "reader-elsewhere" ? said(await whole(), question, args) : answer;
});
window.addEventListener("vrametre:engine", (event) => arrived(event.detail));

// Storage that is blocked throws at every touch, and the program touches it at
// its start: memory stands in.
for (const name of ["localStorage", "sessionStorage"]) {
  try {
    window[name].getItem("");
  } catch {
    const kept = new Map();
    Object.defineProperty(window, name, {
      value: {
        get length() {
          return kept.size;
        },
        key: (i) => [...kept.keys()][i] ?? null,
        getItem: (key) => kept.get(`${key}`) ?? null,
        setItem: (key, value) => void kept.set(`${key}`, `${value}`),
        removeItem: (key) => void kept.delete(`${key}`),
        clear: () => kept.clear(),
      },
    });
  }
}

// go-app scrolls to the section of the address once more when it starts,
// wherever the reader is by then.
const section = document.getElementById(decoded(location.hash.slice(1)));
if (section) {
  section.scrollIntoView = () => {};
  window.addEventListener("vrametre:ready", () => setTimeout(() => delete section.scrollIntoView, 100), { once: true });
}

// go-app takes an address that it cannot parse for none, and stops.
if (decoded(location.hash) === undefined) {
  history.replaceState(history.state, "", location.pathname + location.search);
}

const environment = {
  GOAPP_VERSION: program.compressed,
  GOAPP_STATIC_RESOURCES_URL: root.href.replace(/\/$/, ""),
  GOAPP_ROOT_PREFIX: decoded(location.pathname) ?? location.pathname, // the one route, in any folder
  GOAPP_INTERNAL_URLS: "[]",
};
window.goappGetenv = (name) => environment[name];

// decoded is undefined where escapes are wrong.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

async function wake() {
  const { body } = document;
  body.dataset.engine = "loading";
  try {
    const go = new Go();
    const instance = await load(root, program, go.importObject, {
      started: started(root, program.compressed),
      progress: (share) => body.style.setProperty("--loaded", share),
    });
    body.dataset.engine = "running";
    // Resolves when the program ends, which it never does unless it panics.
    await go.run(instance);
    throw new Error("the program has ended");
  } catch (failure) {
    const ran = body.dataset.engine === "running";
    body.dataset.engine = "failed";
    missing(unavailable(failure));
    if (failure.missing) window.dispatchEvent(new CustomEvent("vrametre:missing", { detail: failure.missing })); // to recover.js
    banner(ran ? "crashed" : "static", ran ? { reload: () => location.reload() } : {});
    console.warn(failure);
  }
}

figures(root);
integrate(root);
met();
window.addEventListener("vrametre:panic", () => banner("crashed", { reload: () => location.reload() }));
if (!self.vrametreScript) window.addEventListener("vrametre:ready", () => register(root), { once: true });
wake();
