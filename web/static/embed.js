// <vrametre-figure figure="timeline">: a figure of the document in another
// site's page, in a frame as high as it is. The protocol is in the README.
import { given, write } from "./fragment.js";

const site = new URL(".", document.currentScript.src);
const parameters = ["theme", "hide", "lock"];
const highest = 20000;

class VrametreFigure extends HTMLElement {
  static observedAttributes = ["figure", "lang", "state", ...parameters];

  #frame;
  #ready;
  #awake;
  #asked = new Map();
  #last = 0;

  connectedCallback() {
    window.addEventListener("message", this.#hear);
    this.#open();
  }

  disconnectedCallback() {
    window.removeEventListener("message", this.#hear);
    this.#frame = undefined;
  }

  attributeChangedCallback(name, before, now) {
    if (!this.#frame || before === now) return;
    if (name === "figure" || name === "lang") this.#open();
    else if (name === "state") this.set(now ?? "");
    else this.set({ [name]: now ?? "" });
  }

  // get resolves to { state, result }: the address's fragment, and bytes.
  async get() {
    const re = ++this.#last;
    const answer = new Promise((resolve) => this.#asked.set(re, resolve));
    await this.#send("get", { re });
    return answer;
  }

  // set changes settings: a fragment, or an object of values by key.
  set(state) {
    return this.#send("set", { state: write(given(state)) });
  }

  // reset goes back to how the figure began.
  reset() {
    return this.#send("reset");
  }

  #open() {
    const name = this.getAttribute("figure");
    if (!(FIGURES[name] > 0)) {
      console.error(`<vrametre-figure figure="${name}">: there is no such figure. There are: ${Object.keys(FIGURES).join(", ")}.`);
      return; // what stands in the element stays
    }
    const lang = this.getAttribute("lang") ?? document.documentElement.lang.slice(0, 2);
    const folder = LANGUAGES.slice(1).includes(lang) ? `${lang}/` : ""; // the first language is at the root
    const source = new URL(`${folder}embed/${name}/${site.protocol === "file:" ? "index.html" : ""}`, site);
    const fragment = given(this.getAttribute("state") ?? "");
    for (const key of parameters) {
      if (this.hasAttribute(key)) fragment.set(key, encodeURI(this.getAttribute(key)).replace(/[&#]/g, encodeURIComponent));
    }
    source.hash = write(fragment);

    const frame = document.createElement("iframe");
    if (this.hasAttribute("sandbox")) frame.setAttribute("sandbox", this.getAttribute("sandbox"));
    frame.loading = this.getAttribute("loading") ?? "lazy";
    frame.allow = "clipboard-write";
    frame.title = this.title || `vramètre, ${name}`; // until the figure tells its own
    frame.src = source;
    // Until the figure tells its height, that of a column of usual width.
    Object.assign(frame.style, { display: "block", width: "100%", border: "0", height: `${Number(this.getAttribute("height")) || FIGURES[name]}px` });
    this.style.display ||= "block";
    this.#ready = new Promise((resolve) => (this.#awake = resolve));
    this.#frame = frame;
    this.replaceChildren(frame);
  }

  async #send(type, more) {
    await this.#ready;
    this.#frame?.contentWindow.postMessage({ app: "vrametre", v: 1, type, ...more }, "*");
  }

  // Only the frame itself is heard, and only while it shows the site: a frame
  // of an opaque origin says "null".
  #hear = ({ source, origin, data }) => {
    if (!this.#frame || source !== this.#frame.contentWindow || (origin !== site.origin && origin !== "null")) return;
    const { app, v, type, height, title, re, ...detail } = data ?? {};
    if (app !== "vrametre" || v !== 1) return;
    switch (type) {
      case "height":
        if (!Number.isFinite(height) || height < 0) return;
        this.#frame.style.height = `${Math.min(height, highest)}px`;
        detail.height = height;
        break;
      case "ready":
        if (!this.title && typeof title === "string") this.#frame.title = title;
        this.#awake();
        break;
      case "state":
        if (re !== undefined) {
          this.#asked.get(re)?.(detail);
          this.#asked.delete(re);
          return;
        }
        break;
      case "answer":
        break;
      default:
        return;
    }
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true }));
  };
}

if (!customElements.get("vrametre-figure")) customElements.define("vrametre-figure", VrametreFigure);
