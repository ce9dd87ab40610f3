// <vrametre-figure figure="timeline">: a figure of the document in another
// site's page, in a frame as high as it is. The protocol is in the README.
import { given, plain, write } from "./fragment.js";

const site = new URL(".", document.currentScript.src);
const parameters = ["theme", "hide", "lock"];
const highest = 20000;
const patience = 60; // seconds for an answer, once the frame has loaded

class VrametreFigure extends HTMLElement {
  static observedAttributes = ["figure", "lang", "state", ...parameters];

  #here = false;
  #frame;
  #loaded;
  #ready;
  #awake;
  #gone;
  #asked = new Map();
  #last = 0;

  connectedCallback() {
    this.#here = true;
    window.addEventListener("message", this.#hear);
    this.#open();
  }

  disconnectedCallback() {
    this.#here = false;
    window.removeEventListener("message", this.#hear);
    this.#leave();
  }

  attributeChangedCallback(name, before, now) {
    if (!this.#here || before === now) return;
    if (name === "figure" || name === "lang") this.#open();
    else if (this.#frame) this.set(name === "state" ? (now ?? "") : { [name]: now ?? "" }).catch(() => {}); // the next frame begins with it
  }

  // get resolves to { state, result }: the address's fragment, and bytes. It is
  // rejected where there is no figure, where it goes, and where it has loaded and
  // does not answer.
  get() {
    const re = ++this.#last;
    const answer = new Promise((resolve, reject) => {
      this.#asked.set(re, { resolve, reject });
      this.#send("get", { re }).catch(reject);
      const late = new Error(`${this.#said()}: no answer from ${this.#frame?.src}`);
      this.#loaded?.then(() => setTimeout(reject, patience * 1000, late));
    });
    const forget = () => this.#asked.delete(re);
    answer.then(forget, forget);
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

  #said() {
    return `<vrametre-figure figure="${this.getAttribute("figure") ?? ""}">`;
  }

  // Whoever waits for the frame waits in vain.
  #leave() {
    const failure = new Error(`${this.#said()}: the figure is gone`);
    this.#gone?.(failure);
    for (const { reject } of this.#asked.values()) reject(failure);
    this.#frame = this.#loaded = undefined;
  }

  #open() {
    const name = this.getAttribute("figure");
    if (!(FIGURES[name] > 0)) {
      console.error(`${this.#said()}: there is no such figure. There are: ${Object.keys(FIGURES).join(", ")}.`);
      return; // what stands in the element stays
    }
    this.#leave();
    const lang = (this.getAttribute("lang") ?? document.documentElement.lang).slice(0, 2).toLowerCase();
    const folder = LANGUAGES.slice(1).includes(lang) ? `${lang}/` : ""; // the first language is at the root
    const source = new URL(`${folder}embed/${name}/${site.protocol === "file:" ? "index.html" : ""}`, site);
    const fragment = given(this.getAttribute("state") ?? "");
    for (const key of parameters) {
      if (this.hasAttribute(key)) fragment.set(key, plain(this.getAttribute(key)));
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
    this.#loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
    this.#ready = new Promise((resolve, reject) => ([this.#awake, this.#gone] = [resolve, reject]));
    this.#ready.catch(() => {}); // not everyone asks
    this.#frame = frame;
    this.replaceChildren(frame);
  }

  async #send(type, more) {
    const frame = this.#frame;
    if (!frame) throw new Error(`${this.#said()}: there is no figure to ask`);
    await this.#ready;
    frame.contentWindow?.postMessage({ app: "vrametre", v: 1, type, ...more }, "*");
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
          this.#asked.get(re)?.resolve(detail);
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
